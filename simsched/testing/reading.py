"""A test suite for any reader of a format: ours in the tests and benchmarks, and yours."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory, mkdtemp
from types import FrameType
from typing import Any

import numpy as np

from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.testing.bombs import GROWN_B, Reading, bomb, measured
from simsched.testing.invariants import hold
from simsched.testing.mutations import mutated

#: Longest time for a damaged file, and for a bomb.
MOST_S = 10
#: Most memory of the process that reads a bomb, its libraries included.
MOST_B = 1e9
#: Nor may the error of one have more characters than this after the file's name.
MOST_SAID = 600


@dataclass(frozen=True)
class Seed:
    r"""A valid file of a format, with its companions.

    Parameters
    ----------
    format : str
        Name of the reader.
    main : bytes
        The file.
    companions : mapping of str to bytes
        Other files, by the option of the reader that names them.
    name : str
        What messages call it.
    options : mapping of str to str
        Other options of the reader, as on a command line.

    Examples
    --------
    >>> from simsched.testing import Seed, check_reader
    >>> seed = Seed("stg", b"1\n0 0 0\n1 7 1 0\n2 0 1 1\n")
    >>> check_reader([seed], examples=5)
    Tally(graphs=2, refused=3)
    """

    format: str
    main: bytes
    companions: Mapping[str, bytes] = field(default_factory=dict)
    name: str = "seed"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Tally:
    """Counts of the results of damaged files.

    Parameters
    ----------
    graphs, refused : int
        Numbers of graphs, and of clear errors.
    """

    graphs: int = 0
    refused: int = 0


class TooSlowError(AssertionError):
    """A damaged file took too long."""


def seeds_in(folder: Path) -> dict[str, list[Seed]]:
    r"""Return the seeds of a folder by format: `FORMAT/NAME/main.*`, next to its companions `OPTION.*`.

    Lines `OPTION=VALUE` of a file `options.txt` are options that are no files.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of str to list of Seed

    Raises
    ------
    SimschedError
        If a folder has no main file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from simsched.testing import seeds_in
    >>> with TemporaryDirectory() as folder:
    ...     place = Path(folder, "stg", "three")
    ...     place.mkdir(parents=True)
    ...     _ = (place / "main.stg").write_bytes(b"1\n0 0 0\n1 7 1 0\n2 0 1 1\n")
    ...     found = seeds_in(Path(folder))
    >>> list(found), len(found["stg"])
    (['stg'], 1)
    """
    found: dict[str, list[Seed]] = {}
    for place in sorted(folder.glob("*/*")):
        files = {file.name.partition(".")[0]: file.read_bytes() for file in sorted(place.iterdir())}
        if "main" not in files:
            raise SimschedError(f"{place}: a seed has a file main.*")
        main = files.pop("main")
        lines = files.pop("options", b"").decode("utf-8").splitlines()
        options = {name: value for name, _, value in (line.partition("=") for line in lines)}
        found.setdefault(place.parent.name, []).append(
            Seed(place.parent.name, main, files, place.name, options)
        )
    return found


def check_reader(seeds: Sequence[Seed], examples: int = 100, seed: int = 0, bombs: int = 0) -> Tally:
    r"""Read files damaged at random, and check that each gives a valid graph or a clear error, in time.

    With `bombs`, also files that are small and become large, each in a process of its own.

    Parameters
    ----------
    seeds : sequence of Seed
        Valid files of one format, small ones; they are first read undamaged.
    examples : int
        Damaged files.
    seed : int
        Of the damage; example i of a seed is the same whatever `examples`.
    bombs : int
        Compressed files in which a part repeats, or one grows, to a hundred megabytes (`simsched.testing.bombs`).

    Returns
    -------
    Tally
        What became of them.

    Raises
    ------
    AssertionError
        If reading raises anything but a `SimschedError` whose message begins with the file and is one line of text,
        takes longer than ten seconds, or gives an impossible graph; if a bomb takes more than that or than 1 GB. The
        message names seed and example, and where the damaged files are kept.

    Examples
    --------
    >>> check_reader([Seed("stg", b"1\n0 0 0\n1 7 1 0\n2 0 1 1\n")], examples=20).refused > 0
    True
    """
    tally = Tally()
    with TemporaryDirectory() as folder:
        for one in seeds:
            graph = read(Path(folder), one.format, {"main": one.main, **one.companions}, one.options)
            hold(isinstance(graph, TaskGraph), f"{one.format}: seed {one.name} is refused: {graph}")
        for example in range(examples):
            random = Random(f"{seed} {example}")  # noqa: S311 - damage, no secret
            files, chosen = _damaged(seeds, random)
            what = f"seed {seed}, example {example}"
            count(tally, judged(Path(folder), chosen.format, files, what, chosen.options))
        for number in range(bombs):
            random = Random(f"bomb {seed} {number}")  # noqa: S311 - no secret
            files, chosen = bombed(seeds, random)
            took = _defused(Path(folder), chosen, files, f"seed {seed}, bomb {number}")
            tally.graphs, tally.refused = tally.graphs + (not took.said), tally.refused + bool(took.said)
    return tally


def bombed(seeds: Sequence[Seed], random: Random) -> tuple[dict[str, bytes], Seed]:
    """Return the files of a seed with one of them a bomb, and the seed."""
    chosen = random.choice(seeds)
    files = {"main": chosen.main, **chosen.companions}
    hit = random.choice([*files, "main"])
    files[hit] = bomb(files[hit], random, random.choice(GROWN_B))
    return files, chosen


def _defused(folder: Path, chosen: Seed, files: Mapping[str, bytes], what: str) -> Reading:
    """Return what reading a bomb took; fail, and keep the files, where that is too much or no clear error."""
    main, companions = _written(folder, files)
    took = measured(chosen.format, main, {**chosen.options, **companions})
    if took.clear and took.seconds <= MOST_S and took.peak_B <= MOST_B:
        return took
    raise AssertionError(
        f"{chosen.format}, {what}: {took.peak_B / 1e6:.0f} MB and {took.seconds:.0f} s, more than "
        f"{MOST_B / 1e6:.0f} MB and {MOST_S} s, or no clear error: {took.said:.300}; files kept in "
        f"{_kept(chosen.format, files)}"
    )


def _damaged(seeds: Sequence[Seed], random: Random) -> tuple[dict[str, bytes], Seed]:
    """Return the files of a seed with one or all of them damaged, and the seed."""
    chosen = random.choice(seeds)
    files = {"main": chosen.main, **chosen.companions}
    hit = random.choice([*files, "main"]) if random.random() < 0.9 else None
    for name, data in files.items():
        if hit in (name, None):
            others = [one.main if name == "main" else one.companions.get(name, b"") for one in seeds]
            files[name] = mutated(data, random, others)
    return files, chosen


def judged(
    folder: Path, format: str, files: Mapping[str, bytes], what: str, chosen: Mapping[str, str]
) -> TaskGraph | SimschedError:
    """Read some files, and return the graph or the clear error; on anything else fail, and keep the files."""
    try:
        return read(folder, format, files, chosen)
    except Exception as error:
        place = _kept(format, files)
        raise AssertionError(
            f"{format}, {what}: {type(error).__name__}: {error}; files kept in {place}"
        ) from error


def _kept(format: str, files: Mapping[str, bytes]) -> Path:
    folder = Path(mkdtemp(prefix=f"simsched-{format}-"))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def count(tally: Tally, result: TaskGraph | SimschedError) -> None:
    """Count the result of a file."""
    if isinstance(result, TaskGraph):
        tally.graphs += 1
    else:
        tally.refused += 1


def read(
    folder: Path, format: str, files: Mapping[str, bytes], chosen: Mapping[str, str]
) -> TaskGraph | SimschedError:
    """Return the graph of some files, checked, or the clear error; let other exceptions pass."""
    main, companions = _written(folder, files)
    options: dict[str, Any] = {**companions, **chosen}
    with within(MOST_S):
        try:
            graph = load(main, format=format, **options)
        except SimschedError as error:
            _refused_well(str(error), [str(main), *companions.values()])
            return error
        check_graph(graph)
    return graph


def _written(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, dict[str, str]]:
    """Write files; return the path of the main one, and those of its companions by name."""
    paths = {name: folder / f"{name}.data" for name in files}
    for name, path in paths.items():
        path.write_bytes(files[name])
    return paths.pop("main"), {name: str(path) for name, path in paths.items()}


def _refused_well(message: str, paths: Sequence[str]) -> None:
    path = next((path for path in paths if message.startswith(f"{path}: ")), None)
    hold(path is not None, f"the error does not begin with the file: {message}")
    hold(message.isprintable(), f"the error is not one printable line: {message!r}")
    hold(len(message) - len(str(path)) <= MOST_SAID, f"the error is too long: {message}")


def check_graph(graph: TaskGraph) -> None:
    """Check that a graph is possible: numbers, order, and a recording that fits; raise `AssertionError` if not."""
    hold(len(graph.topological_order) == graph.n_tasks, "a task stands in no order")
    seconds = graph.durations_s[~np.isnan(graph.durations_s)]
    hold(bool(((seconds >= 0) & np.isfinite(seconds)).all()), "a duration is impossible")
    hold(bool((graph.widths >= 1).all()), "a width is impossible")
    if (run := graph.recorded) is not None:
        possible = (run.finish_s >= run.start_s) & np.isfinite(run.start_s) & np.isfinite(run.finish_s)
        hold(bool(possible.all()), "a recorded time is impossible")
    str(graph.report)
    graph.report._repr_html_()


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise `TooSlowError` in the main thread if a block takes longer."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
