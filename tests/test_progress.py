"""Functions of many replays show a bar where somebody watches, once they take a second, and nothing elsewhere."""

import io
import sys
import time

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.progress import shows_progress

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])


class Terminal(io.StringIO):
    def isatty(self):
        return True


@shows_progress
def work(seconds, *, progress=None):
    time.sleep(seconds)
    if progress is not None:
        progress(3)
    return progress


@pytest.mark.parametrize(("stream", "seconds", "shows"), [(Terminal, 1.1, True), (Terminal, 0.0, False)])
def test_a_bar_on_a_terminal_from_one_second_on(stream, seconds, shows, monkeypatch):
    monkeypatch.setattr(sys, "stderr", shown := stream())
    assert work(seconds) is not None
    assert ("work" in shown.getvalue()) == shows


def test_no_bar_where_nobody_watches_or_the_caller_counts(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert work(0) is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    counted = []
    assert work(0, progress=counted.append) == counted.append
    assert counted == [3]


@pytest.mark.parametrize("ask", [ss.compare, ss.tune, ss.predict, ss.replayed, ss.verdicts, ss.sensitivity])
def test_questions_of_many_replays_count_their_tasks(ask, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("tqdm.auto.tqdm", Counting)
    Counting.done = 0
    ask(GRAPH, "generic[cores=4]")
    assert Counting.done > 0
    assert Counting.done % GRAPH.n_tasks == 0


class Counting:
    """In the place of tqdm."""

    done = 0

    def __init__(self, **options):
        assert options["delay"] == 1.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def update(self, n):
        type(self).done += n


@pytest.mark.parametrize(
    "call",
    [
        lambda: work(0, progress=5),
        lambda: ss.simulate(GRAPH, "generic", "fifo", progress=5),
        lambda: ss.compare(GRAPH, "generic", ["fifo"], progress=5),
        lambda: ss.tune(GRAPH, "generic", "fifo", progress=5),
        lambda: ss.predict(GRAPH, "generic", "fifo", cores=[1, 2], progress=5),
        lambda: ss.Sweep([GRAPH], ["generic"], ["fifo"]).run("nowhere", progress=5),
        lambda: ss.simulate(GRAPH, "generic", "fifo").explain().what_if(progress=5),
        lambda: ss.reproduce("chaos", tables=["Table 8"], progress=5),
        lambda: ss.crossed(["own"], progress=5),
        lambda: ss.report(GRAPH, "generic", progress=5),
        lambda: ss.execute(GRAPH, "fifo", "1x1", repeats=1, progress=5),
    ],
)  # fmt: skip
def test_progress_that_is_no_function_is_refused_at_once(call):
    with pytest.raises(SimschedError, match="progress is 5; expected a function"):
        call()
