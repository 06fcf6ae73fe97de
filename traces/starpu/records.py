"""Records of StarPU's `tasks.rec`, lines `Key: value`, with checked access to them, and edges of its `dag.dot`.

Keys, as StarPU 1.1 to 1.4 write them: Name, Model, File, Line, JobId, SubmitOrder, Priority, DependsOn, DepLabels, Tag,
WorkerId, MemoryNode, SubmitTime, StartTime, EndTime, Footprint, GFlop, Iteration, Parameters, Handles, Modes, Sizes,
NumaNodes, MPIRank, Bubble, ParentBubble, EndDependencies; Control in place of Name.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from simsched.errors import FormatError, GraphError
from simsched.graph import ImportReport
from simsched.graph.budget import budget
from simsched.graph.contracting import Edge, contracted
from simsched.graph.loading import Mend
from simsched.graph.shapes import MAX_RANK
from simsched.text import counted
from simsched.traces.dot.statements import Dot, read_dot
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Line, lines, pass_over
from simsched.traces.shared.timeline import whole_ns


def dag_edges(path: Path, jobs: Iterable[str], known: list[Edge], report: ImportReport) -> list[Edge]:
    """Return the new edges of a `dag.dot`, as positions in `jobs`.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    jobs : iterable of str
        Ids of the jobs.
    known : list of pairs
        Edges that are known already.
    report : ImportReport
        Receives their number.

    Raises
    ------
    FormatError
        If the file is not DOT text, or of another run.
    GraphError
        If nodes other than tasks form a cycle, or there are more edges than the budget of the load allows.
    """
    dot = read_dot(path, nodes=(), edges={"style"})
    index = {f"task_{job}": i for i, job in enumerate(jobs)}
    n = len(index)
    for name in dot.nodes:
        index.setdefault(name, len(index))
    names, pairs = list(index), ((index[a], index[b]) for a, b in _plain(dot))
    try:
        kept, most = [i < n for i in range(len(names))], budget().most(path, "edges")
        joined = contracted(pairs, kept, most, called=lambda node: repr(names[node]))
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    found = sorted({(a, b) for a, b in joined if a != b} - set(known))
    report.facts.update(dag=path.name, dag_edges=len(dot.before), added_by_dag=len(found))
    drawn = sum(name in dot.nodes for name in names[:n])
    others = sum(name.startswith("task_") for name in names[n:])
    # Control records are not drawn, and jobs that are drawn need not have run.
    if (n and not drawn) or (2 * drawn < n and others):
        raise FormatError(
            f"{path}: draws {drawn} of the {n} jobs of the run and {counted(others, 'other')}, so that it is of "
            "another run; give the dag.dot that StarPU wrote beside this trace"
        )
    return found


def _plain(dot: Dot) -> list[tuple[str, str]]:
    """Return the edges; tags come between their task and those that wait for it.

    StarPU draws a tag as a dashed ring, `tag -> task -> tag`: the task waits for its tag's dependencies.
    """
    rings = {(a, b) for a, b, attributes in dot.edges() if attributes.get("style") == "dashed"}
    owner = {a: b for a, b in rings if a.startswith("tag_") and b.startswith("task_")}
    edges = ((a, b) for a, b, _ in dot.edges())
    return [(a, owner.get(b, b)) for a, b in edges if owner.get(a) != b and (a, b) not in rings] + [
        (task, tag) for tag, task in owner.items()
    ]


NS_PER_MS = 1_000_000
#: Most keys that are remembered as valid.
MAX_KEYS = 100
#: StarPU writes it last and no blank line after it.
LAST = "EndDependencies"
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
#: `M256x256x4`: a matrix of 256 x 256 elements of 4 bytes; V a vector, B a block, T a tensor.
_PARAMETER = re.compile(r"[MVBT]([0-9]{1,9}(?:x[0-9]{1,9})+)")


@dataclass(frozen=True)
class Record(Line):
    """One record, with checked access to its values, which are texts."""

    def whole(self, key: str) -> int | None:
        """Return a whole number; None where it is missing."""
        if (value := self.values.get(key)) is None:
            return None
        if not _WHOLE.fullmatch(value):
            raise self.wrong(key, "a whole number")
        return int(value)

    def time_ns(self, key: str) -> int | None:
        """Return a time in nanoseconds; None where it is missing."""
        if (value := self.values.get(key)) is None:
            return None
        if (time_ns := whole_ns(value, NS_PER_MS)) is None:
            raise self.wrong(key, "milliseconds as a decimal number, at most 104 days")
        return time_ns

    @property
    def rank(self) -> int:
        """The MPI rank; -1 where there is none."""
        rank = self.whole("MPIRank")
        return -1 if rank is None else rank

    @property
    def job(self) -> str:
        """The job's id, unique among all ranks of a file."""
        if not self.values.get("JobId", "").strip():
            raise self.wrong("JobId", "the job's id")
        return self._unique(self.values["JobId"])

    def _unique(self, job: str) -> str:
        # Of several ranks, StarPU writes "0_12"; control records and end dependencies lack the rank.
        return f"{self.rank}_{job}" if self.rank >= 0 and "_" not in job else job

    def jobs(self, key: str) -> list[str]:
        """Return a list of job ids, separated by spaces or commas; [] where it is missing."""
        return [self._unique(job) for job in self.values.get(key, "").replace(",", " ").split()]

    def interval_ns(self) -> tuple[int, int] | None:
        """Return start and finish in nanoseconds; None where the job did not run, or not to its end."""
        start, finish = self.time_ns("StartTime"), self.time_ns("EndTime")
        if start is None or finish is None:
            return None
        if finish < start:
            raise self.wrong("EndTime", f"no time before StartTime {self.values['StartTime']}")
        return start, finish

    def flops(self) -> float:
        """Return the floating-point operations; NaN where they are missing."""
        if "GFlop" not in self.values:
            return math.nan
        try:
            flops = float(self.values["GFlop"]) * 1e9
        except ValueError:
            flops = math.nan
        if not 0 <= flops < math.inf:
            raise self.wrong("GFlop", "a number of 0 or more")
        return flops

    def size_B(self) -> float:
        """Return the bytes read and written; NaN where sizes are missing.

        Data both read and written count twice, a reduction too, scratch space not at all.
        """
        if "Sizes" not in self.values:
            return math.nan
        words, modes = self.values["Sizes"].split(), self.values.get("Modes", "").split()
        if not all(_WHOLE.fullmatch(word) and int(word) >= 0 for word in words):
            raise self.wrong("Sizes", "whole numbers of bytes")
        if len(modes) != len(words):
            return float(sum(map(int, words)))
        passes = [2 if "X" in mode else mode.count("R") + mode.count("W") for mode in modes]
        return float(sum(int(word) * times for word, times in zip(words, passes, strict=True)))

    def accesses(self) -> list[tuple[str, float, tuple[bool, bool]]]:
        """Return the handles with their bytes (NaN where missing), and whether each is read, and written.

        Scratch space is neither; [] where handles have no modes.
        """
        handles, modes = self.values.get("Handles", "").split(), _modes(self.values.get("Modes", ""))
        if len(handles) != len(modes):
            return []
        sizes = _sizes_B(self.values.get("Sizes", ""))
        return list(
            zip(
                handles,
                sizes if len(sizes) == len(handles) else [math.nan] * len(handles),
                modes,
                strict=True,
            )
        )

    def shape(self) -> list[tuple[int, ...]]:
        """Return the shapes of the data, without the bytes of an element; [] where one is of another kind."""
        found = [_PARAMETER.fullmatch(word) for word in self.values.get("Parameters", "").split()]
        dims = [tuple(map(int, one[1].split("x")))[:-1] for one in found if one is not None]
        return dims if len(dims) == len(found) and all(len(d) <= MAX_RANK for d in dims) else []


