"""Training of CHAOS as task graphs: strategies whose workers meet in every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.reproduce.chaos.epoch import Indices, image_s, pairs, updates_s
from simsched.reproduce.chaos.team import Team


class Stage(NamedTuple):
    """What all workers do between two meetings, and the meeting behind it.

    Parameters
    ----------
    kind : str
    seconds : float64 array, shape (rounds, threads)
    meeting_s : float or None
        None where workers go on without meeting.
    """

    kind: str
    seconds: npt.NDArray[np.float64]
    meeting_s: float | None


def averaged(team: Team, images: int, batch: int) -> TaskGraph:
    """Return rounds in which each worker trains on a batch of its own, and all then average their gradients (B).

    Each worker averages its part of the weights over all copies, and fetches the result.
    """
    whole, rest = divmod(images, batch)
    rounds = -(-images // (team.threads * batch))
    sizes = np.zeros(rounds * team.threads)
    sizes[:whole] = batch
    sizes[whole : whole + 1] = rest
    average_s = 2 * team.fetches_s(team.image.weights) + 2 * team.meets_s()
    return _rounds([Stage("train", sizes.reshape(rounds, -1) * image_s(team), average_s)])


def hybrid(team: Team, images: int) -> TaskGraph:
    """Return rounds of an image a worker up to the connected layers, which all workers share for all images (A).

    A connected layer's weights have one writer each. Its inputs, and the gradients of them, pass to all once.
    """
    image, rounds = team.image, -(-images // team.threads)
    busy = (np.arange(rounds * team.threads) < images).reshape(rounds, -1).astype(np.float64)
    split = next(i for i, layer in enumerate(image.layers) if layer.connected)
    passing_s = 2 * team.fetches_s(team.threads * image.layers[split].inputs)
    waits_s = updates_s(team, lambda layer: 0.0 if layer.connected else team.waits_s(layer))
    shared_s = sum(image.forward_s[split:]) + sum(image.backward_s[split:]) + passing_s
    return _rounds([
        Stage("conv forward", busy * sum(image.forward_s[:split]), team.meets_s()),
        Stage("full", busy * shared_s, team.meets_s()),
        Stage("conv backward", busy * (sum(image.backward_s[:split]) + waits_s), None),
    ])  # fmt: skip


def _rounds(stages: Sequence[Stage]) -> TaskGraph:
    """Return the graph: in each round, each stage's tasks in worker order, then its meeting."""
    rounds, threads = stages[0].seconds.shape
    seconds: list[npt.NDArray[np.float64]] = []
    kinds: list[str] = []
    edges: list[Indices] = []
    before: Indices | None = None
    n = 0
    for turn in range(rounds):
        for stage in stages:
            own = np.arange(n, n + threads)
            n += threads
            seconds.append(stage.seconds[turn])
            kinds += [stage.kind] * threads
            if before is not None:
                edges.append(pairs(np.broadcast_to(before, threads), own))
            before = own
            if stage.meeting_s is not None:
                before = np.array([n])
                edges.append(pairs(own, np.broadcast_to(before, threads)))
                seconds.append(np.array([stage.meeting_s]))
                kinds.append("meeting")
                n += 1
    return TaskGraph.from_edges(
        np.concatenate(seconds), np.concatenate(edges or [np.empty((0, 2), np.int64)]), kinds=kinds
    )
