"""Signed numbers as bars next to their names: plain HTML, light enough for a page of hundreds."""

from collections.abc import Mapping
from math import isfinite

from simsched.document.html import text

# Okabe and Ito's blue and vermilion, as in the other pictures; the side shows the sign, too.
ABOVE, BELOW = "#0072B2", "#D55E00"
HALF = 100.0


def signed_bars(caption: str, numbers: Mapping[str, float], shown: Mapping[str, str]) -> str:
    """Return a table: a name, a bar to the right or left of the middle line, and the number.

    Parameters
    ----------
    caption : str
        Plain text; escaped, as all names are.
    numbers : mapping of str to float
        By name; the longest bar is that of the largest. Numbers that are not finite have none.
    shown : mapping of str to str
        Each number as text.
    """
    largest = max((abs(number) for number in numbers.values() if isfinite(number)), default=0.0)
    rows = "".join(
        f'<tr><th scope="row">{text(name)}</th><td>{_bar(number, largest)}</td><td>{text(shown[name])}</td></tr>\n'
        for name, number in numbers.items()
    )
    return (
        f'<div class="bars" style="overflow-x:auto">\n<table>\n<caption>{text(caption)}</caption>\n<tbody>\n{rows}'
        "</tbody>\n</table>\n</div>\n"
    )


def _bar(number: float, largest: float) -> str:
    length = HALF * abs(number) / largest if largest and isfinite(number) else 0.0
    left, colour = (HALF, ABOVE) if number > 0 else (HALF - length, BELOW)
    return (
        f'<svg viewBox="0 0 {2 * HALF:g} 14" width="{2 * HALF:g}" height="14" aria-hidden="true">'
        f'<rect x="{left:.1f}" y="2" width="{length:.1f}" height="10" fill="{colour}"/>'
        f'<rect x="{HALF - 0.5:g}" y="0" width="1" height="14" fill="#222"/></svg>'
    )
