"""Machines by name, by file and by variation."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from simsched.errors import MachineError, SpecError
from simsched.machine.machine import Fact, Machine, RuntimeProfile
from simsched.plugins import named
from simsched.spec import parse

if TYPE_CHECKING:
    from simsched.machine.schema import MachineFile


def machine(source: str | Path | Machine) -> Machine:
    """Return a machine.

    Parameters
    ----------
    source : str, Path or Machine
        A name (`knl-7250`) or the path of a TOML file, each also with variations (`knl-7250[cores=128]`,
        `mine.toml[cores=128]`). A machine is returned as it is.

    Raises
    ------
    SpecError
        If no machine has that name.
    MachineError
        If the file or the variation is impossible; all mistakes of a file are listed.

    Examples
    --------
    >>> machine("knl-7250[cores=128]").n_tiles
    64
    """
    if isinstance(source, Machine):
        return source
    if not isinstance(source, (str, Path)):
        raise SpecError(f"{source!r} is not a machine; give a name, the path of a TOML file or a Machine")
    text = str(source)
    if match := _FILE.fullmatch(text):
        path, variations = match.groups()
        base, params = replace(read_machine(Path(path)), spec=path), parse(f"x{variations or ''}").params
    else:
        spec = parse(text)
        base, params = _built_in(spec.name), spec.params
    return base.varied(params) if params else base


_FILE = re.compile(r"(.*\.toml)(\[[^\[\]]*\])?", re.DOTALL)


@cache
def _built_in(name: str) -> Machine:
    return read_machine(named("machines", name)())


def read_machine(path: Path | Traversable) -> Machine:
    """Read a machine file.

    Raises
    ------
    MachineError
        If the file cannot be read, is not TOML, or breaks the schema; every mistake is listed with its key and value.
    """
    from pydantic import ValidationError

    from simsched.machine.schema import MachineFile

    try:
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise MachineError(f"{path}: {error.strerror or error}") from None
    except RecursionError:
        raise MachineError(f"{path}: values nested too deep for a machine file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MachineError(f"{path}: not a TOML file: {error}") from None
    try:
        parsed = MachineFile.model_validate(content)
    except ValidationError as error:
        raise MachineError(f"{path}: {_mistakes(error)}") from None
    return _machine(parsed, str(path))


def _mistakes(error: object) -> str:
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)  # noqa: S101 - narrows the type; pydantic stays unimported until needed
    lines = []
    for mistake in error.errors():
        key = ".".join(map(str, mistake["loc"]))
        shown = "" if mistake["type"] == "missing" else f" (got {mistake['input']!r})"
        lines.append(f"{key}: {mistake['msg'].removeprefix('Value error, ')}{shown}")
    return f"{len(lines)} mistake{'s' * (len(lines) > 1)}: " + "; ".join(lines)


def _machine(file: MachineFile, path: str) -> Machine:
    from simsched.machine.schema import Quantity, si

    cores, runtime = file.cores, file.runtime
    count, per_tile = int(si(cores.count)), int(si(cores.per_tile))
    if count % per_tile:
        raise MachineError(f"{path}: cores.count: {count} cores are not whole tiles of {per_tile}")
    facts = tuple(
        Fact(f"{table}.{key}", q.value, q.unit, q.source, q.confidence)
        for table in ("cores", "memory", "caches", "runtime")
        for key, q in getattr(file, table)
        if isinstance(q, Quantity)
    )
    return Machine(
        spec=file.name,
        title=file.title,
        n_cores=count,
        cores_per_tile=per_tile,
        smt_ways=int(si(cores.smt_ways)),
        core_flops=si(cores.clock) * si(cores.flop_per_cycle) * si(cores.sustained),
        core_bandwidth_Bps=si(cores.bandwidth),
        bandwidth_Bps=si(file.memory.bandwidth),
        runtime=RuntimeProfile(
            dispatch_s=si(runtime.dispatch),
            pop_s=si(runtime.pop),
            pop_per_poller_s=si(runtime.pop_per_poller),
            fork_join_s=si(runtime.fork_join),
            fork_join_per_thread_s=si(runtime.fork_join_per_thread),
            resize_s=si(runtime.resize),
        ),
        facts=facts,
    )
