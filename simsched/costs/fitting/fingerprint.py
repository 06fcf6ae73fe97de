"""Fingerprint of a host: enough to recognise the one on which seconds were measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from simsched.costs.fitting.points import STRICT
from simsched.system import Files

#: Libraries whose versions are kept where they are installed.
LIBRARIES = ("simsched", "numpy", "scipy", "scipy-openblas32", "onednn-cpu-gomp")
_CPU = "sys/devices/system/cpu/cpu0"


@dataclass(frozen=True)
class Fingerprint:
    """A host at the time of its measurement.

    Parameters
    ----------
    cpu : str
        Model of the processor.
    cores : int
        Hardware threads that the process could use.
    caches : tuple of str
        Data caches of the first one, as `L2 1024K x1` (the number of hardware threads that share it).
    governor : str
        The governor of its frequency; "" where unknown.
    max_frequency_Hz : float or None
        Its highest frequency; None where unknown.
    kernel : str
        Operating system and release.
    hypervisor : bool
        Whether it is a virtual machine.
    versions : mapping of str to str
        Python and libraries.

    Examples
    --------
    >>> from simsched.costs.fitting import Fingerprint
    >>> mine, other = Fingerprint("Some CPU", cores=8), Fingerprint("Some CPU", cores=16)
    >>> mine.differs(other)
    ('cores 8, here 16',)
    >>> Fingerprint.here().differs(Fingerprint.here())
    ()
    """

    __pydantic_config__ = STRICT

    cpu: str
    cores: int
    caches: tuple[str, ...] = ()
    governor: str = ""
    max_frequency_Hz: float | None = None
    kernel: str = ""
    hypervisor: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, root: Path = Path("/"), libraries: Iterable[str] = LIBRARIES) -> Fingerprint:
        """Return the fingerprint of the running host; values that it does not report stay empty."""
        files = Files(root)
        info, limit_kHz = files.text("proc/cpuinfo") or "", files.number(f"{_CPU}/cpufreq/cpuinfo_max_freq")
        return cls(
            cpu=_cpu(info),
            cores=_cores(),
            caches=_caches(files),
            governor=files.text(f"{_CPU}/cpufreq/scaling_governor") or "",
            max_frequency_Hz=None if limit_kHz is None else limit_kHz * 1e3,
            kernel=f"{platform.system()} {platform.release()}",
            hypervisor=bool(re.search(r"^flags.*\bhypervisor\b", info, re.MULTILINE)),
            versions={"python": platform.python_version(), **_versions(libraries)},
        )

    def differs(self, other: Fingerprint) -> tuple[str, ...]:
        """Return its differences from `other` as a machine, in words: processor, cores, caches; else ()."""
        return self._changes(other, ("cpu", "cores", "caches"))

    def changed(self, other: Fingerprint) -> tuple[str, ...]:
        """Return, in words, what else differs from `other`: frequency, kernel, versions."""
        rest = [f.name for f in fields(self) if f.name not in ("cpu", "cores", "caches", "versions")]
        names = sorted({*self.versions, *other.versions})
        versions = [
            (name, self.versions.get(name, "none"), other.versions.get(name, "none")) for name in names
        ]
        return (
            *self._changes(other, rest),
            *(f"{name} {then}, here {now}" for name, then, now in versions if then != now),
        )

    def _changes(self, other: Fingerprint, names: Iterable[str]) -> tuple[str, ...]:
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return tuple(f"{name} {_words(then)}, here {_words(now)}" for name, then, now in pairs if then != now)

    def __str__(self) -> str:
        return f"{self.cpu or 'unknown processor'}, {self.cores} cores"


def _words(value: object) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else value
    return f"{text!s}" if text not in (None, "") else "unknown"


def _cpu(info: str) -> str:
    match = re.search(r"^(?:model name|Model|cpu model|cpu)\s*:\s*(.+)$", info, re.MULTILINE)
    return " ".join(match[1].split())[:200] if match else platform.processor() or platform.machine()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        return os.cpu_count() or 1


def _caches(files: Files) -> tuple[str, ...]:
    found = []
    for number in files.numbered(f"{_CPU}/cache", "index"):
        index = f"{_CPU}/cache/index{number}"
        if files.text(f"{index}/type") in ("Data", "Unified"):
            level, size = (files.text(f"{index}/{name}") or "" for name in ("level", "size"))
            sharers = files.numbers(f"{index}/shared_cpu_list") or ()
            found.append(f"L{level} {size} x{len(sharers)}")
    return tuple(found)


def _versions(libraries: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in libraries:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
