"""The page of the literature's policies: all are on it, and its table is what the policies do."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from simsched.native import find
from simsched.policy.installed import policies_or_all

DOCS = Path(__file__).parents[2] / "docs"
OUT_OF_DATE = "out of date: python docs/literature/make.py"


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_literature", DOCS / "literature" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rows(make):
    text = make.PAGE.read_text("utf-8").partition(make.BEGIN)[2].partition(make.END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]


def test_all_policies_are_in_the_table(make, rows):
    names = [f"`{one}`" for one in policies_or_all([*make.OURS, "classics"])]
    assert [row[0] for row in rows] == ["policy", "---", *names, "shortest, s"], OUT_OF_DATE


def test_the_text_names_them(make):
    text = make.PAGE.read_text("utf-8").partition(make.BEGIN)[0]
    assert [one.name for one in policies_or_all("classics") if f"`{one.name}`" not in text] == ["random"]


@pytest.mark.skipif(find() is None, reason="installed without the compiled module: minutes")
@pytest.mark.parametrize("heading", ["cnn, 10 GB/s", "layers, CCR 1"])
def test_columns_are_those_of_today(make, rows, heading):
    graph, *where = next(case[1:] for case in make.cases() if case[0] == heading)
    found, at = make.makespans(graph, *where), rows[0].index(heading)
    shown = {row[0].strip("`"): row[at].strip("*") for row in rows[2:-1]}
    assert {name: f"{makespan / min(found.values()):.2f}" for name, makespan in found.items()} == {
        name: ratio for name, ratio in shown.items() if ratio != "–"
    }, OUT_OF_DATE


def test_the_cholesky_graph(make):
    """4 tiles: 4 + 6 + 6 + 4 tasks; the longest path leads over the updates of (3, 1) and (3, 2).

    In ms: potrf 4, trsm 8, gemm 16, trsm 8, gemm 16, trsm 8, syrk 8, potrf 4.
    """
    graph = make.cholesky(4, (1, 0))
    assert graph.n_tasks == 4 + 6 + 6 + 4
    assert graph.levels(graph.durations_s).max() == pytest.approx(72e-3)
