"""The store of a sweep: continued, refused, never half written."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import simsched as ss
from simsched.errors import SweepError
from simsched.sweep import description, results, running, store as stores
from simsched.sweep.rows import read_rows, write_rows


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

        def written(table, stream, **options):
            if next(left, None) is None:
                stream.write(b"half of i")
                raise OSError(errno.ENOSPC, "No space left on device")
            write(table, stream, **options)

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
    rows, owner = pq.read_table(store / "results.parquet"), frame["sweep_id"][0]
    write_rows(store / "parts" / "000000.parquet", rows.slice(3, 9), owner)
    assert results(store)["point"].tolist() == list(range(40))
    assert sweep(graph).run(store)["makespan_s"].tolist() == frame["makespan_s"].tolist()
    assert not list((store / "parts").iterdir())


def test_parts_may_go_one_by_one_while_they_are_read(graph, tmp_path, monkeypatch):
    """Each time one is about to be read, it was just removed, until only the file of all is left."""
    store = tmp_path / "store"
    owner = sweep(graph).run(store)["sweep_id"][0]
    table = pq.read_table(store / "results.parquet")
    for number in range(6):
        write_rows(store / "parts" / f"{number:06}.parquet", table.slice(number, 1), owner)

    def going(file, *owner):
        if file.parent.name == "parts":
            file.unlink()
        return read_rows(file, *owner)

    monkeypatch.setattr(stores, "read_rows", going)
    assert results(store)["point"].tolist() == list(range(40))
    assert not list((store / "parts").iterdir())


def test_a_part_that_is_listed_and_not_there_is_no_endless_wait(graph, tmp_path):
    store = tmp_path / "store"
    sweep(graph).run(store)
    for target in ("nowhere", "000000.parquet"):
        part = store / "parts" / "000000.parquet"
        part.unlink(missing_ok=True)
        part.symlink_to(target)
        for call in (lambda: results(store), lambda: sweep(graph).run(store)):
            with pytest.raises(SweepError, match=r"000000.parquet is damaged"):
                call()


def interrupted(graph, folder, points, after):
    """Run a sweep, each batch a part, and interrupt it; return the points that its store then has."""
    done = 0

    def count(more):
        nonlocal done
        done += more
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        sweep(graph, seeds=range(points)).run(folder, workers=1, progress=count)
    kept = results(folder)["point"].tolist()
    assert raised.value.__notes__ == [
        f"{len(kept)} of {points} points are kept in {folder}; run again to go on"
    ]
    return kept


@pytest.fixture
def single_points(monkeypatch, each_batch_a_part):
    """Each point is a batch, and each batch is written."""
    monkeypatch.setattr(running, "TARGET_S", 0.0)
    monkeypatch.setattr(running, "MOST", 1)


def test_a_store_has_few_parts_however_many_were_written(graph, tmp_path, single_points, monkeypatch):
    monkeypatch.setattr(stores, "MERGED", 3)
    kept = interrupted(graph, tmp_path / "store", points=20, after=8)
    assert len(set(kept)) == len(kept)
    parts = sorted((tmp_path / "store" / "parts").iterdir())
    # 8 or a few more of them: at most two of the first kind, two that each have three, and one of nine.
    assert len(kept) >= 8
    assert len(parts) <= 5
    assert max(len(pq.read_table(part)) for part in parts) in (3, 9)
    made, alone = (sweep(graph, seeds=range(20)).run(tmp_path / name) for name in ("store", "o"))
    assert made["point"].tolist() == list(range(20))
    assert made["makespan_s"].tolist() == alone["makespan_s"].tolist()


def test_parts_that_were_taken_in_and_not_removed_do_no_harm(graph, tmp_path, single_points, monkeypatch):
    """The writer dies when a part has taken in earlier ones, before it removes the first of them."""
    unlink = Path.unlink

    def dying(path, **options):
        if path.suffix == ".parquet":
            os.kill(os.getpid(), signal.SIGKILL)
        unlink(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dying)
        child = multiprocessing.get_context("fork").Process(
            target=sweep(graph).run, args=(tmp_path / "store",), kwargs={"workers": 1}
        )
        child.start()
        child.join()
    assert child.exitcode == -signal.SIGKILL
    assert len(list((tmp_path / "store" / "parts").glob("[0-9]*"))) == 16
    kept = results(tmp_path / "store")["point"].tolist()
    assert len(kept) == len(set(kept)) == 16
    assert sweep(graph).run(tmp_path / "store")["point"].tolist() == list(range(40))


def test_a_damaged_part_is_not_taken_in_and_costs_no_other_row(graph, tmp_path, single_points):
    interrupted(graph, tmp_path / "store", points=20, after=5)
    damaged = tmp_path / "store" / "parts" / "000001.parquet"
    lost = pq.read_table(damaged)["point"].to_pylist()
    group, raw = pq.read_metadata(damaged).row_group(0), bytearray(damaged.read_bytes())
    columns = (group.column(number) for number in range(group.num_columns))
    makespan = next(column for column in columns if column.path_in_schema == "makespan_s")
    raw[makespan.data_page_offset - 1] ^= 1  # the last byte of its values, which stand before
    damaged.write_bytes(raw)
    with pytest.raises(SweepError, match=r"000001.parquet is damaged"):
        sweep(graph, seeds=range(20)).run(tmp_path / "store", workers=1)
    damaged.unlink()
    assert results(tmp_path / "store")["point"].tolist() == [n for n in range(20) if n not in lost]
    assert sweep(graph, seeds=range(20)).run(tmp_path / "store")["point"].tolist() == list(range(20))


def test_a_file_system_without_locks_is_not_a_store_in_use(graph, tmp_path, monkeypatch):
    def unlocked(*arguments):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(stores.fcntl, "flock", unlocked)
    with pytest.raises(SweepError, match=r"cannot be locked: Function not implemented; take a folder"):
        sweep(graph).run(tmp_path / "store")


def test_the_store_of_another_sweep_is_refused(graph, tmp_path):
    sweep(graph).run(tmp_path / "store")
    for other, what in (
        (sweep(graph, seeds=range(41)), "seed, points"),
        (sweep(graph, noises=[0.5]), "noise"),
        (sweep(graph, costs=ss.CostModel(noise=0.5)), "costs"),
        (sweep(graph, runtime=ss.RuntimeProfile(dispatch_s=1.0)), "runtime"),
        (sweep(graph.cleaned("scale[factor=2.0]")), "graphs"),
    ):
        with pytest.raises(SweepError, match=f"the store of another sweep: {what} differ"):
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


def test_lost_graphs_and_machines_are_written_again(graph, tmp_path):
    store = tmp_path / "store"
    frame = sweep(graph).run(store)
    for folder in ("graphs", "machines"):
        shutil.rmtree(store / folder)
    with pytest.warns(RuntimeWarning, match=r"lacked graphs/.*\.simsched, machines/.*\.json: written again"):
        sweep(graph).run(store)
    assert ss.load(store / "graphs" / f"{frame['graph_id'][0]}.simsched").n_tasks == graph.n_tasks
    assert json.loads(next((store / "machines").iterdir()).read_text())["spec"] == "generic[cores=4]"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"+1,2\xff\n", "line 1 is b'.1,2.xff.n'"),
        ("+1,²\n".encode(), "line 1 is b'.1,.xc2.xb2.n'"),
        (b"+1\n-" + b"9" * 5000 + b"\n", "line 2 is b'-9999"),
        (b"+40\n", "line 1 is b'.40.n', and not . or - and points below 40"),
        (b"+3\nnonsense\n", "line 2 is b'nonsense"),
        (b"+1" * 1_000_000, "larger than 1002560 bytes"),
        (None, "a pipe or a device, not a file"),
    ],
)
def test_damaged_notes_of_begun_points_are_refused(graph, tmp_path, content, why):
    store = tmp_path / "store"
    sweep(graph).run(store)
    _replaced(store / "begun", content)
    with pytest.raises(SweepError, match=rf"begun.*{why}.*; remove"):
        sweep(graph).run(store)


def test_notes_of_begun_points_may_end_within_a_line(graph, tmp_path):
    """The writer died while it wrote: what the line would have named had not begun."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "begun").write_text("+1,2\n-1\n+3,1")
    with stores.opened(store, sweep(graph)) as opened:
        assert opened.suspects == {2}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"format": "\xff"}', "can't decode byte 0xff"),
        (b'{"points": ' + b"9" * 5000 + b"}", "5000 digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b"{}", "not a simsched-sweep of version 2"),
        (b'{"format": "simsched-sweep", "version": 2}', "no sweep_id"),
        (
            b'{"format": "simsched-sweep", "version": 2, "sweep_id": "x", "points": true}',
            "no number of points",
        ),
        (None, "a pipe or a device, not a file"),
    ],
)
def test_a_damaged_description_is_refused(graph, tmp_path, content, why):
    store = tmp_path / "store"
    sweep(graph).run(store)
    _replaced(store / "sweep.json", content)
    for call in (lambda: results(store), lambda: sweep(graph).run(store)):
        with pytest.raises(SweepError, match=rf"sweep.json.*{why}"):
            call()


