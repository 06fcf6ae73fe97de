"""Record a training step of one's own PyTorch model: Kineto trace, execution trace, untraced time, machine.

    from simsched.traces.recorders.record_pytorch import record

    record(lambda: train_one_batch(), "resnet")

writes `resnet.kineto.json.gz` and `resnet.et.json.gz`, which `simsched.load` reads:

    graph = simsched.load("resnet.kineto.json.gz", execution_trace="resnet.et.json.gz")

Two demonstration models are recorded from a shell, and the programs of `simsched.traces.recorders.runtimes`, whose
operators are forks on the inter-op pool:

    python -m simsched.traces.recorders.record_pytorch --model lstm --out lstm4
    python -m simsched.traces.recorders.record_pytorch --model forked-cholesky --inter-op 2 --out cholesky
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simsched.errors import SimschedError
from simsched.files import check_place
from simsched.machine import machine
from simsched.traces.recorders.running import be_realtime, library, timed, untraced, write
from simsched.traces.recorders.runtimes.forked import forked
from simsched.traces.recorders.runtimes.networks import NETWORKS
from simsched.traces.shared.libraries import cpu_model

LAYERS, STEPS, HIDDEN, BATCH, CLASSES = 4, 16, 256, 32, 10
BLOCKS, CHANNELS, IMAGES, SIDE = 3, 32, 8, 32
SEED = 0


def lstm() -> Callable[[], None]:
    """Return a training step of 4 LSTM layers over 16 time steps; every cell is annotated `cell[l=..,t=..]`."""
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(SEED)
    layers = [
        (_leaf(torch, HIDDEN, 4 * HIDDEN), _leaf(torch, HIDDEN, 4 * HIDDEN), _leaf(torch, 4 * HIDDEN))
        for _ in range(LAYERS)
    ]
    head = (_leaf(torch, HIDDEN, CLASSES), _leaf(torch, CLASSES))
    optimizer = torch.optim.SGD([p for weights in (*layers, head) for p in weights], lr=0.01, foreach=False)
    data = torch.randn(STEPS, BATCH, HIDDEN)
    labels = torch.randint(CLASSES, (BATCH,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        state = [(torch.zeros(BATCH, HIDDEN), torch.zeros(BATCH, HIDDEN)) for _ in range(LAYERS)]
        for t in range(STEPS):
            below = data[t]
            for layer, weights in enumerate(layers):
                with torch.profiler.record_function(f"cell[l={layer},t={t}]"):
                    state[layer] = _cell(torch, below, state[layer], weights)
                below = state[layer][0]
        torch.nn.functional.cross_entropy(torch.addmm(head[1], below, head[0]), labels).backward()
        optimizer.step()

    return step


def cnn() -> Callable[[], None]:
    """Return a training step of 3 blocks of 4 branches each; they are annotated `block[b=..]` and `branch[i=..]`."""
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(SEED)
    wide = 4 * CHANNELS
    stem = _filter(torch, CHANNELS, 3, 3)
    blocks = [_block_weights(torch, CHANNELS if b == 0 else wide) for b in range(BLOCKS)]
    head = (_leaf(torch, wide, CLASSES), _leaf(torch, CLASSES))
    parameters = [stem, *(w for block in blocks for branch in block for w in branch), *head]
    optimizer = torch.optim.SGD(parameters, lr=0.01, foreach=False)
    images = torch.randn(IMAGES, 3, SIDE, SIDE)
    labels = torch.randint(CLASSES, (IMAGES,))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        data = _convolved(torch, images, stem)
        for b, block in enumerate(blocks):
            with torch.profiler.record_function(f"block[b={b}]"):
                data = _block(torch, data, block)
        pooled = data.mean((2, 3))
        torch.nn.functional.cross_entropy(torch.addmm(head[1], pooled, head[0]), labels).backward()
        optimizer.step()

    return step


def _forked(name: str) -> Callable[[], object]:
    return forked(NETWORKS[name]())


#: What names of models on the inter-op pool start with, and seconds that it takes at most to end records of a step.
FORKED, SETTLE_S = "forked-", 0.05
MODELS: dict[str, Callable[[], Callable[[], object]]] = {
    "lstm": lstm, "cnn": cnn, **{f"{FORKED}{name}": partial(_forked, name) for name in NETWORKS}
}  # fmt: skip


def _leaf(torch: Any, *size: int) -> Any:
    return (torch.randn(*size) * 0.05).requires_grad_()


def _filter(torch: Any, out: int, into: int, side: int) -> Any:
    return _leaf(torch, out, into, side, side)


def _cell(torch: Any, below: Any, state: tuple[Any, Any], weights: tuple[Any, Any, Any]) -> tuple[Any, Any]:
    hidden, memory = state
    from_below, from_before, bias = weights
    gates = torch.add(torch.addmm(bias, below, from_below), torch.mm(hidden, from_before))
    into, forget, new, out = torch.split(gates, HIDDEN, 1)
    memory = torch.sigmoid(forget) * memory + torch.sigmoid(into) * torch.tanh(new)
    return torch.sigmoid(out) * torch.tanh(memory), memory


def _block_weights(torch: Any, into: int) -> list[list[Any]]:
    return [
        [_filter(torch, CHANNELS, into, 1)],
        [_filter(torch, CHANNELS, into, 1), _filter(torch, CHANNELS, CHANNELS, 3)],
        [_filter(torch, CHANNELS // 2, into, 1), _filter(torch, CHANNELS, CHANNELS // 2, 5)],
        [_filter(torch, CHANNELS, into, 1)],
    ]


def _block(torch: Any, data: Any, branches: list[list[Any]]) -> Any:
    outputs = []
    for i, filters in enumerate(branches):
        with torch.profiler.record_function(f"branch[i={i}]"):
            it = torch.nn.functional.max_pool2d(data, 3, 1, 1) if i == len(branches) - 1 else data
            for weights in filters:
                it = _convolved(torch, it, weights)
            outputs.append(it)
    return torch.cat(outputs, 1)


def _convolved(torch: Any, data: Any, weights: Any) -> Any:
    return torch.relu(torch.nn.functional.conv2d(data, weights, padding=weights.shape[-1] // 2))


VERSION = 1
#: Side of the matrices of the FP32 product, and bytes of the buffer that is copied: far beyond every cache.
MATRIX, COPY_B = 1024, 128 * 2**20
ROOFLINE_REPEATS = 5
MAX_THREADS = 2**16
_PRIVATE = re.compile(r'("(?:host_name|traceName|username|job_name)"\s*:\s*)"(?:[^"\\]|\\.)*"')
_UNUSED_ATTRIBUTES = ("kernel_backend", "kernel_file", "tensor_range")


def record(
    step: Callable[[], object],
    out: str | Path,
    *,
    warmup: int = 3,
    repeats_untraced: int = 10,
    captures: int = 3,
    slim: bool = False,
    label: str = "",
    times_only: bool = False,
    settle_s: float = 0.0,
) -> tuple[Path, ...]:
    """Record one call of `step`, which runs one training (or inference) step, and time it untraced.

    Parameters
    ----------
    step : callable
    out : str or Path
        Prefix of the names of the two files.
    warmup : int
        Calls before anything is measured.
    repeats_untraced : int
        Untraced calls that are timed.
    captures : int
        Traced calls; the quickest is kept, for what slows one down is other load.
    slim : bool
        Leave out of the execution trace what simsched does not read: strides and kernel files.
    label : str
        Description of the recording, for readers.
    times_only : bool
        Whether to leave out the execution trace and all shapes, whose records take time.
    settle_s : float
        Seconds to wait after a traced call: the profiler must not stop before all threads have ended their records.

    Returns
    -------
    tuple of Path
        The Kineto trace and, unless `times_only`, the execution trace; neither holds host name, user name or paths.

    Raises
    ------
    SimschedError
        If PyTorch is missing, its profiler wrote no traces, or the files cannot be written.
    """
    torch = library("torch", "recording needs PyTorch", "torch")
    if warmup < 0 or repeats_untraced < 1 or captures < 1 or not settle_s >= 0:
        raise SimschedError(
            f"record: {warmup=}, {repeats_untraced=}, {captures=}, {settle_s=}; needed: 0, 1, 1, 0"
        )
    files = tuple(Path(f"{out}.{what}.json.gz") for what in ("kineto", "et")[: 2 - times_only])
    _require_writable(*files)
    untraced_s = untraced(step, warmup, repeats_untraced)
    with tempfile.TemporaryDirectory() as folder:
        runs = [_capture(torch, step, Path(folder) / str(i), times_only, settle_s) for i in range(captures)]
        seconds = {"untraced_step_s": untraced_s, "traced_steps_s": [run[0] for run in runs]}
        at, metadata = min(runs)[1], _describe(torch, label) | seconds
        write(files[0], _kineto_text((at / "kineto.json").read_text("utf-8"), metadata).encode())
        for execution in files[1:]:
            write(execution, _execution_text((at / "et.json").read_text("utf-8"), slim).encode())
    return files


def _require_writable(*files: Path) -> None:
    """Check, before minutes of recording, that the files can be written."""
    for file in files:
        check_place(file)
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise SimschedError(f"{file} cannot be written: no permission")


def _describe(torch: Any, label: str) -> dict[str, Any]:
    return {
        "recorder": VERSION,
        "label": label,
        "torch": str(torch.__version__),
        "cpu_model": cpu_model(),
        "threads": torch.get_num_threads(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        **_roofline(torch),
        **_clock(),
    }


def _clock() -> dict[str, float]:
    """The clock of the host's cores, where it states one."""
    try:
        host = machine("host")
    except SimschedError:
        return {}
    return {"clock_Hz": host.scalar_clock_Hz(host.n_cores)}


