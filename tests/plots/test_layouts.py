"""The heat map of layouts: states, ties, what does not fit."""

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import layouts, layouts_frame


def tuned(*rows):
    return pd.DataFrame(rows, columns=["executors", "width", "makespan_s"])


MADE = tuned((4, 1, 1.005), (1, 4, 1.0), (2, 2, 1.5), (1, 2, 1.0), (2, 1, 4.0))


def states(frame):
    return {(row.executors, row.width): row.state for row in frame.itertuples()}


def test_every_pair_has_a_state():
    found = states(layouts_frame(MADE))
    assert found == {
        (1, 1): "not tried", (1, 2): "tied", (1, 4): "best",
        (2, 1): "slower", (2, 2): "slower", (2, 4): "does not fit",
        (4, 1): "tied", (4, 2): "does not fit", (4, 4): "does not fit",
    }  # fmt: skip
    assert layouts_frame(MADE)["relative"].max() == 4


def test_ties_and_cores_are_chosen():
    assert states(layouts_frame(MADE, tie=0.0))[4, 1] == "slower"
    assert states(layouts_frame(MADE, tie=0.0))[1, 2] == "tied"
    assert states(layouts_frame(MADE, cores=8))[2, 4] == "not tried"
    with pytest.raises(SimschedError, match="tie is -1"):
        layouts_frame(MADE, tie=-1)


def test_a_layout_that_failed_is_not_the_best():
    found = states(layouts_frame(tuned((1, 1, np.nan), (1, 2, 3.0))))
    assert found == {(1, 1): "failed", (1, 2): "best"}


def test_more_threads_than_cores_are_times_as_others():
    found = layouts_frame(tuned((4, 4, 1.0), (4, 1, 2.0)), cores=4)
    assert found["state"].tolist() == ["slower", "best"]


def test_numbers_frames_and_legend():
    ax = layouts(layouts_frame(MADE))
    shown = {text.get_position(): text.get_text() for text in ax.texts}
    assert shown == {(1, 0): "1", (2, 0): "1", (0, 1): "4", (1, 1): "1.5", (0, 2): "1"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "best", "tied", "does not fit", "not tried",
    ]  # fmt: skip
    hatched = sorted(patch.get_center().tolist() for patch in ax.patches if patch.get_hatch())
    assert hatched == [[1, 2], [2, 1], [2, 2]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4"]
    assert ax.get_title(loc="left") == "time over that of the best, 1x4: 1 s"
    ax.figure.canvas.draw()


def test_numbers_can_be_read_on_their_colours():
    ax = layouts(layouts_frame(tuned((1, 1, 1.0), (1, 2, 50.0))))
    assert [text.get_color() for text in ax.texts] == ["black", "white"]


def test_a_graph_of_no_length():
    frame = layouts_frame(tuned((1, 1, 0.0), (2, 1, 0.0)))
    assert frame["state"].tolist() == ["best", "tied"]
    layouts(frame).figure.canvas.draw()


@pytest.mark.parametrize("frame", [tuned(), tuned((1, 1, np.nan))])
def test_nothing_to_compare_is_an_error(frame):
    with pytest.raises(SimschedError, match="no layout"):
        layouts_frame(frame)


def test_from_tune():
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    frame = layouts_frame(ss.tune(graph, "generic[cores=4]", "fifo"), cores=4)
    assert states(frame)[2, 2] == "best"
    assert states(frame)[4, 1] == "tied"
    assert states(frame)[1, 1] == "not tried"


def test_missing_columns_are_named():
    with pytest.raises(SimschedError, match="lacks width"):
        layouts_frame(MADE.drop(columns="width"))
    with pytest.raises(SimschedError, match="lacks relative"):
        layouts(MADE)


def test_tables_of_searches_and_replays_are_made_ready_to_draw():
    """What `tune` and `replayed` return is not what is drawn: the message says what makes it so."""
    graph, machine = ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]"
    found = ss.tune(graph, machine, "fifo")
    with pytest.raises(SimschedError, match="lacks relative, state; layouts_frame makes one"):
        layouts(found)
    with pytest.raises(SimschedError, match="tuning_frame makes one"):
        ss.plots.tuning(found)
    with pytest.raises(SimschedError, match="policies_frame makes one"):
        ss.plots.policies(ss.replayed({"two": graph}, machine, ["fifo"]))
