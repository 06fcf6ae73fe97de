"""Noise models: what is sampled, by hand and in numbers; common random numbers; wrong specs."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs import LogNormal, Noise, Stragglers
from simsched.costs.noise import noise_of
from simsched.errors import CostError

MANY = ss.TaskGraph.from_edges([1.0] * 50)


def sampled(noise, n=20_000, seed=0):
    return ss.CostModel(noise=noise).factors(n, seed)


def test_a_number_is_the_sigma_of_lognormal():
    assert noise_of(0.3) == noise_of("0.3") == noise_of("lognormal[sigma=0.3]") == LogNormal(0.3)
    assert sampled(0.3).tolist() == sampled("lognormal[sigma=0.3]").tolist()
    assert np.log(sampled(0.3)).std() == pytest.approx(0.3, rel=0.02)
    assert np.median(sampled(0.3)) == pytest.approx(1, rel=0.02)


def test_stragglers_take_so_many_times_as_long():
    factors = sampled("stragglers[share=0.05,factor=7]")
    assert set(factors.tolist()) == {1.0, 7.0}
    assert (factors == 7).mean() == pytest.approx(0.05, abs=0.005)
    both = sampled("stragglers[share=0.05,factor=7,sigma=0.2]") / sampled(0.2)
    assert np.unique(both.round(9)).tolist() == [1, 7], "on top of log-normal noise, the same draws"


@pytest.mark.parametrize("noise", ["lognormal", "stragglers[share=0.3]", "stragglers[share=0.3,sigma=0.1]"])
def test_factors_of_the_first_tasks_are_those_of_a_graph_of_no_more(noise):
    """Who straggles once depended on the number of tasks."""
    assert all(sampled(noise, n).tolist() == sampled(noise, 1000)[:n].tolist() for n in (1, 5, 8))


def test_all_or_none_straggle():
    assert set(sampled("stragglers[share=1,factor=3]", 9).tolist()) == {3.0}
    for silent in (0.0, "lognormal[sigma=0]", "stragglers[share=0]", "stragglers[factor=1]"):
        assert sampled(silent) is None


def test_stragglers_by_hand(engine):
    """One chain, all of it ten times as long: 30 s instead of 3 s."""
    chain = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    slow = ss.CostModel(noise=Stragglers(share=1.0, factor=10.0))
    assert ss.simulate(chain, "generic", "fifo", costs=slow, engine=engine).makespan_s == 30


@settings(max_examples=8)
@given(
    noise=st.sampled_from(["lognormal[sigma=0.4]", "stragglers[share=0.3,sigma=0.1]"]),
    seed=st.integers(0, 2**40),
)
def test_a_task_draws_the_same_under_every_policy_and_machine(noise, seed):
    model = ss.CostModel(noise=noise)
    runs = [
        ss.simulate(MANY, machine, policy, costs=model, seed=seed)
        for machine in ("generic[cores=3]", "generic[cores=8]")
        for policy in ("sequential", "fifo", "corun")
    ]
    assert all(run.finish_s - run.start_s == pytest.approx(model.factors(50, seed)) for run in runs)
    assert model.factors(9, seed).tolist() == model.factors(9, seed).tolist()
    assert model.factors(9, seed).tolist() != model.factors(9, seed + 1).tolist()


@pytest.mark.parametrize("noise", [LogNormal(0.25), Stragglers(0.02, 3.0, 0.1), Stragglers()])
def test_models_print_as_the_spec_that_makes_them(noise):
    assert noise_of(str(noise)) == noise


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (-0.1, "noise is -0.1; expected a number of zero or more, or one of lognormal"),
        (float("nan"), "noise is nan"),
        (True, "noise is True"),
        (None, "noise is None"),
        ("white", "noise is 'white'; expected .* stragglers"),
        ("lognormal[sd=1]", "has no parameter 'sd'; it has sigma"),
        ("lognormal[sigma=-1]", r"sigma=-1.*at least 0"),
        ("stragglers[share=2]", "a share from 0 to 1"),
        ("stragglers[factor=0]", "a number above 0"),
        ("stragglers[share=", "has a bracket without its partner"),
        ("-1", "noise is -1.0; expected"),
    ],
)
def test_what_is_no_noise_is_told(noise, said):
    with pytest.raises(CostError, match=said):
        ss.CostModel(noise=noise)


def test_noise_written_for_the_last_release_samples_by_its_old_method():
    with pytest.warns(DeprecationWarning, match=r"Twice\.drawn is now Twice\.sampled"):

        class Twice(Noise):
            def drawn(self, n_tasks, generator):
                return np.full(n_tasks, 2.0)

    assert ss.CostModel(noise=Twice()).factors(2, 0).tolist() == [2.0, 2.0]
