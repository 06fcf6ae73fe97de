"""The command line: a thin layer over the library."""

from __future__ import annotations

import gc
import sys
import warnings
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from os import environ
from typing import Annotated, TextIO, cast

from simsched.errors import MissingExtraError, SimschedError
from simsched.text import printable
from simsched.version import version

try:
    import tqdm.auto  # noqa: F401 - looked for here, used by the commands
    import typer
    from typer.exceptions import Abort, TyperException
except ImportError:
    print(f"simsched: error: {MissingExtraError('typer', 'cli', 'the command line')}", file=sys.stderr)
    sys.exit(2)

from typer.core import TyperGroup

from simsched.cli.arguments import NOTES, arranged
from simsched.cli.common import all_notes, app, say


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"simsched {version()}")
        raise typer.Exit


@app.callback()
def simsched(
    version_: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    notes: Annotated[
        bool,
        typer.Option(NOTES, help="Print all notes of a result, not only the weightiest; may stand anywhere."),
    ] = False,
) -> None:
    """Replay task graphs on manycore machines under scheduling policies."""
    all_notes.set(notes)


#: The file of this folder that each command is in, in the order of `simsched --help`.
FILES = {
    "list": "list",
    "run": "replay",
    "compare": "replay",
    "predict": "study",
    "machines": "study",
    "convert": "learn",
    "tune": "study",
    "sweep": "sweep",
    "optimum": "replay",
    "sensitivity": "study",
    "verdicts": "study",
    "explain": "replay",
    "execute": "host",
    "calibrate": "host",
    "measure": "host",
    "crosscheck": "host",
    "replay-recorded": "replay",
    "learn": "learn",
    "report": "report",
    "reproduce": "reproduce",
    "crossed": "reproduce",
}


#: Exit status of an interrupted command.
INTERRUPTED = 130


def commands(asked: str = "") -> TyperGroup:
    """Return the parser of the command asked for and all imported ones; of all where there is none of this name.

    Importing what all commands want takes a second.
    """
    gc.disable()  # What is imported stays.
    for file in [FILES[asked]] if asked in FILES else FILES.values():
        import_module(f"simsched.cli.{file}")
    gc.enable()
    return _parser(len(app.registered_commands))


@cache
def _parser(_imported: int) -> TyperGroup:
    """Return the parser of what has been imported, which typer builds anew at each call."""
    order = list(FILES)
    app.registered_commands.sort(
        key=lambda one: order.index(one.name or getattr(one.callback, "__name__", "").replace("_", "-"))
    )
    return cast("TyperGroup", typer.main.get_command(app))


def main() -> None:
    """Run the command line: exit status 0 when done, 2 on bad input, 130 when interrupted.

    What is wrong with the input is one clear line, or with several mistakes in a file a line for each.
    """
    warnings.showwarning = _note
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Characters that the terminal's encoding lacks become escapes, not errors.
            stream.reconfigure(errors="backslashreplace")
    status: object = 0
    try:
        group = commands(_asked())
        arguments = arranged(group, sys.argv[1:]) or ["--help"]
        status = group(arguments, prog_name="simsched", standalone_mode=False)
        if status == INTERRUPTED:  # how typer returns an interrupt
            _tell("interrupted")
        if sys.stdout is not None:
            sys.stdout.flush()
    except SimschedError as error:
        status = _fail(*str(error).split("\n")) if error.mistakes else _fail(str(error))
    except (Abort, KeyboardInterrupt) as error:
        _tell(": ".join(["interrupted", *getattr(error.__cause__, "__notes__", ())]))
        status = INTERRUPTED
    except TyperException as error:
        status = _fail(_usage(error))
    except OSError as error:
        status = _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError as error:
        status = _fail(f"there is not enough memory for this: {error or 'take less of it'}")
    except SystemExit:
        # Typer's signal that the reader of our output has closed it, as `| head` does: no error.
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


def _asked() -> str:
    """Return the first word that is no option, of the arguments or of the line that a shell completes."""
    completed = environ.get("COMP_WORDS") or environ.get("_TYPER_COMPLETE_ARGS", "")
    words = completed.split()[1:] if "_SIMSCHED_COMPLETE" in environ else sys.argv[1:]
    return next((word for word in words if not word.startswith("-")), "")


def _usage(error: TyperException) -> str:
    """Return what is wrong with the arguments, and where the command's are explained."""
    said = error.format_message().replace("Value error, ", "").removesuffix(".")
    context = getattr(error, "ctx", None)
    return said if context is None else f"{said}; see `{context.command_path} --help`"


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line; where in the code it was raised is of no use here."""
    _tell(f"note: {message}")


def _fail(message: str, *mistakes: str) -> int:
    _tell(f"error: {message}", *mistakes)
    return 2


def _tell(message: str, *more: str) -> None:
    """Print a message as one line, and its details on lines of their own."""
    if sys.stderr is not None:
        print(
            f"simsched: {printable(' '.join(message.split()))}",
            *map(printable, more),
            sep="\n",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
