"""Record runs of one's own ONNX model: ONNX Runtime's profile, the optimized model of its session, untraced times.

    from simsched.traces.recorders.record_onnxruntime import record

    record("resnet.onnx", {"image": image}, "resnet")

writes `resnet.ortprof.json.gz` and `resnet.optimized.onnx.gz`, which `simsched.load` reads, and `resnet.timing.json`:

    graph = simsched.load("resnet.ortprof.json.gz", model="resnet.optimized.onnx.gz")

The programs of `simsched.traces.recorders.runtimes` that ONNX can express are recorded from a shell:

    python -m simsched.traces.recorders.record_onnxruntime --model cnn --workers 2 --out cnn
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simsched.errors import SimschedError
from simsched.files import check_place, replacing
from simsched.traces.recorders.runtimes.networks import NETWORKS
from simsched.traces.recorders.runtimes.nodes import expressible, model as program_model
from simsched.traces.recorders.runtimes.realtime import be_realtime
from simsched.traces.shared.libraries import cpu_model

MODELS = tuple(name for name in NETWORKS if expressible(name))
MAX_THREADS = 2**16


def record(
    model: str | Path | bytes,
    inputs: Mapping[str, Any],
    out: str | Path,
    *,
    workers: int = 0,
    threads: int = 1,
    optimized: bool = True,
    warmup: int = 3,
    repeats_untraced: int = 10,
) -> tuple[Path, Path]:
    """Record runs of a model, of which the last counts, and time it untraced.

    Parameters
    ----------
    model : str, Path or bytes
        The model, or its file.
    inputs : mapping
        Arrays by name.
    out : str or Path
        Prefix of the names of the files.
    workers : int
        Threads of the parallel executor (inter-op); 0 for the sequential one.
    threads : int
        Threads of each node (intra-op).
    optimized : bool
        Whether the session fuses and replaces nodes.
    warmup : int
        Recorded runs before the last.
    repeats_untraced : int
        Runs that are timed in a session without profile, after as many for warming up.

    Returns
    -------
    (Path, Path)
        The profile, and the optimized model of its session.

    Raises
    ------
    SimschedError
        If ONNX Runtime is missing, refuses the model, or the files cannot be written.
    """
    if workers < 0 or threads < 1 or warmup < 0 or repeats_untraced < 1:
        raise SimschedError(
            f"record: {workers=}, {threads=}, {warmup=}, {repeats_untraced=}; at least 0, 1, 0 and 1 are needed"
        )
    library = _onnxruntime()
    profile, optimized_model = Path(f"{out}.ortprof.json.gz"), Path(f"{out}.optimized.onnx.gz")
    timing = Path(f"{out}.timing.json")
    for file in (profile, optimized_model, timing):
        check_place(file)
    given = model if isinstance(model, bytes) else str(model)
    options = (library, workers, threads, optimized)
    try:
        seconds = _untraced(library.InferenceSession(given, _options(*options)), inputs, warmup, repeats_untraced)
        with tempfile.TemporaryDirectory() as folder:
            written, saved = _profiled(given, inputs, warmup, Path(folder), options)
            _write(profile, written.read_bytes())
            _write(optimized_model, saved.read_bytes())
    except (RuntimeError, ValueError, OSError) as error:
        raise SimschedError(f"ONNX Runtime {library.__version__} refused: {error!s:.300}") from None
    described = {
        "onnxruntime": library.__version__, "cpu_model": cpu_model(), "workers": workers, "threads": threads,
        "untraced_s": {"median": statistics.median(seconds), "min": min(seconds), "n": len(seconds)},
    }  # fmt: skip
    with replacing(timing) as raw:
        raw.write(json.dumps(described).encode("utf-8"))
    return profile, optimized_model


def _onnxruntime() -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ImportError:
        raise SimschedError(
            "recording needs ONNX Runtime, which is not installed: pip install onnxruntime onnx"
        ) from None


def _options(library: Any, workers: int, threads: int, optimized: bool) -> Any:
    options, modes, levels = library.SessionOptions(), library.ExecutionMode, library.GraphOptimizationLevel
    options.intra_op_num_threads, options.inter_op_num_threads = threads, max(workers, 1)
    options.execution_mode = modes.ORT_PARALLEL if workers else modes.ORT_SEQUENTIAL
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3  # optimized models are for this machine, it warns
    return options


def _untraced(session: Any, inputs: Mapping[str, Any], warmup: int, repeats: int) -> list[float]:
    for _ in range(warmup):
        session.run(None, inputs)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        session.run(None, inputs)
        seconds.append(time.perf_counter() - start)
    return seconds


def _profiled(
    model: str | bytes, inputs: Mapping[str, Any], warmup: int, folder: Path, settings: tuple[Any, int, int, bool]
) -> tuple[Path, Path]:
    """Return the profile and the model of a session, which are in a folder."""
    options, saved = _options(*settings), folder / "optimized.onnx"
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    options.optimized_model_filepath = str(saved)
    session = settings[0].InferenceSession(model, options)
    for _ in range(warmup + 1):
        session.run(None, inputs)
    return Path(session.end_profiling()), saved


def _write(path: Path, content: bytes) -> None:
    # No name and no time in the header: the same content gives the same bytes.
    with replacing(path) as raw, gzip.GzipFile("", "wb", 6, raw, 0) as file:
        file.write(content)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record a program; see `--help`."""
    parser = argparse.ArgumentParser(prog="record_onnxruntime", description="Record runs of a program.")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--out", required=True, help="what the names of the files start with")
    parser.add_argument(
        "--workers", type=int, default=0, help="threads of the parallel executor; 0 (default): the sequential one"
    )
    parser.add_argument("--repeats", type=int, default=10, help="untraced runs that are timed (default 10)")
    parser.add_argument("--realtime", action="store_true", help="let nothing interrupt it (CAP_SYS_NICE)")
    given = parser.parse_args(arguments)
    if not 0 <= given.workers <= MAX_THREADS:
        parser.exit(2, f"--workers is {given.workers}, expected 0 to {MAX_THREADS}\n")
    try:
        if given.realtime:
            be_realtime()
        model, inputs = program_model(given.model)
        # As written: each node is an operator of the program.
        files = record(
            model, inputs, given.out, workers=given.workers, optimized=False, repeats_untraced=given.repeats
        )
    except SimschedError as error:
        parser.exit(2, f"{error}\n")
    for file in files:
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
