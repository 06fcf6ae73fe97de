"""The examples of each command's help, run as they are typed."""

import re
import shlex
from itertools import pairwise

import pytest

from simsched.cli.app import commands

GROUP = commands()
EXAMPLES = [
    line
    for command in (GROUP, *GROUP.commands.values())
    for line in re.findall(r"(?m)^ *simsched (.*)$", command.epilog or "")
]
WRITES = ("--out", "--html", "--md")


def test_there_are_examples():
    assert len(EXAMPLES) > len(GROUP.commands)


@pytest.mark.parametrize("line", EXAMPLES)
def test_example(line, piped, folder, request):
    words = shlex.split(line)
    if words[0] in ("execute", "calibrate", "crosscheck"):
        request.getfixturevalue("real_runs")
    done = piped(*words, cwd=folder)
    # A cross-check may find the host too disturbed.
    assert done.returncode in ((0, 3) if words[0] == "crosscheck" else (0,)), done.stderr
    assert done.stdout
    if words[0] == "crossed":
        assert "| policy of, workloads of |" in done.stdout
    for option, value in pairwise(words):
        if option in WRITES:
            assert (folder / value).exists()
