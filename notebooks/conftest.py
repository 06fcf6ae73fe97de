"""Notebooks that really run graphs are left out where the compiled module of real runs is missing, and it is said."""

from simsched.errors import EngineError
from simsched.execute.module import module

try:
    module()
    collect_ignore = []
except EngineError:
    collect_ignore = ["02_calibrate_and_check.ipynb"]


def pytest_report_header() -> list[str]:
    """Say what is left out."""
    return [
        f"left out, as the compiled module of real runs is missing: notebooks/{name}"
        for name in collect_ignore
    ]
