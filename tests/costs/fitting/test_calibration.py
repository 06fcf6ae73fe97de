"""Calibrations: files, other hosts, and the cost models they give."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.fitting import (
    Calibration,
    Fingerprint,
    Fit,
    Interval,
    MeasuredOp,
    Op,
    Overheads,
    Pair,
    Point,
)
from simsched.errors import CostError, FormatError

OPS = tuple(
    MeasuredOp(
        Op("mm", f"{n}x{n};{n}x{n}", 2.0 * n**3, 12.0 * n**2),
        tuple(Point(w, n**3 * 1e-10 / w + 1e-6 * w, spread=0.01, runs=20, dropped=1) for w in (1, 2, 4)),
    )
    for n in (64, 128)
)
ELSEWHERE = Fingerprint("Another Processor 3000", 96, ("L2 1024K x1",))


def calibration(**changes):
    made = Calibration.of(
        OPS,
        "medians of 20 runs",
        overheads=Overheads(dispatch_s=1e-7, fork_join_s=1.4e-7, wake_up_s=4e-5),
        pairs=[Pair(("mm", "add"), ("64x64;64x64", ""), (1, 1), (1.02, 0.99), 20)],
        facts={"seconds": 41.5, "slow transfers": "1 in 8"},
    )
    return replace(made, **changes)


def test_what_is_saved_is_loaded(tmp_path):
    path, made = tmp_path / "host.json", calibration()
    made.save(path)
    again = Calibration.load(path)
    assert again == made
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_fits_and_points_are_tables():
    made = calibration()
    assert made.points()["seconds"].tolist() == [point.seconds for one in OPS for point in one.points]
    fits = made.fits()
    assert fits["points"].tolist() == [3, 3]
    assert fits["r2_log"].min() > 0.99
    assert made.curves()["mm"].family == "fitted"


def test_its_cost_model_replays_on_this_host():
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm", shapes="64x64;64x64")
    model = calibration().cost_model()
    schedule = ss.simulate(graph, "host", "sequential", "1x1", model, ss.RuntimeProfile())
    assert schedule.makespan_s == OPS[0].points[0].seconds
    assert schedule.notes[0].startswith("seconds measured on ")


def test_a_model_is_saved_as_its_calibration(tmp_path):
    calibration().cost_model().save(tmp_path / "model.json")
    assert Calibration.load(tmp_path / "model.json").ops == calibration().ops


def test_another_host_is_refused_and_then_named():
    there = calibration(host=ELSEWHERE)
    with pytest.raises(CostError, match=r"not this host: cpu Another Processor 3000, here .*other_host=True"):
        there.cost_model()
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm", shapes="64x64;64x64")
    notes = ss.simulate(graph, "host", "fifo", costs=there.cost_model(other_host=True)).notes
    assert "another host, are used as asked for: cpu Another Processor 3000" in notes[0]
    notes = ss.simulate(graph, "knl-7250", "fifo", costs=there.cost_model(machine="knl-7250")).notes
    assert "are used for knl-7250, as asked for" in notes[0]
    with pytest.raises(CostError, match="measured on host are asked for on knl-7250"):
        ss.simulate(graph, "knl-7250", "fifo", costs=there.cost_model(other_host=True))


def test_a_calibration_of_a_named_machine_needs_that_machine():
    knl = calibration(machine="knl-7250", host=ELSEWHERE)
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm", shapes="64x64;64x64")
    assert ss.simulate(graph, "knl-7250[cores=34]", "fifo", costs=knl.cost_model()).makespan_s > 0
    with pytest.raises(CostError, match="measured on knl-7250 are asked for on host"):
        ss.simulate(graph, "host", "fifo", costs=knl.cost_model())


def test_what_has_changed_since_is_said():
    here = Fingerprint.here()
    older = replace(here, kernel="Linux 2.6", versions={**here.versions, "numpy": "1.0", "extra": "3"})
    assert older.differs(here) == ()
    said = calibration(host=older).cost_model().measured.notes[1]
    assert "kernel Linux 2.6, here " in said
    assert "numpy 1.0, here " in said
    assert "extra 3, here none" in said


def test_overheads_become_a_runtime_profile():
    profile = calibration().runtime(ss.RuntimeProfile(resize_s=1.0, dispatch_s=2.0))
    assert (profile.dispatch_s, profile.fork_join_s, profile.resize_s) == (1e-7, 1.4e-7, 1.0)
    with pytest.raises(CostError, match="overhead pop_s is -1"):
        Overheads(pop_s=-1)


def test_fingerprint_of_another_root(tmp_path):
    cache = tmp_path / "sys/devices/system/cpu/cpu0/cache/index2"
    cache.mkdir(parents=True)
    for name, text in (("level", "2"), ("type", "Unified"), ("size", "512K"), ("shared_cpu_list", "0-3,8")):
        (cache / name).write_text(text + "\n")
    frequency = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
    frequency.mkdir()
    (frequency / "scaling_governor").write_text("performance\n")
    (frequency / "cpuinfo_max_freq").write_text("3600000\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(
        "processor : 0\nmodel name\t: Some  CPU\nflags\t: fpu hypervisor\n"
    )
    found = Fingerprint.here(tmp_path)
    assert (found.cpu, found.caches, found.governor) == ("Some CPU", ("L2 512K x5",), "performance")
    assert found.max_frequency_Hz == 3.6e9
    assert found.hypervisor
    assert Fingerprint.here(tmp_path / "nothing").caches == ()


def broken(path, change):
    calibration().save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


MISTAKES = {
    "version is 2": lambda c: c.update(version=2),
    "is not a calibration": lambda c: c.pop("format"),
    "method is missing": lambda c: c.pop("method"),
    "extra is not known here; remove it": lambda c: c.update(extra=1),
    "host.colour is not known here": lambda c: c["host"].update(colour="red"),
    "ops.0.points.1.seconds is '1': ": lambda c: c["ops"][0]["points"][1].update(seconds="1"),
    "ops.1.points.0.width is 1.5": lambda c: c["ops"][1]["points"][0].update(width=1.5),
    "ops.0.points.0.sharing is 'tile'": lambda c: c["ops"][0]["points"][0].update(sharing="tile"),
    "ops.0.points.1: a point on 2 threads has -1.0 seconds": lambda c: c["ops"][0]["points"][1].update(
        seconds=-1.0
    ),
    "ops.0.points.1: a point has width 1000000000000000000000000000000": lambda c: c["ops"][0]["points"][
        1
    ].update(width=10**30),
    "-1 runs": lambda c: c["pairs"][0].update(runs=-1),
    "width below 1 or too large": lambda c: c["pairs"][0].update(widths=[1, 10**30]),
    "measured twice": lambda c: c["ops"].append(c["ops"][0]),
    "ops.0: mm(64x64;64x64) has two points of": lambda c: c["ops"][0]["points"].append(
        c["ops"][0]["points"][0]
    ),
    "date is 'yesterday'": lambda c: c.update(date="yesterday"),
    "NaN is not a number of JSON": lambda c: c["facts"].update(x=float("nan")),
    "facts.x": lambda c: c["facts"].update(x=[1]),
    "pairs.0.widths": lambda c: c["pairs"][0].update(widths=[1]),
    "overheads.dispatch_s is 'fast'": lambda c: c["overheads"].update(dispatch_s="fast"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_named_with_their_place(tmp_path, message):
    path = broken(tmp_path / "bad.json", MISTAKES[message])
    with pytest.raises(FormatError) as caught:
        Calibration.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_all_mistakes_are_listed(tmp_path):
    def change(content):
        for point in content["ops"][0]["points"]:
            point["width"] = "one"
        del content["method"]

    with pytest.raises(
        FormatError, match=r"4 mistakes:\n  method is missing\n.*points\.0\.width .*\n.*points\.1\.width "
    ):
        Calibration.load(broken(tmp_path / "bad.json", change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        Calibration.load(path)
    with pytest.raises(FormatError, match="no such file"):
        Calibration.load(tmp_path / "missing.json")


texts = st.text(max_size=8)
numbers = st.floats(1e-12, 1e6)


@st.composite
def calibrations(draw):
    def intervals():
        value = draw(numbers)
        return Interval(value, value / 2, value * 2) if draw(st.booleans()) else Interval(value)

    ops = []
    for key in draw(st.lists(st.tuples(texts, texts), max_size=3, unique=True)):
        widths = draw(st.sets(st.integers(1, 300), min_size=1, max_size=4))
        points = [
            Point(
                w,
                draw(numbers),
                draw(st.sampled_from(["shared", "apart"])),
                draw(st.none() | st.floats(0, 1)),
            )
            for w in sorted(widths)
        ]
        fits = [
            Fit(
                "apart",
                intervals(),
                Interval(draw(st.floats(0, 1))),
                intervals(),
                0.95,
                "covariance",
                draw(st.none() | numbers),
                0.1,
                3,
            )
        ]
        ops.append(
            MeasuredOp(
                Op(*key, draw(st.none() | numbers)), tuple(points), tuple(fits[: draw(st.integers(0, 1))])
            )
        )
    return Calibration(
        Fingerprint(
            draw(texts), draw(st.integers(1, 99)), versions=draw(st.dictionaries(texts, texts, max_size=2))
        ),
        draw(texts),
        tuple(ops),
        date=draw(st.sampled_from(["", "2026-01-31T12:00:00+00:00"])),
        facts=draw(st.dictionaries(texts, numbers | texts, max_size=2)),
    )


@given(calibrations())
def test_any_calibration_survives_its_file(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "any.json"
    made.save(path)
    assert Calibration.load(path) == made


@given(st.data())
def test_damaged_files_load_or_say_why(tmp_path_factory, data):
    """Whatever is cut, doubled or replaced: a calibration, or a FormatError with a line per mistake, up to eight."""
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    calibration().save(path)
    raw = path.read_bytes()
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, min(start + 40, len(raw))))
    path.write_bytes(raw[:start] + data.draw(st.binary(max_size=6) | st.just(b"1e999")) + raw[end:])
    said = ""
    try:
        Calibration.load(path)
    except FormatError as error:
        said = str(error)
    assert all(line.startswith("  ") for line in said.split("\n")[1:10])
    assert said.count("\n") <= 9


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("one_core_s", {"value": 0.0, "low": None, "high": None}, "one_core_s 0.0"),
        ("one_core_s", {"value": -1.0, "low": None, "high": None}, "one_core_s -1.0"),
        ("serial_share", {"value": 1.5, "low": None, "high": None}, "serial_share 1.5"),
        ("thread_overhead", {"value": -0.1, "low": None, "high": None}, "thread_overhead -0.1"),
        ("thread_overhead", {"value": 0.1, "low": 0.2, "high": 0.1}, "goes from 0.2 to 0.1"),
        ("confidence", 1.0, "confidence 1.0"),
        ("points", 0, "0 points"),
        ("max_residual", -1.0, "max_residual -1.0"),
    ],
)
def test_impossible_fits_are_refused_where_they_stand(tmp_path, name, value, message):
    path = tmp_path / "host.json"
    calibration().save(path)
    content = json.loads(path.read_text())
    content["ops"][1]["fits"][0][name] = value
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=rf"ops\.1\.fits\.0.*{message}"):
        Calibration.load(path)


@pytest.mark.parametrize("fact", [float("nan"), float("inf"), object()])
def test_facts_that_no_file_can_hold_are_refused(tmp_path, fact):
    with pytest.raises(CostError, match="facts are text or finite numbers"):
        calibration(facts={"seconds": fact}).save(tmp_path / "host.json")
    assert not list(tmp_path.iterdir())
