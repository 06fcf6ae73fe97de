"""Commands in processes of their own: into pipes, and on a terminal of a given width."""

import gzip
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.execute.module import module
from simsched.traces.samples import sample_files

SWEEP = """
graphs = ["rnn"]
machines = ["generic[cores=4]"]
policies = ["fifo", "critical-path"]
layouts = ["4x1", "2x2"]
"""


@pytest.fixture(scope="session")
def piped():
    """Run a command, and return its exit status and streams."""

    def run(*arguments, cwd=None, **environment):
        command = [sys.executable, "-W", "error", "-m", "simsched.cli", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **environment}
        )

    return run


@pytest.fixture(scope="session")
def on_terminal():
    """Run a command on a terminal of so many columns, and return what it shows there."""

    def run(columns, *arguments, cwd=None):
        ours, its = pty.openpty()
        command = [sys.executable, "-W", "error", "-m", "simsched.cli", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": str(columns)}
        process = subprocess.Popen(command, stdout=its, stderr=subprocess.PIPE, cwd=cwd, env=environment)
        os.close(its)
        shown = _all_of(ours)
        os.close(ours)
        errors = process.communicate()[1].decode()
        return subprocess.CompletedProcess(
            command, process.returncode, shown.decode().replace("\r\n", "\n"), errors
        )

    return run


def _all_of(terminal):
    found = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so that nothing has the terminal open any more.
            return found
        if not part:
            return found
        found += part


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the files that examples read: a recording in two files, a small graph, a sweep."""
    for source, name in zip(sample_files("cnn"), ("step.json", "step.et.json"), strict=True):
        (tmp_path / name).write_bytes(gzip.decompress(Path(source).read_bytes()))
    ss.TaskGraph.from_edges([3.0, 2.0, 2.0, 1.0], [(0, 3), (1, 3)]).save(tmp_path / "small.simsched")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path


@pytest.fixture
def real_runs():
    """Leave a test out where the compiled module of real runs is missing."""
    try:
        module()
    except SimschedError as error:
        pytest.skip(str(error))
