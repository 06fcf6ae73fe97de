"""Every case that the lists of published facts ask for is a row, where these lists stand beside the project."""

import tomllib
from itertools import product
from pathlib import Path

import pytest

from simsched.plugins import registered
from simsched.reproduce import system_of

PAPERS = Path(__file__).parents[3] / "shared/papers"


def combinations(listed):
    """Yield every combination of a table's axes; a value that only one network has says so in brackets."""
    axes = {axis: value if isinstance(value, list) else [value] for axis, value in listed.items()}
    del axes["quantity"]
    for values in product(*axes.values()):
        found = dict(zip(axes, map(str, values), strict=True))
        bracketed = [text for text in found.values() if text.endswith(")")]
        if not bracketed or f"({found['networks']})" in bracketed[0]:
            yield {axis: text.partition(" (")[0] for axis, text in found.items()}


def is_of(case, combination):
    """Tell whether a row's case is of a combination, whose axes may have names in the plural."""
    for axis, value in combination.items():
        names = (axis, axis.removesuffix("s"), axis.removesuffix("ies") + "y")
        texts = [str(list(v) if isinstance(v, tuple) else v) for v in (case.get(name) for name in names)]
        if not any(text == value or text == _nested(value) for text in texts):
            return False
    return True


def _nested(value):
    return value.replace("[", "(").replace("]", ")")


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the lists of published facts are not here")
@pytest.mark.parametrize("name", registered("reproductions"))
def test_every_listed_case_is_a_row(name):
    published = system_of(name).published()
    listed = tomllib.loads((PAPERS / f"{name.replace('-', '_')}.toml").read_text("utf-8"))["cases"]
    for table, axes in listed.items():
        cases = [
            row.case
            for quantity in published.quantities
            if quantity.table == table
            for row in quantity.asked()
        ]
        wanted = list(combinations(axes))
        assert wanted
        missing = [
            combination for combination in wanted if not any(is_of(case, combination) for case in cases)
        ]
        assert not missing, f"{table}: {missing[:3]}"


def test_a_case_that_is_no_row_is_noticed():
    wanted = list(combinations({"networks": ["a", "b"], "layouts": ["1x4", "2x2 (b)"], "quantity": "time"}))
    assert wanted == [
        {"networks": "a", "layouts": "1x4"},
        {"networks": "b", "layouts": "1x4"},
        {"networks": "b", "layouts": "2x2"},
    ]
    assert is_of({"network": "b", "layout": "2x2"}, wanted[2])
    assert not is_of({"network": "a", "layout": "2x2"}, wanted[2])
