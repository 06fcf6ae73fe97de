"""The page on plots: its examples run and draw, and its pictures are there."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def maker():
    spec = spec_from_file_location("make_plots", DOCS / "plots" / "make.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = maker()
EXAMPLES = MAKER.examples()
#: Networks of the page, and smaller ones that draw the same.
SMALLER = {
    "size=small]": "size=small,steps=2]",
    "size=medium]": "size=medium,steps=2]",
    "size=base]": "size=base,layers=1]",
}


def test_every_picture_of_the_page_is_made_by_its_code():
    assert (DOCS / "plots.md").read_text("utf-8").count("](plots/") == len(EXAMPLES) == 11
    assert {path.stem for path in (DOCS / "plots").glob("*.png")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_draw(name):
    ax = plt.subplots()[1]
    code = EXAMPLES[name]
    for network, smaller in SMALLER.items():
        code = code.replace(network, smaller)
    MAKER.draw(code, ax)
    assert ax.has_data() or ax.collections
    ax.figure.canvas.draw()
