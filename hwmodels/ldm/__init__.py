"""The planner of local device memory (LDM) for a core group of SW26010, after swTVM (Sec. 5).

group = core_group(ss.machine("sw26010"))
plan(convolution(channels=96, filters=256, size=27, kernel=5, padding=2), group).seconds
"""

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.group import CoreGroup, DmaCurve
from simsched.hwmodels.ldm.kernels import bias, convolution, elementwise, matmul, pooling
from simsched.hwmodels.ldm.nest import Access, LoopNest
from simsched.hwmodels.ldm.plain_loops import no_reuse
from simsched.hwmodels.ldm.planning import Plan, plan, plan_by_doubling
from simsched.hwmodels.ldm.schema import LdmTable, core_group
from simsched.hwmodels.ldm.shared_tiles import register_communication
from simsched.hwmodels.ldm.times import Times

__all__ = [
    "Access",
    "CoreGroup",
    "DmaCurve",
    "LdmTable",
    "LoopNest",
    "NestError",
    "Plan",
    "Times",
    "bias",
    "convolution",
    "core_group",
    "elementwise",
    "matmul",
    "no_reuse",
    "plan",
    "plan_by_doubling",
    "pooling",
    "register_communication",
]
