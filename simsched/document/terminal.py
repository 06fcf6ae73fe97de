"""What fits the terminal: its width, lines folded at words, Markdown with its tables laid out."""

from __future__ import annotations

import re
import shutil
import sys
from itertools import groupby

from simsched.document.markdown import unmarked
from simsched.document.table_layout import Column, laid_out
from simsched.text import cells_of, folded

#: Narrower than this nothing is laid out for.
LEAST_WIDTH = 40
#: What stands before the text of a line: a note's mark, or a name and the spaces that align what is said of it.
_HEAD = re.compile(r"\s*(?:note: |- |\S+(?: \S+)*\s{2,})?")
_NUMBER = re.compile(r"[-+±]?\d[\d.,]*(?:e[-+]?\d+)?(?: ?(?:%|s|ms|µs|ns))?")


def width() -> int | None:
    """Return how many cells a line may have: COLUMNS, else those of the terminal; None where output goes elsewhere."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, LEAST_WIDTH)


def fitted(line: str, cells: int | None) -> str:
    r"""Return a line folded at words, what goes on below what is said and not below the name before it.

    Examples
    --------
    >>> print(fitted("  layout        one team of all cores, or many", 36))
      layout        one team of all
                    cores, or many
    """
    if cells is None or cells_of(line) <= cells:
        return line
    head = _HEAD.match(line)
    end = min(head.end() if head else 0, cells // 2)
    return "\n".join(folded(line[end:], cells, line[:end], " " * end))


def fitted_markdown(markdown: str, cells: int | None) -> str:
    r"""Return Markdown as it is where it goes to a file or a pipe, and else with tables laid out and lines folded.

    Examples
    --------
    >>> print(fitted_markdown("| op | time |\n| --- | --- |\n| MatMul | 3 ms |\n", 40))
    op     time
    MatMul 3 ms
    """
    if cells is None:
        return markdown
    parts = []
    for is_table, lines in groupby(markdown.strip("\n").split("\n"), lambda line: line.startswith("| ")):
        block = list(lines)
        parts += [_table(block, cells)] if is_table else [fitted(unmarked(line), cells) for line in block]
    return "\n".join(parts)


def _table(lines: list[str], cells: int) -> str:
    titles, _, *rows = ([unmarked(cell) for cell in line[2:-2].split(" | ")] for line in lines)
    columns = [[row[i] for row in rows] for i in range(len(titles))]
    return laid_out(
        [
            Column(title, column, not all(map(_NUMBER.fullmatch, filter(None, column))))
            for title, column in zip(titles, columns, strict=True)
        ],
        cells,
    )
