"""A process that has imported what commands import, and forks itself for each command it is asked to be.

    python served.py LINK

LINK is a socket, from which come arguments, folder and environment as JSON, with the two streams to write on; exit
statuses go back.
"""

import gc
import json
import multiprocessing
import os
import socket
import sys
import warnings
from typing import get_args

MOST_B = 1 << 20
#: What takes a second to import.
IMPORTED = """
bokeh.embed matplotlib.pyplot pandas scipy.optimize scipy.stats simsched.execute simsched.plots simsched.report
simsched.reproduce simsched.sweep
"""


def command(arguments, folder, environment, streams):
    """Be `python -W error -m simsched.cli.app`."""
    from simsched.cli import app as cli

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for number, (name, stream) in enumerate(zip(("stdout", "stderr"), streams, strict=True), 1):
        os.dup2(stream, number)
        buffering = 1 if os.isatty(number) else -1
        setattr(sys, name, os.fdopen(os.dup(number), "w", buffering, encoding=encoding))
    warnings.resetwarnings()
    warnings.simplefilter("error")
    sys.argv = ["simsched", *arguments]
    cli.main()


def serve(link):
    """Be commands until nobody asks any more."""
    from simsched.cli import app as cli
    from simsched.plugins import Group, registered

    for module in IMPORTED.split():
        __import__(module)
    cli.commands()
    for group in get_args(Group):
        for entries in registered(group).values():
            entries[0].load()
    # What is never looked at again is never copied.
    gc.freeze()
    forking = multiprocessing.get_context("fork")
    while True:
        said, streams, *_ = socket.recv_fds(link, MOST_B, 2)
        if not said:
            return
        process = forking.Process(target=command, args=(*json.loads(said), streams))
        process.start()
        for stream in streams:
            os.close(stream)
        process.join()
        link.send(str(process.exitcode).encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
