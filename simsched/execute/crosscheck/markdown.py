"""A cross-check's report as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.document.tables import Table, markdown_notes, markdown_table
from simsched.execute.crosscheck.tables import (
    all_kinds_table,
    calibration_facts,
    cases_table,
    rankings_table,
    ratios_table,
)
from simsched.execute.crosscheck.verdict import headline, sentences

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import CrossCheck


def markdown(check: CrossCheck) -> str:
    """Return the report: what it comes to, and its tables."""
    numbers = check.summary()
    tables = [
        cases_table(check),
        *(table for table in (rankings_table(check), ratios_table(check)) if table.rows),
        all_kinds_table(check),
        Table("Calibration", ("fact", "value"), list(calibration_facts(check).items())),
    ]
    told = "".join(f"- {sentence}\n" for sentence in sentences(numbers))
    sections = "".join(
        f"\n## {table.caption}\n\n{markdown_table(table.columns, table.rows)}" for table in tables
    )
    return f"# Measured and simulated\n\n{headline(numbers)}\n\n{told}{sections}{markdown_notes(check.notes)}"
