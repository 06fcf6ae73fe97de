"""Learning from recordings: seconds, slow-downs, starts and interruptions of a host; predictions from them."""

from simsched.learning.learn import learn
from simsched.learning.learned import Learned
from simsched.learning.rows import KindSeconds, Run, Slowdown, StartCost

__all__ = ["KindSeconds", "Learned", "Run", "Slowdown", "StartCost", "learn"]
