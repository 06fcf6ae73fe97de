"""Published systems: what their papers say beside what is simulated."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from simsched.reproduce.crossed import crossed
from simsched.reproduce.crossed_jobs import JOBS, Job
from simsched.reproduce.crossed_table import Crossed, Run
from simsched.reproduce.published import Published, Quantity
from simsched.reproduce.reproduction import Reproduction
from simsched.reproduce.rows import Claim, Row
from simsched.reproduce.system import Predicted, System, reproduce, system_of
from simsched.spec import Scalar

__all__ = [
    "JOBS",
    "Claim",
    "Crossed",
    "Job",
    "Predicted",
    "Published",
    "Quantity",
    "Reproduction",
    "Row",
    "Run",
    "System",
    "crossed",
    "reproduce",
    "system_of",
]


class _Room(ModuleType):
    """`simsched.reproduce` is this room and, called, the function of its name: `ss.reproduce("...")`."""

    def __call__(
        self,
        source: str | System,
        /,
        tables: Sequence[str] | None = None,
        *,
        progress: Callable[[int], object] | None = None,
        **choices: Scalar,
    ) -> Reproduction:
        """See `simsched.reproduce.system.reproduce`."""
        return reproduce(source, tables, progress=progress, **choices)


sys.modules[__name__].__class__ = _Room
