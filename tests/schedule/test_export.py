"""Files of a schedule, by suffix."""

from __future__ import annotations

import gzip
import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.schedule import Schedule

HOSTILE = "</title><script>alert('x')</script>"


def made(
    durations_s: tuple[float, ...] = (0.5, 0.25, 0.25), label: str = "MatMul", notes: tuple[str, ...] = ()
) -> Schedule:
    """All tasks on core 0 of two, one after another."""
    durations = np.asarray(durations_s)
    finish = np.cumsum(durations)
    on = np.zeros(len(durations), np.int32)
    names = [f"{label} {i}" for i in range(len(durations))]
    return Schedule(
        graph=TaskGraph.from_edges(durations, kinds=label, names=names, name=label),
        ready_s=np.zeros(len(durations)),
        start_s=finish - durations,
        finish_s=finish,
        teams=Csr(np.array([0, 1]), np.array([0], np.int32)),
        team=on,
        executor=on,
        start_order=np.arange(len(durations), dtype=np.int32),
        alone_s=durations,
        n_cores=2,
        machine=cast(Any, SimpleNamespace(spec=f"machine-{label}", power=None, n_cores=2)),
        policy="fifo",
        layout="1x1",
        engine="simpy",
        seed=7,
        notes=notes,
    )


class Page(HTMLParser):
    """Elements, their attributes, and text; fails on elements that are not closed in order."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, tag: str) -> dict[str, str | None]:
        return next(attributes for name, attributes in self.elements if name == tag)


@pytest.mark.parametrize(
    ("suffix", "signature"),
    [
        (".png", b"\x89PNG\r\n\x1a\n"),
        (".PNG", b"\x89PNG"),
        (".pdf", b"%PDF-"),
        (".parquet", b"PAR1"),
        (".csv", b"task,name,"),
    ],
)
def test_files_begin_as_they_must(tmp_path: Path, suffix: str, signature: bytes) -> None:
    path = tmp_path / f"run{suffix}"
    made().save(path)
    assert path.read_bytes().startswith(signature)
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "nothing is left beside it"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".csv", ".json", ".json.gz", ".html"])
def test_same_schedule_same_bytes(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        made().save(tmp_path / (name + suffix))
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_parquet_keeps_the_table_and_what_made_it(tmp_path: Path) -> None:
    schedule = made(notes=("recorded durations",))
    schedule.save(tmp_path / "run.parquet")
    table = pd.read_parquet(tmp_path / "run.parquet")
    pd.testing.assert_frame_equal(table, schedule.tasks, check_categorical=False)
    facts = table.attrs["simsched"]
    assert facts.pop("simsched")
    assert facts == {
        "graph": "MatMul",
        "machine": "machine-MatMul",
        "policy": "fifo",
        "layout": "1x1",
        "engine": "simpy",
        "seed": 7,
        "makespan_s": 1.0,
        "notes": ["recorded durations"],
    }
    assert schedule.tasks.attrs == {}, "the schedule's own table is left as it was"


def test_tables_are_copies_that_change_nothing(tmp_path: Path) -> None:
    schedule = made()
    schedule.save(tmp_path / "before.csv")
    why = schedule.explain()
    for frame in (schedule.tasks, schedule.waits, why.tasks, why.critical_path):
        frame[frame.columns[:2]] = -1
    edited = schedule.tasks
    edited["start_s"] *= 1e3
    schedule.save(tmp_path / "after.csv")
    assert (tmp_path / "after.csv").read_bytes() == (tmp_path / "before.csv").read_bytes()
    assert schedule.tasks["start_s"].tolist() == schedule.start_s.tolist()
    assert (schedule.waits["task"] >= 0).all()
    assert (why.tasks["task"] >= 0).all()
    assert (why.critical_path["begin_s"] >= 0).all()


def test_csv_round_trip(tmp_path: Path) -> None:
    made(label='a,"b"\nc').save(tmp_path / "run.csv")
    table = pd.read_csv(tmp_path / "run.csv")
    assert table["kind"].tolist() == ['a,"b"\nc'] * 3
    assert table["finish_s"].tolist() == [0.5, 0.75, 1.0]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_json_is_a_chrome_trace(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    made().save(path)
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if suffix.endswith(".gz") else data)
    assert trace["otherData"]["policy"] == "fifo"


def test_svg_is_a_document(tmp_path: Path) -> None:
    made(label="<b>").save(tmp_path / "run.svg")
    root = ElementTree.parse(tmp_path / "run.svg").getroot()  # noqa: S314 - our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_page_is_complete_and_asks_the_network_for_nothing(tmp_path: Path) -> None:
    made(notes=("first note",)).save(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text("utf-8")
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert page.attributes("html")["lang"] == "en"
    assert page.attributes("svg")["role"] == "img"
    assert "makespan 1 s" in str(page.attributes("svg")["aria-label"])
    assert {"charset": "utf-8"} in [attributes for tag, attributes in page.elements if tag == "meta"]
    assert all(word in page.text for word in ("makespan_s", "gap_to_bound", "first note", "fifo"))
    loaded = [v for _, a in page.elements for k, v in a.items() if k in {"src", "href", "xlink:href"}]
    assert all(str(v).startswith(("#", "data:")) for v in loaded)
    assert "url(http" not in text


def test_hostile_names_are_text_on_the_page(tmp_path: Path) -> None:
    made(label=HOSTILE + "\x00\ud800", notes=(HOSTILE,)).save(tmp_path / "run.html")
    page = Page((tmp_path / "run.html").read_text("utf-8"))
    assert "script" not in {tag for tag, _ in page.elements}
    assert page.text.count("alert('x')") >= 4
    assert "\x00" not in page.text


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".html", ".csv", ".parquet", ".json"])
@pytest.mark.parametrize("schedule", [made(()), made((0.0,)), made(label=HOSTILE + "\x00\ud800$\\frac{ 漢")])
def test_odd_schedules_are_written(tmp_path: Path, suffix: str, schedule: Schedule) -> None:
    path = tmp_path / f"run{suffix}"
    schedule.save(path)
    assert path.stat().st_size


@pytest.mark.parametrize("name", ["run.unknown", "run", "run.gz", "run.parquet.txt"])
def test_an_unknown_suffix_lists_those_that_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        SimschedError, match=r"\.json, \.json\.gz, .*\.parquet, \.csv, \.png, \.svg, \.pdf, \.html"
    ):
        made().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".png", ".csv", ".json", ".json.gz", ".parquet", ".html"])
def test_a_missing_folder_is_named(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(SimschedError, match=r"there is no folder .*nowhere"):
        made().save(tmp_path / "nowhere" / f"run{suffix}")


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(SimschedError, match="is a folder"):
        made().save(tmp_path / "run.csv")


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.csv"
    path.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(SimschedError, match="No space left"):
        made().save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_perfetto_by_its_method_is_that_by_its_suffix(tmp_path: Path) -> None:
    schedule = made()
    schedule.to_perfetto(tmp_path / "one.pftrace")
    schedule.save(tmp_path / "two.pftrace")
    assert (tmp_path / "one.pftrace").read_bytes() == (tmp_path / "two.pftrace").read_bytes()
