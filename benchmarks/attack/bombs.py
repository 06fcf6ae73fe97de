"""Bombs: files that are small and become large, of every format, each read in a process of its own.

    python benchmarks/attack/bombs.py [--inputs N] [--seed N] [--formats NAME ...] [--jobs N] [--bars]

First files made by hand for one reader each, then N of seeds of tests/traces/seeds of which a part repeats or grows
(`simsched.testing.bombs`). A row each: bytes, seconds, peak memory, and what became of it. With `--bars`: exit status 1
unless each gives a graph or a clear error, in at most 10 s and 1 GB by default limits.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from random import Random

import numpy as np

from simsched.testing import seeds_in
from simsched.testing.bombs import GROWN_B, Reading, measured
from simsched.testing.reading import MOST_B, MOST_S, bombed

SEEDS = Path(__file__).resolve().parents[2] / "tests/traces/seeds"
EDGES = b"before,after\n"

Files = dict[str, bytes]


def _packed(begin: bytes, piece: bytes, times: int, end: bytes = b"") -> bytes:
    block = gzip.compress(piece * max(1, 2**20 // len(piece)), 9)
    whole = -(-times // max(1, 2**20 // len(piece)))
    return gzip.compress(begin) + block * whole + gzip.compress(end)


def _parquet(**columns: object) -> bytes:
    import pyarrow as pa
    from pyarrow.parquet import write_table

    out = io.BytesIO()
    write_table(pa.table(columns), out, compression="zstd", write_statistics=False)
    return out.getvalue()


def _repeated(text: str | bytes, rows: int) -> object:
    import pyarrow as pa

    kind = pa.string() if isinstance(text, str) else pa.binary()
    return pa.DictionaryArray.from_arrays(
        np.zeros(rows, np.int32), pa.array([text], kind)
    ).dictionary_decode()


def _parquet_files(**columns: object) -> Files:
    return {"main": _parquet(**columns), "edges": _parquet(before=np.zeros(0, int), after=np.zeros(0, int))}


GRAPHML = (
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="node" attr.name="duration_s" '
)
GRAPHML += b'attr.type="double"/><graph edgedefault="directed">'
#: By format and name.
BY_HAND: dict[tuple[str, str], Callable[[], Files]] = {
    ("parquet", "a name of 10 kB, 100,000 times"): lambda: _parquet_files(
        duration_s=np.ones(10**5), name=_repeated("x" * 10**4, 10**5)
    ),
    ("parquet", "labels of 10 kB"): lambda: _parquet_files(
        duration_s=np.ones(10**5), task=_repeated("x" * 10**4, 10**5)
    ),
    ("parquet", "99 million rows"): lambda: _parquet_files(duration_s=np.ones(99 * 10**6)),
    ("dot", "1 MB of edges"): lambda: {"main": b"digraph{" + b"a->b;" * 200_000 + b"}"},
    ("dot", "10 MB of edges"): lambda: {"main": b"digraph{" + b"a->b;" * 2_000_000 + b"}"},
    ("dot", "a product of subgraphs"): lambda: {
        "main": b"digraph{{%s}->{%s}}"
        % tuple(b";".join(b"%c%d" % (side, i) for i in range(4000)) for side in b"ab")
    },
}
#: What repeats without end: the beginning of a file, the piece, and the end.
PIECES: list[tuple[str, bytes, bytes, bytes]] = [
    *(
        ("dot", b"digraph{", piece, b"}")
        for piece in (b"a->b;", b"a ", b"{}", b"a[x=1];", b'"a"+"b";', b"subgraph x{a};")
    ),
    *(
        ("graphml", GRAPHML, piece, b"</graph></graphml>")
        for piece in (b"<x/>", b'<edge source="a" target="a"/>')
    ),
    ("graphml", GRAPHML + b'<node id="a">', b'<data key="d">1</data>', b"</node></graph></graphml>"),
    ("graphml", GRAPHML + b'<node id="', b"x", b'"/></graph></graphml>'),
    *(
        ("onnx", b"\x08\x0a", piece, b"")
        for piece in (b"\x3a\x02\x0a\x00", b"\x72\x00", b"\x3a\x02\x5a\x00", b"\x42\x00")
    ),
    *(
        ("onnx", b"\x08\x0a", piece, b"")
        for piece in (b"\x3a\x04\x0a\x02\x2a\x00", b"\x3a\x04\x0a\x02\x0a\x00")
    ),
    *(("tensorflow", b"", piece, b"") for piece in (b"\x0a\x02\x0a\x00", b"\x12\x02\x0a\x00", b"\x22\x00")),
    ("tensorflow", b"step_stats { ", b"dev_stats { } ", b"}"),
    ("taskgraph", b"PK\x03\x04", b"\0", b""),
    *(("csv", b"duration_s\n", piece, b"") for piece in (b"1\n", b",", b"x", b'""\n')),
    ("stg", b"9\n", b"1 1 0\n", b""),
    *(
        ("chrome", b'{"traceEvents":[', piece, b"{}]}")
        for piece in (b'{"ph":"X","ts":0,"dur":1,"name":"a"},', b"{},", b"[],")
    ),
    *(
        ("pytorch", b'{"schemaVersion":1,"traceEvents":[', piece, b"{}]}")
        for piece in (b"{},", b'{"a":[[[]]]},')
    ),
    *(
        ("perfetto", b"", piece, b"")
        for piece in (b"\x0a\x00", b"\x0a\x03\x5a\x01\x00", b"\x0a\x05\xe2\x03\x02\x08\x01")
    ),
    *(("chakra", b"\x07\x0a\x050.0.4", piece, b"") for piece in (b"\x02\x08\x01", b"\x00")),
    *(
        ("wfformat", b'{"workflow":{"tasks":[', piece, b'{}]},"schemaVersion":"1.4"}')
        for piece in (b"{},", b'{"name":"a"},')
    ),
    *(("dask", b"[", piece, b"{}]") for piece in (b"{},", b'{"key":"a","startstops":[]},')),
    *(("ompt", b"", piece, b"") for piece in (b"{}\n", b"\n", b"x")),
    *(("onnxruntime", b"[", piece, b"{}]") for piece in (b"{},", b'{"cat":"Node","name":"a_kernel_time"},')),
    *(("paje", b"%EventDef PajeX 1\n%EndEventDef\n", piece, b"") for piece in (b"1\n", b'1 "', b"\n")),
    *(
        ("paraver", b"#Paraver (01/01/2020 at 00:00):1:1(1):1:1(1:1)\n", piece, b"")
        for piece in (b"2:1:1:1:1:0:1:1\n", b"1")
    ),
    *(("starpu", b"", piece, b"") for piece in (b"JobId: 1\n", b"Name: a\nJobId: 1\n\n", b"\n")),
    *(
        ("tensorflow-timeline", b'{"traceEvents":[', piece, b"{}]}")
        for piece in (b"{},", b'{"ph":"X","name":"a","args":{}},')
    ),
    *(("tdg", b"digraph {", piece, b"}") for piece in (b"1->2;", b"1[label=x];")),
]


def by_hand(formats: list[str]) -> Iterator[tuple[str, str, Files, dict[str, str]]]:
    """Yield format, name, files and options of the files made by hand."""
    for (format, name), make in BY_HAND.items():
        if format in formats:
            yield format, name, make(), {}
    for format, begin, piece, end in PIECES:
        for grown_B in sorted(set(GROWN_B)) if format in formats else ():
            packed = _packed(begin, piece, grown_B // len(piece), end)
            files = {"main": packed, **({"edges": EDGES} if format == "csv" else {})}
            yield format, f"{piece!r}, {grown_B >> 20} MiB", files, {}


def from_seeds(
    formats: list[str], inputs: int, seed: int
) -> Iterator[tuple[str, str, Files, dict[str, str]]]:
    """Yield the same of files that were made of seeds, all formats in turn."""
    seeds = {format: found for format, found in seeds_in(SEEDS).items() if format in formats}
    for number in range(inputs):
        format = sorted(seeds)[number % len(seeds)]
        files, one = bombed(seeds[format], Random(f"bomb {seed} {number}"))  # noqa: S311 - no secret
        yield format, f"seed {seed}, {number}: {one.name}", files, dict(one.options)


def read(format: str, files: Files, options: dict[str, str]) -> Reading:
    """Return what reading some files took."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, f"{name}.data") for name in files}
        for name, path in paths.items():
            path.write_bytes(files[name])
        main = paths.pop("main")
        return measured(format, main, options | {name: str(path) for name, path in paths.items()})


