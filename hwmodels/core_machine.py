"""Machine files from the table of cores: of a socket of such cores, and of a machine described in brackets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simsched.errors import MachineError
from simsched.hwmodels.cores import NAMED, REACHED, CoreModel, core_named, cores_file
from simsched.machine.schema import NARROW, Quantity, si
from simsched.machine.stated import ASSUMED
from simsched.mistakes import refusal
from simsched.parameters import is_number, is_whole
from simsched.spec import Scalar, Spec

Table = dict[str, Any]
#: Whose cores other vendors put on chips with memory channels of their own.
LICENSOR = "0x41"
#: Numbers that processors of a microarchitecture differ in, and how the source of another one's begins.
OF_PARTS = {"clock", "power", "flop_per_cycle", "bandwidth", "nominal_bandwidth"}
THAT_OF = "that of the "
#: From near to far: what is assumed of a farther pair of cores is at least what is known of a nearer one.
TIMES = ("same_tile", "same_l3", "same_socket", "other_socket")
#: Name of the memory mode.
MODE = "memory"
#: Numbers of a memory that identical cores at equal distances have no use for.
OF_SOCKETS = ("cluster_bandwidth", "latency", "remote_latency")
#: Beginnings of what is above 0.
POSITIVE = ("cores", "domains", "memory.", "bandwidth", "core_bandwidth", "sharpness")
#: What a clock and a bandwidth of a core can be beyond doubt, in GHz and in B/s; less is a forgotten exponent.
CLOCKS_GHZ, CORE_BPS, LEAST_BPS = (0.1, 10.0), (1e7, 1e12), 1e8


class CoreNumbers:
    """The numbers of a core in the form of a machine file, each with its source.

    Parameters
    ----------
    core : CoreModel
    model : str, optional
        Name of the processor, "" where it has none; the one that the table's numbers are of where not given.
    """

    def __init__(self, core: CoreModel, model: str | None = None) -> None:
        self.core, self.known = core, core.of(model or "")
        others = OF_PARTS if model is not None and core.is_other(model) else set()
        self.own = core.own(model or "")
        #: Numbers that the table has of another processor.
        self.others = others - self.own.keys()

    def stated(self, key: str) -> Table:
        """Return a number of the table, or the table's assumption for any core."""
        if key in self.others:
            of = self.known[key]
            return self.assumed(of.value, of.unit, f"{THAT_OF}{self.core.part}: {of.source}")
        return self._of_table(self.known.get(key) or getattr(cores_file().assumed, key))

    @property
    def narrow(self) -> list[str]:
        """Names of the rates that are known of elements narrower than FP32."""
        return [key for element in NARROW if (key := f"{element}_per_cycle") in self.known]

    def bandwidth(self) -> Table:
        """Return the bandwidth of a socket: as measured, at most what its memory channels carry, or a share of that."""
        if "bandwidth" in self.known:
            measured, peak, named = self.stated("bandwidth"), self.peak(), self.core.named
            if peak is None or measured["value"] <= peak["value"] * named:
                return measured
            why = f"{measured['source']}, {measured['value']:g} {measured['unit']}; at most what the channels carry"
            return measured | {"value": peak["value"] * named, "source": why}
        nominal, share = self.known["nominal_bandwidth"], self.core.named
        names = "" if self.core.streams_stores else f", times {NAMED:g} as a triad names them"
        why = f"{REACHED:.0%} of the channels' {nominal.value:g} {nominal.unit} ({nominal.source}){names}"
        of = f"{THAT_OF}{self.core.part}: " if "nominal_bandwidth" in self.others else ""
        return self.assumed(nominal.value * REACHED * share, nominal.unit, of + why)

    def peak(self) -> Table | None:
        """Return what the memory channels carry; None where that is unknown, as of cores that many build into chips."""
        licensed = LICENSOR in self.core.vendors and "nominal_bandwidth" not in self.own
        return None if licensed or "nominal_bandwidth" not in self.known else self.stated("nominal_bandwidth")

    def core_bandwidth(self) -> Table:
        """Return the bandwidth of one core, at most that of the socket."""
        one, every = self.stated("core_bandwidth"), self.bandwidth()
        if one["value"] <= every["value"]:
            return one
        return self.assumed(every["value"], every["unit"], "as the socket; " + one["source"])

    def times(self) -> Table:
        """Return the times of a cache line between cores, from near to far."""
        times: Table = {}
        nearest: float = 0
        for key in TIMES:
            times[key] = self.stated(key)
            if key not in self.known:
                times[key]["value"] = max(times[key]["value"], nearest)
            nearest = times[key]["value"]
        return times

    def runtime(self, cores: int) -> Table:
        """Return the software's costs; those of a queue follow from the times of cache lines."""
        table = {key: self._of_table(given) for key, given in cores_file().runtime.items()}
        line_ns = self.times()["same_l3"]["value"]
        fork_us = (table["fork_join"]["value"] + table["barrier"]["value"]) + cores * (
            table["fork_join_per_thread"]["value"] + table["barrier_per_thread"]["value"]
        )
        return table | {
            "dispatch": self.assumed(2 * line_ns, "ns", "two cache-line transfers"),
            "pop": self.assumed(
                2 * line_ns, "ns", "two cache-line transfers: the lock and the head of the queue"
            ),
            "pop_per_poller": self.assumed(
                line_ns, "ns/poller", "each further poller fetches the lock's line"
            ),
            "resize": self.assumed(round(fork_us, 3), "us", f"a region with barrier on {cores} threads"),
        }

    def cores(self, count: int) -> Table:
        """Return the table `[cores]` of so many cores."""
        source = "vary it: [cores=N]"
        smt = {key: row.model_dump() for key, row in cores_file().smt.items()}
        for row in smt.values():
            row |= {"value": list(row["value"]), "source": self._from(row["source"])}
        return {
            "count": {"value": count, "unit": "core", "source": source, "confidence": "high"},
            "per_tile": {"value": 1, "unit": "core/tile", "source": source, "confidence": "high"},
            "smt_ways": {"value": 2, "unit": "thread/core", "source": source, "confidence": "high"},
            **{key: self.stated(key) for key in ("clock", "flop_per_cycle", *self.narrow, "sustained")},
            **smt,
        }

    def mode(self) -> Table:
        """Return the memory mode of one socket."""
        known = [key for key in ("cluster_bandwidth", "link_bandwidth") if key in self.known]
        table = {"core_bandwidth": self.core_bandwidth(), "bandwidth": self.bandwidth()}
        if peak := self.peak():
            table["peak"] = peak
        table |= {key: self.stated(key) for key in ("sharpness", *known)}
        for key in ("latency", "remote_latency"):
            if "latency" in self.known and key in self.known:
                table[key] = {"any": self.stated(key)}
        return {"title": "memory", **table} | ({"stores_fetch": False} if self.core.streams_stores else {})

    def assumed(self, value: float, unit: str, why: str) -> Table:
        """Return a number that nobody has stated."""
        source = f"{ASSUMED}cores.toml, {self.core.name}): {why}"
        return {"value": value, "unit": unit, "source": source, "confidence": "unverified"}

    def _of_table(self, given: Quantity) -> Table:
        return given.model_dump(exclude_none=True) | {"source": self._from(given.source)}

    def _from(self, source: str) -> str:
        if source.startswith("assumed"):
            return f"{ASSUMED}cores.toml, {self.core.name}): {source.removeprefix('assumed').lstrip(':, ')}"
        return f"cores.toml, {self.core.name}: {source}"


