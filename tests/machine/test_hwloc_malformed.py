"""Malformed hwloc files: each is refused by name, line, value and advice, and nothing else ever comes out."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from simsched.errors import MachineError
from simsched.hwmodels.hwloc import read_topology

SAMPLES = Path(__file__).parent / "samples"
TEXT = (SAMPLES / "sockets-1.2.xml").read_text()
NEW = (SAMPLES / "mixed-3.0.xml").read_text()
SHARED = Path(__file__).parents[2] / "../shared/samples/hwloc"

OLD_MISTAKES = [
    ("<topology>", '<topology version="4.0">', r"line 3, <topology>: version='4\.0' is not known"),
    ("<topology>", '<topology version="2">', "version='2' is not known"),
    ("topology>", "topologydiff>", "the difference of two topologies"),
    ("topology>", "html>", "not an hwloc file"),
    ('type="Machine"', "", "an object without a type"),
    ('type="PU" os_index="0"', 'type="PU"', "os_index is missing: expected a whole number from 0 to 131071"),
    ('type="PU" os_index="0"', 'type="PU" os_index="-1"', "line 2[0-9], <object type=\"PU\">: os_index='-1'"),
    ('type="PU" os_index="0"', 'type="PU" os_index="9999999"', "os_index='9999999'"),
    ('type="PU" os_index="0"', 'type="PU" os_index="1"', "two hardware threads have the number 1"),
    ('"NUMANode" os_index="0"', '"NUMANode" os_index="1"', "two memories have the number 1"),
    ('"NUMANode" os_index="0" cpuset="0x0000000f"', '"NUMANode" os_index="0"', "cpuset is missing"),
    ('allowed_cpuset="0x0000003f"', 'allowed_cpuset="all"', "allowed_cpuset='all': 'all' is not a word of a set"),
    ('allowed_cpuset="0x0000003f"', 'allowed_cpuset="0x0"', "allows none of its hardware threads"),
    ('local_memory="1073741824"', 'local_memory="1 GB"', "local_memory='1 GB': expected a whole number"),
    ('cache_size="8388608"', 'cache_size="1e9"', "cache_size='1e9'"),
    ('depth="3"', 'depth="9"', "depth='9': expected a whole number from 0 to 5"),
    ('latency_base="10.000000"', 'latency_base="nan"', "latency_base='nan': expected a number of 0 or more"),
    ('<latency value="2.000000"/>', "", "3 latencies are not a matrix of 2 memories"),
    ('nbobjs="2"', "", r"<distances>: nbobjs is missing"),
    ('type="Core"', 'type="Group"', "a hardware thread outside of any core"),
    ("</object>", "", r"line \d+, column \d+: not well-formed XML \(mismatched tag\); was it copied completely"),
]  # fmt: skip

NEW_MISTAKES = [
    (">0 1 <", ">0 0 <", r"2 indexes \(1 of them different\) and 4 values are not a matrix"),
    (">10 13 <", ">10 <", "2 indexes .* and 3 values are not a matrix"),
    (">10 13 <", ">10 x <", "'x': expected whole numbers from 0 to"),
    ('cpukind cpuset="0x000000f0"', "cpukind", "<cpukind>: cpuset is missing"),
    ('kind="5"', 'kind="five"', "kind='five'"),
]


@pytest.mark.parametrize(
    ("text", "before", "after", "told"),
    [(TEXT, *mistake) for mistake in OLD_MISTAKES] + [(NEW, *mistake) for mistake in NEW_MISTAKES],
)
def test_mistakes(tmp_path, text, before, after, told):
    assert before in text
    path = tmp_path / "broken.xml"
    count = -1 if before in {"topology>", 'type="Machine"'} else 1
    path.write_text(text.replace(before, after, count))
    with pytest.raises(MachineError, match=told) as caught:
        read_topology(path)
    assert str(path) in str(caught.value)
    assert "write it again: lstopo FILE.xml" in str(caught.value)


BOMB = '<!DOCTYPE topology [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n<topology>&b;</topology>'

HOSTILE = [
    (BOMB, "'&a;' is not a character; entities are refused"),
    (BOMB.replace("&b;</", "</"), "entities are refused"),
    ('<!DOCTYPE topology [<!ENTITY a "aaaaaaaa">]>\n<topology/>', "declares entities or types of its own"),
    ('<!DOCTYPE topology [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<topology/>', "declares entities or types"),
    ('<!DOCTYPE topology [<!ENTITY % a SYSTEM "http://localhost:1/x"> %a;]>\n<topology/>', "declares entities"),
    ('<!DOCTYPE topology SYSTEM "hwloc.dtd" [<!ATTLIST object type CDATA "PU">]>\n<topology/>', "declares entities or"),
    ('<topology><object type="Machine" cpuset="0x&x;f"/></topology>', "line 1: '&x;' is not a character"),
    ("<topology>" + "<object>" * 200, "nested more than 100 deep"),
    ("<topology>" + '<object type="Machine">' * 90 + "<a/>" * 200_001, "more than 200000 elements"),
    ("", "the file is empty"),
    (" \n ", "the file is empty"),
    ("<!-- nothing -->", "not well-formed XML"),
    ("PK\x03\x04", "not well-formed XML"),
    ("<topology/>", "0 objects at the top"),
    ("<topology><object type='Machine'/><object type='Machine'/></topology>", "2 objects at the top"),
    ("<topology><object type='Machine'/></topology>", r"neither cores nor hardware threads \(PU\)"),
    ("<topology><object type='Machine'><object type='Core'/></object></topology>", "a core without hardware threads"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), HOSTILE)
def test_hostile_files_are_refused(tmp_path, text, told):
    path = tmp_path / "hostile.xml"
    path.write_text(text)
    with pytest.raises(MachineError, match=told):
        read_topology(path)


def test_the_doctype_of_hwloc_is_read_past(tmp_path):
    """Its DTD lies beside the file and would break everything, were it read."""
    (tmp_path / "hwloc.dtd").write_text("this is no DTD")
    path = tmp_path / "machine.xml"
    path.write_text(TEXT)
    assert len(read_topology(path).cores) == 4


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(MachineError, match="no such file"):
        read_topology(tmp_path / "missing.xml")
    with pytest.raises(MachineError, match="this is a folder"):
        read_topology(tmp_path)
    cut = tmp_path / "cut.xml.gz"
    cut.write_bytes(gzip.compress(TEXT.encode())[:-20])
    with pytest.raises(MachineError, match="cut off"):
        read_topology(cut)
    utf16 = tmp_path / "utf16.xml"
    utf16.write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(MachineError, match="NUL bytes in it; expected XML in UTF-8"):
        read_topology(utf16)


def test_files_that_grow_without_measure(tmp_path):
    large = b"<topology>" + b" " * (65 << 20)
    packed = tmp_path / "large.xml.gz"
    packed.write_bytes(gzip.compress(large))
    with pytest.raises(MachineError, match="larger than 64 MiB"):
        read_topology(packed)
    plain = tmp_path / "large.xml"
    plain.write_bytes(large)
    with pytest.raises(MachineError, match="larger than 64 MiB"):
        read_topology(plain)


def test_too_many_memories(tmp_path):
    path = tmp_path / "memories.xml"
    nodes = "".join(f'<object type="NUMANode" os_index="{n}" cpuset="0x1"/>' for n in range(1025))
    path.write_text(
        f'<topology><object type="Machine"><object type="PU" os_index="0"/>{nodes}</object></topology>'
    )
    with pytest.raises(MachineError, match=r"1025 memories \(NUMANode\); the most is 1024"):
        read_topology(path)


def _samples():
    yield from (path.read_bytes() for path in sorted(SAMPLES.glob("*.xml")))


BYTES = list(_samples())
PIECES = [b"<", b">", b"/>", b'"', b"&amp;", b"<!ENTITY a 'b'>", b"-1", b"0xf...f", b",,", b"99999999999999999999", b"",
          b'type="Core"', b'type="NUMANode"', b"\xff", b"</object>", b'<object type="PU" os_index="3"/>']  # fmt: skip


@st.composite
def mutated(draw):
    """Return a sample with a few runs of bytes replaced, repeated or taken from elsewhere."""
    data = draw(st.sampled_from(BYTES))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        length = draw(st.sampled_from([0, 1, 1, 2, 8, 100, 1000]))
        piece = draw(
            st.one_of(st.sampled_from(PIECES), st.binary(max_size=3), st.just(data[at : at + length] * 2))
        )
        data = data[:at] + piece + data[at + length :]
    return data


def _read_or_refused(path):
    """Tell whether a file gives cores, or an error that names it."""
    try:
        return bool(read_topology(path).cores)
    except MachineError as error:
        return str(path) in str(error)


@settings(max_examples=100)
@given(data=mutated())
def test_only_machine_errors_come_out(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "mutated.xml"
    path.write_bytes(data)
    assert _read_or_refused(path)


@settings(max_examples=20)
@given(
    numbers=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5),
    name=st.integers(0, 6),
)
def test_real_files_with_changed_bytes(tmp_path_factory, numbers, name):
    if not SHARED.is_dir():
        pytest.skip("the folder of real hwloc files is not there")
    data = bytearray(sorted(SHARED.glob("*.xml"))[name].read_bytes())
    for share, byte in numbers:
        data[int(share * (len(data) - 1))] = byte
    path = tmp_path_factory.getbasetemp() / "changed.xml"
    path.write_bytes(data)
    assert _read_or_refused(path)
