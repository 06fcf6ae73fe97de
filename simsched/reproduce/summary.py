"""Distance of a reproduction from its paper: errors of ratios and of times, signs, orderings, statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from simsched.multimap import multimap
from simsched.reproduce.rows import RATIO, TIMES, Claim, Row


def summary(rows: Sequence[Row], claims: Sequence[Claim]) -> dict[str, float]:
    """Return counts, errors and agreement; only predicted numbers count.

    Returns
    -------
    dict
        rows; inputs, seen, scored (rows with a published number that is an input, that was in view when a choice was
        made, that is predicted); as_printed (scored
        ones that agree to the printed digits); for kind ratio (unit "1"), time and other: `{kind}_rows`,
        `{kind}_median`, `{kind}_p90` (absolute relative errors, NaN where there are none); signs, orderings, claims and
        for each of them `{...}_agree`. A sign is the side of no effect on which a number is, an ordering a pair of
        cases of one quantity whose published numbers differ.
    """
    scored = [row for row in rows if row.scored]
    signs = [row.same_side for row in scored if row.same_side is not None]
    ordered = [agrees for group in _groups(scored) for agrees in _orderings(group)]
    held = [claim.holds for claim in claims if claim.use == "check"]
    found: dict[str, float] = {
        "rows": len(rows),
        "inputs": sum(row.paper is not None and row.use == "input" for row in rows),
        "seen": sum(row.paper is not None and row.use == "seen" for row in rows),
        "scored": len(scored),
        "as_printed": sum(row.as_printed for row in scored),
    }
    for kind in ("ratio", "time", "other"):
        found |= _errors(kind, (row for row in scored if _kind(row) == kind))
    for name, agreeing in (("signs", signs), ("orderings", ordered), ("claims", held)):
        found |= {name: len(agreeing), f"{name}_agree": sum(agreeing)}
    return {name: float(value) for name, value in found.items()}


def summary_text(numbers: dict[str, float]) -> str:
    """Return a summary in a sentence or two."""
    parts = [
        f"{numbers['rows']:.0f} rows, {numbers['scored']:.0f} with a published number to predict",
        f"{numbers['as_printed']:.0f} of these equal as printed",
    ]
    if numbers["inputs"]:
        parts.append(f"{numbers['inputs']:.0f} with one that is an input")
    if numbers["seen"]:
        parts.append(f"{numbers['seen']:.0f} with one that a choice was made with in view")
    parts += [
        f"{numbers[f'{kind}_rows']:.0f} {kind}s: absolute error median {numbers[f'{kind}_median']:.1%}, "
        f"90th percentile {numbers[f'{kind}_p90']:.1%}"
        for kind in ("ratio", "time", "other")
        if numbers[f"{kind}_rows"]
    ]
    parts += [
        f"{numbers[f'{name}_agree']:.0f} of {numbers[name]:.0f} {name} agree"
        for name in ("signs", "orderings", "claims")
        if numbers[name]
    ]
    return "; ".join(parts) + "."


def _kind(row: Row) -> str:
    return "ratio" if row.unit == RATIO else "time" if row.unit in TIMES else "other"


def _errors(kind: str, rows: Iterable[Row]) -> dict[str, float]:
    errors = np.abs([row.relative_error for row in rows if row.relative_error is not None])
    median, p90 = np.percentile(errors, [50, 90]) if len(errors) else (np.nan, np.nan)
    return {f"{kind}_rows": len(errors), f"{kind}_median": median, f"{kind}_p90": p90}


def _groups(rows: Sequence[Row]) -> Iterable[list[Row]]:
    groups = multimap(((row.table, row.quantity), row) for row in rows)
    return groups.values()


def _orderings(rows: Sequence[Row]) -> Iterable[bool]:
    for one, other in combinations(rows, 2):
        if one.paper is not None and other.paper is not None and one.paper != other.paper:
            yield (one.simulated - other.simulated) * (one.paper - other.paper) > 0
