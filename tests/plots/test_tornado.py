"""Bars of what a makespan hangs on."""

import math

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import sobol_bars, tornado

GRAPH = ss.TaskGraph.from_edges([math.nan], flops=[1e12])


def test_bars_begin_at_the_makespan_and_end_at_the_others() -> None:
    frame = ss.sensitivity(GRAPH, "generic", "fifo", parameters=["cores.clock", "runtime.pop"])
    ax = tornado(frame)
    low, high = ax.containers
    assert [bar.get_x() for bar in low] == pytest.approx([31.25, 31.25])
    assert low[0].get_width() == pytest.approx(31.25 * 0.05)
    assert high[0].get_width() == pytest.approx(31.25 / 1.05 - 31.25)
    assert low[1].get_width() == 0, "without effect, but there"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "cores.clock\n0.952 to 1.05 GHz",
        "runtime.pop\n0 to 0 ns",
    ]
    ax.figure.canvas.draw()


def test_what_is_left_out_is_told() -> None:
    frame = ss.sensitivity(GRAPH, "generic", "fifo")
    assert (
        tornado(frame, max_rows=3).get_title(loc="left")
        == f"{len(frame) - 3} more numbers have less effect, or none"
    )
    tornado(frame.iloc[:0]).figure.canvas.draw()


def test_names_are_drawn_as_they_are() -> None:
    frame = ss.sensitivity(GRAPH, "generic", "fifo", parameters=["cores.clock"]).assign(parameter="$\\frac{")
    tornado(frame).figure.canvas.draw()


def test_indices_with_their_intervals() -> None:
    frame = ss.sobol(GRAPH, "generic", "fifo", parameters=["cores.clock", "cores.flop_per_cycle"], samples=16)
    ax = sobol_bars(frame)
    assert [bar.get_width() for bar in ax.containers[1]] == pytest.approx(frame["first"].tolist())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["by itself", "total"]
    ax.figure.canvas.draw()
    sobol_bars(frame.iloc[:0]).figure.canvas.draw()


@pytest.mark.parametrize("draw", [tornado, sobol_bars])
def test_missing_columns_are_named(draw) -> None:
    with pytest.raises(SimschedError, match="lacks"):
        draw(ss.compare(ss.TaskGraph.from_edges([1.0]), "generic", ["fifo"]))
