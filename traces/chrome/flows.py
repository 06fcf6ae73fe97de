"""Spans of a Chrome trace as columns, and its flows as arrows between tasks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simsched.traces.chrome.events import FLOW_PHASES, Events
from simsched.traces.shared.spans import Small, Spans, Whole, enclosing


def spans_of(events: Events) -> Spans:
    """Return the spans of a trace, in the order of the file.

    Parameters
    ----------
    events : Events
        Their spans are sorted.
    """
    spans, labels = events.spans, dict[str, int]()
    spans.sort(key=lambda span: span.order)
    return Spans(
        start_ns=np.array([span.start_ns for span in spans], np.int64),
        finish_ns=np.array([span.finish_ns for span in spans], np.int64),
        lane=np.array([span.lane for span in spans], np.int32),
        name=np.array([labels.setdefault(span.name, len(labels)) for span in spans], np.int32),
        scope=np.array([labels.setdefault(span.category, len(labels)) for span in spans], np.int32),
        labels=list(labels),
        lanes=list(map(events.called, events.lanes)),
    )


def arrow_ends(events: Events, tasks: Spans) -> tuple[Whole, Whole]:
    """Return the tasks at both ends of each arrow, shape (m,) each; -1 for none.

    An arrow leaves and enters the task that contains it; without `bp: e` at its end, it enters the next task of the
    lane, as in the format.

    Parameters
    ----------
    events : Events
    tasks : Spans
        By start.
    """
    ends = []
    for points in events.flows.values():
        for one, other in pairwise(sorted(points, key=lambda p: (p.time_ns, FLOW_PHASES.index(p.phase)))):
            # An id is used again once its flow has ended: the next beginning belongs to another flow.
            if one.phase != "f" and other.phase != "s":
                ends += [one, other]
    lane = np.array([end.lane for end in ends], np.int32)
    time_ns = np.array([end.time_ns for end in ends], np.int64)
    within = np.array([end.encloses for end in ends], np.bool_)
    task = np.where(within, enclosing(tasks, lane, time_ns), _following(tasks, lane, time_ns))
    return task[::2], task[1::2]


def _following(tasks: Spans, lane: Small, time_ns: Whole) -> Whole:
    """Return the first task of a lane that starts at each moment or later; -1 where none does."""
    by_lane = np.argsort(tasks.lane, kind="stable")
    found = np.full(len(lane), -1, np.int64)
    for one in np.unique(lane).tolist():
        first, end = np.searchsorted(tasks.lane[by_lane], (one, one + 1))
        on, here = by_lane[first:end], np.flatnonzero(lane == one)
        after = np.searchsorted(tasks.start_ns[on], time_ns[here])
        there = after < len(on)
        found[here[there]] = on[after[there]]
    return found
