"""A Dask cluster of real processes on the loopback interface, of which any may be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self


class Daemons:
    """A scheduler and workers; all of them are killed in the end.

    Parameters
    ----------
    folder : Path
        For the scheduler's address and what the workers put aside.
    path : str
        Further folders of modules that workers import, as PYTHONPATH has them.
    """

    def __init__(self, folder: Path, path: str = "") -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._env = os.environ | {"PYTHONPATH": path, "DASK_TEMPORARY_DIRECTORY": str(folder)}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.kill()
                process.wait()

    @property
    def address(self) -> str:
        """Where the scheduler listens; what it has not written to the end is not an address."""
        return str(json.loads(self._file.read_text())["address"])

    def _listens(self) -> bool:
        try:
            return bool(self.address)
        except (FileNotFoundError, json.JSONDecodeError):
            return False

    def start(self, workers: int = 2) -> None:
        """Start a scheduler on a free port, and workers with one thread each."""
        self._file.unlink(missing_ok=True)
        at = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self._file)]
        self.scheduler = self._start("scheduler", *at)
        wait_until(self._listens)
        for _ in range(workers):
            self.add_worker()

    def mend(self, workers: int = 2) -> None:
        """Start again what is dead: the scheduler with all of its workers, or as many workers as are missing."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for process in self.workers:
                process.kill()
                process.wait()
            self.workers.clear()
            self.start(workers)
        self.workers = [process for process in self.workers if process.poll() is None]
        for _ in range(workers - len(self.workers)):
            self.add_worker()

    def add_worker(self) -> None:
        """Start one more worker, with a nanny that starts it again when it dies."""
        at = ["--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(self._folder)]
        self.workers.append(self._start("worker", self.address, "--nthreads", "1", *at))

    def worker_processes(self) -> list[int]:
        """Return the processes that replay; those in `workers` are their nannies."""
        return [pid for nanny in self.workers for pid in children(nanny.pid) if "spawn_main" in _command(pid)]

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._env, cwd=self._folder, stdout=quiet, stderr=quiet)


def children(pid: int) -> list[int]:
    """Return the processes that a process started; none where it is gone."""
    try:
        # Each belongs to the thread that started it.
        lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(text) for found in lists for text in found.split()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def wait_until(true: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait until something is true.

    Raises
    ------
    TimeoutError
        If that takes too long.
    """
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s in vain")
        time.sleep(0.05)
