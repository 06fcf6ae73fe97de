"""Every shared sample, where they stand beside the repository: recognised as its own format, imported, reported on."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from tarballs import unpack

import simsched as ss
from simsched.errors import FormatError

SAMPLES = Path(__file__).parents[2] / "../shared/samples"
if not SAMPLES.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)

COUNTS = ("tasks", "edges")
WORK = (*COUNTS, "work_s", "critical_path_s", "average_parallelism")
RUN = (*WORK, "lanes", "span_s", "covered_s", "covered_share", "early_starts")
#: Pattern of files, below the samples: the format, and the facts that its reports have; the first that fits counts.
FILES = {
    "chakra/*.et": ("chakra", WORK),
    "chakra/*.linked.json.gz": ("chakra", RUN),
    "chakra/*/*.json": ("pytorch", COUNTS),
    "dask/*.task_stream.json.gz": ("dask", RUN),
    "ompss/*.prv.gz": ("paraver", RUN),
    "ompss/*.tdg.dot.gz": ("tdg", COUNTS),
    "ompt/*.jsonl.gz": ("ompt", RUN),
    "onnx/*.onnx.gz": ("onnx", COUNTS),
    "onnx/*.ortprof.json.gz": ("onnxruntime", RUN),
    "pytorch*/*kineto.json.gz": ("pytorch", RUN),
    "pytorch-public/hta_benchmark_result*": ("pytorch", RUN),
    "pytorch-public/hta_rank*": ("pytorch", RUN),
    "pytorch*/*et*.json.gz": ("pytorch", COUNTS),
    "pytorch-public/*/*.json": ("pytorch", COUNTS),
    "starpu/*.dag.dot.gz": ("dot", COUNTS),
    "starpu/*.paje.trace.gz": ("paje", RUN),
    "starpu/*.tasks.rec.gz": ("starpu", RUN),
    "stg/*/*.stg": ("stg", WORK),
    "tensorflow/*.runmetadata.pb*": ("tensorflow", RUN),
    "tensorflow/*.timeline.json.gz": ("tensorflow-timeline", RUN),
    "wfformat/*.json": ("wfformat", WORK),
}
#: What holds no graph, with what its error says.
REFUSED = {
    "dask/*.lowlevel_deps.json.gz": "give this as graph=",
    "dask/*.html": r"save client\.get_task_stream\(\) as JSON",
    "paraver/*.prv*": "trace of MPI without tasks",
}
#: Companions of others, machines, times by hand.
OTHERS = ("*.md", "*.proto", "*.timing.json", "*.pcf.gz", "*.row.gz", "hwloc/*", "stg/optima.csv",
          "tensorflow/*.graphdef.pb.gz", "*.py")  # fmt: skip


def names() -> list[str]:
    """Return all samples by their path below the folder; members of archives by that of the archive and theirs."""
    found = []
    for file in sorted(path for path in SAMPLES.rglob("*") if path.is_file()):
        name = file.relative_to(SAMPLES).as_posix()
        if name.endswith((".tgz", ".tar.gz")):
            with tarfile.open(file) as archive:
                found += [f"{name}/{member.name}" for member in archive if member.isfile()]
        else:
            found.append(name)
    return found


def fits(name: str, patterns: tuple[str, ...] | dict[str, str]) -> str | None:
    """Return the first pattern of a name."""
    return next((pattern for pattern in patterns if fnmatch(name, pattern)), None)


NAMES = names()
GRAPHS = [name for name in NAMES if fits(name, tuple(FILES)) and not fits(name, (*REFUSED, *OTHERS))]


@pytest.fixture(scope="module")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a sample's file; an archive is unpacked once."""

    @cache
    def unpacked(archive: PurePosixPath) -> Path:
        folder = tmp_path_factory.mktemp("archive")
        unpack(SAMPLES / archive, folder)
        return folder

    def file(name: str) -> Path:
        if (SAMPLES / name).is_file():
            return SAMPLES / name
        of = next(p for p in PurePosixPath(name).parents if (SAMPLES / p).is_file())
        return unpacked(of) / PurePosixPath(name).relative_to(of)

    return file


def test_the_tables_name_every_sample() -> None:
    rest = [name for name in NAMES if name not in GRAPHS and not fits(name, (*REFUSED, *OTHERS))]
    assert rest == []
    unused = [pattern for pattern in (*FILES, *REFUSED) if not any(fnmatch(name, pattern) for name in NAMES)]
    assert unused == []


@pytest.mark.parametrize("name", GRAPHS)
def test_sample(name: str, file_of: Callable[[str], Path]) -> None:
    format, facts = FILES[fits(name, tuple(FILES)) or ""]
    graph = ss.load(file_of(name))
    assert graph.report.format == format
    assert [fact for fact in facts if fact not in graph.report.facts] == []
    assert (graph.report.facts["tasks"], graph.report.facts["edges"]) == (graph.n_tasks, graph.n_edges)
    assert graph.n_tasks > 0
    # Taskwaits take no time even where nothing else is known.
    assert np.isnan(graph.durations_s).any() == (facts == COUNTS)
    assert (graph.recording is not None) == (facts == RUN)
    if (format, facts) == ("pytorch", RUN):
        # Without its execution trace, a recording is a chain in each lane.
        assert graph.n_edges == graph.n_tasks - graph.report.facts["lanes"]


@pytest.mark.parametrize("name", [name for name in NAMES if fits(name, REFUSED)])
def test_refused(name: str) -> None:
    with pytest.raises(FormatError, match=REFUSED[fits(name, REFUSED) or ""]) as caught:
        ss.load(SAMPLES / name)
    assert str(caught.value).startswith(f"{SAMPLES / name}: ")
