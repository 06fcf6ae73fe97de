"""The error family: every error a user can cause is a `SimschedError` with one clear line, or one per mistake."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from simsched.text import bounded

#: Mistakes that a message shows; `mistakes` has all.
MOST_SHOWN = 100


class SimschedError(Exception):
    """Base of all errors that simsched raises on bad input; the message says what to do.

    Names in messages may come from files: their control characters are shown as escapes, and of each line at most
    `simsched.text.MOST_LINE` characters, without its middle where it is longer.

    Parameters
    ----------
    message : str
        The problem, and what to do.
    mistakes : sequence of str
        Mistakes of a file, which follow the message: one on the same line, several below it, one per line.

    Examples
    --------
    >>> import simsched as ss
    >>> try:
    ...     ss.Layout.parse("8 by 4")
    ... except ss.SimschedError as error:
    ...     print(error)
    '8 by 4' is not a layout; write executors x cores, as in 8x4, or best
    """

    def __init__(self, message: str = "", mistakes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)

    def __str__(self) -> str:
        lines = super().__str__()
        if len(self.mistakes) == 1:
            lines = f"{lines} {self.mistakes[0]}"
        elif self.mistakes:
            more = len(self.mistakes) - MOST_SHOWN
            shown = [*self.mistakes[:MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
            # A mistake may be a file with its own mistakes.
            lines = "\n  ".join([lines, *(mistake.replace("\n", "\n  ") for mistake in shown)])
        return "\n".join(map(bounded, lines.split("\n")))


def refuse_interrupt(error: BaseException | None) -> None:
    """Raise `KeyboardInterrupt` if that is what an error came from.

    Compiled modules, such as NumPy's, turn Ctrl-C while they are imported into an `ImportError`.

    Raises
    ------
    KeyboardInterrupt
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt
        error = error.__cause__ or error.__context__


class SpecError(SimschedError):
    """A `name[key=value,...]` string is malformed, or names something that is not registered."""


class GraphError(SimschedError):
    """A task graph is impossible: a cycle, a self-loop, an unknown endpoint, a negative duration."""


class FormatError(SimschedError):
    """A file is not of its claimed format; the message names the file and the place."""


class MachineError(SimschedError):
    """A machine file or a variation of a machine is impossible; all mistakes are listed."""


class CostError(SimschedError):
    """A task's seconds are unknown: no duration, and no FLOPs or bytes to estimate them from."""


class LayoutError(SimschedError):
    """A layout `k x w` is malformed or does not fit the machine or the policy."""


class PolicyError(SimschedError):
    """A policy asked for something impossible; the message gives the task's history."""


class EngineError(SimschedError):
    """The requested replay engine is missing or cannot do what is asked."""


class MemoryLimitError(EngineError):
    """A place holds less than tasks need there, alone or beside what others still need."""


class SweepError(SimschedError):
    """A sweep cannot continue: a foreign or read-only store, or a lost cluster; finished points are kept."""


class MissingExtraError(SimschedError, ImportError):
    """An optional library is missing; the message is the command to install it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        refuse_interrupt(sys.exception())
        super().__init__(
            f"{purpose} needs {library}, which is not installed: pip install 'simsched[{extra}]'"
        )


def require(library: str, extra: str, purpose: str) -> None:
    """Raise `MissingExtraError` if an optional library, which the purpose needs, cannot be imported."""
    try:
        import_module(library)
    except ImportError:
        raise MissingExtraError(library, extra, purpose) from None


class LostObjectsWarning(UserWarning):
    """Given on saving: the format has no place for some data objects, or work of tasks, and which formats have."""


class NativeMissingWarning(UserWarning):
    """Given once, on use: the compiled module is missing, and how to get it."""
