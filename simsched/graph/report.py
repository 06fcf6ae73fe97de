"""Import reports: kept, dropped and suspicious parts of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simsched.document.html import card
from simsched.notes import Note, Weight, weight_of

#: Fact of a graph whose kinds are names from a program, such as those of functions: none is an op of tensors.
KINDS_ARE = "kinds_are"
#: Fact: the work of a whole step, with what tracing cost.
TRACED_WORK = "traced_work_s"
#: Beginning of the note on what tracing cost, which holds until that is taken out.
TRACED = "tracing made the step"
#: Note of a graph whose file does not say how many threads ran a task.
UNKNOWN_THREADS = "threads of an operator are unknown and taken as 1; tell with threads="


@dataclass
class ImportReport:
    """Origin of a graph, in numbers and sentences.

    Parameters
    ----------
    source : str
        Where the graph came from: a file's name, "edges", "networkx", ...
    format : str
        Name of its format; empty for a graph built in Python.
    facts : dict of str to number or str
        Measured facts of the import, each key with its unit: `tasks`, `edges`, `span_s`, `covered_share`, ...
    notes : list of str
        Notes to read before trusting the graph: dropped, merged and suspicious parts, with reasons.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1), (0, 1)])
    >>> graph.report.source, graph.report.facts["edges"]
    ('edges', 1)
    >>> graph.report.notes
    ['1 duplicate edge was merged']
    """

    source: str
    format: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str, when: object = True) -> None:
        """Add a sentence, where `when` is true, as a count above 0 is."""
        if when:
            self.notes.append(sentence)

    def doubt(self, sentence: str, when: object = True) -> None:
        """Add a sentence before others: a possible error that would affect every result of the graph.

        Examples
        --------
        >>> report = ImportReport("a file")
        >>> report.doubt("the trace has no dependencies")
        >>> report.notes[0].weight.name
        'DOUBT'
        """
        self.note(Note(sentence, Weight.DOUBT), when)

    @property
    def doubts(self) -> list[str]:
        """The notes on possible errors in results.

        Examples
        --------
        >>> ImportReport("a file", notes=["2 edges were merged"]).doubts
        []
        """
        return [note for note in self.notes if weight_of(note) is Weight.DOUBT]

    def __str__(self) -> str:
        lines = [f"{self.source}" + (f" ({self.format})" if self.format else "")]
        lines += [f"  {key:<28} {_shown(value)}" for key, value in self.facts.items()]
        return "\n".join(lines + [f"  - {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        return card(self.source, {k: _shown(v) for k, v in self.facts.items()}, self.notes)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
