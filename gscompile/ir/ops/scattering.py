"""What a scatter does, its tensors apart: which cell a point goes to, and what becomes of those that meet."""

from __future__ import annotations

from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.index_map import Indexed
from gscompile.ir.ops.addressing import Addressing
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Expr
from gscompile.ir.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class Scattering:
    """How points go to cells, and meet there.

    Attributes:
        spelled: the operator's name, as its user wrote it.
        addressing: the map and the index rules.
        reduction: how values meet in a cell.
        include_self: whether data's own value takes part in a cell that some point hits.
        unique: a promise that no two points hit the same cell.
        deterministic: the result must be that of the row-major order, bit for bit, on every target.
    """

    spelled: str
    addressing: Addressing
    reduction: Reduction
    include_self: bool = True
    unique: bool = False
    deterministic: bool = False

    @property
    def counts(self) -> bool:
        """Whether the number of points in each cell matters."""
        return self.reduction.averaged or (not self.include_self and not self.reduction.replaces)

    @property
    def overlapping(self) -> bool:
        """Whether slices of different grid points can overlap partly, so that counts differ within a slice."""
        return any(isinstance(s, Indexed) and s.window is not None for s in self.addressing.map.sources)

    def finish(self, dtype: DType, total: Expr, count: Expr | None) -> Expr:
        """The value of a cell: ``total`` in the accumulator's dtype, and how many points hit it."""
        acc = self.reduction.accumulator(dtype)
        if not self.reduction.averaged:
            return cast(total, acc, dtype)
        assert count is not None
        count = T.int64(count)
        n = count + (1 if self.include_self else 0)
        if acc.is_float:
            wide = acc.compute
            quotient = cast(total, acc, wide) / T.cast(wide.name, T.maximum(n, T.const(1)))
            mean = cast(quotient, wide, acc)
        else:
            wide = DTYPES["uint64"] if acc.kind == "u" else DTYPES["int64"]
            quotient = T.floordiv(T.cast(wide.name, total), T.cast(wide.name, T.maximum(n, T.const(1))))
            mean = T.cast(acc.name, quotient)
        return cast(T.select(count > 0, mean, total), acc, dtype)
