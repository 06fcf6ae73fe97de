"""The `[ldm]` table of a machine file, and the core group it describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, PrivateAttr, StrictBool, model_validator

from simsched.costs.shapes.parts import Part
from simsched.errors import MachineError
from simsched.hwmodels.ldm.by_shape import Planner, costings, operation, widths_s
from simsched.hwmodels.ldm.group import CoreGroup, DmaCurve
from simsched.hwmodels.ldm.nest import LoopNest
from simsched.hwmodels.ldm.plain_loops import Reading
from simsched.machine import Machine, machine as machine_of
from simsched.machine.schema import UNITS, Quantities, Quantity, Strict, factor, measures, si


def _series(what: str) -> AfterValidator:
    units = UNITS[what]

    def check(series: Quantities) -> Quantities:
        if series.unit not in units:
            raise ValueError(
                f"unit {series.unit!r} does not measure {what}; expected one of {', '.join(map(repr, units))}"
            )
        if min(series.value) <= 0:
            raise ValueError(f"{min(series.value):g} is too small; it must be above 0")
        return series

    return AfterValidator(check)


def _si(series: Quantities) -> tuple[float, ...]:
    return tuple(value * factor(series.unit) for value in series.value)


class DmaTable(Strict):
    """Measured DMA streams by block size; see `DmaCurve`."""

    block: Annotated[Quantities, _series("size")]
    copy_rate: Annotated[Quantities, _series("bandwidth")]
    add_rate: Annotated[Quantities, _series("bandwidth")]

    @model_validator(mode="after")
    def _is_a_curve(self) -> Self:
        try:
            self.curve()
        except MachineError as error:
            raise ValueError(str(error)) from None
        return self

    def curve(self) -> DmaCurve:
        """Return the curve through these points."""
        return DmaCurve(_si(self.block), _si(self.copy_rate), _si(self.add_rate))


class LdmTable(Strict):
    """Local memories of a core group and the transfers to them; see `CoreGroup` for each number.

    Examples
    --------
    >>> import simsched as ss
    >>> table = ss.machine("sw26010").tables["ldm"]
    >>> nest = table.operation("matmul", m=512, n=512, k=512)
    >>> costings = table.costings()
    >>> costings["register communication"](nest) < costings["planned"](nest)
    True
    """

    cpes: Annotated[Quantity, measures("cores", least=1, whole=True)]
    mesh_columns: Annotated[Quantity, measures("count", least=1, whole=True)]
    size: Annotated[Quantity, measures("size per core", above=0)]
    clock: Annotated[Quantity, measures("frequency", above=0)]
    flop_per_cycle: Annotated[Quantity, measures("work per cycle", above=0)]
    compiled_share: Annotated[Quantity, measures("share", above=0, most=1)]
    reordered_share: Annotated[Quantity, measures("share", above=0, most=1)]
    dma_latency: Annotated[Quantity, measures("time", above=0)]
    dma_cpe_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)]
    gload_latency: Annotated[Quantity, measures("time", above=0)]
    gload_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)]
    gload_word: Annotated[Quantity, measures("size", above=0)]
    regcomm_latency: Annotated[Quantity, measures("time")]
    regcomm_bandwidth: Annotated[Quantity, measures("bandwidth", above=0)]
    spawn_join: Annotated[Quantity, measures("time")]
    preferred_elements: Annotated[Quantity, measures("count", least=1, whole=True)]
    gemm_m: Annotated[Quantity, measures("count", least=1, whole=True)]
    gemm_n: Annotated[Quantity, measures("count", least=1, whole=True)]
    gemm_k: Annotated[Quantity, measures("count", least=1, whole=True)]
    swdnn_ldm: Annotated[Quantity, measures("size per core", above=0)]
    swcaffe_ldm: Annotated[Quantity, measures("size per core", above=0)]
    bias_element: Annotated[Quantity, measures("time")]
    window_element: Annotated[Quantity, measures("time")]
    double_buffering: StrictBool = True
    dma_contiguous: DmaTable
    dma_strided: DmaTable
    #: Numbers that are those of a core of the machine once more; they go along where these are varied.
    follows: ClassVar[Mapping[str, str]] = {
        "clock": "clock",
        "flop_per_cycle": "flop_per_cycle",
        "dma_cpe_bandwidth": "core_bandwidth",
    }
    _stated: CoreGroup | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _mesh_is_whole(self) -> Self:
        if self.cpes.value % self.mesh_columns.value:
            raise ValueError(
                f"{self.cpes.value:g} CPEs do not fill whole rows of {self.mesh_columns.value:g} (mesh_columns)"
            )
        return self

    def core_group(self) -> CoreGroup:
        """Return the core group that this table describes."""
        return CoreGroup(
            cpes=int(self.cpes.value),
            mesh_columns=int(self.mesh_columns.value),
            ldm_B=si(self.size),
            cpe_flops=si(self.clock) * si(self.flop_per_cycle),
            compiled_share=self.compiled_share.value,
            reordered_share=self.reordered_share.value,
            dma_contiguous=self.dma_contiguous.curve(),
            dma_strided=self.dma_strided.curve(),
            dma_latency_s=si(self.dma_latency),
            dma_cpe_Bps=si(self.dma_cpe_bandwidth),
            gload_latency_s=si(self.gload_latency),
            gload_Bps=si(self.gload_bandwidth),
            gload_word_B=si(self.gload_word),
            regcomm_latency_s=si(self.regcomm_latency),
            regcomm_Bps=si(self.regcomm_bandwidth),
            spawn_join_s=si(self.spawn_join),
            preferred_elements=int(self.preferred_elements.value),
            gemm_m=int(self.gemm_m.value),
            gemm_n=int(self.gemm_n.value),
            gemm_k=int(self.gemm_k.value),
            swdnn_ldm_B=si(self.swdnn_ldm),
            swcaffe_ldm_B=si(self.swcaffe_ldm),
            bias_element_s=si(self.bias_element),
            window_element_s=si(self.window_element),
            double_buffering=self.double_buffering,
            stated=self._stated,
        )

    def planned_for(self, stated: LdmTable) -> LdmTable:
        """Return the table with programs that are planned for the numbers of another one."""
        made = self.model_copy()
        made._stated = stated._stated or stated.core_group()
        return made

    def operation(self, kind: str, **sizes: int) -> LoopNest:
        """Return the nest of a common operation: convolution, matmul, pooling, elementwise or bias."""
        return operation(kind, **sizes)

    def widths_s(self, part: Part, machine: Machine) -> npt.NDArray[np.float64]:
        """Return the seconds of a part of an op on teams of 0, 1, ... threads: `simsched.hwmodels.ldm.by_shape`."""
        return widths_s(part, machine)

    def costings(
        self, copies: Reading = "directives", planner: Planner = "search"
    ) -> dict[str, Callable[[LoopNest], float]]:
        """Return "planned", "no reuse" and "register communication": seconds of a nest on this core group."""
        return costings(self.core_group(), copies, planner)


def core_group(machine: str | Path | Machine) -> CoreGroup:
    """Return the planner's view of a machine.

    Parameters
    ----------
    machine : str, Path or Machine
        As for `simsched.machine`.

    Returns
    -------
    CoreGroup

    Raises
    ------
    MachineError
        If the machine's file has no `[ldm]` table.

    Examples
    --------
    >>> import simsched as ss
    >>> core_group("sw26010").ldm_B, core_group(ss.machine("sw26010[ldm.size=128]")).ldm_B
    (65536.0, 131072.0)
    """
    found = machine_of(machine)
    table = found.tables.get("ldm")
    if not isinstance(table, LdmTable):
        raise MachineError(
            f"{found.spec} has no local memories to plan: its file needs a table [ldm], as that of sw26010"
        )
    return table.core_group()
