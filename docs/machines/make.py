"""Write the numbers and the picture of each machine's page: python docs/machines/make.py.

A page is written by hand but for what stands between its two marks.
"""

from __future__ import annotations

from pathlib import Path

import simsched as ss
from simsched.plots.machine import figure_size
from simsched.plots.picture import save_figure
from simsched.plugins import named

HERE = Path(__file__).parent
BEGIN = "<!-- made by docs/machines/make.py -->"
END = "<!-- as far as here -->"


def pages() -> list[Path]:
    """Return the pages, one a machine."""
    return sorted(HERE.glob("*.md"), key=lambda page: page.stem)


def numbers(name: str) -> str:
    """Return what a page says of a machine's numbers, in Markdown: its structure, and a row a number."""
    machine = ss.machine(name)
    facts = [f"- {key}: {value}" for key, value in machine.structure.facts().items()]
    rows = [
        f"| `{fact.key}` | {_shown(fact.value)} | {fact.unit} | {fact.source} | {fact.confidence} |"
        for fact in machine.facts
    ]
    head = ["| key | value | unit | source | confidence |", "| --- | --- | --- | --- | --- |"]
    picture = f"![{machine.title}]({name}.png)"
    return "\n".join([BEGIN, picture, "", *facts, "", *head, *rows, "", *_sources(name), END])


def _sources(name: str) -> list[str]:
    """Return the comment at the head of a machine's file: what confidence means, and the sources by short name."""
    lines = []
    for line in named("machines", name)().read_text("utf-8").splitlines():
        if not line.startswith("#"):
            return lines
        text = line.removeprefix("#")
        if text.startswith("   ") and not text.startswith("    "):
            # A blank line before the first makes it a list.
            lines += ([] if lines and lines[-1].startswith(("-", " ")) else [""]) + [f"- {text.strip()}"]
        else:
            lines.append(f"  {text.strip()}" if text.startswith("    ") else text.strip())
    return lines


def _shown(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{part:.10g}" for part in value)
    return f"{value:.10g}"


def refreshed(page: Path) -> str:
    """Return the text of a page with the numbers of its machine as they are now."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + numbers(page.stem) + after


def main() -> None:
    """Write all pages and pictures."""
    for page in pages():
        page.write_text(refreshed(page), "utf-8")
        machine = ss.machine(page.stem)
        save_figure(page.with_suffix(".png"), machine.draw, size=figure_size(machine.structure.picture()))


if __name__ == "__main__":
    main()
