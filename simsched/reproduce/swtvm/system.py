"""swTVM: layers of AlexNet and VGG-19 on a core group of the SW26010, in three costings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from simsched.errors import MachineError
from simsched.graph import TaskGraph
from simsched.machine import machine as machine_of
from simsched.parameters import one_of, text
from simsched.reproduce.pictures import bars
from simsched.reproduce.published import Published
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict
from simsched.workloads import workload


@dataclass(frozen=True)
class Layer:
    """A layer of a figure: the tasks of a network's graph that it represents.

    Parameters
    ----------
    name : str
    kind : str
        convolution, or matmul of a fully connected one, as `operation` of a machine's `[ldm]` table knows them.
    parts : tuple of mapping of str to int
        Sizes of each task, as that operation takes them: one, or one for each tower, which follow each other.
    occurs : int
        Single layers of the network that it represents.
    """

    name: str
    kind: str
    parts: tuple[Mapping[str, int], ...]
    occurs: int = 1

    @property
    def connected(self) -> bool:
        """Whether it is fully connected."""
        return self.kind == "matmul"

    def nests(self, operation: Callable[..., Any], weights: str = "kn") -> list[Any]:
        """Return the loop nest of each task.

        Parameters
        ----------
        operation : callable
            That of a machine's `[ldm]` table.
        weights : {"kn", "nk"}
            Memory layout of a fully connected layer's weights: n, its outputs, last or first.
        """
        layout = {"transposed": weights == "nk"} if self.connected else {}
        return [operation(self.kind, **sizes, **layout) for sizes in self.parts]


def layers(graph: TaskGraph, names: Iterable[str]) -> dict[str, Layer]:
    """Return the layers of a network by their names in a figure.

    Of several equal ones ("conv3_2,3,4", or conv5 of VGG-19) the figure shows one: the first is used.
    """
    return {name: _layer(graph, name) for name in names}


def _layer(graph: TaskGraph, name: str) -> Layer:
    first = name.partition(",")[0]
    tasks = [
        task
        for task in range(graph.n_tasks)
        if graph.kinds[task] in {"Conv2D", "MatMul"}
        and graph.scopes[task].rpartition("/")[2] in {first, f"{first}_1"}
    ]
    if graph.kinds[tasks[0]] == "MatMul":
        return Layer(name, "matmul", tuple(_product(graph, task) for task in tasks))
    return Layer(
        name, "convolution", tuple(_convolution(graph, task) for task in tasks), _occurs(graph, name)
    )


def _occurs(graph: TaskGraph, name: str) -> int:
    """Return how many layers a name covers: conv3_2, conv3_3 and conv3_4, or conv5_1 and those after it."""
    first, *others = name.split(",")
    scopes = {graph.scopes[task].rpartition("/")[2] for task in range(graph.n_tasks)}
    numbered = [scope for scope in scopes if scope.rpartition("_")[0] == first]
    return len(others) + max(len(numbered), 1)


def _product(graph: TaskGraph, task: int) -> dict[str, int]:
    (m, k), (_, n) = graph.shape(task)
    return {"m": m, "n": n, "k": k}


def _convolution(graph: TaskGraph, task: int) -> dict[str, int]:
    (batch, size, _, channels), (kernel, _, _, filters) = graph.shape(task)
    # A graph states no stride and no padding; the number of outputs, known from its FLOPs, leaves one of each.
    products = 2 * batch * channels * filters * kernel**2
    made = math.isqrt(round(float(graph.flops[task]) / products))
    stride = max(1, (size - kernel) // (made - 1))
    padding = ((made - 1) * stride + kernel - size) // 2
    return {
        "channels": channels,
        "filters": filters,
        "size": size,
        "kernel": kernel,
        "stride": stride,
        "padding": padding,
        "batch": batch,
    }


NETWORKS = {"Fig. 5": "alexnet", "Fig. 6": "vgg19"}
OVER_NO_REUSE = "speed-up of planned over no reuse"
OVER_REGISTERS = "speed-up of planned over register communication"


@dataclass(frozen=True)
class SwTvm(System):
    """Tiles, loop orders and DMA transfers by swTVM's planner, beside plain OpenACC and register communication.

    Parameters
    ----------
    machine : str
        With an `[ldm]` table, as in `sw26010[ldm.size=128]`.
    planner : {"doubling", "search"}
        Whether tiles and loop orders are swTVM's own, by numbers of transfers, or those of least seconds.
    copies : {"directives", "columns", "rows", "output-row", "run"}
        Parts that hand-written OpenACC copies into the LDM at a time; see docs/ldm.md.
    towers : {"one", "two"}
        Whether AlexNet's convolutions are divided between two towers, in sequence.
    weights : {"kn", "nk"}
        Memory layout of fully connected layers' weights: as B[k,n] of swTVM's worked example, or by output, as
        in TVM's `dense`.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("swtvm").published().tables
    ('Fig. 5', 'Fig. 6', 'Abstract')
    """

    name = "swtvm"

    machine: str = text("sw26010")
    planner: str = one_of("doubling", "search")
    copies: str = one_of("directives", "columns", "rows", "output-row", "run")
    towers: str = one_of("one", "two")
    weights: str = one_of("kn", "nk")

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return milliseconds by layer and costing, and their ratios and means."""
        times = _LayerTimes(self)
        functions: dict[str, Prediction] = {
            "time": times.ms,
            OVER_NO_REUSE: times.over("no reuse"),
            OVER_REGISTERS: times.over("register communication"),
            f"mean {OVER_NO_REUSE}": times.mean_over_no_reuse,
        }
        figures = {(table, name): function for table in NETWORKS for name, function in functions.items()}
        return {**figures, ("Abstract", f"mean {OVER_NO_REUSE}"): times.mean_of_networks}

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the checks of the orderings of AlexNet's layers."""
        return {
            "planned_beats_no_reuse": _planned_beats_no_reuse,
            "convolutions_lose": _convolutions_lose,
            "connected_win": _connected_win,
            "convolutions_gain_more": _convolutions_gain_more,
            "most_at_conv1": _most_at_conv1,
        }

    def pictures(self) -> Mapping[str, Drawing]:
        """Return logarithmic bars of the three costings by layer."""
        return dict.fromkeys(NETWORKS, partial(bars, "{layer}", "{costing}", "time (ms)", "time"))


