"""Damaged OTF2 archives: an error that names file and place, or what is complete of them."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import pytest
from tarballs import unpack

import simsched as ss
from simsched.errors import FormatError, SimschedError
from simsched.testing.mutations import mutated
from simsched.testing.reading import check_graph

from .archives import packed as archive_of
from .conftest import CHUNK_B, Bytes

SEEDS = Path(__file__).parents[1] / "seeds/otf2"


def test_events_that_are_cut_off(by_hand: Bytes) -> None:
    anchor = by_hand.write()
    place = anchor.parent / "run/3.evt"
    # Two further events, of which the last one is cut off.
    whole = by_hand.chunk(b"".join([*by_hand.events[3], by_hand.at(2000), by_hand.enter(0)]))
    place.write_bytes(whole[:-1])
    with pytest.raises(
        FormatError, match=r"run\.otf2: run/3\.evt: byte 49: a record that is cut off; is the"
    ):
        ss.load(anchor)
    graph = ss.load(anchor, tolerant=True)
    assert graph.n_tasks == 1
    assert "run/3.evt: what comes before its damaged or missing end was read" in graph.report.notes
    place.write_bytes(whole)
    with pytest.raises(FormatError, match=r"run/3\.evt: byte 51: no end of the chunk"):
        ss.load(anchor)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda made: made.anchor.replace(b"OTF2", b"OTF1"), "not the anchor file of an OTF2 archive"),
        (lambda made: made.anchor[:20], r"run\.otf2: byte 20: a record of 0 bytes"),
        (lambda made: made._anchor(substrate=2), "SIONlib or zlib.*SCOREP_TRACING_USE_SION=false"),
        (
            lambda made: made._anchor(chunk_B=2**40),
            "chunks of 1099511627776 bytes; expected 262144 to 16777216",
        ),
    ],
)
def test_anchors(by_hand: Bytes, damage: object, said: str) -> None:
    by_hand.anchor = damage(by_hand)
    with pytest.raises(FormatError, match=said):
        ss.load(by_hand.write(), format="otf2")


def test_definitions(by_hand: Bytes) -> None:
    fine = list(by_hand.definitions)
    for more, said in (
        (
            by_hand.record(18, by_hand.whole(0) + by_hand.whole(0) + b"\4" + by_hand.whole(2**31)),
            "a group of 2147483648",
        ),
        (by_hand.record(10, by_hand.whole(7) + b"endless"), r"run\.def: byte 79: a text without an end"),
        (by_hand.record(5, by_hand.whole(0) + by_hand.whole(1)), "0 ticks per second; expected 1 to"),
        (by_hand.record(15, bytes([9]) + bytes(9)), "a number of 9 bytes; expected at most 8"),
        (bytes([10, 250]), "a record of 250 bytes, which is cut off"),
    ):
        by_hand.definitions = [*fine, more]
        with pytest.raises(FormatError, match=said):
            ss.load(by_hand.write())
    (by_hand.folder / "run.def").write_bytes(by_hand.chunk(b"".join(fine)))
    with pytest.raises(FormatError, match=r"run\.def: cut off: its end is missing"):
        ss.load(by_hand.folder)


def test_files_that_are_missing(by_hand: Bytes) -> None:
    anchor = by_hand.write()
    (anchor.parent / "run/3.evt").unlink()
    with pytest.raises(
        FormatError, match=r"no region in it took time \(1 locations, 0 events of other kinds\)"
    ):
        ss.load(anchor)
    with pytest.raises(FormatError, match=r"\.def is missing; .*give the folder of all, or a tar of it"):
        ss.load(anchor.read_bytes())


@pytest.mark.parametrize("what", ["marks", "definitions", "events", "members"])
def test_what_grows_counts_against_the_budget(by_hand: Bytes, what: str) -> None:
    """A million records that repeat are a few kilobytes when compressed."""
    many = 2**20
    if what == "marks":
        by_hand.events[3][2:2] = [by_hand.record(54, b"\3") * many]
    elif what == "events":
        by_hand.events[3][2:2] = [(by_hand.enter(0) + by_hand.leave(0)) * many]
    elif what == "definitions":
        by_hand.definitions += [by_hand.record(10, by_hand.whole(1) + b"a\0") * many]
    else:
        fields = bytes([0, 0, 4]) + by_hand.whole(many) + bytes(many)
        by_hand.definitions.append(by_hand.record(18, fields))
    by_hand.anchor = by_hand._anchor(chunk_B=2**24, definitions_B=2**24)
    anchor = by_hand.write()
    packed = anchor.with_name("bomb.tar.gz")
    packed.write_bytes(gzip.compress(archive_of(anchor.parent)))
    with pytest.raises(FormatError, match=r"bomb\.tar\.gz: more than \d+ tasks"):
        ss.load(packed)


def test_several_archives_in_a_folder(by_hand: Bytes) -> None:
    anchor = by_hand.write()
    anchor.with_name("other.otf2").write_bytes(anchor.read_bytes())
    with pytest.raises(
        FormatError, match=r"2 archives of otf2 \(other\.otf2, run\.otf2\); give the path of one"
    ):
        ss.load(anchor.parent)


def test_impossible_events(by_hand: Bytes) -> None:
    fine = list(by_hand.events[3])
    for more, said in (
        ([by_hand.at(2**63)], "a time of more than 62 bits"),
        ([bytes([12, 5]) + bytes(5)], "a region's number of more than four bytes"),
        ([b"\4"], r"byte 40: a record of type 4"),
        ([bytes([14, 2, 9, 9])], "a record of 1 bytes|a number of 9 bytes"),
    ):
        by_hand.events[3] = [*fine, *more, by_hand.enter(0), by_hand.at(2**61)]
        with pytest.raises(FormatError, match=said):
            ss.load(by_hand.write())
    by_hand.events[3] = [*fine, by_hand.at(50), by_hand.enter(0), by_hand.at(1200), by_hand.leave(0)]
    graph = ss.load(by_hand.write())
    assert graph.report.facts["events set back to the time before"] == 1
    assert graph.n_tasks == 2


def test_unknown_numbers_have_names(by_hand: Bytes) -> None:
    by_hand.events[3] = [by_hand.at(1), by_hand.enter(9), by_hand.at(5), by_hand.leave(9)]
    assert ss.load(by_hand.write()).kinds.to_list() == ["region 9"]


def test_tars(tmp_path: Path) -> None:
    data = (SEEDS / "tasks/main.tar").read_bytes()
    for damage, said in (
        (data[:520], "the tar is cut off"),
        (data[:512] + bytes(1024), "0 archives|is missing|not the anchor"),
        (data[:124] + b"9" * 11 + data[135:], "the tar is damaged: a file of b'99999999999"),
        (data.replace(b".otf2\0", b".none\0"), "0 archives of OTF2 in this tar; expected one"),
    ):
        path = tmp_path / "damaged.tar"
        path.write_bytes(damage)
        with pytest.raises(FormatError, match=said):
            ss.load(path, format="otf2")


def test_a_tar_writes_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (SEEDS / "tasks/main.tar").read_bytes()
    held = tmp_path / "a/b/c/held"
    held.mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(held))
    for name in (b"../../away.evt", b"/" + str(tmp_path).encode() + b"/away.evt", b"..\\away.evt"):
        path = held / "run.tar"
        path.write_bytes(name.ljust(100, b"\0") + data[100:])
        assert ss.load(path, format="otf2").n_tasks
    assert not [file for file in tmp_path.rglob("*away*") if file.is_file()]


@pytest.mark.parametrize("seed", ["messages", "tasks", "actions"])
def test_every_file_damaged(tmp_path: Path, seed: str) -> None:
    """Each file of an archive in turn, where `check_reader` damages the tar of all."""
    unpack(SEEDS / seed / "main.tar", tmp_path)
    files = sorted(file for file in tmp_path.rglob("*") if file.is_file())
    found = set()
    for number in range(300):
        random = Random(number)  # noqa: S311 - damage, no secret
        place = files[number % len(files)]
        fine = place.read_bytes()
        place.write_bytes(mutated(fine, random, [file.read_bytes() for file in files]))
        try:
            check_graph(ss.load(tmp_path / "traces.otf2", format="otf2", tolerant=random.random() < 0.5))
            found.add("graph")
        except SimschedError as error:
            found.add("refused" if str(error).startswith(f"{tmp_path}") else str(error))
        place.write_bytes(fine)
    assert found == {"graph", "refused"}


def test_a_chunk_is_no_larger_than_said(by_hand: Bytes) -> None:
    """Records do not cross the end of a chunk."""
    anchor = by_hand.write()
    filled = by_hand.chunk(b"".join(by_hand.events[3]))
    filled += by_hand.record(150, bytes(CHUNK_B - len(filled) - 10 - 4)) + by_hand.at(7)
    (anchor.parent / "run/3.evt").write_bytes(filled + bytes([2, 1]))
    with pytest.raises(FormatError, match=r"run/3\.evt: byte 262140: a record that is cut off"):
        ss.load(anchor)
