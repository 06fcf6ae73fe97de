"""The recipe of CONTRIBUTING, An effect in both engines, followed with a toy effect in a copy of the source.

Each running task adds an eighth to the slow-down of all others. C++ is not part of it: it takes minutes to build.
"""

import re
import shutil
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

AIR = """
    def _air(self):
        return (len(self._running) - 1) / 8 * self._on.share_air
"""
#: Keeps the parts that there were, and adds one.
EXCESS = """
    def excess(self, task):
        return *self._others(task), self._air()

    def _others(self"""


def after(text, more):
    """Return a text, and what replaces it: itself, and more."""
    return text, text + more


#: Each place that the recipe names: what stands there, and what replaces it.
PLACES = {
    "docs/semantics.md": [after("## What running tasks do to each other\n", "\nSwitch: `share_air`.\n")],
    "docs/machines.md": [after("`effects.remote_memory`*", ", `effects.share_air`*")],
    "simsched/machine/effects.py": [
        after("    remote_memory: bool = False\n", "    share_air: bool = False\n")
    ],
    "simsched/machine/schema.py": [
        after("    remote_memory: StrictBool = True\n", "    share_air: StrictBool = True\n")
    ],
    "simsched/panel/controls.py": [after('"remote_memory": "remote memory",\n', '    "share_air": "air",\n')],
    "tests/replay/page_sharing.py": [
        after("+ o * max(turns, net)", " + (len(self.running) - 1) / 8 * self.on.share_air")
    ],
    "simsched/explain/core_time.py": [after('"remote memory", "interconnect",', ' "air",')],
    "simsched/explain/causes.py": [("SLOW_DOWNS[:5]", "SLOW_DOWNS[:6]")],
    "simsched/study/parts.py": [after('"remote memory", "interconnect",', ' "air",')],
    "simsched/replay/contention.py": [
        after("+ o * max(turns, net)\n", AIR),
        ("+ o * max(turns, net)\n", "+ o * max(turns, net) + self._air()\n"),
        ("    def excess(self", EXCESS),
    ],
    "simsched/replay/native_engine.py": [
        after("    return native.Sharing(\n", "        air=effects.share_air,\n")
    ],
}

#: Names what is wrong, given where the copy is.
CHECK = """
import sys
from pathlib import Path
from types import SimpleNamespace

root = Path(sys.argv[1])
# An editable install finds the package where it was built from.
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
sys.path[:0] = [str(root), str(root / "tests/replay")]
import page_sharing
import simsched as ss
from simsched.explain import causes
from simsched.machine.effects import NAMES
from simsched.machine.schema import EffectsTable
from simsched.panel.controls import SWITCHES
from simsched.replay.native_engine import sharing_of
from simsched.study.parts import PARTS

assert Path(ss.__file__).is_relative_to(root)
machine = ss.machine("generic[cores=4,share_air=true]")
schedule = ss.simulate(ss.TaskGraph.from_edges([4.0, 4.0, 4.0]), machine, "fifo", layout="3x1", engine="simpy")
costs = ss.CostModel().on(schedule.graph, machine)
running = {0: [0], 1: [1], 2: [2]}
slowdowns = page_sharing.slowdowns(machine, lambda task, threads: costs, running, running, [[], [], []])
parts = {part for _, resources in PARTS.values() for part in resources}
checks = {
    "by hand": lambda: schedule.makespan_s == 5,
    "third simulator": lambda: slowdowns == dict.fromkeys(running, 1.25),
    "causes": lambda: causes.slow_downs(schedule)["air"].tolist() == [1, 1, 1],
    "machine files": lambda: tuple(EffectsTable.model_fields) == NAMES,
    "panel": lambda: tuple(SWITCHES) == NAMES,
    "parts of predictions": lambda: set(causes.EXCESSES) <= parts,
    "compiled engine": lambda: sharing_of(SimpleNamespace(Sharing=dict), machine)["air"],
    "the page": lambda: "`share_air`" in (root / "docs/semantics.md").read_text("utf-8"),
    "the index of machine files": lambda: "`effects.share_air`" in (root / "docs/machines.md").read_text("utf-8"),
}
for name, holds in checks.items():
    assert holds(), name
"""


#: Runs the checks in a fork for each line that it reads, and answers by a line: with what went wrong, in quotes.
FORKS = """
import os
import sys
import traceback

import numpy, pandas, pydantic, simpy

for _ in sys.stdin:
    if os.fork():
        print(os.wait()[1], flush=True)
        continue
    try:
        exec(sys.argv[2], {})
        said = ""
    except Exception:
        said = traceback.format_exc()
    print(repr(said), end=" ", flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def forks(copy):
    """A process that has imported the libraries, but nothing of the copy: its forks do that."""
    command = [sys.executable, "-B", "-c", FORKS, copy, CHECK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The source as it is, with the files that the recipe names."""
    root = tmp_path_factory.mktemp("source")
    for name in ("simsched", "hwmodels", "policies", "traces"):
        # With what is compiled already: each fork imports nearly all of it.
        shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("*.so"))
    for name in PLACES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    return root


def follow(root, forks, left_out=None):
    """Follow the recipe, but for a place; return what the checks say."""
    for name, changes in PLACES.items():
        text = (ROOT / name).read_text("utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{name}: {old}"
            text = text if name == left_out else text.replace(old, new)
        (root / name).write_text(text, "utf-8")
    forks.stdin.write("\n")
    forks.stdin.flush()
    said, status = forks.stdout.readline().rsplit(maxsplit=1)
    assert status == "0"
    return literal_eval(said)


def test_the_recipe_is_complete(copy, forks):
    assert follow(copy, forks) == ""


@pytest.mark.parametrize("place", PLACES)
def test_each_place_is_needed(copy, forks, place):
    assert "Error" in follow(copy, forks, place)


def test_the_recipe_names_each_place():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    recipe = text.split("## An effect in both engines")[1].split("\n## ")[0]
    assert set(PLACES) <= set(re.findall(r"`([\w/.]+)`", recipe))
