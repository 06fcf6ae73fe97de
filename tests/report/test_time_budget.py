"""What takes too long is left out, and the report says so."""

from collections.abc import Callable, Iterable

import pytest

import simsched as ss
from simsched.policy import Start, View
from simsched.report import question

CHAIN = ss.TaskGraph.from_edges([1.0] * 100, [(i, i + 1) for i in range(99)])
FEW = ss.TaskGraph.from_edges([1.0] * 30, [(i, i + 1) for i in range(29)])


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[ss.Policy]:
    """A policy each of whose decisions takes a second, on a clock that stands still otherwise."""
    now_s = [0.0]
    monkeypatch.setattr(question, "process_time", lambda: now_s[0])

    class Slow(ss.Policy):
        name = "slow"

        def decide(self, view: View) -> Iterable[Start]:
            now_s[0] += 1.0
            return [Start(view.ready[0])]

    return Slow


@pytest.mark.parametrize("engine", ["native", "simpy"])
def test_a_policy_that_takes_too_long_is_a_row_that_says_so(slow: type[ss.Policy], engine: str) -> None:
    made = ss.report(CHAIN, "generic[cores=2]", [slow, "fifo"], replays=0, patience_s=30, engine=engine)
    assert [run.name for run in made.findings.done] == ["fifo"]
    assert "Not replayed: slow; the table of policies says why." in made.sentences
    assert (
        "failed: its replays take more than 30 s of CPU time; patience_s (--patience) allows more"
        in made.markdown
    )


def test_each_part_has_its_own_time(slow: type[ss.Policy]) -> None:
    made = ss.report(FEW, "generic[cores=2]", [slow], replays=4, seeds=2, patience_s=100)
    assert (made.findings.helps, made.findings.scaling) == (None, None)
    for part in ("what would help", "core counts"):
        assert f"left out: {part}: its replays take more than 100 s" in made.markdown
    whole = ss.report(FEW, "generic[cores=2]", [slow], replays=4, seeds=2, patience_s=10_000)
    assert "left out" not in whole.markdown
    assert whole.findings.helps is not None


def test_where_no_policy_is_left_there_is_no_report(slow: type[ss.Policy]) -> None:
    with pytest.raises(ss.SimschedError, match="more than 30 s"):
        ss.report(CHAIN, "generic[cores=2]", [slow], patience_s=30)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "60"])
def test_patience_is_a_number_of_seconds(seconds: object) -> None:
    with pytest.raises(ss.SimschedError, match="patience_s is"):
        ss.report(FEW, "generic[cores=2]", ["fifo"], patience_s=seconds)


def test_progress_is_passed_on() -> None:
    seen: list[int] = []
    budget: Callable[[int], object] = question.TimeBudget(1e6, seen.append)
    budget(3)
    assert seen == [3]
