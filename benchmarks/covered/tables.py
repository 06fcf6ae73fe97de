"""Measured tables beside the models by shape: each group of shapes in an interval that the others tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from measured import dma, kernels, streams
from measured.leave_out import signed
from measured.table import Row, Table, machine

import simsched as ss
from covered.group import Group, Values, left_out, sigma_of
from simsched.costs.discrepancy import grouped

#: Kind and regime of a table, by a word in its name; the first that fits.
KINDS = (
    ("convolution", ("convolution", "compute")),
    ("product", ("matrix product", "")),
    ("loops", ("matrix product", "compute")),
    ("DMA", ("data movement", "memory")),
    ("region", ("region", "overhead")),
    ("", ("element-wise", "memory")),
)
#: Smallest number of rows that tell a 95th percentile.
FEWEST = 20

Pools = Mapping[tuple[str, str], list[tuple[str, Row]]]


def groups(folder: Path) -> Iterator[Group]:
    """Yield a group for each kind and regime, followed by the tables that it consists of."""
    for (family, regime), rows in pools(folder).items():
        name = f"by shape: {family}, {regime}-bound"
        whole = left_out(name, [row for _, row in rows], [shape_of(row[0]) for _, row in rows])
        yield whole
        tables = dict.fromkeys(table for table, _ in rows)
        for table in tables if len(tables) > 1 else ():
            mine = [case for case, (of, _) in zip(whole.cases, rows, strict=True) if of == table]
            yield Group(f"  {table}", mine, scored=False)


def sigmas(folder: Path) -> Iterator[tuple[str, str, float, int]]:
    """Yield family, regime, standard deviation and number of rows: what stands in discrepancies.toml."""
    for (family, regime), rows in pools(folder).items():
        logs = np.log([measured / modelled for _, (_, measured, modelled) in rows])
        yield family, regime, sigma_of(logs), len(rows)


def pools(folder: Path) -> Pools:
    """Return all rows with the name of their table, by kind and regime; those of refitted models where there are."""
    found: dict[tuple[str, str], list[tuple[str, Row]]] = {}
    again = dict(signed(folder))
    for make in (*streams.MAKERS, *kernels.MAKERS, *dma.MAKERS):
        for table in make(folder):
            family, regime = next(kind for word, kind in KINDS if word in table.name)
            for row in _rows(table, again):
                own = regime or product_regime(row[0])
                found.setdefault((family, own), []).append((table.name, row))
    return _merged(found)


def _merged(found: Pools) -> Pools:
    """Return the pools, those of too few rows with the largest of their kind."""
    merged = {key: rows for key, rows in found.items() if len(rows) >= FEWEST}
    for key, rows in found.items():
        if key not in merged:
            of_kind = [other for other in merged if other[0] == key[0]] or [key]
            merged.setdefault(max(of_kind, key=lambda other: len(merged.get(other, []))), []).extend(rows)
    return merged


def _rows(table: Table, again: Mapping[str, Values]) -> list[Row]:
    """Return the rows of a table in seconds, as modelled without their group where the model was fitted again."""
    rows = table.rows
    for name, errors in again.items():
        if table.name.startswith(name) and len(errors) == len(rows):
            rows = rows.assign(modelled=rows.measured * (1 + errors))
    power = 1 if table.unit == "s" else -1
    return list(zip(rows.row, rows.measured**power, rows.modelled**power, strict=True))


def shape_of(label: str) -> str:
    """Return the group of shapes of a row: its name without batch, transposition and compiler."""
    return re.sub(r"^\d+ x (?=\d+ x \d+ x)| [NT]{2}$", "", label)


def product_regime(label: str) -> str:
    """Return what bounds a matrix product, as the costs of a graph see it."""
    sizes = [int(n) for n in re.findall(r"(?<!fp)\b\d+", label)]
    m, n, k = sizes if len(sizes) == 3 else sizes[-1:] * 3
    graph = ss.TaskGraph.from_edges(
        [np.nan], kinds="MatMul", shapes=f"{n}x{k};{k}x{m}", flops=[2.0 * m * n * k],
        bytes_B=[4.0 * (m * k + k * n + m * n)],
    )  # fmt: skip
    chip, costs = machine("knl-7250"), ss.CostModel()
    (group,), _ = grouped(costs.on(graph, chip), graph, chip, [costs.curve("MatMul")])
    return group.regime
