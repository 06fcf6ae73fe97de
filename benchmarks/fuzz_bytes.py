"""One reader under atheris: python benchmarks/fuzz_bytes.py FORMAT [libFuzzer options]; see fuzz.py."""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["simsched.traces", "simsched.graph"]):
    from simsched.graph.loading import load  # noqa: F401 - instrumented before the suite imports it
    from simsched.plugins import named
    from simsched.testing.reading import judged, seeds_in

SEEDS = Path(__file__).resolve().parents[1] / "tests/traces/seeds"


def main() -> None:
    """Fuzz the main file of a format, and its companions in turn, as they are in the seeds."""
    name = sys.argv[1]
    with atheris.instrument_imports(include=["simsched.traces"]):
        named("formats", name)
    seeds = seeds_in(SEEDS)[name]
    turns = cycle([(seed, damaged) for seed in seeds for damaged in ("main", *seed.companions)])
    with TemporaryDirectory() as folder:
        corpus, place = Path(folder, "corpus"), Path(folder, "read")
        corpus.mkdir()
        place.mkdir()
        for i, seed in enumerate(seeds):
            for key, data in {"main": seed.main, **seed.companions}.items():
                (corpus / f"{i}-{key}").write_bytes(data)

        def read(data: bytes) -> None:
            seed, damaged = next(turns)
            judged(
                place, name, {"main": seed.main, **seed.companions, damaged: data}, "atheris", seed.options
            )

        atheris.Setup([sys.argv[0], str(corpus), *sys.argv[2:]], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
