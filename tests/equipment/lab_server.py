"""A real JupyterLab for tests in a browser: on loopback, with a token, without the user's settings, always ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

from kernels import forked_kernels

from simsched.errors import SimschedError

PATIENCE_S = 60
#: How often a page is asked; without, it is asked at each frame, of which it then draws 60 a second.
POLL_MS = 100
#: The server and its kernels end by themselves when whoever started them was killed.
IDLE_S = 300
#: Neither news nor a question whether to fetch them; cells are on the page whether or not they are in sight.
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
}
ERRORS = "[data-mime-type='application/vnd.jupyter.stderr']"
TRACEBACK = "Traceback (most recent call last)"
#: What closes everything in a JupyterLab's page without a question, and what opens a notebook there. Kernels end first:
#: the debugger of JupyterLab 4.2 adds its button to what is closed once its kernel has ended.
CLOSE = """async () => {
  const widgets = [...window.jupyterapp.shell.widgets("main")]
  await Promise.all(widgets.map((one) => one.sessionContext?.shutdown()))
  for (const one of widgets) one.dispose()
}"""
OPEN = """async (path) => {
  const panel = await window.jupyterapp.commands.execute("docmanager:open", { path })
  await panel.context.ready
  await panel.sessionContext.ready
}"""
KERNEL = {"name": "python3", "display_name": "Python 3"}


@dataclass(frozen=True)
class Server:
    """A running JupyterLab.

    Parameters
    ----------
    url : str
        Where it listens, with a slash at the end.
    token : str
        What lets one in.
    folder : Path
        The notebooks that it shows.
    """

    url: str
    token: str
    folder: Path

    def write(self, name: str, *cells: str) -> str:
        """Write a notebook of code cells, and return its name."""
        code: dict[str, object] = {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        notebook = {
            "cells": [{**code, "id": f"cell-{place}", "source": cell} for place, cell in enumerate(cells)],
            "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5,
        }  # fmt: skip
        (self.folder / name).write_text(json.dumps(notebook), "utf-8")
        return name

    def close(self, page: Any) -> None:
        """Close the notebooks of a page, and end all kernels; its next notebook needs no new page."""
        page.evaluate(CLOSE)
        self.end_kernels()

    def end_kernels(self) -> None:
        """End the kernels of all notebooks."""
        for session in json.loads(self._asked("GET", "sessions")):
            self._asked("DELETE", f"sessions/{session['id']}")

    def _asked(self, method: str, what: str) -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = Request(f"{self.url}api/{what}", headers=headers, method=method)  # noqa: S310 - our own server
        with urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - our own server
            said: bytes = answer.read()
        return said

    def open(self, page: Any, name: str) -> None:
        """Open a notebook in a page of Playwright."""
        if page.url.startswith(f"{self.url}lab"):
            page.evaluate(OPEN, name)
        else:
            page.goto(f"{self.url}lab/tree/{name}?token={self.token}&reset")

    def run(self, page: Any, name: str) -> None:
        """Open a notebook, run all its cells and wait until the kernel has done so."""
        self.open(page, name)
        idle = page.get_by_title("Kernel status: Idle", exact=False).or_(
            page.get_by_text("Python 3 (ipykernel) | Idle")
        )
        idle.first.wait_for(timeout=1000 * PATIENCE_S)
        for item in ("Run", "Run All Cells"):
            page.get_by_role("menuitem", name=item, exact=True).click()
        # A cell that has not run has no number between its brackets, one that runs has a star; an error ends the run.
        page.wait_for_function(
            """([errors, traceback]) =>
              [...document.querySelectorAll(".jp-CodeCell .jp-InputPrompt")].every((of) => /\\d/.test(of.textContent))
              || [...document.querySelectorAll(errors)].some((each) => each.textContent.includes(traceback))""",
            arg=[ERRORS, TRACEBACK],
            polling=POLL_MS,
            timeout=1000 * PATIENCE_S,
        )
        wrong = page.locator(ERRORS).filter(has_text=TRACEBACK)
        if wrong.count():
            raise SimschedError(f"a cell of {name} ended in an error:\n{wrong.first.inner_text()}")


@contextmanager
def jupyterlab(folder: Path) -> Iterator[Server]:
    """Start a JupyterLab that shows the notebooks of a folder, and end it.

    Its kernels are forks, as simsched takes seconds to import.

    Raises
    ------
    SimschedError
        If it does not start; the message is its log.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with forked_kernels() as kernels, TemporaryDirectory(ignore_cleanup_errors=True) as own:
        home = Path(own)
        (home / "settings").mkdir()
        (home / "settings" / "overrides.json").write_text(json.dumps(SETTINGS), "utf-8")
        with (home / "log").open("w") as log:
            server = subprocess.Popen(
                _command(home, folder, port), env=os.environ | _homes(home, kernels), stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        try:
            yield _started(server, home, folder)
        finally:
            _end(server)


def _end(server: subprocess.Popen[bytes]) -> None:
    """End a server, which ends its kernels."""
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _homes(home: Path, kernels: Path) -> dict[str, str]:
    """Return where Jupyter looks: at our kernels and what is installed beside it, and at nothing of the user's."""
    share = Path(str(distribution("jupyterlab").locate_file("../../../share/jupyter"))).resolve()
    return {
        "JUPYTER_PATH": f"{kernels}{os.pathsep}{share}",
        "JUPYTER_CONFIG_PATH": str(share.parents[1] / "etc" / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(home),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_DIR": str(share / "lab"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "user"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def _command(home: Path, folder: Path, port: int) -> list[str]:
    return [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        f"--ServerApp.root_dir={folder}", f"--LabServerApp.app_settings_dir={home / 'settings'}",
        "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=true",
        f"--ServerApp.shutdown_no_activity_timeout={IDLE_S}",
        f"--MappingKernelManager.cull_idle_timeout={IDLE_S}", "--MappingKernelManager.cull_connected=true",
    ]  # fmt: skip


def _started(server: subprocess.Popen[bytes], home: Path, folder: Path) -> Server:
    """Wait for the server's own note of where it listens, and that it does."""
    until = time.monotonic() + PATIENCE_S
    while server.poll() is None and time.monotonic() < until:
        for note in (home / "runtime").glob("jpserver-*.json"):
            said = json.loads(note.read_text("utf-8") or "{}")
            if said and _listens(said["port"]):
                return Server(said["url"], said["token"], folder)
        time.sleep(0.1)
    raise SimschedError(f"JupyterLab did not start:\n{(home / 'log').read_text('utf-8')}")


def _listens(port: int) -> bool:
    with socket.socket() as ours:
        return ours.connect_ex(("127.0.0.1", port)) == 0
