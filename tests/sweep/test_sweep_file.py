"""`SPEC.toml`: every key, and every mistake at once."""

from importlib.resources import files

import pytest

import simsched as ss
from simsched.errors import FormatError, SpecError
from simsched.sweep.sweep_file import SweepFile, read_sweep

FULL = """
graphs = ["lstm[layers=1,steps=2,hidden=64]", "mine.simsched"]
machines = ["knl-7250", "mine.toml[cores=8]"]
policies = ["fifo", "critical-path"]
layouts = ["2x2", "default"]
seeds = { low = 0, high = 99 }
scalings = [1.0, { MatMul = 2.0 }]
noises = { low = 0.0, high = 0.2 }
engine = "native"
design = "sobol"
samples = 16
design_seed = 3

[machine_parameters]
core_bandwidth_Bps = { low = 1e9, high = 1e10, log = true }

[policy_parameters]
small_s = [0.0, 1e-6]
"""


@pytest.fixture
def spec(tmp_path):
    def write(text):
        (tmp_path / "spec.toml").write_text(text)
        return tmp_path / "spec.toml"

    return write


def test_a_machine_beside_a_file_in_a_folder_with_brackets(tmp_path):
    folder = tmp_path / "runs [1]"
    folder.mkdir()
    (folder / "mine.toml").write_text((files("simsched.hwmodels") / "generic.toml").read_text())
    (folder / "spec.toml").write_text(FULL.replace('"knl-7250", ', "").replace(', "mine.simsched"', ""))
    assert [one.n_cores for one in read_sweep(folder / "spec.toml").axis("machine").values] == [8]


def test_every_key_is_a_parameter_of_sweep(spec, graph, tmp_path):
    graph.save(tmp_path / "mine.simsched")
    content = (files("simsched.hwmodels") / "generic.toml").read_text()
    (tmp_path / "mine.toml").write_text(content)
    made = read_sweep(spec(FULL))
    assert len(made) == 16
    assert [axis.name for axis in made.axes] == [
        "graph", "machine", "machine.core_bandwidth_Bps", "policy", "policy.small_s", "layout", "scaling", "noise",
        "seed",
    ]  # fmt: skip
    assert [one.n_cores for one in made.axis("machine").values] == [68, 8]
    assert [graph.n_tasks for graph in made.axis("graph").values] == [
        ss.workload("lstm[layers=1,steps=2,hidden=64]").n_tasks,
        4,
    ]
    assert {key for key in SweepFile.model_fields if key in FULL} == set(SweepFile.model_fields)


def test_a_number_of_seeds_counts_from_0(spec):
    made = read_sweep(
        spec('graphs = ["lstm[steps=2]"]\nmachines = ["generic"]\npolicies = ["fifo"]\nseeds = 3')
    )
    assert [made.point(number).seed for number in range(len(made))] == [0, 1, 2]


def test_all_mistakes_are_listed_with_place_and_value(spec):
    wrong = """
    graphs = ["nowhere.json", 3]
    machines = ["knx"]
    policies = ["fifo[order=up]"]
    layouts = ["8y8"]
    seeds = [-1]
    scalings = [0.0]
    noises = { low = 2, high = 1 }
    engine = "fast"
    sedes = 3
    [machine_parameters]
    cores = 3
    [policy_parameters]
    ordr = [1]
    """
    with pytest.raises(FormatError) as raised:
        read_sweep(spec(wrong))
    said = str(raised.value)
    assert "11 mistakes" in said  # of policies that are wrong, no parameter is
    for words in (
        "nowhere.json: no such file",
        "graphs.1: expected a file or a workload (got 3)",
        "machines.0: no machine is called 'knx'",
        "policies.0: fifo[order=up]: expected one of fifo, lifo, random",
        "layouts.0: '8y8' is not a layout",
        "seeds: expected how many",
        "scalings.0: scalings: 0.0",
        "noises: Range(low=2, high=1, log=False)",
        "engine: Input should be 'auto', 'simpy' or 'native' (got 'fast')",
        "sedes: unknown key",
        "machine_parameters.cores: expected a list of values",
    ):
        assert words in said


def test_what_is_missing_is_said(spec):
    with pytest.raises(
        FormatError, match=r"3 mistakes:\n  graphs: missing\n  machines: missing\n  policies: missing$"
    ):
        read_sweep(spec("seeds = 1"))


def test_mistakes_of_a_machine_file_stand_below_its_place(spec, tmp_path):
    (tmp_path / "bad.toml").write_text("title = 3\nstructure.kind = 'flat'")
    with pytest.raises(FormatError) as raised:
        read_sweep(spec('graphs = ["lstm"]\nmachines = ["bad.toml"]\npolicies = ["fifo"]\nsedes = 1'))
    first, *lines = str(raised.value).split("\n")
    assert first.endswith("spec.toml: 2 mistakes:")
    assert lines[0] == f"  machines.0: {tmp_path / 'bad.toml'}: 6 mistakes:"
    assert "    title: Input should be a valid string (got 3)" in lines
    assert lines[-1] == "  sedes: unknown key"


def test_files_that_are_no_toml_or_not_there(spec, tmp_path):
    with pytest.raises(FormatError, match="not a TOML file"):
        read_sweep(spec("graphs = ["))
    with pytest.raises(FormatError, match="no such file"):
        read_sweep(tmp_path / "nothing.toml")


def test_parts_that_do_not_fit_each_other(spec):
    text = 'graphs = ["lstm[steps=2]"]\nmachines = ["generic"]\npolicies = ["fifo"]\nsamples = 3'
    with pytest.raises(SpecError, match="a product has all points"):
        read_sweep(spec(text))


HEAD = 'graphs = ["lstm[steps=2]"]\nmachines = ["generic"]\npolicies = ["fifo"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('noises = { low = "1", high = 2 }', "noises: .*ends of a range are numbers"),
        ("noises = { low = [1], high = 2 }", "noises: .*ends of a range are numbers"),
        ('noises = { low = 1, high = 2, log = "no" }', "noises: .*log is true or false"),
        ("seeds = 99999999999999999999", "seeds: 10000000 are the most"),
        ("seeds = 0", "seeds: expected how many"),
        ("noises = [-1]", "noises: noise: -1: expected a number of zero or more"),
        ("machine_parameters.corez = [4]", "machine_parameters: .*'corez'; did you mean cores"),
        ("policy_parameters.ordr = [4]", "policy_parameters: no policy has 'ordr'"),
        ("graphs = ['lsmt']", "graphs.0: .*; did you mean lstm"),
    ],
)
def test_ranges_and_counts_that_are_none(spec, text, said):
    with pytest.raises(FormatError, match=said):
        read_sweep(spec(HEAD + text if "graphs" not in text else text + HEAD[HEAD.index("\n") :]))


def test_nothing_is_cut_off_a_long_file(spec):
    with pytest.raises(FormatError, match="larger than 1000000 bytes"):
        read_sweep(spec(HEAD + "# and so on\n" * 100_000 + "seeds = 3"))
