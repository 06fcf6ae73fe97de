"""Distance of a reproduction from its paper: errors of ratios and of times, signs, orderings, statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from simsched.multimap import multimap
from simsched.reproduce.rows import RATIO, TIMES, Claim, Row, Use, case_text
from simsched.text import counted

#: Uses of published numbers that are compared, and what their keys of a summary begin with.
COMPARED: tuple[tuple[Use, str], ...] = (("check", ""), ("seen", "seen_"))
KINDS = ("ratio", "time", "other")


def summary(rows: Sequence[Row], claims: Sequence[Claim]) -> dict[str, float]:
    """Return counts, errors and agreement, of predicted numbers and, apart, of those in view when a choice was made.

    Returns
    -------
    dict
        rows; inputs, seen, scored (rows with a published number that is an input, that was in view when a choice was
        made, that is predicted); as_printed (scored
        ones that agree to the printed digits); for kind ratio (unit "1"), time and other: `{kind}_rows`,
        `{kind}_median`, `{kind}_p90` (absolute relative errors), `{kind}_worst` (the relative error that is furthest
        from 0), NaN where there are none; signs, orderings, claims and
        for each of them `{...}_agree`. A sign is the side of no effect on which a number is as printed, an ordering a
        pair of cases of one quantity whose published numbers differ. `seen_...`: the same of what was in view.
    """
    found: dict[str, float] = {
        "rows": len(rows),
        "inputs": len(_compared(rows, "input")),
        "seen": len(_compared(rows, "seen")),
        "scored": sum(row.scored for row in rows),
    }
    for use, prefix in COMPARED:
        held = [claim.holds for claim in claims if claim.use == use]
        found |= {f"{prefix}{name}": value for name, value in _agreement(_compared(rows, use), held).items()}
    return {name: float(value) for name, value in found.items()}


def summary_text(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """Return a summary in two or three sentences, with the worst case of each kind."""
    numbers = summary(rows, claims)
    inputs = (
        f", {numbers['inputs']:.0f} with a published number that is an input" if numbers["inputs"] else ""
    )
    said = [f"{numbers['rows']:.0f} rows{inputs}"]
    for (use, prefix), what in zip(COMPARED, ("to predict", "in view when a choice was made"), strict=True):
        compared = _compared(rows, use)
        found = {name.removeprefix(prefix): value for name, value in numbers.items()}
        as_printed = [f"{found['as_printed']:.0f} equal as printed"] if compared else []
        parts = "; ".join(as_printed + _errors_text(found, compared) + _agreement_text(found, compared))
        if parts or use == "check":
            said.append(f"{len(compared)} with a published number {what}{': ' if parts else ''}{parts}")
    return ". ".join(said) + "."


def toss_ups(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Return how many orderings agree, and of how many, by quantities of which fewer than two in three do.

    A coin has one in two.
    """
    found = {}
    for group in _groups(rows):
        orderings = list(_orderings(group))
        if 3 * sum(orderings) < 2 * len(orderings):
            found[f"{group[0].table}, {group[0].quantity}"] = sum(orderings), len(orderings)
    return found


def _compared(rows: Sequence[Row], use: Use) -> list[Row]:
    return [row for row in rows if row.paper is not None and row.use == use]


def _agreement(rows: Sequence[Row], held: Sequence[bool]) -> dict[str, float]:
    signs = [row.same_side for row in rows if row.same_side is not None]
    ordered = [agrees for group in _groups(rows) for agrees in _orderings(group)]
    found: dict[str, float] = {"as_printed": sum(row.as_printed for row in rows)}
    for kind in KINDS:
        found |= _errors(kind, _of_kind(rows, kind))
    for name, agreeing in (("signs", signs), ("orderings", ordered), ("claims", held)):
        found |= {name: len(agreeing), f"{name}_agree": sum(agreeing)}
    return found


def _errors_text(found: dict[str, float], rows: Sequence[Row]) -> list[str]:
    return [
        f"{counted(round(found[f'{kind}_rows']), kind)}: absolute error median {found[f'{kind}_median']:.1%}, "
        f"90th percentile {found[f'{kind}_p90']:.1%}, worst {found[f'{kind}_worst']:+.1%} "
        f"({_name(_worst(_of_kind(rows, kind)))})"
        for kind in KINDS
        if found[f"{kind}_rows"]
    ]


def _agreement_text(found: dict[str, float], rows: Sequence[Row]) -> list[str]:
    tossed = "; ".join(f"{name}: {agree} of {of}" for name, (agree, of) in toss_ups(rows).items())
    more = {"orderings": f" (fewer than two in three: {tossed})" if tossed else ""}
    return [
        f"{found[f'{name}_agree']:.0f} of {found[name]:.0f} {name} agree{more.get(name, '')}"
        for name in ("signs", "orderings", "claims")
        if found[name]
    ]


def _name(row: Row) -> str:
    return f"{row.table}, {row.quantity}, {case_text(row.case)}"


def _of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    """Return rows of a kind that have an error."""
    return [row for row in rows if _kind(row) == kind and row.relative_error is not None]


def _kind(row: Row) -> str:
    return "ratio" if row.unit == RATIO else "time" if row.unit in TIMES else "other"


def _worst(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: abs(row.relative_error or 0.0))


def _errors(kind: str, rows: Sequence[Row]) -> dict[str, float]:
    errors = [row.relative_error for row in rows if row.relative_error is not None]
    median, p90 = np.percentile(np.abs(errors), [50, 90]) if errors else (np.nan, np.nan)
    worst = max(errors, key=abs, default=np.nan)
    return {f"{kind}_rows": len(errors), f"{kind}_median": median, f"{kind}_p90": p90, f"{kind}_worst": worst}


def _groups(rows: Sequence[Row]) -> Iterable[list[Row]]:
    groups = multimap(((row.table, row.quantity), row) for row in rows)
    return groups.values()


def _orderings(rows: Sequence[Row]) -> Iterator[bool]:
    for one, other in combinations(rows, 2):
        if one.paper is not None and other.paper is not None and one.paper != other.paper:
            yield (one.simulated - other.simulated) * (one.paper - other.paper) > 0
