"""Which numbers in a trace are about tasks: by the labels of its .pcf file, or as Nanos++ numbers them.

Nanos++ numbers its event types from 9200000 in the order in which it registers them, which changes between versions;
their labels are kept. Nanos6 has numbers and labels of its own for the same things.

References
----------
Nanos++, src/core/instrumentation_decl.hpp and src/plugins/instrumentation/extrae.cpp;
Nanos6, src/instrument/extrae/InstrumentExtrae.hpp.
"""

from __future__ import annotations

from enum import IntEnum

from simsched.traces.paraver.labels import Labels


class Event(IntEnum):
    """What is kept of a trace."""

    TASK = 0
    STATE = 1
    FUNCTION = 2
    LOCATION = 3
    DEPENDENCE = 4
    DIRECTION = 5
    CREATE_POINTER = 6
    CREATE_ID = 7
    TASKWAIT = 8
    #: Communications: a task is handed over to where it runs next, first when it is created; a dependency is released.
    HANDED = 9
    RELEASED = 10


#: Labels as the two runtimes register them, in small letters, and the number where there is no .pcf file.
NANOS = {
    Event.TASK: ("work descriptor id", 9200002),
    Event.STATE: ("thread state", 9000000),
    Event.FUNCTION: ("user function name", 9200011),
    Event.LOCATION: ("user function location", 9200021),
    Event.DEPENDENCE: ("dependence analysis", 9200036),
    Event.DIRECTION: ("dependence direction", 9200037),
    Event.CREATE_POINTER: ("create wd pointer", 9200014),
    Event.CREATE_ID: ("create wd id", 9200013),
    Event.TASKWAIT: ("call to the taskwait nanos runtime function", 9200040),
}
NANOS6 = {
    Event.TASK: "task instance",
    Event.FUNCTION: "running name",
    Event.LOCATION: "running location",
}
#: Only a trace of MPI, OpenMP, ... without tasks has none of these.
RUNNING, RUNNING_LABEL = 7, "running"
#: Tags of communications in Nanos++, and those of dependencies in Nanos6: of data, and of taskwaits.
HANDED_TAG, RELEASED_TAG = 0, 1
NANOS6_TAGS = (0xFFFFFF01, 0xFFFFFF03)


class Vocabulary:
    """The numbers of one trace.

    Parameters
    ----------
    labels : Labels or None
        Of its .pcf file.
    """

    def __init__(self, labels: Labels | None) -> None:
        self.labels = labels
        types = labels.types if labels is not None else {}
        self.nanos6 = NANOS6[Event.TASK] in types
        if self.nanos6:
            self.events = {types[label]: event for event, label in NANOS6.items() if label in types}
        elif labels is not None:
            self.events = {types[label]: event for event, (label, _) in NANOS.items() if label in types}
        else:
            self.events = {number: event for event, (_, number) in NANOS.items()}
        self.running = self._running()

    def _running(self) -> int:
        """Return the thread state in which the body of a task runs."""
        number = self._number(Event.STATE)
        states = self.labels.values.get(number, {}) if self.labels is not None else {}
        return next((value for value, label in states.items() if label.lower() == RUNNING_LABEL), RUNNING)

    def _number(self, event: Event) -> int:
        return next((number for number, kept in self.events.items() if kept is event), -1)

    def tag(self, tag: int) -> Event | None:
        """Return what a communication of this tag says of tasks; None where nothing."""
        if self.nanos6:
            return Event.RELEASED if tag % 2**32 in NANOS6_TAGS else None
        return {HANDED_TAG: Event.HANDED, RELEASED_TAG: Event.RELEASED}.get(tag)

    def value(self, event: Event, value: int) -> str:
        """Return the label of a value; "" where it has none, and for 0, which is an end."""
        if self.labels is None or not value:
            return ""
        return self.labels.values.get(self._number(event), {}).get(value, "")