def main() -> None:
    """Read the command line; read the bombs, print a row each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=40, help="made of seeds, over all formats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="at once; times are only true with one")
    known = sorted(seeds_in(SEEDS))
    parser.add_argument("--formats", nargs="+", choices=known, default=known)
    parser.add_argument("--bars", action="store_true")
    told = parser.parse_args()
    print("| format | bomb | kB | s | peak MB | said |\n| --- | --- | --- | --- | --- | --- |")
    with ThreadPoolExecutor(told.jobs) as pool:
        bombs = chain(by_hand(told.formats), from_seeds(told.formats, told.inputs, told.seed))
        fine = True
        while some := list(islice(bombs, told.jobs)):
            fine &= all(list(pool.map(lambda one: _row(*one), some)))
    sys.exit(told.bars and not fine)


def _row(format: str, name: str, files: Files, options: dict[str, str]) -> bool:
    took = read(format, files, options)
    fine = took.clear and took.seconds <= MOST_S and took.peak_B <= MOST_B
    size_kB = sum(map(len, files.values())) / 1e3
    said = (took.said.partition(".data: ")[2] or took.said)[:90] or "a graph"
    print(
        f"| {format} | {name} | {size_kB:.1f} | {took.seconds:.1f} | {took.peak_B / 1e6:.0f} | {said} |"
        f"{'' if fine else ' FAIL'}",
        flush=True,
    )
    return fine


if __name__ == "__main__":
    main()
