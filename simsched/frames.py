"""Tables that objects build once and hand out as copies."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

if TYPE_CHECKING:
    from pandas import DataFrame


class FrameProperty(cached_property["DataFrame"]):
    """A table that is built on first use; each use is a copy, so that changing one changes neither object nor others.

    Examples
    --------
    >>> import pandas as pd
    >>> class Run:
    ...     @FrameProperty
    ...     def tasks(self):
    ...         return pd.DataFrame({"start_s": [1.0]})
    >>> run = Run()
    >>> edited = run.tasks
    >>> edited["start_s"] *= 1e3
    >>> run.tasks["start_s"].tolist()
    [1.0]
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> DataFrame: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | DataFrame:
        if instance is None:
            return self
        import pandas as pd

        kept, name = vars(instance), f"_{self.attrname}_frame"  # not the property's name, which would hide it
        if name not in kept:
            kept[name] = self.func(instance)
        frame: DataFrame = kept[name]
        # From version 3 on, pandas copies what is written to, when it is.
        return frame.copy(deep=pd.__version__.startswith("2."))
