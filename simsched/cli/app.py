"""The command line: a thin layer over the library."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, TextIO, cast

from simsched.errors import MissingExtraError, SimschedError
from simsched.text import printable
from simsched.version import version

try:
    import tqdm.auto  # noqa: F401 - looked for here, used by cli_common
    import typer
    from typer.exceptions import Abort, TyperException
except ImportError:
    print(f"simsched: error: {MissingExtraError('typer', 'cli', 'the command line')}", file=sys.stderr)
    sys.exit(2)

from simsched.cli import convert as cli_convert
from simsched.cli import crossed as cli_crossed
from simsched.cli import explain as cli_explain
from simsched.cli import host as cli_host
from simsched.cli import list as cli_list
from simsched.cli import optimum as cli_optimum
from simsched.cli import predict as cli_predict
from simsched.cli import recorded as cli_recorded
from simsched.cli import replay as cli_replay
from simsched.cli import report as cli_report
from simsched.cli import reproduce as cli_reproduce
from simsched.cli import sensitivity as cli_sensitivity
from simsched.cli import sweep as cli_sweep
from simsched.cli import tune as cli_tune
from simsched.cli import verdicts as cli_verdicts
from simsched.cli.arguments import arranged
from simsched.cli.common import epilog, say

if TYPE_CHECKING:
    from typer.core import TyperGroup

app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog("run rnn --out run.html", "compare rnn", "list workloads"),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"simsched {version()}")
        raise typer.Exit


@app.callback()
def simsched(
    version_: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Replay task graphs on manycore machines under scheduling policies."""


for room in (
    cli_list,
    cli_replay,
    cli_predict,
    cli_convert,
    cli_tune,
    cli_sweep,
    cli_optimum,
    cli_sensitivity,
    cli_verdicts,
    cli_explain,
    cli_host,
    cli_recorded,
    cli_report,
    cli_reproduce,
    cli_crossed,
):
    room.add_to(app)


@cache
def commands() -> TyperGroup:
    """Return the commands as the parser has them; typer makes them anew each time that it is asked."""
    return cast("TyperGroup", typer.main.get_command(app))


def main() -> None:
    """Run the command line: exit status 0 when done, 2 on bad input, 130 when interrupted.

    What is wrong with the input is one clear line, or with several mistakes in a file a line for each.
    """
    warnings.showwarning = _note
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What the encoding of a terminal lacks is an escape, not an error.
            stream.reconfigure(errors="backslashreplace")
    status: object = 0
    try:
        group = commands()
        arguments = arranged(group, sys.argv[1:]) or ["--help"]
        status = group(arguments, prog_name="simsched", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SimschedError as error:
        status = _fail(*str(error).split("\n")) if error.mistakes else _fail(str(error))
    except (Abort, KeyboardInterrupt):
        _tell("interrupted")
        status = 130
    except TyperException as error:
        status = _fail(error.format_message())
    except OSError as error:
        status = _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except MemoryError as error:
        status = _fail(f"there is not enough memory for this: {error or 'take less of it'}")
    except SystemExit:
        # Typer's way of saying that whoever read our output went away, as `| head` does: nothing is wrong.
        status = 0
    sys.exit(status if isinstance(status, int) else 0)


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
    """Print a message as one line, and what belongs to it on lines of its own."""
    if sys.stderr is not None:
        print(
            f"simsched: {printable(' '.join(message.split()))}",
            *map(printable, more),
            sep="\n",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
