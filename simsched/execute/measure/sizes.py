"""Graphs of ops of many sizes, whose seconds tell those of any size."""

from itertools import product

import numpy as np

from simsched.graph import TaskGraph

#: Rows, inner dimension and columns of matrix products.
PRODUCTS = (
    *product((16, 48, 160), (48, 160, 400), (48, 160, 400)),
    (96, 96, 96), (256, 256, 256), (480, 480, 480),
)  # fmt: skip
#: Element-wise kinds with the arrays that each reads and its operations for an element, and their sizes.
POINTWISE = {"add": 2, "mul": 2, "sigmoid": 1, "tanh": 1, "Relu": 1, "gelu": 1, "softmax": 1}
ROWS = ((16, 48), (24, 160), (48, 300), (80, 400), (160, 600), (400, 900))
#: Batch, channels, height and width (alike) of images, and the size of the filter.
CONVOLUTIONS = (
    (1, 16, 14, 1), (2, 24, 12, 3), (4, 16, 20, 3), (2, 48, 14, 3), (4, 48, 10, 5), (8, 24, 14, 1), (2, 64, 28, 3),
    (4, 40, 16, 5), (8, 48, 20, 3),
)  # fmt: skip


Row = tuple[str, str, float, float]
#: Elements of all arrays of a graph, or of its only op, and how often each op runs: operands are then in caches, as a
#: network's are, and the graph is short, as quiet moments of a shared host are.
ELEMENTS, TIMES = 4e5, 3


def sizes_graphs() -> list[TaskGraph]:
    """Return graphs of products, element-wise ops and convolutions of many sizes, all independent.

    None has the sizes of a common layer. Operations are a multiplication and an addition in products, and one for each
    element elsewhere; bytes are those of every array once.

    Examples
    --------
    >>> graphs = sizes_graphs()
    >>> sum(graph.n_edges for graph in graphs), sorted({kind for graph in graphs for kind in graph.kinds.labels})[:3]
    (0, ['Conv', 'MatMul', 'Relu'])
    """
    rows = [*map(_product, PRODUCTS), *_pointwise(), *map(_convolution, CONVOLUTIONS)]
    groups: list[list[Row]] = [[]]
    # Every kind is in several graphs, in the company of others.
    for row in sorted(rows, key=lambda row: row[3]):
        if groups[-1] and sum(other[3] for other in groups[-1]) + row[3] > ELEMENTS:
            groups.append([])
        groups[-1].append(row)
    return [_graph(f"sizes {number}", group * TIMES) for number, group in enumerate(groups)]


def _graph(name: str, rows: list[Row]) -> TaskGraph:
    kinds, shapes, flops, elements = zip(*rows, strict=True)
    return TaskGraph.from_edges(
        np.full(len(rows), np.nan),
        kinds=kinds,
        shapes=shapes,
        flops=flops,
        bytes_B=[4.0 * n for n in elements],
        name=name,
    )


def _product(sizes: tuple[int, int, int]) -> Row:
    m, k, n = sizes
    return "MatMul", f"{m}x{k};{k}x{n}", 2.0 * m * k * n, float(m * k + k * n + m * n)


def _pointwise() -> list[Row]:
    return [
        (kind, ";".join([f"{m}x{n}"] * reads), float(m * n), float((reads + 1) * m * n))
        for (kind, reads), (m, n) in product(POINTWISE.items(), ROWS)
    ]


def _convolution(sizes: tuple[int, int, int, int]) -> Row:
    batch, channels, size, kernel = sizes
    pixels, weights = batch * size * size, channels * channels * kernel * kernel
    shape = f"{batch}x{channels}x{size}x{size};{channels}x{channels}x{kernel}x{kernel}"
    return "Conv", shape, 2.0 * pixels * weights, float(2 * pixels * channels + weights)
