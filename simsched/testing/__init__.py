"""Test equipment for simsched and for policies of your own: random graphs and machines, invariants, a suite.

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
from simsched.testing.reading import Seed, check_reader, seeds_in

__all__ = [
    "Seed",
    "check_bounds",
    "check_cores",
    "check_engines",
    "check_graham",
    "check_policy",
    "check_precedence",
    "check_reader",
    "check_schedule",
    "check_work_conserving",
    "seeds_in",
]
