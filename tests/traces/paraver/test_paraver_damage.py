"""Damaged Paraver traces: a valid graph, or one clear error."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, GraphError
from simsched.traces.paraver.reader import PARAVER

from .conftest import PCF, ROW, Trace

BITS = [b"", b":", b"0", b"9", b"-", b"\n", b"\xff", b"\0", b"99999999999999999999", b"#", b"2:"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_bytes(data: st.DataObject, ompss: Trace) -> None:
    path = ompss.write()
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.sampled_from(BITS))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    _check(ompss, data.draw(st.booleans()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_structure(data: st.DataObject, ompss: Trace) -> None:
    lines = list(ompss.lines)
    for _ in range(data.draw(st.integers(1, 6))):
        one, other = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        change = data.draw(st.sampled_from(["drop", "duplicate", "swap", "renumber"]))
        if change == "drop":
            lines[one] = ""
        elif change == "duplicate":
            lines.insert(other, lines[one])
        elif change == "swap":
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines[one] = lines[one].replace(
                data.draw(st.sampled_from("1456")), data.draw(st.sampled_from("0156"))
            )
    ompss.path.write_text("\n".join([ompss.header, *lines, ""]))
    _check(ompss, False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(data=st.data())
def test_damaged_labels(data: st.DataObject, ompss: Trace) -> None:
    ompss.write()
    for ending, text in ((".pcf", PCF), (".row", ROW)):
        damaged = bytearray(text.encode())
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 200))] = data.draw(st.sampled_from(BITS))
        ompss.path.with_suffix(ending).write_bytes(damaged)
    _check(ompss, False)


def _check(trace: Trace, tolerant: bool) -> None:
    try:
        graph = PARAVER.read(trace.path, tolerant=tolerant)
    except (FormatError, GraphError):
        return
    assert graph.n_tasks
    assert graph.recording is not None