class _LayerTimes:
    """Seconds by layer and costing, each planned once.

    Parameters
    ----------
    system : SwTvm
        The choices.

    Raises
    ------
    MachineError
        If the machine has no local memories.
    """

    def __init__(self, system: SwTvm) -> None:
        machine = machine_of(system.machine)
        self._ldm: Any = machine.tables.get("ldm")
        if self._ldm is None:
            raise MachineError(
                f"{machine.spec} has no [ldm] table, so no local memories to plan; take sw26010"
            )
        self._costings = self._ldm.costings(system.copies, system.planner)
        self._layers = {name: drawn(system.published(), name, system.towers) for name in NETWORKS.values()}
        self._weights = system.weights
        self._known: dict[tuple[str, str, str], float] = {}

    def ms(self, network: str, layer: str, costing: str) -> float:
        """Return the milliseconds of a layer."""
        key = (network, layer, costing)
        if key not in self._known:
            nests = self._layers[network][layer].nests(self._ldm.operation, self._weights)
            self._known[key] = 1e3 * sum(map(self._costings[costing], nests))
        return self._known[key]

    def over(self, costing: str) -> Prediction:
        """Return the prediction of the speed-up of planned layers over a costing."""

        def speedup(network: str, layer: str) -> float:
            return self.ms(network, layer, costing) / self.ms(network, layer, "planned")

        return speedup

    def mean_over_no_reuse(self, network: str, layers: str) -> float:
        """Return the mean of the single layers' speed-ups: one that represents several counts as often."""
        connected = layers == "fully connected"
        chosen = [layer for layer in self._layers[network].values() if layer.connected == connected]
        speedup = self.over("no reuse")
        return fmean([speedup(network, layer.name) for layer in chosen], [layer.occurs for layer in chosen])

    def mean_of_networks(self, networks: tuple[str, ...], layers: str) -> float:
        """Return the mean of the networks' means: each network counts once."""
        return fmean(self.mean_over_no_reuse(network, layers) for network in networks)


def drawn(published: Published, network: str, towers: str = "one") -> dict[str, Layer]:
    """Return the layers of a network that its figure shows, by name.

    Parameters
    ----------
    published : Published
        swTVM's data file.
    network : str
        alexnet or vgg19.
    towers : {"one", "two"}
        Of AlexNet.
    """
    names = published.inputs["layers"][network]
    parameters = {"towers": towers} if network == "alexnet" else {}
    return layers(workload(network, size="swtvm", **parameters), names)


def _speedups(predicted: Predicted, quantity: str, *, connected: bool | None = None) -> dict[str, float]:
    shown = drawn(predicted.system.published(), "alexnet")
    chosen = [name for name, layer in shown.items() if connected in {None, layer.connected}]
    return {name: predicted("Fig. 5", quantity, network="alexnet", layer=name) for name in chosen}


def _said(speedups: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in speedups.items())


def _planned_beats_no_reuse(predicted: Predicted) -> Verdict:
    found = _speedups(predicted, OVER_NO_REUSE)
    return all(value > 1 for value in found.values()), _said(found)


def _convolutions_lose(predicted: Predicted) -> Verdict:
    found = _speedups(predicted, OVER_REGISTERS, connected=False)
    return all(value < 1 for value in found.values()), _said(found)


def _connected_win(predicted: Predicted) -> Verdict:
    found = _speedups(predicted, OVER_REGISTERS, connected=True)
    return all(value > 1 for value in found.values()), _said(found)


def _convolutions_gain_more(predicted: Predicted) -> Verdict:
    convolutions, connected = (
        predicted("Fig. 5", f"mean {OVER_NO_REUSE}", network="alexnet", layers=layers)
        for layers in ("convolutions", "fully connected")
    )
    return convolutions > connected, f"{convolutions:.3g} and {connected:.3g}"


def _most_at_conv1(predicted: Predicted) -> Verdict:
    found = _speedups(predicted, OVER_NO_REUSE)
    most = max(found, key=found.__getitem__)
    return most == "conv1", f"{most} {found[most]:.3g}, conv1 {found['conv1']:.3g}"
