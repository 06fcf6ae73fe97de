"""W-Par: recurrent networks cell by cell on two Xeon Platinum 8160, against data parallelism and Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from simsched.drawing import Axes
from simsched.errors import MachineError
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, machine as machine_of
from simsched.parameters import positive, text, whole
from simsched.plots.published import grouped_bars
from simsched.reproduce.pictures import bars, lines
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict
from simsched.reproduce.wpar.cells import CellCosts, Runs, Setting
from simsched.reproduce.wpar.keras import Keras
from simsched.schedule import Schedule

#: Numbers of layers, of mini-batches and of cores of the paper's figures.
LAYERS = (8, 12)
MINI_BATCHES = (1, 2, 4, 6)
CORES = (1, 2, 4, 8, 16, 24, 32, 48)


def _times(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    shown = frame[frame["cell"] == "lstm"]
    sizes = shown["config"].map(lambda config: "/".join(map(str, config)))
    return grouped_bars(shown.assign(run=sizes), "run", "system", "batch of LSTM (ms)", ax)


def _by_cores(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    layers = frame["layers"].min()
    title = f"speed-up over Seq on one core, {layers} layers"
    return lines("cores", RUN, title, "", frame[frame["layers"] == layers], ax)


#: Name of a run: its system, and the parts of a batch.
RUN = "{system}, mini-batches: {mini_batches}"
FIGURES, SPEEDUP = "Fig. 10, 11", "speed-up over Seq on one core"


def _speedup(predicted: Predicted, layers: int, mini_batches: int, cores: int, system: str = "wpar") -> float:
    return predicted(
        FIGURES, SPEEDUP, cell="lstm", layers=layers, batch=128, input=256, hidden=512, steps=100,
        mini_batches=mini_batches, cores=cores, system=system,
    )  # fmt: skip


def _best(predicted: Predicted, layers: int) -> list[float]:
    """Return the best speed-up of each number of mini-batches over all numbers of cores."""
    return [max(_speedup(predicted, layers, parts, n) for n in CORES) for parts in MINI_BATCHES]


def _grows(predicted: Predicted) -> Verdict:
    rows = [_best(predicted, layers) for layers in LAYERS]
    found = "; ".join(" < ".join(f"{s:.1f}" for s in row) for row in rows)
    return all(row == sorted(row) for row in rows), found


def _six_are_best(predicted: Predicted) -> Verdict:
    rows = [_best(predicted, layers) for layers in LAYERS]
    best = [MINI_BATCHES[row.index(max(row))] for row in rows]
    found = ", ".join(f"{parts} of {layers} layers" for parts, layers in zip(best, LAYERS, strict=True))
    return best == [6, 6], found


def _seq_is_bound(predicted: Predicted) -> Verdict:
    most = [
        max(_speedup(predicted, layers, parts, n, "seq") for layers in LAYERS for n in CORES)
        for parts in MINI_BATCHES
    ]
    found = "; ".join(f"{s:.2f} of {parts}" for s, parts in zip(most, MINI_BATCHES, strict=True))
    return all(s <= parts for s, parts in zip(most, MINI_BATCHES, strict=True)), found


def _over_the_socket(predicted: Predicted) -> list[list[float]]:
    """Return W-Par's speed-ups on 24 and 32 cores, for each number of layers and of mini-batches."""
    return [
        [_speedup(predicted, layers, parts, n) for n in (24, 32)]
        for layers in LAYERS
        for parts in MINI_BATCHES
    ]


def _efficiency_drops(predicted: Predicted) -> Verdict:
    kept = [many / few * 24 / 32 for few, many in _over_the_socket(predicted)]
    return max(kept) < 1, " ".join(f"{share:.0%}" for share in kept) + " of the efficiency left"


def _six_still_gain(predicted: Predicted) -> Verdict:
    rows = _over_the_socket(predicted)[len(MINI_BATCHES) - 1 :: len(MINI_BATCHES)]
    return all(few < many for few, many in rows), "; ".join(f"{few:.1f} < {many:.1f}" for few, many in rows)


def _cores_are_busy_longer(predicted: Predicted) -> Verdict:
    times = [
        predicted(
            "Table 6", "busy time of a core", cell="lstm", batch=128, input=256, hidden=512, steps=100,
            mini_batches=6, cores=48, layers=layers,
        )
        for layers in (2, 8)
    ]  # fmt: skip
    return all(few < many for few, many in pairwise(times)), " < ".join(f"{t:.3g}" for t in times) + " ms"


