"""Operators on *pairs*: tensors whose innermost axis, of extent 2, holds the real and the imaginary part of complex numbers.

Only :mod:`gscompile.ir.pairs` makes them; a builder's graph has complex values instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords, Element, Sizes, nested
from gscompile.ir.dims import Shape, product
from gscompile.ir.nests import RowNest
from gscompile.ir.ops.base import Applied, Inline, Stored, Tree, reads_again
from gscompile.ir.ops.elementwise import POINTWISE, complexes, constant, filler
from gscompile.ir.ops.elementwise.expr import operand as hidden
from gscompile.ir.ops.movement import broadcast_coords
from gscompile.ir.ops.reduce import Folding, Reduce, SegmentReduce, Steps
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.ops.scan import Scan
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES, DType, TensorType

LANES = (T.const(0), T.const(1))


def parts(x: Element, coords: Coords) -> list[Expr]:
    """Both parts of a pair."""
    return [x(*coords, lane) for lane in LANES]


@dataclass(frozen=True, slots=True)
class Part(Inline):
    """The real parts of pairs, or the imaginary ones."""

    lane: int

    @property
    def name(self) -> str:
        return "imag" if self.lane else "real"

    def picks(self, position: int) -> bool:
        return True

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        return args[0](*coords, LANES[self.lane])


@dataclass(frozen=True, slots=True)
class Pair(Inline):
    """Pairs of real and imaginary parts; 0 for imaginary parts that are not given."""

    @property
    def name(self) -> str:
        return "complex"

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        *at, lane = coords
        real, *imag = (x(*at) for x in args)
        return T.if_then_else(lane < 1, real, imag[0] if imag else hidden(0.0, out.dtype))


@dataclass(frozen=True, slots=True)
class Complex(Inline):
    """A function of :data:`~gscompile.ir.ops.elementwise.complexes.BODIES` of pairs that broadcast; pairs again, or numbers."""

    function: str

    @property
    def name(self) -> str:
        return self.function

    @property
    def cost(self) -> int:
        return 4 * POINTWISE[self.function].cost if self.function in POINTWISE else 4

    def repeats(self, position: int, out: Shape, arg: Shape) -> bool:
        return reads_again((*out, 2) if self._is_measure else out, arg)

    def tree(self, out: TensorType, args: Sequence[Tree], types: Sequence[TensorType]) -> Tree:
        return Tree.over(args, [8] * len(args))

    @property
    def _is_measure(self) -> bool:
        """Whether it gives numbers."""
        return self.function in complexes.MEASURES or self.function in complexes.TESTS

    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        at, lane = (coords, LANES[0]) if self._is_measure else (coords[:-1], coords[-1])
        operands = [parts(x, broadcast_coords(at, x.type.shape[:-1])) for x in args]
        return complexes.apply(self.function, args[0].type.dtype, operands, lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReduction(Reduction):
    """A function of complex numbers that needs both parts, as a reduction of a tensor of real and one of imaginary parts.

    Attributes:
        of: the function.
        begun: whether a third tensor, of bool, says which cells have a value yet; others take the first that arrives.
    """

    of: str
    begun: bool

    @staticmethod
    def like(row: Reduction, begun: bool) -> PairReduction:
        """That of a row of the table."""
        assert row.function is not None
        return PairReduction(
            name=row.name,
            function=None,
            identity=None,
            associative=False,
            commutative=False,
            ordered=True,
            of=row.function,
            begun=begun,
        )

    @property
    def arity(self) -> int:
        return 3 if self.begun else 2

    def accumulator(self, dtype: DType) -> DType:
        return dtype

    def results(self, dtypes: Sequence[DType], old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
        found = _combined(self.of, dtypes[0], old[:2], new[:2])
        if not self.begun:
            return found
        return [*(T.select(old[2], x, y) for x, y in zip(found, new, strict=False)), new[2]]


def _combined(function: str, dtype: DType, old: Sequence[Expr], new: Sequence[Expr]) -> list[Expr]:
    return [complexes.apply(function, dtype, [old, new], lane) for lane in LANES]


@dataclass(frozen=True, slots=True)
class PairFold(Folding):
    """A fold of pairs by a function that needs both parts: a fold of the table, as it would be of each part."""

    fold: Reduce | SegmentReduce

    @property
    def name(self) -> str:
        return self.fold.name

    def taken(self, x: Element, at: list[Expr]) -> list[Expr]:
        return parts(x, at[:-1])

    def steps(self, args: Sequence[Element], sizes: Sizes) -> Steps:
        dtype, row, each = args[0].type.dtype, self.fold.reduction, self.fold.steps(args, sizes)
        assert row.function is not None and row.identity is not None
        function, first = row.function, complex(row.identity(DTYPES[f"complex{2 * dtype.bits}"]))
        return Steps(
            ranges=each.ranges,
            initial=tuple((dtype, filler(first, dtype, [lane])) for lane in LANES),
            step=lambda a, x, r: _combined(function, dtype, a, x),
            finish=lambda a, c: each.finish([complexes.pick(c[-1], *a)], c),
            source=each.source,
            inner=False,
        )


@dataclass(frozen=True, slots=True)
class PairScan(Stored):
    """A scan of pairs by a function that needs both parts: a row after the other, each from its begin to its end.

    Attributes:
        scan: the scan, as it would be of each part.
    """

    scan: Scan

    @property
    def name(self) -> str:
        return self.scan.name

    @property
    def cost(self) -> int:
        return 8

    def nest(self, at: Applied) -> RowNest:
        x, out, shape = at.args[0], at.outs[0], at.type.shape
        return RowNest(
            name=at.name,
            rows=self.rows(shape),
            elements=product(shape[:-1]),
            registers=(at.type.dtype, 2),
            row=lambda row, total: self.row(out, at.type, x, at.sizes, row, total),
            cost=at.cost,
        )

    def formula(self, out: Buffer, type: TensorType, args: Sequence[Element], sizes: Sizes) -> Stmt:
        total = T.buffer("total", [2], type.dtype.tir, align=8)
        rows = nested(
            "c", sizes.shape(self.rows(type.shape)), lambda row: self.row(out, type, args[0], sizes, row, total)
        )
        return T.seq(T.allocate(total), rows)

    def rows(self, shape: Shape) -> Shape:
        return (*shape[: self.scan.axis], *shape[self.scan.axis + 1 : -1])

    def row(self, out: Buffer, type: TensorType, x: Element, sizes: Sizes, row: Coords, total: Buffer) -> Stmt:
        """The scan of a row; ``total`` holds both parts of what has been taken in."""
        op, dtype, axis = self.scan, type.dtype, self.scan.axis
        assert op.reduction.function is not None and op.reduction.identity is not None
        function, first = op.reduction.function, complex(op.reduction.identity(DTYPES[f"complex{2 * dtype.bits}"]))
        extent = sizes(type.shape[axis])

        def step(k: Expr) -> Stmt:
            cell = [*row[:axis], extent - 1 - k if op.reverse else k, *row[axis:]]
            keep = T.seq(*(T.store(out, [*cell, lane], T.load(total, lane)) for lane in LANES))
            new = parts(x, cell)
            results = _combined(function, dtype, [T.load(total, lane) for lane in LANES], new)
            taken = [T.select(k == 0, a, b) for a, b in zip(new, results, strict=True)]
            take = T.let("real", taken[0], lambda a: T.let("imag", taken[1], lambda b: _both(total, [a, b])))
            return T.seq(keep, take) if op.exclusive else T.seq(take, keep)

        begin = _both(total, [constant(first.real, dtype), constant(first.imag, dtype)])
        return T.seq(begin, T.for_(extent, step, "k"))


def _both(total: Buffer, values: Sequence[Expr]) -> Stmt:
    return T.seq(*(T.store(total, [lane], v) for lane, v in zip(LANES, values, strict=True)))
