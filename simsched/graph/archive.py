"""An uncompressed zip of a JSON header and NumPy arrays, written in one step and checked when read.

NumPy's own reader allocates what a file claims to hold; here no array is larger than the bytes that are really
there, and only one-dimensional little-endian arrays of the expected types are accepted. Of a gzipped file these are
the decompressed bytes, as many as the budget of the load allows (`simsched.graph.budget`). Reading takes up to three
times as much memory, for the file, the member at hand and the arrays made so far, and for the header some thirty times
its text.
"""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError, SimschedError
from simsched.files import replacing
from simsched.graph.loading import open_plain
from simsched.text import one_line, printable

Array = npt.NDArray[Any]

#: Every file is the same for the same content: zip needs a date, so it gets the earliest.
_DATE = (1980, 1, 1, 0, 0, 0)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAGIC = b"\x93NUMPY\x01\x00"
_NPY = re.compile(
    rb"\{'descr': '([<|][a-z][0-9]+)', 'fortran_order': False, 'shape': \(([0-9]{1,18}),\), \} *\n"
)
#: Errors of zipfile on broken files, in addition to its own.
_BROKEN = (
    zipfile.BadZipFile,
    struct.error,
    ValueError,
    RuntimeError,
    OSError,
    EOFError,
    KeyError,
    OverflowError,
)
DAMAGED = "the file is damaged or was edited; copy it again or save it anew"


def write(path: Path, header_name: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays to a file, which is replaced only once it is complete; a device is written in place.

    Parameters
    ----------
    path : Path
        The file; a link is followed.
    header_name : str
        Name of the header's member, the first one.
    header : mapping
        What JSON can hold; NumPy scalars become Python's, other values text, and halves of surrogate pairs
        their escapes.
    arrays : mapping of str to array, shape (k,)
        Stored as `<name>.npy`, little-endian.

    Raises
    ------
    FormatError
        If the file cannot be written.
    """
    try:
        with replacing(path) as file:
            text = json.dumps(header, ensure_ascii=False, indent=1, default=_plain)
            encoded = _SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text).encode()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(zipfile.ZipInfo(header_name, _DATE), encoded)
                for name, array in arrays.items():
                    data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
                    info = zipfile.ZipInfo(f"{name}.npy", _DATE)
                    with archive.open(info, "w", force_zip64=data.nbytes >= 2**30) as member:
                        np.lib.format.write_array(member, data, version=(1, 0), allow_pickle=False)
    except SimschedError as error:
        raise FormatError(str(error)) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be written: {error.strerror or error}") from None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


class Archive:
    """The members of a file written by `write`.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is no such archive, is compressed inside, or its members do not fit it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_plain(path) as stream:
            data = stream.read()
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (*_BROKEN, NotImplementedError) as error:
            raise self.error("", f"not a zip archive ({error}); {DAMAGED}") from None
        members = self._zip.infolist()
        self.names = [member.filename for member in members]
        self._refuse_odd_members(members, len(data))

    def error(self, member: str, problem: str) -> FormatError:
        """Return an error that names the file and the member."""
        return FormatError(f"{self._path}: {printable(member)[:60]}{': ' if member else ''}{problem}")

    def _refuse_odd_members(self, members: list[zipfile.ZipInfo], size_B: int) -> None:
        times = Counter(self.names)
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise self.error(
                    member.filename, "is compressed or encrypted; members are stored as they are"
                )
            if times[member.filename] > 1:
                raise self.error(member.filename, f"occurs twice; {DAMAGED}")
        claimed_B = sum(max(member.file_size, member.compress_size) for member in members)
        if claimed_B > size_B:
            raise self.error("", f"members claim {claimed_B} bytes, the file has {size_B}; {DAMAGED}")

    def _bytes(self, member: str) -> bytes:
        if member not in self.names:
            raise self.error(member, f"is missing; {DAMAGED}")
        try:
            return self._zip.read(member)
        except (*_BROKEN, NotImplementedError) as error:
            raise self.error(member, f"cannot be read ({one_line(str(error))}); {DAMAGED}") from None

    def header(self, member: str) -> dict[str, Any]:
        """Return the JSON object of a member."""
        try:
            header = json.loads(self._bytes(member).decode())
            # JSON can spell halves of surrogate pairs, which no file or terminal takes.
            json.dumps(header, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise self.error(member, f"is not JSON ({error}); {DAMAGED}") from None
        if not isinstance(header, dict):
            raise self.error(member, f"holds {type(header).__name__}, expected an object; {DAMAGED}")
        return header

    def array(self, name: str, dtype: str, length: int | None = None) -> Array:
        """Return a one-dimensional array.

        Parameters
        ----------
        name : str
            Name of the member without `.npy`.
        dtype : str
            The only type accepted, as NumPy writes it (`<f8`).
        length : int, optional
            The only length accepted.

        Raises
        ------
        FormatError
            If the member is missing, of another type or length, or cut off.
        """
        member = f"{name}.npy"
        data = self._bytes(member)
        start = 10 + int.from_bytes(data[8:10], "little")
        match = _NPY.fullmatch(data[10:start])
        if not data.startswith(_MAGIC) or match is None:
            raise self.error(member, f"is not a one-dimensional NumPy array, version 1.0; {DAMAGED}")
        found, count = match[1].decode(), int(match[2])
        if found != dtype:
            raise self.error(member, f"holds {found}, expected {dtype}; {DAMAGED}")
        if length is not None and count != length:
            raise self.error(member, f"has {count} entries, expected {length}; {DAMAGED}")
        if len(data) - start != count * np.dtype(dtype).itemsize:
            raise self.error(member, f"has {len(data) - start} bytes for {count} entries; {DAMAGED}")
        # A copy is aligned, in the host's byte order, and releases the file.
        return np.frombuffer(data, dtype, count, start).astype(np.dtype(dtype).newbyteorder("="))
