"""Spec strings `name[key=value,...]`: parsed, checked and printed.

Machines, policies and workloads are written this way on the command line, in sweeps and in results,
and every one of them prints itself as the string that makes it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from inspect import signature
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from simsched.errors import SpecError
from simsched.renamed import new_keys

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Made = TypeVar("Made", bound="DataclassInstance")

Scalar = bool | int | float | str

#: Replay engines; "auto" takes the fastest that is installed and supports the case.
Engine = Literal["auto", "simpy", "native"]

#: Lower bounds to work out: critical path and area; two stronger ones, too; and a solver's proven bound in its time.
Bound = Literal["quick", "thorough", "optimum"]

#: Ways to search for the best policy, layout and widths.
Search = Literal["enumerate", "widths", "optuna"]

_BODY = r"(?:\[(?P<body>(?:[^\[\]]|\[[^\[\]]*\])*)\])?"
_SPEC = re.compile(rf"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9_.+-]*)\s*{_BODY}\s*")
_PATH = re.compile(rf"(?P<name>.*?){_BODY}", re.DOTALL)
#: Between items; a value may be a spec with its own brackets.
_COMMA = re.compile(r",(?![^\[]*\])")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
#: A spec among others: spaces within brackets belong to it.
_WORD = re.compile(r"(?:[^\s\[]|\[(?:[^\[\]]|\[[^\[\]]*\])*\]|\[)+")

#: What messages call the types of parameters.
_WORDS: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


@dataclass(frozen=True)
class Spec:
    """A parsed `name[key=value,...]`.

    Parameters
    ----------
    name : str
        The requested name.
    params : mapping of str to bool, int, float or str
        How, in the order written.
    texts : mapping of str to str
        The values as written, if the spec was: a name may look like a number.

    Examples
    --------
    >>> spec = parse("corun[smt=true,candidates=3]")
    >>> spec.name, dict(spec.params)
    ('corun', {'smt': True, 'candidates': 3})
    >>> str(spec)
    'corun[smt=true,candidates=3]'
    """

    name: str
    params: Mapping[str, Scalar] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        if not self.params:
            return self.name
        return f"{self.name}[{','.join(f'{k}={format_scalar(v)}' for k, v in self.params.items())}]"


def parse_with(source: str, beside: Mapping[str, Scalar]) -> Spec:
    """Return the spec of a string with additional parameters given separately.

    Raises
    ------
    SpecError
        If the string is not a spec, or a parameter is given in both places.
    """
    spec = parse(source)
    if twice := sorted(spec.params.keys() & beside.keys()):
        raise SpecError(f"{twice[0]!r} is given in {source!r} and again beside it; give it once")
    return Spec(spec.name, {**spec.params, **beside})


def parse(text: str) -> Spec:
    """Parse `name[key=value,...]`.

    Raises
    ------
    SpecError
        If the string is malformed or a key is given twice.
    """
    if (match := _SPEC.fullmatch(text)) is None:
        why = "is not a spec" if text.count("[") == text.count("]") else "has a bracket without its partner"
        raise SpecError(f"{text!r} {why}; write one name, or one name[key=value,...], as corun[candidates=3]")
    return Spec(match["name"], *_params(match["body"], text))


def parse_path(text: str) -> Spec:
    """Parse `path[key=value,...]`, where the path may be any text: the last brackets are the parameters'.

    Raises
    ------
    SpecError
        If the text between the brackets is malformed or a key is given twice.

    Examples
    --------
    >>> parse_path("runs [1]/mine.toml[cores=8]")
    Spec(name='runs [1]/mine.toml', params={'cores': 8})
    """
    match = cast("re.Match[str]", _PATH.fullmatch(text))
    return Spec(match["name"], *_params(match["body"], text))


def _params(body: str | None, text: str) -> tuple[dict[str, Scalar], dict[str, str]]:
    params: dict[str, Scalar] = {}
    texts: dict[str, str] = {}
    for item in _COMMA.split(body) if body and body.strip() else []:
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not _KEY.fullmatch(key) or not value:
            raise SpecError(f"{item.strip()!r} in {text!r} is not key=value, as cores=4")
        if key in params:
            raise SpecError(f"{key!r} is given twice in {text!r}")
        params[key], texts[key] = _parse_scalar(value), value
    return params, texts


def split(text: str) -> list[str]:
    """Return the specs of a text, separated by spaces.

    Examples
    --------
    >>> split("drop[names=iteration 0]  fuse-chains")
    ['drop[names=iteration 0]', 'fuse-chains']
    """
    return _WORD.findall(text)


def _parse_scalar(text: str) -> Scalar:
    """Return `text` as a bool, an int, a float or, when it is none of these, unchanged."""
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def format_scalar(value: Scalar) -> str:
    """Format a scalar as in specs, which are read as the same scalar unless it is a string that looks like a number.

    Examples
    --------
    >>> format_scalar(4e11), format_scalar(True), format_scalar(600000.0)
    ('4e+11', 'true', '600000.0')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    # 4e11 is 400000000000.0 as Python prints it.
    short = f"{value:g}" if isinstance(value, float) else ""
    return short if "e" in short and float(short) == value else str(value)


def made(cls: type[Made], what: str, spec: Spec) -> Made:
    """Return an object of a dataclass whose fields are the parameters of a spec.

    Parameters
    ----------
    cls : type
        The dataclass.
    what : str
        What messages call its objects: `policy`, `workload`.
    spec : Spec

    Raises
    ------
    SpecError
        If there is no such parameter, one is of another type than its default (where that is not None), or one without
        a default is missing.
    """
    known = {f.name: f for f in fields(cls) if f.init}
    given, texts = new_keys(cls, spec.name, spec.params), new_keys(cls, spec.name, spec.texts)
    for key, value in given.items():
        if key not in known:
            near = get_close_matches(key, known, 1)
            raise SpecError(
                f"{what} {spec.name} has no parameter {key!r}; it has {', '.join(known) or 'none'}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        default = known[key].default
        if isinstance(default, str):
            given[key] = texts.get(key, value)
        if (
            default is not MISSING
            and default is not None
            and value not in known[key].metadata.get("words", ())
        ):
            _check_type(spec.name, key, given[key], default)
    wanting = [
        f.name
        for f in known.values()
        if f.default is MISSING and f.default_factory is MISSING and f.name not in given
    ]
    if wanting:
        raise SpecError(
            f"{what} {spec.name} needs {', '.join(wanting)}; write {spec.name}[{wanting[0]}=...], or give an object"
        )
    _check_arguments(cls, what, spec.name, given)
    return cls(**given)


def _check_arguments(cls: type[object], what: str, name: str, given: Mapping[str, Scalar]) -> None:
    """Raise `SpecError` where the class has a constructor of its own that needs more."""
    try:
        signature(cls).bind(**given)
    except TypeError as error:
        raise SpecError(
            f"{what} {name} cannot be made of its name: {error}; give an object of the class"
        ) from None


def _check_type(name: str, key: str, value: Scalar, default: Scalar) -> None:
    expected = (int, float) if isinstance(default, float) else (type(default),)
    if not isinstance(value, expected) or (isinstance(value, bool) and not isinstance(default, bool)):
        given, usual = (f"{key}={format_scalar(one)}" for one in (value, default))
        raise SpecError(f"{name}[{given}]: expected {_WORDS[expected[-1]]}, as in {usual}")
