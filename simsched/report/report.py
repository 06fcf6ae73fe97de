"""`report()`: a full report on a graph, a machine and some policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from simsched.costs import CostModel
from simsched.document.html import framed, image, listed, text
from simsched.document.markdown import markdown
from simsched.document.parts import Bullets, Document, Paragraph, Section, Table
from simsched.errors import SimschedError
from simsched.files import write_text
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.plots.stacked import stacked_svg
from simsched.policy import Layout, Policy
from simsched.report.findings import Findings
from simsched.report.inputs_section import (
    costs_section,
    data_section,
    graph_section,
    machine_section,
    trust_section,
)
from simsched.report.policies_section import chart_section, cores_section, layouts_section, policies_section
from simsched.report.question import Question
from simsched.report.verdict import headline, sentences, why_section
from simsched.spec import Engine

#: Height of a notebook's frame, in which the page scrolls.
FRAME_PX = 900
#: Format of a report, by suffix.
SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


@dataclass(frozen=True, eq=False)
class Report:
    """A report; made by `report`. A notebook shows it.

    Parameters
    ----------
    findings : Findings
        Schedules and tables, for further use.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> found = ss.report(graph, "generic[cores=2]", ["sequential", "fifo"])
    >>> found.title, len(found.sentences), found.sections[0].title
    ('three on generic[cores=2]', 5, 'Policies')
    >>> found.headline in found.html, found.headline in found.markdown
    (True, True)
    """

    findings: Findings

    @cached_property
    def title(self) -> str:
        """Title: graph and machine."""
        question = self.findings.question
        return f"{question.graph.name} on {question.machine.spec}"

    @cached_property
    def headline(self) -> str:
        """The best policy, in a sentence."""
        return headline(self.findings)

    @cached_property
    def sentences(self) -> list[str]:
        """Further conclusions, in sentences."""
        return sentences(self.findings)

    @cached_property
    def sections(self) -> list[Section]:
        """Sections after the verdict; pictures are drawn when they are written."""
        found = self.findings
        every = (
            policies_section(found),
            chart_section(found),
            why_section(found),
            data_section(found),
            cores_section(found),
            layouts_section(found),
            graph_section(found),
            costs_section(found),
            machine_section(found),
            trust_section(found),
        )
        return [section for section in every if section is not None]

    @cached_property
    def html(self) -> str:
        """The page as HTML5: it contains everything and loads nothing.

        Raises
        ------
        MissingExtraError
            If matplotlib or bokeh, which draw, is not installed.
        """
        from simsched.report.page import page

        return page(self)

    @property
    def document(self) -> Document:
        """The verdict and all that follows it.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
        >>> ss.report(graph, "generic[cores=2]", ["fifo"]).document.parts[-1].title
        'How far to trust it'
        """
        verdict = (Paragraph(self.headline, strong=True), Bullets(self.sentences))
        return Document(self.title, [*verdict, *self.sections])

    @cached_property
    def markdown(self) -> str:
        """The same as Markdown, without pictures: for a pull request."""
        return markdown(self.document)

    def tables(self) -> dict[str, object]:
        """Return every table by its caption: a list of rows by column, or the facts of one of two columns; all as text.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
        >>> found = ss.report(graph, "generic[cores=2]", ["sequential", "fifo"])
        >>> found.tables()["By core count"][0]["makespan"]
        '6 s'
        """
        rows: dict[str, object] = {}
        facts: dict[str, object] = {}
        for table in self.document.tables():
            if isinstance(table, Table):
                rows[table.caption] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            else:
                facts[table.caption] = {name: str(value) for name, value in table.facts.items()}
        return rows | facts

    def save(self, path: str | Path) -> None:
        """Write the report by the suffix of `path`: .html, or .md.

        Raises
        ------
        SimschedError
            If the suffix is another, or the file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
        >>> found = ss.report(graph, "generic[cores=2]", ["sequential", "fifo"])
        >>> with TemporaryDirectory() as folder:
        ...     found.save(Path(folder, "three.md"))
        ...     Path(folder, "three.md").read_text("utf-8") == found.markdown
        True
        """
        path = Path(path)
        write_text(path, self.html if written_as(path) == "html" else self.markdown)

    def __repr__(self) -> str:
        return f"<Report: {self.headline}>"

    def _repr_html_(self) -> str:
        pictures = image(stacked_svg(self.findings.charted))
        instead = f"<p><b>{text(self.headline)}</b></p>{listed(self.sentences)}{pictures}"
        return framed(self.html, f"Report: {self.headline}", f"height:{FRAME_PX}px", instead)


def written_as(path: Path) -> str:
    """Return "html" or "markdown", by the suffix of `path`.

    Raises
    ------
    SimschedError
        If the suffix is another.
    """
    if (kind := SUFFIXES.get(path.suffix.lower())) is None:
        raise SimschedError(
            f"{path}: a report is written as a page or as Markdown, one of {', '.join(SUFFIXES)}"
        )
    return kind


def report(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policies: Sequence[str | Policy | type[Policy]] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    seeds: int = 10,
    replays: int = 32,
    patience_s: float = 60.0,
    command: str = "",
    progress: Callable[[int], object] | None = None,
) -> Report:
    """Replay a graph on a machine under some policies, and report all results.

    The best policy and its lead; times and places of tasks; the use of time and possible improvements; other core
    counts and layouts; costs and machine; trust in the results. A policy that fails is a row with its error.

    Parameters
    ----------
    graph, machine, costs, runtime, engine, progress
        As in `simsched.simulate`.
    policies : sequence of policies, optional
        As `simsched.policy` takes them; all that are installed when not given.
    layout : str, Layout or pair of int, optional
        For every policy that takes one; every policy gets its best one when not given.
    seed, seeds : int
        The first seed, whose schedules are drawn; replays of a policy, each with its own, where anything is random.
    replays : int
        Most replays for what would help; 0 for none.
    patience_s : float
        Most CPU time of a policy, or of a part such as that of layouts; parts that take more are left out, with a note.
    command : str
        What to type for the same report; written into it.

    Returns
    -------
    Report
        `.save("report.html")`, `.save("report.md")`; `.findings` holds schedules and tables.

    Raises
    ------
    SimschedError
        If anything asked for is impossible, or no policy can be replayed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> ss.report(graph, "generic[cores=2]", ["sequential", "fifo"]).headline.split(",")[0]
    'three takes 4 s on generic[cores=2] (2 cores) under fifo'
    """
    question = Question.of(
        graph, machine, policies, layout, costs=costs, runtime=runtime, engine=engine, seed=seed, seeds=seeds,
        replays=replays, patience_s=patience_s, command=command,
    )  # fmt: skip
    return Report(Findings.of(question, progress))
