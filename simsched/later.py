"""Later rooms in the order of imports, for the methods that open them when they are called: `Schedule.gantt`."""

from importlib import import_module
from typing import Any


def later(name: str) -> Any:
    """Return the object of a user's name, such as `plots` or `TaskGraph`, loaded on demand.

    Imports run one way through the rooms (tests/test_rooms.py). A method whose answer belongs to a later room takes it
    from here.

    Examples
    --------
    >>> later("TaskGraph").from_edges([1.0, 2.0]).n_tasks
    2
    """
    return getattr(import_module("simsched"), name)
