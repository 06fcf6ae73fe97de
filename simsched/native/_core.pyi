"""The compiled core of simsched."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

def longest_path(
    indptr: Annotated[
        NDArray[numpy.int64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    indices: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    order: Annotated[
        NDArray[numpy.int32], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
    weights: Annotated[
        NDArray[numpy.float64], {"shape": (None,), "order": "C", "device": "cpu", "writable": False}
    ],
) -> Annotated[NDArray[numpy.float64], {"shape": (None,)}]:
    """
    Return weights[i] + max(result of i's neighbours, 0 if none) for every node i.

    indptr: int64 (n + 1,); indices: int32 (m,); order: int32 (n,), every neighbour before its node;
    weights: float64 (n,). Nothing is copied or converted; arrays that do not fit raise.
    """
