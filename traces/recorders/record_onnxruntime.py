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
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import SimschedError
from simsched.files import check_place, replacing
from simsched.traces.recorders.running import be_realtime, library, untraced, write
from simsched.traces.recorders.runtimes.networks import NETWORKS
from simsched.traces.recorders.runtimes.nodes import expressible, model as program_model
from simsched.traces.shared.libraries import cpu_model

MODELS = tuple(name for name, network in NETWORKS.items() if expressible(network()))
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
    workers, threads : int
        Threads of the parallel executor (inter-op; 0 for the sequential one), and of each node (intra-op).
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
    module = library("onnxruntime", "recording needs ONNX Runtime", "onnxruntime onnx")
    files = [Path(f"{out}.{end}") for end in ("ortprof.json.gz", "optimized.onnx.gz", "timing.json")]
    for file in files:
        check_place(file)
    given = model if isinstance(model, bytes) else str(model)
    options = _Options(module, workers, threads, optimized)
    try:
        session = module.InferenceSession(given, options.made())
        seconds = untraced(lambda: session.run(None, inputs), warmup, repeats_untraced)
        _profiled(options, given, inputs, warmup, files[0], files[1])
    except SimschedError:
        raise
    except Exception as error:  # ONNX Runtime's have no class in common
        raise SimschedError(f"ONNX Runtime {module.__version__} refused: {error!s:.300}") from None
    _describe(options, seconds, files[2])
    return files[0], files[1]


@dataclass(frozen=True)
class _Options:
    """What the sessions of a recording have in common; see `record`."""

    library: Any
    workers: int
    threads: int
    optimized: bool

    def made(self) -> Any:
        options, modes, levels = (
            self.library.SessionOptions(), self.library.ExecutionMode, self.library.GraphOptimizationLevel
        )  # fmt: skip
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, max(self.workers, 1)
        options.execution_mode = modes.ORT_PARALLEL if self.workers else modes.ORT_SEQUENTIAL
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if self.optimized else levels.ORT_DISABLE_ALL
        options.log_severity_level = 3  # it warns that optimized models are for this machine
        return options


def _describe(options: _Options, seconds: Mapping[str, float], path: Path) -> None:
    told = {
        "onnxruntime": options.library.__version__, "cpu_model": cpu_model(), "workers": options.workers,
        "threads": options.threads, "untraced_s": seconds,
    }  # fmt: skip
    with replacing(path) as raw:
        raw.write(json.dumps(told).encode("utf-8"))


def _profiled(
    options: _Options, model: str | bytes, inputs: Mapping[str, Any], warmup: int, profile: Path, saved: Path
) -> None:
    """Write the profile of one run after others, and the model of its session."""
    with tempfile.TemporaryDirectory() as folder:
        made, optimized = options.made(), Path(folder, "optimized.onnx")
        made.enable_profiling, made.profile_file_prefix = True, str(Path(folder, "profile"))
        made.optimized_model_filepath = str(optimized)
        session = options.library.InferenceSession(model, made)
        for _ in range(warmup + 1):
            session.run(None, inputs)
        write(profile, Path(session.end_profiling()).read_bytes())
        write(saved, optimized.read_bytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Record a program; see `--help`."""
    parser = argparse.ArgumentParser(prog="record_onnxruntime", description="Record runs of a program.")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--out", required=True, help="what the names of the files start with")
    parser.add_argument(
        "--workers",
        type=int,
        default=0,
        help="threads of the parallel executor; 0 (default): the sequential one",
    )
    parser.add_argument("--repeats", type=int, default=10, help="untraced runs that are timed (default 10)")
    parser.add_argument("--realtime", action="store_true", help="let nothing interrupt it (CAP_SYS_NICE)")
    given = parser.parse_args(arguments)
    if not 0 <= given.workers <= MAX_THREADS:
        parser.exit(2, f"--workers is {given.workers}, expected 0 to {MAX_THREADS}\n")
    try:
        if given.realtime:
            be_realtime()
        model, inputs = program_model(NETWORKS[given.model]())
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
