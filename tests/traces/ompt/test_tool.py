"""The OMPT tool: built, loaded by real programs, and what it wrote read again."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
from glob import glob
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.graph import TaskGraph
from simsched.traces import recorders

SOURCES = Path(recorders.__file__).parent / "ompt"
RECORDED = Path(__file__).parent / "cholesky.jsonl.gz"
HEADERS = [*glob("/usr/include/omp-tools.h"), *glob("/usr/lib/llvm-*/lib/clang/*/include/omp-tools.h")]
MISSING = [
    name
    for name, found in {
        "a C compiler (cc)": shutil.which("cc"),
        "make": shutil.which("make"),
        "omp-tools.h (libomp-dev)": HEADERS,
        "LLVM's OpenMP runtime (libomp-dev)": ctypes.util.find_library("omp")
        or ctypes.util.find_library("omp5"),
    }.items()
    if not found
]
needs_ompt = pytest.mark.skipif(bool(MISSING), reason=f"not here: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tool, the project's program and the test's."""
    folder = tmp_path_factory.mktemp("ompt")
    for source in (*SOURCES.glob("*.c"), SOURCES / "Makefile"):
        shutil.copy(source, folder)
    shutil.copy(Path(__file__).parent / "mix.c", folder / "mix.c")
    run(folder, "make", "CFLAGS=-O1 -Wall -Wextra -Werror -Wno-deprecated-declarations")
    run(folder, "cc", "-O1", "-fopenmp", "-c", "mix.c")
    run(folder, "cc", "-o", "mix", "mix.o", "-l:libomp.so.5")
    return folder


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def recorded(folder: Path, threads: int, *words: str) -> TaskGraph:
    """Return the graph of a program's run."""
    run(
        folder,
        *words,
        OMP_TOOL_LIBRARIES="./libompt_jsonl.so",
        SIMSCHED_OMPT="run-%p.jsonl",
        OMP_NUM_THREADS=str(threads),
    )
    (file,) = folder.glob("run-*.jsonl")
    graph = ss.load(file)
    file.unlink()
    return graph


@needs_ompt
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_cholesky(built: Path, threads: int) -> None:
    """10 x 10 tiles: the same 220 tasks and 495 edges on any number of threads, none before its time."""
    graph = recorded(built, threads, "./cholesky", "10", "16")
    facts = graph.report.facts
    assert (graph.n_tasks, graph.n_edges) == (220, 495)
    assert (facts["early_starts"], facts["pieces"], facts["joins"]) == (0, 220, 0)
    assert facts["lanes"] <= threads
    assert sorted(np.bincount(graph.kinds.codes).tolist()) == [10, 45, 45, 120]
    assert all(label.startswith("cholesky+0x") for label in graph.kinds.labels)
    assert graph.report.notes[1:] == (
        ["all tasks ran at once where created, as in a team of one thread; that order is not kept"]
        if threads == 1
        else []
    )


@needs_ompt
@pytest.mark.parametrize("threads", [2, 3])
def test_constructs(built: Path, threads: int) -> None:
    """No edge that the run contradicts; as many tasks as the program has."""
    graph = recorded(built, threads, "./mix")
    assert graph.report.facts["early_starts"] == 0
    assert graph.report.facts["explicit_tasks"] == 11 + 2 * threads
    assert any("2 tasks of mutexinoutset" in note for note in graph.report.notes)


@needs_ompt
def test_the_environment_decides(built: Path) -> None:
    """Without a file's name the tool stays away; a file that cannot be opened, or is full, stops no program."""
    library = {"OMP_TOOL_LIBRARIES": "./libompt_jsonl.so"}
    before = set(built.iterdir())
    plain = run(built, "./cholesky", "3", **library)
    assert set(built.iterdir()) == before
    lost = run(built, "./cholesky", "3", SIMSCHED_OMPT="no/such/folder/x", **library)
    full = run(built, "./cholesky", "3", SIMSCHED_OMPT="/dev/full", **library)
    assert plain.stdout == lost.stdout == full.stdout
    assert "no/such/folder/x: No such file" in lost.stderr
    assert "bytes could not be written" in full.stderr


def test_a_recorded_run() -> None:
    """The project's program, 6 x 6 tiles of 64, on two threads of a virtual machine, with libomp 14."""
    graph = ss.load(RECORDED)
    assert (graph.n_tasks, graph.n_edges, graph.report.facts["lanes"]) == (56, 105, 2)
    assert graph.report.facts["early_starts"] == 0
    assert len(graph.report.notes) == 1
