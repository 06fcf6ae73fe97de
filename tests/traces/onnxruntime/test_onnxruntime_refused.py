"""Profiles and models that are refused: of two sessions, malformed, broken; and any other change."""

from __future__ import annotations

import gzip
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from simsched.errors import FormatError, MissingExtraError, SimschedError
from simsched.graph.loading import load
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

pytest.importorskip("onnx")
pytest.importorskip("ijson")

Event = dict[str, Any]


def other_name(hand: Any, events: list[Event]) -> None:
    events[1]["name"] = "e_kernel_time"


def other_operator(hand: Any, events: list[Event]) -> None:
    events[1]["args"]["op_name"] = "Tanh"


def too_early(hand: Any, events: list[Event]) -> None:
    events[3]["ts"] = 160  # c finishes at 162


def twice(hand: Any, events: list[Event]) -> None:
    events.append(hand.ran("b", "Exp", 140, 1))


def reader_disagrees(hand: Any, events: list[Event]) -> None:
    hand.shaped(events, "a", [[2, 3]], [[2, 3]])
    hand.shaped(events, "b", [[2, 4]], [[2, 4]])


def input_is_missing(hand: Any, events: list[Event]) -> None:
    for name in "abc":
        hand.shaped(events, name, [[2, 3]], [[2, 3]])
    hand.shaped(events, "d", [[2, 3]], [[2, 3]])


def model_disagrees(hand: Any, events: list[Event]) -> None:
    hand.shaped(events, "c", [[2, 3]], [[2, 2]])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (other_name, "'e'"),
        (other_operator, "'Tanh'"),
        (too_early, "160 us"),
        (twice, "2 times"),
        (reader_disagrees, "2x4"),
        (input_is_missing, "inputs"),
        (model_disagrees, "2x2"),
    ],
)
def test_model_of_another_session_is_refused(hand: Any, tmp_path: Path, change: Any, place: str) -> None:
    events = hand.diamond()
    change(hand, events)
    with pytest.raises(FormatError, match="of one session") as error:
        hand.join(tmp_path, events, infos=[hand.value("tc", (2, 3 if change is model_disagrees else "n"))])
    assert place in str(error.value)
    assert "run.json" in str(error.value)
    assert "run.onnx" in str(error.value)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda hand: [], "no model_run"),
        (lambda hand: [hand.ran("a", "Relu", 1, 1)], "no model_run"),
        (lambda hand: [hand.run(1, 5)], "no node ran"),
        (lambda hand: [*hand.diamond(), 3], "event 5 is 3"),
    ],
)
def test_malformed_profile_is_refused(hand: Any, tmp_path: Path, made: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ONNXRUNTIME.read(hand.profile(tmp_path / "bad.json", made(hand)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ts": -1}, "ts -1"),
        ({"dur": -1}, "dur -1"),
        ({"ts": 1.5}, "ts 1.5"),
        ({"ts": 2**60}, "microseconds"),
        ({"ts": True}, "ts True"),
        ({"args": 3}, "args 3"),
        ({"tid": None}, "tid None"),
        ({"output_size": "-1"}, "output_size '-1'"),
        ({"op_name": 5}, "op_name 5"),
        ({"input_type_shape": "x"}, "a list like"),
        ({"input_type_shape": [{"float": [-1]}]}, "a shape"),
        ({"input_type_shape": [{"float": [2**40] * 2}]}, "a shape"),
    ],
)
def test_malformed_event_is_refused_with_its_place(
    hand: Any, tmp_path: Path, changed: Event, message: str
) -> None:
    event = hand.ran("a", "Relu", 1, 1)
    for key, value in changed.items():
        (event if key in event else event["args"])[key] = value
    with pytest.raises(FormatError, match=rf"bad\.json: event 1 has .*{message}") as error:
        ONNXRUNTIME.read(hand.profile(tmp_path / "bad.json", [hand.run(0, 9), event]))
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize(
    "data",
    [
        b'[{"cat": "Session", "name": "model_run"',
        b"\xff\xfe[",
        b'[{"cat": "\xff"}]',
        b"{}",
        b"[" * 100_000,
        b'[{"ts": ' + b"9" * 10_000 + b"}]",
        b'[{"cat": NaN}]',
        gzip.compress(b'[{"cat": "Session", "name": "model_run"}]', mtime=0)[:-9],
    ],
)
def test_broken_file_is_refused(hand: Any, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(data)
    with pytest.raises(FormatError, match=r"bad\.json"):
        ONNXRUNTIME.read(file)


def test_missing_library_says_what_to_install(
    hand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ijson", None)
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        ONNXRUNTIME.read(hand.profile(tmp_path / "p", hand.diamond()))


def test_unknown_option_and_wrong_model_are_refused(hand: Any, tmp_path: Path) -> None:
    profile = hand.profile(tmp_path / "p", hand.diamond())
    with pytest.raises(FormatError, match="no option 'modell'; it has model, run"):
        load(profile, modell="m")
    with pytest.raises(FormatError, match="expected the path"):
        load(profile, model=3)
    with pytest.raises(FormatError, match="no such file"):
        ONNXRUNTIME.read(profile, model=tmp_path / "none.onnx")


# Copies: what is drawn may be changed in its place, and would be drawn changed from then on.
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(), st.text(max_size=5), st.just([]),
    st.just({}), st.just([{"float": [2]}]), st.just({"sub_threads": {"t": {"num_run": 1}}}),
).map(deepcopy)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(data=st.data(), with_model=st.booleans())
def test_any_change_gives_a_graph_or_one_clear_error(
    hand: Any, data: st.DataObject, with_model: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = hand.diamond()
    hand.shaped(events, "a", [[2, 3]], [[2, 3]])
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(st.sampled_from(events))
        if isinstance(target.get("args"), dict) and target["args"] and data.draw(st.booleans()):
            target = target["args"]
        key = data.draw(st.sampled_from(sorted(target) + ["input_type_shape", "thread_scheduling_stats"]))
        target[key] = data.draw(JUNK)
    folder = tmp_path_factory.mktemp("fuzz")
    try:
        model = hand.model(folder / "run.onnx", hand.DIAMOND) if with_model else None
        graph = ONNXRUNTIME.read(hand.profile(folder / "run.json", events), model=model)
    except SimschedError as error:
        problem = str(error)
    else:
        problem = ""
        assert 1 <= graph.n_tasks <= 4
        assert graph.recording is not None
        assert (graph.recording.finish_s >= graph.recording.start_s).all()
    assert not problem or "run.json" in problem
