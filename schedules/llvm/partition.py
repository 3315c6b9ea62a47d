"""Scatters of rows among many threads: the points sorted by the thread that owns their row.

Where every thread scans all indices for its own points, the index scan costs each as much as it costs one, and outweighs the rows
when there are many threads.  Here each thread counts the points of its share by owner, the counts become places, and each
point's number is written to its place: a counting sort, which keeps the order of the points.  Each owner then goes through its
own points only.  :data:`SORT_BLOCK` points are sorted at a time, so that their list stays small.

A point's owner is kept from the first pass for the second: the indices may change meanwhile, and the counts would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.numbers import MAX_OWNERS, SORT_BLOCK
from gscompile.schedules.llvm.staged import RowScatter

OwnedPoints: TypeAlias = Callable[[Callable[[Expr], Expr], Expr, Expr], Stmt]
"""(place in the list -> the point there, first place, last place) -> what is done with an owner's points."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Some threads that own a range of rows each.

    Attributes:
        owners: how many they are.
        rows: how many rows there are, at least 1.
        order: the points that have been sorted, counted from the first of them.
        owner: the number of each point's owner, or that of owners where it is dropped.
        places: by share and owner: how many points, then where in ``order`` the next of them goes.
    """

    scatter: RowScatter
    owners: Expr
    rows: Expr
    order: Buffer
    owner: Buffer
    places: Buffer

    @staticmethod
    def of(s: RowScatter) -> Partition:
        order = T.buffer("order", [SORT_BLOCK], "int32", align=64)
        owner = T.buffer("owner", [SORT_BLOCK], "uint8", align=64)
        places = T.buffer("places", [MAX_OWNERS, MAX_OWNERS], "int64", align=64)
        owners = T.minimum(s.ctx.threads, T.const(MAX_OWNERS))
        return Partition(s, owners, T.maximum(s.ctx.sizes(s.rows), T.const(1)), order, owner, places)

    def each_owner(self, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """``body(lo, hi)`` for the rows of each owner: the rows ``r`` with ``r * owners // rows`` equal to its number."""

        def first(owner: Expr) -> Expr:
            return T.quotient(owner * self.rows + self.owners - 1, self.owners)

        return T.parallel(self.owners, lambda o: body(first(o), first(o + 1)), "owner")

    def each_point(self, body: OwnedPoints) -> Stmt:
        """``body`` for the points of each owner, in their order."""

        def block(begin: Expr) -> Stmt:
            owned = T.parallel(self.owners, lambda o: self.owned(begin, o, body), "owner")
            return T.seq(self.sort(begin), owned)

        points = self.scatter.ctx.sizes(self.scatter.points)
        rounds = T.floordiv(points + (SORT_BLOCK - 1), T.const(SORT_BLOCK))
        loop = T.for_(rounds, lambda k: T.let("begin", k * SORT_BLOCK, block), "round")
        return T.seq(T.allocate(self.order), T.allocate(self.owner), T.allocate(self.places), loop)

    def owned(self, begin: Expr, owner: Expr, body: OwnedPoints) -> Stmt:
        """``body`` for one owner's points among those that have been sorted, the first of which is ``begin``."""
        last = self.owners - 1
        # each place has moved to where the next begins
        before = T.load(self.places, last, T.maximum(owner - 1, T.const(0)))
        first = T.select(owner > 0, before, T.const(0))

        def point(j: Expr) -> Expr:
            return begin + T.int64(T.load(self.order, j))

        return T.let("end", T.load(self.places, last, owner), lambda end: body(point, first, end))

    def sort(self, begin: Expr) -> Stmt:
        """Fill ``order`` from ``begin`` on: the points of the first owner in their order, then the second's, and so on."""
        return T.seq(
            T.parallel(self.owners, lambda share: self.count(begin, share), "share"),
            self.sums(),
            T.parallel(self.owners, lambda share: self.share(begin, share, lambda k: self.put(share, k)), "share"),
        )

    def count(self, begin: Expr, share: Expr) -> Stmt:
        """Count one thread's share of the points by owner, and check their indices."""
        flag = Flag(self.scatter.nest.check)
        clear = T.for_(self.owners, lambda o: T.store(self.places, [share, o], T.const(0)), "o")
        return T.seq(clear, flag.around(self.share(begin, share, lambda k: self.meet(begin, share, k, flag))))

    def sums(self) -> Stmt:
        """Make places of the counts: each is the sum of all before it."""
        running, zero = T.buffer("running", [1], "int64", align=8), T.const(0)

        def place(o: Expr, share: Expr) -> Stmt:
            total = T.load(running, zero)

            def move(n: Expr) -> Stmt:
                return T.seq(T.store(self.places, [share, o], total), T.store(running, [zero], total + n))

            return T.let("n", T.load(self.places, share, o), move)

        loops = T.for_(self.owners, lambda o: T.for_(self.owners, lambda share: place(o, share), "share"), "o")
        return T.seq(T.allocate(running), T.store(running, [zero], zero), loops)

    def share(self, begin: Expr, share: Expr, point: Callable[[Expr], Stmt]) -> Stmt:
        """One thread's share of the points."""
        count = T.minimum(self.scatter.ctx.sizes(self.scatter.points) - begin, T.const(SORT_BLOCK))
        first, last = T.quotient(count * share, self.owners), T.quotient(count * (share + 1), self.owners)
        return T.for_range(first, last, point, "k")

    def meet(self, begin: Expr, share: Expr, k: Expr, flag: Flag) -> Stmt:
        """Note a point's owner, and count it."""
        s = self.scatter
        row, ok = s.target(begin + k)
        taken = T.all_of([ok, s.valid(begin + k)])

        def note(r: Expr) -> Stmt:
            owner = T.quotient(r * self.owners, self.rows)
            owner = owner if taken is None else T.select(taken, owner, self.owners)
            return T.seq(T.store(self.owner, [k], T.cast("uint8", owner)), self.counted(share, k, lambda place: None))

        return T.seq(flag.test(s.grid(begin + k)), T.let("r", row, note))

    def put(self, share: Expr, k: Expr) -> Stmt:
        """Write a point to its place."""
        return self.counted(share, k, lambda place: T.store(self.order, [place], T.cast("int32", k)))

    def counted(self, share: Expr, k: Expr, body: Callable[[Expr], Stmt | None]) -> Stmt:
        """``body(place)`` of a point's owner, which then moves on by one; nothing for a point that is dropped."""

        def at(owner: Expr) -> Stmt:
            place = T.load(self.places, share, owner)
            return T.if_(owner < self.owners, T.seq(body(place), T.store(self.places, [share, owner], place + 1)))

        return T.let("to", T.int64(T.load(self.owner, k)), at)
