"""Commands in processes of their own: into pipes, and on a terminal of a given width."""

import gzip
import multiprocessing
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import simsched as ss
from simsched import cli
from simsched.errors import SimschedError
from simsched.execute.module import module
from simsched.traces.samples import sample_files

SWEEP = """
graphs = ["rnn"]
machines = ["generic[cores=4]"]
policies = ["fifo", "critical-path"]
layouts = ["4x1", "2x2"]
"""


#: What commands import: a process that has it all is forked for each, which spares a second each time.
IMPORTED = """
simsched.cli simsched.plots simsched.report simsched.reproduce simsched.execute matplotlib.pyplot
scipy.optimize scipy.stats pandas
"""


def _command(arguments, folder, environment, streams):
    """Be a process that runs a command as `python -W error -m simsched.cli` does, writing into two files."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=environment.get("PYTHONIOENCODING", "utf-8"))
    warnings.resetwarnings()
    warnings.simplefilter("error")
    sys.argv = ["simsched", *arguments]
    cli.main()


@pytest.fixture(scope="session")
def piped(tmp_path_factory):
    """Run a command, and return its exit status and streams."""
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(IMPORTED.split())

    def run(*arguments, cwd=None, **environment):
        folder = tmp_path_factory.mktemp("streams")
        streams = [folder / name for name in ("stdout", "stderr")]
        words = [str(word) for word in arguments]
        process = forking.Process(
            target=_command, args=(words, cwd or os.getcwd(), {**os.environ, **environment}, streams)
        )
        process.start()
        process.join()
        out, err = (path.read_text("utf-8") for path in streams)
        return subprocess.CompletedProcess(words, process.exitcode, out, err)

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
