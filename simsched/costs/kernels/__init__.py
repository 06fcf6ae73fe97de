"""Kernels: seconds of a matrix product, a convolution, an element-wise op or a stream on a machine, from its shape.

A substitute for recorded durations where there are none; checked against measured tables (docs/measured.md).

Examples
--------
>>> import simsched as ss
>>> from simsched.costs.kernels import Team, gemm_s
>>> machine = ss.machine("knl-7250")
>>> gemm_s(64, 512, 512, Team(machine, 8)) < gemm_s(64, 512, 512, Team(machine, 1))
True
"""

from simsched.costs.kernels.convolution import Convolution, convolution_s, gemm_s
from simsched.costs.kernels.library import Parameters, parameters
from simsched.costs.kernels.stream import Stream, elementwise_s, loop_s, stream_Bps, stream_s
from simsched.costs.kernels.team import Team

__all__ = [
    "Convolution",
    "Parameters",
    "Stream",
    "Team",
    "convolution_s",
    "elementwise_s",
    "gemm_s",
    "loop_s",
    "parameters",
    "stream_Bps",
    "stream_s",
]
