"""Where durations were recorded, said when a graph is loaded; and the note where nobody says it."""

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.graph.recording import UNKNOWN
from simsched.notes import Weight, weight_of


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.dot"
    path.write_text("digraph two { a [duration_s=1, flops=1000000000, bytes_B=8]; b [duration_s=3]; a -> b }")
    return path


def doubts(graph):
    notes = ss.compare(graph, "knl-7250", ["fifo"]).notes
    return [note for note in notes if weight_of(note) is Weight.DOUBT]


def test_its_absence_is_one_line_with_the_remedy(file):
    (doubt,) = doubts(ss.load(file))
    assert doubt.startswith(
        "2 given durations are taken as they are, and as exact; load(..., recorded_on=) or --recorded-on"
    )


def test_seconds_of_an_unknown_machine_are_not_exact(file):
    (doubt,) = doubts(ss.load(file, recorded_on=UNKNOWN))
    assert doubt.startswith(
        "2 recorded durations are taken as they are; load(..., recorded_on=) or --recorded-on"
    )


def test_a_machine_converts_what_has_flops(file):
    graph = ss.load(file, recorded_on="epyc-9654x2")
    assert graph.recorded_on == ss.RecordedOn.of("epyc-9654x2")
    assert doubts(graph) == []
    machine, epyc = ss.machine("knl-7250"), ss.machine("epyc-9654x2")
    costs = ss.CostModel().on(graph, machine).one_core_s
    assert costs.tolist() == pytest.approx([epyc.core_flops / machine.core_flops, 3.0 * 3.55 / 1.4])


def test_the_same_core_leaves_no_doubt_and_no_change(file):
    graph = ss.load(file, recorded_on="knl-7250[cores=34]")
    assert doubts(graph) == []
    assert ss.CostModel().on(graph, ss.machine("knl-7250")).one_core_s.tolist() == [1.0, 3.0]


def test_a_machine_that_is_not_there_is_named(file):
    with pytest.raises(SimschedError, match="no-such"):
        ss.load(file, recorded_on="no-such")
