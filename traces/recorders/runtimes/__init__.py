"""Record the same programs under several task runtimes of this host, on some numbers of workers.

    python -m simsched.traces.recorders.runtimes --out FOLDER [--workers 1,2] [--repeats 3] [--realtime]

compiles `tasks.cc` for each runtime that is installed (GNU's and LLVM's OpenMP, oneTBB, Taskflow, StarPU), runs the
programs as operators under the frameworks that are (ONNX Runtime, PyTorch), and writes
`PROGRAM.RUNTIME.WORKERSw.RUN.simsched` for each recorded run, which `simsched.load` reads; `runs.csv`: a row for each,
with its makespan and that of an untraced run; and `tasks.csv.gz`, the times of all tasks, which `load` reads.
`simsched.learn` takes all of these as recordings of one host.
"""

from simsched.traces.recorders.runtimes.networks import Program
from simsched.traces.recorders.runtimes.record import installed, record
from simsched.traces.recorders.runtimes.saved import load, save

__all__ = ["Program", "installed", "load", "record", "save"]
