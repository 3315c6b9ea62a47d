"""Scans on cuda, by parts of the axis: each is folded, then what comes before each is found, then each is scanned.

Along the innermost axis a warp has a part: it reads 32 steps that lie side by side, each lane adds what the lanes before it have,
in five shuffles, and all of them what came before.  Along another axis a thread has a part, and its neighbours the next rows.
Where there are few rows a block finds what comes before the parts of each, else a thread.

Threads share nothing but the parts' folds, from one kernel to the next.  Where the axis is cut depends on sizes alone, so
results are repeatable.  An element is read twice, or once where a row is one part, and a cell is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, ceildiv, product
from gscompile.ir.nests import Nest
from gscompile.ir.ops.scan import ScanNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.groups import WARP, Group, groups
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.cuda.numbers import (
    SCAN_BLOCK,
    SCAN_CARRY_ROWS,
    SCAN_CARRY_THREADS,
    SCAN_ROWS,
    SCAN_UNDERWAY,
    SCAN_WARP_ROWS,
)
from gscompile.schedules.rule import Context

ZERO, ONE = T.const(0), T.const(1)


class Scans:
    """Always applies to a scan."""

    name = "scans"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, ScanNest):
            return None
        shuffled = ctx.target.cooperative and nest.acc.bits in (32, 64)
        within = product(nest.shape[nest.axis + 1 :])
        if shuffled and isinstance(within, int) and within == 1:
            return _in_parts(_Warps(nest, ctx), SCAN_WARP_ROWS, shuffled)
        return _in_parts(_Threads(nest, ctx), SCAN_ROWS, shuffled)


def _in_parts(scan: _Warps | _Threads, enough: int, shuffled: bool) -> Stmt:
    """The kernels.

    Args:
        enough: rows that fill a GPU without cutting any.
        shuffled: threads of a block may work together.
    """
    nest, ctx, most = scan.nest, scan.ctx, scan.steps
    extent, rows = nest.shape[nest.axis], product(nest.rest)
    if (isinstance(extent, int) and extent <= most) or (isinstance(rows, int) and rows >= enough):
        return scan.advanced(1, None)
    count = ceildiv(extent, most)
    before = ctx.workspace(f"{nest.name}_before", nest.with_axis(count), nest.acc)
    several = None if isinstance(extent, int) else nest.extent > most
    parts = T.seq(scan.folded(count - 1, before), _carried(nest, ctx, count, before, shuffled))
    return T.seq(T.if_(several, parts), scan.advanced(count, before))


def _carried(nest: ScanNest, ctx: Context, count: Dim, before: Buffer, shuffled: bool) -> Stmt:
    """From what comes just before each part, what comes before it in all."""
    few = ctx.sizes(product(nest.rest)) <= T.const(SCAN_CARRY_ROWS)
    known = T.constant_value(few) if shuffled else 0
    if known is not None:
        return (_carried_by_block if known else _carried_by_thread)(nest, ctx, count, before)
    return T.if_(few, _carried_by_block(nest, ctx, count, before), _carried_by_thread(nest, ctx, count, before))


@dataclass(frozen=True, slots=True)
class _Threads:
    """A thread has a part, neighbours on the innermost axis."""

    nest: ScanNest
    ctx: Context

    @property
    def steps(self) -> int:
        """Of a part, where there are several: the fewer rows, the shorter they are."""
        rows = product(self.nest.rest)
        few = isinstance(rows, int) and rows * 4 < SCAN_ROWS and self.ctx.target.cooperative
        return SCAN_BLOCK // 4 if few else SCAN_BLOCK

    def over(self, count: Dim, body: Callable[[Buffer, list[Expr], Expr], Stmt]) -> Stmt:
        """``body(total, row, part)``: a thread for each of ``count`` parts of each row."""
        nest = self.nest

        def thread(c: list[Expr], _: Expr) -> Stmt:
            total = T.buffer("total", [1], nest.acc.tir, align=8, scope="local")
            return T.seq(T.allocate(total), body(total, [*c[: nest.axis], *c[nest.axis + 1 :]], c[nest.axis]))

        return over(self.ctx, nest.with_axis(count), thread)

    def folded(self, count: Dim, before: Buffer) -> Stmt:
        """The fold of each part but the last, stored as what comes just before the next."""
        nest, steps = self.nest, self.steps

        def part(total: Buffer, row: list[Expr], b: Expr) -> Stmt:
            return T.seq(
                T.store(total, [ZERO], nest.initial),
                T.for_(steps, lambda k: nest.take_in(total, ZERO, row, b * steps + k), "k"),
                T.store(before, nest.on_axis(row, b + 1), T.load(total, ZERO)),
            )

        return self.over(count, part)

    def advanced(self, count: Dim, before: Buffer | None) -> Stmt:
        """The scan of each part, from what comes before it."""
        nest, steps = self.nest, self.steps

        def part(total: Buffer, row: list[Expr], b: Expr) -> Stmt:
            begin = b * steps
            length = nest.extent if before is None else T.minimum(nest.extent - begin, T.const(steps))
            return T.seq(
                T.store(total, [ZERO], _first(nest, before, row, b)),
                T.for_(length, lambda k: nest.advance(total, ZERO, row, begin + k), "k"),
            )

        return self.over(count, part)


@dataclass(frozen=True, slots=True)
class _Warps:
    """A warp has a part of the innermost axis."""

    nest: ScanNest
    ctx: Context

    steps = WARP * SCAN_UNDERWAY

    def over(self, count: Dim, begins: Callable[[list[Expr], Expr], Expr], body: Callable[..., Stmt]) -> Stmt:
        """``body(total, row, part, lane)``: a warp for each of ``count`` parts of each row.

        Args:
            begins: (row, part) -> what the total begins with.
        """
        nest = self.nest

        def warp(group: Group, c: list[Expr]) -> Stmt:
            total = T.buffer("total", [1], nest.acc.tir, align=8, scope="local")
            row, part = [*c[: nest.axis], *c[nest.axis + 1 :]], c[nest.axis]
            start = T.store(total, [ZERO], begins(row, part))
            return T.seq(T.allocate(total), start, body(total, row, part, group.lane))

        return groups(self.ctx, nest.with_axis(count), WARP, warp)

    def folded(self, count: Dim, before: Buffer) -> Stmt:
        """The fold of each part but the last, stored as what comes just before the next."""
        nest = self.nest

        def part(total: Buffer, row: list[Expr], b: Expr, lane: Expr) -> Stmt:
            values, upto = self.registers()

            def take(k: Expr) -> Stmt:
                return T.store(upto, [ZERO], nest.combine(T.load(upto, ZERO), T.load(values, k)))

            store = T.store(before, nest.on_axis(row, b + 1), T.load(upto, ZERO))
            return T.seq(
                T.allocate(values),
                T.allocate(upto),
                self.read(values, row, b * self.steps, lane),
                T.store(upto, [ZERO], T.load(total, ZERO)),
                T.for_(SCAN_UNDERWAY, take, "k"),
                _lanes_upto(nest, upto, lane),
                T.if_(lane == WARP - 1, store),
            )

        return self.over(count, lambda row, b: nest.initial, part)

    def advanced(self, count: Dim, before: Buffer | None) -> Stmt:
        """The scan of each part, from what comes before it."""
        nest = self.nest

        def part(total: Buffer, row: list[Expr], b: Expr, lane: Expr) -> Stmt:
            if before is not None:
                return self.scanned(total, row, b * self.steps, lane)
            rounds = T.quotient(nest.extent + (self.steps - 1), T.const(self.steps))
            return T.for_(rounds, lambda k: self.scanned(total, row, k * self.steps, lane), "part")

        return self.over(count, lambda row, b: _first(nest, before, row, b), part)

    def registers(self) -> tuple[Buffer, Buffer]:
        """For a lane's steps, and for what lanes have up to its own."""
        values = T.buffer("values", [SCAN_UNDERWAY], self.nest.acc.tir, align=16, scope="local")
        return values, T.buffer("upto", [1], self.nest.acc.tir, align=8, scope="local")

    def read(self, values: Buffer, row: list[Expr], begin: Expr, lane: Expr) -> Stmt:
        """A lane's steps of a part: 32 apart."""
        nest = self.nest

        def one(k: Expr) -> Stmt:
            step = begin + k * WARP + lane
            element = nest.element(nest.cell(row, step))
            return T.store(values, [k], T.if_then_else(step < nest.extent, element, nest.initial))

        return T.for_(SCAN_UNDERWAY, one, "k")

    def scanned(self, total: Buffer, row: list[Expr], begin: Expr, lane: Expr) -> Stmt:
        """The steps of a part are stored; the total, which is the same in all lanes, takes them in."""
        nest = self.nest
        values, upto = self.registers()

        def take(k: Expr) -> Stmt:
            step = begin + k * WARP + lane

            def some(old: Expr, last: Expr, *others: Expr) -> Stmt:
                own = nest.combine(old, T.load(upto, ZERO))
                if others:
                    own = T.select(lane == 0, old, nest.combine(old, others[0]))
                store = T.store(nest.out, nest.cell(row, step), nest.finish(own, step))
                return T.seq(T.if_(step < nest.extent, store), T.store(total, [ZERO], nest.combine(old, last)))

            # all lanes must be there for a shuffle, so none stands in a choice
            lanes = [T.const(WARP - 1), *([T.maximum(lane - 1, ZERO)] if nest.exclusive else [])]
            known = [T.load(total, ZERO), *(T.from_lane(T.load(upto, ZERO), x) for x in lanes)]
            return T.seq(
                T.store(upto, [ZERO], T.load(values, k)),
                _lanes_upto(nest, upto, lane),
                T.lets("known", known, lambda x: some(*x)),
            )

        read = self.read(values, row, begin, lane)
        return T.seq(T.allocate(values), T.allocate(upto), read, T.for_(SCAN_UNDERWAY, take, "k"))


