"""The command line as users type it, in a process of its own where exit status and streams matter."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simsched as ss
from simsched.cli import app as cli
from simsched.traces.samples import sample_files

RECORDED = sample_files("cnn")[0]


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "three.simsched"
    names = ["first", "<b>second</b>", "third"]
    ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], names=names, name="three").save(path)
    return str(path)


def test_run_json(graph_file, piped):
    options = ["--machine", "generic[cores=2]", "--policy", "critical-path", "--engine", "simpy", "--seed", 3]
    done = piped("run", graph_file, *options, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert isinstance(facts["notes"], list)
    wanted = {
        "makespan_s": 4,
        "engine": "simpy",
        "engine_why": "asked for",
        "machine": "generic[cores=2]",
        "policy": "critical-path",
        "layout": "2x1",
        "layout_by": "replays",
    }
    wanted |= {"seed": 3, "tasks": 3, "edges": 1, "critical_path_s": 4, "utilization": 0.75}
    assert {key: facts[key] for key in wanted} == wanted


def test_run_text_and_outputs(graph_file, tmp_path, piped):
    outs = [tmp_path / f"run{suffix}" for suffix in (".png", ".svg", ".html", ".json", ".parquet", ".csv")]
    options = [part for path in outs for part in ("--out", path)]
    done = piped("run", graph_file, "-m", "generic[cores=4]", "-p", "corun", "-l", "2x1", *options)
    assert done.returncode == 0, done.stderr
    assert re.search(r"(?m)^makespan_s +4$", done.stdout)
    assert all(path.stat().st_size > 100 for path in outs)
    assert "<b>second" not in outs[2].read_text()
    with outs[-1].open() as file:
        assert [row["finish_s"] for row in csv.DictReader(file)] == ["1.0", "2.0", "4.0"]


def test_compare(graph_file, tmp_path, piped):
    folder = tmp_path / "new" / "results"
    done = piped("compare", graph_file, "--machine", "generic[cores=2]", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "three: 3 tasks, 1 edge, on generic[cores=2]" in done.stdout
    for policy in ("sequential", "fifo", "critical-path", "corun", "wavefront"):
        assert policy in done.stdout
        assert (folder / f"{policy}.png").read_bytes().startswith(b"\x89PNG")
        trace = json.loads(gzip.decompress((folder / f"{policy}.trace.json.gz").read_bytes()))
        assert trace["otherData"]["policy"] == policy
    found = json.loads(piped("compare", graph_file, "-m", "generic[cores=2]", "-p", "fifo", "--json").stdout)
    assert [row["makespan_s"] for row in found["rows"]] == [4]
    assert found["notes"]


@pytest.mark.parametrize(
    "asked",
    [
        "machines GRAPH generic --out found.csv",
        "predict GRAPH -m generic --out found.csv",
        "sensitivity GRAPH --out found.csv",
        "compare GRAPH -p fifo --out found",
    ],
)
def test_files_are_written_though_the_reader_of_a_pipe_stops_early(graph_file, tmp_path, served, asked):
    (ask, status), words = served, asked.replace("GRAPH", graph_file).split()
    reader, writer = os.pipe()
    os.close(reader)
    with (tmp_path / "stderr").open("wb") as errors:
        ask(words, tmp_path, dict(os.environ), [writer, errors.fileno()])
    os.close(writer)
    assert status() == 0, (tmp_path / "stderr").read_text()
    assert (tmp_path / words[-1]).exists()


def test_predict(graph_file, tmp_path, piped):
    done = piped(
        "predict",
        graph_file,
        "-m",
        "generic",
        "--cores",
        "1,2",
        "--json",
        "--out",
        tmp_path / "p.png",
        "-o",
        tmp_path / "p.csv",
    )
    assert done.returncode == 0, done.stderr
    assert [row["makespan_s"] for row in json.loads(done.stdout)["rows"]] == [6, 4]
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "efficiency" in (tmp_path / "p.csv").read_text()
    text = piped("predict", graph_file, "-m", "generic", "--cores", "1,2").stdout
    assert text.startswith("three: 3 tasks, 1 edge, on generic\n\ncores ")
    assert "efficiency" in text


def test_predict_with_noise_has_an_interval(graph_file, piped):
    options = [
        "-m",
        "generic",
        "--cores",
        "1",
        "--noise",
        "stragglers[share=0.5]",
        "--seed",
        "5",
        "--samples",
        "9",
        "--json",
    ]
    done = piped("predict", graph_file, *options)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["low_s"] < row["makespan_s"] < row["high_s"]
    assert row["samples"] == 9
    once = piped("predict", graph_file, "-m", "generic", "--cores", "1,32", "--samples", "1").stdout
    assert "low" not in once
    assert "is built with" not in once
    beyond = piped("predict", graph_file, "-m", "knl-7250", "--cores", "68,136", "--samples", "1").stdout
    assert "note: 136 cores: the machine is built with 68 cores" in beyond


def test_predict_work_that_grows_with_the_cores(graph_file, piped):
    options = ["-m", "generic", "--cores", "2,4", "--samples", "1", "--json"]
    copies = json.loads(piped("predict", graph_file, "--weak", *options).stdout)["rows"]
    assert [row["tasks"] for row in copies] == [3, 6]
    grown = json.loads(piped("predict", "lstm[layers={cores},steps=2]", *options).stdout)["rows"]
    assert grown[0]["tasks"] < grown[1]["tasks"]
    both = piped("predict", "lstm[layers={cores},steps=2]", "--weak", *options)
    assert both.returncode == 2
    assert "leave out --weak" in both.stderr


def test_a_run_with_too_little_memory(tmp_path, piped):
    graph = ss.TaskGraph.from_edges([1.0] * 4, [(0, 2), (1, 3)], edge_bytes=[8.0, 8.0])
    graph.save(tmp_path / "x.simsched")
    machine = "generic[cores=1,link_Bps=1,data=sent,places=core,place_B=12]"
    options = ["-m", machine, "-p", "fifo", "-l", "1x1", "--json"]
    told = {
        limit: json.loads(piped("run", tmp_path / "x.simsched", *options, "--memory-limit", limit).stdout)
        for limit in ("note", "spill")
    }
    assert told["note"]["makespan_s"] == 4.0 < told["spill"]["makespan_s"]
    # Other worlds spill, too.
    assert told["note"]["low_s"] == 4.0 < told["spill"]["low_s"]
    assert "--memory-limit replays" in " ".join(told["note"]["notes"])
    assert piped("run", tmp_path / "x.simsched", *options, "--memory-limit", "error").returncode == 2


def test_pictures_of_a_run(graph_file, tmp_path, piped):
    options = ["-m", "generic[cores=2]", "--core-use", tmp_path / "c.png", "--core-use"]
    done = piped("run", graph_file, *options, tmp_path / "c.csv", "--roofline", tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "c.csv").open() as file:
        assert [row["busy_s"] for row in csv.DictReader(file)] == ["4.0", "2.0"]
    assert "attained_flops" in (tmp_path / "r.csv").read_text()
    picture = tmp_path / "c.png"
    assert piped("run", graph_file, "--core-use", picture).returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    wrong = piped("run", graph_file, "--roofline", "r.txt")
    assert wrong.returncode == 2
    assert ".csv" in wrong.stderr


def test_layouts_that_are_a_grid_are_a_heat_map(graph_file, tmp_path, piped):
    options = ["-m", "generic[cores=2]", "-p", "fifo", "-l", "1x1", "-l", "1x2", "-l", "2x1"]
    done = piped("tune", graph_file, *options, "-o", tmp_path / "t.svg")
    assert done.returncode == 0, done.stderr
    assert "does not fit" in (tmp_path / "t.svg").read_text()


def test_tune(graph_file, tmp_path, piped):
    options = ["-m", "generic[cores=2]", "-p", "fifo"]
    done = piped("tune", graph_file, *options, "--json", "-o", tmp_path / "t.png", "-o", tmp_path / "t.csv")
    assert done.returncode == 0, done.stderr
    assert [(row["layout"], row["makespan_s"]) for row in json.loads(done.stdout)["rows"]] == [
        ("2x1", 4),
        ("1x2", 6),
    ]
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert "executors" in (tmp_path / "t.csv").read_text()
    given = piped("tune", graph_file, *options, "-l", "1x1", "-l", "2x1")
    assert [line.split()[1] for line in given.stdout.partition("\n\n")[0].splitlines()[1:]] == ["2x1", "1x1"]


def test_convert_round_trip(graph_file, tmp_path, piped):
    copy = tmp_path / "copy.simsched"
    done = piped("convert", graph_file, copy)
    assert done.returncode == 0, done.stderr
    assert ss.load(copy).durations_s.tolist() == [1, 2, 3]


def test_a_recorded_schedule_that_is_written_is_called_so_and_holds_no_graph(tmp_path, piped):
    done = piped("convert", RECORDED, tmp_path / "run.csv")
    assert done.stdout.endswith("run.csv: the recorded schedule; .simsched holds the graph\n")
    done = piped("run", tmp_path / "run.csv")
    assert "looks like a table of a schedule, which holds no graph; .simsched" in done.stderr


def test_convert_of_a_recorded_run_names_the_suffixes_of_graphs_too(tmp_path, piped):
    tasks = tmp_path / "run.tasks.csv"
    tasks.write_text("duration_s,start_s,finish_s,lane\n1,0,1,worker\n")
    (tmp_path / "run.edges.csv").write_text("before,after\n")
    done = piped("convert", tasks, tmp_path / "run.xyz")
    assert (done.returncode, done.stdout) == (2, "")
    assert ".png" in done.stderr
    assert "for the graph, one of .dot," in done.stderr


@pytest.mark.parametrize(
    ("what", "line"), [("machines", "knl-7250"), ("policies", "critical-path"), ("formats", "pytorch")]
)
def test_list(what, line, piped):
    done = piped("list", what)
    assert done.returncode == 0, done.stderr
    assert any(text.startswith(line) for text in done.stdout.splitlines())


def test_list_policies_has_the_families(piped):
    """Each under its heading, our own first."""
    found = piped("list", "policies").stdout.splitlines()
    heads = [line.split(" ")[0] for line in found if line and not line.startswith(" ")]
    places = [heads.index(name) for name in ("fifo", "list", "heft", "clusters", "dsc", "moldable", "cpa", "runtime",
                                             "dm", "batch", "backfilling", "exact", "optimal")]  # fmt: skip
    assert places == sorted(places)


def test_list_formats_is_aligned(piped):
    lines = piped("list", "formats").stdout.splitlines()
    (title,) = {re.match(r"\S+ +", line).end() for line in lines if line[0] != " "}
    assert all(line.startswith(" " * title) for line in lines if line[0] == " ")


def test_list_formats_shows_the_readers_options(piped):
    assert "--execution-trace" in piped("list", "formats").stdout


BAD = [
    (["run"], "Missing argument 'GRAPH'; see `simsched run --help`"),
    (["run", "knl-7250"], "knl-7250 is a machine"),
    (["run", "rnn", "--engine", "fast"], "'--engine': 'fast' is not one of"),
    (["compare", "rnn", "--policy", "fifo,heft"], "write one name"),
    (["run", "none.json"], "none.json: no such file"),
    (["run", "."], "no file in this folder"),
    (["run", "-"], "-: standard input is not read; name a file"),
    (["convert", "-", "y.dot"], "-: standard input is not read; name a file"),
    (["run", "rnn[size=small]"], "it has none; give its parameters: layers, "),
    (
        ["convert", "RECORDED", "y.taskgraph.json"],
        "y.taskgraph.json is no name of a file of taskgraph; write .simsched",
    ),
    (["run", "GRAPH", "--machine", "pentium"], "no machine is called 'pentium'"),
    (["run", "GRAPH", "--policy", "best"], "no policy is called 'best'"),
    (["run", "GRAPH", "--layout", "64x64"], "needs 4096 cores"),
    (["run", "GRAPH", "--engine", "fast"], "fast"),
    (["run", "GRAPH", "--seed", "x"], "--seed"),
    (["run", "GRAPH", "--seed", "-1"], "seed is -1"),
    (["run", "GRAPH", "--out", "run.gif"], ".png"),
    (["predict", "GRAPH", "-m", "generic", "--cores", "2", "--out", "p.json"], ".csv"),
    (["tune", "GRAPH", "-m", "generic", "--out", "t.json"], ".csv"),
    (["tune", "GRAPH", "-m", "generic[cores=4]", "--reserved", "4"], "at least one must be left"),
    (["tune", "GRAPH", "-m", "generic[cores=4]", "--layout", "8x1"], "needs 8 cores"),
    (["convert", "GRAPH", "GRAPH"], "give another name"),
    (["convert", "GRAPH", "--out", "y.dot"], "convert has no --out: write convert IN OUT"),
    (["convert", "GRAPH", "-o", "y.dot"], "convert has no --out: write convert IN OUT"),
    (["run", "GRAPH", "--layout", "-1x2"], "not a layout"),
    (["run", "GRAPH", "--out", "no/such/folder/run.png"], "no folder"),
    (["run", "GRAPH", "--execution-trace", "x"], "no option 'execution_trace'"),
    (["run", "GRAPH", "--polcy", "fifo"], "no option 'polcy'"),
    (["run", "GRAPH", "GRAPH"], "unexpected argument"),
    (["run", "GRAPH", "--step"], "needs a value"),
    (["predict", "GRAPH", "--cores", "1,two"], "'two' is no core count"),
    (
        ["predict", "GRAPH", "--cores", "8-4"],
        "'8-4' is no number of cores from 1 up, and no range that goes up",
    ),
    (["compare", "GRAPH", "--out", "GRAPH"], "File exists"),
    (["convert", "GRAPH", "run.csv"], "holds no recorded run"),
    (["list", "colours"], "there is no list of 'colours'"),
    (["dance"], "dance"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_clear_line(graph_file, arguments, says, tmp_path, piped):
    files = {"GRAPH": graph_file, "RECORDED": RECORDED}
    done = piped(*[files.get(a, a) for a in arguments], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("simsched: error: ")
    assert says in lines[0]


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02", b"{}", b"[]", b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"\xff\xfe{"]
)
def test_files_of_no_format(tmp_path, content, piped):
    path = tmp_path / "strange.json"
    path.write_bytes(content)
    done = piped("run", path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "strange.json" in done.stderr


def test_help_needs_no_graph(piped):
    done = piped("run", "--help")
    assert done.returncode == 0
    assert "--execution-trace FILE" in " ".join(done.stdout.split())


def test_the_readers_options_stand_anywhere(graph_file, piped):
    """--step belongs to the reader, which refuses it: it was not taken for the graph, nor its value."""
    for arguments in (
        ["--step", "3", graph_file],
        [graph_file, "--step", "3"],
        ["-p", "fifo", "--step=3", graph_file],
    ):
        assert "has no option 'step'" in piped("run", *arguments).stderr


def test_without_arguments_there_is_help(piped):
    done = piped()
    assert done.returncode == 0
    assert "predict" in done.stdout


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -m simsched.cli.app list policies | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_full_disk_is_one_clear_line():
    command = f"{sys.executable} -m simsched.cli.app list policies > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("simsched: error: output: No space left")
    assert len(done.stderr.splitlines()) == 1


def test_too_little_memory_is_one_clear_line(monkeypatch, capsys):
    def large(*arguments, **options):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(cli, "commands", lambda _asked: large)
    monkeypatch.setattr(sys, "argv", ["simsched", "--version"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code == 2
    said = "simsched: error: there is not enough memory for this: Unable to allocate 7 TiB\n"
    assert capsys.readouterr().err == said


def test_names_do_not_command_the_terminal(tmp_path, piped):
    path = tmp_path / "evil.simsched"
    ss.TaskGraph.from_edges([1.0], name="evil\x1b]0;title\x07").save(str(path))
    done = piped("compare", path, "-m", "generic")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout


def test_mistakes_of_a_machine_file_stand_one_per_line(graph_file, tmp_path, piped):
    bad = tmp_path / "bad.toml"
    bad.write_text("schema = 2\nname = 'x'\ntitle = 3\nstructure.kind = 'flat'\n\"sp\\need\" = 1\n")
    done = piped("run", graph_file, "-m", bad)
    assert done.returncode == 2
    assert done.stderr.split("\n") == [
        f"simsched: error: {bad}: 5 mistakes:",
        "  title: Input should be a valid string (got 3)",
        "  cores: missing",
        "  memory: missing",
        "  runtime: missing",
        "  sp\\need: unknown key",
        "",
    ]


def test_a_number_that_its_file_switches_off_is_said(graph_file, tmp_path, piped):
    text = (Path(ss.__file__).parent / "hwmodels" / "generic.toml").read_text("utf-8")
    (tmp_path / "own.toml").write_text(text.replace("by definition", "data sheet").replace("160.0", "100.0"))
    done = piped("run", graph_file, "-m", tmp_path / "own.toml")
    assert done.returncode == 0, done.stderr
    assert "note: memory.modes.memory.bandwidth (100 GB/s) is stated" in " ".join(done.stdout.split())


def test_a_command_imports_what_it_needs(graph_file):
    """The other tests' process has it all."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "simsched.cli.app",
        "run",
        graph_file,
        "-m",
        "generic",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["makespan_s"] == 4


def test_run_has_the_interval_that_compare_has(piped, tmp_path):
    options = [
        "rnn[steps=3,layers=1]",
        "-p",
        "fifo",
        "-l",
        "4x16",
        "--noise",
        "0.1",
        "--samples",
        "3",
        "--seed",
        "3",
    ]
    found = json.loads(piped("run", *options, "--json", "--out", tmp_path / "run.html").stdout)
    (row,) = json.loads(piped("compare", *options, "--json").stdout)["rows"]
    keys = ("makespan_s", "low_s", "high_s")
    assert [found[key] for key in keys] == [row[key] for key in keys]
    assert found["low_s"] < found["high_s"]
    assert found["samples"] == 3
    assert "in 50% of such replays" in (tmp_path / "run.html").read_text()
    once = json.loads(piped("run", *options[:-4], "--samples", "1", "--json").stdout)
    assert (once["low_s"], once["high_s"], once["samples"]) == (None, None, 1)
