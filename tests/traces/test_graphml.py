"""GraphML files by hand, what is refused, and the view of networkx."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.graphml.format import GRAPHML

BY_HAND = """<?xml version="1.0" encoding="UTF-8"?>
<!-- by hand -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="t" for="node" attr.name="cost" attr.type="float"><default>4</default></key>
  <key id="k" for="node" attr.name="kind" attr.type="string"/>
  <key id="c" for="edge" attr.name="color" attr.type="string"/>
  <graph id="G" edgedefault="directed">
    <node id="in"><data key="t">1.5</data><data key="k">a &lt; b</data></node>
    <node id="mid"/>
    <node id="out"><data key="t">2e3</data></node>
    <edge id="e1" source="in" target="mid"><data key="c">red</data></edge>
    <edge source="mid" target="out" directed="true"/>
    <edge source="mid" target="out"/>
  </graph>
</graphml>
"""


def read(tmp_path: Path, text: str | bytes, **options: str) -> TaskGraph:
    """Return the graph of a file with this text."""
    path = tmp_path / "hand.graphml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return GRAPHML.read(path, **options)


def test_by_hand(tmp_path: Path) -> None:
    graph = read(tmp_path, BY_HAND, duration="cost", unit="ms")
    assert graph.durations_s.tolist() == [0.0015, 0.004, 2.0]
    assert graph.kinds.to_list() == ["a < b", "", ""]
    assert graph.names is not None
    assert graph.names.to_list() == ["in", "mid", "out"]
    assert graph.n_edges == 2
    assert graph.report.notes == ["1 duplicate edge was merged"]


def test_a_doctype_that_only_names_a_file_is_read_past(tmp_path: Path) -> None:
    doctype = '<!DOCTYPE graphml SYSTEM "http://graphml.graphdrawing.org/dtds/graphml.dtd">'
    assert read(tmp_path, BY_HAND.replace("<!-- by hand -->", doctype)).n_tasks == 3


def test_widths_and_shapes_of_a_drawing_mean_nothing(tmp_path: Path) -> None:
    text = BY_HAND.replace('"kind"', '"shape"').replace('"cost"', '"width"')
    graph = read(tmp_path, text)
    assert (graph.widths.tolist(), graph.shapes.labels) == ([1, 1, 1], ("",))
    assert "other attributes are width, shape" in graph.report.notes[0]


@pytest.mark.parametrize("of", ['for="node"', 'for="all"', ""])
def test_defaults(tmp_path: Path, of: str) -> None:
    """A key without `for` is one for all elements."""
    key = f'<key id="n" {of} attr.name="threads" attr.type="int"><default>4</default></key>'
    edges = '<key id="e" for="edge" attr.name="kind" attr.type="string"><default>of edges</default></key>'
    graph = read(tmp_path, BY_HAND.replace("<key", f"{key}{edges}<key", 1))
    assert graph.widths.tolist() == [4, 4, 4]
    assert graph.kinds.to_list() == ["a < b", "", ""]


def test_whole_numbers_as_igraph_writes_them(tmp_path: Path) -> None:
    key = '<key id="n" for="node" attr.name="threads" attr.type="double"/>'
    text = BY_HAND.replace("<key", f"{key}<key", 1).replace("</node>", '<data key="n">4</data></node>')
    assert read(tmp_path, text).widths.tolist() == [4, 1, 4]
    with pytest.raises(FormatError, match=r"node 'in' has threads 2.5; expected a whole number"):
        read(tmp_path, text.replace(">4<", ">2.5<"))


def test_data_of_the_graph_that_networkx_uses_itself(tmp_path: Path) -> None:
    key = '<key id="n" for="graph" attr.name="node_default" attr.type="string"/>'
    text = BY_HAND.replace("<key", f"{key}<key", 1).replace("<node", '<data key="n">x</data><node', 1)
    assert read(tmp_path, text).n_tasks == 3


def test_an_ampersand_in_a_comment_is_no_entity(tmp_path: Path) -> None:
    assert read(tmp_path, BY_HAND.replace("by hand", "by R&D; see ?a=1&b=2")).n_tasks == 3


def test_keys_without_a_type_are_text(tmp_path: Path) -> None:
    assert read(tmp_path, BY_HAND.replace(' attr.type="string"', "", 1)).kinds[0] == "a < b"


def test_gzipped_and_recognised(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml.gz"
    path.write_bytes(gzip.compress(BY_HAND.encode()))
    assert GRAPHML.read(path).n_tasks == 3
    doctype = '<!DOCTYPE graphml [<!ENTITY a "<b>">]>'
    told = BY_HAND.replace("by hand", "by somebody <somebody@example.org>")
    for text in (
        BY_HAND,
        "\ufeff" + BY_HAND,
        "<graphml>",
        '<g:graphml xmlns:g="x">',
        told,
        f"{doctype}<graphml>",
    ):
        assert GRAPHML.recognises(text.encode())
    others = "", "<topology>", "<gxl><graphml/>", "graphml", "{}", "<graphmlx>", "<!--<graphml>"
    for text in (*others, "<!" * 30_000, "<!A[" * 15_000, "<!--" * 15_000):
        assert not GRAPHML.recognises(text.encode())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<!-- by hand -->", '<!DOCTYPE g [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>', "line 2: a DOCTYPE that declares"),
        ("<!-- by hand -->", '<!DOCTYPE g [<!ENTITY a "aa">]>', "line 2: a DOCTYPE that declares entities"),
        ("<!-- by hand -->", '<!DOCTYPE g [<!ENTITY a SYSTEM "file:///etc/passwd">]>', "line 2: a DOCTYPE"),
        ("a &lt; b", "a &x; b", "line 8: '&x;' is not a character; entities are refused"),
        ('"in" target', '"in&x;" target', "line 11: '&x;' is not a character; entities are refused"),
        ('edgedefault="directed"', 'edgedefault="undirected"', "line 7: edgedefault is 'undirected'; expected"),
        (' edgedefault="directed"', "", "line 7: edgedefault is None"),
        ('directed="true"', 'directed="false"', "line 12: an undirected edge does not say what comes first"),
        ('<node id="mid"/>', '<node id="mid"><graph edgedefault="directed"/></node>', "line 9: a second graph; nested"),
        ('<node id="mid"/>', '<node id="mid"/><hyperedge/>', "line 9: hyperedge: an edge of several tasks"),
        ('<node id="mid"/>', '<node id="mid"/><node id="mid"/>', "line 9: node 'mid': every node has an id of its own"),
        ('<node id="mid"/>', "<node/>", "line 9: node None"),
        ('source="in" target="mid"', 'source="in" target="mad"', "line 11: an edge names node 'mad', which is not"),
        ('source="in" target="mid"', 'source="in"', "line 11: an edge without target"),
        ("1.5", "1.5.5", "line 8: cost is '1.5.5'; expected float, the type of its key"),
        ("1.5", "-1.5", "node 'in' has cost -1.5; expected a finite number of zero or more"),
        ('<data key="t">1.5', '<data key="u">1.5', "line 8: data of key 'u', which is not declared before"),
        ("</graphml>", "", "not well-formed XML (no element found); was it copied completely?"),
        ('<node id="mid"/>', "<a>" * 40 + "</a>" * 40, "elements nested more than 30 deep"),
        ("by hand", "by\0hand", "NUL bytes"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BY_HAND
    with pytest.raises(FormatError, match=re.escape(message)):
        read(tmp_path, BY_HAND.replace(old, new, 1), duration="cost")


def test_ports_are_passed_over_as_in_dot(tmp_path: Path) -> None:
    text = BY_HAND.replace('<node id="mid"/>', '<node id="mid"><port name="p"/></node>')
    assert read(tmp_path, text.replace('target="mid"', 'target="mid" targetport="p"')).n_edges == 2


def test_labels_are_names_where_there_are_none(tmp_path: Path) -> None:
    label = BY_HAND.replace('"kind"', '"label"')
    graph = read(tmp_path, label, duration="cost")
    assert graph.names is not None
    assert graph.names.to_list() == ["a < b", "mid", "out"]
    named = label.replace('<node id="mid"/>', '<node id="mid"><data key="n">B</data></node>')
    named = named.replace("<key", '<key id="n" for="node" attr.name="name" attr.type="string"/><key', 1)
    graph = read(tmp_path, named, duration="cost")
    assert graph.names is not None
    assert graph.names.to_list() == ["in", "B", "out"]


def test_the_label_of_yed(tmp_path: Path) -> None:
    """YEd keeps what is written on a node in an element of its own."""
    label = '<y:ShapeNode xmlns:y="http://www.yworks.com/xml/graphml"><y:NodeLabel>load</y:NodeLabel></y:ShapeNode>'
    text = BY_HAND.replace("a &lt; b", label).replace(
        'attr.name="kind" attr.type="string"', 'yfiles.type="nodegraphics"'
    )
    graph = read(tmp_path, text, duration="cost")
    assert graph.names is not None
    assert graph.names.to_list() == ["load", "mid", "out"]


def test_no_graph_and_other_encodings(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no element graph in it"):
        read(tmp_path, "<graphml/>")
    with pytest.raises(FormatError, match="NUL bytes"):
        read(tmp_path, BY_HAND.replace("UTF-8", "UTF-16").encode("utf-16"))
    latin = BY_HAND.replace("UTF-8", "ISO-8859-1").replace("a &lt; b", "é").encode("latin-1")
    with pytest.raises(
        FormatError, match=r"line 8, .* it says that it is in ISO-8859-1, expected UTF-8: xmllint"
    ):
        read(tmp_path, latin)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(data=st.data())
def test_damage(data: st.DataObject, tmp_path: Path) -> None:
    damaged = bytearray(BY_HAND.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        end = place + data.draw(st.sampled_from([0, 1, 1, 30]))
        damaged[place:end] = data.draw(
            st.sampled_from(
                [b"", b"\xff", b"\0", b'"', b"<", b">", b"/>", b"=", b"&", b"node", b"directed", b"9"]
            )
        )
    try:
        graph = read(tmp_path, bytes(damaged))
    except (FormatError, GraphError):
        return
    assert graph.report.facts["tasks"] == graph.n_tasks
