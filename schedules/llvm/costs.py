"""The cost model of llvm: facts of a nest -> picoseconds of each way to carry it out -> the least.

Whatever chooses between ways is here; rules ask :class:`Decision` for theirs.  An estimate is a dimension: a number where the
sizes are known, so that only one way is compiled, else a formula that each call evaluates to choose among those that were.
``m.explain()`` prints facts and estimates.  Their numbers, :data:`~gscompile.schedules.llvm.fitted.TIMES`, are fitted to
measurements by ``benchmarks/fit.py``.

Ways of a scatter that group points decide how sums of floats round.  They are compared for :data:`REFERENCE`, a machine that
does not exist, with threads of its own, so that results are the same on every machine and for any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gscompile.errors import ShapeError
from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_max, dim_min
from gscompile.ir.tir import Expr
from gscompile.schedules.decisions import ONE_BY_ONE, THREADS, Condition, Decision
from gscompile.schedules.llvm.choices import GRAIN
from gscompile.schedules.llvm.fitted import TIMES
from gscompile.schedules.llvm.numbers import (
    AVX2_BYTES,
    CELL_PS,
    COMPONENT_PS,
    FAR_GATHER_PS,
    FLOAT_CHAIN_PS,
    GATHER_PS,
    GATHER_SCAN_PS,
    INTEGER_CHAIN_PS,
    L1_BYTES,
    L2_BYTES,
    LINE_BYTES,
    LISTED_CELL_PS,
    LISTED_POINT_PS,
    MAX_PARTIALS,
    MIN_CHUNKS,
    MIN_PARTIALS,
    MIN_SORTING_CORES,
    MOST_WAYS,
    MOVED_BYTE_PS,
    NARROW_FLOAT_PS,
    OPERATION_PS,
    PARALLEL_POINTS,
    POINTS_PER_CELL,
    POINTS_PER_PARTIAL_CELL,
    SERIAL_WORK,
    SLAB_END_PS,
    SORT_BLOCK,
    SORT_LAUNCH_PS,
    SORT_PS,
    STREAMED_BYTE_PS,
    STREAMED_LEVELS,
    STREAMED_ROWS,
    TAKEN_LINE_PS,
    UNGATHERED_PS,
    VECTOR_CELLS,
    WIDEN_PS,
    last_level_bytes,
)
from gscompile.schedules.rule import Context, Target

REFERENCE = Target("llvm", 32, "x86-64-v3", 2 << 20, 32 << 20, 2)
"""For which ways are compared that round differently."""


NEVER_PS = 10**15
"""Longer than anything else takes."""


# -- facts


@dataclass(frozen=True, slots=True)
class Facts:
    """What the time of a gather or scatter depends on.

    Attributes:
        points: how many index vectors are read.
        row_bytes: that each of them moves.
        table_bytes: of the tensor that they index.
        dtype: of partial results.
        reduction: of a scatter.
        gathered: whether what a point brings is picked by an index as well.
        components: of an index vector.
        widened: cells of the output whose totals have a wider dtype, and are made of it and it of them.
    """

    points: Dim
    row_bytes: Dim
    table_bytes: Dim
    dtype: str
    reduction: str = ""
    gathered: bool = False
    components: int = 1
    widened: Dim = 0

    def listed(self) -> dict[str, Dim | str]:
        """By name, for people."""
        named: dict[str, Dim | str] = {
            "points": self.points,
            "row bytes": self.row_bytes,
            "table bytes": self.table_bytes,
            "dtype": self.dtype,
        }
        named |= {"reduction": self.reduction} if self.reduction else {}
        named |= {"widened cells": self.widened} if self.widened != 0 else {}
        return named | ({"source": "gathered"} if self.gathered else {})


def levels(target: Target) -> tuple[int, ...]:
    """Bytes of a table from which accesses to it take longer: steps of the machine's caches, and of pages beyond them."""
    l2, last = target.l2_bytes or L2_BYTES, last_level_bytes(target)
    return (L1_BYTES, l2 // 2, 2 * l2, max(last // 2, 4 * l2), max(2 * last, 8 * l2), 8 * max(last, 4 * l2))


def source_levels(target: Target) -> tuple[int, ...]:
    """The same of all that the points bring, which is read once and in order."""
    return (2 * (target.l2_bytes or L2_BYTES), 2 * last_level_bytes(target))


# -- estimates, in picoseconds


def per_point(way: str, f: Facts, target: Target) -> Dim:
    """What a point costs one thread: itself, the bytes of its row, waits for the tensor that is indexed and what it brings."""
    t, lines = TIMES[way], (f.row_bytes + 63) // 64
    cost: Dim = t["point"] + f.row_bytes * t["line"] // 64 + (_gather(f, target) if f.gathered else 0)
    source: Dim = 0 if f.gathered else lines * _source_waits(way, f, target)
    return cost + _waits(way, f, target) + lines * _waits(way, f, target, "line waits") + source


def in_order(f: Facts, target: Target, threads: Dim) -> Dim:
    """One thread adds all points as they come; all make wider totals and round them."""
    wider = f.widened * WIDEN_PS // threads if f.widened != 0 else 0
    return f.points * (per_point("in order", f, target) + _more_components(f)) + wider


def index_scan(f: Facts, target: Target, threads: Dim) -> Dim:
    """Every thread tests all points, and adds those whose rows it owns."""
    added = f.points * per_point("index scan", f, target) + f.widened * WIDEN_PS + _taken_lines(f, threads)
    return _scan(f) + added // threads + _launch(1)


def _taken_lines(f: Facts, threads: Dim) -> Dim:
    """What points wait for whose rows lie where one thread's rows end and another's begin, in the middle of a cache line."""
    if isinstance(f.row_bytes, int) and f.row_bytes % LINE_BYTES == 0:
        return 0
    ends = f.points * dim_max(f.row_bytes, LINE_BYTES) * (2 * (threads - 1)) // dim_max(f.table_bytes, 1)
    return dim_min(f.points, ends) * TAKEN_LINE_PS


def row_by_row(f: Facts, target: Target, threads: Dim) -> Dim:
    """Every thread tests all points and lists those of each row that it owns, and then combines rows with their points.

    These come from anywhere in what the points bring, of half as many bytes as partial results.
    """
    brought = replace(f, row_bytes=f.row_bytes // 2, table_bytes=f.points * f.row_bytes // 2)
    lines = (brought.row_bytes + 63) // 64
    point = LISTED_POINT_PS + f.row_bytes * ps("index scan", "line") // 64 + (_gather(f, target) if f.gathered else 0)
    point = point + lines * _waits("index scan", brought, target, "line waits")
    return _scan(f) + (f.points * point + f.widened * LISTED_CELL_PS) // threads + _launch(1)


def sorted_by_owner(f: Facts, target: Target, threads: Dim) -> Dim:
    """The points are sorted by the thread that owns their row, then each adds its own."""
    rounds = (f.points + (SORT_BLOCK - 1)) // SORT_BLOCK
    each = SORT_PS + per_point("index scan", f, target)
    return (f.points * each + f.widened * WIDEN_PS) // threads + rounds * SORT_LAUNCH_PS


def privatised(f: Facts, target: Target, chunks: Dim, threads: Dim) -> Dim:
    """Chunks of points, each into accumulators that a cache holds."""
    points = (
        f.points * (per_point("privatised", f, target) + _more_components(f)) // dim_min(threads, dim_max(chunks, 1))
    )
    return points + _accumulators("privatised", f, chunks, threads)


def chunked(f: Facts, target: Target, chunks: Dim, threads: Dim) -> Dim:
    """Few chunks of points, each into an accumulator as large as the output."""
    points = f.points * (per_point("chunked", f, target) + _more_components(f)) // dim_min(threads, dim_max(chunks, 1))
    return points + _accumulators("chunked", f, chunks, threads)


def whole(f: Facts, target: Target, cells: Dim) -> Dim:
    """One thread makes all of an output, element by element."""
    return in_order(f, target, 1) + f.points * _narrow_float(f) + cells * CELL_PS


def in_slabs(f: Facts, target: Target, cells: Dim, run_bytes: Dim, threads: Dim) -> Dim:
    """Each thread makes a slab of it, of which so many bytes, divided by the threads, lie side by side.

    Lines, which come in pairs, are written by two threads at each end of each run, and go from one core to the other.
    """
    shared = SLAB_END_PS * threads // dim_max(run_bytes, 1)
    moved = f.table_bytes * MOVED_BYTE_PS
    points = f.points * (per_point("in order", f, target) + _narrow_float(f) + shared)
    return (points + cells * CELL_PS) // threads + moved + _launch(1)


def _narrow_float(f: Facts) -> int:
    """To convert and round a float of 16 bits, which is combined as one of 32."""
    return NARROW_FLOAT_PS if f.dtype in ("float16", "bfloat16") else 0


def _accumulators(way: str, f: Facts, chunks: Dim, threads: Dim) -> Dim:
    """To clear and to sum them: each chunk's are touched twice."""
    none = (1 - dim_min(chunks, 1)) * NEVER_PS
    return chunks * f.table_bytes * ps(way, "clear") // 64 // threads + _launch(2) + none


def in_place(f: Facts, target: Target, deep: Dim, slab: Dim, threads: Dim) -> Dim:
    """Elements are picked from the columns of a table: each from a line of its own, unless few rows have few lines.

    Of several slabs one after the other is picked from, which comes from memory in order and stays in a cache.  16,185 slabs of
    40 x 37 int8, 10 x 37 picked of each, on a Zen 3: packed 7.5 ms, in place 4.3; all 40 x 37, 17.1 and 18.7.
    """
    sizes, waits = levels(target), TIMES["in place"]["waits"]
    point, reached = ps("in place", "point"), f.table_bytes
    streamed: Dim = 0
    if slab != f.table_bytes and target.vector_bytes <= AVX2_BYTES:  # not measured with AVX-512, which gathers
        point, streamed, reached = point + UNGATHERED_PS, (f.table_bytes - slab) * STREAMED_BYTE_PS, slab
    first = unwaited(deep)
    wait = _steps(reached, sizes[first:], waits[first:]) * dim_min(deep * f.row_bytes, LINE_BYTES) // LINE_BYTES
    return (f.points * (point + wait + _source_waits("in place", f, target)) + streamed) // threads


def unwaited(deep: Dim) -> int:
    """Of how many :func:`levels` nothing waits for the elements of so many rows: the hardware prefetches few rows."""
    return STREAMED_LEVELS if isinstance(deep, int) and deep <= STREAMED_ROWS else 0


def packed(f: Facts, target: Target, cells: Dim, blocks: Dim, threads: Dim) -> Dim:
    """Blocks of columns are packed into a cache, and elements picked from there."""
    pack = cells * (ps("packed", "cell") + _waits("packed", f, target))
    pick = f.points * (ps("packed", "point") + _source_waits("packed", f, target))
    return (pack + pick) // dim_min(threads, dim_max(blocks, 1)) + _launch(1)


def slow_gathers(target: Target) -> bool:
    """Whether LLVM makes gathers of loads on a CPU that loads elements one by one as fast, or faster: a Zen 4 or 5."""
    return target.arch.startswith("znver") and target.vector_bytes > AVX2_BYTES


def gathered_bytes(itemsize: Dim, width: int, target: Target) -> Dim:
    """Of a row of several elements, those that vectors across rows gather, where gathers are slow; of single bytes none do."""
    several = width > 1 and itemsize != 1 and slow_gathers(target)
    return itemsize * min(width, VECTOR_CELLS) if several else 0


def copied_rows(f: Facts, target: Target, threads: Dim) -> Dim:
    """The rows of a block are found together, and copied by a loop that prefetches."""
    row = f.row_bytes * ps("copied rows", "line") // 64
    return f.points * (ps("copied rows", "point") + row + _waits("copied rows", f, target)) // threads


def copied_cells(f: Facts, target: Target, width: int, threads: Dim) -> Dim:
    """A loop over all cells, which are taken one by one unless they are enough for vectors."""
    together = min(width, VECTOR_CELLS)
    row = together * ps("copied cells", "cell") + f.row_bytes * ps("copied cells", "line") // 64
    row = row + gathered_bytes(f.row_bytes // max(width, 1), width, target) * ps("copied cells", "gathered byte")
    return f.points * (ps("copied cells", "point") + row + _waits("copied cells", f, target)) // threads


def _waits(way: str, f: Facts, target: Target, what: str = "waits") -> Dim:
    """What an access to the table waits for."""
    return _steps(f.table_bytes, levels(target), TIMES[way][what])


def _source_waits(way: str, f: Facts, target: Target) -> Dim:
    """What a point waits for that is read or written in order."""
    return _steps(f.points * f.row_bytes, source_levels(target), TIMES[way]["source waits"])


def _steps(nbytes: Dim, sizes: Sequence[int], waits: Sequence[int]) -> Dim:
    """The sum of the waits of those sizes that so many bytes reach."""
    total: Dim = 0
    for size, wait in zip(sizes, waits, strict=True):
        if wait:
            total = total + dim_min(nbytes // size, 1) * wait
    return total


def _gather(f: Facts, target: Target) -> Dim:
    """To find what a point brings, in a table that is taken to be as large as the one that it goes to."""
    return GATHER_PS + dim_min(f.table_bytes // levels(target)[3], 1) * FAR_GATHER_PS


def _shared_lines(f: Facts) -> Dim:
    """Where points find what they bring, narrow rows, by indices of their own: each thread reads all of these, too."""
    return GATHER_SCAN_PS * (1 - dim_min(f.row_bytes // LINE_BYTES, 1)) if f.gathered else 0


def _more_components(f: Facts) -> int:
    """To read an index vector instead of an index."""
    return (f.components - 1) * COMPONENT_PS


def _scan(f: Facts) -> Dim:
    """To test all points, which each thread does that owns rows."""
    return f.points * (ps("index scan", "scan") + _more_components(f) + _shared_lines(f))


def _launch(count: int) -> int:
    return count * ps("launch", "point")


def ps(way: str, what: str) -> int:
    """A fitted number."""
    number: int = TIMES[way][what]
    return number


# -- decisions


def chunk_count(points: Dim, cells: Dim, per_cell: int, least: int, most: int) -> Dim:
    """Into how many chunks the points are cut, each with an accumulator of all cells: a multiple of ``least``.

    0 where that does not pay, so that the accumulators take no memory then.
    """
    return dim_min(points // (dim_max(cells, 1) * per_cell), most) // least * least


def accumulator_ways(integer: bool) -> int:
    """How many accumulators of a cell hide that a point waits for the one before it: its chain / its time, a power of two."""
    chain = INTEGER_CHAIN_PS if integer else FLOAT_CHAIN_PS
    return min(1 << math.ceil(math.log2(chain / ps("privatised", "point"))), MOST_WAYS)


def private_chunks(points: Dim, cells: Dim, ways: Dim, most: int) -> Dim:
    """Into how many chunks points of single cells are cut: two, or a few, from so many for each cell on, more where each of its
    ``ways`` accumulators has as many."""
    few = chunk_count(points, cells, POINTS_PER_CELL, MIN_PARTIALS, MIN_CHUNKS)
    return dim_max(few, chunk_count(points, cells * ways, POINTS_PER_CELL, MIN_CHUNKS, most))


def row_chunks(elements: Dim, cells: Dim) -> Dim:
    """Into how many chunks rows of so many elements are cut: two from one element per cell on, more where there are many."""
    two = dim_min(elements // dim_max(cells, 1), 1) * MIN_PARTIALS
    return dim_max(two, chunk_count(elements, cells, POINTS_PER_PARTIAL_CELL, MIN_PARTIALS, MAX_PARTIALS))


def pays(ctx: Context, *conditions: tuple[Dim, int]) -> Condition:
    """Whether each dimension is at least its number."""
    unknown = [(d, n) for d, n in conditions if not isinstance(d, int)]
    if any(isinstance(d, int) and d < n for d, n in conditions):
        return False
    return T.all_of(ctx.sizes(d) >= n for d, n in unknown) if unknown else True


def both(a: Condition, b: Condition) -> Condition:
    """Whether both hold."""
    if a is False or b is False:
        return False
    return b if a is True else a if b is True else T.all_of([a, b])


def one_by_one(ctx: Context, name: str, f: Facts, sorts: bool, lists: bool) -> Decision:
    """How rows are added that meet others in the order of the points.

    Args:
        sorts: whether points may be sorted by owner.
        lists: whether rows may be made one after the other.
    """

    def estimates() -> dict[str, Dim]:
        found = {"index scan": index_scan(f, ctx.target, THREADS), "in order": in_order(f, ctx.target, THREADS)}
        if sorts and not (ctx.target.cores is not None and ctx.target.cores < MIN_SORTING_CORES):
            found["sorted by owner"] = sorted_by_owner(f, ctx.target, THREADS)
        if lists:
            found["row by row"] = row_by_row(f, ctx.target, THREADS)
        return found

    return _decided(ctx, name, f.listed(), estimates, "index scan")


def grouped(ctx: Context, name: str, f: Facts, way: str, chunks: Dim) -> Decision:
    """Whether points are grouped in chunks, by a way that does that."""
    cores = REFERENCE.cores
    assert cores is not None

    def estimates() -> dict[str, Dim]:
        group = {"privatised": privatised, "chunked": chunked}[way](f, REFERENCE, chunks, cores)
        return {way: group, ONE_BY_ONE: dim_min(in_order(f, REFERENCE, cores), index_scan(f, REFERENCE, cores))}

    return _decided(ctx, name, f.listed() | {"chunks": chunks}, estimates, ONE_BY_ONE)


def slabs(ctx: Context, name: str, f: Facts, cells: Dim, run_bytes: Dim) -> Decision:
    """Whether threads share an output whose slabs lie in many pieces."""

    def estimates() -> dict[str, Dim]:
        together = in_slabs(f, ctx.target, cells, run_bytes, THREADS)
        return {"slabs": together, "one thread": whole(f, ctx.target, cells)}

    return _decided(ctx, name, f.listed() | {"run bytes": run_bytes}, estimates, "slabs")


def shared(ctx: Context, work: Dim, nest: str = "") -> Condition:
    """Whether all threads do so many simple operations, whose launch pays from :data:`SERIAL_WORK` on, or what was chosen.

    Args:
        nest: whose decision that is; none of one that is part of another way.
    """

    def estimates() -> dict[str, Dim]:
        launch = SERIAL_WORK * OPERATION_PS - SERIAL_WORK * OPERATION_PS // THREADS
        return {"one thread": work * OPERATION_PS, "all threads": work * OPERATION_PS // THREADS + launch}

    if nest:
        _decided(ctx, nest, {"operations": work}, estimates, "all threads")
    return pays(ctx, (work, ctx.choose(GRAIN) if nest else SERIAL_WORK))


def _decided(
    ctx: Context, name: str, facts: dict[str, Dim | str], estimates: Callable[[], dict[str, Dim]], otherwise: str
) -> Decision:
    """A decision; of sizes that are too large to multiply, for one way."""
    try:
        found = estimates()
    except ShapeError:
        found = {otherwise: 0}
    return ctx.decided(Decision(name, facts, found))


def picked_from_columns(ctx: Context, name: str, f: Facts, deep: Dim, slab: Dim, cells: Dim, blocks: Dim) -> Decision:
    """Whether columns are packed before elements are picked from them.

    Args:
        deep: elements of a column.
        slab: bytes of the columns that have the same coordinates on the axes before theirs.
        cells: elements of the table.
        blocks: of columns, which threads share.
    """

    def estimates() -> dict[str, Dim]:
        return {
            "in place": in_place(f, ctx.target, deep, slab, THREADS),
            "packed": packed(f, ctx.target, cells, blocks, THREADS),
        }

    return _decided(ctx, name, f.listed(), estimates, "in place")


def copied_from_rows(ctx: Context, name: str, f: Facts, width: int) -> Decision:
    """How rows of so many elements are copied, which is chosen when the graph is compiled.

    Where only a call tells how many there are, many are assumed.
    """
    points = f.points if isinstance(f.points, int) else PARALLEL_POINTS
    known, threads = replace(f, points=points), ctx.target.cores or 1
    rows, cells = copied_rows(known, ctx.target, threads), copied_cells(known, ctx.target, width, threads)
    return ctx.decided(Decision(name, f.listed(), {"copied rows": rows, "copied cells": cells}))


def leaves_caches(ctx: Context, written: Dim, read: Expr) -> Expr:
    """Whether so many bytes that are written, and at most as many that are read, are too many for any cache.

    Non-temporal stores write them then.  Rows of 512 bytes, plain / non-temporal: 16 MB of a table of 1 MB 0.17 / 0.41 ms,
    16 of 32 0.44 / 0.43, 48 of 1 0.90 / 0.64, 96 of 1 2.0 / 1.3; rows of 64 bytes, 32 of 1 0.66 / 0.80, 48 of 1 1.35 / 0.72.
    """
    n = ctx.sizes(written)
    return n + T.minimum(n, read) >= last_level_bytes(ctx.target)
