"""Progress bars of long work: on terminals and in notebooks, once it has taken a second."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from simsched.errors import SimschedError
from simsched.text import printable

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


@contextmanager
def progress_bar(total: int | None, what: str, unit: str = "tasks") -> Iterator[Callable[[int], object]]:
    """Show a progress bar after a second of work, if standard error is a terminal or in a notebook.

    Parameters
    ----------
    total : int, optional
        Units of all the work; a bar without an end when not given.
    what : str
        The work to do; possibly text from a file.
    unit : str

    Yields
    ------
    callable
        To be called with the number of units done since its last call.
    """
    from tqdm.auto import tqdm

    with tqdm(
        total=total, desc=printable(what), unit=f" {unit}", unit_scale=True, delay=1.0, leave=False,
        disable=not _is_watched(), dynamic_ncols=True,
    ) as bar:  # fmt: skip
        yield bar.update


def _is_watched() -> bool:
    """Return whether there is a terminal or a notebook to show progress in."""
    return on_terminal() or "ipykernel.zmqshell" in sys.modules


def on_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def check_progress(progress: object) -> Callable[[int], object]:
    """Check the argument `progress` of long work, and return it; a function that does nothing in place of None.

    Raises
    ------
    SimschedError
        If it is neither None nor a function.
    """
    if progress is None:
        return lambda count: None
    if not callable(progress):
        raise SimschedError(f"progress is {progress!r:.80}; expected a function of a number of tasks")
    return progress


def shows_progress(call: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Let a function with the argument `progress` show a progress bar where it is given none.

    Without tqdm (the extra `cli`) nothing is shown.

    Examples
    --------
    >>> @shows_progress
    ... def work(n, *, progress=None):
    ...     return n + 1
    >>> work(2)
    3
    """

    @functools.wraps(call)
    def shown(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        check_progress(kwargs.get("progress"))
        if kwargs.get("progress") is not None or not _is_watched() or find_spec("tqdm") is None:
            return call(*args, **kwargs)
        with progress_bar(None, call.__name__) as progress:
            kwargs["progress"] = progress
            return call(*args, **kwargs)

    return shown
