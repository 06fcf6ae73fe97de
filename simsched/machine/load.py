"""Machines by name, by file and by variation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError, MachineError, SimschedError, SpecError
from simsched.files import parse_toml, read_small
from simsched.machine.build import built
from simsched.machine.machine import Machine
from simsched.mistakes import short
from simsched.plugins import meant, named, registered
from simsched.spec import Spec, parse, parse_path

#: Most bytes of a machine file; those of simsched have at most some tens of thousands.
MOST_B = 1 << 22


class MachineReader(Protocol):
    """Reader of machine files in a format of its own; registered as `simsched.machine_readers`.

    Attributes
    ----------
    suffixes : tuple of str
        How the names of its files end, as `.xml`.

    Examples
    --------
    >>> from simsched.hwmodels.hwloc import HWLOC
    >>> reader: MachineReader = HWLOC
    >>> reader.suffixes
    ('.xml', '.xml.gz')
    """

    suffixes: tuple[str, ...]

    def read(self, path: Path, like: str | None, core: str | None = None) -> Mapping[str, Any]:
        """Return the content of a machine file; values that the format lacks come from the machine `like`.

        Or they come from the table of cores: those of `core`, or of the core that the file tells.

        Raises
        ------
        MachineError
            If the file is malformed, or something is missing; the message names all of it and what to write.
        """


def machine(
    source: str | Path | Machine,
    *,
    pair_Bps: npt.ArrayLike | None = None,
    pair_latency_s: npt.ArrayLike | None = None,
) -> Machine:
    """Return a machine.

    Parameters
    ----------
    source : str, Path or Machine
        A name (`knl-7250`, `host`) or the path of a TOML or hwloc XML file, each also with variations
        (`knl-7250[cores=128]`, `mine.toml[memory=cache]`, `lstopo.xml[like=xeon-8160x2]`); see
        `simsched.machine.variations`. A machine is returned unchanged.
    pair_Bps, pair_latency_s : array_like, shape (places, places), optional
        Bytes per second, and seconds of a message without bytes, from each place of cores to each other one, as the
        table `[data]` of a file has them (`pair_bandwidth`, `pair_latency`); objects are sent unless the machine says
        `data=read`. What is on the diagonals is not looked at. The machine's string does not say them.

    Returns
    -------
    Machine

    Raises
    ------
    SpecError
        If no machine has that name.
    MachineError
        If the file is malformed or the variation impossible; the message lists all mistakes in a file.

    Examples
    --------
    >>> machine("knl-7250[cores=128]").n_tiles
    64

    10 bytes from core 0 to core 2 of three, over a link of 5 B/s:

    >>> Bps = [[0, 1, 5], [1, 0, 2], [4, 2, 0]]
    >>> latency_s, s_per_B = machine("generic[cores=3,kinds=each]", pair_Bps=Bps).network.tables
    >>> float(latency_s[0, 2] + 10 * s_per_B[0, 2])
    2.0
    """
    if pair_Bps is not None or pair_latency_s is not None:
        return _with_pairs(source, pair_Bps, pair_latency_s)
    if isinstance(source, Machine):
        return source
    if not isinstance(source, (str, Path)):
        raise SpecError(f"{source!r} is not a machine; give a name, the path of a TOML file or a Machine")
    text = str(source)
    readers = _readers()
    spec = parse_path(text)
    if spec.params:
        # As in names of machines, a space may precede the brackets.
        spec = replace(spec, name=spec.name.rstrip())
    if not spec.name.endswith((".toml", *readers)):
        return _built_in(text, tuple(readers))
    reader = next((r for suffix, r in readers.items() if spec.name.endswith(suffix)), None)
    if reader is None:
        return _from(Path(spec.name), spec)
    return built(reader.read(Path(spec.name), *_origins(spec)), spec, spec.name)


def _with_pairs(
    source: str | Path | Machine, pair_Bps: npt.ArrayLike | None, pair_latency_s: npt.ArrayLike | None
) -> Machine:
    """Return a machine with the numbers of pairs in the table `[data]` of its content."""
    known = source if isinstance(source, Machine) else machine(source)
    given = {"pair_bandwidth": (pair_Bps, "B/s"), "pair_latency": (pair_latency_s, "s")}
    if parse_path(known.spec).params.get("data") == "none":
        raise MachineError(
            f"{known}: with data=none nothing is sent, and numbers of pairs have no effect; leave out one of both"
        )
    data = {"mode": "sent", **known.content.get("data", {})}
    for key, (table, unit) in given.items():
        if table is None:
            continue
        try:
            numbers = np.array(table, np.float64)
        except (TypeError, ValueError) as error:
            raise MachineError(f"{known}: data.{key}: expected a table of numbers ({error})") from None
        if numbers.ndim != 2:
            raise MachineError(f"{known}: data.{key}: expected rows and columns (got shape {numbers.shape})")
        np.fill_diagonal(numbers, 0.0)
        source_of = {"source": "given where the machine was made", "confidence": "unverified"}
        data[key] = {"value": numbers.tolist(), "unit": unit, **source_of}
    return built({**known.content, "data": data}, parse_path(known.spec))


def _built_in(text: str, suffixes: tuple[str, ...]) -> Machine:
    name = text.partition("[")[0].strip()
    if name not in registered("machines"):
        raise _unknown(name, text, suffixes)
    spec = parse(text)
    return _from(named("machines", spec.name)(), spec)


def _unknown(name: str, text: str, suffixes: tuple[str, ...]) -> SimschedError:
    """Return the error of a name that is no machine's, which says how the chip that it may be is described."""
    # A number of a product says more than letters: an EPYC 9654 is in epyc-9654x2.
    numbers = re.findall(r"\d{4,}", name)
    near = meant(
        "machines", next((one for one in registered("machines") if any(n in one for n in numbers)), name)
    )
    if described := named("machine_cores", "describable")(name):
        built_in = [one for one in registered("machines") if one.startswith(f"{name.lower()}-")]
        near = near or (built_in and f"; built in is {' or '.join(built_in)}") or ""
        return SpecError(f"no machine is called {short(name)}; {described}{near}")
    if "/" in text or "." in name or Path(name).is_file():
        files = f".toml or {', '.join(suffixes)}"
        return MachineError(
            f"{short(text)} is neither the name of a machine nor a file whose name ends with {files}; "
            "`lstopo node.xml` writes one, or describe the machine: generic[core=NAME,cores=N]"
        )
    there = ", ".join(registered("machines"))
    other = "any other chip is generic[core=NAME,cores=N,bandwidth_Bps=...], a TOML file or lstopo's XML file"
    unknown = f"no machine is called {short(name)}, and the table of cores has no such core or chip"
    return SpecError(f"{unknown}; there are: {there}; {other}{near}")


