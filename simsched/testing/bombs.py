"""Files that are small and become large, and what reading one takes, in a process of its own.

    python -m simsched.testing.bombs FORMAT FILE [OPTION=VALUE ...]

prints seconds, peak memory and what became of the file as JSON.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from simsched.errors import SimschedError
from simsched.graph.budget import FLOOR_B

#: Bytes of a file after decompression: nearly as many as any file may become, and more.
GROWN_B = (FLOOR_B - 2**20, FLOOR_B - 2**20, 6 * FLOOR_B)
#: A process that takes more memory or seconds than this is ended.
_MOST_B, _MOST_S = 6 * 2**30, 40

_NUMBER = re.compile(rb"[0-9]+")
_WORD = re.compile(rb"[A-Za-z_]{2,}")
_ELEMENT = re.compile(rb"\{[^{}]*\}|<[A-Za-z]+[^<>]*/>|\[[^\[\]]*\]|<(\w+)[^<>]*>[^<>]*</\1>")


@dataclass(frozen=True)
class Reading:
    """Resources that reading a file took.

    Parameters
    ----------
    seconds : float
        Of the reading, of one core; infinite where it did not end.
    peak_B : float
        Most memory of the process, Python and the libraries included.
    said : str
        The error; "" for a graph, and `killed` where the process died.
    clear : bool
        Whether it is a graph or a clear error.
    """

    seconds: float
    peak_B: float
    said: str
    clear: bool


def bomb(data: bytes, random: Random, grown_B: int) -> bytes:
    """Return a file that becomes large when it is decompressed: valid data of which a part repeats, or one grows.

    Parameters
    ----------
    data : bytes
        A valid file.
    random : random.Random
        Which part, and how.
    grown_B : int
        Its size after decompression.

    Examples
    --------
    >>> packed = bomb(b"digraph { a -> b; }", Random(1), 10**6)
    >>> len(packed) < 100_000, len(gzip.decompress(packed)) >= 10**6
    (True, True)
    """
    plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    before, piece, after = random.choice(_WAYS)(plain, random)
    piece = piece or b"\0"
    packed = [gzip.compress(before, 1, mtime=0)]
    block = _block(piece, random)
    # Members of a gzip file follow each other.
    packed += [gzip.compress(block, 9, mtime=0)] * -(-grown_B // len(block))
    return b"".join([*packed, gzip.compress(after, 1, mtime=0)])


def _block(piece: bytes, random: Random) -> bytes:
    """Return about a megabyte of a piece: as it is, or with its numbers counting on."""
    times = max(1, 2**20 // len(piece))
    if random.random() < 0.5 or not _NUMBER.search(piece):
        return piece * times
    parts = _NUMBER.split(piece)
    return b"".join((b"%d" % i).join(parts) for i in range(max(1, times // 2)))


Parts = tuple[bytes, bytes, bytes]


def _lines(data: bytes, random: Random) -> Parts:
    lines = data.splitlines(keepends=True) or [b"\n"]
    at = random.randrange(len(lines))
    end = min(len(lines), at + random.choice((1, 1, 2, 3)))
    return b"".join(lines[:end]), b"".join(lines[at:end]), b"".join(lines[end:])


def _window(data: bytes, random: Random) -> Parts:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 2, 8, 100)))
    return data[:end], data[at:end], data[end:]


def _element(data: bytes, random: Random) -> Parts:
    """Repeat an object or list of JSON, or an element of XML."""
    if not (found := list(_ELEMENT.finditer(data))):
        return _lines(data, random)
    one = random.choice(found)
    between = b"" if one[0].startswith(b"<") else b","
    return data[: one.end()], between + one[0], data[one.end() :]


def _grown_word(data: bytes, random: Random) -> Parts:
    if not (found := list(_WORD.finditer(data))):
        return _window(data, random)
    at = random.choice(found).end()
    return data[:at], random.choice((b"x", b"9", b" ", b"xyz", b"[")), data[at:]


def _field(data: bytes, random: Random) -> Parts:
    """Repeat a field of protobuf, one of the outermost."""
    at, places = 0, [0]
    while at < len(data) and len(places) < 100:
        kind = data[at] & 7
        length, end = _varint(data, at + 1) if kind in (0, 2) else ({1: 8, 5: 4}.get(kind, len(data)), at + 1)
        at = end if kind == 0 else end + length
        places.append(min(at, len(data)))
    one = random.randrange(len(places) - 1) if len(places) > 1 else 0
    return (
        data[: places[one]],
        data[places[one] : places[one + 1]] if len(places) > 1 else data,
        data[places[-1] :],
    )


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while at < len(data) and shift < 64:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            break
    return value, at


_WAYS: tuple[Callable[[bytes, Random], Parts], ...] = (_lines, _lines, _window, _element, _grown_word, _field)


def measured(
    format: str, main: Path, options: Mapping[str, str], timeout_s: float = 900.0, limit: str = ""
) -> Reading:
    """Read a file in a process of its own, and return the resources that this took.

    Parameters
    ----------
    format : str
        Name of the reader; "" where the content tells.
    main : Path
        The file.
    options : mapping of str to str
        Options of the reader, companions among them.
    timeout_s : float
        Time after which the process is ended.
    limit : str
        The budget, as `load` takes it.
    """
    told = [f"{name}={value}" for name, value in {**options, **({"limit": limit} if limit else {})}.items()]
    command = [sys.executable, "-m", "simsched.testing.bombs", format, str(main), *told]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=timeout_s)  # noqa: S603 - ours
    except subprocess.TimeoutExpired:
        return Reading(float("inf"), float("nan"), "did not end", False)
    try:
        return Reading(**json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        return Reading(float("inf"), float("nan"), f"died: {done.returncode} {done.stderr[-300:]}", False)


def _peak_B() -> int:
    """Return the most memory of this process; what `getrusage` has on Linux is its parent's where that had more."""
    import resource

    status = Path("/proc/self/status")
    lines = status.read_text("utf-8").splitlines() if status.exists() else []
    kept = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return kept[0] if kept else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _main(format: str, path: str, *options: str) -> None:
    # Systems other than Unix have none; what imports this reads files there, too.
    import resource

    from simsched.graph.loading import load

    # A parent's own limit may be lower.
    hard_B = resource.getrlimit(resource.RLIMIT_AS)[1]
    most_B = _MOST_B if hard_B == resource.RLIM_INFINITY else min(_MOST_B, hard_B)
    resource.setrlimit(resource.RLIMIT_AS, (most_B, most_B))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_S, _MOST_S))
    said, clear, begin = "", True, time.process_time()
    try:
        load(path, format=format or None, **dict(option.split("=", 1) for option in options))
    except SimschedError as error:
        said = str(error)
    except Exception as error:
        said, clear = f"{type(error).__name__}: {str(error)[:200]}", False
    seconds = time.process_time() - begin
    print(json.dumps({"seconds": seconds, "peak_B": _peak_B(), "said": said, "clear": clear}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
