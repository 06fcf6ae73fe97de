"""What must hold of every structure: its distances, tiles, domains and picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.machine import Structure

#: Cores whose distances to all others are compared; a machine of more is looked at here and there.
MOST_CORES = 96


def hold(holds: object, failure: str) -> None:
    """Raise `AssertionError` with a message if something does not hold."""
    if not holds:
        raise AssertionError(failure)


def check_structure(structure: Structure, name: str) -> None:
    """Check tiles, domains, distances and the picture of a structure.

    Parameters
    ----------
    structure : Structure
    name : str
        What messages call it.

    Raises
    ------
    AssertionError
        If one of them is impossible.
    """
    _check_domains(structure, name)
    _check_distances(structure, name)
    _check_picture(structure, name)


def _check_distances(structure: Structure, name: str) -> None:
    some = np.unique(np.linspace(0, structure.n_cores - 1, MOST_CORES).astype(int))
    hops = _checked_distances(structure, "hops", some, np.int64, name)
    _checked_distances(structure, "transfer_s", some, np.float64, name)
    detours = hops[:, :, None] > hops[:, None, :] + hops.T[None]
    hold(not detours.any(), f"{name}: hops by way of a third core are fewer than those straight there")


def _checked_distances(
    structure: Structure, what: str, cores: npt.NDArray[np.int64], kind: type[np.generic], name: str
) -> npt.NDArray[Any]:
    """Return the distances among some cores, shape (len(cores), len(cores))."""
    far = np.array([getattr(structure, what)(int(core)) for core in cores])
    n = structure.n_cores
    hold(far.shape == (len(cores), n), f"{name}: {what} of a core has one number a core, {n}")
    hold(far.dtype == kind, f"{name}: {what} is an array of {kind.__name__}, not {far.dtype}")
    hold((far >= 0).all() and np.isfinite(far).all(), f"{name}: {what} is from 0 up and finite")
    among = far[:, cores]
    hold((among.diagonal() == 0).all(), f"{name}: {what} from a core to itself is 0")
    _check_symmetric(among, cores, f"{name}: {what}")
    return among


def _check_symmetric(among: npt.NDArray[Any], cores: npt.NDArray[np.int64], what: str) -> None:
    differs = np.argwhere(~np.isclose(among, among.T, rtol=1e-9, atol=0))
    if len(differs):
        one, other = differs[0]
        raise AssertionError(
            f"{what} from core {cores[one]} to {cores[other]} is {among[one, other]}, but {among[other, one]} back"
        )


def _check_domains(structure: Structure, name: str) -> None:
    n, tiles, domains = structure.n_cores, structure.tile_of, structure.domain_of
    for what, numbers, count in (
        ("domain_of", domains, structure.n_domains),
        ("tile_of", tiles, n // structure.cores_per_tile),
        ("segment_of", structure.segment_of, structure.n_segments),
    ):
        hold(numbers.shape == (n,), f"{name}: {what} has one number a core, {n}, not {numbers.shape}")
        hold(numbers.dtype == np.int32, f"{name}: {what} is an array of int32, not {numbers.dtype}")
        there = np.unique(numbers).tolist()
        hold(there == list(range(count)), f"{name}: {what} has the numbers 0 to {count - 1} without gaps")
    hold((np.bincount(tiles) == structure.cores_per_tile).all(), f"{name}: a tile is not whole")
    hold((np.diff(tiles) >= 0).all(), f"{name}: cores are numbered tile by tile")
    firsts = domains[:: structure.cores_per_tile]
    hold((domains == firsts[tiles]).all(), f"{name}: a tile lies in two memory domains")


def _check_picture(structure: Structure, name: str) -> None:
    boxes = structure.picture().boxes
    cores = [box for box in boxes if box.core >= 0]
    drawn = sorted(box.core for box in cores)
    hold(drawn == list(range(structure.n_cores)), f"{name}: the picture has each core once")
    hold(all(box.width > 0 and box.height > 0 for box in boxes), f"{name}: a box of the picture is empty")
    some = cores[: 8 * MOST_CORES]
    corners = np.array([(box.x, box.y, box.x + box.width, box.y + box.height) for box in some])
    apart = (corners[:, None, 2:] <= corners[None, :, :2] + 1e-9).any(2)
    hold((apart | apart.T | np.eye(len(some), dtype=bool)).all(), f"{name}: two cores overlap in the picture")
