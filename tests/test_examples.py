"""Everything public shows how it is used, in examples that pytest runs as doctests.

Public is what rooms list in `__all__`, what is registered by entry point, and the methods of the classes in `ss.NAME`;
properties may be shown by the example of their class.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import pytest

import simsched as ss
from simsched.graph.loading import Reader
from simsched.graph.saving import Writer

PROPERTIES = (property, cached_property)


def _rooms() -> Iterator[ModuleType]:
    packages = (import_module(found.name) for found in walk_packages(ss.__path__, "simsched.") if found.ispkg)
    return (room for room in packages if hasattr(room, "__all__"))


def _documented(thing: Any) -> Any:
    """Return what holds the docstring: a function or a class, that of an instance; None for constants."""
    if isinstance(thing, Reader):
        thing = thing.read
    if isinstance(thing, Writer):
        thing = thing.write
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    return thing if thing.__module__.startswith("simsched.") else None


def _listed() -> Iterator[tuple[str, Any]]:
    for name in ss.__all__:
        thing = getattr(ss, name)
        # A room that is callable stands for its function of that name.
        yield f"simsched.{name}", getattr(thing, name) if isinstance(thing, ModuleType) else thing
    for room in _rooms():
        yield from ((f"{room.__name__}.{name}", getattr(room, name)) for name in room.__all__)
    for group in sorted(entry_points().groups):
        for entry in entry_points(group=group):
            if group.startswith("simsched.") and entry.value.startswith("simsched."):
                yield entry.value, entry.load()


def _classes_typed() -> list[type]:
    return [thing for name in ss.__all__ if inspect.isclass(thing := getattr(ss, name))]


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    for base in cls.__mro__:
        if base.__module__.startswith("simsched."):
            for name, member in vars(base).items():
                if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, PROPERTIES)):
                    yield f"{base.__module__}.{base.__qualname__}.{name}", member


def _examples(thing: Any) -> list[doctest.Example]:
    """Return the examples of a docstring that run."""
    found = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
    return [example for example in found if not example.options.get(doctest.SKIP)]


def _shown_by_class(cls: type) -> str:
    return "".join(example.source for base in cls.__mro__ for example in _examples(base))


def _without_example() -> Iterator[str]:
    for place, thing in _listed():
        documented = _documented(thing)
        if documented is not None and not _examples(documented):
            yield place
    for cls in _classes_typed():
        shown = _shown_by_class(cls)
        for place, member in _members(cls):
            by_class = isinstance(member, PROPERTIES) and f".{place.rpartition('.')[2]}" in shown
            if not by_class and not _examples(member):
                yield place


def test_everything_public_has_an_example_that_runs():
    missing = sorted(set(_without_example()))
    assert not missing, f"{len(missing)} without an example in their docstring:\n" + "\n".join(missing)


@pytest.mark.parametrize("name", ss.__all__)
def test_what_users_type_is_public_under_its_own_name(name):
    thing = getattr(ss, name)
    assert (getattr(thing, name) if isinstance(thing, ModuleType) else thing).__name__ == name
