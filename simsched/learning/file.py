"""The TOML file of `Learned`: the same tables as in Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from simsched.errors import CostError, FormatError
from simsched.files import parse_toml, read_small, replacing
from simsched.learning.rows import KindSeconds, Run, Slowdown, StartCost
from simsched.mistakes import described, refusal

if TYPE_CHECKING:
    from pydantic import BaseModel

    from simsched.learning.learned import Learned

FORMAT, VERSION = "simsched-learned", 1
#: Most bytes of a file: some millions of tasks.
MOST_B = 1 << 28
#: Mistakes that a message lists.
LISTED = 8


def write(learned: Learned, path: Path) -> None:
    """Write what was learned; an existing file is replaced only once the new one is complete.

    Raises
    ------
    SimschedError
        If the file cannot be written.
    """
    with replacing(path) as file:
        for line in _lines(learned):
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")


def facts(learned: Learned) -> dict[str, Any]:
    """Return all that was learned as lists of rows, by name: what the file holds, without single tasks."""
    names = ("seconds", "slowdowns", "starts", "runs")
    return {
        "lanes": learned.lanes,
        **{name: [asdict(row) for row in getattr(learned, name)] for name in names},
    }


def _lines(learned: Learned) -> Iterator[str]:
    yield f'format = "{FORMAT}"\nversion = {VERSION}\nlanes = {learned.lanes}'
    yield f"notes = {_value(list(learned.notes))}"
    tables = facts(learned)
    tables.pop("lanes")
    for name, rows in tables.items():
        for row in rows:
            yield f"\n[[{name}]]"
            yield from (f"{key} = {_value(value)}" for key, value in row.items() if value is not None)
    for (program, width, kind, shape), seconds_s in _by_group(learned).items():
        yield f"\n[[tasks]]\nprogram = {_value(program)}\nkind = {_value(kind)}\nshape = {_value(shape)}"
        yield f"width = {width}\nalone_s = {_value(seconds_s)}"


def _by_group(learned: Learned) -> dict[tuple[str, int, str, str], list[float]]:
    groups: dict[tuple[str, int, str, str], dict[int, float]] = defaultdict(dict)
    for (program, width, (kind, shape, place)), seconds_s in learned.of_task.items():
        groups[program, width, kind, shape][place] = seconds_s
    return {group: [values[i] for i in range(len(values))] for group, values in groups.items()}


def _value(value: object) -> str:
    """Return a number, a truth value, a text or a list of these as TOML; JSON's texts are TOML's."""
    return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")


def read(path: Path) -> dict[str, Any]:
    """Return the fields of `Learned` from a file.

    Raises
    ------
    FormatError
        If the file is not there or not one of these; mistakes are listed, each with its place.
    """
    from pydantic import ValidationError

    try:
        model: Any = _model().model_validate(_content(path))
    except ValidationError as error:
        raise refusal(FormatError, path, [described(mistake) for mistake in error.errors()], LISTED) from None
    except CostError as error:
        raise FormatError(f"{path}: {error}") from None
    fields = {
        name: getattr(model, name) for name in ("lanes", "notes", "seconds", "slowdowns", "starts", "runs")
    }
    of_task = {
        (row.program, row.width, (row.kind, row.shape, place)): alone_s
        for row in model.tasks
        for place, alone_s in enumerate(row.alone_s)
    }
    return {**fields, "of_task": of_task}


def _content(path: Path) -> dict[str, Any]:
    content = parse_toml(path, read_small(path, MOST_B, "such file"))
    if content.get("format") != FORMAT:
        raise FormatError(f'{path} was not written by `simsched learn`: it does not say format = "{FORMAT}"')
    return content


@cache
def _model() -> type[BaseModel]:
    from pydantic import BaseModel, ConfigDict, Field

    strict = ConfigDict(extra="forbid", frozen=True)
    seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

    class Tasks(BaseModel):
        model_config = strict
        program: str
        kind: str
        shape: str
        width: Annotated[int, Field(ge=1)]
        alone_s: tuple[seconds, ...]

    class File(BaseModel):
        model_config = strict
        format: str
        version: Literal[1]
        lanes: Annotated[int, Field(ge=1, le=2**20)]
        notes: tuple[str, ...] = ()
        seconds: tuple[KindSeconds, ...] = ()
        slowdowns: tuple[Slowdown, ...] = ()
        starts: tuple[StartCost, ...] = ()
        runs: tuple[Run, ...] = ()
        tasks: tuple[Tasks, ...] = ()

    return File
