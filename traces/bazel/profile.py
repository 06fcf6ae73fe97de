"""Events of a Bazel profile: actions, the components of the critical path, waiting for resources.

References
----------
ProfilerTask.java and JsonTraceFileWriter.java of Bazel.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from simsched.graph.loading import Mend
from simsched.traces.shared.json_elements import Elements, require_msgspec
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Place
from simsched.traces.shared.spans import Spans, SpanTable

ACTION, CRITICAL, LOCK = "action processing", "critical path component", "action resource lock"
OTHER_DATA = "otherData"
FIELDS = ("ph", "cat", "name", "ts", "dur", "pid", "tid", "out", "args")


@cache
def _decoder() -> Any:
    """Return the decoder of events, which makes no objects of other fields."""
    require_msgspec()
    from decimal import Decimal

    import msgspec

    event = msgspec.defstruct("Event", [(name, Any, None) for name in FIELDS], gc=False)
    return msgspec.json.Decoder(list[event], float_hook=Decimal)  # type: ignore[valid-type]  # made above


class Profile:
    """Spans of a profile.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        As for `simsched.traces.shared.json_elements.Elements`.
    with_outputs : bool
        Whether to keep the first output of each action.

    Raises
    ------
    FormatError
        If the file is not JSON, or an event has no time.
    """

    def __init__(self, path: Path, mend: Mend | None = None, with_outputs: bool = True) -> None:
        self._with_outputs = with_outputs
        #: Numbers of events by category, but for actions.
        self.counts: Counter[str] = Counter()
        self.waited_ns = 0
        self._threads: dict[tuple[str, str], str] = {}
        self._actions = SpanTable(path)
        #: Of each action, its first output; "" where the profile has none.
        self.outputs: list[str] = []
        #: Name, start and finish of each component of the critical path.
        self.critical: list[tuple[str, int, int]] = []
        elements = Elements(path, "traceEvents", _decoder(), (OTHER_DATA,), mend)
        number = 0
        for part in elements:
            for event in part:
                self._take(Place(path, "event", number), event)
                number += 1
        told = elements.members.get(OTHER_DATA)
        self.about: dict[str, Any] = told if isinstance(told, dict) else {}

    def _take(self, place: Place, event: Any) -> None:
        if event.ph == "M" and event.name == "thread_name" and isinstance(event.args, dict):
            self._threads[_thread(event)] = str(event.args.get("name", ""))
        if event.ph != "X":
            return
        category = event.cat if isinstance(event.cat, str) else ""
        if category not in (ACTION, CRITICAL, LOCK):
            self.counts[category] += 1
            return
        start, length = place.nanoseconds(event.ts, "ts"), place.nanoseconds(event.dur, "dur")
        if length < 0:
            raise place.error(f"dur is {shown(event.dur)}, expected 0 or more")
        name = event.name if isinstance(event.name, str) else ""
        if category == LOCK:
            self.waited_ns += length
        elif category == CRITICAL:
            self.critical.append((name, start, start + length))
        else:
            told = event.args.get("mnemonic") if isinstance(event.args, dict) else None
            kind = told if isinstance(told, str) and told else kind_of(name)
            self._actions.add(start, start + length, _thread(event), kind, name)
            if self._with_outputs:
                self.outputs.append(event.out if isinstance(event.out, str) else "")

    def actions(self) -> Spans:
        """Return the actions, in the order of the file: their kinds as names, their names as scopes."""
        return self._actions.spans(lambda lane: ("", self._threads.get(lane) or f"thread {lane[1]}"))


def _thread(event: Any) -> tuple[str, str]:
    return shown(event.pid), shown(event.tid)


def kind_of(name: str) -> str:
    """Return what an action does: the words of its name before the first that is a file or a label.

    Examples
    --------
    >>> kind_of("Compiling src/main/tools/jni.cc"), kind_of("Executing genrule //:g0 [for tool]"), kind_of("//:all")
    ('Compiling', 'Executing genrule', 'action')
    """
    words: list[str] = []
    for word in name.split():
        if any(mark in word for mark in "/:@.[("):
            break
        words.append(word)
    return " ".join(words[:4]) or "action"
