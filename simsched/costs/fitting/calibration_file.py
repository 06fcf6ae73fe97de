"""The JSON file of a calibration; docs/calibration.md lists its fields."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.errors import CostError, FormatError
from simsched.files import read_small, write_text
from simsched.later import later
from simsched.mistakes import refusal

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from simsched.costs.fitting.calibration import Calibration

FORMAT, VERSION = "simsched-calibration", 1
#: Most bytes of a file: some 100,000 points.
MOST_B = 1 << 26
#: Mistakes that a message lists.
_LISTED = 8


def write(calibration: Calibration, path: Path) -> None:
    """Write a calibration; an existing file is replaced only once the new one is complete.

    Raises
    ------
    SimschedError
        If the file cannot be written, or a fact is neither text nor a finite number.
    """
    content = {"format": FORMAT, "version": VERSION, **asdict(calibration)}
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CostError(
            f"{path} cannot hold this calibration: {error}; facts are text or finite numbers"
        ) from error
    write_text(path, f"{text}\n")


def read(path: Path) -> Calibration:
    """Read a calibration.

    Raises
    ------
    FormatError
        If the file is not there or not one of these; all mistakes are listed, each with its place.
    """
    content = _object(path)
    if content.pop("format", None) != FORMAT:
        raise FormatError(f'{path} is not a calibration: it does not say "format": "{FORMAT}"')
    if (version := content.pop("version", None)) != VERSION:
        raise FormatError(f"{path}: version is {version!r:.40}; this simsched reads version {VERSION}")
    from pydantic import ValidationError

    try:
        # Again as JSON: in it arrays are tuples, and numbers have the file's types.
        return _adapter().validate_json(json.dumps(content))
    except ValidationError as error:
        raise refusal(FormatError, path, [_said(mistake) for mistake in error.errors()], _LISTED) from None
    except CostError as error:
        raise FormatError(f"{path}: {error}") from None


def _object(path: Path) -> dict[str, Any]:
    raw = read_small(path, MOST_B, "calibration")
    try:
        content = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path} is not a calibration: it holds no JSON object")
    return content


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON; unknown numbers are null")


def _said(mistake: Any) -> str:
    place = ".".join(map(str, mistake["loc"])) or "the file"
    if mistake["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{place} is not known here; remove it"
    if mistake["type"] in ("missing", "missing_argument"):
        return f"{place} is missing"
    if mistake["type"] == "value_error":
        return f"{place}: {mistake['ctx']['error']}"
    return f"{place} is {mistake['input']!r:.40}: {mistake['msg'].lower()}"


@cache
def _adapter() -> TypeAdapter[Calibration]:
    from pydantic import TypeAdapter

    return TypeAdapter(later("Calibration"))
