"""Regression on features of ops."""

import numpy as np
import pytest

from simsched.costs.fitting import Op
from simsched.errors import CostError
from simsched.reproduce.concurrency_control.regression import OpRegression, model

OPS = [Op("mm" if i % 2 else "conv", f"{i}x8", 1e6 * 2**i, 1e5 * 1.5**i) for i in range(12)]


def seconds(op, widest=8):
    return op.flops * 1e-9 / np.arange(1, widest + 1) * (1 if op.kind == "mm" else 3)


@pytest.mark.parametrize("name", ["ridge", "nearest", "random"])
def test_what_was_learned_is_known(name):
    """Products of powers, of which logarithms are linear: within 5 % of what was seen."""
    learned = OpRegression.learned(model(name, np.random.default_rng(0)), OPS, [seconds(op) for op in OPS])
    errors = [np.abs(learned.seconds(op, 8) / seconds(op) - 1).mean() for op in OPS]
    assert np.mean(errors) < 0.05


def test_ridge_predicts_what_it_has_not_seen():
    rest = [op for i, op in enumerate(OPS) if i != 6]
    learned = OpRegression.learned(
        model("ridge", np.random.default_rng(0)), rest, [seconds(op) for op in rest]
    )
    assert learned.seconds(OPS[6], 8) == pytest.approx(seconds(OPS[6]), rel=0.1)


def test_probes_carry_the_level():
    """An op ten times slower than any like it: only a measurement can know."""
    slow = 10 * seconds(OPS[6])
    rest = [op for i, op in enumerate(OPS) if i != 6]
    curves = [seconds(op) for op in rest]
    blind = OpRegression.learned(model("ridge", np.random.default_rng(0)), rest, curves)
    probed = OpRegression.learned(model("ridge", np.random.default_rng(0)), rest, curves, probes=[1])
    assert np.abs(blind.seconds(OPS[6], 8) / slow - 1).mean() > 0.8
    assert (
        np.abs(probed.seconds(OPS[6], 8, slow) / slow - 1).mean()
        < np.abs(blind.seconds(OPS[6], 8) / slow - 1).mean()
    )


def test_only_probes_are_read():
    learned = OpRegression.learned(
        model("ridge", np.random.default_rng(0)), OPS, [seconds(op) for op in OPS], [1, 4]
    )
    curve = seconds(OPS[3])
    other = curve.copy()
    other[[1, 2, 4, 5, 6, 7]] = 99
    assert learned.seconds(OPS[3], 8, curve).tolist() == learned.seconds(OPS[3], 8, other).tolist()


def test_same_generator_same_bits():
    one, other = (
        OpRegression.learned(model("random", np.random.default_rng(5)), OPS, [seconds(op) for op in OPS])
        for _ in "ab"
    )
    assert one.seconds(OPS[0], 8).tolist() == other.seconds(OPS[0], 8).tolist()


def test_mistakes():
    with pytest.raises(CostError, match="model 'forest'"):
        model("forest", np.random.default_rng(0))
    with pytest.raises(CostError, match="0 ops"):
        OpRegression.learned(model("ridge", np.random.default_rng(0)), [], [])
    learned = OpRegression.learned(
        model("ridge", np.random.default_rng(0)), OPS, [seconds(op) for op in OPS], [1]
    )
    with pytest.raises(CostError, match="give them"):
        learned.seconds(OPS[0], 8)
    with pytest.raises(CostError, match="give them"):
        learned.seconds(OPS[0], 8, np.empty(0))


@pytest.mark.parametrize("probes", [[0], [9], [1, -1]])
def test_probes_lie_within_what_is_known(probes):
    with pytest.raises(CostError, match="seconds are known on 1 to 8"):
        OpRegression.learned(
            model("ridge", np.random.default_rng(0)), OPS, [seconds(op) for op in OPS], probes=probes
        )
