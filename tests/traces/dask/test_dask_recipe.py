"""The recipe of docs/formats/dask.md keeps the keys of the graph, with the Dask that is installed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import simsched as ss

PAGE = Path(__file__).parents[3] / "docs/formats/dask.md"
OPTIMIZED = "(result,) = dask.optimize(result)"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    # Without a dashboard, and on any port: the usual one may be another test's. Without heartbeats, too: by each, a
    # worker moves its clock by milliseconds (docs/formats/dask.md), and then tasks seem to start early.
    ports = {"scheduler_kwargs": {"dashboard_address": ":0"}, "dashboard_address": None}
    one = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "heartbeat_interval": "1h"}
    with distributed.LocalCluster(**one, **ports) as cluster, distributed.Client(cluster) as client:
        yield client


def test_no_heartbeat_moves_the_clock(client: Any) -> None:
    (worker,) = client.cluster.workers.values()
    assert worker.periodic_callbacks["heartbeat"].callback_time == 3_600_000


def bag() -> Any:
    from dask import bag

    return bag.from_sequence(range(20), npartitions=4).map(abs).sum()


def product() -> Any:
    array = pytest.importorskip("dask.array")
    x = array.random.random((40, 40), chunks=(10, 10))
    return (x @ x.T).sum(axis=0)


def delayed() -> Any:
    from dask import delayed

    return delayed(sum)([delayed(abs)(delayed(abs)(-n)) for n in range(5)])


def frame() -> Any:
    dataframe = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": range(100), "b": [n % 3 for n in range(100)]})
    return dataframe.from_pandas(table, npartitions=5).groupby("b").a.sum()


@pytest.mark.parametrize("made", [bag, product, delayed, frame])
def test_the_recipe_keeps_all_keys(
    made: Callable[[], Any], client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert OPTIMIZED in code
    if made is frame:
        code = code.replace(OPTIMIZED, "result = result.optimize()")
    names = {"client": client, "result": made(), "ss": ss}
    exec(code, names)  # noqa: S102 - our own page
    graph = names["graph"]
    assert isinstance(graph, ss.TaskGraph)
    facts = graph.report.facts
    assert facts["matched_keys"] == graph.n_tasks
    assert facts["graph_keys"] - facts["matched_keys"] in {0, -1}, "all ran, and what collects the result"
    assert graph.n_edges >= graph.n_tasks - 5
    assert facts["early_starts"] == 0
    assert not any("not in the graph" in note for note in graph.report.notes)
