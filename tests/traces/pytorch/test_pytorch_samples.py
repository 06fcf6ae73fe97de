"""The recordings in the package."""

from __future__ import annotations

import gzip
import re

import pytest

from simsched.errors import FormatError
from simsched.traces.pytorch.reader import PYTORCH
from simsched.traces.samples import SAMPLES, sample_files

#: Tasks and edges, as the samples' README tells them.
COUNTS = {"lstm4": (2544, 4596), "cnn": (164, 265)}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_recording_becomes_a_graph(name, read_as_recorded):
    graph = read_as_recorded(*sample_files(name))
    assert (graph.n_tasks, graph.n_edges) == COUNTS[name]


def test_a_sample_and_the_companion_of_another_one():
    with pytest.raises(FormatError, match="different runs"):
        PYTORCH.read(sample_files("cnn")[0], execution_trace=sample_files("lstm4")[1])


def test_the_lstm_depends_as_an_lstm_does(read_as_recorded):
    graph = read_as_recorded(*sample_files("lstm4"))
    scopes = graph.scopes.to_list()
    sources, targets = graph.successors.sources().tolist(), graph.successors.indices.tolist()
    between = {(scopes[a], scopes[b]) for a, b in zip(sources, targets, strict=True)}
    cells = {
        tuple(map(int, m.groups())) for s in scopes if (m := re.fullmatch(r"cell\[l=(\d+),t=(\d+)\]", s))
    }
    assert len(cells) == 4 * 16
    for layer, t in cells:
        for before in {(layer - 1, t), (layer, t - 1)} & cells:
            forward = tuple("cell[l={},t={}]".format(*cell) for cell in (before, (layer, t)))
            assert forward in between
            assert tuple(f"backward/{scope}" for scope in reversed(forward)) in between
    ahead = {(a, b) for a, b in between if a.startswith("cell") and b.startswith("cell")}
    assert all(_before(a, b) for a, b in ahead)


def _before(first: str, second: str) -> bool:
    (la, ta), (lb, tb) = (tuple(map(int, re.findall(r"\d+", scope))) for scope in (first, second))
    return la <= lb and ta <= tb


def test_samples_know_where_they_were_recorded():
    for name in SAMPLES:
        graph = PYTORCH.read(sample_files(name)[0])
        assert graph.recorded_on.name
        assert graph.recorded_on.core_flops > 1e9
        assert graph.recorded_on.core_bandwidth_Bps > 1e9
        assert graph.report.facts["traced_over_untraced"] > 1
    with pytest.raises(FormatError, match="lstm4, cnn"):
        sample_files("alexnet")


def test_samples_are_small_and_private():
    files = [file for name in SAMPLES for file in sample_files(name)]
    assert sum(file.stat().st_size for file in files) < 900_000
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        assert not re.search(r'"(host_name|traceName)": *"[^"]', text)
        assert not re.search(r'"[^"]*/(root|home|tmp|work|usr|mnt)\b', text)
