"""`load`: any registered format, found by content, plain or gzipped."""

from __future__ import annotations

import gc
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, BinaryIO

from simsched.errors import FormatError, GraphError, SpecError
from simsched.files import no_file, open_regular
from simsched.graph.budget import budget, limited
from simsched.graph.held import held, is_held, unpacking
from simsched.graph.recording import Origin, RecordedOn
from simsched.graph.taskgraph import TaskGraph
from simsched.plugins import elsewhere, named, registered
from simsched.system import give_back

#: Tasks of a graph whose reading leaves so much memory behind that the system should have it again.
MANY = 1_000_000
#: Called with a sentence about each mend; usually `ImportReport.note`.
Mend = Callable[[str], None]

HEAD_B = 64 * 1024
#: Bytes per read: memory for a file's possible size is not allocated before its actual size is known.
CHUNK_B = 1024 * 1024
#: The mark that editors put before a text in UTF-8; no binary format that is read begins with it.
MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class Reader:
    """A format of files, registered under the group `simsched.formats`; any object with its attributes will do.

    `title`, one line, and the origins of edges (`dependencies`) and seconds (`times`), in a few words each, are what
    `simsched list formats` prints.

    Parameters
    ----------
    recognises : callable
        Whether a file is of this format, from its first 64 KiB, decompressed.
    read : callable
        From a path, and options by keyword, to the graph of the file; raises `FormatError` or `GraphError`, never
        anything else. `load` puts the file before what a `GraphError` says.
    options : mapping
        Keyword options of `read` with their descriptions: companions, the step, ...; `load` rejects any other. From a
        command line their values come as text.
    general : bool
        Whether it takes only files that no other one recognises.
    anchor : str
        Suffix of the file to read of a recording of several files: a folder with one of these is a recording; "" for
        none.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.graph.loading import Reader
    >>> def read(path):
    ...     return ss.TaskGraph.from_edges([float(row) for row in path.read_text().split()[1:]], [])
    >>> rows = Reader("rows of seconds", "none", "s", lambda head: head.startswith(b"rows"), read)
    >>> rows.recognises(b"rows 1 2"), rows.options
    (True, {})
    """

    title: str
    dependencies: str
    times: str
    recognises: Callable[[bytes], bool]
    read: Callable[..., TaskGraph]
    options: Mapping[str, str] = field(default_factory=dict)
    general: bool = False
    anchor: str = ""


def load(
    path: str | Path | bytes | BinaryIO,
    *,
    format: str | None = None,
    recorded_on: Origin | None = None,
    limit: float | str | None = None,
    **options: Any,
) -> TaskGraph:
    """Load a task graph from a file of any registered format.

    Parameters
    ----------
    path : str, Path, bytes or binary file
        The file; its format is recognised by its content, not by its name. The suffix `.gz` may be left out. Bytes
        are the content of one; of a file that is open (`open(name, "rb")`, `io.BytesIO`, a response), the rest is read.
        A folder, or a pattern (`runs/*.et`), stands for a recording with a file for each rank, a folder of an OTF2
        archive for all of that.
    format : str, optional
        Name of the format, if it is not to be recognised.
    recorded_on : str, Path, Machine or RecordedOn, optional
        Machine of the recording, in the form of `simsched.machine` (`"host"`, `"knl-7250"`, a file), to carry
        them to other machines; by default the file's own data.
    limit : float or str, optional
        Bytes that the file and its companions may become after decompression, as a number or as `8GB`; each task counts
        as 24 of them and each edge as 8. When not given 8 MiB, and 50 for each byte of the files: a real trace
        never needs more, and a file made to fill the memory is refused.
    **options
        Options of the format, such as companion files, as paths, bytes or open files, or the step to read; see
        `simsched list formats`.

    Returns
    -------
    TaskGraph
        Its `report` lists what was kept, dropped and suspected; if the file holds a run, `recorded` is its schedule.

    Raises
    ------
    FormatError
        If the file cannot be read, no format recognises it, the format has no such option, or it would take more than
        `limit`, or more memory than there is.
    GraphError
        If the file describes an impossible graph.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.load(b"digraph join { a [duration_s=1]; b [duration_s=2]; a -> b }")
    >>> graph, graph.report.format, graph.critical_path_s
    (<TaskGraph 'join': 2 tasks, 1 edge>, 'dot', 3.0)
    """
    with ExitStack() as stack:
        file, *values = (
            stack.enter_context(held(value)) if is_held(value) else value
            for value in (path, *options.values())
        )
        graph = _within(limit, file, format, dict(zip(options, values, strict=True)))
    return graph if recorded_on is None else replace(graph, recorded_on=RecordedOn.of(recorded_on))


