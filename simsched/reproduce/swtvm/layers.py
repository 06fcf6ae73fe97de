"""Layers of the networks that swTVM was measured on, as loop nests of a core group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simsched.graph import TaskGraph


@dataclass(frozen=True)
class Layer:
    """A layer of a figure: the tasks of a network's graph that it stands for.

    Parameters
    ----------
    name : str
    kind : str
        convolution, or matmul of a fully connected one, as `operation` of a machine's `[ldm]` table knows them.
    parts : tuple of mapping of str to int
        Sizes of each task, as that operation takes them: one, or one for each tower, which follow each other.
    occurs : int
        Single layers of the network that it stands for.
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
            How weights of a fully connected layer lie in memory: n, its outputs, last or first.
        """
        layout = {"transposed": weights == "nk"} if self.connected else {}
        return [operation(self.kind, **sizes, **layout) for sizes in self.parts]


def layers(graph: TaskGraph, names: Iterable[str]) -> dict[str, Layer]:
    """Return the layers of a network by the names that a figure gives them.

    Of several that are alike ("conv3_2,3,4", or conv5 of VGG-19) the figure shows one: the first is taken.
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
    """Return how many layers a name stands for: conv3_2, conv3_3 and conv3_4, or conv5_1 and those after it."""
    first, *others = name.split(",")
    scopes = {graph.scopes[task].rpartition("/")[2] for task in range(graph.n_tasks)}
    numbered = [scope for scope in scopes if scope.rpartition("_")[0] == first]
    return len(others) + max(len(numbered), 1)


def _product(graph: TaskGraph, task: int) -> dict[str, int]:
    (m, k), (_, n) = graph.shape(task)
    return {"m": m, "n": n, "k": k}


def _convolution(graph: TaskGraph, task: int) -> dict[str, int]:
    (batch, size, _, channels), (kernel, _, _, filters) = graph.shape(task)
    # A graph states no stride and no padding; the number of outputs, which its FLOPs tell, leaves one of each.
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
