"""`lowest.txt` holds the very versions that pyproject.toml calls the oldest."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

HERE = Path(__file__).parent
#: What `make lowest` installs beside the core.
EXTRAS = ("cli", "viz", "interactive", "formats", "tune", "execute")


def test_the_oldest_versions_are_those_of_the_bounds():
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = project["dependencies"] + [
        line for extra in EXTRAS for line in project["optional-dependencies"][extra]
    ]
    bounds = {needed.name: needed.specifier for needed in map(Requirement, lines)}
    pins = {needed.name: needed.specifier for needed in map(Requirement, _lines(HERE / "lowest.txt"))}
    assert bounds.keys() <= pins.keys()
    for name, (bound,) in bounds.items():
        (pin,) = pins[name]
        assert (bound.operator, pin.operator) == (">=", "=="), name
        assert Version(bound.version) == Version(pin.version), name


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in ("", "#")]