def _first(nest: ScanNest, before: Buffer | None, row: list[Expr], part: Expr) -> Expr:
    """What comes before a part; nothing comes before the first one."""
    if before is None:
        return nest.initial
    return T.if_then_else(part > 0, T.load(before, *nest.on_axis(row, part)), nest.initial)


def _lanes_upto(nest: ScanNest, x: Buffer, lane: Expr) -> Stmt:
    """Each lane of a warp combines what those before it have with its own."""

    def step(s: Expr) -> Stmt:
        distance = ONE << s
        other = T.from_lane(T.load(x, ZERO), T.maximum(lane - distance, ZERO))

        def combine(o: Expr) -> Stmt:
            return T.if_(lane >= distance, T.store(x, [ZERO], nest.combine(o, T.load(x, ZERO))))

        return T.let("other", other, combine)

    return T.for_(WARP.bit_length() - 1, step, "s")


def _through(
    nest: ScanNest, before: Buffer, total: Buffer, row: list[Expr], first: Expr, count: Expr, store: bool
) -> Stmt:
    """A total takes in the folds of so many parts, each stored as what comes just before the next.

    Args:
        store: what comes before the next in all takes the fold's place.
    """

    def part(k: Expr) -> Stmt:
        at = nest.on_axis(row, first + k + 1)
        add = T.store(total, [ZERO], nest.combine(T.load(total, ZERO), T.load(before, *at)))
        return T.seq(add, T.store(before, at, T.load(total, ZERO)) if store else None)

    return T.for_(count, part, "part")


