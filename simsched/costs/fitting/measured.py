"""`MeasuredCurves`: seconds from measured curves; those of other shapes of the same kinds from their work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs.curves import REFERENCE_S
from simsched.costs.fitting.by_work import WorkModel, work_model
from simsched.costs.fitting.interpolation import Method, WidthCurve
from simsched.costs.fitting.points import MeasuredOp, Op, Sharing
from simsched.costs.fitting.sampling import sampled_ops, work_sigma
from simsched.costs.shapes.kinds import columns_B
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.spec import parse_path
from simsched.text import counted

Array = npt.NDArray[np.float64]
NAN = float("nan")


@dataclass(frozen=True, eq=False)
class MeasuredCurves:
    """Measured seconds for a `CostModel`: `CostModel(measured=MeasuredCurves(ops))`.

    A task whose kind and shape were measured takes the seconds of its curve. One whose kind was measured in other
    shapes takes those of `simsched.costs.fitting.by_work` for its FLOPs and bytes. Every other task keeps its recorded
    seconds, or its roofline, and its kind's cost curve.

    Parameters
    ----------
    ops : sequence of MeasuredOp
        At most one per kind and shape.
    machine : str, optional
        Name of the only machine they may be used on, without variations; any when not given.
    method : {"pchip", "linear"}
        Interpolation between measured widths.
    sharing : {"shared", "apart"}, optional
        The curve of an op that has both. By default that of threads apart on machines whose tiles slow
        crowded teams down (`share_tiles`: the replay adds what sharing costs), else that of threads that share tiles.
    unmeasured_shapes : bool
        Whether shapes never measured are predicted from their work.
    notes : tuple of str
        Notes for every use.
    work_seed : int, optional
        Seconds predicted from work are off by as much as they were for shapes left out, sampled from this seed; exactly
        the model's prediction when not given.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
    >>> op = MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 4e-6), Point(2, 3e-6)))
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="8x8;8x8")
    >>> costs = ss.CostModel(measured=MeasuredCurves([op]))
    >>> ss.simulate(graph, "generic[cores=2]", "sequential", costs=costs).makespan_s
    3e-06
    """

    ops: Sequence[MeasuredOp]
    machine: str | None = None
    method: Method = "pchip"
    sharing: Sharing | None = None
    unmeasured_shapes: bool = True
    notes: tuple[str, ...] = ()
    work_seed: int | None = None

    def __post_init__(self) -> None:
        for place, one in enumerate(self.ops):
            # Of equals the last keeps the place.
            if self._places[one.op.kind, one.op.shape] != place:
                raise CostError(f"{one.op} was measured twice; merge its points")

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of a graph's tasks on a machine, and a description of the steps, in sentences.

        Raises
        ------
        CostError
            If the curves are those of another machine.
        """
        name = parse_path(machine.spec).name
        if self.machine is not None and name != self.machine:
            raise CostError(
                f"seconds measured on {self.machine} are asked for on {machine}; "
                f"to use them there nevertheless, write cost_model(machine={name!r})"
            )
        sharing, widest = self.sharing or self._default(machine), machine.n_threads
        rows = self._rows(graph)
        by_work, learned, learned_to = self._by_work(graph, rows, sharing, widest)
        rows = np.where(learned >= 0, len(self.ops) + learned, rows)
        used, compact = np.unique(rows, return_inverse=True)
        skip = int(len(used) > 0 and used[0] < 0)
        seconds = np.concatenate([self._seconds(sharing, widest), by_work])[used[skip:]]
        overhead = np.concatenate([self._overheads(sharing), np.zeros(len(by_work))])[used[skip:]]
        measured_to = np.concatenate([self._measured_to(sharing), learned_to])[used[skip:]]
        table = WidthTable(
            (compact - skip).astype(np.int32), np.insert(seconds, 0, 0.0, axis=1), overhead, measured_to
        )
        return table, (*self.notes, *self._said(graph, table, np.flatnonzero(learned >= 0)))

    def sampled(self, generator: np.random.Generator) -> MeasuredCurves:
        """Return curves through points sampled within the errors of their medians."""
        return replace(self, ops=sampled_ops(self.ops, generator), work_seed=int(generator.integers(2**62)))

    def curve(self, op: MeasuredOp, sharing: Sharing = "apart") -> WidthCurve:
        """Return the curve through an op's points of one sharing, or of the other where it was not measured."""
        points = op.of(sharing if sharing in op.sharings else op.sharings[0])
        return WidthCurve([p.width for p in points], [p.seconds for p in points], self.method)

    def kinds(self, sharing: Sharing = "apart", widest: int = 1) -> pd.DataFrame:
        """Return one row per kind: kind, shapes, terms, error (with shapes left out; see `WorkModel`)."""
        kinds = dict.fromkeys(one.op.kind for one in self.ops)
        models = [(kind, self._model(kind, sharing, widest)) for kind in kinds]
        rows = [(kind, m.shapes, " + ".join(m.terms), m.error) for kind, m in models if m is not None]
        return pd.DataFrame(rows, columns=["kind", "shapes", "terms", "error"])

    @cached_property
    def _places(self) -> Mapping[tuple[str, str], int]:
        return {(one.op.kind, one.op.shape): place for place, one in enumerate(self.ops)}

    @staticmethod
    def _default(machine: Machine) -> Sharing:
        return "apart" if machine.effects.share_tiles and machine.cores_per_tile > 1 else "shared"

    def _seconds(self, sharing: Sharing, widest: int) -> Array:
        """Return the seconds of every op on 1 to `widest` threads, shape (ops, widest)."""
        key = f"_seconds {sharing} {widest}"
        if key not in vars(self):
            every = np.arange(1, widest + 1)
            rows = [self.curve(one, sharing)(every) for one in self.ops]
            vars(self)[key] = np.array(rows).reshape(len(self.ops), widest)
        found: Array = vars(self)[key]
        return found

    def _overheads(self, sharing: Sharing) -> Array:
        """Return the seconds that each further thread adds to each op, by its fit; 0 where it has none."""
        found = np.zeros(len(self.ops))
        for place, one in enumerate(self.ops):
            for fit in one.fits:
                if fit.sharing == sharing or len(one.fits) == 1:
                    found[place] = fit.thread_overhead.value * np.sqrt(REFERENCE_S * fit.one_core_s.value)
        return found

    def _rows(self, graph: TaskGraph) -> npt.NDArray[np.int64]:
        """Return the op of each task, -1 where its kind and shape were not measured."""
        n_shapes = max(len(graph.shapes.labels), 1)
        pairs = graph.kinds.codes.astype(np.int64) * n_shapes + graph.shapes.codes
        distinct, where = np.unique(pairs, return_inverse=True)
        keys = [
            (graph.kinds.labels[p // n_shapes], graph.shapes.labels[p % n_shapes]) for p in distinct.tolist()
        ]
        return (
            np.array([self._places.get(key, -1) for key in keys], np.int64)[where]
            if keys
            else np.empty(0, np.int64)
        )

    def _model(self, kind: str, sharing: Sharing, widest: int) -> WorkModel | None:
        """Return the model of a kind; None where the work of no shape of it is known."""
        key = f"_model {sharing} {widest} {kind}"
        if key not in vars(self):
            mine = [place for place, one in enumerate(self.ops) if one.op.kind == kind]
            work = np.array([_work(self.ops[place].op) for place in mine])
            vars(self)[key] = work_model(work, self._seconds(sharing, widest)[mine]) if mine else None
        found: WorkModel | None = vars(self)[key]
        return found

    def _by_work(
        self, graph: TaskGraph, rows: npt.NDArray[np.int64], sharing: Sharing, widest: int
    ) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return curves of works, (works, widest), which of them each task of another shape takes, or -1, and how far.

        A curve is known as far as every shape that it was learned from was measured.
        """
        curves, learned, n_curves = [np.empty((0, widest))], np.full(graph.n_tasks, -1, np.int64), 0
        known_to = [np.empty(0, np.int64)]
        wanted = set(np.unique(graph.kinds.codes[rows < 0]).tolist()) if self.unmeasured_shapes else set()
        for code in sorted(wanted):
            if (model := self._model(graph.kinds.labels[code], sharing, widest)) is None:
                continue
            mine = np.flatnonzero((graph.kinds.codes == code) & (rows < 0))
            work = _work_of(graph, mine)
            mine, work = mine[model.usable(work)], np.nan_to_num(work[model.usable(work)])
            distinct, where = np.unique(work, axis=0, return_inverse=True)
            predicted = model.seconds(distinct) * self._off(code, model, len(distinct))
            sure = ((predicted > 0) & np.isfinite(predicted)).all(axis=1)
            place = np.where(sure, n_curves + np.cumsum(sure) - 1, -1)
            learned[mine] = place[where.ravel()]
            curves.append(predicted[sure])
            n_curves += int(sure.sum())
            of_kind = [one.op.kind == graph.kinds.labels[code] for one in self.ops]
            known_to.append(np.full(int(sure.sum()), self._measured_to(sharing)[of_kind].min()))
        return np.concatenate(curves), learned, np.concatenate(known_to)

    def _off(self, code: int, model: WorkModel, n: int) -> Array:
        """Return the factor by which the seconds of each of n works are off, shape (n, 1)."""
        if self.work_seed is None:
            return np.ones((n, 1))
        return np.exp(
            work_sigma(model) * np.random.default_rng([self.work_seed, code]).standard_normal((n, 1))
        )

    def _measured_to(self, sharing: Sharing) -> npt.NDArray[np.int64]:
        """Return the widest measured team of each op, shape (ops,)."""
        return np.array([self.curve(one, sharing).widest for one in self.ops], np.int64)

    def _said(self, graph: TaskGraph, table: WidthTable, by_work: npt.NDArray[np.int64]) -> list[str]:
        covered = int(table.covers.sum())
        notes = [f"{covered - len(by_work)} of {graph.n_tasks} tasks take measured seconds"]
        if len(by_work):
            kinds = ", ".join(sorted({graph.kinds[int(task)] for task in by_work}))
            notes.append(
                f"{counted(len(by_work), 'task')} of shapes not measured: seconds predicted from the work: {kinds}"
            )
        return notes


def _work(op: Op) -> tuple[float, float, float]:
    """Return the FLOPs, bytes and bytes of columns of an op."""
    flops, bytes_B = (NAN if known is None else known for known in (op.flops, op.bytes_B))
    return flops, bytes_B, columns_B(op.kind, op.shape, flops, bytes_B)


def _work_of(graph: TaskGraph, tasks: npt.NDArray[np.int64]) -> Array:
    """Return the FLOPs, bytes and bytes of columns of tasks of one kind, shape (tasks, 3)."""
    shapes, flops, bytes_B = graph.shapes.codes[tasks], graph.flops[tasks], graph.bytes_B[tasks]
    key = np.stack([shapes, *(np.nan_to_num(x, nan=-1.0) for x in (flops, bytes_B))], axis=1)
    _, first, where = np.unique(key, axis=0, return_index=True, return_inverse=True)
    columns = [
        columns_B(graph.kinds[int(tasks[i])], graph.shapes.labels[shapes[i]], flops[i], bytes_B[i])
        for i in first
    ]
    return np.stack([flops, bytes_B, np.array(columns)[where.ravel()]], axis=1)
