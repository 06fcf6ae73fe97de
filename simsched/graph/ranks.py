"""Recordings of several ranks as one: a folder of files, or those of a pattern, a file for each rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.adjacency import Csr
from simsched.graph.columns import LabelColumn, TextColumn
from simsched.graph.data import NOBODY, DataObjects
from simsched.graph.recording import UNKNOWN, Recording, measured_on
from simsched.graph.report import KINDS_ARE, ImportReport
from simsched.graph.taskgraph import TaskGraph
from simsched.multimap import multimap
from simsched.notes import Note, weight_of

MOST_RANKS = 10_000
_RANK = re.compile(
    r"(?:rank|worker|node|npu|proc(?:ess)?|device|gpu|pe)[^0-9a-z]?([0-9]{1,9})(?![0-9])", re.IGNORECASE
)
_NUMBER = re.compile(r"[0-9]{1,18}")
#: Name of a process and time of a window, as PyTorch's `tensorboard_trace_handler` names its files.
_WINDOW = re.compile(r"(.*[0-9])\.[0-9]{10,20}\.pt\.trace\.json(\.gz)?")
#: Clocks of ranks are one clock where they start within so much of the longest recording, and a minute.
_CLOSE, _CLOSE_S = 10, 60.0


def is_several(path: object) -> bool:
    """Return whether a path is a folder, or a pattern and no file.

    Examples
    --------
    >>> is_several("."), is_several("runs/*.et"), is_several("run.json"), is_several("")
    (True, True, False, False)
    """
    if not isinstance(path, str | Path) or path == "":
        return False
    try:
        return Path(path).is_dir() or ("*" in Path(path).name and not Path(path).exists())
    except (OSError, ValueError):
        return False


def load_ranks(
    path: Path, loaded: Callable[[Path, dict[str, Any]], TaskGraph], options: Mapping[str, Any]
) -> TaskGraph:
    """Return the graph of all files of a folder or pattern.

    Parameters
    ----------
    path : Path
        A folder, whose files count unless their names begin with a dot, or a pattern as `runs/*.kineto.json.gz`.
    loaded : function of a path and options to TaskGraph
        Reads one file.
    options : mapping
        Of the reader; a folder or pattern of companions stands for the companion of each rank.

    Raises
    ------
    FormatError
        If there are no files, they are of several formats, or a rank has no companion.
    GraphError
        If a file describes an impossible graph.
    """
    files = _files(path)
    ranks = ranks_of([file.name for file in files])
    companions = {name: _companions(value) for name, value in options.items() if is_several(value)}
    graphs = []
    for rank, file in zip(ranks, files, strict=True):
        own = {name: _of_rank(path, name, rank, found) for name, found in companions.items()}
        try:
            graphs.append(loaded(file, {**options, **own}))
        except FormatError as error:
            # A recording is meant rather than what lies beside it.
            read = [one for one, graph in zip(files, graphs, strict=False) if graph.recording is not None]
            others = [one for one in [*read, *files] if _ending(one) != _ending(file)]
            if not others or not path.is_dir():
                raise
            meant = f"name the files you mean, as {path}/*{_ending(others[0])}"
            raise FormatError(f"{error}; all files of a folder are read: {meant}") from error
    formats = sorted({graph.report.format for graph in graphs})
    if len(formats) > 1:
        raise FormatError(
            f"{path}: files of several formats ({', '.join(formats)}); a pattern chooses some, as "
            f"{path if path.is_dir() else path.parent}/*{''.join(files[0].suffixes)}"
        )
    timed = [bool(np.isfinite(graph.durations_s).any()) for graph in graphs]
    if len(set(timed)) > 1:
        raise FormatError(
            f"{path}: {files[timed.index(False)].name} has no seconds, {files[timed.index(True)].name} has: companions "
            "are no ranks; a pattern chooses files of one sort, as '*.kineto.json', and an option (execution_trace=, "
            "...) takes the pattern of the others"
        )
    return combined(path, ranks, graphs)


def ranks_of(names: Sequence[str]) -> list[int]:
    """Return the rank of each file: the number behind a word such as `rank`, else the one that differs, else its turn.

    Raises
    ------
    FormatError
        If they have such words, and the same numbers; or some are windows of one process.

    Examples
    --------
    >>> ranks_of(["rank0.json", "rank10.json"]), ranks_of(["et.4.v2", "et.7.v2"]), ranks_of(["a.json", "b.json"])
    ([0, 10], [4, 7], [0, 1])
    """
    processes = multimap((found[1], name) for name in names if (found := _WINDOW.fullmatch(name)))
    if windows := next((some for some in processes.values() if len(some) > 1), None):
        raise FormatError(
            f"several windows of one process, as {' and '.join(windows[:2])}; load one, or choose one of each process "
            "by a pattern"
        )
    told = [_RANK.findall(name) for name in names]
    for numbers in (told, [_NUMBER.findall(name) for name in names]):
        if len({len(found) for found in numbers}) == 1 and numbers[0]:
            for column in zip(*numbers, strict=True):
                if len(set(map(int, column))) == len(names):
                    return list(map(int, column))
    if all(told) and len(set(map(tuple, numbers))) < len(names):
        raise FormatError(
            f"several files of one rank, as {' and '.join(names[:2])}; a pattern chooses a file for each rank, and an "
            "option (execution_trace=, ...) takes the pattern of their companions"
        )
    return list(range(len(names)))


def _ending(file: Path) -> str:
    """Return the last suffix of a file, and the one before where it is that of a compression."""
    return "".join(file.suffixes[-2:] if file.suffix == ".gz" else file.suffixes[-1:])


def _files(path: Path) -> list[Path]:
    folder, pattern = (path, "*") if path.is_dir() else (path.parent, path.name)
    try:
        found = sorted(
            file for file in folder.glob(pattern) if file.is_file() and not file.name.startswith(".")
        )
    except (OSError, ValueError, NotImplementedError) as error:
        raise FormatError(f"{path}: {error}") from None
    if not found:
        raise FormatError(
            f"{path}: no file in this folder" if path.is_dir() else f"{path}: no file of this pattern"
        )
    if len(found) > MOST_RANKS:
        raise FormatError(f"{path}: {len(found)} files; expected at most {MOST_RANKS}, one for each rank")
    return [file for _, file in sorted(zip(ranks_of([file.name for file in found]), found, strict=True))]


def _companions(value: object) -> dict[int, Path]:
    files = _files(Path(str(value)))
    return dict(zip(ranks_of([file.name for file in files]), files, strict=True))


def _of_rank(path: Path, name: str, rank: int, found: Mapping[int, Path]) -> Path:
    if rank not in found:
        raise FormatError(f"{path}: {name} has no file of rank {rank}; it has {sorted(found)[:20]}")
    return found[rank]


def combined(path: Path, ranks: Sequence[int], graphs: Sequence[TaskGraph]) -> TaskGraph:
    """Return the graphs of several ranks as one: their tasks in turn, their lanes named after their ranks.

    Examples
    --------
    >>> import simsched as ss
    >>> one = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["a", "b"])
    >>> both = combined(Path("runs"), [0, 1], [one, one])
    >>> both.n_tasks, both.n_edges, both.kinds.to_list(), both.report.facts["ranks"]
    (4, 2, ['a', 'b', 'a', 'b'], 2)
    """
    offsets = np.cumsum([0, *(graph.n_tasks for graph in graphs)])[:-1].tolist()
    first = graphs[0].report
    report = ImportReport(path.name, first.format, {"ranks": len(graphs)})
    if KINDS_ARE in first.facts:
        report.facts[KINDS_ARE] = first.facts[KINDS_ARE]
    _tell(report, ranks, graphs)
    recorded_on = {measured_on(graph) for graph in graphs}
    named = any(graph.names is not None for graph in graphs)
    return TaskGraph(
        _rows([graph.successors for graph in graphs], offsets),
        durations_s=np.concatenate([graph.durations_s for graph in graphs]),
        widths=np.concatenate([graph.widths for graph in graphs]),
        flops=np.concatenate([graph.flops for graph in graphs]),
        bytes_B=np.concatenate([graph.bytes_B for graph in graphs]),
        kinds=_labels([graph.kinds for graph in graphs]),
        shapes=_labels([graph.shapes for graph in graphs]),
        scopes=_labels([graph.scopes for graph in graphs]),
        names=TextColumn.from_strings(
            graph.task_name(task) for graph in graphs for task in range(graph.n_tasks)
        )
        if named
        else None,
        name=path.name if path.is_dir() else path.parent.name,
        recorded_on=recorded_on.pop() if len(recorded_on) == 1 else UNKNOWN,
        report=report,
        recording=_recording(ranks, graphs, report),
        data=_data(graphs, offsets),
        seconds_by_kind=_by_kind(graphs, report),
    )


def _rows(parts: Sequence[Csr], offsets: Sequence[int]) -> Csr:
    """Return rows one after the other, what stands in them counted from each offset."""
    ends = np.cumsum([0, *(len(part.indices) for part in parts)]).tolist()
    pointers = [part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    indices = [part.indices + offset for part, offset in zip(parts, offsets, strict=True)]
    return Csr(
        np.concatenate([np.zeros(1, np.int64), *pointers]),
        np.concatenate(indices).astype(np.int32, copy=False),
    )


def _labels(parts: Sequence[LabelColumn]) -> LabelColumn:
    known: dict[str, int] = {}
    codes = [
        np.array([known.setdefault(label, len(known)) for label in part.labels], np.int32)[part.codes]
        if part.labels
        else part.codes
        for part in parts
    ]
    return LabelColumn(np.concatenate(codes), tuple(known))


def _by_kind(graphs: Sequence[TaskGraph], report: ImportReport) -> npt.NDArray[np.float64] | None:
    """Return the seconds on kinds of cores, where all ranks have them for as many."""
    given = [graph.seconds_by_kind for graph in graphs if graph.seconds_by_kind is not None]
    if len(given) == len(graphs) and len({seconds.shape[1] for seconds in given}) == 1:
        return np.concatenate(given)
    report.doubt(
        "seconds on kinds of cores are dropped: not all ranks have them, for as many kinds", when=given
    )
    return None


def _data(graphs: Sequence[TaskGraph], offsets: Sequence[int]) -> DataObjects | None:
    there = [
        (graph.data, offset) for graph, offset in zip(graphs, offsets, strict=True) if graph.data is not None
    ]
    if not there:
        return None
    producers = [np.where(data.producer == NOBODY, NOBODY, data.producer + offset) for data, offset in there]
    return DataObjects(
        np.concatenate([data.size_B for data, _ in there]),
        np.concatenate(producers).astype(np.int32, copy=False),
        _rows([data.readers for data, _ in there], [offset for _, offset in there]),
    )


def _recording(ranks: Sequence[int], graphs: Sequence[TaskGraph], report: ImportReport) -> Recording | None:
    """Return the recordings on one clock, where they have one; else each from its own first start."""
    runs = [graph.recording for graph in graphs if graph.recording is not None]
    if len(runs) < len(graphs):
        report.note("not every rank has a recording", when=runs)
        return None
    begins_s = _begins_s(runs)
    report.facts["one_clock"] = str(begins_s is not None).lower()
    report.doubt(
        "the ranks' clocks are not one clock: each rank's recording begins at 0",
        when=begins_s is None and len(runs) > 1,
    )
    begins_s = np.zeros(len(runs)) if begins_s is None else begins_s
    first = np.cumsum([0, *(len(run.lane_names) for run in runs)])[:-1].tolist()
    priorities = [run.priorities for run in runs if run.priorities is not None]
    return Recording(
        np.concatenate([run.start_s + begin for run, begin in zip(runs, begins_s, strict=True)]),
        np.concatenate([run.finish_s + begin for run, begin in zip(runs, begins_s, strict=True)]),
        np.concatenate([run.lanes + offset for run, offset in zip(runs, first, strict=True)]).astype(
            np.int32
        ),
        tuple(
            f"rank {rank}: {lane}" for rank, run in zip(ranks, runs, strict=True) for lane in run.lane_names
        ),
        np.concatenate(priorities) if len(priorities) == len(runs) else None,
    )


def _begins_s(runs: Sequence[Recording]) -> npt.NDArray[np.float64] | None:
    origins = [run.origin_ns for run in runs if run.origin_ns is not None]
    if len(origins) < len(runs):
        return None
    begins_s = np.array([(origin - min(origins)) / 1e9 for origin in origins])
    longest_s = max((float(run.finish_s.max(initial=0.0)) for run in runs), default=0.0)
    return begins_s if begins_s.max() <= _CLOSE * longest_s + _CLOSE_S else None


def _tell(report: ImportReport, ranks: Sequence[int], graphs: Sequence[TaskGraph]) -> None:
    """Note each sentence of the ranks' reports once, with the number of ranks that have it."""
    report.facts["rank_numbers"] = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    counts = Counter(note for graph in graphs for note in dict.fromkeys(graph.report.notes))
    report.doubt(
        "what ranks wait for of each other is not in the graph: each is a part of its own",
        when=len(graphs) > 1,
    )
    for note, count in counts.items():
        before = f"{count} of {len(graphs)} ranks: " if len(graphs) > 1 else ""
        report.notes.append(Note(before + note, weight_of(note)))
