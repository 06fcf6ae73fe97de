"""Old names of the interface, which go on working for a release."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller of whoever calls this that a name of the interface is now another one.

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
