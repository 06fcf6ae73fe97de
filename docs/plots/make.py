"""Write the pictures of docs/plots.md, by the very calls that stand there: python docs/plots/make.py [NAME ...]."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import simsched as ss
from simsched.plots.picture import save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HERE = Path(__file__).parent
PAGE = HERE.with_suffix(".md")
#: A block of code, and the picture that stands below it.
SHOWN = re.compile(r"```python\n(.*?)```\s*!\[[^\]]*\]\(plots/([\w-]+)\.png\)", re.DOTALL)
#: Inches of the pictures that are not as wide as the others, or not as high.
SIZES = {
    "core-use": (6.3, 8.5),
    "link-load": (6.3, 8.5),
    "scaling": (8.0, 4.0),
    "chips": (8.0, 3.0),
    "tornado": (8.0, 5.0),
    "gantt": (9.0, 4.4),
}
USUAL = (8.0, 4.4)


def examples() -> dict[str, str]:
    """Return the code of each picture, by its name, as the page has it; the last line draws."""
    return {name: code for code, name in SHOWN.findall(PAGE.read_text("utf-8"))}


def draw(code: str, ax: Axes) -> None:
    """Run the code of a picture, with its last line drawn on some axes."""
    scope: dict[str, Any] = {"ss": ss, "ax": ax}
    exec(code.rstrip().removesuffix(")") + ", ax=ax)", scope)  # noqa: S102 - the page's own examples


def main(names: list[str]) -> None:
    """Write the pictures of that name; all when none is given."""
    for name, code in examples().items():
        if not names or name in names:
            save_figure(HERE / f"{name}.png", partial(draw, code), SIZES.get(name, USUAL))


if __name__ == "__main__":
    main(sys.argv[1:])