def with_clusters(content: Table, sizes: Sequence[int]) -> None:
    """State the clusters of cores that have ways to memory of their own, where a socket has several.

    Together they move what their socket does: a way that carries less than its share of that is another's, and doubled.
    """
    structure = content["structure"]
    several = len(sizes) > len(structure["sockets"])
    if several:
        structure["clusters"] = list(sizes)
    for mode in content["memory"]["modes"].values():
        given = mode.pop("cluster_bandwidth", None)
        if not several or given is None:
            continue
        share = mode["bandwidth"]["value"] / len(sizes)
        if given["value"] < share:
            why = f"{given['source']}, {given['value']:g} {given['unit']}; at least its share of the socket's"
            given = {**given, "value": share, "source": why, "ends": None}
        mode["cluster_bandwidth"] = given


def socket_content(core: CoreModel, model: str | None = None) -> Table:
    """Return the machine file of one socket of cores, with all that the table knows or assumes.

    Parameters
    ----------
    core : CoreModel
    model : str, optional
        Name of the processor, "" where it has none; the one that the table's numbers are of where not given.

    Examples
    --------
    >>> from simsched.hwmodels.core_machine import socket_content
    >>> from simsched.hwmodels.cores import core_named
    >>> socket_content(core_named("zen2"))["memory"]["modes"]["memory"]["bandwidth"]["value"]
    99.4
    """
    numbers = CoreNumbers(core, model)
    count = int(numbers.known["cores"].value)
    power = {"power": {"limit": numbers.stated("power")}} if "power" in numbers.known else {}
    made = {
        "schema": 2,
        "name": core.name,
        "title": core.title,
        "cores": numbers.cores(count),
        "structure": {"kind": "sockets", "sockets": [count], **numbers.times()},
        "memory": {"mode": MODE, "modes": {MODE: numbers.mode()}},
        "caches": {},
        "runtime": numbers.runtime(count),
        **power,
    }
    with_clusters(made, clusters_of(core, [count]))
    return made


