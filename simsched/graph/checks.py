"""Checks of number columns: non-numbers, negative or infinite values and wrong lengths are named errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.columns import Floats, plain_text
from simsched.graph.recording import Recording

MAX_WIDTH = 2**31 - 1


def refuse_where(
    wrong: npt.NDArray[np.bool_], story: Callable[[int], str], error: type[Exception] = GraphError
) -> None:
    """Raise an error about the first entry that is wrong, by its place; raise none where no entry is."""
    if wrong.any():
        raise error(story(int(wrong.argmax())))


def refuse_sizes(sizes: Floats, story: Callable[[int], str]) -> None:
    """Raise `GraphError` about the first of some numbers that is below zero or infinite."""
    wrong = (sizes < 0) | np.isinf(sizes)
    more = f" ({wrong.sum()} like it)" if wrong.sum() > 1 else ""
    refuse_where(
        wrong, lambda i: f"{story(i)}; it must be zero or more and finite, or NaN where unknown{more}"
    )


def numbers(values: npt.ArrayLike | Iterator[float], n: int | None, what: str, unit: str) -> Floats:
    """Return `values` as float64, with NaN and None for unknown values: a copy, unless they are read-only already.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Zero or more and finite, or NaN or None.
    n : int or None
        Number of tasks; None where this column determines it.
    what, unit : str
        What messages call the column and its numbers.

    Raises
    ------
    GraphError
        If a value is not a number, negative or infinite, or the length is another.
    """
    try:
        array = np.asarray(list(values) if isinstance(values, Iterator) else values)
        if array.size and array.dtype.kind not in "iufO":
            found = "text" if array.dtype.kind in "US" else array.dtype
            raise GraphError(f"the {what} column holds {found}; give {unit} as numbers")
        array = _own(array, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"the {what} column is not a list of numbers: {error}") from None
    if array.ndim != 1 or (n is not None and len(array) != n):
        expected = "one number per task" if n is None else f"({n},), one number per task"
        raise GraphError(f"the {what} column has shape {array.shape}; expected {expected}")
    refuse_sizes(array, lambda i: f"task {i} has {what} {array[i]} {unit}")
    return array


def durations(values: npt.ArrayLike | Iterator[float]) -> tuple[Floats, Floats | None]:
    """Return the durations of tasks, and their seconds by kind of core where `values` have a column per kind.

    Raises
    ------
    GraphError
        If a value is not a number, negative or infinite, but for seconds on kinds on which a task cannot run while it
        can on others, or only some of a task's seconds are known.
    """
    given = list(values) if isinstance(values, Iterator) else values
    try:
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)  # told below, with the column's name
    if matrix.ndim != 2 or not matrix.shape[1]:
        return numbers(given, None, "duration", "seconds"), None
    matrix = np.array(matrix)
    never: npt.NDArray[np.bool_] = np.equal(matrix, np.inf)
    refuse_where(
        np.asarray(never.all(axis=1)),
        lambda i: (
            f"task {i} has inf seconds on every kind of core, so that none can run it; give its seconds on one"
        ),
    )
    for kind, column in enumerate(matrix.T):
        numbers(np.where(never[:, kind], 0.0, column), None, f"duration on kind {kind}", "seconds")
    partly = np.isnan(matrix).any(axis=1) & ~np.isnan(matrix).all(axis=1)
    if partly.any():
        raise GraphError(
            f"task {int(partly.argmax())} has seconds for some kinds of cores; give all of them, or none"
        )
    return kind_means(matrix), matrix


def kind_means(by_kind: npt.NDArray[np.float64]) -> Floats:
    """Return the mean of each task's seconds over the kinds of cores on which it can run, shape (n,)."""
    means, never = by_kind.mean(axis=1), np.isinf(by_kind)
    if (some := never.any(axis=1)).any():
        means[some] = np.where(never, 0.0, by_kind)[some].sum(axis=1) / (~never[some]).sum(axis=1)
    return means


def unknown(n: int) -> Floats:
    """Return `n` unknown numbers, read-only: one in memory."""
    return np.broadcast_to(np.nan, n)


def widths(values: npt.ArrayLike, n: int) -> npt.NDArray[np.int32]:
    """Return the threads of each task as int32, shape (n,), from one number per task, or a scalar: one in memory.

    Raises
    ------
    GraphError
        If a width is not a whole number from 1 to 2**31 - 1, or the length is another.
    """
    array = _array(values, "widths are whole numbers of threads")
    if array.ndim == 1 and not len(array) and not n:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu" or array.shape not in ((), (n,)):
        raise GraphError(
            f"widths are whole numbers of threads, one for all or one per task ({n}); "
            f"got {array.dtype} of shape {array.shape}"
        )
    refuse_where(
        (array < 1) | (array > MAX_WIDTH),
        lambda i: f"task {i} was recorded with {array.reshape(-1)[i]} threads; widths are 1 to {MAX_WIDTH}",
    )
    return np.broadcast_to(array.astype(np.int32), (n,))


def whole(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> npt.NDArray[Any]:
    """Return an array of whole numbers of a shape; raise `GraphError` for anything else."""
    array = _array(values, f"{what} are whole numbers")
    if array.shape != shape or (array.size and array.dtype.kind not in "iu"):
        raise GraphError(
            f"{what} are {array.dtype} of shape {array.shape}; expected whole numbers of shape {shape}"
        )
    return array


def recording(values: Recording | None, n: int) -> Recording | None:
    """Return a checked copy of a recording: finite times in order, every lane named.

    Raises
    ------
    GraphError
        If a column has another length, a time is unknown, negative or infinite, a task finishes before it
        starts, or a lane has no name.
    """
    if values is None:
        return None
    if not isinstance(values, Recording):
        raise GraphError(f"recording is {values!r:.80}; expected a Recording")
    start = numbers(values.start_s, n, "recorded start", "seconds")
    finish = numbers(values.finish_s, n, "recorded finish", "seconds")
    refuse_where(
        ~(finish >= start),
        lambda i: f"task {i} was recorded from {start[i]} to {finish[i]} seconds; check the times",
    )
    lanes = whole(values.lanes, (n,), "lanes")
    names = tuple(map(plain_text, values.lane_names))
    refuse_where(
        (lanes < 0) | (lanes >= len(names)),
        lambda i: f"task {i} was recorded on lane {lanes[i]}; there are {len(names)}, from 0",
    )
    return Recording(
        start, finish, _own(lanes, np.int32), names, _priorities(values.priorities, n), values.origin_ns
    )


def _priorities(values: npt.ArrayLike | None, n: int) -> Floats | None:
    """Return recorded priorities, which may be below zero."""
    if values is None:
        return None
    array = _array(values, "priorities are numbers")
    if array.shape != (n,) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise GraphError(f"priorities are {n} finite numbers; got {array.dtype} of shape {array.shape}")
    return array.astype(np.float64)


def _own(array: npt.NDArray[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return an array as a graph may keep it: a copy, unless it is read-only and no view of another one."""
    return array.astype(dtype, copy=array.flags.writeable or not array.flags.owndata)


def _array(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{what}; {error}") from None
