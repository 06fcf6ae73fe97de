"""`Policy`, the read-only view, actions, layouts and placement."""

from simsched.policy.layout import Layout
from simsched.policy.policy import Policy, RankPolicy, Start, policy
from simsched.policy.problem import Problem
from simsched.policy.view import Running, View

__all__ = ["Layout", "Policy", "Problem", "RankPolicy", "Running", "Start", "View", "policy"]