def _carried_by_thread(nest: ScanNest, ctx: Context, count: Dim, before: Buffer) -> Stmt:
    """A thread for each row."""

    def thread(row: list[Expr], _: Expr) -> Stmt:
        total = T.buffer("total", [1], nest.acc.tir, align=8, scope="local")
        start = T.store(total, [ZERO], nest.initial)
        return T.seq(T.allocate(total), start, _through(nest, before, total, row, ZERO, ctx.sizes(count) - 1, True))

    return over(ctx, nest.rest, thread)


def _carried_by_block(nest: ScanNest, ctx: Context, count: Dim, before: Buffer) -> Stmt:
    """A block for each row: each thread folds parts that follow each other, all of them look what comes before
    theirs, and each goes on from there."""
    threads = SCAN_CARRY_THREADS
    total, upto = (T.buffer(name, [1], nest.acc.tir, align=8, scope="local") for name in ("total", "upto"))
    shared = T.buffer("warps", [WARP], nest.acc.tir, align=8, scope="shared")

    def block(group: Group, row: list[Expr]) -> Stmt:
        t, lane, warp = group.lane, T.floormod(group.lane, T.const(WARP)), T.floordiv(group.lane, T.const(WARP))
        parts = ctx.sizes(count) - 1
        each = T.quotient(parts + (threads - 1), T.const(threads))
        begin = T.minimum(t * each, parts)
        length = T.minimum(each, parts - begin)

        def go(store: bool) -> Stmt:
            return _through(nest, before, total, row, begin, length, store)

        def from_lane_before(place: Expr, then: Callable[[Expr], Stmt]) -> Stmt:
            return T.let("others", T.from_lane(T.load(upto, ZERO), T.maximum(place - 1, ZERO)), then)

        def add(x: Expr) -> Stmt:
            return T.if_(warp > 0, T.store(total, [ZERO], nest.combine(x, T.load(total, ZERO))))

        return T.seq(
            *map(T.allocate, (total, upto, shared)),
            T.store(total, [ZERO], nest.initial),
            go(False),
            T.store(upto, [ZERO], T.load(total, ZERO)),
            _lanes_upto(nest, upto, lane),
            T.if_(lane == WARP - 1, T.store(shared, [warp], T.load(upto, ZERO))),
            from_lane_before(lane, lambda x: T.store(total, [ZERO], T.select(lane == 0, nest.initial, x))),
            T.synchronize_block(),
            T.store(upto, [ZERO], T.load(shared, lane)),
            _lanes_upto(nest, upto, lane),
            from_lane_before(warp, add),
            go(True),
        )

    return groups(ctx, nest.rest, threads, block)
