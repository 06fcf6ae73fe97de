"""The program that the thread sanitizer runs (threads.sh) is built by nothing else: that it still compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("source", sorted(HERE.glob("*.cpp")), ids=lambda path: path.stem)
def test_it_compiles(source: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    options = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    done = subprocess.run([compiler, *options, str(source)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
