"""Names of kernels that ran on a device, as kinds."""

from __future__ import annotations

import re

_CUT = re.compile(r"[<(]")


def kernel_kind(name: str) -> str:
    """Return a kernel's kind: the name of its function, without types and arguments.

    Examples
    --------
    >>> kernel_kind("void at::native::(anonymous namespace)::gather<float, 4>(int, float*)")
    'at::native::gather'
    >>> kernel_kind("Memcpy HtoD (Pageable -> Device)")
    'Memcpy HtoD'
    """
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    return _CUT.split(plain, maxsplit=1)[0].strip() or name
