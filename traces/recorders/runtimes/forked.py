"""The programs in PyTorch: each operator is a fork of TorchScript, which waits for those that it reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from simsched.traces.recorders.runtimes.networks import Network

#: Each fork joins the queue of the inter-op pool when it is made, in the order of the program.
SOURCE = """
def made(kind: str, x: List[Tensor]) -> List[Tensor]:
    if kind == "gemm":
        return [torch.addmm(x[0], x[1], x[2].t(), alpha=-1)]
    elif kind == "syrk":
        return [torch.addmm(x[0], x[1], x[1].t(), alpha=-1)]
    elif kind == "update":
        return [torch.addmm(x[0], x[1], x[2], alpha=-1)]
    elif kind == "potrf":
        return [torch.linalg.cholesky(x[0])]
    elif kind == "getrf":
        p, l, u = torch.linalg.lu(x[0])
        return [l, u]
    elif kind == "trsm":
        return [torch.linalg.solve_triangular(x[0].t(), x[1], upper=True, left=False)]
    elif kind == "column":
        return [torch.linalg.solve_triangular(x[0], x[1], upper=True, left=False)]
    elif kind == "line":
        return [torch.linalg.solve_triangular(x[0], x[1], upper=False, unitriangular=True)]
    elif kind == "cell":
        h, c = torch.lstm_cell(x[0], [x[1], x[2]], x[3], x[4])
        return [h, c]
    elif kind == "conv1" or kind == "conv3" or kind == "conv5":
        around = x[1].size(3) // 2
        return [torch.conv2d(x[0], x[1], None, [1, 1], [around, around])]
    elif kind == "pool":
        return [torch.nn.functional.avg_pool2d(x[0], [3, 3], [1, 1], [1, 1])]
    elif kind == "concat":
        return [torch.cat(x, 1)]
    elif kind == "join":
        return [torch.cat(x, 2)]
    elif kind == "attend":
        return [torch.nn.functional.scaled_dot_product_attention(x[0], x[1], x[2])]
    elif kind == "norm":
        return [torch.layer_norm(x[0], [x[0].size(2)], x[1], x[2])]
    elif kind == "relu":
        return [torch.relu(x[0])]
    elif kind == "project" or kind == "output" or kind == "feed":
        return [torch.matmul(x[0], x[1])]
    total = x[0]
    for one in x[1:]:
        total = total + one
    if kind == "row" or kind == "edge":
        total = total / len(x)
    return [total]

def task(
    name: str, kind: str, given: List[Tensor], before: List[Future[List[Tensor]]], which: List[int]
) -> List[Tensor]:
    x: List[Tensor] = []
    waited = 0
    for result in which:
        if result < 0:
            x.append(given[len(x) - waited])
        else:
            x.append(torch.jit.wait(before[waited])[result])
            waited += 1
    handle = torch.ops.profiler._record_function_enter_new(name, None)
    found = made(kind, x)
    torch.ops.profiler._record_function_exit(handle)
    return found

def run(
    names: List[str], kinds: List[str], given: List[List[Tensor]], before: List[List[int]], which: List[List[int]]
) -> List[List[Tensor]]:
    tasks: List[Future[List[Tensor]]] = []
    for i in range(len(kinds)):
        needed: List[Future[List[Tensor]]] = []
        for j in before[i]:
            needed.append(tasks[j])
        tasks.append(torch.jit.fork(task, names[i], kinds[i], given[i], needed, which[i]))
    found: List[List[Tensor]] = []
    for one in tasks:
        found.append(torch.jit.wait(one))
    return found
"""


def forked(network: Network) -> Callable[[], list[list[Any]]]:
    """Return a step of a program, which returns all results; its operators are annotated `task[number]`."""
    torch: Any = importlib.import_module("torch")
    values = [torch.from_numpy(one) for one in network.values()]
    arguments = (
        [f"task[{number}]" for number in range(len(network.reads))],
        network.program.kinds,
        [[values[number] for task, number in reads if task < 0] for reads in network.reads],
        [[task for task, _ in reads if task >= 0] for reads in network.reads],
        [[-1 if task < 0 else number for task, number in reads] for reads in network.reads],
    )
    unit = torch.jit.CompilationUnit(SOURCE)

    def step() -> list[list[Any]]:
        with torch.no_grad(), torch.jit.optimized_execution(should_optimize=False):
            found: list[list[Any]] = unit.run(*arguments)
            return found

    return step
