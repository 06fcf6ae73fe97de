"""What threads cost: lines through made-up regions, and real ones."""

import pytest

import simsched as ss
from simsched.errors import EngineError
from simsched.execute.calibrate.measuring import Region, overheads_of, thread_costs


def test_a_line_through_regions_is_found():
    """Fork 1 us + 0.1 us a thread, join 0.5 us + 0.02 us a thread, beside one thread's 30 and 20 ns."""
    regions = [Region(1, 3e-8, 2e-8)]
    regions += [Region(w, 3e-8 + 1e-6 + 1e-7 * w, 2e-8 + 5e-7 + 2e-8 * w) for w in (2, 4, 8, 64)]
    found = overheads_of(regions, 5e-6)
    assert found.fork_join_s == pytest.approx(1e-6)
    assert found.fork_join_per_thread_s == pytest.approx(1e-7)
    assert found.barrier_s == pytest.approx(5e-7)
    assert found.barrier_per_thread_s == pytest.approx(2e-8)
    assert found.wake_up_s == 5e-6


def test_one_width_tells_the_sum_only():
    found = overheads_of([Region(1, 3e-8, 2e-8), Region(2, 1.6e-7, 1e-8)])
    assert found.fork_join_s == pytest.approx(1.3e-7)
    assert found.fork_join_per_thread_s is None
    assert found.barrier_s == 0
    assert overheads_of([Region(1, 3e-8, 2e-8)]).fork_join_s is None


@pytest.mark.usefixtures("native")
def test_real_threads():
    """A team takes longer than a thread, less than a wake-up of a sleeping one and far less than a millisecond."""
    threads = ss.machine("host").n_threads
    found = thread_costs()
    assert 1e-7 < found.wake_up_s < 1e-2
    if threads > 1:
        region_s = found.runtime().region_s + threads * found.runtime().region_per_thread_s
        assert 1e-8 < region_s < 1e-3


@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    ("widths", "says"), [([9999], "a team of 9999 threads"), ([0], "a team of 0 threads")]
)
def test_more_threads_than_cpus_are_refused(widths, says):
    with pytest.raises(EngineError, match=says):
        thread_costs("host", widths)


@pytest.mark.usefixtures("native")
def test_a_crew_that_does_not_come_in_time_leaves(native):
    crew = native.Crew([[native.allowed_cpus()[0]]])
    with pytest.raises(RuntimeError, match="did not come in time"):
        native.region_times(crew, 20_000_000, 0.01, 10.0)
    assert not crew.broken
    assert len(native.region_times(crew, 10, 10.0, 10.0)[0]) == 10
    with pytest.raises(ValueError, match="a round or more"):
        native.region_times(crew, 0, 0.1, 2.0)
