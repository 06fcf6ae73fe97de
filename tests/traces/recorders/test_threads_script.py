"""Scripts recorded as they are, from a shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import simsched as ss
from simsched.traces.recorders.threads.__main__ import main

SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor, wait
import helper

def half(x):
    return x / 2

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        wait([pool.submit(half, float(word)) for word in sys.argv[1:]])
        pool.submit(helper.twice, 3)
    sys.exit(7)
"""


def recorded(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "simsched.traces.recorders.threads", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"]])
def test_a_script_with_its_arguments_and_its_exit_status(tmp_path: Path, how: list[str]) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("def twice(x):\n    return 2 * x\n")
    done = recorded(tmp_path, "--out", "run.json", *how, "1", "-2")
    assert (done.returncode, done.stderr) == (7, "")
    graph = ss.load(tmp_path / "run.json")
    assert graph.kinds.to_list() == ["half", "half", "twice"]
    assert graph.n_edges == 2


def test_what_goes_wrong_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "script.py").write_text("print('never')")
    for arguments, said in (
        ([str(tmp_path / "none.py")], "none.py: no such file\n"),
        (["--out", str(tmp_path / "no" / "run.json"), str(tmp_path / "script.py")], "create it first\n"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith(said)
