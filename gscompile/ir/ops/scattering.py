"""What a scatter does: which cell a point goes to, what becomes of those that meet, and the nest that says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.addressing import Addressing
from gscompile.ir.coords import Coords
from gscompile.ir.dims import Dim, Shape, product
from gscompile.ir.index_map import Indexed, Window
from gscompile.ir.nests import CellsNest, CheckNest, Nest
from gscompile.ir.ops.elementwise import cast
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.tir import Buffer, Expr, Stmt
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
        sorted: a promise that points that hit the same cell follow each other on the axes of index that data does not share.
        deterministic: the result must be that of the row-major order, bit for bit, on every target.
    """

    spelled: str
    addressing: Addressing
    reduction: Reduction
    include_self: bool = True
    unique: bool = False
    sorted: bool = False
    deterministic: bool = False

    @property
    def counts(self) -> bool:
        """Whether the number of points in each cell matters."""
        return self.reduction.averaged or (not self.include_self and not self.reduction.replaces)

    @property
    def overlapping(self) -> bool:
        """Whether slices of different grid points can overlap partly, so that counts differ within a slice."""
        return any(isinstance(s, Indexed) and s.window is not None for s in self.addressing.map.sources)

    def accumulator(self, dtype: DType) -> DType:
        """Where partial results live: in the dtype itself where one of two values stays."""
        return dtype if self.reduction.keeps_codes(dtype) else self.reduction.accumulator(dtype)

    def finish(self, dtype: DType, total: Expr, count: Expr | None) -> Expr:
        """The value of a cell: ``total`` in the accumulator's dtype, and how many points hit it."""
        acc = self.accumulator(dtype)
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
            quotient = T.floordiv(cast(total, acc, wide), T.cast(wide.name, T.maximum(n, T.const(1))))
            mean = cast(quotient, wide, acc)
        return cast(T.select(count > 0, mean, total), acc, dtype)


@dataclass(frozen=True, slots=True)
class Lane:
    """One of several tensors that the points of a scatter go to together; what is said of them in :class:`ScatterNest`."""

    dtype: DType
    out: Buffer
    base: Callable[[Coords], Expr]
    src: Callable[[Coords, Coords], Expr]


@dataclass(frozen=True, slots=True)
class ScatterNest(Nest):
    """``out = base; for p in row-major order: out[map(p)] = reduce(out[map(p)], src[p])``.

    Attributes:
        op: map, reduction and promises.
        shape: extents of out.
        grid: extents of the index tensor without its vector axis.
        window: extents of the window coordinates.
        base: the value of a cell before the first point.
        starts: grid position -> the start on each indexed axis, and whether the point takes part (None: it does).
        src: (grid, window) -> the value that arrives.
        cost: rough scalar instructions per point.
        in_place: out already holds base and must not be copied to.
        lanes: for a reduction that is an update computation, all the tensors it combines, the one above included.
    """

    name: str
    op: Scattering
    shape: Shape
    dtype: DType
    out: Buffer
    grid: Shape
    window: Shape
    base: Callable[[Coords], Expr]
    starts: Callable[[Coords], tuple[list[Expr], Expr | None]]
    src: Callable[[Coords, Coords], Expr]
    cost: int
    in_place: Expr | None = None
    check: CheckNest | None = None
    lanes: tuple[Lane, ...] = ()

    def cell(self, starts: Sequence[Expr], grid: Coords, window: Coords) -> list[Expr]:
        """The cell a point goes to."""
        return self.op.addressing.data_coords(starts, grid, window)

    def combine(self, cell: list[Expr], grid: Coords, window: Coords) -> Stmt:
        """What a point does to its cell in every lane: all are read before any is written."""
        n, dtypes = len(self.lanes), [lane.dtype for lane in self.lanes]

        def store(results: list[Expr]) -> Stmt:
            return T.seq(*(T.store(lane.out, cell, x) for lane, x in zip(self.lanes, results, strict=True)))

        def bind(values: list[Expr]) -> Stmt:
            k = len(values)
            if k == 2 * n:
                return self.op.reduction.step(dtypes, values[:n], values[n:], store)
            lane = self.lanes[k % n]
            value = T.load(lane.out, *cell) if k < n else lane.src(grid, window)
            return T.let(f"{'old' if k < n else 'new'}{k % n}", value, lambda v: bind([*values, v]))

        return bind([])

    @property
    def work(self) -> Dim:
        return product(self.shape) + product(self.grid) * product(self.window) * max(self.cost, 1)

    @property
    def reads(self) -> Dim:
        return product(self.shape) * product(self.window)

    @property
    def covered(self) -> dict[int, int]:
        """The axes of out that every slice covers whole, with their window coordinates.

        Whatever hits a cell hits all cells along these axes.  None if slices can overlap in part.
        """
        if self.op.overlapping:
            return {}
        sources = enumerate(self.op.addressing.map.sources)
        return {a: s.window for a, s in sources if isinstance(s, Window) and self.window[s.window] == self.shape[a]}


@dataclass(frozen=True, slots=True)
class SegmentFold:
    """One of the folds of a :class:`SegmentsNest`.

    Attributes:
        base: what each segment's total begins with.
        src: a point -> the value that it brings.
        needs: the numbers of those of :attr:`SegmentsNest.steps` that it reads.
    """

    op: Scattering
    dtype: DType
    base: Expr
    src: Callable[[Coords], Expr]
    needs: Sequence[int]


@dataclass(frozen=True, slots=True)
class SegmentStep:
    """A value of each point on the way to others, which would be too long an expression without.

    Attributes:
        stands: a buffer whose loads, at a point, stand for it.
        element: a point -> the value.
    """

    stands: Buffer
    element: Callable[[Coords], Expr]


@dataclass(frozen=True, slots=True)
class SegmentsNest(CellsNest):
    """``out[p] = element(p)`` of all points, made of totals of the points of the segment that p is in.

    Points that follow each other on axis ``own`` and have the same start, or between one offset and the next, are a segment: its
    first fold is done before the second one, which may read the total of the first, and so on.

    Attributes:
        shape: extents of the points.
        own: the axis of the points on which segments lie; the axes before it are shared, those after it windows.
        segments: how many there are for each position on the shared axes.
        starts: a point -> what is the same for the points of a segment.
        offsets: a segment's number -> where it begins; of ``segments``, the number of points.  They ascend from 0, or the check,
            which is then of them, fails.  None where starts say what a segment is.
        folds: in order.
        totals: the buffers whose loads, at a point, stand for the total of its segment: those of each fold.
        steps: in order.
        element: a point -> what is stored.
        needs: the numbers of those of ``steps`` that it reads.
        cost: rough scalar instructions per point.
        grid: a point -> the grid position of its index.
        apart: the same by several nests, one for each fold, as a statement.
    """

    name: str
    shape: Shape
    dtype: DType
    out: Buffer
    own: int
    segments: Dim
    starts: Callable[[Coords], list[Expr]]
    offsets: Callable[[Expr], Expr] | None
    folds: tuple[SegmentFold, ...]
    totals: tuple[tuple[Buffer, ...], ...]
    steps: tuple[SegmentStep, ...]
    element: Callable[[Coords], Expr]
    needs: Sequence[int]
    cost: int
    grid: Callable[[Coords], list[Expr]]
    apart: Callable[[], Stmt]
    check: CheckNest | None = None
