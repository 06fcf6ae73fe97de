"""The identity of code that users give: what it does, not where it stands."""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from simsched.errors import refuse_interrupt
from simsched.graph import TaskGraph
from simsched.graph.storage import digest
from simsched.policy import Policy

#: References that are followed one after another, and objects in all.
DEEPEST, MOST = 50, 100_000
#: Attributes of classes that change nothing that is replayed.
UNUSED = {"__repr__", "__annotate__", "__annotate_func__", "_abc_impl"}
#: Attributes with two underscores that are read, if they are of these types; others are Python's, some come with use.
METHODS = (FunctionType, classmethod, staticmethod, property)
INSTALLED = ("site-packages", "dist-packages")


def code_id(value: object) -> str:
    """Return the identity of a class or an object of a user: of its code, and of the values that this uses.

    It has the bytecode and constants of all methods, those of base classes up to simsched's, too; attributes and
    defaults; and what these refer to: globals, closures, attributes of modules, and so on, from function to function.
    The same code has the same identity in each run of one version of Python, wherever it stands. Libraries count by
    name; "" where a class is simsched's or of Python's own library.

    Examples
    --------
    >>> import simsched as ss
    >>> made = [type("Mine", (ss.Policy,), {"__module__": "mine", "width": width}) for width in (1, 1, 2)]
    >>> first, same, other = (code_id(one) for one in made)
    >>> first == same, first == other, code_id(ss.policy("fifo"))
    (True, False, '')
    """
    home = _package((value if isinstance(value, type) else type(value)).__module__)
    if _is_library(home):
        return ""
    return hashlib.sha256(json.dumps(_Reader(home).plain(value, 0)).encode()).hexdigest()


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_library(package: str) -> bool:
    return package == "simsched" or package in sys.stdlib_module_names or package == "builtins"


