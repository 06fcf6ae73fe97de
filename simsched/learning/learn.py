"""`learn`: from recordings of one host to a cost model and a runtime profile."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.graph import TaskGraph
from simsched.learning.fitting import alone, less_expected, seen, slowdowns, starts, with_room
from simsched.learning.learned import Learned
from simsched.learning.observed import Observed, observed
from simsched.learning.samples import grouped
from simsched.notes import Note, Weight


def learn(recordings: Sequence[TaskGraph]) -> Learned:
    """Learn from recordings of one or several programs on one host.

    Parameters
    ----------
    recordings : sequence of TaskGraph
        Each with a recording: what `simsched.load` returns for the trace of a run. Recordings of the same kinds, shapes
        and edges are of one program.

    Returns
    -------
    Learned
        Seconds by kind and shape, slow-downs in company, costs of starts, interruptions of the host; each with its
        uncertainty. Its `notes` say what the recordings cannot tell.

    Raises
    ------
    GraphError
        If there are no recordings, a graph has none, or two are the same run.

    Examples
    --------
    Two tasks take 10 % longer beside each other:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> lane = np.arange(6, dtype=np.int32)
    >>> one = Recording(np.arange(6.0), np.arange(6.0) + 1.0, 0 * lane, ("a",))
    >>> two = Recording(np.repeat([0.0, 1.1, 2.2], 2), np.repeat([1.1, 2.2, 3.3], 2), lane % 2, ("a", "b"))
    >>> learned = ss.learn([ss.TaskGraph.from_edges([1.0] * 6, kinds="k", recording=run) for run in (one, two)])
    >>> learned.seconds[0].alone_s, round(learned.slowdowns[1].factor, 2), learned.starts[0].start_s
    (1.0, 1.1, 0.0)
    """
    runs = observed(recordings)
    groups = grouped(runs)
    slow, begun = slowdowns(groups), starts(runs)
    found = alone(groups, slow)
    found = with_room(runs, found, seen(runs, found, slow))
    hosts = seen(runs, found, slow)
    found = less_expected(runs, found, hosts)
    return Learned(
        seconds=tuple(found.rows),
        slowdowns=tuple(slow),
        starts=tuple(begun),
        runs=tuple(hosts),
        lanes=max(run.lanes for run in runs),
        notes=tuple(_limits(runs)),
        of_task=found.of_task,
        recordings=tuple(run.graph for run in runs),
        relearn=learn,
    )


def _limits(runs: Sequence[Observed]) -> list[str]:
    """Return the limits of the recordings, in sentences."""
    said = []
    for program in dict.fromkeys(run.program for run in runs):
        of = [run for run in runs if run.program == program]
        company = sum(float((run.company * run.seconds_s).sum()) for run in of)
        whole = sum(float(run.seconds_s.sum()) for run in of)
        if company < 0.05 * whole:
            said.append(f"{program}: its tasks hardly ran beside others; their slow-down is the host's")
        elif company > 0.95 * whole:
            said.append(f"{program}: its tasks hardly ran alone; their seconds alone come from the slow-down")
        if len(of) == 1:
            said.append(
                f"{program}: one recording does not show how much runs differ; intervals are wider by 5 %"
            )
    return [Note(text, Weight.ASSUMPTION) for text in said]
