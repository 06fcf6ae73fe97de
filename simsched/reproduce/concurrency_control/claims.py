"""What concurrency control's numbers say in words, and whether the simulation agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from simsched.reproduce.system import Predicted, Verdict

#: Networks whose numbers are published.
NETWORKS = ("resnet50", "dcgan")


def _uniform_ms(predicted: Predicted, inter_op: int, intra_op: int) -> float:
    return predicted("Table I", "time", network="resnet50", inter_op=inter_op, intra_op=intra_op)


def _recommended_is_not_best(predicted: Predicted) -> Verdict:
    times = {(k, w): _uniform_ms(predicted, k, w) for k in (1, 2, 4) for w in (34, 68, 136)}
    best = min(times, key=times.__getitem__)
    return best == (2, 34), f"{best} with {times[best]:.0f} ms; (1, 68) {times[1, 68]:.0f} ms"


def _more_threads_than_cores_lose(predicted: Predicted) -> Verdict:
    pairs = [[_uniform_ms(predicted, inter, intra) for intra in (68, 136)] for inter in (1, 2, 4)]
    found = ", ".join(f"{few:.0f} < {many:.0f}" for few, many in pairs)
    return all(few < many for few, many in pairs), f"{found} ms"


def _split_beats_smt_beats_serial(predicted: Predicted) -> Verdict:
    order = ("split 34+34", "SMT 68+68", "serial 68")
    times = [predicted("Table III", "time of 1000 runs", strategy=strategy) for strategy in order]
    return times == sorted(times), " < ".join(f"{time:.1f}" for time in times) + " s"


def _wider_intervals_know_less(predicted: Predicted) -> Verdict:
    rows = {n: [predicted("Table V", "accuracy", network=n, x=x) for x in (2, 4, 8, 16)] for n in NETWORKS}
    falls = all(fine > coarse for row in rows.values() for fine, coarse in pairwise(row))
    return falls, "; ".join(f"{n} {' '.join(f'{a:.3f}' for a in row)}" for n, row in rows.items())


def _optimum_at_4(predicted: Predicted) -> Verdict:
    slower = {n: predicted("Table V", "loss on the thread count found", network=n, x=4) for n in NETWORKS}
    return all(v < 0.02 for v in slower.values()), ", ".join(f"{n} {v:.2%}" for n, v in slower.items())


def _improvements(predicted: Predicted, steps: tuple[str, ...]) -> dict[str, list[float]]:
    return {n: [predicted("Fig. 3", "improvement", network=n, step=s) for s in steps] for n in NETWORKS}


def _said(found: Mapping[str, list[float]]) -> str:
    return "; ".join(f"{n} {' '.join(f'{value:+.1%}' for value in row)}" for n, row in found.items())


def _every_step_gains(predicted: Predicted) -> Verdict:
    found = _improvements(predicted, ("s1_s2", "s3", "s4"))
    return all(value > 0 for row in found.values() for value in row), _said(found)


def _co_running_gains_most(predicted: Predicted) -> Verdict:
    found = _improvements(predicted, ("s1_s2", "s3", "s4"))
    return all(max(row) == row[1] for row in found.values()), _said(found)


def _beats_manual(predicted: Predicted) -> Verdict:
    found = _improvements(predicted, ("over_manual",))
    return all(row[0] > 0 for row in found.values()), _said(found)


def _default_is_ten_times_slower(predicted: Predicted) -> Verdict:
    found = predicted("Fig. 3", "default over recommended", network="resnet50")
    return found > 10, f"{found:.1f} times"


def _smt_co_runs_more(predicted: Predicted) -> Verdict:
    alone, both = (
        predicted("Fig. 4", "mean co-running ops", network="resnet50", strategy=s) for s in ("s3", "s3_s4")
    )
    return both > alone, f"{both:.2f} and {alone:.2f}"


VERDICTS: Mapping[str, Callable[[Predicted], Verdict]] = {
    "recommended_is_not_best": _recommended_is_not_best,
    "more_threads_than_cores_lose": _more_threads_than_cores_lose,
    "split_beats_smt_beats_serial": _split_beats_smt_beats_serial,
    "wider_intervals_know_less": _wider_intervals_know_less,
    "optimum_at_4": _optimum_at_4,
    "every_step_gains": _every_step_gains,
    "co_running_gains_most": _co_running_gains_most,
    "beats_manual": _beats_manual,
    "default_is_ten_times_slower": _default_is_ten_times_slower,
    "smt_co_runs_more": _smt_co_runs_more,
}
