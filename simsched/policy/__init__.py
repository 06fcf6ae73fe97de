"""`Policy`, the read-only view, actions, layouts and placement."""

import sys
from types import ModuleType

from simsched.policy.candidates import CandidateRule
from simsched.policy.layout import Layout
from simsched.policy.policy import Policy, Start, policy
from simsched.policy.problem import Problem
from simsched.policy.rank_policy import RankPolicy
from simsched.policy.shortcuts import Shortcuts
from simsched.policy.view import Running, View

__all__ = [
    "CandidateRule",
    "Layout",
    "Policy",
    "Problem",
    "RankPolicy",
    "Running",
    "Shortcuts",
    "Start",
    "View",
    "policy",
]


class _Room(ModuleType):
    """`simsched.policy` is this room and, called, the function of its name: `ss.policy("...")`."""

    def __call__(self, source: str | Policy | type[Policy]) -> Policy:
        """See `simsched.policy.policy`."""
        return policy(source)


sys.modules[__name__].__class__ = _Room
