"""Scatters of rows among threads: the points sorted by the thread that owns their row.

Where every thread scans all indices for its own points, the index scan costs each as much as it costs one, and outweighs the rows
where these are short, or the threads many.  Here each thread resolves a share of the points, and writes row and position of each
to a list for the row's owner, at the end of those of the same share; then each owner takes the lists for it, share by share, so
that the order of the points is kept.  :data:`SORT_BLOCK` points are sorted at a time, so that the lists stay in a cache.

Every index is read once, so nothing depends on whether the indices change meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.llvm.check import Flag
from gscompile.schedules.llvm.numbers import MAX_OWNERS, SORT_BLOCK
from gscompile.schedules.llvm.staged import RowScatter, with_position

FRACTION = 32
"""Bits behind the point of :attr:`Partition.scale`."""

ListedPoint: TypeAlias = Callable[[str, Expr, Callable[[Expr, Expr], Stmt]], Stmt]
"""(name, place in an owner's list, what to do with the point and its row) -> a statement."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Some threads that own a range of rows each.

    Attributes:
        owners: how many they are.
        rows: how many rows there are.
        scale: owners for each row, a fixed-point number, by which a row's owner is found without a division.
        room: for points on a list: a whole share.
        lists: by share and owner: row and position of each point.
        lengths: of the lists.
    """

    scatter: RowScatter
    owners: Expr
    rows: Expr
    scale: Expr
    room: Expr
    lists: Buffer
    lengths: Buffer

    @staticmethod
    def around(s: RowScatter, body: Callable[[Partition], Stmt]) -> Stmt:
        """``body`` of the partition among all threads."""

        rows, most = s.ctx.sizes(s.rows), T.minimum(s.ctx.threads, T.const(MAX_OWNERS))

        def parts(known: list[Expr]) -> Stmt:
            owners, scale, room = known
            # of no names that are bound here: TVM's default pipeline would use them before that
            lists = T.buffer("lists", [most * (most + SORT_BLOCK)], "int64", align=64)
            lengths = T.buffer("lengths", [MAX_OWNERS, MAX_OWNERS], "int64", align=64)
            found = Partition(s, owners, rows, scale, room, lists, lengths)
            return T.seq(T.allocate(lists), T.allocate(lengths), body(found))

        scale = T.maximum(T.quotient(most << FRACTION, T.maximum(rows, T.const(1))), T.const(1))
        room = T.quotient(most + (SORT_BLOCK - 1), most)
        return T.kept(("owners", "scale", "room"), [most, scale, room], parts)

    def each_owner(self, body: Callable[[Expr, Expr], Stmt]) -> Stmt:
        """``body(lo, hi)`` for the rows of each owner."""

        def first(owner: Expr) -> Expr:
            least = T.quotient((owner << FRACTION) + (self.scale - 1), self.scale)
            return T.select(owner < self.owners, T.minimum(least, self.rows), self.rows)

        return T.parallel(self.owners, lambda o: body(first(o), first(o + 1)), "owner")

    def owner(self, row: Expr) -> Expr:
        """Whose a row is; at most the last one's where there are more rows than the scale can tell."""
        return T.minimum((row * self.scale) >> FRACTION, self.owners - 1)

    def each_point(self, body: Callable[[ListedPoint, Expr], Stmt]) -> Stmt:
        """``body(point, count)`` for each list of each owner, in the order of the points."""

        def block(begin: Expr) -> Stmt:
            sort = T.parallel(self.owners, lambda share: self.sort(begin, share), "share")
            return T.seq(sort, T.parallel(self.owners, lambda o: self.owned(begin, o, body), "owner"))

        points = self.scatter.ctx.sizes(self.scatter.points)
        rounds = T.floordiv(points + (SORT_BLOCK - 1), T.const(SORT_BLOCK))
        return T.for_(rounds, lambda k: T.let("begin", k * SORT_BLOCK, block), "round")

    def owned(self, begin: Expr, owner: Expr, body: Callable[[ListedPoint, Expr], Stmt]) -> Stmt:
        """``body`` for the lists of one owner."""

        def of(share: Expr) -> Stmt:
            def point(name: str, j: Expr, use: Callable[[Expr, Expr], Stmt]) -> Stmt:
                return with_position(name, T.load(self.lists, self.list(share, owner) + j), begin, SORT_BLOCK, use)

            return T.let("count", T.load(self.lengths, share, owner), lambda count: body(point, count))

        return T.for_(self.owners, of, "share")

    def list(self, share: Expr, owner: Expr) -> Expr:
        """Where a share's list for an owner begins."""
        return (share * self.owners + owner) * self.room

    def sort(self, begin: Expr, share: Expr) -> Stmt:
        """Put a share of the points on the lists of their owners, and check their indices."""
        s = self.scatter
        flag = Flag(s.nest.check)
        count = T.minimum(s.ctx.sizes(s.points) - begin, T.const(SORT_BLOCK))
        first, last = T.quotient(count * share, self.owners), T.quotient(count * (share + 1), self.owners)
        clear = T.for_(self.owners, lambda o: T.store(self.lengths, [share, o], T.const(0)), "o")
        loop = T.for_range(first, last, lambda k: self.put(begin, share, k, flag), "k")
        return T.seq(clear, flag.around(loop))

    def put(self, begin: Expr, share: Expr, k: Expr, flag: Flag) -> Stmt:
        """Put a point on its owner's list; one that is dropped is overwritten by the next."""
        s = self.scatter
        row, ok = s.target(begin + k)

        def listed(r: Expr, taken: Expr, owner: Expr) -> Stmt:
            length = T.load(self.lengths, share, owner)
            return T.seq(
                T.store(self.lists, [self.list(share, owner) + length], r * SORT_BLOCK + k),
                T.store(self.lengths, [share, owner], length + T.cast("int64", taken)),
            )

        def owned(r: Expr) -> Stmt:
            taken = T.all_of([ok, s.valid(begin + k), T.const(0) <= r, r < self.rows])
            return T.let("to", T.select(taken, self.owner(r), T.const(0)), lambda to: listed(r, taken, to))

        return T.seq(flag.test(s.grid(begin + k)), T.let("r", row, owned))
