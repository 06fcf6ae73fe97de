"""Clocks by busy cores and width of vectors."""

from dataclasses import replace
from pathlib import Path

import pytest

import simsched as ss
from simsched.costs.discrepancy import Discrepancy
from simsched.costs.kernels import Team, gemm_s, loop_s
from simsched.errors import CostError, MachineError
from simsched.machine import Clocks
from simsched.study.uncertain import MachineNumbers

XEON = Path(ss.__file__).parent / "hwmodels" / "xeon-8160x2.toml"
TABLE = Clocks(2e9, (2, 4), {"scalar": (4e9, 3e9), "avx512": (3e9, 2e9)})
#: Chips that boost, with the clock of one core that their maker states, in GHz.
BOOSTING = {
    "core-i7-1370p": 5.2, "epyc-7702": 3.35, "epyc-9654x2": 3.7, "epyc-9965": 3.7, "xeon-6148x2": 3.7,
    "xeon-6780e": 3.0, "xeon-6980p": 3.9, "xeon-8160x2": 3.7, "xeon-8360y": 3.5, "xeon-8470": 3.8,
}  # fmt: skip


def test_a_clock_holds_up_to_so_many_busy_cores():
    assert [TABLE.at(busy) for busy in (1, 2, 3, 4, 9)] == [3e9, 3e9, 2e9, 2e9, 2e9]
    assert [TABLE.at(busy, "scalar") for busy in (2, 3)] == [4e9, 3e9]
    assert (TABLE.gain(1), TABLE.gain(3)) == (1.5, 1.0)
    assert Clocks(2e9).at(7) == 2e9
    with pytest.raises(MachineError, match="vectors 'avx' are none of scalar, avx512"):
        TABLE.at(1, "avx")
    with pytest.raises(MachineError, match="0 busy cores"):
        TABLE.at(0)


def test_clocks_between_two_stated_ones_lie_on_a_line():
    line = Clocks(2e9, (2, 6), {"scalar": (4e9, 3e9)}, line=True)
    assert [line.at(busy) / 1e9 for busy in (1, 2, 3, 4, 6, 9)] == [4.0, 4.0, 3.75, 3.5, 3.0, 3.0]


def test_a_line_is_near_the_only_stated_table():
    """Of the Xeon 8160 all are known: a line through its first and its last is off by 11 % at most."""
    table = ss.machine("xeon-8160x2").clocks
    for name, row in table.by_vector.items():
        line = Clocks(table.nominal_Hz, (2, 24), {name: (row[0], row[-1])}, line=True)
        assert [line.at(busy) for busy in table.busy] == pytest.approx(row, rel=0.11)


@pytest.mark.parametrize("name", BOOSTING)
def test_few_cores_boost_and_no_sampled_world_exceeds_it(name):
    machine = ss.machine(name)
    assert machine.clocks.most_Hz == pytest.approx(BOOSTING[name] * 1e9)
    falling = [machine.clocks.at(busy) for busy in range(1, machine.n_cores + 1)]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > 1.3 * falling[-1]
    known, cycle = MachineNumbers.of(machine), machine.peak_flops / machine.clocks.nominal_Hz
    sampled = [known.sampled(machine, seed) for seed in range(10)]
    assert len({one.clocks.at(1) for one in sampled}) > 1
    for one in sampled:
        assert one.clocks.nominal_Hz <= machine.clocks.most_Hz
        assert one.core_flops_at(1) <= cycle * machine.clocks.at(1) * (1 + 1e-12)


def test_chips_of_two_years_boost_alike_on_few_cores():
    """Where only the older one boosted, its cores were 1.55 times as fast as those of six years later."""
    new, old, zen = (ss.machine(f"{name}[cores=4]") for name in ("xeon-8470", "xeon-8160x2", "epyc-9654x2"))
    assert 0.9 < new.core_flops_at() / old.core_flops_at() < 1.1
    assert 1.5 < old.core_flops_at() / zen.core_flops_at() < 1.8, "of twice the lanes"


