"""Write the tables and the pictures of each reproduction's page, and of `crossed`.

    python docs/reproduce/make.py [NAME]...

A page is written by hand but for what stands between its two marks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import simsched as ss
from simsched.reproduce import Reproduction
from simsched.reproduce.crossed.table import matrix_text, place, write_heat_maps
from simsched.reproduce.reproduction import write_pictures

HERE = Path(__file__).parent
BEGIN = "<!-- made by docs/reproduce/make.py -->"
END = "<!-- as far as here -->"


def tables(name: str) -> str:
    """Return what a page says of a reproduction, in Markdown: summary, inputs, tables, statements, pictures."""
    made: Reproduction = ss.reproduce(name)
    # Title and citation are the page's own.
    return page(made.to_markdown().splitlines()[4:], write_pictures(HERE, made))


def crossed() -> str:
    """Return what the page of `crossed` says: tables and heat maps, and the matrices where bandwidth is not shared."""
    found, free = ss.crossed(), ss.crossed(variation={"share_bandwidth": False})
    lines = found.to_markdown().splitlines()[1:]
    for on in free.machines:
        lines += [
            "",
            f"## {place(on)}, bandwidth of memory not shared: geometric means",
            "",
            matrix_text(free, on),
        ]
    return page(lines, write_heat_maps(HERE, found))


def page(lines: list[str], pictures: Iterable[Path]) -> str:
    """Return lines and pictures between the marks, titles a level lower."""
    body = "\n".join(lines).replace("\n## ", "\n### ")
    shown = [f"![{path.stem}](<{path.name}>)" for path in pictures]
    return "\n".join([BEGIN, body, "", *shown, END])


def main() -> None:
    """Write the pages named, or all."""
    for name in sys.argv[1:] or [page.stem for page in sorted(HERE.glob("*.md"))]:
        file = HERE / f"{name}.md"
        text = crossed() if name == "crossed" else tables(name)
        before, _, rest = file.read_text("utf-8").partition(BEGIN)
        file.write_text(before + text + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