def _roofline(torch: Any) -> dict[str, float]:
    """FLOP/s of an FP32 matrix product and bytes/s (read and written) of a copy, both on one core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            a, b = torch.randn(MATRIX, MATRIX), torch.randn(MATRIX, MATRIX)
            source = torch.ones(COPY_B // 4)
            target = torch.empty_like(source)
            product_s = min(timed(lambda: torch.mm(a, b)) for _ in range(ROOFLINE_REPEATS))
            copy_s = min(timed(lambda: target.copy_(source)) for _ in range(ROOFLINE_REPEATS))
    finally:
        torch.set_num_threads(threads)
    return {"core_flops": 2 * MATRIX**3 / product_s, "core_bandwidth_Bps": 2 * COPY_B / copy_s}


def _capture(
    torch: Any, step: Callable[[], object], folder: Path, times_only: bool, settle_s: float
) -> tuple[float, Path]:
    """Trace one call; return the seconds it took, and the folder with the two files."""
    folder.mkdir()
    profiler, observer = torch.profiler, None
    if not times_only:
        observer = profiler.ExecutionTraceObserver()
        observer.register_callback(str(folder / "et.json"))
    seconds = 0.0
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU],
            schedule=profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
            on_trace_ready=lambda p: p.export_chrome_trace(str(folder / "kineto.json")),
            record_shapes=not times_only,
            execution_trace_observer=observer,
        ) as running:
            step()
            time.sleep(settle_s)
            running.step()
            seconds = timed(step)
            time.sleep(settle_s)
            running.step()
    finally:
        if observer is not None:
            observer.unregister_callback()
        if collecting:
            gc.enable()
    for name in ("kineto.json",) if times_only else ("kineto.json", "et.json"):
        if not (folder / name).is_file():
            raise SimschedError(f"PyTorch {torch.__version__} wrote no {name}; 2.1 or later is needed")
    return seconds, folder


def _kineto_text(text: str, metadata: dict[str, Any]) -> str:
    # Edited as text: parsing and printing would round the times.
    lines = "\n".join(line.strip() for line in _PRIVATE.sub(r'\1""', text).splitlines() if line.strip())
    return f'{{\n"simsched": {json.dumps(metadata)},\n{lines.removeprefix("{").lstrip()}\n'


def _execution_text(text: str, slim: bool) -> str:
    # JSON has no infinity and no NaN; as texts they stay readable.
    trace = json.loads(_PRIVATE.sub(r'\1""', text), parse_constant=str)
    nodes = trace.pop("nodes")
    for node in nodes if slim else ():
        for side in ("inputs", "outputs"):
            node[side].pop("strides", None)
        node["attrs"] = [a for a in node["attrs"] if a["name"] not in _UNUSED_ATTRIBUTES]
    body = ",\n".join(json.dumps(node, separators=(",", ":")) for node in nodes)
    return f'{json.dumps(trace)[:-1]}, "nodes": [\n{body}\n]}}\n'


def main(arguments: Sequence[str] | None = None) -> None:
    """Record a demonstration model; see `--help`."""
    parser = argparse.ArgumentParser(
        prog="record_pytorch", description="Record a training step of a small model."
    )
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--out", required=True, help="what the names of the two files start with")
    parser.add_argument("--threads", type=int, default=1, help="intra-op threads (default 1)")
    parser.add_argument("--inter-op", type=int, default=1, help="threads of the inter-op pool (default 1)")
    parser.add_argument(
        "--captures", type=int, default=3, help="traced steps; the quickest is kept (default 3)"
    )
    parser.add_argument("--repeats", type=int, default=10, help="untraced steps that are timed (default 10)")
    parser.add_argument("--slim", action="store_true", help="leave out what simsched does not read")
    parser.add_argument("--times-only", action="store_true", help="leave out execution trace and shapes")
    parser.add_argument("--realtime", action="store_true", help="let nothing interrupt it (CAP_SYS_NICE)")
    given = parser.parse_args(arguments)
    for name in ("threads", "inter_op"):
        if not 1 <= getattr(given, name) <= MAX_THREADS:
            option = name.replace("_", "-")
            parser.exit(2, f"--{option} is {getattr(given, name)}, expected 1 to {MAX_THREADS}\n")
    try:
        if given.realtime:
            be_realtime()
        torch = library("torch", "recording needs PyTorch", "torch")
        torch.set_num_threads(given.threads)
        torch.set_num_interop_threads(given.inter_op)
        files = record(
            MODELS[given.model](), given.out, captures=given.captures, repeats_untraced=given.repeats,
            slim=given.slim, label=given.model, times_only=given.times_only,
            settle_s=SETTLE_S if given.model.startswith(FORKED) else 0.0,
        )  # fmt: skip
    except SimschedError as error:
        parser.exit(2, f"{error}\n")
    for file in files:
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