@pytest.mark.parametrize("shapes", ["8192x8192;8192x8192", ""])
def test_no_world_computes_faster_than_the_peak(shapes):
    chip, flops = ss.machine("graviton4"), 2 * 8192.0**3
    graph = ss.TaskGraph.from_edges(
        [float("nan")], kinds="MatMul", shapes=[shapes], flops=[flops], bytes_B=[1e9]
    )
    found = []
    for seed in range(40):
        world = MachineNumbers.of(chip).sampled(chip, seed)
        model = ss.CostModel(discrepancy=Discrepancy(seed))
        found.append(model.on(graph, world).one_core_s[0])
        wide = ss.simulate(graph, world, "sequential", "1x96", costs=model)
        assert wide.makespan_s >= flops / chip.peak_flops / 96
    assert min(found) == pytest.approx(flops / chip.peak_flops), "2.8 GHz, all lanes busy"
    assert max(found) > 1.5 * min(found)


@pytest.mark.parametrize(("cores", "GFLOPs"), [(40, 2081), (20, 1054)])
def test_products_on_a_measured_chip(cores, GFLOPs):
    """Others measured DGEMM of MKL, n = 10240, on 2 x Gold 6148; doubles take twice the time."""
    seconds = 2 * gemm_s(10240, 10240, 10240, Team(ss.machine("xeon-6148x2"), cores))
    assert 2 * 10240.0**3 / seconds / 1e9 == pytest.approx(GFLOPs, rel=0.05)


def test_a_team_runs_at_the_clock_of_all_busy_cores_of_its_socket():
    """Alone a core of the Xeon runs at 3.5 GHz with wide vectors, 24 of a socket at 2.0, and 25 are 24 and 1."""
    xeon = ss.machine("xeon-8160x2")
    assert Team(xeon, 1).core_flops == pytest.approx(xeon.core_flops * 3.5 / 2.0)
    assert Team(xeon, 1, executors=24).core_flops == Team(xeon, 25).core_flops == xeon.core_flops
    assert ss.machine("knl-7250").core_flops_at(1) == ss.machine("knl-7250").core_flops
    own = replace(xeon, clocks=Clocks(2.1e9))
    assert replace(xeon, core_flops=float("inf")).core_flops_at(1) == float("inf"), "an ideal core stays one"
    faster = gemm_s(512, 512, 512, Team(own, 1)) / gemm_s(512, 512, 512, Team(xeon, 1))
    assert 1.5 < faster < 1.75, "its bytes do not move any faster"


def test_plain_loops_by_hand():
    """Loops of 100: 6.05 cycles an element, they wait for their sums; of 4: 3.4 + 52/4 = 16.4. At 1.4 GHz, KNL."""
    knl = ss.machine("knl-7250")
    one = Team(knl, 1)
    assert loop_s(1.4e6, 100, one) == pytest.approx(6.05e-3)
    assert loop_s(1.4e6, 4, one) == pytest.approx(16.4e-3)
    four = Team(knl, 4)
    assert loop_s(1.4e6, 4, four) - four.region_s() == pytest.approx(4.1e-3)
    xeon = ss.machine("xeon-8160x2")
    assert loop_s(3.7e6, 100, Team(xeon, 1)) == pytest.approx(6.05e-3), "code without vectors: 3.7 GHz"
    with pytest.raises(CostError, match=r"loops of 0\.5"):
        loop_s(1, 0.5, one)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("busy   = [2, 4, 8,", "busy   = [4, 2, 8,", r"busy: \[4, 2, 8, 12, 16, 20, 24\] do not ascend"),
        ("[3.7, 3.5, 3.4, 3.4, 3.2, 3.0, 2.8]", "[3.7]", "scalar: 1 frequencies for 7 numbers of busy cores"),
        ("[3.6, 3.4,", "[3.3, 3.4,", "avx2: expected frequencies above 0 that do not rise"),
    ],
)
def test_impossible_clocks_are_refused(tmp_path, before, after, message):
    text = XEON.read_text("utf-8")
    assert before in text
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(before, after), "utf-8")
    with pytest.raises(MachineError, match=message):
        ss.machine(str(file))


