"""The core alone works, and each call that needs an extra says which: `core_alone.py` in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path


def test_the_core_alone():
    script = Path(__file__).with_name("core_alone.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    for name, said in json.loads(done.stdout).items():
        extra, needs, _ = name.partition(": ")
        if needs:
            assert said.startswith("MissingExtraError: "), name
            assert said.endswith(f"which is not installed: pip install 'simsched[{extra}]'"), name
        else:
            assert not said, name
