"""Any parameters make a graph, or an error of ours that names what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import SimschedError
from simsched.parameters import MOST
from simsched.plugins import named, registered
from simsched.workloads import family

#: Largest value drawn of a parameter; of all others 6.
LARGEST: Mapping[str, int] = {"image": 128, "hidden": 24, "inner": 24, "units": 24, "classes": 12}
#: What is rarely possible.
ODD = (0, -1, MOST + 1, 2.5, True, None, "many")


def values(field: Field[Any]) -> st.SearchStrategy[object]:
    """Return values of a parameter, one in ten of them odd."""
    odd = st.sampled_from(ODD)
    if "words" in field.metadata:
        usual: st.SearchStrategy[object] = st.sampled_from(field.metadata["words"])
    elif "least" in field.metadata:
        usual = st.integers(field.metadata["least"], LARGEST.get(field.name, 6))
    else:
        usual = st.booleans()
    return st.integers(0, 9).flatmap(lambda n: odd if n == 0 else usual)


@pytest.mark.parametrize("name", registered("workloads"))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_graph_or_an_error(name: str, data: st.DataObject) -> None:
    cls = named("workloads", name)
    drawn = {f.name: data.draw(values(f), label=f.name) for f in fields(cls) if data.draw(st.booleans())}
    said = ""
    try:
        made = family(name, **drawn)
        graph = made.graph()
    except SimschedError as error:
        said = str(error)
    if said:
        assert said.startswith(f"{name}[")
        assert any(key in said for key in drawn)
        return
    assert family(str(made)) == made
    assert graph.n_tasks
    for column in (graph.flops, graph.bytes_B):
        assert np.isfinite(column).all()
        assert (column >= 0).all()
    # Whatever computes on the way back follows something; what ties constants together computes nothing.
    computes = (graph.flops > 0) | (graph.bytes_B > 0)
    back = [i for i, text in enumerate(graph.names or []) if text.startswith("gradients/") and computes[i]]
    assert (graph.predecessors.degrees()[back] > 0).all()
