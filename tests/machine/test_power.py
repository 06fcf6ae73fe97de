"""Energy of schedules, from the watts that a machine states."""

import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels import machine_file
from simsched.machine.power import Power
from simsched.study.uncertain import MachineNumbers

FAST = "generic[cores=4,idle_W=100,busy_W=93.33,all_cores_W=200]"


def energy_J(machine, graph, layout="4x1"):
    return ss.simulate(graph, machine, "fifo", layout=layout).metrics().get("energy_J")


def test_simgrids_host():
    """One second of one core of four: 120 J, as SimGrid's energy example prints; 10 s asleep before it 1000 J more."""
    machine = ss.machine(FAST)
    assert energy_J(FAST, ss.TaskGraph.from_edges([1.0])) == pytest.approx(120, abs=0.01)
    assert machine.power.energy_J(11.0, 1.0, 0.25) == pytest.approx(1120, abs=0.01)
    assert energy_J(FAST, ss.TaskGraph.from_edges([1.0] * 4)) == pytest.approx(200)


def test_idle_cores_and_idle_machines_draw_what_they_draw():
    """1 s on both cores, 1 s on one, on a machine of 10 W idle, 20 W busy and 40 W with both."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0])
    assert energy_J("generic[cores=2,idle_W=10,busy_W=20,all_cores_W=40]", graph, "2x1") == pytest.approx(
        40 + 30
    )


@pytest.mark.parametrize(
    ("machine", "policy", "layout", "joules"),
    [
        # Each of two cores runs one of its two threads for 1 s, then core 0 alone for 1 s.
        ("knl-7250[cores=2,smt=2,contention=false", "fifo", "4x1", 40 + 30),
        # Both tasks are on core 0: 1 s beside each other, 1 s alone.
        ("knl-7250[cores=2,smt=2,contention=false", "fifo[placement=dense]", "4x1", 30 + 30),
        # One core: the tasks take turns until 2 s, then one is alone until 3 s; it draws no more for that.
        ("generic[cores=1,share_cores=true", "fifo[oversubscribe=true]", "2x1", 3 * 40),
        ("generic[cores=1,share_cores=true", "fifo[oversubscribe=fair]", "2x1", 3 * 40),
    ],
)
def test_a_core_draws_as_much_for_several_of_its_threads(machine, policy, layout, joules):
    graph = ss.TaskGraph.from_edges([2.0, 1.0])
    watts = "idle_W=10,busy_W=20,all_cores_W=40"
    schedule = ss.simulate(graph, f"{machine},{watts}]", policy, layout, runtime=ss.RuntimeProfile())
    assert schedule.metrics()["energy_J"] == pytest.approx(joules)


def with_watts(folder, name, **watts):
    """Return a machine's file with its watts."""
    rows = (
        f'{key} = {{ value = {value}, unit = "W", source = "a test", confidence = "low" }}\n'
        for key, value in watts.items()
    )
    path = folder / "m.toml"
    path.write_text(f"{machine_file(name).read_text('utf-8')}\n[power]\n{''.join(rows)}", "utf-8")
    return path


def test_all_cores_draw_no_more_than_the_limit(tmp_path):
    """It was accepted, and a run took more than its makespan times the limit, "the most that it can take"."""
    path = with_watts(tmp_path, "generic", limit=50, idle=10, busy=20, all_cores=60)
    with pytest.raises(MachineError, match="power: all_cores, 60 W, is more than limit, 50 W"):
        ss.machine(path)
    path = with_watts(tmp_path, "generic", limit=50, idle=10, busy=20, all_cores=50)
    assert ss.machine(path).power_W == 50
    assert ss.machine(f"{path}[all_cores_W=55]").power == Power(10, 20, 55)


def test_watts_do_not_narrow_what_is_sampled(tmp_path):
    """Where they were impossible together, all numbers of a world moved towards the stated ones."""
    path = with_watts(tmp_path, "graviton4", limit=61, idle=50, busy=55, all_cores=60)
    plain, stated = ss.machine("graviton4"), ss.machine(path)
    for seed in range(4):
        one, other = (MachineNumbers.of(each).sampled(each, seed) for each in (plain, stated))
        assert one.core_bandwidth_Bps == other.core_bandwidth_Bps
        assert other.power == stated.power


def test_watts_of_a_file_are_in_proportion_to_its_cores(tmp_path):
    """Those in brackets are of the machine that the brackets describe."""
    path = with_watts(tmp_path, "generic", idle=16, busy=32, all_cores=64)
    cores = ss.machine("generic").n_cores
    half = ss.machine(f"{path}[cores={cores // 2}]")
    assert half.power == Power(8, 16, 32)
    assert ss.machine(f"generic[cores={cores // 2},idle_W=8,busy_W=16,all_cores_W=32]").power == half.power


def test_idle_watts_of_a_chip_stay_where_its_clock_rises_while_cores_are_idle(tmp_path):
    path = with_watts(tmp_path, "xeon-8470", idle=50, busy=60, all_cores=320)
    # The file has the table, at its end.
    path.write_text(path.read_text("utf-8").replace("\n[power]\nidle", "\nidle"), "utf-8")
    assert ss.machine(f"{path}[cores=13]").power == Power(50, 60, 125)
    assert ss.machine(f"{path}[cores=104]").power == Power(100, 120, 640)


def test_waits_for_data_are_idle():
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], edge_bytes=3.0)
    machine = "generic[cores=2,data=sent,route=host,link_Bps=2,idle_W=10,busy_W=20,all_cores_W=40]"
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1")
    idle_s = schedule.makespan_s - 2
    assert idle_s > 0
    assert schedule.metrics()["energy_J"] == pytest.approx(10 * idle_s + 2 * 30)


def test_without_watts_there_is_no_energy():
    assert energy_J("generic[cores=4]", ss.TaskGraph.from_edges([1.0])) is None
    assert energy_J(FAST, ss.TaskGraph.from_edges([])) == 0


def test_a_busy_core_draws_no_less_than_none():
    """50 W busy was accepted, and 100 W idle: the more cores waited, the more energy it took."""
    with pytest.raises(MachineError, match=r"one of 4 cores busy draws 87\.5 W, less than idle, 100 W"):
        ss.machine("generic[cores=4,idle_W=100,busy_W=50,all_cores_W=200]")
    # SimGrid's own example has next to no load below idle, as it counts what one core adds apart.
    assert ss.machine(FAST).power == Power(100, 93.33, 200)


def test_all_watts_or_none():
    with pytest.raises(MachineError, match="idle, busy and all_cores, or none"):
        ss.machine("generic[idle_W=5]")
    with pytest.raises(MachineError, match="idle_W"):
        ss.machine("generic[idle_W=-5,busy_W=1,all_cores_W=1]")


@pytest.mark.parametrize(("idle", "busy", "less"), [(50, 60, "busy, 60 W"), (70, 60, "idle, 70 W")])
def test_a_machine_draws_most_with_all_cores_busy(idle, busy, less):
    with pytest.raises(MachineError, match=f"all_cores, 20 W, is less than {less}"):
        ss.machine(f"generic[idle_W={idle},busy_W={busy},all_cores_W=20]")
