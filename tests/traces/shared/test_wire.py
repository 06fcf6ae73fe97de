"""Messages of a protobuf file among other fields, read field by field."""

import io
from pathlib import Path
from random import Random

import pytest

import simsched as ss
from simsched.traces.shared import wire

PATH = Path("a.pb")
#: Numbers of one byte and of more, a field number above 15, texts, fixed numbers.
PARTS = [
    b"\x20\x20", b"\x08\x00", b"\x78\x7f", b"\x08\x80\x01", b"\x80\x01\x05",
    b"\x12\x00", b"\x12\x02\x20\x20", b"\x0a\x03abc", b"\x0d1234", b"\x0912345678",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_messages_are_the_fields_of_their_number(seed, monkeypatch):
    """Also where a piece of the file ends within a run of numbers, and where a message ends before the file does."""
    draw = Random(seed)  # noqa: S311 - no secret
    monkeypatch.setattr(wire, "PIECE_B", draw.randint(1, 50))
    data = b"".join(draw.choices(PARTS, k=draw.randint(0, 60)))
    for content, begin, end in ((data, 0, None), (b"\x1a\x00" + data + b"\x20\x20", 2, 2 + len(data))):
        found = []
        for walk in ("fields", "messages"):
            reader = wire.Wire(PATH, io.BytesIO(content))
            reader._skip(begin)
            each = reader.fields(end) if walk == "fields" else reader.messages(2, end)
            found.append([(one.begin, one.end) for one in each if (one.number, one.kind) == (2, wire.BYTES)])
            assert reader.at == (len(content) if end is None else end)
        assert found[0] == found[1]


def test_millions_of_numbers_are_passed_over_at_once(monkeypatch):
    monkeypatch.setattr(wire, "header", lambda data: pytest.fail("a field was looked at by itself"))
    assert list(wire.Wire(PATH, io.BytesIO(b"\x20\x20" * 1_000_000)).messages(1)) == []


@pytest.mark.parametrize("end", [None, 6 + 503 + 2])
def test_pieces_pass_over_long_fields(monkeypatch, end):
    """Of one number, wherever they stand; others are read, however long."""
    monkeypatch.setattr(wire, "PIECE_B", 100)
    long = wire.spelled(3, b"x" * 500)
    data = b"\x20\x20" * 3 + long + b"\x08\x00"
    found = wire.Wire(PATH, io.BytesIO(data)).pieces(end, over=3)
    assert list(found) == [(0, b"\x20\x20" * 3), (len(data) - 2, b"\x08\x00")]
    assert b"".join(piece for _, piece in wire.Wire(PATH, io.BytesIO(data)).pieces(end, over=4)) == data
    with pytest.raises(ss.SimschedError, match="byte 6: a field reaches beyond the message"):
        list(wire.Wire(PATH, io.BytesIO(data)).pieces(400, over=3))
    with pytest.raises(ss.SimschedError, match="cut off in the field at byte 6"):
        list(wire.Wire(PATH, io.BytesIO(data[:400])).pieces(over=3))


def test_numbers_count_as_fields(monkeypatch):
    monkeypatch.setattr(wire, "MAX_FIELDS", 10)
    assert len(list(wire.Wire(PATH, io.BytesIO(b"\x20\x20" * 9 + b"\x12\x00")).messages(2))) == 1
    with pytest.raises(ss.SimschedError, match="more than 10 fields"):
        list(wire.Wire(PATH, io.BytesIO(b"\x20\x20" * 10 + b"\x12\x00")).messages(2))
