"""`MemoryUse`: bytes of live data objects at each place, over time."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.document.html import card
from simsched.errors import SimschedError
from simsched.frames import FrameProperty
from simsched.graph.data import NOBODY
from simsched.later import later
from simsched.notes import Note, Weight
from simsched.parameters import is_whole
from simsched.schedule.memory_lives import Lives, Places, lives_of
from simsched.text import counted
from simsched.units import format_bytes, format_time

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from simsched.graph import TaskGraph
    from simsched.graph.columns import Floats
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule.schedule import Schedule

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class MemoryUse:
    """Bytes of live data objects at each place over time; made by `Schedule.memory`.

    docs/semantics.md defines when an object is live.

    Parameters
    ----------
    graph : TaskGraph
        What ran.
    places : Places
        Places of data.
    lives : Lives
        Intervals in which objects are at places.
    size_B : float64 array, shape (k,)
        Bytes of each object; 0 where unknown.
    notes : tuple of str
        What was not counted.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (1, 2)], edge_bytes=[4e6, 1e6])
    >>> use = ss.simulate(graph, "generic[cores=2]", "fifo").memory()
    >>> use.peak[["place", "peak_B", "at_s"]].values.tolist()
    [[0.0, 5000000.0, 1.0]]
    >>> times_s, bytes_B = use.curve(0)
    >>> times_s.tolist(), bytes_B.tolist()
    ([0.0, 1.0, 3.0, 5.0], [4000000.0, 5000000.0, 1000000.0, 0.0])
    >>> use.objects(0).values.tolist()
    [[0.0, 0.0, 4000000.0], [1.0, 1.0, 1000000.0]]
    """

    graph: TaskGraph
    places: Places
    lives: Lives
    size_B: Floats
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, schedule: Schedule) -> MemoryUse:
        """Return the memory that a schedule needs."""
        data, places = schedule.graph.data, Places.of(schedule)
        size_B = np.empty(0) if data is None else np.nan_to_num(data.size_B)
        lives = lives_of(schedule, places.of_run)
        return cls(schedule.graph, places.used_by(lives.place), lives, size_B, _notes(schedule.graph))

    @FrameProperty
    def peak(self) -> pd.DataFrame:
        """One row for each place: place, name, peak_B, at_s (when it is first reached), size_B, share (of size_B)."""
        import pandas as pd

        peaks = [
            (float(bytes_B.max()), float(times_s[bytes_B.argmax()])) for times_s, bytes_B in self._curves
        ]
        peak_B, at_s = np.array(peaks, np.float64).reshape(-1, 2).T
        columns = {"place": np.arange(len(peaks)), "name": self.places.names, "peak_B": peak_B, "at_s": at_s}
        size_B = self.places.size_B
        return pd.DataFrame({**columns, "size_B": size_B, "share": peak_B / size_B})

    def curve(self, place: int) -> Curve:
        """Return the times at which the live bytes of a place change, ascending from 0, and the bytes from each on.

        Parameters
        ----------
        place : int
            From 0.

        Returns
        -------
        times_s, bytes_B : float64 arrays of equal shape
        """
        if not is_whole(place) or not 0 <= place < len(self.places.names):
            raise SimschedError(
                f"place {place!r} does not exist: there are 0 to {len(self.places.names) - 1}"
            )
        return self._curves[place]

    def objects(self, place: int) -> pd.DataFrame:
        """Return the objects that are live at the peak of a place, the largest first.

        Parameters
        ----------
        place : int
            From 0.

        Returns
        -------
        DataFrame
            object, task (its producer; -1 for inputs), bytes_B.
        """
        import pandas as pd

        times_s, bytes_B = self.curve(place)
        at_s, lives = times_s[bytes_B.argmax()], self.lives
        found = lives.object[(lives.place == place) & (lives.begin_s <= at_s) & (at_s < lives.end_s)]
        found = found[np.argsort(-self.size_B[found], kind="stable")]
        task = np.empty(0, np.int32) if self.graph.data is None else self.graph.data.producer[found]
        return pd.DataFrame({"object": found, "task": task, "bytes_B": self.size_B[found]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bytes over time; see `simsched.plots.memory`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Returns
        -------
        Axes
        """
        return later("plots").memory(self, ax=ax)

    def summary(self) -> dict[str, object]:
        """Return the place with the highest peak, formatted for reading."""
        top = int(np.argmax([bytes_B.max() for _, bytes_B in self._curves]))
        (times_s, bytes_B), size_B = self._curves[top], float(self.places.size_B[top])
        facts: dict[str, object] = {
            "places": len(self._curves),
            "highest peak": format_bytes(float(bytes_B.max())),
            "at": format_time(float(times_s[bytes_B.argmax()])),
            "place": self.places.names[top],
        }
        return facts | ({"size": format_bytes(size_B)} if np.isfinite(size_B) else {})

    def __repr__(self) -> str:
        return f"<MemoryUse {self.graph.name!r}: {', '.join(f'{k}={v}' for k, v in self.summary().items())}>"

    def _repr_html_(self) -> str:
        return card(f"Memory of {self.graph.name}", self.summary(), self.notes)

    @cached_property
    def _curves(self) -> list[Curve]:
        lives = self.lives
        size_B = self.size_B[lives.object]
        # What has no bytes, or lives for no time, leaves no trace.
        some = (size_B > 0) & (lives.begin_s < lives.end_s)
        ends = some & np.isfinite(lives.end_s)
        time_s = np.concatenate([lives.begin_s[some], lives.end_s[ends]])
        change_B = np.concatenate([size_B[some], -size_B[ends]])
        place = np.concatenate([lives.place[some], lives.place[ends]])
        order = np.argsort(time_s, kind="stable")
        n = len(self.places.names)
        # NumPy sorts numbers of 16 bits by radix, in linear time.
        small = place[order].astype(np.int16 if n < 2**15 else np.int32)
        order = order[np.argsort(small, kind="stable")]
        bounds = np.searchsorted(place[order], np.arange(n + 1))
        time_s, change_B = time_s[order], change_B[order]
        return [_steps(time_s[a:b], change_B[a:b]) for a, b in itertools.pairwise(bounds)]


def _steps(time_s: Seconds, change_B: Floats) -> Curve:
    """Return the times of changes, each once, from 0, and the bytes from each on."""
    last = np.append(time_s[1:] != time_s[:-1], True)[: len(time_s)]
    # Sums of fractions leave a rounding where no object is live.
    live = np.cumsum(np.sign(change_B)) > 0
    bytes_B = np.where(live, np.maximum(np.cumsum(change_B), 0.0), 0.0)
    times_s, bytes_B = time_s[last], bytes_B[last]
    if len(times_s) and times_s[0] <= 0:
        return times_s, bytes_B
    return np.append(0.0, times_s), np.append(0.0, bytes_B)


def _notes(graph: TaskGraph) -> tuple[str, ...]:
    if (data := graph.data) is None:
        return (Note("the graph has no data objects: no bytes are counted", Weight.ASSUMPTION),)
    unknown = int(np.isnan(data.size_B).sum())
    nowhere = int(((data.producer == NOBODY) & (data.readers.degrees() == 0)).sum())
    notes = []
    if unknown:
        notes.append(
            Note(
                f"{unknown} of {counted(data.n, 'object')} of unknown size, counted as 0 bytes",
                Weight.ASSUMPTION,
            )
        )
    if nowhere:
        notes.append(
            Note(
                counted(nowhere, "input of the graph is", "inputs of the graph are")
                + " read by no task and not counted"
            )
        )
    return tuple(notes)