class _Reader:
    """Reader of some code and all that it uses, as plain values; what it has read before is a number.

    Parameters
    ----------
    home : str
        Package whose code is followed, wherever it is installed.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.seen: dict[object, tuple[int, object]] = {}

    def follows(self, module: str | None) -> bool:
        """Return whether code of a module is read: not that of libraries."""
        if (package := _package(module)) == self.home:
            return True
        file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
        return not _is_library(package) and not any(folder in file for folder in INSTALLED)

    def plain(self, value: Any, depth: int) -> Any:
        """Return the content of anything as lists of text and numbers."""
        if value is None or type(value) in (bool, int, float, complex, str, bytes, range, type(...)):
            return repr(value)
        if id(value) in self.seen:
            return self.seen[id(value)][0]
        if depth > DEEPEST or len(self.seen) > MOST:
            return ["..."]
        # It is kept, so that nothing else gets its id.
        self.seen[id(value)] = len(self.seen), value
        try:
            return [type(value).__name__, *self._read(value, depth + 1)]
        except Exception as error:
            # Objects of others may raise anything when they are read; a sweep runs all the same.
            refuse_interrupt(error)
            return [type(value).__name__]

    def _read(self, value: Any, depth: int) -> Iterator[Any]:
        if isinstance(value, FunctionType):
            yield from self._function(value, depth)
        elif isinstance(value, type):
            yield from self._class(value, depth)
        elif (parts := _parts(value)) is not None:
            for part in parts:
                yield self.plain(part, depth)
        else:
            yield from self._object(value, depth)

    def _function(self, value: FunctionType, depth: int) -> Iterator[Any]:
        if not self.follows(value.__module__):
            yield f"{value.__module__}:{value.__qualname__}"
            return
        code = value.__code__
        yield _code(code, value.__doc__)
        yield self.plain([value.__defaults__, value.__kwdefaults__, vars(value)], depth)
        for cell in value.__closure__ or ():
            try:
                yield self.plain(cell.cell_contents, depth)
            except ValueError:
                yield "empty"
        names = _names(code)
        for name in sorted(_loaded(code, "IMPORT_NAME")):
            yield name, self._imported(name, names, depth)
        for name in sorted(_loaded(code, "LOAD_GLOBAL", "LOAD_NAME") & value.__globals__.keys()):
            yield name, self._global(value.__globals__[name], names, depth)

    def _global(self, value: Any, names: set[str], depth: int) -> Any:
        return (
            self._module(value, names, depth + 1)
            if isinstance(value, ModuleType)
            else self.plain(value, depth)
        )

    def _imported(self, name: str, names: set[str], depth: int) -> Any:
        """Return what a function has of a module that it imports itself, whether or not it did so yet."""
        try:
            return None if _is_library(_package(name)) else self._module(import_module(name), names, depth)
        except (ImportError, ValueError):
            return None

    def _module(self, value: ModuleType, names: set[str], depth: int) -> Any:
        """Return the attributes of a module that have some of these names."""
        if not self.follows(value.__name__) or depth > DEEPEST:
            return value.__name__
        found = {name: one for name, one in vars(value).items() if name in names}
        return [(name, self._global(one, names - {name}, depth)) for name, one in sorted(found.items())]

    def _class(self, value: type, depth: int) -> Iterator[Any]:
        for base in value.__mro__:
            yield base.__qualname__
            mine = issubclass(base, Policy) and not _is_library(_package(base.__module__))
            if mine or self.follows(base.__module__):
                yield self._attributes({k: v for k, v in vars(base).items() if _counts(k, v)}, depth)

    def _object(self, value: Any, depth: int) -> Iterator[Any]:
        cls = type(value)
        yield f"{cls.__module__}:{cls.__qualname__}"
        if (package := _package(cls.__module__)) != "simsched" and _is_library(package):
            yield _said(value)
            return
        if package == "simsched" and is_dataclass(value) and not isinstance(value, Policy):
            # Beside its fields it has what it worked out when somebody asked.
            yield self._attributes({one.name: getattr(value, one.name) for one in fields(value)}, depth)
            return
        if self.follows(cls.__module__) or isinstance(value, Policy):
            yield self.plain(cls, depth)
        slots = [name for base in cls.__mro__ for name in _listed(vars(base).get("__slots__", ()))]
        found = {name: getattr(value, name) for name in slots if name != "__dict__" and hasattr(value, name)}
        found |= getattr(value, "__dict__", {})
        known = {name for name in found if isinstance(getattr(cls, name, None), functools.cached_property)}
        yield self._attributes({name: one for name, one in found.items() if name not in known}, depth)
        if not found:
            yield _said(value)

    def _attributes(self, found: Mapping[str, Any], depth: int) -> list[Any]:
        return [(name, self.plain(found[name], depth)) for name in sorted(found)]


def _counts(name: str, value: object) -> bool:
    return name not in UNUSED and (not name.startswith("__") or isinstance(value, METHODS))


def _listed(slots: str | Iterable[str]) -> list[str]:
    return [slots] if isinstance(slots, str) else list(slots)


def _said(value: object) -> str:
    """Return the text of an object; nothing where that has an address."""
    return "" if " at 0x" in (said := repr(value)) else said


#: What containers, descriptors and functions in others consist of.
PARTS: list[tuple[Any, Callable[[Any], list[Any]]]] = [
    (TaskGraph, lambda graph: [digest(graph)]),
    (Mapping, lambda found: [part for item in found.items() for part in item]),
    (list | tuple | deque, list),
    # In the order of their texts: their own is another in each process.
    (set | frozenset, lambda found: sorted(_said(one) or type(one).__name__ for one in found)),
    (functools.partial | functools.partialmethod, lambda one: [one.func, one.args, one.keywords]),
    (property, lambda one: [one.fget, one.fset, one.fdel]),
    (MethodType, lambda one: [one.__func__, one.__self__]),
    (functools.cached_property, lambda one: [one.func]),
]


def _parts(value: Any) -> list[Any] | None:
    """Return what containers, arrays, descriptors and wrapped functions consist of; None for others."""
    for kind, parts in PARTS:
        if isinstance(value, kind):
            return parts(value)
    # Of class methods, static methods, and functions with a cache.
    if (inner := getattr(value, "__wrapped__", None)) is not None:
        return [inner]
    return _array(value) if hasattr(type(value), "__array__") else None


def _array(value: Any) -> list[Any] | None:
    try:
        array = np.ascontiguousarray(value)
    except (TypeError, ValueError, RuntimeError):
        return None
    if array.dtype.hasobject:
        return array.ravel().tolist()
    return [array.dtype.str, str(array.shape), hashlib.sha256(array.data).hexdigest()]


def _code(code: CodeType, doc: str | None = None) -> list[Any]:
    """Return the instructions of a function and all that they name but for its place, its lines and its docstring."""
    told = ["" if doc and one == doc else one for one in code.co_consts]
    consts = [_code(one) if isinstance(one, CodeType) else _constant(one) for one in told]
    if "__firstlineno__" in code.co_names:
        # A class in a function: Python 3.13 puts its line among its constants.
        consts = [one for one in consts if one != repr(code.co_firstlineno)]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    return [code.co_code.hex(), code.co_exceptiontable.hex(), consts, counts, names]


def _constant(value: object) -> Any:
    if isinstance(value, tuple):
        return [_constant(one) for one in value]
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> set[str]:
    inner = (_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return {*code.co_names}.union(*inner)


def _loaded(code: CodeType, *instructions: str) -> set[str]:
    """Return what some instructions of a function, and of those in it, name."""
    inner = (_loaded(one, *instructions) for one in code.co_consts if isinstance(one, CodeType))
    return {one.argval for one in dis.get_instructions(code) if one.opname in instructions}.union(*inner)