#: Of the numbers of cores, those among which the best one of a batch in several parts is.
MANY = (24, 32, 48)
#: Largest share of cells' computation in gates.
MOST_GATES = 0.95


@dataclass(frozen=True)
class WPar(System):
    """Cells of recurrent networks as tasks on 48 cores of two sockets, diagonal by diagonal; Seq and Keras beside it.

    Parameters
    ----------
    machine : str
        With two sockets and caches, as in `xeon-8160x2[memory.modes.ddr.bandwidth=200]`.
    mini_batches : int
        Most tried parts of a batch, where the paper does not print their number.
    remote : float
        Share of a cell's data on the other socket, in a run on more cores than a socket has.
    packing : bool
        Whether a cell first transfers its matrices and then multiplies, or does both concurrently.
    fused : bool
        Whether the gates of Keras' cells share their products.
    input, steps : int
        Of Fig. 14, whose paper does not print them.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("wpar").published().tables
    ('Table 4', 'Fig. 10, 11', 'Fig. 12', 'Fig. 14', 'Abstract', 'Table 6')
    """

    name = "wpar"

    machine: str = text("xeon-8160x2")
    mini_batches: int = whole(6)
    remote: float = positive(0.5)
    packing: bool = False
    fused: bool = True
    input: int = whole(128)
    steps: int = whole(100)

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return times of a batch, speed-ups, and the use of a run's tasks and cores."""
        numbers = Numbers(self)
        return {
            ("Table 4", "time of a batch"): numbers.batch_ms,
            ("Fig. 10, 11", "speed-up over Seq on one core"): numbers.speedup,
            ("Fig. 12", "share of time that cores are busy"): numbers.busy,
            ("Fig. 14", "speed-up over Keras"): numbers.over_keras,
            ("Abstract", "largest speed-up over Keras"): numbers.most_over_keras,
            ("Table 6", "tasks"): numbers.tasks,
            ("Table 6", "time of a task"): numbers.task_ms,
            ("Table 6", "busy time of a core"): numbers.core_ms,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the checks of the statements."""
        return {
            "speedup_grows_with_mbs": _grows,
            "best_mbs": _six_are_best,
            "seq_never_uses_more_cores_than_mbs": _seq_is_bound,
            "efficiency_drops_from_24_to_32_cores": _efficiency_drops,
            "mbs6_still_gains_from_24_to_32": _six_still_gain,
            "cores_busy_longer_with_layers": _cores_are_busy_longer,
        }

    def pictures(self) -> Mapping[str, Drawing]:
        """Return bars of times and speed-ups, curves by cores, and when cores are busy."""
        return {
            "Table 4": _times,
            "Fig. 10, 11": _by_cores,
            "Fig. 12": partial(
                bars, RUN, "{cores} cores", "share of time that cores are busy", "", log=False
            ),
            "Fig. 14": partial(
                bars, "{mode}, {layers} layers", "{system}", "speed-up over Keras", "", log=False
            ),
            "Table 6": partial(bars, "{layers} layers", "{quantity}", "tasks, milliseconds", ""),
        }

    def schedule(self, system: str, mini_batches: int, cores: int, layers: int = 8) -> Schedule:
        """Return the replay behind a point of Fig. 10 to 12; its `gantt(ax)` is Fig. 12: busy and idle cores over time.

        Parameters
        ----------
        system : {"wpar", "seq"}
        mini_batches, cores, layers : int
        """
        setting = Setting("lstm", layers, input=256, hidden=512, batch=128, steps=100)
        return Numbers(self).runs.schedule(system, setting, mini_batches, cores)


class Numbers:
    """The numbers of all tables; each run is simulated once.

    Parameters
    ----------
    system : WPar
        The choices.
    """

    def __init__(self, system: WPar) -> None:
        self.system = system
        inputs = system.published().inputs
        machine = _checked(machine_of(system.machine))
        # Measured seconds by system; the first row is that of large batches.
        rows = inputs["reference"]["rows"]
        settings = [Setting("lstm", 6, *row[:4]) for row in rows]
        seconds = np.array([row[4:] for row in rows], np.float64) / 1e3
        measured_s = {
            name: dict(zip(settings, column.tolist(), strict=True))
            for name, column in zip(("keras", "seq", "wpar"), seconds.T, strict=True)
        }
        reference = next(iter(measured_s["seq"]))
        costs = CellCosts(machine, float(inputs["outer_cache"]["core_Bps"]), system.remote, system.packing)
        self.runs = self._calibrated(costs, reference, measured_s)
        self.keras = Keras(machine, CORES, system.fused, system.remote).calibrated(measured_s["keras"])

    def _calibrated(
        self, costs: CellCosts, reference: Setting, measured_s: Mapping[str, Mapping[Setting, float]]
    ) -> Runs:
        """Return runs in which Seq and W-Par fit the reference's measured times, by two numbers of a cell."""
        from scipy.optimize import brentq

        parts = self.tried[-1]

        def runs(gates: float) -> Runs:
            return Runs(costs.calibrated(reference, parts, measured_s["seq"][reference], gates))

        def too_slow(gates: float) -> float:
            return runs(gates).best_s("wpar", reference, (parts,), MANY) - measured_s["wpar"][reference]

        # The more gates take, the less W-Par loses by the clock of many cores' vectors.
        ends = {gates: too_slow(gates) for gates in (0.0, MOST_GATES)}
        if ends[0.0] * ends[MOST_GATES] >= 0:
            return runs(min(ends, key=lambda gates: abs(ends[gates])))
        return runs(brentq(too_slow, *ends, xtol=1e-3))

    @property
    def tried(self) -> tuple[int, ...]:
        """Candidate numbers of mini-batches, of which the best counts."""
        most = self.system.mini_batches
        return (*(parts for parts in MINI_BATCHES if parts < most), most)

    def best_s(self, system: str, setting: Setting) -> float:
        """Return the fewest seconds of a batch."""
        if system == "keras":
            return self.keras.seconds(setting)
        return self.runs.best_s(system, setting, self.tried, CORES)

    def batch_ms(self, cell: str, layers: int, system: str, config: tuple[int, int, int, int]) -> float:
        """Return the milliseconds of a batch; config is input, hidden, batch and steps."""
        input, hidden, batch, steps = config
        return 1e3 * self.best_s(system, Setting(cell, layers, input, hidden, batch, steps))

    def speedup(self, system: str, **case: Any) -> float:
        """Return the speed-up over Seq with one mini-batch on one core."""
        setting, mini_batches, cores = _run(**case)
        one_s = self.runs.seconds("seq", setting, 1, 1)
        return one_s / self.runs.seconds(system, setting, mini_batches, cores)

    def busy(self, system: str, **case: Any) -> float:
        """Return the utilization of the cores by tasks."""
        setting, mini_batches, cores = _run(**case)
        run = self.runs.schedule(system, setting, mini_batches, cores)
        return float((run.finish_s - run.start_s).sum() / (cores * run.makespan_s))

    def over_keras(self, cell: str, layers: int, batch: int, hidden: int, mode: str, system: str) -> float:
        """Return the speed-up over Keras, each at its best."""
        own = self.system
        setting = Setting(cell, layers, own.input, hidden, batch, own.steps, training=mode == "training")
        return self.best_s("keras", setting) / self.best_s(system, setting)

    def most_over_keras(self, layers: tuple[int, ...], modes: tuple[str, ...], **case: Any) -> float:
        """Return the largest speed-up over Keras of several numbers of layers and modes."""
        return max(self.over_keras(layers=few, mode=mode, **case) for few in layers for mode in modes)

    def tasks(self, **case: Any) -> float:
        """Return the number of cells of a batch, forward and backward."""
        return float(len(self._cells_s(case)))

    def task_ms(self, **case: Any) -> float:
        """Return the mean milliseconds of a cell."""
        return 1e3 * float(self._cells_s(case).mean())

    def core_ms(self, **case: Any) -> float:
        """Return the mean milliseconds in which a core runs cells."""
        return 1e3 * float(self._cells_s(case).sum() / case["cores"])

    def _cells_s(self, case: Mapping[str, Any]) -> Seconds:
        setting, mini_batches, cores = _run(**case)
        run = self.runs.schedule("wpar", setting, mini_batches, cores)
        return (run.finish_s - run.start_s)[:-mini_batches]


def _checked(machine: Machine) -> Machine:
    """Return the machine without the engine's remote memory: `remote` chooses the place of a cell's data."""
    if machine.n_domains < 2 or machine.l3_B is None:
        raise MachineError(f"{machine}: W-Par runs on two sockets with an L3 each; take one as xeon-8160x2")
    return replace(machine, effects=replace(machine.effects, remote_memory=False))


def _run(*, mini_batches: int, cores: int, **network: Any) -> tuple[Setting, int, int]:
    """Return the setting, the number of mini-batches and the number of cores of a run."""
    return Setting(**network), mini_batches, cores
