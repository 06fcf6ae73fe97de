"""The site is built as `make docs` does, with every notebook run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from kernels import forked_kernels

import simsched as ss

ROOT = Path(__file__).parents[2]
SITE = ROOT / "out" / "docs"
#: What a browser fetches by itself, from elsewhere.
FETCHED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\s(?:src|href)=["'](?:https?:)?//[^>]*""")


def _public() -> Iterator[str]:
    for found in walk_packages(ss.__path__, "simsched."):
        if found.ispkg:
            room = import_module(found.name)
            yield from (f"{found.name}.{name}" for name in getattr(room, "__all__", ()))


def _shown(name: str, told: set[str]) -> bool:
    """Tell whether the reference has it, in its room or in one around it that offers it, too."""
    *rooms, last = name.split(".")
    return any(".".join([*rooms[:n], last]) in told for n in range(1, len(rooms) + 1))


def test_the_site_builds_without_a_warning_shows_all_that_is_public_and_needs_no_network() -> None:
    with forked_kernels() as kernels:
        made = subprocess.run(
            [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-c", "docs", ".", "out/docs"],
            cwd=ROOT, capture_output=True, text=True, check=False,
            env=os.environ | {"JUPYTER_PATH": str(kernels)},
        )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="").data
    told = {name for kind, items in inventory.items() if kind.startswith("py:") for name in items}
    assert [name for name in _public() if not _shown(name, told)] == []
    fetching = {path.name: FETCHED.findall(path.read_text("utf-8")) for path in SITE.rglob("*.html")}
    assert {name: found for name, found in fetching.items() if found} == {}
    linked = re.findall(r"\]\(([^)]+)\)", (SITE / "llms.txt").read_text("utf-8"))
    assert linked
    assert [link for link in linked if not (SITE / link).is_file()] == []
