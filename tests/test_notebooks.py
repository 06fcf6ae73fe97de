"""What every notebook keeps; that each runs is the business of the test of the documentation site."""

import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
#: Seconds that a notebook may say it takes.
MOST_S = 60


def text(cell):
    return "".join(cell["source"])


def test_there_are_notebooks_by_number():
    assert [path.name[:2] for path in NOTEBOOKS[:5]] == ["01", "02", "03", "04", "05"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped(path):
    notebook = json.loads(path.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_says_what_and_how_long(path):
    first = json.loads(path.read_text("utf-8"))["cells"][0]
    assert first["cell_type"] == "markdown"
    assert text(first).startswith("# ")
    told = re.search(r"Takes\s+about\s+(\d+)\s+seconds", text(first))
    assert told, "how long"
    assert int(told[1]) <= MOST_S


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_last_cell_is_there_to_be_changed(path):
    *_, heading, last = json.loads(path.read_text("utf-8"))["cells"]
    assert heading["cell_type"] == "markdown"
    assert text(heading).startswith("## Try: ")
    assert last["cell_type"] == "code"
    assert re.match(r"\w+(, \w+)* = ", text(last)), "what to change stands first, as a value with a name"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_readme_names_it(path):
    readme = path.parents[1] / "README.md"
    assert f"notebooks/{path.name})" in readme.read_text("utf-8")