@pytest.mark.parametrize("name", ["lock", "results.parquet", "parts/000000.parquet"])
def test_a_pipe_in_a_store_is_no_endless_wait(graph, tmp_path, name):
    store = tmp_path / "store"
    sweep(graph).run(store)
    _replaced(store / name, None)
    with pytest.raises(SweepError, match=rf"{name} (cannot be written|is no regular file)"):
        sweep(graph).run(store)


def test_many_seeds_are_described_briefly(graph, tmp_path, monkeypatch):
    """Ten million values of an axis would be a description that nobody reads, and too long to be read bounded."""
    monkeypatch.setattr(description, "MOST_LISTED", 30)
    sweep(graph).run(tmp_path / "store")
    assert json.loads((tmp_path / "store" / "sweep.json").read_text())["seed"]["values"] == 40
    with pytest.raises(SweepError, match="another sweep: seed differs"):
        sweep(graph, seeds=range(1, 41)).run(tmp_path / "store")
    monkeypatch.setattr(description, "MOST_B", 100)
    with pytest.raises(SweepError, match=r"sweep\.json would be longer than 100 bytes"):
        sweep(graph).run(tmp_path / "other")


@pytest.mark.parametrize("name", ["lock", "begun"])
def test_a_planted_link_in_a_store_is_not_written(graph, tmp_path, name):
    store = tmp_path / "store"
    sweep(graph).run(store)
    (tmp_path / "mine").write_text("")
    (store / name).unlink(missing_ok=True)
    (store / name).symlink_to(tmp_path / "mine")
    with pytest.raises(SweepError, match=f"{name} cannot be written"):
        sweep(graph).run(store)


def _replaced(file, content):
    file.unlink(missing_ok=True)
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)


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
