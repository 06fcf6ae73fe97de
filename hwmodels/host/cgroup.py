"""How many CPUs' time a control group leaves to this process, in containers and batch jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from simsched.hwmodels.host.sysfs import Files

_MOUNT = "sys/fs/cgroup"


def cpu_limit(files: Files) -> float | None:
    """Return the least CPU time a second of the process's groups and those above them, None where none is set."""
    limits = [limit for limit in _limits(files) if limit > 0]
    return min(limits, default=None)


def _limits(files: Files) -> Iterator[float]:
    for line in (files.text("proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for folder in _upwards(path):
            if not controllers:
                yield from _quota(files.text(f"{_MOUNT}/{folder}/cpu.max"))
                yield from _quota(files.text(f"{_MOUNT}/unified/{folder}/cpu.max"))
            elif "cpu" in controllers.split(","):
                for mount in dict.fromkeys(("cpu", controllers)):
                    quota = files.text(f"{_MOUNT}/{mount}/{folder}/cpu.cfs_quota_us")
                    period = files.text(f"{_MOUNT}/{mount}/{folder}/cpu.cfs_period_us")
                    yield from _quota(f"{quota} {period}")


def _upwards(path: str) -> list[str]:
    """Return a group's folder and all above it; a container sees its own as the root, whatever it is called."""
    group = PurePosixPath(path.lstrip("/"))
    if ".." in group.parts:
        return ["."]
    return [str(folder) for folder in (group, *group.parents)]


def _quota(text: str | None) -> Iterator[float]:
    match = re.fullmatch(r"([0-9]{1,15}) ([0-9]{1,15})", text or "")
    if match and int(match[2]):
        yield int(match[1]) / int(match[2])
