"""Whatever a file holds, the reader returns a valid graph or says what is wrong, where, and what to do."""

from __future__ import annotations

import copy
import gzip
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, MissingExtraError, SimschedError
from simsched.traces.pytorch.reader import PYTORCH
from simsched.traces.shared import json_elements
from simsched.traces.shared.json_stream import CHUNK_B, MAX_DEPTH, MAX_VALUE_B, stream

A, B, C = (1, 11, [2]), (2, 12, [2]), (3, 13, [2])
ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"


def kineto(event_text: bytes) -> bytes:
    return b'{"schemaVersion": 1, "traceEvents": [' + event_text + b"]}"


def event(**changed) -> bytes:
    fields = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "pid": 1,
        "tid": 1,
        "ts": 5,
        "dur": 2,
        "args": {},
    }
    fields |= changed
    return json.dumps({key: value for key, value in fields.items() if value != "absent"}).encode()


BROKEN = {
    "empty": b"",
    "no JSON": b"hello",
    "cut off": kineto(event())[:-9],
    "cut off in a string": kineto(event())[:60],
    "trailing garbage": kineto(event()) + b"x",
    "NaN": kineto(event().replace(b'"ts": 5', b'"ts": NaN')),
    "Infinity": kineto(event().replace(b'"ts": 5', b'"ts": Infinity')),
    "astronomical time": kineto(event().replace(b'"ts": 5', b'"ts": 1e999999999')),
    "time beyond 64 bits": kineto(event().replace(b'"ts": 5', b'"ts": 9999999999999999.9')),
    "exponent of 300 digits": kineto(event().replace(b'"ts": 5', b'"ts": 1e' + b"9" * 300)),
    "time of 5000 digits": kineto(event().replace(b'"ts": 5', b'"ts": ' + b"9" * 5000)),
    "time of a million digits": kineto(event().replace(b'"ts": 5', b'"ts": ' + b"9" * 10**6)),
    "invalid UTF-8": kineto(event().replace(b"aten", b"\xff\xfe")),
    "surrogates": kineto(event().replace(b"aten", b"\xed\xa0\x80")),
    "control character": kineto(event().replace(b"aten", b"\x01")),
    "raw newline in a name": kineto(event().replace(b"aten", b"a\nb")),
    "bottomless lists": b'{"traceEvents":' + b"[" * 300_000,
    "deep lists": kineto(b"[" * 5000 + b"]" * 5000),
    "deep objects": kineto(b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "brackets hidden by quotes": kineto(b'"]]]]", "\\"", "\\\\", ' + b"[" * 200 + b"]" * 200),
    "list of numbers": b"[1, 2]",
    "comma too many": kineto(event() + b","),
    "comma missing": kineto(event() + event()),
    "nothing between commas": kineto(event() + b",," + event()),
    "no events": kineto(b""),
    "events are an object": b'{"traceEvents": {"a": 1}}',
    "event is a number": kineto(b"7"),
    "event is null": kineto(b"null"),
    "negative duration": kineto(event(dur=-1)),
    "duration is a text": kineto(event(dur="2 us")),
    "duration is absent": kineto(event(dur="absent")),
    "time is true": kineto(event(ts=True)),
    "time is a list": kineto(event(ts=[1])),
    "name is a number": kineto(event(name=3)),
    "thread is a list": kineto(event(tid=[])),
    "process is absent": kineto(event(pid="absent")),
    "args is a list": kineto(event(args=[1])),
    "id is a text": kineto(event(args={"Record function id": "5"})),
    "id beyond 64 bits": kineto(event(args={"Record function id": 2**70})),
    "dims is an object": kineto(event(args={"Input Dims": {"0": [2, 3]}})),
    "dims are negative": kineto(event(args={"Input Dims": [[-2]]})),
    "dims are huge": kineto(event(args={"Input Dims": [[2**60]]})),
    "dims are texts": kineto(event(args={"Input Dims": [["2"]]})),
    "metadata is a number": b'{"simsched": 5, "traceEvents": [' + event() + b"]}",
    "threads are zero": b'{"simsched": {"threads": 0}, "traceEvents": [' + event() + b"]}",
    "threads wrap around": b'{"simsched": {"threads": 4294967297}, "traceEvents": [' + event() + b"]}",
    "speed is a text": b'{"simsched": {"cpu_model": "x", "core_flops": "x"}, "traceEvents": ['
    + event()
    + b"]}",
    "untraced is a list": b'{"simsched": {"untraced_step_s": [1]}, "traceEvents": [' + event() + b"]}",
    "two clocks": kineto(event() + b"," + event(ts=2e15)),
    "wrappers only": kineto(event(name="MulBackward0")),
}


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "marked.json"
    path.write_bytes(b"\xef\xbb\xbf" + kineto(event()))
    graph = PYTORCH.read(path)
    assert (graph.n_tasks, graph.task_name(0)) == (1, "mm@0")


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "zipped"])
@pytest.mark.parametrize("case", BROKEN)
def test_broken_kineto_traces(tmp_path, case, zipped):
    path = tmp_path / "broken.json"
    path.write_bytes(gzip.compress(BROKEN[case]) if zipped else BROKEN[case])
    with pytest.raises(FormatError, match=r"broken\.json") as raised:
        PYTORCH.read(path)
    assert len(str(raised.value)) < 500 + len(str(path))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n.pop("id"), "id is None"),
        (lambda n: n.update(id="x"), "id is 'x'"),
        (lambda n: n.update(id=102), "id 102 occurs twice"),
        (lambda n: n["attrs"][0].update(value=2), "record function id 2 occurs twice"),
        (lambda n: n.update(name=None), "name is None"),
        (lambda n: n.pop("ctrl_deps"), "ctrl_deps is None"),
        (lambda n: n.update(attrs={}), "attrs is {}"),
        (lambda n: n.update(attrs=[3]), "expected an object"),
        (lambda n: n.update(attrs=[]), "rf_id is None"),
        (lambda n: n["attrs"][2].update(value=5), "op_schema is 5"),
        (lambda n: n.update(inputs=5), "inputs is 5"),
        (lambda n: n["inputs"].pop("types"), "inputs is None"),
        (lambda n: n["inputs"]["values"].append(1), "2 values, 1 shapes"),
        (lambda n: n["inputs"]["shapes"].__setitem__(0, [-1]), "not a list of sizes"),
        (lambda n: n["inputs"]["shapes"].__setitem__(0, [1] * 100), "not a list of sizes"),
        (lambda n: n["inputs"]["types"].__setitem__(0, 3), "types is 3"),
        (lambda n: n["inputs"]["values"][0].__setitem__(3, -2), "negative size"),
        (lambda n: n["inputs"]["values"][0].__setitem__(1, 2**80), "expected a whole number"),
    ],
)
def test_broken_nodes(mini, change, message):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::relu", 1, 1, [B], [C])
    change(mini.nodes[0])
    with pytest.raises(FormatError, match=r"step\.et\.json: node [01]: ") as raised:
        mini.load()
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"nodes": []}', b'{"nodes": [', b"\x1f\x8b\x08\x00broken"]
)
def test_files_that_are_no_execution_trace(mini, content):
    mini.op("aten::relu", 0, 1, [A], [B])
    path, execution_trace = mini.write()
    execution_trace.write_bytes(content)
    with pytest.raises(FormatError, match=r"step\.et\.json"):
        PYTORCH.read(path, execution_trace=execution_trace)


def test_companions_that_are_not_there(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    path = mini.write()[0]
    for wrong in ("nowhere.json", 5):
        with pytest.raises(FormatError, match=r"nowhere|execution_trace is 5"):
            PYTORCH.read(path, execution_trace=wrong)


def test_a_cut_off_zipped_file(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    path = mini.write(zipped=True)[0]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="cut off"):
        PYTORCH.read(path)


def test_an_id_that_stands_twice(mini):
    mini.op("aten::relu", 0, 1, [A], [B])
    mini.op("aten::tanh", 1, 1, [A], [B])
    mini.events[1]["args"]["Record function id"] = 1
    with pytest.raises(FormatError, match="id 1 occurs twice"):
        mini.load_alone()


def test_the_line_to_type_where_ijson_is_missing(mini, monkeypatch):
    mini.op("aten::relu", 0, 1, [A], [B])
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        mini.load()


def test_calls_that_contain_each_other_do_not_hang(mini):
    mini.op("aten::relu", 0, 1, [A], [B], inside=2)
    mini.op("aten::relu", 1, 1, [B], [C], inside=1)
    mini.op("aten::unknown", 2, 1, [B], [C], inside=3)
    assert mini.load().n_tasks == 3


def test_a_name_of_a_megabyte_is_kept_and_not_shouted(mini):
    mini.op("aten::" + "x" * 10**6, 0, 1, [A], [B])
    assert len(mini.load().kinds[0]) == 10**6
    mini.nodes[0]["name"] = "aten::" + "y" * 10**6
    with pytest.raises(FormatError) as raised:
        mini.load()
    assert len(str(raised.value)) < 1000


def test_one_endless_value_is_refused(tmp_path):
    path = tmp_path / "endless.json"
    path.write_bytes(kineto(b'"' + b"x" * (MAX_VALUE_B + 2 * json_elements.CHUNK_B) + b'"'))
    with pytest.raises(FormatError, match=r"endless\.json: near byte \d+: a value of more than"):
        PYTORCH.read(path)


def test_brackets_and_quotes_within_names_are_text(mini):
    name = 'cell[[[{"\\' * 200
    mini.annotate(name, 0, 10)
    mini.op("aten::relu", 1, 1, [A], [B])
    assert mini.load().scopes[0] == name


@pytest.mark.parametrize("shift", range(0, 12))
def test_escapes_across_the_edges_of_chunks(tmp_path, shift):
    names = ["x" * (CHUNK_B - 20 + shift) + '\\"[[' * 3, '"' * 7 + "\\" * 5 + "[" * (MAX_DEPTH + 1)]
    path = tmp_path / "names.json"
    path.write_text(json.dumps({"traceEvents": names}))
    assert [value for _, value in stream(path, "traceEvents.item")] == names


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["aten::mm", "X", "cpu_op", ADD_, "Tensor(float)"]),
    st.lists(st.integers(0, 5), max_size=6),
    st.dictionaries(st.text(max_size=3), st.integers(0, 5), max_size=2),
)


