"""Policies of the published systems on each other's workloads, in small."""

import json
from math import isnan

import numpy as np
import pytest

import simsched as ss
from simsched.document.html import text
from simsched.document.markdown import markdown_text
from simsched.errors import SpecError
from simsched.machine import machine as machine_of
from simsched.notes import weighed, weight_of
from simsched.reproduce import JOBS, Job
from simsched.reproduce.crossed.jobs import Column, jobs_of
from simsched.reproduce.crossed.rules import RULES
from simsched.reproduce.crossed.table import write_crossed
from simsched.schedule.caveats import notes_of

CELLS = Job("wpar", "lstm[layers=2,steps=3,input=16,hidden=16,batch=4,fused=true]", "xeon-8160x2[cores=4]")
IMAGES = Job("chaos", "chaos[size=small]", "knc-7120p[cores=4]", 8, measured=True)


@pytest.fixture(scope="module")
def found():
    return ss.crossed(["own", "epyc-9654x2[cores=16]"], [CELLS, IMAGES])


def test_every_cell_is_there(found):
    table = found.table
    assert len(table) == 2 * 2 * 5 == len(found.records())
    assert found.machines == ("own", "epyc-9654x2[cores=16]")
    assert (table["makespan_s"] > 0).all()
    matrix = found.matrix()
    assert list(matrix.index) == list(RULES)
    assert list(matrix.columns) == ["wpar", "chaos"]
    assert (matrix.min() == 1).all()
    assert not matrix.isna().any(axis=None)


def test_notes_travel_with_every_output(found):
    """The notes of all replays, each once, the weightiest first: in results, tables, Markdown and cards."""
    every = [*notes_of(run.schedule for run in found.runs)]
    assert found.notes == weighed(every) == found.table.notes
    assert sorted(found.notes) == sorted({*every})
    assert [weight_of(note) for note in found.notes] == sorted(map(weight_of, found.notes), reverse=True)
    assert weight_of(found.notes[0]) > weight_of(found.notes[-1])
    listed = found.to_markdown().partition("## Notes\n\n")[2].splitlines()
    assert listed == [f"- {markdown_text(note)}" for note in found.notes]
    assert all(text(note) in found._repr_html_() for note in found.notes)


def test_ratios_are_those_of_the_makespans(found):
    rows = found.table[(found.table["on"] == "own") & (found.table["workload_of"] == "chaos")]
    seconds = rows.set_index("policy_of")["makespan_s"]
    own, best = rows["over_own"].to_numpy(), rows["over_best"].to_numpy()
    assert own == pytest.approx((seconds / seconds["chaos"]).to_numpy())
    assert best == pytest.approx((seconds / seconds.min()).to_numpy())
    assert found.matrix(value="makespan_s")["chaos"].to_dict() == pytest.approx(seconds.to_dict())


def test_workloads_of_one_system_become_a_geometric_mean():
    two = ss.crossed(["own"], [CELLS, Job("wpar", CELLS.workload.replace("lstm", "gru"), CELLS.machine)])
    each = two.matrix(by="workload")
    assert each.shape == (5, 2)
    assert two.matrix()["wpar"].to_numpy() == pytest.approx(np.sqrt(each.prod(axis=1)).to_numpy())


def test_each_run_is_the_shortest_of_its_choices(found):
    run = found.run("wpar", CELLS.workload)
    column = Column(CELLS, machine_of(CELLS.machine), own=True)
    seconds = [
        ss.simulate(
            choice.graph(choice.parts),
            column.machine.varied({"smt": choice.ways}),
            choice.policy,
            choice.layout,
            column.costs,
        ).makespan_s
        for choice in RULES["wpar"](column)
    ]
    assert len(seconds) == 3 * 3
    assert run.schedule.makespan_s == min(seconds)
    with pytest.raises(SpecError, match="no run"):
        found.run("wpar", "lstm")


def test_a_run_alone_has_no_own_to_compare_with():
    alone = ss.crossed(["own"], [CELLS], ["swtvm"])
    assert isnan(alone.table["over_own"].iloc[0])
    assert alone.records()[0]["over_own"] is None
    assert "NaN" not in json.dumps(alone.records())


