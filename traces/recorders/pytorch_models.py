"""Two small models to record: a stack of LSTM cells written operator by operator, and a branching CNN."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

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


MODELS: dict[str, Callable[[], Callable[[], None]]] = {"lstm": lstm, "cnn": cnn}


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
