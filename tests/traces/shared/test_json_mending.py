"""JSON that no parser takes becomes JSON, wherever chunks end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, strategies as st

from simsched.errors import FormatError
from simsched.traces.shared import json_stream
from simsched.traces.shared.json_stream import mended, stream


@given(st.text(), st.integers(1, 7))
@example("a\ufffdb", 1)
@example("\ufffd\ufffd", 4)
def test_valid_text_stays_whatever_the_chunks(text: str, size: int) -> None:
    whole = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    told: list[str] = []
    chunks = [whole[i : i + size] for i in range(0, len(whole), size)]
    assert b"".join(mended(chunks, told.append)) == whole
    assert not told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("a.", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "item"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([1, 10_000]))
def test_values_of_several_prefixes_are_those_of_each_alone(value: object, routes: int) -> None:
    prefixes = ["a", "a.item", "item", "item.a", "a.b", "b.item.item", "item.item"]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_MOST_ROUTES", routes)
        path = Path(folder, "some.json")
        path.write_text(json.dumps(value))
        together = list(stream(path, *prefixes))
        alone = [found for prefix in prefixes for found in stream(path, prefix)]
    assert together == alone


@given(st.binary(), st.integers(1, 7))
def test_any_bytes_become_utf8_without_control_characters(raw: bytes, size: int) -> None:
    chunks = [raw[i : i + size] for i in range(0, len(raw), size)]
    text = b"".join(mended(chunks, lambda _: None))
    assert min(text, default=32) >= 32
    text.decode()


@given(st.text(alphabet='\\u0"bnax', max_size=12), st.integers(1, 4))
def test_backslashes_alike_whatever_the_chunks(text: str, size: int) -> None:
    raw = text.encode()
    whole = b"".join(mended([raw], lambda _: None))
    assert b"".join(mended([raw[i : i + size] for i in range(0, len(raw), size)], lambda _: None)) == whole


@given(st.text(alphabet='\\":naif-, }', max_size=16), st.integers(1, 5))
def test_no_numbers_alike_whatever_the_chunks(text: str, size: int) -> None:
    raw = ('{"a": ' + text).encode()
    whole = b"".join(mended([raw], lambda _: None))
    assert b"".join(mended([raw[i : i + size] for i in range(0, len(raw), size)], lambda _: None)) == whole


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "-nan(ind)", "NaN", "-Infinity"])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_rate_over_no_time_is_absent(value: str, size: int) -> None:
    # As Kineto wrote the bandwidth of copies of zero length, and Python's json writes any nan.
    args = f'"name": "a: {value}, \\": {value}, b", "GB/s" : {value}\n, "rate":{value}'
    raw = f'{{"args": {{{args}}}, "dur": 0}}'.encode()
    told: list[str] = []
    found = json.loads(b"".join(mended((raw[i : i + size] for i in range(0, len(raw), size)), told.append)))
    assert found == {"args": {"name": f'a: {value}, ": {value}, b', "GB/s": None, "rate": None}, "dur": 0}
    assert told == ["numbers that JSON does not allow (nan, inf) are taken as absent"]


def test_a_name_with_backslash_and_newline_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"names": ["C:\\dir\nnew", "\\u0041\\\\"]}')
    told: list[str] = []
    with pytest.raises(FormatError, match="tolerant=true"):
        list(stream(tmp_path / "a.json", "names.item"))
    names = [value for _, value in stream(tmp_path / "a.json", "names.item", mend=told.append)]
    assert names == ["C:\\dir new", "A\\"]
    assert told == ["characters that JSON does not allow were replaced"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_complete_before_the_cut_is_read(tmp_path: Path, pack) -> None:
    whole = pack(json.dumps({"names": [f"task {i * 7919 % 1000}" for i in range(30_000)]}).encode())
    (tmp_path / "cut.json").write_bytes(whole[: len(whole) * 2 // 3])
    told: list[str] = []
    with pytest.raises(FormatError, match="cut off"):
        list(stream(tmp_path / "cut.json", "names.item"))
    names = [value for _, value in stream(tmp_path / "cut.json", "names.item", mend=told.append)]
    assert 5_000 < len(names) < 30_000
    assert names == [f"task {i * 7919 % 1000}" for i in range(len(names))]
    assert any("cut off" in sentence for sentence in told)


@pytest.mark.parametrize("end", [",\n]", ", nan]", "]]"])
def test_what_is_complete_before_damage_is_read_under_whichever_prefix(tmp_path: Path, end: str) -> None:
    (tmp_path / "a.json").write_text('["a", "b"' + end)
    told: list[str] = []
    found = list(stream(tmp_path / "a.json", "names.item", "item", mend=told.append))
    assert found == [("item", "a"), ("item", "b")]
    assert "what is complete before that was read" in told[0]
