"""CPU time and memory that control groups leave a process, of both versions, read from a copy of a system's files."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from simsched import system
from simsched.system import Files, cpu_limit, memory_left, usable_cpus


def written(root: Path, files: dict[str, str]) -> Files:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return Files(root)


GROUP, MAX = "proc/self/cgroup", "sys/fs/cgroup"
BOTH = f"{MAX}/cpu,cpuacct"
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
LIMITS = [
    ({GROUP: "0::/job", f"{MAX}/job/cpu.max": "150000 100000"}, 1.5),
    ({GROUP: "0::/a/b", f"{MAX}/a/b/cpu.max": "max 100000", f"{MAX}/a/cpu.max": "300000 100000"}, 3),
    ({GROUP: "0::/unseen", f"{MAX}/cpu.max": "200000 100000"}, 2),
    ({GROUP: "4:cpu,cpuacct:/x", f"{BOTH}/x/{QUOTA}": "50000", f"{BOTH}/x/{PERIOD}": "100000"}, 0.5),
    ({GROUP: "1:cpu:/", f"{MAX}/cpu/{QUOTA}": "-1", f"{MAX}/cpu/{PERIOD}": "100000"}, None),
    ({GROUP: "4:memory:/x\n0::/", f"{MAX}/cpu.max": "max 100000"}, None),
    ({GROUP: "0::/../../x", f"{MAX}/cpu.max": "100000 0"}, None),
    ({GROUP: "garbled"}, None),
    ({}, None),
]  # fmt: skip


@pytest.mark.parametrize(("files", "limit"), LIMITS)
def test_limits_of_control_groups(tmp_path: Path, files: dict[str, str], limit: float | None) -> None:
    assert cpu_limit(written(tmp_path, files)) == limit


@pytest.mark.parametrize(("mask", "quota", "usable"), [
    ({3, 5, 7}, "max", 3), ({3, 5, 7}, "150000", 2), ({3}, "800000", 1), ({3, 5, 7}, "5000", 1), (None, "max", 64),
])  # fmt: skip
def test_a_batch_job_uses_the_cpus_it_was_given(tmp_path, monkeypatch, mask, quota, usable) -> None:
    def affinity(process):
        if mask is None:
            raise OSError
        return mask

    monkeypatch.setattr(system.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(system.os, "sched_getaffinity", affinity)
    assert (
        usable_cpus(written(tmp_path, {GROUP: "0::/job", f"{MAX}/job/cpu.max": f"{quota} 100000"})) == usable
    )


FREE = {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:    8000000 kB\n"}
V1 = {GROUP: "4:memory:/box/job"}
SECOND = f"{MAX}/job/memory"
FIRST = f"{MAX}/memory/box"
MEMORY = [
    (FREE, 8_192_000_000, "the machine"),
    ({}, inf, "the machine"),
    ({**FREE, GROUP: "0::/job", f"{SECOND}.max": "max", f"{SECOND}.current": "5"}, 8_192_000_000, "the machine"),
    ({**FREE, GROUP: "0::/job", f"{SECOND}.max": "1000000000", f"{SECOND}.current": "400000000"}, 6e8,
     "control group /job (memory.max is 1 GB)"),
    # What is used for pages of files, the system takes back.
    ({**FREE, GROUP: "0::/job", f"{SECOND}.max": "1000000000", f"{SECOND}.current": "900000000",
      f"{SECOND}.stat": "anon 1\ninactive_file 300000000\nactive_file 100000000\n"}, 5e8,
     "control group /job (memory.max is 1 GB)"),
    # A container sees its own group as the root, and a limit below which a group is only slowed down counts.
    ({**FREE, GROUP: "0::/unseen", f"{MAX}/memory.high": "2000000000", f"{MAX}/memory.max": "3000000000"}, 2e9,
     "control group / (memory.high is 2 GB)"),
    # The parent of the process's group has less left than the group itself.
    ({**FREE, **V1, f"{FIRST}/memory.limit_in_bytes": "1000000000", f"{FIRST}/memory.usage_in_bytes": "900000000",
      f"{FIRST}/memory.stat": "inactive_file 7\ntotal_inactive_file 50000000\ntotal_active_file 0\n",
      f"{FIRST}/job/memory.limit_in_bytes": "9223372036854771712"}, 1.5e8,
     "control group /box (memory.limit_in_bytes is 1 GB)"),
    ({**FREE, **V1, f"{FIRST}/memory.limit_in_bytes": "1000", f"{FIRST}/memory.usage_in_bytes": "3000"}, 0,
     "control group /box (memory.limit_in_bytes is 1e-06 GB)"),
    ({**FREE, GROUP: "4:memory:/a\x1bb", f"{MAX}/memory/a\x1bb/memory.limit_in_bytes": "1000000000"}, 1e9,
     "control group /a\\x1bb (memory.limit_in_bytes is 1 GB)"),
    ({**FREE, GROUP: "4:memory:/x", f"{MAX}/memory/x/memory.limit_in_bytes": "²"}, 8_192_000_000, "the machine"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "size_B", "owner"), MEMORY)
def test_memory_that_is_left(tmp_path: Path, files: dict[str, str], size_B: float, owner: str) -> None:
    left = memory_left(written(tmp_path, files))
    assert (left.size_B, left.owner) == (size_B, owner)
