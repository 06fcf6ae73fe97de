"""Commands in processes of their own: into pipes, and on a terminal of a given width."""

import gzip
import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.execute.kernels.module import module
from simsched.traces.samples import sample_files

SERVED = Path(__file__).with_name("served.py")
SWEEP = """
graphs = ["rnn"]
machines = ["generic[cores=4]"]
policies = ["fifo", "critical-path"]
layouts = ["4x1", "2x2"]
"""


#: What a command may take; those of real runs are the longest.
PATIENCE_S = 300


@pytest.fixture(scope="session")
def served():
    """Be a command in a process of its own, on two streams; return its exit status."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen([sys.executable, SERVED, str(its.fileno())], pass_fds=[its.fileno()])
    its.close()
    ours.settimeout(PATIENCE_S)

    def ask(arguments, cwd, environment, streams):
        said = json.dumps([arguments, str(cwd or Path.cwd()), environment])
        socket.send_fds(ours, [said.encode()], streams)

    def status():
        return int(ours.recv(64))

    yield ask, status
    ours.close()
    server.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def piped(served, tmp_path_factory):
    """Run a command, and return its exit status and streams."""
    ask, status = served

    def run(*arguments, cwd=None, **environment):
        folder = tmp_path_factory.mktemp("streams")
        words = [str(word) for word in arguments]
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            ask(words, cwd, {**os.environ, **environment}, [out.fileno(), err.fileno()])
        exit_status = status()
        told = [(folder / name).read_text("utf-8") for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(words, exit_status, *told)

    return run


@pytest.fixture(scope="session")
def on_terminal(served, tmp_path_factory):
    """Run a command on a terminal of so many columns, and return what it shows there."""
    ask, status = served

    def run(columns, *arguments, cwd=None):
        errors = tmp_path_factory.mktemp("streams") / "stderr"
        ours, its = pty.openpty()
        words = [str(word) for word in arguments]
        with errors.open("wb") as err:
            ask(words, cwd, {**os.environ, "COLUMNS": str(columns)}, [its, err.fileno()])
        os.close(its)
        shown = _all_of(ours)
        os.close(ours)
        told = shown.decode().replace("\r\n", "\n"), errors.read_text("utf-8")
        return subprocess.CompletedProcess(words, status(), *told)

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
