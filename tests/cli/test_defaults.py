"""What the command line takes where nothing is said is what Python takes."""

import inspect

import pytest

import simsched as ss
from simsched.cli.app import commands
from simsched.costs import CostModel
from simsched.costs.noise import noise_of
from simsched.study.statistics import NOISE

COMMANDS = commands().commands
#: By the name of a command, the functions that have its defaults.
FUNCTIONS = {
    # Its interval is that of a comparison of one policy.
    "run": [ss.simulate, ss.compare],
    "compare": [ss.compare],
    "tune": [ss.tune],
    "predict": [ss.predict],
    "verdicts": [ss.verdicts],
    "sensitivity": [ss.sensitivity, ss.sobol],
    "report": [ss.report],
    "optimum": [ss.optimum],
    "execute": [ss.execute],
    "explain": [ss.simulate, ss.Explanation.what_if, ss.compare],
}
#: What an option is called in Python, where that differs.
NAMES = {
    "limit": "limit_s",
    "patience": "patience_s",
    "layout": "layouts",
    "policy": "policies",
    "parameter": "parameters",
    "seed": "seeds",
}
#: Options that are no arguments: of output, and of noise, which is that of the costs.
OTHERS = {
    "json_",
    "out",
    "roofline",
    "core_use",
    "markdown",
    "help",
    "library",
    "noise",
    "task",
    "sobol",
    "learned",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_defaults_are_the_same(name):
    known = [inspect.signature(function).parameters for function in FUNCTIONS[name]]
    compared = 0
    for param in COMMANDS[name].params:
        called = next((n for n in (param.name, NAMES.get(param.name)) for ps in known if n in ps), None)
        if called is None or param.param_type_name == "argument":
            assert param.name in {*OTHERS, "graph", "graphs"}, f"{name}: {param.name} is nowhere in Python"
            continue
        default = next(ps[called].default for ps in known if called in ps)
        if isinstance(default, range):  # of seeds: the first one, and how many
            default = default.start if param.name == "seed" else len(default)
        assert param.default == default, f"{name}: {param.name} is {param.default!r}, in Python {default!r}"
        compared += 1
    assert compared >= 2


def test_noise_is_that_of_the_costs():
    noises = {
        name: param.default for name in FUNCTIONS for param in COMMANDS[name].params if param.name == "noise"
    }
    assert noise_of(noises.pop("verdicts")) == noise_of(NOISE)
    assert {noise_of(noise) for noise in noises.values()} == {noise_of(CostModel().noise)}