def clusters_of(core: CoreModel, sockets: Sequence[int]) -> list[int]:
    """Return the cores of each cluster of sockets, those of the table's processor; nothing where they do not fit."""
    size = int(core.cluster_cores.value) if core.cluster_cores else 0
    return [size] * (sum(sockets) // size) if size and not any(one % size for one in sockets) else []


def with_core(content: Mapping[str, Any], spec: Spec) -> Table:
    """Return the machine file of identical cores with the core that `core=NAME` in the brackets names.

    Parameters
    ----------
    content : mapping
        File of a machine of identical cores, as `generic`.
    spec : Spec
        Its name, and the variations, of which `core` is one.

    Raises
    ------
    MachineError
        If there is no such core, the machine is not one of identical cores, or numbers are impossible; all of these
        are listed, each with why.

    Examples
    --------
    >>> import simsched as ss
    >>> machine = ss.machine("generic[cores=96,core=neoverse-v2,bandwidth_Bps=5.3e11,domains=1]")
    >>> machine.n_cores, machine.bandwidth_Bps, machine.core_flops < machine.peak_flops
    (96, 530000000000.0, True)
    >>> ss.machine("generic[cores=128,core=zen3,sockets=2]").n_domains
    2
    """
    if content["structure"].get("kind") != "flat":
        raise MachineError(
            f"{spec}: the file states what its cores are; core=... is for generic, for files of hwloc, and for host"
        )
    numbers, params = CoreNumbers(core_named(str(spec.params["core"]))), spec.params
    sockets = int(params["sockets"]) if is_whole(params.get("sockets"), 1, 1024) else 1
    asked, built = params.get("cores"), int(numbers.known["cores"].value)
    count = int(asked) if is_whole(asked, 1, 2**20) else built * sockets
    structure = dict(content["structure"]) | {"other_tile": numbers.times()["same_l3"]}
    mode = _mode(numbers, count // sockets, built)
    if "sockets" in params:
        structure = {"kind": "sockets", "sockets": [count // sockets] * sockets, **numbers.times()}
        for one in (mode[key] for key in ("bandwidth", "peak") if key in mode):
            one["value"] *= sockets
            one["source"] += f"; times {sockets}, for so many sockets"
    else:
        mode = {key: value for key, value in mode.items() if key not in OF_SOCKETS}
    cores = numbers.cores(count)
    cores["smt_ways"]["value"] = 1
    made = {
        **{key: content[key] for key in ("schema", "name")},
        "title": f"{count} x {numbers.core.title}",
        "cores": {key: value for key, value in cores.items() if not key.endswith("throughput")},
        "structure": structure,
        "memory": {"mode": MODE, "modes": {MODE: mode}},
        "runtime": numbers.runtime(count),
    }
    if "sockets" in params:
        with_clusters(made, clusters_of(numbers.core, structure["sockets"]))
    if mistakes := list(_impossible(made, params, count)):
        raise refusal(MachineError, str(spec), mistakes)
    return made


def _mode(numbers: CoreNumbers, count: int, built: int) -> Table:
    """Return the memory of so many cores: that of a socket, which is a guess where it has other cores."""
    mode = numbers.mode()
    one = mode["bandwidth"]
    if count != built and not one["source"].startswith(ASSUMED):
        why = f"as a socket of {built} cores: {one['source']}"
        mode["bandwidth"] = numbers.assumed(one["value"], one["unit"], why)
    return mode


def _impossible(content: Table, params: Mapping[str, Scalar], cores: int) -> Iterator[str]:
    """Yield what cannot be of a machine that brackets describe, and why."""
    for key, value in params.items():
        if key.startswith(POSITIVE) and is_number(value) and float(value) <= 0:
            yield f"{key}={value:g}: nothing of a machine is 0 or less; leave it out for what the table says"
    for key in ("domains", "sockets"):
        parts = params.get(key, 1)
        if is_whole(parts, 1) and cores % int(parts):
            yield f"{key}={parts}: {cores} cores are not {parts} equal {key}; cores must be a multiple of {key}"
    if {"domains", "sockets"} <= params.keys():
        yield "domains and sockets: each socket is one domain; give one of the two"
    clock_GHz = _number(params, "cores.clock", content["cores"]["clock"])
    if clock_GHz > 0 and not CLOCKS_GHZ[0] <= clock_GHz <= CLOCKS_GHZ[1]:
        yield f"cores.clock={clock_GHz:g}: in GHz; processors run at {CLOCKS_GHZ[0]:g} to {CLOCKS_GHZ[1]:g}"
    yield from _impossible_bandwidths(content["memory"]["modes"][MODE], params, cores)


def _impossible_bandwidths(mode: Table, params: Mapping[str, Scalar], count: int) -> Iterator[str]:
    one, every = (_number(params, f"{key}_Bps", mode[key]) for key in ("core_bandwidth", "bandwidth"))
    if one <= 0 or every <= 0:
        return
    if not CORE_BPS[0] <= one <= CORE_BPS[1]:
        yield f"core_bandwidth_Bps={one:g}: a core moves {CORE_BPS[0]:g} to {CORE_BPS[1]:g} B/s; is the exponent wrong?"
    if every < LEAST_BPS:
        yield f"bandwidth_Bps={every:g}: memory moves at least {LEAST_BPS:g} B/s; is an exponent missing, as in 5e11?"
    elif one > every:
        yield f"bandwidth_Bps={every:g}: less than one core alone moves, {one:g} B/s; give core_bandwidth_Bps, too"
    elif every > count * one and _stated(params, "bandwidth") and not _stated(params, "core_bandwidth"):
        yield (
            f"bandwidth_Bps={every:g}: above what {count} cores move together, {one:g} B/s each, which makes "
            f"{count * one:g}; give core_bandwidth_Bps, too, or more cores"
        )


def _stated(params: Mapping[str, Scalar], key: str) -> bool:
    return f"{key}_Bps" in params or f"memory.modes.{MODE}.{key}" in params


def _number(params: Mapping[str, Scalar], key: str, given: Table) -> float:
    """Return a number of the brackets, or of the file: in SI units where the key has its unit, else in the file's."""
    place = f"memory.modes.{MODE}.{key.removesuffix('_Bps')}"
    if is_number(params.get(key)):
        return float(params[key])
    if is_number(params.get(place)):
        given = given | {"value": float(params[place])}
    return si(Quantity(**given)) if key.endswith("_Bps") else float(given["value"])
