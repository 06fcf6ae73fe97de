"""Training of CHAOS as task graphs: images on their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.reproduce.chaos.network import Layer
from simsched.reproduce.chaos.team import Team

Indices = npt.NDArray[np.int64]
#: Kind and seconds of a task.
Part = tuple[str, float]

_NAMES = {"conv": "conv", "maxpool": "pool", "full": "full", "output": "full"}


def images_by_layer(team: Team, images: int) -> TaskGraph:
    """Return images trained on, a chain of layers each: forward, then backward with the update of each layer."""
    image = team.image
    forwards = zip(image.layers, image.forward_s, strict=True)
    parts = [(f"{_NAMES[layer.kind]} forward", seconds) for layer, seconds in forwards]
    for layer, seconds in image.backwards():
        parts.append((f"{_NAMES[layer.kind]} backward", seconds))
        if layer.weights:
            parts.append((f"{_NAMES[layer.kind]} update", team.waits_s(layer)))
    return _chains(parts, images)


def classified(team: Team, images: int) -> TaskGraph:
    """Return images that are only classified."""
    return _chains([("forward", sum(team.image.forward_s))], images)


def chaos(team: Team, images: int) -> TaskGraph:
    """Return images that any free worker takes; updates wait for other writers, in whatever order they arrive."""
    return _chains([("train", image_s(team) + updates_s(team, team.waits_s))], images)


def hogwild(team: Team, images: int) -> TaskGraph:
    """Return images that any free worker takes; nobody waits, but what others wrote has to be fetched (D)."""
    return _chains([("train", image_s(team) + updates_s(team, team.writes_s))], images)


def delayed(team: Team, images: int) -> TaskGraph:
    """Return images whose updates follow each other in turn, worker by worker (C)."""
    parts = [("train", image_s(team)), ("update", updates_s(team, team.writes_s))]
    train, update = 2 * np.arange(images), 2 * np.arange(images) + 1
    turns = pairs(update[:-1], update[1:])
    own = pairs(update[: -team.threads], train[team.threads :])
    return _tasks(parts, images, np.concatenate([pairs(train, update), turns, own]))


def image_s(team: Team) -> float:
    """Return the seconds of an image forward and backward."""
    return sum(team.image.forward_s) + sum(team.image.backward_s)


def updates_s(team: Team, update_s: Callable[[Layer], float]) -> float:
    """Return the seconds of the updates of all layers."""
    return sum(update_s(layer) for layer in team.image.layers if layer.weights)


def pairs(one: Indices, other: Indices) -> Indices:
    """Return edges from each of `one` to each of `other`, shape (m, 2)."""
    return np.stack([one, other], axis=1)


def _chains(parts: Sequence[Part], images: int) -> TaskGraph:
    tasks = np.arange(images * len(parts)).reshape(images, len(parts))
    return _tasks(parts, images, pairs(tasks[:, :-1].ravel(), tasks[:, 1:].ravel()))


def _tasks(parts: Sequence[Part], images: int, edges: Indices) -> TaskGraph:
    kinds = [kind for kind, _ in parts] * images
    return TaskGraph.from_edges(np.tile([seconds for _, seconds in parts], images), edges, kinds=kinds)
