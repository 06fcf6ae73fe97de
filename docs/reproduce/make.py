"""Write the tables and the pictures of each reproduction's page: python docs/reproduce/make.py [NAME]...

A page is written by hand but for what stands between its two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path

import simsched as ss
from simsched.reproduce import Reproduction
from simsched.reproduce.export import write_pictures

HERE = Path(__file__).parent
BEGIN = "<!-- made by docs/reproduce/make.py -->"
END = "<!-- as far as here -->"


def tables(made: Reproduction, pictures: list[Path]) -> str:
    """Return what a page says of a reproduction, in Markdown: summary, inputs, tables, statements, pictures."""
    # Title and citation are the page's own.
    body = "\n".join(made.to_markdown().splitlines()[4:]).replace("\n## ", "\n### ")
    shown = [f"![{path.stem}](<{path.name}>)" for path in pictures]
    return "\n".join([BEGIN, body, "", *shown, END])


def main() -> None:
    """Write the pages named, or all."""
    for name in sys.argv[1:] or [page.stem for page in sorted(HERE.glob("*.md"))]:
        page, made = HERE / f"{name}.md", ss.reproduce(name)
        before, _, rest = page.read_text("utf-8").partition(BEGIN)
        text = tables(made, list(write_pictures(HERE, made)))
        page.write_text(before + text + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
