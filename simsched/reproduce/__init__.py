"""Published systems: the numbers of their papers against simulated ones."""

from simsched.renamed import old_names
from simsched.reproduce.crossed.crossed import crossed
from simsched.reproduce.crossed.jobs import JOBS, Job
from simsched.reproduce.crossed.table import Crossed, CrossedCell
from simsched.reproduce.published import Published, Quantity
from simsched.reproduce.reproduction import Reproduction
from simsched.reproduce.rows import Claim, Row
from simsched.reproduce.system import Predicted, System, reproduce, system_of
from simsched.rooms import make_callable

__all__ = [
    "JOBS",
    "Claim",
    "Crossed",
    "CrossedCell",
    "Job",
    "Predicted",
    "Published",
    "Quantity",
    "Reproduction",
    "Row",
    "System",
    "crossed",
    "reproduce",
    "system_of",
]

make_callable(__name__, reproduce)
__getattr__ = old_names(__name__, {"Run": "CrossedCell"})