def _within(limit: float | str | None, file: Any, format: str | None, options: dict[str, Any]) -> TaskGraph:
    """Return the graph of a file, or of all ranks, within a budget."""
    try:
        with limited(file, limit), _uncollected():
            return _all(file, format, options)
    except MemoryError:
        raise FormatError(
            f"{file}: reading it takes more memory than there is; record or export a part of it, or read it on a "
            "larger machine"
        ) from None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for cycles: it walks all records again and again, a third of the time, and they have none."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _all(file: Any, format: str | None, options: dict[str, Any]) -> TaskGraph:
    """Return the graph of a file, or of all ranks."""
    from simsched.graph.import_facts import complete
    from simsched.graph.ranks import is_several, load_ranks

    if anchor := _anchor(Path(file)) if is_several(file) else None:
        return _loaded(anchor, format, options)
    if is_several(file):
        return complete(load_ranks(Path(file), lambda one, own: _loaded(one, format, own), options))
    return _loaded(find_file(file), format, options)


def _anchor(folder: Path) -> Path | None:
    """Return the file that stands for a folder whose files are one recording; None where there is none."""
    try:
        names = [file.name for file in folder.iterdir() if file.is_file()] if folder.is_dir() else []
    except OSError as error:
        raise FormatError(f"{folder}: {error.strerror or error}") from None
    for format in registered("formats") if names else ():
        try:
            suffix = getattr(named("formats", format), "anchor", "")
        except SpecError:
            continue
        found = sorted(
            name for name in names if suffix and name.endswith(suffix) and not name.startswith(".")
        )
        if len(found) > 1:
            raise FormatError(
                f"{folder}: {len(found)} archives of {format} ({', '.join(found[:8])}); give the path of one"
            )
        if found:
            return folder / found[0]
    return None


def _loaded(file: Path, format: str | None, options: dict[str, Any]) -> TaskGraph:
    from simsched.graph.import_facts import complete
    from simsched.graph.saving import OWN

    name = format or _recognised(file)
    reader: Reader = named("formats", name)
    if unknown := [option for option in options if option not in reader.options]:
        known = ", ".join(reader.options) or "no options"
        raise FormatError(f"{file}: format {name} has no option {unknown[0]!r}; it has {known}")
    try:
        graph = reader.read(file, **options)
    except GraphError as error:
        raise GraphError(f"{file}: {str(error).removeprefix(f'{file}: ')}") from None
    if graph.n_tasks > MANY:
        give_back()
    return graph if name == OWN else complete(graph)  # what was saved comes back as it was


def _recognised(file: Path) -> str:
    if not (head := head_of(file)):
        raise FormatError(f"{file}: the file is empty, as a recorder that dies before it finishes leaves it")
    if not head.strip(b"\0 \t\r\n"):
        raise FormatError(f"{file}: nothing but blanks or zero bytes, as a crash may leave it")
    untried, general = [], []
    for name in registered("formats"):
        try:
            reader: Reader = named("formats", name)
        except SpecError as error:
            # One unavailable reader must not keep another's files from being read.
            untried.append(f"; {error}")
            continue
        if reader.recognises(head):
            if not getattr(reader, "general", False):
                return name
            general.append(name)
    if general:
        return general[0]
    if advice := unpacking(file.name, head):
        raise FormatError(f"{file}: {advice}")
    formats, problems = ", ".join(registered("formats")), "".join(untried)
    if {".csv", ".tsv"} & set(file.suffixes):
        problems += "; a CSV table of tasks has a column duration_s, in seconds, and one of edges beside it"
    if {".toml", ".xml"} & set(file.suffixes):
        problems += "; if it is a machine's, give it as the machine (--machine)"
    raise FormatError(
        f"{file}: not a format that simsched reads; it starts with {head[:40]!r}{problems}; "
        f"if it is one of {formats}, say which by format="
    )


