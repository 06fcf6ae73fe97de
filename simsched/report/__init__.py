"""Reports on a graph, a machine and some policies, as one page or as Markdown."""

from __future__ import annotations

from simsched.renamed import old_names
from simsched.report.findings import Findings
from simsched.report.question import PolicyRun, Question
from simsched.report.report import Report, report
from simsched.rooms import make_callable

__all__ = ["Findings", "PolicyRun", "Question", "Report", "report"]

make_callable(__name__, report)
__getattr__ = old_names(__name__, {"Run": "PolicyRun"})