def test_parts_and_cells_keep_the_work():
    column = Column(CELLS, machine_of(CELLS.machine), own=True)
    assert column.divisors == [1, 2, 4]
    ops, cells, batches = column.ops(1), column.cells(1), column.batches(4)
    # Layers by steps both ways; a loss and its product, sums and updates stay ops.
    assert sum(kind == "cell" for kind in cells.kinds.to_list()) == 2 * 2 * 3
    assert cells.n_tasks < ops.n_tasks
    assert cells.durations_s.sum() == pytest.approx(
        column.costs.on(ops, column.machine).one_core_s.sum(), rel=1e-12
    )
    assert cells.flops.sum() == ops.flops.sum()
    assert (batches.n_tasks, batches.n_edges) == (4, 0)


def test_an_image_takes_what_was_measured():
    column = Column(IMAGES, machine_of(IMAGES.machine), own=True)
    assert column.batches(1).durations_s.tolist() == pytest.approx([1.45e-3 + 5.3e-3] * 8)
    elsewhere = Column(IMAGES, machine_of("epyc-9654x2"), own=False)
    assert elsewhere.batches(1).durations_s.max() < 1e-3


def test_jobs_are_of_all_five_systems():
    assert {job.system for job in JOBS} == set(RULES)
    assert [job.workload for job in jobs_of(["swtvm"])] == [
        "alexnet[size=swtvm,towers=one]",
        "vgg19[size=swtvm]",
    ]
    for job in JOBS:
        assert any(True for _ in RULES["graphi"](Column(job, machine_of(job.machine), own=True)))


def test_a_variation_is_of_every_machine():
    without = ss.crossed(["own"], [CELLS], ["wpar"], variation={"contention": False})
    assert "contention=false" in without.table["machine"].iloc[0]


def test_curves_are_those_of_every_column():
    """A convolution that divides without loss is faster on all cores than one that does not divide."""
    job = Job("mine", "chaos[network=large,batch=4]", "knl-7250[cores=8]")
    seconds = [
        ss.crossed(["own"], [job], ["swtvm"], curves={"Conv2D": ss.Curve(serial_share=share)}).table[
            "makespan_s"
        ][0]
        for share in (0.0, 1.0)
    ]
    assert seconds[0] < seconds[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"systems": ["heft"]}, "heft"),
        ({"machines": []}, "at least one machine"),
        ({"jobs": [Job("mine", "no-such", "knl-7250")]}, "no-such"),
        (
            {"jobs": [Job("mine", "chaos[batch=4]", "generic[cores=1]")]},
            r"graphi has no worker on generic\[cores=1\]",
        ),
        (
            {"jobs": [Job("mine", "chaos[batch=4]", "generic[cores=2]")]},
            r"graphi has no worker on generic\[cores=2\]",
        ),
        (
            {"jobs": [Job("mine", "lstm[layers=1]", "knl-7250", measured=True)]},
            "CHAOS measured no images of lstm",
        ),
    ],
)
def test_what_cannot_run_is_said(arguments, words):
    with pytest.raises(SpecError, match=words):
        ss.crossed(**arguments)


def test_jobs_of_nobody_and_matrices_of_nothing(found):
    with pytest.raises(SpecError, match="nobody"):
        jobs_of(["nobody"])
    for wrong in ({"on": "knl-7250"}, {"value": "tasks"}, {"by": "policy"}):
        with pytest.raises(SpecError, match="is not one of"):
            found.matrix(**wrong)


def test_text_and_pictures(found, tmp_path):
    shown = found.to_markdown()
    assert "## Own machines: time over the best policy's" in shown
    assert "8 parts" not in shown
    assert CELLS.workload in shown
    names = sorted(path.name for path in write_crossed(tmp_path, found))
    assert names == ["crossed-epyc-9654x2_cores=16.png", "crossed-own.png", "crossed.csv", "crossed.md"]
    assert repr(found) == "<Crossed: 20 runs; own, epyc-9654x2[cores=16]>"
    assert "<table" in found._repr_html_()
    axes = found.plot()
    assert len(axes.texts) == 2 * 5
