"""Cost curves: how a task's seconds change with the width of its team.

A task that takes t1 seconds on one core takes on a team of w > 1 cores

    c(w) = min(t1, s t1 + (1 - s) max(t1 / u, B / reach(u)) + A (w - 1) + F + f u),    A = a sqrt(1 ms x t1)

with s the serial share, a the thread overhead, and F and f the fork, join and barrier of the machine's runtime profile.
u = min(w, pieces): a task divides into as many pieces as its operations or bytes contain grains of its curve; threads
beyond them idle. s, a and the grains are those of the kind's family. Where the graph does not know a task's operations
or bytes, u = w. B are its bytes from memory, reach(u) the bytes per second that u threads reach.

The minimum makes a task too small to gain run on one thread of its team, as frameworks' grain sizes do.
The overhead per thread grows with the square root of the work, as the surface of a block grows with its area: one
number then fits the published curves of convolutions from 37 to 700 ms (see curves.toml, which also has the ends of the
95 % interval of each number).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import compress
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from simsched.costs.kernels.library import DEFAULT, parameters
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.recording import NO_OPS
from simsched.graph.report import KINDS_ARE
from simsched.machine import RuntimeProfile
from simsched.machine.confidence import ends
from simsched.machine.schema import Confidence
from simsched.notes import Note, Weight
from simsched.parameters import is_number

#: One-core seconds at which `Curve.thread_overhead` is stated.
REFERENCE_S = 1e-3


@dataclass(frozen=True)
class Curve:
    """Cost curve: the gain of a kind of task from cores.

    Parameters
    ----------
    serial_share : float
        Share of the one-core seconds that more cores do not shorten, in [0, 1].
    thread_overhead : float
        Seconds that each further thread adds to a task of 1 ms, over 1 ms; it grows with the square root of the
        task's one-core seconds.
    grain_flops : float
        Operations of the smallest piece of work that software gives to a thread; 0 for no smallest piece.
    grain_B : float
        The same in bytes read and written; at most one of the two is above 0.
    family : str
        Name of the family of kinds that share this curve.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="mine")
    >>> costs = ss.CostModel({"mine": ss.Curve(serial_share=0.2)})
    >>> ss.simulate(graph, "generic[cores=4]", "sequential", costs=costs).makespan_s
    0.4
    """

    serial_share: float
    thread_overhead: float = 0.0
    grain_flops: float = 0.0
    grain_B: float = 0.0
    family: str = "given"

    def __post_init__(self) -> None:
        for name in ("serial_share", "thread_overhead", "grain_flops", "grain_B"):
            if not is_number(getattr(self, name)):
                raise CostError(f"{name} is {getattr(self, name)!r:.60}; expected a number")
        if not 0 <= self.serial_share <= 1:
            raise CostError(f"serial_share is {self.serial_share}; expected a share from 0 to 1")
        if not 0 <= self.thread_overhead < float("inf"):
            raise CostError(f"thread_overhead is {self.thread_overhead}; it must be zero or more, and finite")
        for name in ("grain_flops", "grain_B"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise CostError(f"{name} is {getattr(self, name)}; it must be zero or more, and finite")
        if self.grain_flops and self.grain_B:
            raise CostError(
                "a curve divides by operations or by bytes; give grain_flops or grain_B, not both"
            )


@cache
def default_curves(library: str = DEFAULT) -> tuple[Mapping[str, Curve], Curve]:
    """Return the curve of each known kind (normalised), and that of all others, where a library runs them."""
    families, kinds = _families(library)
    return {kind: families[family] for kind, family in kinds.items()}, families["serial"]


#: Family of kinds of which nothing is known but that their tasks ran on several threads.
SEVERAL = "several threads"


def several_curve() -> Curve:
    """Return the curve of kinds of `SEVERAL`.

    Examples
    --------
    >>> several_curve().serial_share
    0.0
    """
    return _families(DEFAULT)[0][SEVERAL]


def of_several(graph: TaskGraph, curves: Sequence[Curve]) -> list[bool]:
    """Return for each label of a graph's kinds whether nothing is known of it but that tasks ran on several threads.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], kinds=["mine", "other", "gemm"], widths=[2, 1, 2])
    >>> of_several(graph, [ss.CostModel().curve(kind) for kind in graph.kinds.labels])
    [True, False, False]
    """
    ran = graph.kinds.codes[(graph.widths > 1) & ~np.isnan(graph.durations_s)]
    wide = np.bincount(ran, minlength=len(curves)) > 0
    return [bool(one and curve.family == "serial") for one, curve in zip(wide, curves, strict=True)]


@cache
def _families(library: str) -> tuple[Mapping[str, Curve], Mapping[str, str]]:
    """Return the curve of each family, and the family of each known kind."""
    table = tomllib.loads((files(__package__) / "curves.toml").read_text("utf-8"))
    own = parameters(library).library.curves
    numbers = ("serial_share", "thread_overhead", "grain_flops", "grain_B")
    families = {
        row["name"]: Curve(
            **{**{key: row[key]["value"] for key in numbers if key in row}, **own.get(row["name"], {})},
            family=row["name"],
        )
        for row in table["family"]
    }
    return families, {kind: row["name"] for row in table["family"] for kind in row["kinds"]}


#: Namespace of functions and commands of a program's own, each on a thread, whatever their names: as of what ran on a
#: device, no curve says on how many cores they would run.
OWN = "own::"
#: Namespaces of kinds whose tasks take a single thread each: no team shortens them.
SINGLE = (*NO_OPS, OWN)


def kinds_of(graph: TaskGraph) -> Sequence[str]:
    """Return the labels of a graph's kinds as curves are looked up by them.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="sum")
    >>> kinds_of(graph)
    ('sum',)
    >>> graph.report.facts["kinds_are"] = "functions"
    >>> kinds_of(graph)
    ('own::sum',)
    """
    labels = graph.kinds.labels
    return tuple(f"{OWN}{kind}" for kind in labels) if KINDS_ARE in graph.report.facts else labels


def unknown_kinds(graph: TaskGraph, curves: Sequence[Curve]) -> tuple[str, ...]:
    """Return the kinds of a graph's tasks that are taken to be serial, as nothing is known of them.

    Functions of a program's own, and what ran on a device or launched it, are none: each of them ran on one thread. Nor
    are kinds whose tasks ran on several.

    Parameters
    ----------
    graph : TaskGraph
    curves : sequence of Curve
        Of each label of its kinds.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], kinds=["DGEMM", "gemm", "mine"])
    >>> model = ss.CostModel({"mine": ss.Curve(serial_share=0.1)})
    >>> unknown_kinds(graph, [model.curve(kind) for kind in graph.kinds.labels])
    ('DGEMM',)
    """
    serial = np.array([curve.family == default_curves()[1].family for curve in curves], np.bool_)
    serial &= ~np.array(of_several(graph, curves), np.bool_)
    kinds = compress(kinds_of(graph), (graph.kinds.counts > 0) & serial)
    return tuple(kind for kind in kinds if kind and not kind.startswith(SINGLE))


def taken_to_be_serial(kinds: Sequence[str]) -> tuple[Note, ...]:
    """Return a note on kinds that are taken to be serial as nothing is known of them; none without any.

    Examples
    --------
    >>> taken_to_be_serial(["DGEMM"])[0].partition(":")[0]
    "kinds taken to be serial, as nothing is known of them ('DGEMM')"
    """
    if not kinds:
        return ()
    said = (
        f"kinds taken to be serial, as nothing is known of them ({few(kinds)}): if teams speed them up, say how much "
        "by costs=ss.CostModel({kind: ss.Curve(serial_share=...)}), or call them as docs/costs.md does (MatMul)"
    )
    return (Note(said, Weight.ASSUMPTION),)


def taken_to_divide(kinds: Sequence[str]) -> tuple[Note, ...]:
    """Return a note on kinds of `SEVERAL`; none without any.

    Examples
    --------
    >>> taken_to_divide(["DGEMM", ""])[0].partition(":")[0]
    "nothing is known of tasks ('DGEMM', 'no kind') but that they ran on several threads"
    """
    if not kinds:
        return ()
    said = (
        f"nothing is known of tasks ({few([kind or 'no kind' for kind in kinds])}) but that they ran on several "
        "threads: these are taken to have had equal work each, on which more threads gain nothing; "
        "costs=ss.CostModel({kind: ss.Curve(serial_share=...)}) says otherwise"
    )
    return (Note(said, Weight.ASSUMPTION),)


def few(kinds: Sequence[str]) -> str:
    """Return kinds in a sentence, no more than three of them.

    Examples
    --------
    >>> few(["syrk", "DGEMM"]), few(["a", "b", "c", "d"])
    ("'syrk', 'DGEMM'", "'a', 'b', 'c', ...")
    """
    return ", ".join([*(f"{kind!r:.60}" for kind in kinds[:3]), *(["..."] if len(kinds) > 3 else [])])


@lru_cache(4096)
def normalised(kind: str) -> str:
    """Return a kind as the tables spell it.

    Examples
    --------
    >>> normalised("aten::add_"), normalised("MatMul"), normalised("aten::tanh_backward"), normalised("_MklConv2D")
    ('add', 'matmul', 'tanh', 'conv2d')
    """
    return plain(kind).removesuffix("_backward")


def plain(kind: str) -> str:
    """Return a kind without namespace, case, in-place underscore and the mark of TensorFlow's MKL kernels.

    Kinds of what ran on a device or launched it, and of functions, keep their namespace: they are no ops of a CPU.

    Examples
    --------
    >>> plain("aten::tanh_backward"), plain("_MklNativeFusedConv2D"), plain("device::relu"), plain("launch::mm")
    ('tanh_backward', '_fusedconv2d', 'device::relu', 'launch::mm')
    """
    if kind.startswith(SINGLE):
        return kind
    name = kind.rpartition("::")[2].rpartition(".")[2].lower().removesuffix("_")
    if not name.startswith("_mkl"):
        return name
    name = name.removeprefix("_mkl").removeprefix("native")
    return f"_{name}" if name.startswith("fused") else name


def two_point_curve(
    best: int,
    best_s: float,
    widest: int,
    slower: float,
    runtime: RuntimeProfile | None = None,
) -> tuple[float, Curve]:
    """Return the one-core seconds and the curve of an op that is fastest on `best` threads.

    The three terms of a cost curve (serial, parallel, overhead per thread) follow from three facts: its seconds
    at the best width, that it is flat there, and its seconds at the widest. Where the widest is the best, being flat
    there is an assumption (it might gain from more), and the serial part is taken to be nothing; so it is where
    `slower` would take it below nothing, and then the curve does not meet `slower`.

    Parameters
    ----------
    best : int
        Width on which the op is fastest; at least 2.
    best_s : float
        Its seconds there.
    widest : int
        A width at least as large, usually all cores.
    slower : float
        How much slower it is there, over `best_s`; 0 where the widest is the best.
    runtime : RuntimeProfile, optional
        What part of the seconds is forking, joining and the barrier; none when not given.

    Returns
    -------
    float, Curve
        Seconds on one core, and the curve that gives those on more.

    Raises
    ------
    CostError
        If no curve goes through these numbers.

    Examples
    --------
    >>> one_core_s, curve = two_point_curve(best=42, best_s=11.1e-3, widest=68, slower=0.102)
    >>> round(one_core_s, 3), round(curve.serial_share, 3)
    (0.203, 0.008)
    """
    said = f"fastest on {best} threads in {best_s:g} s, {slower:g} slower on {widest}"
    if not 2 <= best <= widest or not best_s > 0 or not slower >= 0:
        raise CostError(f"{said}: expected 2 <= best <= widest, seconds above 0 and a gain of 0 or more")
    if (slower == 0) != (best == widest):
        raise CostError(f"{said}: the best width, and only it, is 0 slower than itself")
    runtime = runtime or RuntimeProfile()
    region_s, per_thread_s = runtime.region_s, runtime.region_per_thread_s
    # c = S + P / w + A (w - 1) + F + f w is flat at w = best, so P = best^2 (A + f); `slope_s` is A + f.
    slope_s = slower * best_s * widest / max(widest - best, 1) ** 2
    serial_s = best_s - region_s - 2 * best * slope_s + slope_s - per_thread_s
    if best == widest or serial_s < 0:
        slope_s = (best_s - region_s - per_thread_s) / (2 * best - 1)
        serial_s = 0.0
    overhead_s, one_core_s = slope_s - per_thread_s, serial_s + best**2 * slope_s
    if overhead_s < 0 or one_core_s <= 0:
        raise CostError(f"{said}: no cost curve does that with a fork and join of {region_s:g} s")
    return one_core_s, Curve(serial_s / one_core_s, overhead_s / sqrt(REFERENCE_S * one_core_s))


#: Numbers of a curve, and the largest value of each.
MOST: Mapping[str, float] = {
    "serial_share": 1.0,
    "thread_overhead": np.inf,
    "grain_flops": np.inf,
    "grain_B": np.inf,
}
#: Half the width of a 95 % interval, in standard deviations of a normal distribution.
Z95 = 1.959963984540054


class Range(NamedTuple):
    """The 95 % interval of a number, and the confidence in the number."""

    low: float
    high: float
    confidence: Confidence


@cache
def ranges() -> Mapping[str, Mapping[str, Range]]:
    """Return the known intervals, by family and name."""
    table = tomllib.loads((files("simsched.costs") / "curves.toml").read_text("utf-8"))
    return {
        row["name"]: {name: _range(row[name], MOST[name]) for name in MOST if name in row}
        for row in table["family"]
    }


def _range(number: Mapping[str, Any], most: float) -> Range:
    confidence: Confidence = number["confidence"]
    low, high = (number["low"], number["high"]) if "low" in number else ends(number["value"], confidence)
    return Range(float(low), float(min(high, most)), confidence)


def sampled_between(value: float, low: float, high: float, z: float) -> float:
    """Return a number's value at a standard normal z: itself at 0, an end of its interval at -+1.96.

    Parameters
    ----------
    value, low, high : float
        The number and the ends of its 95 % interval, none negative; in proportion where `low` is above 0, else in
        equal steps and never below 0.
    z : float
    """
    end, share = (high, z / Z95) if z > 0 else (low, -z / Z95)
    if low > 0:
        return float(value * (end / value) ** share)
    return float(max(value + (end - value) * share, 0.0))


def sampled_families(curves: Iterable[Curve], generator: np.random.Generator) -> Mapping[str, Curve]:
    """Return, by family, a curve with numbers sampled from their intervals; one not in `curves.toml` is unchanged.

    The numbers of each family are taken from the generator in turn, however many kinds it has.
    """
    of_family = {curve.family: curve for curve in curves}
    return {
        family: _sampled(curve, generator.standard_normal(len(ranges().get(family, ()))).tolist())
        for family, curve in of_family.items()
    }


def _sampled(curve: Curve, normals: Sequence[float]) -> Curve:
    """Return a curve with its numbers at standard normal deviations from their values."""
    found: dict[str, Any] = {
        name: min(sampled_between(getattr(curve, name), low, high, z), MOST[name])
        for (name, (low, high, _)), z in zip(ranges().get(curve.family, {}).items(), normals, strict=False)
    }
    return replace(curve, **found)
