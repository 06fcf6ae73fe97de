"""Files packed by something else than gzip: what they are, and how to unpack them."""

from __future__ import annotations

#: How files start that another program packed, what they are called, and the command that unpacks them.
_STARTS = (
    (b"BZh", "bzip2 data", "bunzip2 --keep"),
    (b"\xfd7zXZ\0", "xz data", "unxz --keep"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unzstd"),
    (b"\x04\x22\x4d\x18", "lz4 data", "unlz4"),
    (b"\x1f\x9d", "compress data", "uncompress -k"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
    (b"PK\x05\x06", "an empty zip archive", "unzip"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x"),
    (b"Rar!\x1a\x07", "a RAR archive", "unrar x"),
)
#: A tar archive has no magic at its start, but one in the header of its first member.
_TAR, _TAR_AT = b"ustar", 257


def unpacking(name: str, head: bytes) -> str:
    """Return what a packed file is and how to unpack it; "" for any other.

    Parameters
    ----------
    name : str
        The file's, for the command.
    head : bytes
        Its beginning, decompressed where it is gzipped.

    Examples
    --------
    >>> unpacking("run.bz2", b"BZh91AY")
    'this is bzip2 data, which simsched does not unpack; do so first (bunzip2 --keep run.bz2) and give what comes out'
    """
    if head[_TAR_AT:].startswith(_TAR):
        return _advice("a tar archive", f"tar xf {name}")
    found = next(((what, command) for start, what, command in _STARTS if head.startswith(start)), None)
    return _advice(found[0], f"{found[1]} {name}") if found else ""


def _advice(what: str, command: str) -> str:
    return f"this is {what}, which simsched does not unpack; do so first ({command}) and give what comes out"
