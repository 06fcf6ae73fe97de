"""Files packed by something else than gzip once, or in UTF-16: what they are, and how to unpack them."""

from __future__ import annotations

#: First bytes of files packed by another program, their names, and the command that unpacks them.
_STARTS = (
    # The bytes here are unpacked once already.
    (b"\x1f\x8b", "gzip data inside gzip data", "gunzip --keep"),
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
#: Byte order marks of texts in UTF-16, as redirections of PowerShell write them.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
#: A tar archive has no magic at its start, but one in the header of its first member.
_TAR, _TAR_AT = b"ustar", 257


def unpacking(name: str, head: bytes) -> str:
    """Return the format of a packed or UTF-16 file and how to unpack it; "" for any other.

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
    if head.startswith(_UTF16):
        return f"this is text in UTF-16, expected UTF-8; iconv -f UTF-16 -t UTF-8 {name} converts it"
    found = next(((what, command) for start, what, command in _STARTS if head.startswith(start)), None)
    return _advice(found[0], f"{found[1]} {name}") if found else ""


def _advice(what: str, command: str) -> str:
    return f"this is {what}, which simsched does not unpack; do so first ({command}) and give what comes out"
