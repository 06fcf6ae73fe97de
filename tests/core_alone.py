"""What a user of the core alone finds: run as a script, it hides every other library and prints what each call says.

Printed is JSON: the error line of each call by name, "" where it went well.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def _needed(distribution: str, seen: set[str]) -> set[str]:
    """Return a distribution and all that it needs without extras."""
    name = re.sub(r"[-_.]+", "-", distribution).lower()
    if name not in seen:
        seen.add(name)
        try:
            lines = requires(name) or []
        except PackageNotFoundError:  # for another platform
            lines = []
        for line in lines:
            if "extra ==" not in line:
                _needed(re.split(r"[^\w.-]", line)[0], seen)
    return seen


class _Without:
    """A finder that does not find some modules."""

    def __init__(self, finder: Any, hidden: set[str]) -> None:
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Find what is not hidden."""
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def hide_all_but_the_core() -> None:
    """Make every installed library unknown that simsched does not need without extras."""
    needed = _needed("simsched", set())
    found = packages_distributions()
    hidden = {
        module
        for module, distributions in found.items()
        if not {re.sub(r"[-_.]+", "-", each).lower() for each in distributions} & needed
    }
    sys.meta_path[:] = [_Without(finder, hidden) for finder in sys.meta_path]


def calls(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield everything that is tried, by name."""
    import simsched as ss
    from simsched import plots

    graph = ss.TaskGraph.from_edges([3.0, 2.0, 2.0, 1.0], [(0, 3), (1, 3)], kinds="spin")
    machine, policies = "generic[cores=2]", ["fifo", "critical-path"]
    schedule = ss.simulate(graph, machine, "critical-path")
    samples = Path(__file__).parent.parent / "traces" / "samples"
    yield "simulate", lambda: ss.simulate(ss.workload("rnn"), "knl-7250", "corun")
    yield "simulate by SimPy", lambda: ss.simulate(graph, machine, "fifo", engine="simpy")
    yield "compare", lambda: ss.compare(graph, machine, policies)
    yield "predict", lambda: ss.predict(graph, machine, "fifo", cores=[1, 4])
    yield "tune", lambda: ss.tune(graph, machine, "fifo")
    yield "explain", lambda: schedule.explain().summary()
    yield "bounds", lambda: ss.bounds(graph, machine)
    yield "sensitivity", lambda: ss.sensitivity(graph, machine, "fifo")
    yield "sobol", lambda: ss.sobol(graph, machine, "fifo", samples=4)
    yield "verdicts", lambda: ss.verdicts(ss.replayed({"graph": graph}, machine, policies, seeds=range(3)))
    yield "save", lambda: graph.save(folder / "graph.simsched")
    yield "load", lambda: ss.load(folder / "graph.simsched")
    yield "chrome trace", lambda: schedule.save(folder / "run.trace.json")
    yield "csv", lambda: graph.save(folder / "graph.tasks.csv")
    yield "graphml", lambda: graph.save(folder / "graph.graphml")
    yield "report.md", lambda: ss.report(graph, machine).save(folder / "report.md")
    yield "formats: json", lambda: ss.load(samples / "cnn.kineto.json.gz")
    yield "formats: parquet", lambda: schedule.save(folder / "run.parquet")
    yield "viz: gantt", schedule.gantt
    yield "viz: plot", lambda: plots.comparison(ss.compare(graph, machine, policies))
    yield "interactive: explore", schedule.explore
    yield "notebook: panel", lambda: ss.panel(graph, machine, "fifo")
    yield "optimum: optimum", lambda: ss.optimum(graph, machine)
    yield "tune: optuna", lambda: ss.tune(graph, machine, "fifo", method="optuna")
    yield "formats: sweep", lambda: ss.Sweep([graph], [machine], policies).run(folder / "store")
    if find_spec("simsched.native._execute"):
        yield "execute: execute", lambda: ss.execute(graph, "fifo")
    yield "cluster: cluster", lambda: __import__("simsched.sweep.cluster")
    yield "test: testing", lambda: __import__("simsched.testing")


def main() -> None:
    """Try everything, and print what came of it."""
    hide_all_but_the_core()
    from simsched.errors import SimschedError

    said = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)):
            try:
                call()
                said[name] = ""
            except SimschedError as error:
                said[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(said))


if __name__ == "__main__":
    main()
