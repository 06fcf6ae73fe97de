"""What dies while a sweep runs: points that kill, workers, the scheduler, the client. Nothing is lost or done twice."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from daemons import children, wait_until

import simsched as ss
from simsched.errors import SweepError
from simsched.sweep import results


def begin(sweep, folder, lethal, place="workers=2"):
    """Run a sweep of the module `lethal` in a process of its own, in two others or at a place."""
    code = f"import lethal, sys; lethal.{sweep}().run(sys.argv[1], {place})"
    environment = os.environ | {"PYTHONPATH": str(lethal)}
    return subprocess.Popen([sys.executable, "-c", code, folder], env=environment)


def in_background(call):
    """Call something in a thread; the errors that it raises are in the list."""
    raised = []

    def caught():
        try:
            call()
        except SweepError as error:
            raised.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    return thread, raised


def started(store):
    return lambda: (store / "sweep.json").exists() and len(results(store))


def test_points_that_kill_this_process_are_found_when_it_goes_on(lethal, tmp_path):
    store = tmp_path / "store"
    first = begin("lethal", store, lethal)
    assert first.wait(120) == 70
    second = begin("lethal", store, lethal)
    assert second.wait(120) == 0
    frame = results(store)
    assert frame["point"].tolist() == list(range(400))
    failed = frame[frame["error"].notna()]
    assert failed["seed"].tolist() == [13, 200, 300]
    assert set(failed["error"]) == {"the process that replayed it died: exit status 70"}


def test_points_that_kill_their_process_are_rows(graph, lethal, tmp_path):
    from lethal import Lethal

    made = ss.Sweep([graph], ["generic"], [Lethal(seeds=(3, 4))], seeds=range(20), engine="simpy")
    frame = made.run(tmp_path / "store", workers=2)
    assert frame["point"].tolist() == list(range(20))
    assert frame.loc[frame["error"].notna(), "seed"].tolist() == [3, 4]


def test_points_that_kill_their_worker_are_rows(graph, lethal, client, tmp_path):
    from lethal import Lethal

    frame = ss.Sweep([graph], ["generic"], [Lethal()], seeds=range(40)).run(tmp_path / "store", client)
    assert frame["point"].tolist() == list(range(40))
    failed = frame[frame["error"].notna()]
    assert failed["seed"].tolist() == [13]
    assert failed["error"].iloc[0].startswith("the process that replayed it died: Attempted to run task")
    assert frame.loc[frame["error"].isna(), "makespan_s"].notna().all()


def test_a_killed_worker_costs_nothing_but_time(daemons, client, gate, tmp_path):
    from lethal import slow

    store = tmp_path / "store"
    thread, raised = in_background(lambda: slow().run(store, client))
    wait_until(started(store))
    os.kill(daemons.worker_processes()[0], signal.SIGKILL)
    daemons.workers[1].kill()
    daemons.add_worker()
    gate.touch()
    thread.join(120)
    assert not raised
    assert results(store)["point"].tolist() == list(range(60))
    assert results(store)["error"].isna().all()


def test_a_killed_client_is_followed_by_the_next(lethal, gate, tmp_path):
    from lethal import slow

    store = tmp_path / "store"
    first = begin("slow", store, lethal)
    wait_until(started(store))
    workers = children(first.pid)
    first.kill()
    first.wait()
    kept = len(results(store))
    assert 0 < kept < 60
    gate.touch()
    frame = slow().run(store)
    assert frame["point"].tolist() == list(range(60))
    wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_a_killed_client_of_a_cluster_is_followed_by_the_next(daemons, client, lethal, gate, tmp_path):
    from lethal import slow

    store = tmp_path / "store"
    first = begin("slow", store, lethal, f"__import__('distributed').Client({daemons.address!r})")
    wait_until(started(store))
    first.kill()
    first.wait()
    kept = results(store)
    assert 0 < len(kept) < 60
    gate.touch()
    frame = slow().run(store, client)
    assert frame["point"].tolist() == list(range(60))
    assert frame["replay_s"][kept["point"]].tolist() == kept["replay_s"].tolist()


def test_a_killed_scheduler_is_said_and_the_next_run_goes_on(daemons, client, gate, tmp_path):
    from lethal import slow

    store = tmp_path / "store"
    thread, raised = in_background(lambda: slow().run(store, client))
    wait_until(started(store))
    daemons.scheduler.kill()
    thread.join(120)
    assert "was lost" in str(raised[0])
    assert "of 60 points are kept" in str(raised[0])
    kept = results(store)
    assert 0 < len(kept) < 60
    gate.touch()
    frame = slow().run(store)
    assert frame["point"].tolist() == list(range(60))
    assert frame["replay_s"][kept["point"]].tolist() == kept["replay_s"].tolist()


def test_random_kills_of_everything(tmp_path):
    """`benchmarks/attack/kills.py` does the same at length, in threads and on clusters, too."""
    script = Path(__file__).parents[2] / "benchmarks" / "attack" / "kills.py"
    command = [
        sys.executable,
        script,
        "--runner",
        "processes",
        "--points",
        "100",
        "--tasks",
        "100",
        "--pause",
        "0.06",
        "--kills",
        "2",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "2 kills" in done.stdout
    assert "100 of 100 points exactly once, 0 makespans differ" in done.stdout


def test_no_scheduler_at_an_address():
    pytest.importorskip("distributed")
    from simsched.sweep import cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "CONNECT_S", 0.5)
        for address in ("tcp://127.0.0.1:9", "nonsense://"):
            with pytest.raises(SweepError, match="no Dask scheduler at"):
                cluster.connected(address)
