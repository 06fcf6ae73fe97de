"""Old names of the interface, which keep working for a release."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Class = TypeVar("Class")


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller's caller that a name of the interface has been replaced.

    Examples
    --------
    >>> import pytest
    >>> def old_name():
    ...     warn_renamed("old_name", "new_name")
    >>> with pytest.warns(DeprecationWarning, match="old_name is now new_name"):
    ...     old_name()
    """
    said = f"{old} is now {new}; the old name goes with the next release"
    warnings.warn(said, DeprecationWarning, stacklevel)


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that knows old names, each with the new one.

    Examples
    --------
    >>> import pytest
    >>> import simsched.costs
    >>> with pytest.warns(DeprecationWarning, match="two_point_curve"):
    ...     same = simsched.costs.curve_through is simsched.costs.two_point_curve
    >>> same
    True
    """

    def found(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", f"{module}.{names[name]}")
        return getattr(sys.modules[module], names[name])

    return found


def old_arguments(**names: str) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]:
    """Let a function take arguments by their old names, each given with the new one, and warn of it.

    Examples
    --------
    >>> import pytest
    >>> @old_arguments(most="max_rows")
    ... def shown(max_rows=8):
    ...     return max_rows
    >>> with pytest.warns(DeprecationWarning, match="shown[(]most=[)] is now shown[(]max_rows=[)]"):
    ...     shown(most=3)
    3
    """

    def decorated(call: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
        @functools.wraps(call)
        def renamed(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
            for old in [name for name in kwargs if name in names]:
                called = call.__qualname__.removesuffix(".__init__")
                warn_renamed(f"{called}({old}=)", f"{called}({names[old]}=)")
                kwargs[names[old]] = kwargs.pop(old)
            return call(*args, **kwargs)

        return renamed

    return decorated


def old_fields(**names: str) -> Callable[[type[Class]], type[Class]]:
    """Let a dataclass, and specs of it, know fields by their old names, each given with the new one, and warn of it.

    Examples
    --------
    >>> import pytest
    >>> from simsched.policy import Shortcuts
    >>> import numpy as np
    >>> none = np.zeros(2, bool)
    >>> with pytest.warns(DeprecationWarning, match="Shortcuts.apart is now Shortcuts.single_threaded"):
    ...     Shortcuts(none, none).apart.tolist()
    [False, False]
    """

    def decorated(cls: type[Class]) -> type[Class]:
        def value(self: object, name: str) -> Any:
            if name not in names:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warn_renamed(f"{cls.__name__}.{name}", f"{cls.__name__}.{names[name]}")
            return getattr(self, names[name])

        made = old_arguments(**names)(vars(cls)["__init__"])
        for name, member in (("__init__", made), ("__getattr__", value), ("old_fields", names)):
            setattr(cls, name, member)
        return cls

    return decorated


def new_keys(cls: type, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a spec gives by new names; see `old_fields`."""
    names: Mapping[str, str] = getattr(cls, "old_fields", {})
    for old in given.keys() & names.keys():
        warn_renamed(f"{name}[{old}=...]", f"{name}[{names[old]}=...]", stacklevel=4)
    return {names.get(key, key): value for key, value in given.items()}