def test_tasks_of_known_work_run_at_the_clock_of_all_cores_in_use():
    """On 2 of 24 cores of a socket 3.5 GHz, on all 2.0; bytes move as fast; recorded durations are what they were."""
    work = {"flops": [1e12, 1e9, 1e12, 1e12], "bytes_B": [1e3, 1e12, 1e3, 1e3]}
    shaped = {"kinds": ["A", "A", "MatMul", "A"], "shapes": ["", "", "512x512;512x512", ""]}
    graph = ss.TaskGraph.from_edges([float("nan")] * 3 + [1.0], **work, **shaped)
    many, few = (ss.CostModel().on(graph, ss.machine(f"xeon-8160x2[cores={n}]")) for n in (48, 4))
    ratio = many.one_core_s / few.one_core_s
    assert ratio[[0, 1, 3]].tolist() == pytest.approx([1.75, 1.0, 1.0])
    assert 1.5 < ratio[2] < 1.75, "it moves bytes, too"
    assert not any("clock" in note for note in few.notes)
    assert any("2 tasks at the clock of all 48 cores busy" in note for note in many.notes)
    assert many.in_sequence_s == pytest.approx(few.one_core_s.sum()), "one core alone has the higher clock"


def test_a_speed_up_counts_what_the_clock_falls():
    """48 tasks of a second on one core: on 48 at a clock of 2.0 instead of 3.5 GHz they are 48 / 1.75 times as fast."""
    graph = ss.TaskGraph.from_edges([float("nan")] * 48, flops=[188.16e9] * 48)
    frame = ss.predict(graph, "xeon-8160x2", "fifo", [1, 48], width=1, samples=1)
    assert frame["makespan_s"].tolist() == pytest.approx([48, 1.75], rel=1e-3)
    assert frame["speedup"].tolist() == pytest.approx([1, 48 / 1.75], rel=1e-3)
    assert frame["efficiency"].tolist() == pytest.approx([1, 1 / 1.75], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "peak_flops", "published_flops"),
    [
        ("a64fx", 152_064 * 48 * 2.2e9 * 32, 415.53e15),  # Fugaku
        ("xeon-8470", 6_408 * 2 * 56 * 2.0e9 * 32, 40.1e15),  # MareNostrum 5, general purpose
        # An M1 Max: performance cores, and efficiency cores of 0.32 of their speed.
        ("apple-m1", (8 + 2 * 0.32) * 3.2e9 * 16, 264.32e9),
        ("epyc-7702", 64 * 2.45e9 * 16, 2033e9),  # a product on an EPYC 7763
        ("sg2042", 2 * 64 * 2.0e9 * 4, 127 * 12.65e9 / 8),
        ("sw26010-pro", 1.3e18, 1.05e18),
    ],
)
def test_the_sustained_share_is_what_hpl_reaches_on_the_published_system(name, peak_flops, published_flops):
    """In FP64: cores, clock and operations a cycle, half as many as in FP32."""
    numbers = {fact.key: fact.value for fact in ss.machine(name).facts}
    assert numbers["cores.sustained"] == pytest.approx(published_flops / peak_flops, rel=0.02)


@pytest.mark.parametrize(
    ("name", "cores", "published_Bps"),
    [
        ("graviton4", 1, 37.0e9),
        ("graviton4", 64, 430.1e9),
        ("sg2042", 64, 69 * 1.1e9 / 2),
    ],
)
def test_bandwidth_is_what_was_measured_on_the_chip_or_one_of_the_same_dies(name, cores, published_Bps):
    assert ss.machine(name).team_Bps(list(range(cores))) == pytest.approx(published_Bps, rel=0.01)
