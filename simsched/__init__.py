"""simsched: a discrete-event simulator of manycore schedulers.

How long does a task graph take on a manycore chip under a scheduling policy, and why?

>>> import simsched as ss
>>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
>>> ss.simulate(graph, "generic[cores=2]", "critical-path").makespan_s
4.0
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simsched import errors as errors, plots as plots, sweep as sweep
    from simsched.costs import CostModel as CostModel, Curve as Curve
    from simsched.costs.fitting import Calibration as Calibration
    from simsched.document.result import Result as Result
    from simsched.errors import SimschedError as SimschedError
    from simsched.exact import Optimum as Optimum, optimum as optimum
    from simsched.execute import (
        Execution as Execution,
        calibrate as calibrate,
        crosscheck as crosscheck,
        execute as execute,
        measure as measure,
        replay_recorded as replay_recorded,
    )
    from simsched.explain import Explanation as Explanation, explain as explain
    from simsched.graph import RecordedOn as RecordedOn, TaskGraph as TaskGraph
    from simsched.graph.loading import load as load
    from simsched.learning import Learned as Learned, learn as learn
    from simsched.machine import Machine as Machine, RuntimeProfile as RuntimeProfile, machine as machine
    from simsched.panel import Panel as Panel, panel as panel
    from simsched.policy import (
        Assignment as Assignment,
        Layout as Layout,
        PlannedPolicy as PlannedPolicy,
        Policy as Policy,
        RankPolicy as RankPolicy,
        Shortcuts as Shortcuts,
        Start as Start,
        policy as policy,
    )
    from simsched.replay import simulate as simulate
    from simsched.report import Report as Report, report as report
    from simsched.reproduce import crossed as crossed, reproduce as reproduce
    from simsched.schedule import Schedule as Schedule, bounds as bounds
    from simsched.study import (
        compare as compare,
        machines as machines,
        predict as predict,
        replayed as replayed,
        sensitivity as sensitivity,
        sobol as sobol,
        tune as tune,
        verdicts as verdicts,
    )
    from simsched.sweep import Sweep as Sweep
    from simsched.workloads import workload as workload

#: Names for users, and their modules. Loaded on use, so that `import simsched` stays light.
_HOMES = {
    "Assignment": "simsched.policy",
    "Calibration": "simsched.costs.fitting",
    "CostModel": "simsched.costs",
    "Curve": "simsched.costs",
    "Execution": "simsched.execute",
    "Explanation": "simsched.explain",
    "Layout": "simsched.policy",
    "Learned": "simsched.learning",
    "Machine": "simsched.machine",
    "Panel": "simsched.panel",
    "Optimum": "simsched.exact",
    "PlannedPolicy": "simsched.policy",
    "Policy": "simsched.policy",
    "RankPolicy": "simsched.policy",
    "RecordedOn": "simsched.graph",
    "Report": "simsched.report",
    "Result": "simsched.document.result",
    "RuntimeProfile": "simsched.machine",
    "Schedule": "simsched.schedule",
    "Shortcuts": "simsched.policy",
    "SimschedError": "simsched.errors",
    "Start": "simsched.policy",
    "Sweep": "simsched.sweep",
    "TaskGraph": "simsched.graph",
    "bounds": "simsched.schedule",
    "calibrate": "simsched.execute",
    "compare": "simsched.study",
    "crosscheck": "simsched.execute",
    "crossed": "simsched.reproduce",
    "execute": "simsched.execute",
    "explain": "simsched.explain",
    "learn": "simsched.learning",
    "load": "simsched.graph.loading",
    "machine": "simsched.machine",
    "machines": "simsched.study",
    "measure": "simsched.execute",
    "panel": "simsched.panel",
    "optimum": "simsched.exact",
    "policy": "simsched.policy",
    "predict": "simsched.study",
    "replay_recorded": "simsched.execute",
    "report": "simsched.report",
    "replayed": "simsched.study",
    "reproduce": "simsched.reproduce",
    "sensitivity": "simsched.study",
    "simulate": "simsched.replay",
    "sobol": "simsched.study",
    "tune": "simsched.study",
    "verdicts": "simsched.study",
    "workload": "simsched.workloads",
}

#: Rooms whose functions are called by their names, as in `ss.plots.gantt`.
_ROOMS = ("errors", "plots", "sweep")

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from simsched.version import version

        return version()
    if name in _ROOMS:
        return import_module(f"simsched.{name}")
    if name not in _HOMES:
        # With name and object, Python suggests a name that is spelled alike.
        raise AttributeError(
            f"module 'simsched' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    home = import_module(_HOMES[name])
    # Importing a room of the same name (`execute`, `machine`, `panel`, ...) puts it here, and it is callable;
    # all else is put here.
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    return [*_HOMES, *_ROOMS, "__version__"]
