"""Clocks by busy cores and width of vectors."""

from dataclasses import replace
from pathlib import Path

import pytest

import simsched as ss
from simsched.costs.kernels import Team, gemm_s, loop_s
from simsched.errors import CostError, MachineError
from simsched.machine import Clocks

XEON = Path(ss.__file__).parent / "hwmodels" / "xeon-8160x2.toml"
TABLE = Clocks(2e9, (2, 4), {"scalar": (4e9, 3e9), "avx512": (3e9, 2e9)})


def test_a_clock_holds_up_to_so_many_busy_cores():
    assert [TABLE.at(busy) for busy in (1, 2, 3, 4, 9)] == [3e9, 3e9, 2e9, 2e9, 2e9]
    assert [TABLE.at(busy, "scalar") for busy in (2, 3)] == [4e9, 3e9]
    assert (TABLE.gain(1), TABLE.gain(3)) == (1.5, 1.0)
    assert Clocks(2e9).at(7) == 2e9
    with pytest.raises(MachineError, match="vectors 'avx' are none of scalar, avx512"):
        TABLE.at(1, "avx")
    with pytest.raises(MachineError, match="0 busy cores"):
        TABLE.at(0)


def test_a_team_runs_at_the_clock_of_all_busy_cores_of_its_socket():
    """Alone a core of the Xeon runs at 3.5 GHz with wide vectors, 24 of a socket at 2.0, and 25 are 24 and 1."""
    xeon = ss.machine("xeon-8160x2")
    assert Team(xeon, 1).core_flops == pytest.approx(xeon.core_flops * 3.5 / 2.0)
    assert Team(xeon, 1, executors=24).core_flops == Team(xeon, 25).core_flops == xeon.core_flops
    assert ss.machine("knl-7250").core_flops_at(1) == ss.machine("knl-7250").core_flops
    own = replace(xeon, clocks=Clocks(2.1e9))
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