def _readers() -> dict[str, MachineReader]:
    """Return the readers of further formats by suffix, the longest suffix first."""
    readers = [named("machine_readers", name) for name in registered("machine_readers")]
    found = {suffix: reader for reader in readers for suffix in reader.suffixes}
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _origins(spec: Spec) -> tuple[str | None, str | None]:
    """Return the machine, or the core, that supplies what is not known, as the brackets name it."""
    like, core = (None if (given := spec.params.get(key)) is None else str(given) for key in ("like", "core"))
    if like is not None and core is not None:
        raise MachineError(f"{spec}: like= and core= both say where numbers come from; give one of them")
    return like, core


def _from(source: Path | Traversable | Any, spec: Spec) -> Machine:
    """Return the machine of a file, or of a function of `like` and `core` that returns its content, as `host` is."""
    if callable(source):
        return built(source(*_origins(spec)), spec)
    if "like" in spec.params:
        raise MachineError(
            f"{spec}: machine files state all their numbers; like=... is only for formats that do not"
        )
    return _made(_bytes(source), str(source), str(spec), "" if not isinstance(source, Path) else str(source))


@lru_cache(128)
def _made(text: bytes, path: str, spec: str, where: str) -> Machine:
    """Return the machine of a file's text; the same for the same text and spec, as nothing changes a machine."""
    try:
        content = parse_toml(path, text)
    except FormatError as error:
        raise MachineError(str(error)) from None
    if content.get("format") == "simsched-learned":
        raise MachineError(
            f"{path} is no machine: `simsched learn` wrote it; give it as `simsched predict GRAPH --learned {path}`, "
            "or take ss.Learned.load(...).predict(graph)"
        )
    asked = parse_path(spec)
    if "core" in asked.params:
        content = named("machine_cores", "table")(content, asked)
    return built(content, asked, where)


def _bytes(path: Path | Traversable) -> bytes:
    if not isinstance(path, Path):
        return path.read_bytes()
    try:
        return read_small(path, MOST_B, "machine file")
    except FormatError as error:
        raise MachineError(str(error)) from None
