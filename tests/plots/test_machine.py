"""Pictures of machines: every core once, coloured by its value, explained."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgb

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots.canvas import GREY, OKABE_ITO
from simsched.plots.machine import ROLES, SMALLEST_PT, extent
from simsched.plugins import registered

MACHINES = [name for name in registered("machines") if name != "host"]


def faces(ax: Axes, role: str) -> np.ndarray:
    """Return the colours of the boxes of a role, (n, 3)."""
    collections = [c for c in ax.collections if isinstance(c, PatchCollection)]
    colours = collections[list(ROLES).index(role)].get_facecolor()
    return np.asarray(colours, np.float64).reshape(-1, 4)[:, :3]


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


@pytest.fixture(scope="module", params=MACHINES)
def drawn(request):
    """Return each machine in turn, its name and its picture, drawn once."""
    machine = ss.machine(request.param)
    ax = machine.draw()
    ax.figure.draw_without_rendering()
    yield request.param, machine, ax, ax.figure.canvas.get_renderer()
    plt.close(ax.figure)


def test_every_machine_is_drawn_with_its_cores_numbered(drawn):
    name, machine, ax, _ = drawn
    boxes = [box for box in machine.structure.picture().boxes if box.core >= 0]
    assert len(faces(ax, "core")) == sum(box.role == "core" for box in boxes)
    assert sum(len(faces(ax, role)) for role in {box.role for box in boxes}) == machine.n_cores
    assert all(box.label.split()[-1] == str(box.core) for box in boxes)
    assert {box.label for box in boxes} <= {text.get_text() for text in ax.texts}
    assert ax.get_title(loc="left") == f"{name}: {machine.title}"
    assert {"core", *(machine.kinds.names if machine.kinds else ())} & {*legend(ax)}


def test_texts_fit_their_boxes_and_the_figure(drawn):
    _, machine, ax, renderer = drawn
    figure = ax.figure
    boxes = {box.label: box for box in machine.structure.picture().boxes if box.core >= 0}
    for text in ax.texts:
        shown = text.get_window_extent(renderer)
        assert figure.bbox.x0 <= shown.x0
        assert shown.x1 <= figure.bbox.x1
        assert text.get_fontsize() >= SMALLEST_PT
        if box := boxes.get(text.get_text()):
            (x0, y0), (x1, y1) = ax.transData.transform(
                [(box.x, box.y), (box.x + box.width, box.y + box.height)]
            )
            assert x0 <= shown.x0 <= shown.x1 <= x1
            assert y0 <= shown.y0 <= shown.y1 <= y1
    title = ax.title if ax.get_title() else ax._left_title
    assert title.get_window_extent(renderer).x1 <= figure.bbox.x1


def test_management_cores_have_their_own_colour_until_values_colour_them():
    machine = ss.machine("sw26010")
    plain, valued = machine.draw(), machine.draw(values=machine.hops(64).astype(float), label="hops")
    assert np.allclose(faces(plain, "control"), ROLES["control"].face)
    assert ("management core" in legend(plain), "management core" in legend(valued)) == (True, False)
    own, *others = faces(valued, "control")
    assert np.allclose(others, faces(valued, "core")[-1])  # three steps, as to any core of another group
    assert not np.allclose(own, others[0])
    assert "control" not in {box.role for box in ss.machine("sw26010[mpes=false]").structure.picture().boxes}


@pytest.mark.parametrize(
    ("name", "kinds", "first"), [("core-i7-1370p", ["P", "E"], 6), ("grace-hopper", ["CPU", "GPU"], 72)]
)
def test_kinds_of_cores_have_a_colour_each(name, kinds, first):
    """Performance and efficiency cores looked alike."""
    machine = ss.machine(name)
    ax = machine.draw()
    assert legend(ax)[:2] == kinds
    assert "core" not in legend(ax)
    colours = faces(ax, "core")
    assert np.allclose(colours[:first], ROLES["core"].face)
    assert len(np.unique(colours[first:], axis=0)) == 1
    assert not np.allclose(colours[first], colours[0])
    assert legend(machine.draw(values=machine.hops(0).astype(float)))[:1] != kinds[:1]
    assert legend(ss.machine("generic[cores=4,kinds=each]").draw()) == ["core"]


def test_roles_of_the_mesh():
    ax = ss.machine("knl-7250").draw()
    assert [len(faces(ax, role)) for role in ("tile", "disabled", "memory", "io", "domain")] == [
        34,
        4,
        10,
        6,
        0,
    ]
    assert legend(ax) == ["tile", "disabled tile", "memory", "I/O and other", "core"]
    assert [text.get_text() for text in ax.texts].count("EDC") == 8


def test_clusters_are_framed():
    assert len(faces(ss.machine("knl-7250[cluster=snc4]").draw(), "domain")) == 4


def test_numbers_get_a_colour_bar_with_their_unit():
    machine = ss.machine("knl-7250")
    values = np.arange(68.0)
    values[5] = np.nan
    ax = machine.draw(values=values, label="busy (s)")
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "busy (s)"
    colours = faces(ax, "core")
    viridis = mpl.colormaps["viridis"]
    cores = [box.core for box in machine.structure.picture().boxes if box.core >= 0]
    assert colours[cores.index(0)] == pytest.approx(viridis(0.0)[:3])
    assert colours[cores.index(67)] == pytest.approx(viridis(1.0)[:3])
    assert colours[cores.index(5)] == pytest.approx(GREY)
    assert "unknown" in legend(ax)
    assert "core" not in legend(ax)


def test_equal_numbers_have_a_colour():
    ax = ss.machine("generic").draw(values=np.zeros(16), label="busy (s)")
    assert len(np.unique(faces(ax, "core"), axis=0)) == 1
    assert len(np.unique(faces(ss.machine("generic").draw(values=np.full(16, np.nan)), "core"), axis=0)) == 1


def test_executors_stand_in_the_legend():
    values = np.where(np.arange(16) < 12, np.arange(16) // 4, -1)
    ax = ss.machine("generic").draw(values=values, label="executor")
    assert legend(ax) == ["executor 0", "executor 1", "executor 2", "no executor"]
    assert faces(ax, "core")[4] == pytest.approx(OKABE_ITO[1])
    assert faces(ax, "core")[15] == pytest.approx(GREY)
    assert [text.get_text() for text in ax.texts] == [str(v) for v in values[:12]]


def test_many_executors_show_their_numbers():
    ax = ss.machine("generic").draw(values=np.arange(16), label="executor")
    assert legend(ax) == ["executor: its number"]
    assert [text.get_text() for text in ax.texts] == [str(v) for v in range(16)]


def test_text_is_readable_on_its_colour():
    ax = ss.machine("generic[cores=2]").draw(values=[0.0, 1.0])
    assert [to_rgb(text.get_color()) for text in ax.texts] == [(1, 1, 1), (0, 0, 0)]


def test_axes_of_ones_own():
    figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    assert ss.machine("xeon-8160x2").draw(ax=axes[1], values=np.arange(48.0), label="$x_{1}$ (s)") is axes[1]
    figure.canvas.draw()
    part = plt.figure(figsize=(8, 4)).subfigures(1, 2)[0].subplots()
    assert ss.machine("knc-7120p").draw(ax=part) is part
    part.figure.canvas.draw_idle()


@pytest.mark.parametrize("cores", [1, 2, 1024, 5000])
def test_few_and_many_cores(cores):
    ax = ss.machine(f"generic[cores={cores}]").draw(values=np.arange(float(cores)), label="busy (s)")
    ax.figure.canvas.draw()
    assert len(ax.texts) in (0, cores)
    assert len(faces(ax, "core")) == cores


def test_names_are_shown_as_they_are():
    ax = ss.machine("generic").draw(values=np.arange(16.0), label="$\\frac{ (s)")
    ax.figure.canvas.draw()
    assert ax.figure.axes[1].get_ylabel() == "$\\frac{ (s)"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.zeros(3), r"shape \(3,\); expected one number per core, \(16,\)"),
        (np.zeros((4, 4)), r"shape \(4, 4\)"),
        (["a"] * 16, "something else than numbers"),
        (np.zeros(16, complex), "something else than numbers"),
        ([[1.0], [2.0, 3.0]], "something else than numbers"),
    ],
)
def test_impossible_values_are_errors(values, says):
    with pytest.raises(SimschedError, match=says):
        ss.machine("generic").draw(values=values)


def test_the_extent_holds_every_box_and_link():
    for name in MACHINES:
        picture = ss.machine(name).structure.picture()
        left, bottom, right, top = extent(picture)
        assert all(left <= b.x and b.x + b.width <= right for b in picture.boxes)
        assert all(bottom <= b.y and b.y + b.height <= top for b in picture.boxes)
        assert all(left <= x <= right and bottom <= y <= top for link in picture.links for x, y in link)


def test_the_label_of_a_small_machines_colour_bar_is_whole():
    small = ss.machine("generic[cores=3]")
    figure = small.draw(values=np.zeros(3), label="busiest link (% of the makespan)").figure
    figure.canvas.draw()
    (bar,) = (ax for ax in figure.axes if ax.get_ylabel())
    box = bar.yaxis.label.get_window_extent()
    assert 0 <= box.y0 < box.y1 <= figure.bbox.height
