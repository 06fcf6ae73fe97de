"""Ctrl-C while a file is read: it ends the reading, and is never taken for damage or a missing library."""

from __future__ import annotations

import io
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import MissingExtraError
from simsched.graph import loading
from simsched.plugins import named
from simsched.testing import Seed, seeds_in

SEEDS = seeds_in(Path(__file__).parent / "seeds")


class _Interrupted(io.RawIOBase):
    """A file in which Ctrl-C comes after so many pieces of 1 kB."""

    def __init__(self, path: Path, pieces: int) -> None:
        self._data, self._left = io.BytesIO(path.read_bytes()), pieces

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, to: int, whence: int = 0) -> int:
        return self._data.seek(to, whence)

    def readinto(self, buffer: Any) -> int:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        data = self._data.read(min(1024, len(buffer)))
        buffer[: len(data)] = data
        return len(data)


# SQLite opens the file of nsys itself.
@pytest.mark.parametrize("name", sorted(set(SEEDS) - {"nsys"}))
def test_an_interrupt_while_reading(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed: Seed = SEEDS[name][0]
    paths = {option: tmp_path / f"{option}.data" for option in ("main", *seed.companions)}
    for option, path in paths.items():
        path.write_bytes(seed.main if option == "main" else seed.companions[option])
    options: dict[str, Any] = {o: path for o, path in paths.items() if o != "main"} | dict(seed.options)
    for hit in paths.values():
        for pieces in (0, 1):
            monkeypatch.setattr(
                loading,
                "open_regular",
                lambda path, hit=hit, pieces=pieces: (
                    io.BufferedReader(_Interrupted(path, pieces), 1024) if path == hit else path.open("rb")
                ),
            )
            with pytest.raises(KeyboardInterrupt):
                ss.load(paths["main"], format=name, **options)


def test_an_interrupt_that_a_library_turned_into_an_import_error() -> None:
    """As NumPy does, whose compiled modules import each other."""

    def library() -> None:
        try:
            signal.default_int_handler(signal.SIGINT, None)
        except KeyboardInterrupt as error:
            raise ImportError("numpy._core.multiarray failed to import") from error

    def imported() -> None:
        try:
            library()
        except ImportError:
            raise MissingExtraError("onnx", "formats", "reading an ONNX model") from None

    with pytest.raises(KeyboardInterrupt):
        imported()


def test_an_interrupt_while_a_plug_in_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    (tmp_path / "interrupted_plugin.py").write_text(
        "try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt:\n    raise ImportError('failed')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    entries = {"odd": (EntryPoint("odd", "interrupted_plugin:READER", "simsched.formats"),)}
    monkeypatch.setattr("simsched.plugins.registered", lambda _: entries)
    with pytest.raises(KeyboardInterrupt):
        named("formats", "odd")
    assert "interrupted_plugin" not in sys.modules
