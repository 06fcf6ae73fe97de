"""What names between backticks in docstrings become: links where the reference has them, and else code."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import reduce
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from docutils.nodes import Element, TextElement
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

import simsched as ss

PAGE = re.compile(r"(?<![\w/`])docs/([\w/-]+)\.md\b")
ALIAS = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")


def locate(name: str) -> Any:
    """Return what a dotted name means, or None; of a room and a function of one name the room, which the rest is in."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        with suppress(ImportError, AttributeError):
            return reduce(getattr, parts[n:], import_module(".".join(parts[:n])))
    return None


class NameRole(PyXRefRole):
    """A name as it stands: in Sphinx's own role a dot before it means any of the many objects that end so."""

    def process_link(
        self, env: BuildEnvironment, refnode: Element, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Look from the room and the class that the docstring stands in."""
        refnode["refdomain"], refnode["reftype"] = "py", "obj"
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        return title, target


def resolve(app: Sphinx, env: BuildEnvironment, node: Element, contnode: TextElement) -> Element | None:
    """Link what is documented under another name; leave what exists and is not public as code; refuse all else."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("simsched."):
        return None
    place = _documented(env, target)
    if place is not None:
        documented = env.domains.python_domain.objects[place]
        return make_refnode(
            app.builder, node["refdoc"], documented.docname, documented.node_id, contnode, place
        )
    return contnode if locate(target) is not None or target in entry_points().groups else None


def link_pages(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Link the pages that docstrings name by their files."""
    lines[:] = [PAGE.sub(r":doc:`/docs/\1`", line) for line in lines]


def name_aliases(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Show aliases of types by their names, not as Sphinx holds them, and made defaults as something it can read."""
    shown = signature and ALIAS.sub(r"\1", signature).replace("<factory>", "...")
    return shown, returned and ALIAS.sub(r"\1", returned)


def _documented(env: BuildEnvironment, target: str) -> str | None:
    """Return the name under which the reference has `target`, which may be `simsched.load` or a file's own name."""
    name, _, rest = target.removeprefix("simsched.").partition(".")
    objects = env.domains.python_domain.objects
    typed = f"{ss._HOMES.get(name, '')}.{name}{rest and '.'}{rest}"
    if typed in objects:
        return typed
    thing: Any = locate(target)
    same = (place for place in objects if place.endswith(f".{target.rpartition('.')[2]}"))
    return next((place for place in same if thing is not None and locate(place) is thing), None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx the role and the event."""
    app.add_role("name", NameRole())
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("autodoc-process-signature", name_aliases)
    return {"parallel_read_safe": True}
