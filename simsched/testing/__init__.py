"""Test equipment for simsched and for policies, machines and readers of your own: random cases, invariants, suites.

>>> from simsched.testing import check_policy
>>> check_policy("critical-path", work_conserving=True, examples=5)
"""

from importlib.util import find_spec

from simsched.errors import MissingExtraError

if find_spec("hypothesis") is None:
    raise MissingExtraError("hypothesis", "test", "simsched.testing")

from simsched.testing.conformance import check_policy
from simsched.testing.equivalence import check_engines
from simsched.testing.invariants import (
    check_bounds,
    check_cores,
    check_graham,
    check_precedence,
    check_schedule,
    check_work_conserving,
)
from simsched.testing.machines import check_machine
from simsched.testing.reading import Seed, check_reader, seeds_in

__all__ = [
    "Seed",
    "check_bounds",
    "check_cores",
    "check_engines",
    "check_graham",
    "check_machine",
    "check_policy",
    "check_precedence",
    "check_reader",
    "check_schedule",
    "check_work_conserving",
    "seeds_in",
]
