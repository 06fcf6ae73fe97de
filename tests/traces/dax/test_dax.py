"""Workflows of Pegasus: versions 2 and 3, by hand; files as data objects; files that are refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph

SEEDS = Path(__file__).parents[1] / "seeds" / "dax"


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    return list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))


def test_version_2() -> None:
    graph = ss.load(SEEDS / "v2" / "main.dax")
    assert (graph.name, graph.durations_s.tolist()) == ("montage", [13.39, 13.83, 10.59, 0.65])
    assert edges(graph) == [(0, 2), (1, 2), (2, 3)]
    assert graph.kinds.to_list() == ["mProjectPP", "mProjectPP", "mDiffFit", "mConcatFit"]
    assert graph.task_name(2) == "ID00002"
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [304, 4222080, 4222080, 270, 2900]
    assert graph.data.producer.tolist() == [-1, 0, 1, 2, 3]


def test_version_3() -> None:
    graph = ss.load(SEEDS / "v3" / "main.dax")
    assert edges(graph) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert graph.durations_s[0] == 60
    assert math.isnan(graph.durations_s[1])
    assert graph.widths.tolist() == [4, 1, 1, 1]
    assert graph.kinds.to_list() == ["preprocess", "findrange", "findrange", "sub.dax"]
    assert graph.data is not None
    np.testing.assert_array_equal(graph.data.size_B, [1024, 10, 20, math.nan, math.nan])
    assert "3 of 4 jobs have no runtime" in graph.report.notes[0]


def dax(inside: str, root: str = "adag") -> bytes:
    return f"<?xml version='1.0'?>\n<{root} version='3.3' name='n'>\n{inside}\n</{root}>".encode()


A, B = '<job id="A" name="a" runtime="1">{}</job>', '<job id="B" name="b" runtime="2">{}</job>'


def test_children_may_come_before_their_jobs() -> None:
    graph = ss.load(dax('<child ref="B"><parent ref="A"/></child>' + A + B))
    assert edges(graph) == [(0, 1)]


def test_without_parents_files_join_jobs() -> None:
    write, read = '<uses file="x" link="output" size="7"/>', '<uses file="x" link="inout"/>'
    graph = ss.load(dax(A.format(write) + B.format(read)))
    assert edges(graph) == [(0, 1)]
    assert "edges are from the job that writes a file to its readers" in "\n".join(graph.report.notes)
    assert "the first is its writer" in "\n".join(graph.report.notes)
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [7]


def test_a_job_may_read_what_it_writes() -> None:
    graph = ss.load(dax(A.format('<uses file="x" link="inout"/>')))
    assert graph.n_edges == 0


def test_no_runtime_and_zero() -> None:
    graph = ss.load(dax('<job id="A" name="a" runtime="0"/>'))
    assert graph.durations_s.tolist() == [0.0]


ENTITY = b"<!DOCTYPE adag [<!ENTITY a 'aaaa'>]>\n<adag name='&a;'/>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (dax(""), "no job in it"),
        (dax(A, root="dag"), "the element 'dag'; expected adag"),
        (dax(A + A), "line 3: a second job with the id 'A'"),
        (dax("<job name='x'/>"), "line 3: job without id"),
        (dax(A.format("<uses link='input'/>")), "uses without file or name"),
        (dax("<job id='A' name='a' runtime='-1'/>"), "line 3: runtime is '-1'; expected a number from 0"),
        (dax("<job id='A' name='a' runtime='nan'/>"), "runtime is 'nan'"),
        (dax(A.format("<uses file='x' link='input' size='1e99'/>")), "size is '1e99'"),
        (
            dax(A + '<child ref="A"><parent ref="Z"/></child>'),
            "line 3: a parent or child is job 'Z', which is not",
        ),
        (dax(A + '<parent ref="A"/>'), "a parent stands in no child"),
        (ENTITY, "line 1: a DOCTYPE is refused"),
        (dax(A)[:-9], "not well-formed XML .*was it copied completely"),
        (dax("<x>" * 40), "nested more than 30 deep"),
        (dax("<job id='" + "x" * 3_000_000), "a tag or text of more than 1048576 bytes"),
        (dax(A).replace(b"a", b"\0a"), "NUL bytes"),
    ],
)
def test_refused(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ss.load(content, format="dax")


def test_a_cycle() -> None:
    both = '<child ref="A"><parent ref="B"/></child><child ref="B"><parent ref="A"/></child>'
    with pytest.raises(GraphError, match="cycle"):
        ss.load(dax(A + B + both))
