"""Scatters of rows among many threads: the points sorted by the thread that owns their row.

Where every thread goes through all indices to find its own points, looking costs each as much as it costs one, and outweighs
the rows when there are many threads.  Here each thread counts whose the points of its share are, the counts become places,
and each point's number is written to its place: a counting sort that keeps the order of the points.  Each owner then goes through
its own only.  That is done for so many points at a time that their list takes no memory to speak of.
"""

from __future__ import annotations

from collections.abc import Callable

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, Stmt
from schedules.llvm.check import Flag
from schedules.llvm.costs import MOST_OWNERS, SORTED
from schedules.llvm.staged import RowScatter

Points = Callable[[Callable[[Expr], Expr], Expr, Expr], Stmt]
"""(which point stands at a place of the list, first place, last place) -> what is done to an owner's points."""


class Partition:
    """``owners`` threads own a range of rows each."""

    def __init__(self, s: RowScatter) -> None:
        self.s = s
        self.order = T.buffer(
            "order", [SORTED], "int32", align=64
        )  # points, counted from the first of those being sorted
        self.places = T.buffer("places", [MOST_OWNERS, MOST_OWNERS], "int64", align=64)  # by share and owner
        self.owners = T.minimum(s.ctx.threads, T.const(MOST_OWNERS))
        self.rows, self.points = T.maximum(s.ctx.sizes(s.rows), T.const(1)), s.ctx.sizes(s.points)

    def each_owner(self, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """``body(lo, hi)`` for the rows of each owner: those of which ``r * owners // rows`` is its number."""

        def first(owner: Expr) -> Expr:
            return T.quotient(owner * self.rows + self.owners - 1, self.owners)

        return T.parallel(self.owners, lambda o: body(first(o), first(o + 1)), "owner")

    def each_point(self, body: Points) -> Stmt:
        """``body`` for the points of each owner, in their order."""
        last = self.owners - 1

        def some(k: Expr) -> Stmt:
            return T.let(
                "begin", k * SORTED, lambda begin: T.seq(self.sort(begin), T.parallel(self.owners, own(begin), "owner"))
            )

        def own(begin: Expr) -> Callable[[Expr], Stmt]:
            def points(o: Expr) -> Stmt:
                # each place has moved to where the next begins
                before = T.load(self.places, last, T.maximum(o - 1, T.const(0)))
                first, end = T.select(o > 0, before, T.const(0)), T.load(self.places, last, o)
                at: Callable[[Expr], Expr] = lambda j: begin + T.int64(T.load(self.order, j))  # noqa: E731
                return T.let("end", end, lambda end: body(at, first, end))

            return points

        rounds = T.floordiv(self.points + (SORTED - 1), T.const(SORTED))
        return T.seq(T.allocate(self.order), T.allocate(self.places), T.for_(rounds, some, "round"))

    def sort(self, begin: Expr) -> Stmt:
        """Fill ``order`` from ``begin`` on: the points of the first owner in their order, then the second's, and so on."""
        places, owners = self.places, self.owners
        running = T.buffer("running", [1], "int64", align=8)
        zero = [T.const(0)]

        def count(share: Expr) -> Stmt:
            flag = Flag(self.s.nest.check)
            clear = T.for_(owners, lambda o: T.store(places, [share, o], T.const(0)), "o")
            return T.seq(clear, flag.around(self.share(begin, share, flag, None)))

        def place(o: Expr, share: Expr) -> Stmt:
            total = T.load(running, *zero)

            def move(n: Expr) -> Stmt:
                return T.seq(T.store(places, [share, o], total), T.store(running, zero, total + n))

            return T.let("n", T.load(places, share, o), move)

        sums = T.for_(owners, lambda o: T.for_(owners, lambda share: place(o, share), "share"), "o")
        return T.seq(
            T.parallel(owners, count, "share"),
            T.allocate(running),
            T.store(running, zero, T.const(0)),
            sums,
            T.parallel(owners, lambda share: self.share(begin, share, Flag(None), self.order), "share"),
        )

    def share(self, begin: Expr, share: Expr, flag: Flag, order: Buffer | None) -> Stmt:
        """Count one thread's share of the points by owner, or write them to their places in ``order``."""
        s, places = self.s, self.places
        count = T.minimum(self.points - begin, T.const(SORTED))

        def point(k: Expr) -> Stmt:
            row, ok = s.target(begin + k)

            def put(r: Expr) -> Stmt:
                def at(o: Expr) -> Stmt:
                    place = T.load(places, share, o)
                    write = None if order is None else T.store(order, [place], T.cast("int32", k))
                    return T.seq(write, T.store(places, [share, o], place + 1))

                taken = T.all_of([ok, s.valid(begin + k)])
                return T.if_(taken, T.let("owner", T.quotient(r * self.owners, self.rows), at))

            return T.seq(flag.look(s.grid(begin + k)) if order is None else None, T.let("r", row, put))

        first, last = T.quotient(count * share, self.owners), T.quotient(count * (share + 1), self.owners)
        return T.for_range(first, last, point, "k")
