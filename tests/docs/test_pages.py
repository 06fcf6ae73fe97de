"""The Python of the pages runs, a page at a time, beside files of the names that the pages speak of.

A block below a line `<!-- not run: why -->` only illustrates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import matplotlib.pyplot as plt
import pytest

import simsched as ss
from simsched.errors import LayoutError
from simsched.policy import Problem
from simsched.study.binding import RESOURCES

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^(?P<why><!-- not run: .+ -->\n)?```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
SAMPLES = "traces/samples"
SEEDS = "tests/traces/seeds"
#: Files by the names that pages give them.
FILES = {
    ".ninja_deps": f"{SEEDS}/ninja/real/deps.bin",
    ".ninja_log": f"{SEEDS}/ninja/real/main.log",
    "step.kineto.json.gz": f"{SEEDS}/pytorch/step/main.json",
    "step.et.json.gz": f"{SEEDS}/pytorch/step/execution_trace.json",
    "resnet.kineto.json.gz": f"{SAMPLES}/cnn.kineto.json.gz",
    "resnet.et.json.gz": f"{SAMPLES}/cnn.et.json.gz",
    "actions.json": f"{SEEDS}/bazel/real/actions.json",
    "build.profile.gz": f"{SEEDS}/bazel/real/main.json",
    "dag.dot": f"{SEEDS}/paje/starpu/dag.dot",
    "flow.dot": f"{SEEDS}/taskflow/joined/graph.dot",
    "graph.dot": f"{SEEDS}/dot/ours/main.dot",
    "graph.gv": f"{SEEDS}/dot/any/main.dot",
    "graph.graphml": f"{SEEDS}/graphml/ours/main.graphml",
    "host.xplane.pb": f"{SEEDS}/xplane/jax/main.pb",
    "knl.xml": "tests/machine/samples/clusters-1.11.xml",
    "labels.pcf": f"{SEEDS}/paraver/two/pcf.pcf",
    "model.onnx": f"{SEEDS}/onnx/diamond/main.onnx",
    "montage.dax": f"{SEEDS}/dax/v2/main.dax",
    "montage-chameleon-2mass-005d-001.json": f"{SEEDS}/wfformat/three/main.json",
    "names.row": f"{SEEDS}/paraver/two/row.row",
    "node.xml": "tests/machine/samples/two-skylakes-2.0.xml",
    "others.csv": f"{SEEDS}/csv/three/edges.csv",
    "pool.json": f"{SEEDS}/chrome/viztracer/main.json",
    "paje.trace": f"{SEEDS}/paje/starpu/main.trace",
    "program_full.dot": f"{SEEDS}/tdg/three/main.dot",
    "report.sqlite": f"{SEEDS}/nsys/small/main.sqlite",
    "run.json": f"{SEEDS}/chrome/tool/main.json",
    "run.jsonl": f"{SEEDS}/ompt/cholesky/main.jsonl",
    "run.pcf": f"{SEEDS}/paraver/two/pcf.pcf",
    "run.prv": f"{SEEDS}/paraver/two/main.prv",
    "run.row": f"{SEEDS}/paraver/two/row.row",
    "run.tfp.json": f"{SEEDS}/taskflow/joined/main.json",
    "run.trace": f"{SEEDS}/paje/any/main.trace",
    "some.csv": f"{SEEDS}/csv/three/main.csv",
    "steps.dot": f"{SEEDS}/ninja/real/graph.dot",
    "tasks.rec": f"{SEEDS}/starpu/dag/main.rec",
}


def _pages() -> Iterator[str]:
    # All examples of the page on plots are drawn by tests/plots.
    for path in [
        ROOT / "README.md",
        *sorted({*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "plots.md"}),
    ]:
        if any(not found["why"] for found in BLOCK.finditer(path.read_text("utf-8"))):
            yield path.relative_to(ROOT).as_posix()


@pytest.fixture
def beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, source in FILES.items():
        copyfile(ROOT / source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.usefixtures("beside_files")
@pytest.mark.parametrize("page", list(_pages()))
def test_the_python_of_a_page_runs(page: str) -> None:
    text, names = (ROOT / page).read_text("utf-8"), {"__name__": "__main__"}
    for found in BLOCK.finditer(text):
        if not found["why"]:
            before = text.count("\n", 0, found.start("code"))
            code = compile("\n" * before + found["code"], page, "exec", dont_inherit=True)
            try:
                exec(code, names)  # noqa: S102 - our own pages
            except LayoutError as error:
                if "host has 1 (" in str(error):
                    pytest.skip(f"{page} needs two cores")
                raise


def test_what_a_policy_can_decide_by_exists() -> None:
    """Each `problem...` in the table of docs/howto/own_policy.md has a value that is no method left uncalled."""
    machine = ss.machine("generic[cores=2]")
    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    problem = Problem(graph, machine, ss.CostModel().on(graph, machine), None)
    names = {"problem": problem, "task": 0, "widths": 2, "seconds": problem.seconds}
    text = (ROOT / "docs/howto/own_policy.md").read_text("utf-8")
    asked = re.findall(
        r"`(problem\.[^`]+)`(?=[^|\n]*\|)", text.partition("## What a policy can decide by")[2]
    )
    assert len(asked) > 7
    assert not [one for one in asked if callable(eval(one, dict(names)))]  # noqa: S307 - our own page


def test_columns_and_resources_of_a_prediction_are_on_its_page() -> None:
    text = (ROOT / "docs/predicting.md").read_text("utf-8")
    columns = ss.predict(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", [1]).columns
    said = {*columns, *RESOURCES} - {"cores", "tasks", "samples"}
    assert not [one for one in sorted(said) if f"`{one}`" not in text]
