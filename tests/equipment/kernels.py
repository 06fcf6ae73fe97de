"""Jupyter kernels that are there at once: each is a fork of a process that has imported what notebooks import.

With the number of a listening socket, this file is that process, and forks itself for each who asks there. With the
path of the socket and the arguments of a kernel it is what Jupyter starts: it asks, and lives as long as its kernel.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MOST_B = 1 << 20
#: What takes seconds to import.
IMPORTED = """
ipykernel.kernelapp ipywidgets matplotlib.pyplot pandas scipy.optimize bokeh.plotting simsched.execute simsched.panel
simsched.plots simsched.report simsched.reproduce simsched.study
"""
INLINE = "module://matplotlib_inline.backend_inline"


@contextmanager
def forked_kernels() -> Iterator[Path]:
    """Yield a folder for JUPYTER_PATH, in which Jupyter finds a Python whose kernels are forks."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = f"{folder}/asked"
        listening.bind(path)
        listening.listen()
        spec = {
            "argv": [sys.executable, "-I", "-S", __file__, path, "-f", "{connection_file}"],
            "display_name": "Python 3 (ipykernel)", "language": "python", "interrupt_mode": "message",
        }  # fmt: skip
        kernels = Path(folder, "kernels", "python3")
        kernels.mkdir(parents=True)
        (kernels / "kernel.json").write_text(json.dumps(spec), "utf-8")
        number = listening.fileno()
        # It ends when its standard input does.
        with subprocess.Popen(
            [sys.executable, __file__, str(number)], stdin=subprocess.PIPE, pass_fds=[number]
        ):
            yield Path(folder)


def serve(listening: socket.socket) -> None:
    """Fork a kernel for each who asks, until standard input ends."""
    import gc
    import select
    import signal

    os.environ["MPLBACKEND"] = INLINE
    sys.path.pop(0)
    for module in IMPORTED.split():
        __import__(module)
    # What is never looked at again is never copied.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([sys.stdin, listening], [], [])[0]:
        asking, _ = listening.accept()
        if not os.fork():
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _be_kernel(asking)
        asking.close()


def ask(path: str, *arguments: str) -> None:
    """Ask for a kernel, and wait until it has ended."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        said = json.dumps([arguments, str(Path.cwd()), dict(os.environ)])
        socket.send_fds(link, [said.encode()], [1, 2])
        link.recv(1)


def _be_kernel(asking: socket.socket) -> None:
    """Be the kernel that is asked for, as long as who asked is there."""
    import threading

    from ipykernel.kernelapp import IPKernelApp

    said, streams, *_ = socket.recv_fds(asking, MOST_B, 2)
    arguments, folder, environment = json.loads(said)
    for number, stream in enumerate(streams, 1):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update({"MPLBACKEND": INLINE, **environment, "JPY_PARENT_PID": str(os.getppid())})
    os.chdir(folder)

    def end_with_it() -> None:
        asking.recv(1)
        os._exit(0)

    threading.Thread(target=end_with_it, daemon=True).start()
    IPKernelApp.launch_instance(argv=arguments)
    os._exit(0)


if __name__ == "__main__":
    first, *others = sys.argv[1:]
    ask(first, *others) if others else serve(socket.socket(fileno=int(first)))
