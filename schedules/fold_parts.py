"""Folds of floats in an order that is the same on every target and machine, for builds with ``deterministic=True``.

Up to 64 elements are taken one after the other.  More, n, are taken by P = min(ceil(n / 64), 65,536) interleaved parts, but 32 at
least where a run of memory is folded: part j takes the elements j, j + P, j + 2 P, ..., one after the other.  What the parts have
is folded in the same way.  A part begins with the reduction's identity.  Folds of runs of rows, each of its own length, are in
row-major order.

Each stage is a nest of its own whose folds are in row-major order, and goes to rules that keep it.  Parts lie side by side, so
that neighbours read neighbours: vectors of them on llvm, threads on cuda.  Per element what it takes without parts; per part 8
bytes and the fold of one element more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.dims import Dim, ceildiv, dim_max, dim_min, product
from gscompile.ir.nests import Nest, ReduceNest
from gscompile.ir.tir import Expr, Stmt
from gscompile.schedules.loops import unravel
from gscompile.schedules.rule import Checked, Context

CHAIN = 64
"""Elements that are taken one after the other: of a fold, or of a part."""

SIDE_BY_SIDE = 32
"""Parts of a run of memory, at least: the threads of a warp."""

MOST_PARTS = 1 << 16

MOST_STAGES = 4
"""Of parts, of theirs, and of theirs there are at most 65,536, 1,024 and 32: fewer than are taken one after the other."""

Ordered = Callable[[ReduceNest, Context], Stmt]
"""A nest whose folds are to be in row-major order -> what carries it out."""


def keeps_order(nest: ReduceNest, ctx: Context) -> bool:
    """Whether the order of a nest's folds is to be the one that is the same on every target."""
    return ctx.deterministic and nest.partial is not None and nest.partial.rounds


def parts_of(count: Dim, inner: bool) -> Dim:
    """How many parts a fold of so many elements has, if it has any."""
    return dim_min(dim_max(SIDE_BY_SIDE if inner else 1, ceildiv(count, CHAIN)), MOST_PARTS)


class FoldParts:
    """See the module's text.

    Args:
        ordered: carries out the nests of the stages.
        even: parts take equally many elements in their nest, and the next stage the rest; else each takes what it has, and tests
            the indices that it uses.
    """

    name = "fold-parts"

    def __init__(self, ordered: Ordered, even: bool) -> None:
        self.ordered = ordered
        self.even = even

    def apply(self, nest: Nest, ctx: Context) -> Stmt | Checked | None:
        if not isinstance(nest, ReduceNest) or not keeps_order(nest, ctx) or product(nest.shape) == 0:
            return None
        if nest.partial is None or nest.partial.box is None:
            return None
        first = _Stage.first(replace(nest, check=None) if self.even else nest, ctx, product(nest.partial.box))
        stmt = self.folded(first)
        return stmt if self.even or nest.check is None else Checked(stmt)

    def folded(self, stage: _Stage, number: int = 1) -> Stmt:
        """All stages from this one on."""
        nest, ctx, count = stage.nest, stage.ctx, stage.count
        if number == MOST_STAGES or (isinstance(count, int) and count <= CHAIN):
            return self.ordered(nest, ctx)
        split, rest = stage.by_parts(parts_of(count, nest.inner), self.even, f"parts{number}")
        both = T.seq(self.ordered(split, ctx), self.folded(rest, number + 1))
        return both if isinstance(count, int) else T.if_(ctx.sizes(count) <= CHAIN, self.ordered(nest, ctx), both)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Folds of elements that are told by their numbers.

    Attributes:
        nest: the folds, with a box of one axis.
        count: elements of each.
    """

    nest: ReduceNest
    ctx: Context
    count: Dim

    @staticmethod
    def first(nest: ReduceNest, ctx: Context, count: Dim) -> _Stage:
        """All elements of a nest."""
        assert nest.partial is not None and nest.partial.box is not None
        box, sizes = nest.partial.box, ctx.sizes
        if len(box) == 1:
            return _Stage(nest, ctx, count)
        flat = replace(
            nest,
            ranges=lambda c: [(T.const(0), sizes(count))],
            step=lambda acc, c, r: nest.step(acc, c, unravel(r[0], box, sizes)),
            grid=lambda c, r: nest.grid(c, unravel(r[0], box, sizes)),
        )
        return _Stage(flat, ctx, count)

    def by_parts(self, parts: Dim, even: bool, name: str) -> tuple[ReduceNest, _Stage]:
        """The folds of parts, and of what these have.

        Args:
            even: as of :class:`FoldParts`.
            name: of where these are kept.
        """
        nest, ctx, partial = self.nest, self.ctx, self.nest.partial
        assert partial is not None
        (dtype, _), inner = nest.initial[0], nest.inner
        shape = (*nest.shape, parts) if inner else (parts, *nest.shape)
        count, width = ctx.sizes(self.count), ctx.sizes(parts)
        whole = T.quotient(count, width)
        kept = ctx.workspace(f"{nest.name}_{name}", shape, dtype)

        def parted(at: Coords) -> tuple[Coords, Expr]:
            """A part's cell, and its number."""
            return (at[:-1], at[-1]) if inner else (at[1:], at[0])

        def ends(at: Coords) -> list[tuple[Expr, Expr]]:
            own = whole if even else T.quotient(count - parted(at)[1] + (width - 1), width)
            return [(T.const(0), own)]

        def element(at: Coords, k: Expr) -> tuple[Coords, Coords]:
            c, part = parted(at)
            return c, [k * width + part]

        def of_part(acc: Sequence[Expr], c: Coords, r: Coords) -> list[Expr]:
            at = [*c, r[0]] if inner else [r[0], *c]
            value = T.load(kept, *at)
            if even and T.constant_value(count - whole * width) != 0:
                there = r[0] < T.hidden(count - whole * width)
                (more,) = nest.step([value], *element(at, whole))
                value = T.if_then_else(there, more, value)
            return partial.merge(acc, [value])

        split = replace(
            nest,
            shape=shape,
            dtype=dtype,
            out=kept,
            ranges=ends,
            step=lambda acc, at, r: nest.step(acc, *element(at, r[0])),
            finish=lambda acc, at: acc[0],
            inner=inner and not even,
            grid=lambda at, r: nest.grid(*element(at, r[0])),
            partial=None,
        )
        rest = replace(
            nest,
            elements=product(shape),
            ranges=lambda c: [(T.const(0), width)],
            step=of_part,
            check=None,
        )
        return split, _Stage(rest, ctx, parts)
