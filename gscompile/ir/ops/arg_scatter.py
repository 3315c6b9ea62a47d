"""The largest or smallest value that arrives in a cell, and where it came from: a reduction of two tensors at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.reduce import ArgReduce
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Expr
from gscompile.ir.types import DType

NOWHERE = -1  # the position of a cell in which nothing has arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class BestAt(Reduction):
    """Of values and their int64 positions: the best value and the position of the first one that is so good.

    Attributes:
        best: which of two values wins: the comparison of argmax or argmin, of which NaN beats every number (NumPy).
        replaces_first: the first value that arrives wins whatever was there.
    """

    best: ArgReduce
    replaces_first: bool

    @staticmethod
    def of(name: str, include_self: bool) -> BestAt:
        """``argmax`` or ``argmin``."""
        return BestAt(
            name=name,
            function=None,
            identity=None,
            associative=False,
            commutative=False,
            ordered=True,
            best=ArgReduce(name == "argmax", 0, False),
            replaces_first=not include_self,
        )

    @property
    def arity(self) -> int:
        return 2

    def accumulator(self, dtype: DType) -> DType:
        return dtype

    def results(self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
        d = dtypes[0]
        wins = self.best.better(d, cast(new[0], d, d.compute), cast(old[0], d, d.compute))
        if self.replaces_first:
            wins = T.any_of([wins, old[1] == NOWHERE])
        return [T.select(wins, new[0], old[0]), T.select(wins, new[1], old[1])]
