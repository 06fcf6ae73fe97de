"""Arguments before parsing: a reader's options may come anywhere; unknown names get similar suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from typer.core import TyperGroup

from simsched.errors import FormatError

#: The option of all commands that may stand anywhere.
NOTES = "--notes"


def arranged(group: TyperGroup, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of the command line as the parser wants them: --notes first, options for readers last."""
    if arguments and arguments[0] == NOTES:
        return [NOTES, *(argument for argument in arranged(group, arguments[1:]) if argument != NOTES)]
    if not arguments or arguments[0].startswith("-"):
        return list(arguments)
    own = _own_options(group, arguments[0])
    first, ours, readers, rest = [], [], [], iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == NOTES:
            first = [NOTES]
        elif not name.startswith("--") or name == "--" or name in own:
            ours.append(argument)
            # The value of an option of ours is not an option, whatever it looks like.
            if own.get(name, False) and not equals:
                ours += [value for value in [next(rest, None)] if value is not None]
        else:
            readers += [argument] if equals else [argument, *(v for v in [next(rest, None)] if v is not None)]
    return [*first, *ours, *readers]


def _own_options(group: TyperGroup, command: str) -> dict[str, bool]:
    """Return the options of a command, and whether each takes a value; that of help where there is no such command."""
    found = group.commands.get(command)
    params = [] if found is None else found.params
    return {"--help": False} | {
        option: not getattr(param, "is_flag", False)
        for param in params
        if param.param_type_name == "option"
        for option in param.opts
    }


def no_reader(graph: str, options: Sequence[str], own: Sequence[str]) -> FormatError:
    """Return the error that a workload has no options of readers, with an option of ours that is spelled alike."""
    name = f"--{options[0].replace('_', '-')}"
    near = get_close_matches(name, own, 1)
    meant = f"; did you mean {near[0]}?" if near else "; its parameters stand in its brackets"
    return FormatError(f"{graph} is a workload, which has no option {name}{meant}")
