"""The processor that a recording is made on."""

from __future__ import annotations

import platform
import re
from pathlib import Path


def cpu_model() -> str:
    """Return what the running host calls its processor."""
    try:
        info = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        info = ""
    found = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()
