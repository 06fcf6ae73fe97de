"""Machines, policies and formats of other packages."""

from importlib.metadata import EntryPoint

import pytest

import simsched as ss
from simsched import plugins
from simsched.cli.list import lines
from simsched.errors import SpecError


@pytest.fixture
def others(monkeypatch):
    """Two packages beside ours: one whose machine is not there, and one that contends for our fifo."""
    broken = EntryPoint("broken", "simsched.nowhere:machine", "simsched.machines")
    fifo = EntryPoint("fifo", "other.package:Fifo", "simsched.policies")
    found = plugins.installed()
    more = {"machines": (*found["machines"], broken), "policies": (*found["policies"], fifo)}
    monkeypatch.setattr(plugins, "installed", lambda: {**found, **more})
    plugins.registered.cache_clear()
    yield
    plugins.registered.cache_clear()


def test_a_broken_package_is_named_and_disturbs_nothing_else(others):
    with pytest.raises(
        SpecError, match=r"machine 'broken' of .*simsched.nowhere.* cannot be loaded: ModuleNotFound"
    ):
        plugins.named("machines", "broken")
    listed = list(lines("machines"))
    assert any(line.startswith("knl-7250") and "68 cores" in line for line in listed)
    assert any(line.startswith("broken") and "cannot be loaded" in line for line in listed)


def test_a_contended_name_is_an_error_of_that_name_only(others):
    with pytest.raises(SpecError, match=r"policy 'fifo' is registered by .* and .*; uninstall one"):
        plugins.named("policies", "fifo")
    assert plugins.named("policies", "corun").name == "corun"


@pytest.mark.parametrize(
    ("group", "name", "said"),
    [
        ("machines", "fifo", "fifo is a policy"),
        ("policies", "RNN", "RNN is a workload"),
        ("workloads", "LSTM", "did you mean lstm\\?"),
        ("workloads", "knl-7250", "knl-7250 is a machine"),
    ],
)
def test_a_name_of_something_else_or_nearly_right_is_told(group, name, said):
    with pytest.raises(SpecError, match=f"; {said}$"):
        plugins.named(group, name)


def test_python_suggests_what_simsched_has():
    """The interpreter looks for a name that is spelled alike in the object of the error."""
    with pytest.raises(AttributeError, match="no attribute 'predcit'") as caught:
        _ = ss.predcit
    assert caught.value.name == "predcit"
    assert "predict" in dir(caught.value.obj)


def test_packages_are_searched_once_for_all_groups(monkeypatch):
    """The environments of users hold hundreds of packages, whose files are read each time."""
    searches = []
    search = plugins.entry_points
    monkeypatch.setattr(plugins, "entry_points", lambda: searches.append(1) or search())
    plugins.installed.cache_clear()
    plugins.registered.cache_clear()
    assert {"fifo"} < {*plugins.registered("policies")}
    assert {"grace"} < {*plugins.registered("machines")}
    assert searches == [1]
