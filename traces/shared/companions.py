"""Files that go with a file: named by an option, or beside it by name. Never by what stands inside a file."""

from __future__ import annotations

from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.loading import find_file
from simsched.traces.shared.json_stream import shown


def given(path: Path, option: str, value: object, what: str) -> Path:
    """Return the file that an option names, with or without its suffix `.gz`.

    Parameters
    ----------
    path : Path
        The file, for the message.
    option : str
        Name of the option.
    value : str or Path
        The option.
    what : str
        What it is the path of: `the dag.dot`.

    Raises
    ------
    FormatError
        If it is not a path, or there is no such file.
    """
    if not isinstance(value, str | Path):
        raise FormatError(f"{path}: {option} is {shown(value)}; expected the path of {what}")
    return find_file(value)


def beside(path: Path, name: str) -> Path | None:
    """Return the file of a name in the folder of another one, plain or gzipped; None where there is none."""
    try:
        return find_file(path.with_name(name))
    except FormatError:
        return None
