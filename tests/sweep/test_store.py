"""The store of a sweep: continued, refused, never half written."""

import errno
import json
import multiprocessing

import pyarrow.parquet as pq
import pytest

import simsched as ss
from simsched.errors import SweepError
from simsched.sweep import results, store as stores


def sweep(graph, **options):
    return ss.Sweep([graph], ["generic[cores=4]"], ["fifo[order=random]"], **{"seeds": range(40), **options})


@pytest.fixture
def each_batch_a_part(monkeypatch):
    monkeypatch.setattr(stores, "LEAST_S", 0.0)
    monkeypatch.setattr(stores, "SHARE", 0.0)


@pytest.fixture
def disk_full_after(monkeypatch, each_batch_a_part):
    """Let so many parts be written, and then no more."""

    def fill(parts):
        left = iter(range(parts))
        write = pq.write_table

        def written(table, stream):
            if next(left, None) is None:
                stream.write(b"half of i")
                raise OSError(errno.ENOSPC, "No space left on device")
            write(table, stream)

        monkeypatch.setattr(pq, "write_table", written)

    return fill


def test_a_full_disk_ends_the_sweep_and_the_next_run_goes_on(graph, tmp_path, disk_full_after, monkeypatch):
    whole = sweep(graph).run(tmp_path / "other")
    with monkeypatch.context() as patch:
        disk_full_after(2)
        with pytest.raises(
            SweepError, match=r"No space left on device.* of 40 points are kept in .*run again"
        ):
            sweep(graph).run(tmp_path / "store")
        patch.undo()
    monkeypatch.undo()
    kept = results(tmp_path / "store")
    assert 0 < len(kept) < 40
    frame = sweep(graph).run(tmp_path / "store")
    assert frame["point"].tolist() == list(range(40))
    assert frame["makespan_s"].tolist() == whole["makespan_s"].tolist()
    # What was kept was not done again.
    assert frame["replay_s"][kept["point"]].tolist() == kept["replay_s"].tolist()
    assert not list((tmp_path / "store").rglob("*.part"))


def test_a_finished_store_is_returned_as_it_is(graph, tmp_path):
    first = sweep(graph).run(tmp_path / "store")
    before = (tmp_path / "store" / "results.parquet").stat().st_mtime_ns
    assert sweep(graph).run(tmp_path / "store")["replay_s"].tolist() == first["replay_s"].tolist()
    assert (tmp_path / "store" / "results.parquet").stat().st_mtime_ns == before


def test_parts_that_were_merged_and_not_removed_do_no_harm(graph, tmp_path, each_batch_a_part):
    store = tmp_path / "store"
    frame = sweep(graph).run(store)
    pq.write_table(pq.read_table(store / "results.parquet").slice(3, 9), store / "parts" / "000000.parquet")
    assert results(store)["point"].tolist() == list(range(40))
    assert sweep(graph).run(store)["makespan_s"].tolist() == frame["makespan_s"].tolist()
    assert not list((store / "parts").iterdir())


def test_parts_may_go_one_by_one_while_they_are_read(graph, tmp_path, monkeypatch):
    """Each time one is about to be read, it was just removed, until only the file of all is left."""
    store = tmp_path / "store"
    sweep(graph).run(store)
    table = pq.read_table(store / "results.parquet")
    for number in range(6):
        pq.write_table(table.slice(number, 1), store / "parts" / f"{number:06}.parquet")
    read = pq.read_table

    def going(file, **options):
        if file.parent.name == "parts":
            file.unlink()
        return read(file, **options)

    monkeypatch.setattr(pq, "read_table", going)
    assert results(store)["point"].tolist() == list(range(40))
    assert not list((store / "parts").iterdir())


def test_a_part_that_is_listed_and_not_there_is_no_endless_wait(graph, tmp_path):
    store = tmp_path / "store"
    sweep(graph).run(store)
    (store / "parts" / "000000.parquet").symlink_to("nowhere")
    with pytest.raises(SweepError, match=r"000000.parquet is damaged"):
        results(store)


def test_the_store_of_another_sweep_is_refused(graph, tmp_path):
    sweep(graph).run(tmp_path / "store")
    for other, what in (
        (sweep(graph, seeds=range(41)), "seed, points"),
        (sweep(graph, noises=[0.5]), "noise"),
        (sweep(graph, costs=ss.CostModel(noise=0.5)), "costs"),
        (sweep(graph, runtime=ss.RuntimeProfile(dispatch_s=1.0)), "runtime"),
        (sweep(graph.cleaned("scale[factor=2.0]")), "graphs"),
    ):
        with pytest.raises(SweepError, match=f"the store of another sweep: {what} differs"):
            other.run(tmp_path / "store")


def test_the_store_of_another_version_is_refused(graph, tmp_path):
    sweep(graph).run(tmp_path / "store")
    head = tmp_path / "store" / "sweep.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | {"simsched": "0.0.1"}))
    with pytest.raises(SweepError, match=r"written by simsched 0\.0\.1"):
        sweep(graph).run(tmp_path / "store")


def test_other_folders_and_damaged_files_are_refused(graph, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SweepError, match=r"not the store of a sweep: it holds 'thesis\.tex'"):
        sweep(graph).run(tmp_path)
    with pytest.raises(SweepError, match="not the store of a sweep"):
        results(tmp_path / "nowhere")
    store = tmp_path / "store"
    sweep(graph).run(store)
    (store / "results.parquet").write_bytes(b"PAR1")
    with pytest.raises(SweepError, match="is damaged"):
        sweep(graph).run(store)
    (store / "sweep.json").write_text("{")
    with pytest.raises(SweepError, match="cannot be read"):
        sweep(graph).run(store)


def test_a_place_that_cannot_be_written_is_said(graph, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="cannot be written"):
        sweep(graph).run(tmp_path / "file" / "store")


def _hold(made, folder, pipe):
    with stores.opened(folder, made):
        pipe.send("open")
        pipe.recv()


def test_a_second_writer_is_refused(graph, tmp_path):
    made = sweep(graph)
    here, there = multiprocessing.Pipe()
    other = multiprocessing.get_context("fork").Process(target=_hold, args=(made, tmp_path / "store", there))
    other.start()
    try:
        assert here.recv() == "open"
        with pytest.raises(SweepError, match="in use: another run writes it"):
            made.run(tmp_path / "store")
    finally:
        here.send("close")
        other.join()
    assert len(made.run(tmp_path / "store")) == 40
