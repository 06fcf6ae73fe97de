"""The report's section on data: memory by place, and what passed over links."""

import simsched as ss

GRAPH = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[4e6, 4e6], name="fork")


def told(graph, machine):
    """Report on one policy, without further replays; what its tables say, and its Markdown."""
    found = ss.report(graph, machine, ["fifo"], layout="2x1", replays=0)
    return found, found.tables()


def test_memory_and_links():
    """0 hands 4 MB each to 1, on its core, and to 2, on the other one: 4 s over both links, of 6 s in all."""
    found, tables = told(GRAPH, "generic[cores=2,data=sent,link_Bps=1e6]")
    assert tables["Live data, the 2 fullest places"][0] == {
        "place": "core 0", "at most": "8 MB", "first at": "0 s", "size": "unknown",
    }  # fmt: skip
    links = {row["link"]: row for row in tables["The 2 busiest links"]}
    assert set(links) == {"out of core 0", "into core 1"}
    assert links["into core 1"] == {"link": "into core 1", "bytes": "4 MB", "busy": "66.7%", "load": "66.7%"}
    assert "Moves of objects: 1, of 4 MB in all" in found.markdown
    assert found.html.count("<figure") == 2 + told(ss.TaskGraph.from_edges([1.0] * 3), "generic[cores=2]")[
        0
    ].html.count("<figure")


def test_where_nothing_moves():
    found, tables = told(GRAPH, "generic[cores=2]")
    assert "data are near everywhere" in found.markdown
    assert any(caption.startswith("Live data") for caption in tables)


def test_graphs_without_data_have_no_such_section():
    found, _ = told(ss.TaskGraph.from_edges([1.0]), "generic[cores=2,data=sent]")
    assert "Where the data were" not in found.markdown