def find_file(path: str | Path) -> Path:
    """Return the path of an existing file, with or without its suffix `.gz`.

    Raises
    ------
    FormatError
        If there is no such file, or it is not readable.
    """
    if not isinstance(path, str | os.PathLike):
        raise FormatError(
            f"path is {path!r:.80}; expected the path of a file, its bytes, or a file open in mode 'rb'"
        )
    file = path if isinstance(path, Path) else Path(path)
    try:
        for candidate in (file, Path(f"{file}.gz"), Path(str(file).removesuffix(".gz"))):
            if candidate.is_file():
                return candidate
        raise FormatError(f"{file}: {no_file(file)}{elsewhere('formats', str(file))}")
    except (OSError, ValueError) as error:
        raise FormatError(f"{file}: {getattr(error, 'strerror', None) or error}") from None


def plain_name(path: Path, *suffixes: str) -> str:
    """Return the name of a file without `.gz` and then, in this order, without each of some suffixes.

    Examples
    --------
    >>> plain_name(Path("runs/cnn.kineto.json.gz"), ".json", ".kineto")
    'cnn'
    """
    return reduce(str.removesuffix, (".gz", *suffixes), path.name)


class _Counted(io.RawIOBase):
    """A decompressed stream whose bytes count against a budget."""

    def __init__(self, stream: gzip.GzipFile, raw: BinaryIO, path: Path, mend: Mend | None) -> None:
        self._stream, self._raw, self._path, self._mend = stream, raw, path, mend
        self._budget, self._read_B = budget(), 0

    def readable(self) -> bool:
        """Return True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` and return the number of bytes read, or raise `FormatError` if there are too many."""
        data = self._read(len(buffer))
        self._read_B += len(data)
        self._budget.expanded(self._path, self._raw.tell(), self._read_B)
        buffer[: len(data)] = data
        return len(data)

    def _read(self, most_B: int) -> bytes:
        try:
            # One block of the file at a time, so that nothing before a broken one is lost.
            return self._stream.read1(min(most_B, CHUNK_B))
        except (EOFError, gzip.BadGzipFile, zlib.error):
            if self._mend is None:
                raise
            self._mend("the compressed data is broken or cut off; what comes before that was read")
            self._mend = _ignore
            return b""


def _ignore(sentence: str) -> None:
    """Ignore the sentence."""


@contextmanager
def open_plain(path: Path, mend: Mend | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed if its content is gzipped, after a UTF-8 byte order mark.

    Parameters
    ----------
    path : Path
        The file.
    mend : callable, optional
        If given, compressed data that is cut off or broken ends the stream, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If the file cannot be opened, is a device or a pipe, its compressed data is broken or cut off, or it becomes
        more than the budget (`simsched.graph.budget`).
    """
    try:
        with open_regular(path) as raw:
            if not raw.peek(2).startswith(b"\x1f\x8b"):
                size_B = path.stat().st_size
                budget().expanded(path, size_B, size_B)
                yield _past_mark(raw)
                return
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield _past_mark(io.BufferedReader(_Counted(unzipped, raw, path, mend), 1 << 16))
    except EOFError:
        raise FormatError(
            f"{path}: the compressed data is cut off; was it copied completely? "
            "tolerant=true, where the format has it, reads what there is"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"{path}: broken gzip data: {error}") from None
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from None


def _past_mark(stream: io.BufferedReader) -> io.BufferedReader:
    """Return a stream after its byte order mark, if it has one, as readers look at the first characters."""
    if stream.peek(len(MARK)).startswith(MARK):
        stream.read(len(MARK))
    return stream


def read_bounded(stream: BinaryIO, most_B: int) -> bytes:
    """Read up to `most_B` bytes of a stream, that many unless it ends before."""
    parts = bytearray()
    while len(parts) < most_B and (part := stream.read(min(most_B - len(parts), CHUNK_B))):
        parts += part
    return bytes(parts)


def head_of(path: Path) -> bytes:
    """Return the first 64 KiB of a file after decompression, by which its format is told.

    A file that is cut off gives what it holds: its reader is the one to refuse or mend it.
    """
    with open_plain(path, _ignore) as stream:
        return read_bounded(stream, HEAD_B)
