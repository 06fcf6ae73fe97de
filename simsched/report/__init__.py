"""Everything that simsched can say of a graph, a machine and some policies, as one page or as Markdown."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from simsched.report.findings import Findings, Run
from simsched.report.question import Question
from simsched.report.report import Report, report

__all__ = ["Findings", "Question", "Report", "Run", "report"]


class _Room(ModuleType):
    """`simsched.report` is this room and, called, the function of its name: `ss.report(graph, machine)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        """See `simsched.report.report`."""
        return report(*arguments, **options)


sys.modules[__name__].__class__ = _Room
