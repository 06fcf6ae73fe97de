"""`Policy`, the read-only view, actions, layouts and placement."""

from simsched.policy.candidates import CandidateRule
from simsched.policy.layout import Layout
from simsched.policy.planned_policy import Assignment, PlannedPolicy
from simsched.policy.platform import Platform
from simsched.policy.policy import Policy, Start, policy
from simsched.policy.problem import Problem, Running, View
from simsched.policy.rank_policy import RankPolicy
from simsched.policy.shortcuts import Shortcuts
from simsched.rooms import make_callable

__all__ = [
    "Assignment",
    "CandidateRule",
    "Layout",
    "PlannedPolicy",
    "Platform",
    "Policy",
    "Problem",
    "RankPolicy",
    "Running",
    "Shortcuts",
    "Start",
    "View",
    "policy",
]

make_callable(__name__, policy)
