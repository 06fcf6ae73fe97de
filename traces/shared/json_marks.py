"""Brackets and commas of JSON outside its texts: where a file may be cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.traces.shared.json_stream import STEPS

COMMA, OPENING = ord(","), ord("[")
_QUOTE = ord('"')
_MARKS = STEPS != 0
_MARKS[[_QUOTE, COMMA]] = True


@dataclass(frozen=True, slots=True)
class Marks:
    """Brackets and commas outside texts: where they are, what they are, and the depth after each."""

    at: npt.NDArray[np.intp]
    kind: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes, depth: int) -> Marks:
        """Find them in a text that begins outside texts, `depth` deep."""
        if b"\\" in text:
            text = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        codes = np.frombuffer(text, np.uint8)
        at = np.flatnonzero(_MARKS[codes])
        kind = codes[at]
        quote = kind == _QUOTE
        outside = ~(quote | np.logical_xor.accumulate(quote))
        kind = kind[outside]
        return cls(at[outside], kind, np.cumsum(STEPS[kind], dtype=np.int64) + depth)

    def commas(self, depth: int) -> npt.NDArray[np.intp]:
        """Return where the commas of one depth are."""
        return np.extract((self.kind == COMMA) & (self.depth == depth), self.at)
