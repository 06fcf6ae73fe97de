"""`SPEC.toml`: a sweep as a file, for the command line; see docs/sweeping.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from simsched.errors import FormatError, SimschedError
from simsched.files import parse_toml, read_small
from simsched.machine import machine
from simsched.mistakes import described, refusal
from simsched.policy import Layout, policy
from simsched.policy.layout import Best
from simsched.spec import Engine, parse_path
from simsched.sweep.axes import MOST, Design, Range, noise_axis
from simsched.sweep.sweep import (
    Sweep,
    check_machine_parameters,
    check_policy_parameters,
    checked_scaling,
    graph_of,
)

#: Most bytes of a file.
MOST_B = 1_000_000
#: Name in a file of the layout that an estimate finds, as TOML has no null value.
DEFAULT = "default"


def _checked(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a validator of text, or of a list's items, whose errors pydantic lists with the others."""

    def validate(value: Any) -> Any:
        try:
            return check(value)
        except SimschedError as error:
            raise ValueError(str(error)) from None

    return validate


def _beside(info: ValidationInfo) -> Path:
    """Return the folder of the file, in which the files that it names are searched."""
    return Path(info.context or "")


def _graph(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        raise ValueError("expected a file or a workload")  # noqa: TRY004 - pydantic lists ValueErrors
    try:
        return graph_of(value, _beside(info))
    except SimschedError as error:
        raise ValueError(str(error)) from None


def _machine(value: Any, info: ValidationInfo) -> Any:
    beside = _beside(info) / value if isinstance(value, str) else value
    try:
        named = isinstance(value, str) and Path(parse_path(str(beside)).name).is_file()
        return machine(str(beside) if named else value)
    except SimschedError as error:
        raise ValueError(str(error)) from None


def _values(value: Any) -> Any:
    if isinstance(value, dict):
        if not {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
            raise ValueError("expected a list of values, or { low = ..., high = ..., log = true }")
        return Range(**value)
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of values, or { low = ..., high = ... }")
    return value


def _seeds(value: Any) -> Any:
    if type(value) is int and value > MOST:
        raise ValueError(f"{MOST} are the most; sample them: low and high of a range")
    if type(value) is int and value > 0:
        return range(value)
    found = [value] if type(value) is int else _values(value)
    ends = [found.low, found.high] if isinstance(found, Range) else found
    if type(value) is int or any(type(seed) is not int or seed < 0 for seed in ends):
        raise ValueError(
            "expected how many (at least 1), a list of seeds or a range: whole numbers of zero or more"
        )
    return found


def _noises(value: Any) -> Any:
    noise_axis(found := _values(value))
    return found


def _parameters(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Check names of parameters; where what would have them is a mistake itself, that alone is listed."""
    check, of = _HAVING[str(info.field_name)]
    try:
        if of in info.data:
            check(info.data[of], value)
    except SimschedError as error:
        raise ValueError(str(error).removeprefix(f"{info.field_name}: ")) from None
    return value


_HAVING: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    "machine_parameters": (check_machine_parameters, "machines"),
    "policy_parameters": (check_policy_parameters, "policies"),
}


def _layout(value: Any) -> Layout | Best | None:
    return None if value == DEFAULT else Layout.wanted(value)


Values = Annotated[Any, BeforeValidator(_checked(_values))]
Some = Field(min_length=1)


class SweepFile(BaseModel):
    """The keys of a `SPEC.toml`; they are the parameters of `Sweep`, and unknown ones are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    graphs: Annotated[list[Annotated[Any, BeforeValidator(_graph)]], Some]
    machines: Annotated[list[Annotated[Any, BeforeValidator(_machine)]], Some]
    policies: Annotated[list[Annotated[Any, BeforeValidator(_checked(policy))]], Some]
    layouts: Annotated[list[Annotated[Any, BeforeValidator(_checked(_layout))]], Some] = [None]
    seeds: Annotated[Any, BeforeValidator(_checked(_seeds))] = (0,)
    machine_parameters: Annotated[dict[str, Values], AfterValidator(_parameters)] = {}
    policy_parameters: Annotated[dict[str, Values], AfterValidator(_parameters)] = {}
    scalings: Annotated[list[Annotated[Any, BeforeValidator(_checked(checked_scaling))]], Some] = [1.0]
    noises: Annotated[Any, BeforeValidator(_checked(_noises))] = None
    engine: Engine = "auto"
    design: Design = "product"
    samples: int | None = None
    design_seed: Annotated[int, Field(ge=0)] = 0


def read_sweep(path: str | Path) -> Sweep:
    """Return the sweep that a file describes; files that it names are searched in its folder.

    Raises
    ------
    FormatError
        If it is not TOML; or with all its mistakes, each with its place and value.
    SpecError
        If its parts do not fit each other.
    """
    file = Path(path)
    content = parse_toml(file, read_small(file, MOST_B, "sweep: give long lists in Python"))
    try:
        found = SweepFile.model_validate(content, context=file.parent)
    except ValidationError as error:
        raise refusal(FormatError, file, [described(mistake) for mistake in error.errors()]) from None
    return Sweep(**{name: getattr(found, name) for name in SweepFile.model_fields})