# The few kinds of tasks of a program have few modes and sizes.


@lru_cache(maxsize=4096)
def _modes(text: str) -> list[tuple[bool, bool]]:
    return [("R" in mode or "X" in mode, "W" in mode or "X" in mode) for mode in text.split()]


@lru_cache(maxsize=4096)
def _sizes_B(text: str) -> list[float]:
    return list(map(float, text.split()))


def records(path: Path, mend: Mend | None = None) -> Iterator[Record]:
    """Yield the records of a file.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        If given, a last record that is cut off is left out, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a line is not of the form `Key: value`, a key occurs twice in a record, or the file is cut off.
    """
    values: dict[str, str] = {}
    known: dict[str, str] = {}
    first, last_keys = 0, set()
    for number, line in lines(path, mend):
        text, colon, value = line.partition(":")
        first = first if values else number
        if colon and (key := known.get(text, "")) and key not in values:
            values[key] = value.strip()
        elif line.strip():
            key = _add(path, number, line, values, mend)
            # All records share some twenty keys.
            if key in values and len(known) < MAX_KEYS:
                known[text] = key
        if values and (key == LAST or not line.strip()):
            last_keys.add(next(reversed(values)))
            yield Record(path, first, values)
            values = {}
    if values and last_keys and next(reversed(values)) not in last_keys:
        place = f"the record at line {first} is cut off"
        if mend is None:
            raise FormatError(
                f"{path}: {place}; was the copy or the run interrupted? tolerant=true leaves it out"
            )
        mend(f"{place}; it was left out")
    elif values:
        yield Record(path, first, values)


def _add(path: Path, number: int, line: str, values: dict[str, str], mend: Mend | None) -> str:
    key, colon, value = line.partition(":")
    key = sys.intern(key.strip())
    if not colon or not _KEY.fullmatch(key):
        pass_over(path, f"line {number} is {shown(line)}", mend, "; expected Key: value;")
    elif key in values:
        raise FormatError(f"{path}: line {number}: a second {key} in one record; is a blank line missing?")
    else:
        values[key] = value.strip()
    return key
