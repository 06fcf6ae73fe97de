"""Regression of ops' seconds by width on measured ops, as concurrency control compares it with hill climbing.

Regression learns seconds from features of ops, for ops never measured: logarithms of an op's FLOPs, bytes and first
input's elements, its kind, its width, and products of them; with probes, also the seconds measured on a few widths. It
learns the log of the seconds, those of the first probe taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np

from simsched.costs.fitting.points import Op
from simsched.errors import CostError, GraphError
from simsched.graph.columns import Floats
from simsched.graph.shapes import numel, parse_shape

if TYPE_CHECKING:
    from scipy.spatial import KDTree


#: "ridge": linear, with a penalty; "nearest": the mean of near examples; "random": ridge on random Fourier features.
ModelName = Literal["ridge", "nearest", "random"]


@dataclass(frozen=True, eq=False)
class _Scale:
    """Features with mean 0 and standard deviation 1, as in the examples; constant ones are 0."""

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, rows: Floats) -> _Scale:
        scale = np.asarray(rows.std(axis=0), np.float64)
        return cls(np.asarray(rows.mean(axis=0)), np.where(scale > 0, scale, 1.0))

    def __call__(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean) / self.scale)


class Model(Protocol):
    """Regression model: learns numbers from rows of features."""

    def learn(self, rows: Floats, target: Floats) -> None:
        """Learn `target`, shape (n,), from `rows`, shape (n, features)."""

    def predict(self, rows: Floats) -> Floats:
        """Return one number per row."""


@dataclass
class Ridge:
    """Least squares with a penalty on the coefficients of standardised features.

    Parameters
    ----------
    penalty : float
        Over the number of examples.
    """

    penalty: float = 1e-3
    _scale: _Scale = field(init=False, repr=False)
    _weights: Floats = field(init=False, repr=False)
    _level: float = field(init=False, repr=False)

    def learn(self, rows: Floats, target: Floats) -> None:
        """Learn; see `Model`."""
        self._scale = _Scale.of(rows)
        self._level = float(target.mean())
        x = self._scale(rows)
        square = x.T @ x / len(x) + self.penalty * np.eye(x.shape[1])
        self._weights = np.asarray(np.linalg.solve(square, x.T @ (target - self._level) / len(x)))

    def predict(self, rows: Floats) -> Floats:
        """Return one number per row."""
        return self._level + self._scale(rows) @ self._weights


@dataclass
class Nearest:
    """The mean of the k nearest examples, weighted by the inverse of their distance.

    Parameters
    ----------
    k : int
        Examples.
    """

    k: int = 5
    _scale: _Scale = field(init=False, repr=False)
    _tree: KDTree = field(init=False, repr=False)
    _target: Floats = field(init=False, repr=False)

    def learn(self, rows: Floats, target: Floats) -> None:
        """Keep the examples."""
        from scipy.spatial import KDTree

        self._scale = _Scale.of(rows)
        self._tree, self._target = KDTree(self._scale(rows)), target

    def predict(self, rows: Floats) -> Floats:
        """Return one number per row."""
        k = min(self.k, len(self._target))
        distance, near = self._tree.query(self._scale(rows), k=k)
        weight = 1 / (np.asarray(distance).reshape(len(rows), k) + 1e-9)
        found = (weight * self._target[np.asarray(near).reshape(len(rows), k)]).sum(axis=1) / weight.sum(
            axis=1
        )
        return np.asarray(found, np.float64)


@dataclass
class RandomFeatures:
    """Ridge regression on cosines of random projections, for a Gaussian kernel (Rahimi and Recht, 2007).

    Parameters
    ----------
    generator : numpy Generator
        Of the projections.
    n : int
        Projections.
    width : float
        Of the kernel, in standard deviations of a feature.
    penalty : float
        As in `Ridge`.
    """

    generator: np.random.Generator
    n: int = 300
    width: float = 4.0
    penalty: float = 1e-4
    _ridge: Ridge = field(init=False, repr=False)
    _scale: _Scale = field(init=False, repr=False)
    _projection: Floats = field(init=False, repr=False)
    _phase: Floats = field(init=False, repr=False)

    def learn(self, rows: Floats, target: Floats) -> None:
        """Learn; see `Model`."""
        self._scale = _Scale.of(rows)
        self._projection = self.generator.normal(0, 1 / self.width, (rows.shape[1], self.n))
        self._phase = self.generator.uniform(0, 2 * np.pi, self.n)
        self._ridge = Ridge(self.penalty)
        self._ridge.learn(self._lifted(rows), target)

    def predict(self, rows: Floats) -> Floats:
        """Return one number per row."""
        return self._ridge.predict(self._lifted(rows))

    def _lifted(self, rows: Floats) -> Floats:
        x = self._scale(rows)
        return np.concatenate([x, np.cos(x @ self._projection + self._phase)], axis=1)


def model(name: ModelName, generator: np.random.Generator) -> Model:
    """Return an untrained model."""
    if name not in get_args(ModelName):
        raise CostError(f"model {name!r} is none of {', '.join(get_args(ModelName))}")
    if name == "random":
        return RandomFeatures(generator)
    return Ridge() if name == "ridge" else Nearest()


@dataclass(frozen=True, eq=False)
class OpRegression:
    """Predictor of seconds of ops by width from measured ops.

    Parameters
    ----------
    learner : Model
    kinds : tuple of str
        Kinds with a feature; others have none.
    probes : tuple of int
        Widths on which also the op to be predicted is measured.

    Examples
    --------
    >>> import numpy as np
    >>> from simsched.costs.fitting import Op
    >>> from simsched.reproduce.concurrency_control.regression import OpRegression, Ridge
    >>> ops = [Op("MatMul", f"{n}x{n};{n}x{n}", flops=2.0 * n**3, bytes_B=12.0 * n**2) for n in (8, 16, 32, 64)]
    >>> seconds = [op.flops / 1e9 / np.arange(1, 5) for op in ops]
    >>> learned = OpRegression.learned(Ridge(), ops, seconds)
    >>> learned.seconds(ops[1], widest=4).shape
    (4,)
    """

    learner: Model
    kinds: tuple[str, ...]
    probes: tuple[int, ...] = ()

    @classmethod
    def learned(
        cls, learner: Model, ops: Sequence[Op], seconds: Sequence[Floats], probes: Sequence[int] = ()
    ) -> OpRegression:
        """Learn from ops and their seconds on 1, 2, 3, ... threads.

        Raises
        ------
        CostError
            If there are no ops, or not the seconds of each, or of a probe.
        """
        if not ops or len(ops) != len(seconds):
            raise CostError(
                f"{len(ops)} ops and {len(seconds)} curves to learn from; expected as many, at least one"
            )
        if probes and not 1 <= min(probes) <= max(probes) <= min(map(len, seconds)):
            raise CostError(
                f"probes on {tuple(probes)} threads; seconds are known on 1 to {min(map(len, seconds))}"
            )
        made = cls(learner, tuple(dict.fromkeys(op.kind for op in ops)), tuple(probes))
        rows = [made.features(op, len(curve), curve) for op, curve in zip(ops, seconds, strict=True)]
        target = [np.log(curve) - made.base(curve) for curve in seconds]
        learner.learn(np.concatenate(rows), np.concatenate(target))
        return made

    def seconds(self, op: Op, widest: int, probed: Floats | None = None) -> Floats:
        """Return the seconds on 1 to `widest` threads; only the probes among `probed` are read."""
        curve = np.empty(0) if probed is None else probed
        if len(curve) < max(self.probes, default=0):
            raise CostError(f"the model reads the seconds on {self.probes} threads; give them")
        return np.exp(self.learner.predict(self.features(op, widest, curve)) + self.base(curve))

    def base(self, curve: Floats) -> float:
        """Return the log seconds to subtract: those of the first probe."""
        return float(np.log(curve[self.probes[0] - 1])) if self.probes else 0.0

    def features(self, op: Op, widest: int, curve: Floats) -> Floats:
        """Return one row per width."""
        width = np.arange(1, widest + 1, dtype=np.float64)
        work = [np.log1p(value) for value in (op.flops or 0.0, op.bytes_B or 0.0, _elements(op))]
        own = [*work, work[0] - work[1], *(float(op.kind == kind) for kind in self.kinds)]
        own += [float(np.log(curve[probe - 1])) for probe in self.probes]
        by_width = np.stack([np.log(width), 1 / width, width / widest, np.log(width) ** 2], axis=1)
        repeated = np.tile(own, (widest, 1))
        products = (repeated[:, :, None] * by_width[:, None, :]).reshape(widest, -1)
        return np.concatenate([repeated, by_width, products], axis=1)


def _elements(op: Op) -> float:
    try:
        shape = parse_shape(op.shape)
    except GraphError:
        return 0.0
    return numel(shape[0]) if shape else 0.0
