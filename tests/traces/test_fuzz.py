"""Every reader on damaged files: a valid graph or a clear error. `benchmarks/fuzz.py` does a million of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plugins import registered
from simsched.testing import Seed, check_reader, seeds_in

SEEDS = seeds_in(Path(__file__).parent / "seeds")
EXAMPLES = 80


def test_every_reader_has_seeds() -> None:
    assert sorted(SEEDS) == sorted(registered("formats"))


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_damaged_files(name: str) -> None:
    tally = check_reader(SEEDS[name], EXAMPLES)
    assert tally.graphs + tally.refused == EXAMPLES
    # Damage that is always noticed, or never, would test nothing.
    assert tally.graphs
    assert tally.refused


class _Broken:
    """A reader that does what none may."""

    title = dependencies = times = ""
    options: dict[str, str] = {}  # noqa: RUF012 - the protocol's type

    def __init__(self, error: Exception) -> None:
        self.error = error

    def recognises(self, head: bytes) -> bool:
        return True

    def read(self, path: Path) -> ss.TaskGraph:
        if path.read_bytes() == b"valid":
            return ss.TaskGraph.from_edges([1])
        raise self.error


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (ValueError("what"), "ValueError: what"),
        (SimschedError("no"), "the error does not begin with the file: no"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_the_suite_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch, error: Exception, found: str) -> None:
    monkeypatch.setattr("simsched.graph.loading.named", lambda group, name: _Broken(error))
    with pytest.raises(AssertionError, match=f"broken, seed 0, example 0: .*{found}; files kept in "):
        check_reader([Seed("broken", b"valid")], 1)


def test_a_seed_must_be_valid() -> None:
    with pytest.raises(AssertionError, match=r"seed one is refused: .*not a whole number"):
        check_reader([Seed("stg", b"x", name="one")], 1)


@pytest.mark.parametrize("format", ["dot", "paje"])
def test_bombs(format: str) -> None:
    """`benchmarks/attack/bombs.py` does all formats."""
    tally = check_reader(SEEDS[format][:1], 0, bombs=1)
    assert tally.graphs + tally.refused == 1


def test_the_suite_finds_a_bomb_that_goes_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simsched.testing.reading.MOST_B", 1e6)
    with pytest.raises(
        AssertionError, match=r"dot, seed 0, bomb 0: \d+ MB and \d+ s, more than 1 MB and 10 s"
    ):
        check_reader(SEEDS["dot"][:1], 0, bombs=1)
