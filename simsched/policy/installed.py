"""The default policies of a comparison: all that are installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simsched.defaults import BASELINE
from simsched.plugins import registered
from simsched.policy.policy import policies

if TYPE_CHECKING:
    from simsched.policy.policy import Policy


def policies_or_all(sources: Iterable[str | Policy | type[Policy]] | None) -> list[Policy]:
    """Return the given policies, at least one, or by default all that are installed, the baseline first.

    Raises
    ------
    SpecError
        If one is given in the place of a list of them, or a list of none.

    Examples
    --------
    >>> str(policies_or_all(None)[0]), [str(one) for one in policies_or_all(["fifo", "corun"])]
    ('sequential', ['fifo', 'corun'])
    """
    if sources is None:
        return policies(sorted(registered("policies"), key=lambda name: (name != BASELINE, name)))
    return policies(sources)
