"""Imports of large files: seconds and memory of every format whose files get large.

    python benchmarks/imports.py [--MB N] [--events N] [--only NAME ...] [--bars]

The files are made in a temporary folder: a Kineto trace of N MB by repeating the steps of the bundled one, once with
its steps and once as one step of all of it, files of N MB of the formats in `MOST_NEW_B`, and for each other format a
file of N events, tasks or nodes. Each is read in a process of its own. With `--bars`: exit status 1 unless the Kineto
trace is read in a minute and 2 GB, and those of `MOST_NEW_B` in a minute of a core and in the memory that stands there.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
import sqlite3
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.resources import files
from itertools import chain, count, takewhile
from pathlib import Path

from measure import fresh, memory, where

MOST_S, MOST_B = 60.0, 2e9
#: Of 300 MB. Tasks of the last three take 12 to 34 bytes of the file, and 44 of the graph: it alone has 400 MB to 1 GB.
MOST_NEW_B = {"perfetto": 5e8, "dax": 5e8, "xplane": 6e8, "nsys": 6.5e8, "otf2": 1.6e9}
#: Bytes of an event in files of formats that are made by events.
_EVENT_B = {"dax": 239, "xplane": 34, "nsys": 33}
_STEP_NS = 10**6


def kineto(path: Path, size_B: int, steps: bool = True) -> None:
    """Write a Kineto trace that repeats the bundled step: later, renumbered, else byte for byte."""
    text = gzip.decompress((files("simsched.traces.samples") / "lstm4.kineto.json.gz").read_bytes())
    start = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = text.rindex(b"]")
    body = text[start:end]
    with path.open("wb") as out:
        out.write(text[:start])
        for number in range(-(-size_B // len(body))):
            out.write(b"," * bool(number) + _later(body, number, steps))
        out.write(text[end:])


def _later(body: bytes, number: int, steps: bool) -> bytes:
    def plus(step: int) -> Callable[[re.Match[bytes]], bytes]:
        return lambda found: found[1] + str(int(found[2]) + number * step).encode()

    body = re.sub(rb'("ts": )(\d+)', plus(_STEP_NS), body)
    body = re.sub(rb'("Record function id": )(\d+)', plus(100_000), body)
    return re.sub(rb"ProfilerStep#\d+", b"ProfilerStep#%d" % number if steps else b"all", body)


def onnxruntime(path: Path, events: int) -> None:
    """Write an ONNX Runtime profile of one run."""
    node = '{"cat":"Node","pid":1,"tid":1,"dur":2,"ts":%d,"ph":"X","name":"n%d_kernel_time","args":{"op_name":"Add"}}'
    run = (
        '{"cat":"Session","pid":1,"tid":1,"ts":0,"ph":"X","name":"model_run","args":{},'
        + f'"dur":{3 * events}}}'
    )
    _lines(path, "[", (node % (3 * i + 1, i) for i in range(events)), f",{run}]", ",\n")


def execution_trace(path: Path, events: int) -> None:
    """Write an execution trace alone: a chain of additions."""

    def node(number: int) -> str:
        sides = {
            side: {
                "values": [[number + of, number + of, 0, 6, 4, "cpu"]],
                "shapes": [[2, 3]],
                "types": ["Tensor(float)"],
            }
            for side, of in (("inputs", 1), ("outputs", 2))
        }
        attributes = [{"name": "rf_id", "type": "uint64", "value": number + 1}]
        return json.dumps(
            {"id": number + 2, "name": "aten::relu", "ctrl_deps": 1, **sides, "attrs": attributes}
        )

    _lines(path, '{"schema": "1.1.1", "nodes": [', map(node, range(events)), "]}", ",\n")


def chakra(path: Path, events: int) -> None:
    """Write a Chakra trace without tensors: pairs of nodes."""
    from simsched.traces.chakra.record import messages

    classes = messages()
    with path.open("wb") as out:
        out.write(b"\x07\x0a\x050.0.4")
        for number in range(1, events + 1):
            after = [number - 1] if number % 2 == 0 else []
            content = classes["Node"](
                id=number, name=b"node_%d" % number, type=4, duration_us=3, data_deps=after
            ).SerializeToString()
            out.write(bytes([len(content)]) + content)


def stg(path: Path, events: int) -> None:
    """Write a Standard Task Graph: each task after the one before."""
    tasks = (f"{i} {i % 7} {min(i, 1)}{f' {i - 1}' if i else ''}" for i in range(events))
    _lines(path, f"{events - 2}\n", tasks, "\n", "\n")


def perfetto(path: Path, size_B: int) -> None:
    """Write a Perfetto trace as its SDK does: 16 threads, interned names, notes, and a flow from one to the next."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    with path.open("wb") as out:
        for i in takewhile(lambda _: out.tell() < size_B, count()):
            trace, thread, time_ns = Trace(), i % 16, 1000 * (i // 16)
            if i < 16:
                first = trace.packet.add(trusted_packet_sequence_id=2 + thread, sequence_flags=1)
                first.trace_packet_defaults.track_event_defaults.track_uuid = 2 + thread
                for name in range(8):
                    first.interned_data.event_names.add(iid=1 + name, name=f"step{name}")
                track = trace.packet.add(trusted_packet_sequence_id=2 + thread).track_descriptor
                track.uuid, track.thread.pid, track.thread.tid = 2 + thread, 1, thread
            begin, end = (
                trace.packet.add(
                    trusted_packet_sequence_id=2 + thread, sequence_flags=2, timestamp=time_ns + later
                )
                for later in (60 * thread, 60 * thread + 50)
            )
            begin.track_event.type, begin.track_event.name_iid = begin.track_event.TYPE_SLICE_BEGIN, 1 + i % 8
            begin.track_event.flow_ids.append(1 + i)
            begin.track_event.terminating_flow_ids.append(i or 1)
            for key, value in ((1, i), (2, thread)):
                begin.track_event.debug_annotations.add(name_iid=key, int_value=value)
            end.track_event.type = end.track_event.TYPE_SLICE_END
            out.write(trace.SerializeToString())


def dax(path: Path, events: int) -> None:
    """Write a workflow of Pegasus: each job reads what the one before wrote."""

    def job(i: int) -> str:
        uses = ((f"f{i}", "output"), (f"f{i - 1}", "input"))
        files = "".join(f'<uses file="{name}" link="{link}" size="{i}"/>\n' for name, link in uses)
        return f'<job id="ID{i:07d}" namespace="M" name="k{i % 9}" version="1.0" runtime="{i % 97}.5">\n{files}</job>'

    pairs = (f'<child ref="ID{i:07d}"><parent ref="ID{i - 1:07d}"/></child>' for i in range(1, events))
    _lines(
        path, '<adag version="2.1" name="big">\n', chain(map(job, range(events)), pairs), "\n</adag>\n", "\n"
    )


def otf2(path: Path, size_B: int) -> None:
    """Write a tar of an OTF2 archive: 16 threads of 4 processes, 200 regions, up to three within each other."""
    chunk_B, header = 2**20, bytes([3, 0x42]) + bytes(16)
    numbered = [bytes([2]) + (1000 + i).to_bytes(2, "little") for i in range(200)]
    texts = [bytes([10, 9]) + one + b"fun%02x\0" % i for i, one in enumerate(numbered)]
    regions = [
        bytes([15, 17]) + one + one + bytes([0, 0, 255, 0, 0]) + one + bytes([1, 2, 0]) for one in numbered
    ]
    locations = [bytes([14, 9, 1, i, 0, 1, 1, 9, 2, i // 4, 0]) for i in range(16)]
    clock = bytes([5, 8, 4, 0, 202, 154, 59, 0, 0, 0])
    anchor = bytes([3, 0x42]) + b"OTF2\0" + bytes([3, 2, 3, 2, 0]) + 2 * chunk_B.to_bytes(8, "little")
    with tarfile.open(path, "w") as tar:
        for name, content in (
            ("run.otf2", anchor + bytes([1, 1]) + bytes(19)),
            ("run.def", header + clock + b"".join([*texts, *regions, *locations]) + bytes([2, 1])),
            *((f"run/{i}.evt", _calls(size_B // 16, chunk_B, header, numbered)) for i in range(16)),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def _calls(size_B: int, chunk_B: int, header: bytes, numbered: list[bytes]) -> bytes:
    """Return chunks of entries and exits of regions, at most three within each other."""
    chunks, chunk, open_ = list[bytes](), bytearray(header), list[bytes]()
    for i in takewhile(lambda _: len(chunks) * chunk_B < size_B or open_, count()):
        leaves = len(chunks) * chunk_B >= size_B or len(open_) > i % 3
        event = b"\x0d" + open_.pop() if leaves and open_ else b"\x0c" + numbered[i * 7 % 200]
        if event[:1] == b"\x0c":
            open_.append(event[1:])
        event = b"\5" + (137 * i).to_bytes(8, "little") + event
        if len(chunk) + len(event) >= chunk_B:
            chunks.append(bytes(chunk).ljust(chunk_B, b"\0"))
            chunk = bytearray(header)
        chunk += event
    return b"".join(chunks) + bytes(chunk) + bytes([2, 1])


def nsys(path: Path, events: int) -> None:
    """Write an export of Nsight Systems: kernels on two streams, each with the call that launches it."""
    thread, process, begin = (5 << 24) | 6, 5 << 24, 10**12
    with closing(sqlite3.connect(path)) as base:
        base.executescript(
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
            "(start, end, deviceId, streamId, correlationId, globalPid, shortName);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
        )
        starts = [(i, begin + 10_000 * i) for i in range(events // 2)]
        kernels = ((at + 3000, at + 12_000, 0, 7 + i % 2, i + 1, process, 1) for i, at in starts)
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)", kernels)
        calls = ((at + 1000, at + 4000, thread, i + 1, 2) for i, at in starts)
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", calls)
        base.commit()


def xplane(path: Path, events: int) -> None:
    """Write a profile of XLA: one line of operations, each with the statistics of its run."""
    from simsched.traces.shared.protobuf import message_classes
    from simsched.traces.xplane.space import MESSAGES

    whole = {"Space": "planes 1 Plane*", **MESSAGES, "Plane": MESSAGES["Plane"] + ", lines 3 Line*"}
    plane = message_classes("imports", whole, "writing profiles")["Space"]().planes.add(name=b"/device:GPU:0")
    for number, name in enumerate(
        (b"hlo_op", b"program_id", b"run_id", *(b"fusion.%d" % i for i in range(100)))
    ):
        plane.stat_metadata.add(key=number).value.name = name
    line = plane.lines.add(name=b"Stream #1", timestamp_ns=10**18)
    for i in range(events):
        event = line.events.add(metadata_id=1, offset_ps=i * 10**6, duration_ps=900_000)
        event.stats.add(metadata_id=0, ref_value=3 + i % 100)
        event.stats.add(metadata_id=1, int64_value=5)
        event.stats.add(metadata_id=2, int64_value=i // 1000)
    content = plane.SerializeToString()
    with path.open("wb") as out:
        out.write(b"\n" + _varint(len(content)) + content)


def _varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + _varint(value >> 7) if value > 127 else bytes([value])


def bazel(path: Path, events: int) -> None:
    """Write a profile of Bazel: actions on 16 threads."""
    action = (
        '{"cat":"action processing","name":"Compiling a%d.cc","ph":"X","ts":%d,"dur":90,"pid":1,"tid":%d,'
        '"out":"o%d"}'
    )
    begin = '{"otherData":{"bazel_version":"release 7.1.0"},"traceEvents":['
    _lines(path, begin, (action % (i, 100 * (i // 16), i % 16, i) for i in range(events)), "]}", ",\n")


def _lines(path: Path, begin: str, lines: Iterator[str], end: str, between: str) -> None:
    with path.open("w") as out:
        out.write(begin)
        for number, line in enumerate(lines):
            out.write(between * bool(number) + line)
        out.write(end)


def measured(path: Path) -> None:
    """Import a file in this process and print what it took."""
    import simsched as ss

    begin, cpu = time.perf_counter(), time.process_time()
    graph = ss.load(path)
    result = {
        "s": time.perf_counter() - begin,
        "cpu_s": time.process_time() - cpu,
        # Not `ru_maxrss`, which a process inherits from the one that started it, here with the file in its memory.
        "peak_B": memory("VmHWM"),
        "tasks": graph.n_tasks,
    }
    print(json.dumps(result))


def main() -> None:
    """Read the command line; make the files, import them, print a row each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--MB", type=int, default=300, help="of the Kineto traces and newer formats")
    parser.add_argument("--events", type=int, default=1_000_000, help="of the others")
    parser.add_argument("--only", nargs="+", help="names of rows")
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.file:
        measured(told.file)
        return
    size_B = told.MB * 10**6
    makers: dict[str, Callable[[Path], None]] = {
        "kineto": lambda path: kineto(path, size_B),
        "kineto-one-step": lambda path: kineto(path, size_B, steps=False),
        "onnxruntime": lambda path: onnxruntime(path, told.events),
        "execution-trace": lambda path: execution_trace(path, told.events),
        "chakra": lambda path: chakra(path, told.events),
        "stg": lambda path: stg(path, told.events),
        "perfetto": lambda path: perfetto(path, size_B),
        "otf2": lambda path: otf2(path, size_B),
        "dax": lambda path: dax(path, size_B // _EVENT_B["dax"]),
        "nsys": lambda path: nsys(path, size_B // _EVENT_B["nsys"]),
        "xplane": lambda path: xplane(path, size_B // _EVENT_B["xplane"]),
        "bazel": lambda path: bazel(path, told.events),
    }
    print(where())
    print("| file | MB | tasks | s | CPU s | MB/s | peak MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    fine = True
    for name in told.only or makers:
        fine &= _row(name, makers[name])
    sys.exit(told.bars and not fine)


def _row(name: str, make: Callable[[Path], None]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        make(path)
        size = path.stat().st_size
        took = fresh([sys.executable, __file__, "--file", str(path)])
    print(
        f"| {name} | {size / 1e6:.0f} | {took['tasks']:,} | {took['s']:.1f} | {took['cpu_s']:.1f} | "
        f"{size / 1e6 / took['s']:.0f} | {took['peak_B'] / 1e6:.0f} |",
        flush=True,
    )
    if name in MOST_NEW_B:
        return bool(took["cpu_s"] <= MOST_S and took["peak_B"] <= MOST_NEW_B[name])
    return not name.startswith("kineto") or (took["s"] <= MOST_S and took["peak_B"] <= MOST_B)


if __name__ == "__main__":
    main()
