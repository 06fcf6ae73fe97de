"""`lowest.txt` holds the very versions that pyproject.toml calls the oldest."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

HERE = Path(__file__).parent
#: Tools, which `make lint types` runs as they are.
NOT_TESTED = "dev"


def test_the_oldest_versions_are_those_of_the_bounds():
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = sum((lines for extra, lines in extras.items() if extra != NOT_TESTED), project["dependencies"])
    bounds = {
        needed.name: needed.specifier for needed in map(Requirement, lines) if needed.name != "simsched"
    }
    pins = {needed.name: needed.specifier for needed in map(Requirement, _lines(HERE / "lowest.txt"))}
    assert bounds.keys() <= pins.keys()
    for name, (bound,) in bounds.items():
        (pin,) = pins[name]
        assert (bound.operator, pin.operator) == (">=", "=="), name
        assert Version(bound.version) == Version(pin.version), name


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")]
