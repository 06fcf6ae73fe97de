"""Kernels of tasks, from their kinds and the shapes of their inputs."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.errors import EngineError
from simsched.execute.kernels import rules, window_rules
from simsched.graph.recording import NO_OPS
from simsched.graph.shapes import parse_shape
from simsched.parameters import is_whole

Options = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class _Operator:
    """Kernel and rule of a kind of tasks.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    rule : callable
        Maps the visible properties of a task to the sizes of the kernel.
    alike : bool
        Whether the kernel is a substitute of about the same cost.
    """

    kernel: str
    rule: rules.Rule
    alike: bool


def plain(kind: str) -> str:
    """Return a kind as the table spells it; those of what ran on a device or launched it stay, as the table has none.

    Examples
    --------
    >>> plain("aten::add_"), plain("MatMul"), plain("aten::tanh_backward"), plain("launch::mm")
    ('add', 'matmul', 'tanh_backward', 'launch::mm')
    """
    if kind.startswith(NO_OPS):
        return kind
    return kind.rpartition("::")[2].rpartition(".")[2].lower().removesuffix("_")


def sizes(
    kind: str, shape: str, flops: float, options: Options, bytes_B: float = math.nan
) -> tuple[str, tuple[int, ...]] | None:
    """Return the kernel of a task and its sizes; None where the kind is unknown or the shapes do not fit it.

    Parameters
    ----------
    kind, shape : str
        As in `TaskGraph`.
    flops : float
        Floating-point operations; NaN where unknown.
    options : mapping of str to mapping of str to int
        By kind, facts unknown from shapes.
    bytes_B : float
        Bytes read and written; NaN where unknown.
    """
    operators, defaults = _table()
    operator = operators.get(plain(kind))
    if operator is None or not shape:
        return None
    own = {plain(k): v for k, v in options.items()}.get(plain(kind), {})
    seen = rules.Seen(parse_shape(shape), flops, {**defaults, **own}, frozenset(own), bytes_B)
    found = operator.rule(seen)
    # Sizes beyond what BLAS counts, and empty tensors: nothing to run.
    if found is None or not all(0 <= size < 2**31 for size in found):
        return None
    return operator.kernel, tuple(found)


def stands_in(kind: str) -> bool:
    """Return whether the kernel of a kind is a substitute of about the same cost."""
    operator = _table()[0].get(plain(kind))
    return operator is not None and operator.alike


def kinds() -> list[str]:
    """Return all kinds that have kernels, as the table spells them."""
    return sorted(_table()[0])


def check_options(options: Options) -> None:
    """Reject options that nothing reads.

    Raises
    ------
    EngineError
        If they are not a mapping of mappings, a kind has no kernel, or an option is unknown.
    """
    operators, defaults = _table()
    if not isinstance(options, Mapping) or not all(isinstance(own, Mapping) for own in options.values()):
        raise EngineError(
            f"options is {options!r}; expected options by kind, as {{'MaxPool': {{'pool_window': 2}}}}"
        )
    for kind, own in options.items():
        if plain(kind) not in operators:
            raise EngineError(f"options: no kernel runs tasks of kind {kind!r}")
        for key, value in own.items():
            least = {"padding": -1, "pool_padding": 0}.get(key, 1)
            if key not in defaults or not is_whole(value, least):
                raise EngineError(
                    f"options: {kind}: {key}={value!r}; there are whole numbers {', '.join(defaults)}"
                )


@cache
def _table() -> tuple[dict[str, _Operator], dict[str, int]]:
    table: dict[str, Any] = tomllib.loads((files(__package__) / "operators.toml").read_text("utf-8"))
    found = {
        kind: _Operator(entry["kernel"], _rule(entry["rule"]), alike == "alike")
        for entry in table["operator"]
        for alike in ("kinds", "alike")
        for kind in entry.get(alike, ())
    }
    for rule in ("unary", "binary"):
        for alike, kernels in table[rule].items():
            for kernel, kinds in kernels.items():
                found |= {kind: _Operator(kernel, _rule(rule), alike == "alike") for kind in kinds}
    return found, table["defaults"]


def _rule(name: str) -> rules.Rule:
    room = next(room for room in (rules, window_rules) if hasattr(room, name))
    rule: rules.Rule = getattr(room, name)
    return rule
