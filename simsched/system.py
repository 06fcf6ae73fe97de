"""Files of a Linux system, and the CPU time and memory that its control groups leave a process."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path, PurePosixPath

from simsched.text import printable

#: Numbers of CPUs and memories are below this.
MOST_CPUS = 2**17
_MOST_B = 1 << 24
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def give_back() -> None:
    """Give memory that was freed back to the system; glibc else keeps it, in between what is still used."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


@dataclass(frozen=True)
class Files:
    """Files below a root: `/`, or a copy of another system's `/sys` and `/proc`.

    Parameters
    ----------
    root : Path
        Folder of `sys` and `proc`.
    """

    root: Path

    def text(self, path: str) -> str | None:
        """Return the content of a file, without surrounding space."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(_MOST_B).decode("utf-8", "replace").strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """Return a whole number, which may be negative."""
        text = self.text(path)
        return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text) else None

    def size_B(self, path: str) -> int:
        """Return a size as `32K`, in bytes; 0 where it is unknown."""
        match = re.fullmatch(r"([0-9]{1,9})([KMG]?)", self.text(path) or "")
        return int(match[1]) * _UNITS[match[2]] if match else 0

    def numbers(self, path: str) -> frozenset[int] | None:
        """Return a list of numbers such as `0-3,8,10-11`."""
        text = self.text(path)
        return None if text is None else _listed(text)

    def numbered(self, folder: str, name: str) -> list[int]:
        """Return the numbers in the names of a folder's files, which are `name` and a number, ascending."""
        try:
            names = [path.name for path in (self.root / folder).iterdir()]
        except OSError:
            return []
        found = (re.fullmatch(rf"{name}([0-9]{{1,6}})", each) for each in names)
        return sorted(int(match[1]) for match in found if match and int(match[1]) < MOST_CPUS)


def _listed(text: str) -> frozenset[int] | None:
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*", part)
        if match is None or int(match[2] or match[1]) >= MOST_CPUS:
            return None
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(numbers)


_MOUNT = "sys/fs/cgroup"


def cpu_limit(files: Files) -> float | None:
    """Return the least CPU time per second of the process's groups and their parents, None if unlimited."""
    return min((limit for limit in _cpu_limits(files) if limit > 0), default=None)


def usable_cpus(files: Files | None = None) -> int:
    """Return the number of CPUs that this process can keep busy, of which a batch job or a container has few.

    Examples
    --------
    >>> 1 <= usable_cpus() <= os.cpu_count()
    True
    """
    try:
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        allowed = os.cpu_count() or 1
    limit = cpu_limit(files or Files(Path("/")))
    return max(1, min(allowed, ceil(limit))) if limit is not None else allowed


def _cpu_limits(files: Files) -> Iterator[float]:
    for folder, _ in _groups(files, "cpu"):
        quota, period = (files.text(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        yield from _quota(files.text(f"{folder}/cpu.max"))
        yield from _quota(f"{quota} {period}")


def _groups(files: Files, controller: str) -> Iterator[tuple[str, str]]:
    """Yield folder and name of each group that may limit the process, parents too, of both versions of groups."""
    for line in (files.text("proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        mounts: tuple[str, ...] = ("", "unified/") if not controllers else ()
        if controller in controllers.split(","):
            mounts = tuple(f"{mount}/" for mount in dict.fromkeys((controller, controllers)))
        for folder in _upwards(path) if mounts else ():
            name = "/" if folder == "." else f"/{folder}"
            yield from ((f"{_MOUNT}/{mount}{folder}", name) for mount in mounts)


def _upwards(path: str) -> list[str]:
    """Return a group's folder and all parents; a container sees its own as the root, whatever its name."""
    group = PurePosixPath(path.lstrip("/"))
    if ".." in group.parts:
        return ["."]
    return [str(folder) for folder in (group, *group.parents)]


def _quota(text: str | None) -> Iterator[float]:
    match = re.fullmatch(r"([0-9]{1,15}) ([0-9]{1,15})", text or "")
    if match and int(match[2]):
        yield int(match[1]) / int(match[2])


@dataclass(frozen=True)
class MemoryLeft:
    """Memory that a process can still take before the system ends it.

    Parameters
    ----------
    size_B : float
        Infinite where it is unknown.
    owner : str
        What has no more than that, in words.
    """

    size_B: float
    owner: str


#: Limits of a group's memory and what of it is used, of both versions of control groups.
_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
_USED = ("memory.current", "memory.usage_in_bytes")
#: Lines of `memory.stat` for what the system takes back before it ends a process: pages of files.
_PAGES = re.compile(r"^(total_)?(?:in)?active_file ([0-9]{1,18})$", re.MULTILINE)


def memory_left(files: Files) -> MemoryLeft:
    """Return the least memory that the machine and the process's groups and their parents have left.

    Examples
    --------
    >>> from simsched.system import Files, memory_left
    >>> memory_left(Files(Path("/nowhere")))
    MemoryLeft(size_B=inf, owner='the machine')
    """
    match = re.search(r"^MemAvailable:\s*([0-9]{1,15}) kB", files.text("proc/meminfo") or "", re.MULTILINE)
    machine = MemoryLeft(int(match[1]) * 1024 if match else float("inf"), "the machine")
    return min([machine, *_memory_of_groups(files)], key=lambda left: left.size_B)


def _memory_of_groups(files: Files) -> Iterator[MemoryLeft]:
    for folder, name in _groups(files, "memory"):
        limits = {limit: files.number(f"{folder}/{limit}") for limit in _LIMITS}
        used_B = next((used for each in _USED if (used := files.number(f"{folder}/{each}")) is not None), 0)
        for limit, size_B in limits.items():
            if size_B is not None:
                owner = f"control group {printable(name)} ({limit} is {size_B / 1e9:.3g} GB)"
                yield MemoryLeft(max(0, size_B - used_B + _pages_B(files, folder)), owner)


def _pages_B(files: Files, folder: str) -> int:
    """Return the bytes of a group's pages of files: its parents' files count those of its children."""
    found = _PAGES.findall(files.text(f"{folder}/memory.stat") or "")
    totals = [int(size) for total, size in found if total] or [int(size) for _, size in found]
    return sum(totals)
