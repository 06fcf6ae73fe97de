"""The spec that identifies a policy: its name, and the parameters that are not their defaults."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.spec import Scalar, Spec

if TYPE_CHECKING:
    from simsched.policy.policy import Policy

#: Most characters that an array among a policy's parameters has in its spec, as a list.
SHOWN = 40


def spec_of(policy: Policy) -> Spec:
    """Return the spec of a policy; a larger array appears as a digest only, which makes no policy again.

    Examples
    --------
    >>> import simsched as ss
    >>> spec_of(ss.policy("fifo[order=lifo,small_s=0.0]"))
    Spec(name='fifo', params={'order': 'lifo'})
    """
    values = {f.name: getattr(policy, f.name) for f in fields(policy) if not _is_default(policy, f)}
    shown = {key: _told(value) for key, value in (values | _set_by_hand(policy)).items()}
    return Spec(policy.name or type(policy).__name__, shown)


def _is_default(policy: Policy, parameter: Field[object]) -> bool:
    value: Any = getattr(policy, parameter.name)
    default: Any = parameter.default
    if parameter.default_factory is not MISSING:
        default = parameter.default_factory()
    if _is_array(value) or _is_array(default):
        return bool(np.array_equal(value, default))
    return bool(value == default)


def _set_by_hand(policy: Policy) -> dict[str, Scalar]:
    """Return the numbers and words kept by a class with its own `__init__`, which identify it in tables."""
    declared = {f.name for f in fields(policy)}
    return {
        key: value
        for key, value in vars(policy).items()
        if key not in declared
        and isinstance(value, Scalar)
        and not isinstance(getattr(type(policy), key, None), cached_property)
    }


def _told(value: Any) -> Any:
    """Return a parameter as shown in specs: of a larger array its type, its shape and a digest."""
    if not _is_array(value):
        return value
    array = np.asarray(value)
    if array.size < SHOWN and len(str(listed := array.tolist())) <= SHOWN:
        return listed
    content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
    shape = "x".join(map(str, array.shape))
    return f"{array.dtype}:{shape}:{sha256(content).hexdigest()[:8]}"


def _is_array(value: object) -> bool:
    return hasattr(value, "__array__")
