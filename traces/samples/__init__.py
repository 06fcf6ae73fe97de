"""Small recorded traces to try; README.md next to them describes their recording."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from simsched.errors import FormatError

#: A training step of 4 LSTM layers over 16 time steps, and one of a CNN of 3 blocks with 4 branches each.
SAMPLES = ("lstm4", "cnn")


def sample_files(name: str) -> tuple[Path, Path]:
    """Return the Kineto trace and the execution trace of a bundled sample.

    Parameters
    ----------
    name : str
        One of `SAMPLES`.

    Raises
    ------
    FormatError
        If there is no such sample.

    Examples
    --------
    >>> [file.name for file in sample_files("cnn")]
    ['cnn.kineto.json.gz', 'cnn.et.json.gz']
    """
    if name not in SAMPLES:
        raise FormatError(f"no sample is called {name!r}; there are: {', '.join(SAMPLES)}")
    folder = Path(str(files("simsched.traces.samples")))
    return folder / f"{name}.kineto.json.gz", folder / f"{name}.et.json.gz"