def places(value, at=()):
    """Yield the paths of all values of a JSON document."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(document, at, action, junk):
    document = copy.deepcopy(document)
    holder = document
    for key in at[:-1]:
        holder = holder[key]
    if action == "delete":
        del holder[at[-1]]
    elif action == "repeat" and isinstance(holder, list):
        holder.append(holder[at[-1]])
    else:
        holder[at[-1]] = junk
    return document


@pytest.fixture
def documents(mini):
    mini.annotate("ProfilerStep#1", 0, 100)
    outer = mini.op("aten::linear", 1, 10, [A, C], [B], sequence=1)
    mini.op("aten::addmm", 2, 3, [A, C], [B], inside=outer, sequence=1)
    mini.op("MulBackward0", 20, 10, sequence=1)
    mini.op("aten::add_", 21, 3, [B, A], [B], schema=ADD_)
    mini.op("aten::convolution_backward", 40, 3, [B, A, C], [C], lane=2)
    mini.top["simsched"] = {"threads": 1, "cpu_model": "x", "untraced_step_s": {"median": 1, "min": 1}}
    return [json.loads(path.read_text()) for path in mini.write()]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_file_is_read_or_refused(documents, data):
    which = data.draw(st.integers(0, 1))
    files = list(documents)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(list(places(files[which]))))
        action = data.draw(st.sampled_from(["delete", "repeat", "replace"]))
        files[which] = changed(files[which], at, action, data.draw(JUNK))
    read_or_refuse([json.dumps(document).encode() for document in files])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_are_read_or_refused(documents, data):
    contents = [bytearray(json.dumps(document).encode()) for document in documents]
    content = contents[data.draw(st.integers(0, 1))]
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    read_or_refuse([bytes(content) for content in contents])


def read_or_refuse(contents: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.json", "b.json")]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        try:
            graph = PYTORCH.read(paths[0], execution_trace=paths[1])
        except SimschedError:
            return
    assert graph.n_tasks >= 1
    assert np.all(graph.recording.finish_s >= graph.recording.start_s)
    sources = graph.successors.sources()
    assert np.all(graph.recording.finish_s[sources] <= graph.recording.start_s[graph.successors.indices])
