"""Trust in a report: its assumptions, its omissions, and the software that made it."""

from __future__ import annotations

import platform
from collections import Counter

from simsched.costs.noise import noise_of
from simsched.document.parts import Bullets, Facts, Paragraph, Part, Section, Table
from simsched.execute import RecordedReplay
from simsched.machine.effects import NAMES
from simsched.report.findings import Findings
from simsched.report.question import Question
from simsched.units import format_time
from simsched.version import version


def trust_section(found: Findings) -> Section:
    """Return the section on assumptions, and how the report was made."""
    question = found.question
    notes = [note for note in found.notes if note not in question.graph.report.notes]
    parts: list[Part] = [
        Paragraph("Schedules are exact for what they assume; what they assume is this."),
        Bullets([*notes, *assumptions(question), *(f"left out: {one}" for one in found.left_out)]),
    ]
    if found.recorded is not None:
        parts.append(_recorded(found.recorded))
    made = Facts("How this report was made", {
        "command": question.command or question.call,
        "simsched": version(),
        "Python": platform.python_version(),
        "engine": _engines(found),
        "seeds": _seeds(found),
        "replays for what would help": "none" if found.helps is None else f"at most {question.replays}",
    })  # fmt: skip
    return Section("How far to trust it", [*parts, made], "trust")


def _engines(found: Findings) -> str:
    """Return the engine of the replays, and the reason; of several, each with its policies."""
    by_reason: dict[str, list[str]] = {}
    for run in found.done:
        inputs = run.require_schedule().inputs
        assert inputs is not None  # noqa: S101 - narrows the type: replays know their inputs
        by_reason.setdefault(f"{run.require_schedule().engine}: {inputs.engine_why}", []).append(run.name)
    if len(by_reason) == 1:
        return next(iter(by_reason))
    return "; ".join(f"{reason} ({', '.join(names)})" for reason, names in by_reason.items())


def _seeds(found: Findings) -> str:
    first, count = found.question.seed, max(len(run.makespans_s) for run in found.done)
    return f"{first} to {first + count - 1}" if count > 1 else f"{first}; no other makes a difference"


def assumptions(question: Question) -> list[str]:
    """Return the assumptions of a replay on this machine, in sentences."""
    machine = question.machine
    effects = {name: getattr(machine.effects, name) for name in NAMES}
    on = [name.replace("_", " ") for name, is_on in effects.items() if is_on]
    off = [name.replace("_", " ") for name, is_on in effects.items() if not is_on]
    sentences = [
        f"effects of running tasks on each other: {', '.join(on) or 'none'}"
        + (f"; off: {', '.join(off)}" if off else "")
    ]
    runtime = question.runtime or machine.runtime
    sentences.append(f"the software's own costs: {_runtime(runtime)}")
    noise = noise_of(question.costs.noise if question.costs is not None else 0.0)
    sentences.append(
        "tasks take exactly what is estimated: no noise" if noise.silent else f"noise of task times: {noise}"
    )
    confidence = Counter(fact.confidence for fact in machine.facts)
    if confidence:
        counted = ", ".join(f"{count} {name}" for name, count in confidence.most_common())
        sentences.append(f"confidence of the machine's {len(machine.facts)} numbers: {counted}")
    return sentences


def _runtime(runtime: object) -> str:
    costs = {name: value for name, value in vars(runtime).items() if name.endswith("_s") and value}
    return (
        ", ".join(
            f"{name.removesuffix('_s').replace('_', ' ')} {format_time(value)}"
            for name, value in costs.items()
        )
        or "none"
    )


def _recorded(run: RecordedReplay) -> Table:
    row = run.row()
    start = format_time(float(row["dispatch_s"] or 0.0))
    rows = [
        ("recorded", format_time(run.recorded.makespan_s), "-"),
        ("replayed without overheads", format_time(run.plain.makespan_s), f"{run.plain_error:+.2%}"),
        (
            f"replayed with {start} a start",
            format_time(run.calibrated.makespan_s),
            f"{run.calibrated_error:+.2%}",
        ),
    ]
    return Table("The recorded run beside its replay on its own lanes", ("run", "makespan", "error"), rows)
