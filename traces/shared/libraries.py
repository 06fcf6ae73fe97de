"""The processor and the library that ran a recording, where its file names them.

Stated in a graph's report: `facts["library"]` names one of `simsched.costs.kernels.library`,
`facts["library_why"]` gives the evidence.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from pathlib import Path

from simsched.errors import FormatError, GraphError
from simsched.graph import ImportReport
from simsched.graph.recording import RecordedOn
from simsched.text import one_line

#: Doubt about tasks of a Python program that ran on threads of one process.
GLOBAL_LOCK = (
    "Python's global lock lets one thread at a time run Python code, which replays do not know: more cores help only "
    "tasks that release it, as NumPy, compression and I/O do, and waits for it are recorded as work"
)
#: Characters of a processor's name.
MOST_CHARACTERS = 200


def cpu_model() -> str:
    """Return the running host's name of its processor."""
    try:
        info = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        info = ""
    found = re.search(r"^model name\s*:\s*(.+)$", info, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def recorded_on(name: object) -> RecordedOn | None:
    """Return the processor that a file names; None where that is no name.

    Examples
    --------
    >>> recorded_on("Some CPU @ 2.30GHz").name, recorded_on(" "), recorded_on(None)
    ('Some CPU @ 2.30GHz', None, None)
    """
    shown = one_line(name, MOST_CHARACTERS) if isinstance(name, str) else ""
    return RecordedOn(shown) if shown else None


def written_origin(path: Path, value: object) -> RecordedOn | None:
    """Return the machine that recorded the durations, as simsched's writers state it; None where a file states none.

    Raises
    ------
    FormatError
        If it is not as they state it.

    Examples
    --------
    >>> written_origin(Path("two.dot"), '{"name": "laptop", "clock_Hz": 2e9}').clock_Hz
    2000000000.0
    """
    try:
        return None if value is None else RecordedOn.read(value)
    except GraphError as error:
        raise FormatError(f"{path}: {error}") from None


#: Versions of graphs, of which TensorFlow 1.5 to 1.12 write the last two.
LAST_OF_TENSORFLOW_1 = 27
#: Operators of PyTorch that call oneDNN have this in their names.
_ONEDNN = "mkldnn_"


def of_tensorflow(report: ImportReport, kinds: Iterable[str], producer: int = 0) -> None:
    """Report the library that ran TensorFlow's ops: names after `_Mkl` show MKL or, since 2.0, oneDNN.

    Parameters
    ----------
    report : ImportReport
        Continued.
    kinds : iterable of str
        Ops that ran.
    producer : int
        Version of the graphs; 0 where unknown.
    """
    known = sorted(set(kinds))
    first = 0 < producer <= LAST_OF_TENSORFLOW_1
    version = f"graphs of version {producer}, as TensorFlow 1 writes them, and "
    if mkl := [kind for kind in known if kind.startswith("_Mkl")]:
        _tell(
            report, "tensorflow-1.9" if first else "onednn", f"{version if first else ''}ops called {mkl[0]}"
        )
    elif first and "Conv2D" in known:
        _tell(report, "eigen", f"{version}convolutions that MKL did not replace")


def of_pytorch(report: ImportReport, names: Iterable[str]) -> None:
    """Report the library that ran PyTorch's operators, by the calls within them.

    Examples
    --------
    >>> report = ImportReport("a file")
    >>> of_pytorch(report, ["aten::conv2d", "aten::mkldnn_convolution"])
    >>> report.facts
    {'library': 'onednn', 'library_why': 'it calls aten::mkldnn_convolution'}
    """
    found = min((name for name in set(names) if name.rpartition("::")[2].startswith(_ONEDNN)), default=None)
    if found is not None:
        _tell(report, "onednn", f"it calls {found}")


def of_providers(report: ImportReport, providers: Iterable[str]) -> None:
    """Report the library that ran the nodes of ONNX Runtime, its own for all providers but one."""
    if "DnnlExecutionProvider" in set(providers):
        _tell(report, "onednn", "nodes ran by DnnlExecutionProvider")


def _tell(report: ImportReport, library: str, why: str) -> None:
    report.facts["library"], report.facts["library_why"] = library, why
