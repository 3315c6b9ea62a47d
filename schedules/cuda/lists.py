"""The points of each slice of a scatter's output, in row-major order, as lists of their numbers.

1. The points of each slice are counted, by an atomic for those of a warp that meet, which tells each a place in its list.  Only
   here are indices read: what the other kernels go by does not change while they run, whatever indices do.
2. Slices get places for their lists.  A block adds up the counts of as many slices as it has threads and takes these places by
   one atomic: where a list lies depends on the order of blocks, what it holds does not.
3. Each point puts its number into its list, in whatever order.
4. Each point looks how many numbers of its list are smaller, and so where it belongs.
5. Lists that are too long for that are made by a block each, which looks at all points in order.  Long are those of which a point
   would look at more numbers than a thread of that block.

Bytes of memory, with numbers of 4 bytes: for each point its index, an atomic, 20 of what is known of it, and 12
of lists; for each slice 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, dim_min, product
from gscompile.ir.index_map import Place
from gscompile.ir.ops.scattering import ScatterNest
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.ir.types import DTYPES
from gscompile.schedules.cuda.choices import UNDERWAY
from gscompile.schedules.cuda.fills import filled
from gscompile.schedules.cuda.groups import WARP
from gscompile.schedules.cuda.launch import MOST_NARROW, coordinates, over
from gscompile.schedules.cuda.matched import by_warps, cells_ahead
from gscompile.schedules.cuda.numbers import LIST_POINTS, LIST_THREADS, LONG_LIST, RANKED_LIST, SLICES_PER_POINT
from gscompile.schedules.cuda.owners import known_by_cell, number_of, slices, telling_axes
from gscompile.schedules.cuda.points import Placed, Point, extents, point_at, slice_axes
from gscompile.schedules.loops import ravel, storage
from gscompile.schedules.rule import Context

if TYPE_CHECKING:
    from typing_extensions import Self

ZERO = T.const(0)


@dataclass(frozen=True, slots=True)
class Lists:
    """The points of each slice, in order.

    Attributes:
        counts: how many points each slice has; then how many places are taken, and how many slices have long lists.
        long: these slices.
        places: where the list of each slice begins.
        hit, within: the slice that each point hits, negative for none, and its place in the list before that is in order.
        unordered, ordered: all lists.
    """

    nest: ScatterNest
    ctx: Context
    counts: Buffer
    places: Buffer
    long: Buffer
    hit: Buffer
    within: Buffer
    unordered: Buffer
    ordered: Buffer

    @classmethod
    def of(cls, nest: ScatterNest, ctx: Context) -> Self:
        points, cells = product(extents(nest, slice_axes(nest))), product(slices(nest))
        narrow = all(isinstance(count, int) and count <= MOST_NARROW for count in (points, cells))
        dtype = DTYPES["int32" if narrow else "int64"]
        cells = dim_min(cells, points * SLICES_PER_POINT)  # in other calls there are no lists
        sizes = {
            "counts": cells + 2,
            "places": cells,
            "long": LIST_THREADS,
            "hit": points,
            "within": points,
            "unordered": points,
            "ordered": points,
        }
        scratch = [ctx.workspace(f"{nest.name}_{name}", (size,), dtype) for name, size in sizes.items()]
        return cls(nest, ctx, *scratch)

    @property
    def dtype(self) -> str:
        """Of points' numbers."""
        return T.element_dtype(self.counts)

    def made(self) -> Stmt:
        """What makes them."""
        cleared = filled(self.ctx, self.counts, (product(slices(self.nest)) + 2,), self.number(0))
        sums = T.buffer("sums", [WARP], "int32", align=8, scope="shared")

        def make(t: Expr, cell: Expr, count: Expr, begin: Expr, _: Expr) -> Stmt:
            return T.if_(T.not_(self.is_ranked(T.cast(self.dtype, count))), self.long_list(cell, begin, t, sums))

        listed, ranked = self.each_ranked(self.put), self.each_ranked(self.rank)
        return T.seq(cleared, self.counted(), self.reserved(), listed, ranked, self.each_long(1, [sums], make))

    def number(self, k: int) -> Expr:
        return T.const(k, self.dtype)

    @property
    def cells(self) -> Expr:
        """How many slices there are."""
        return self.ctx.sizes(product(slices(self.nest)))

    def slice_number(self, cell: list[Expr]) -> Expr:
        """Of the slice that a cell is in."""
        at = storage([c for a, c in enumerate(cell) if a not in self.nest.covered])
        return ravel(at, slices(self.nest), self.ctx.sizes)

    def counted(self) -> Stmt:
        """Every point is counted, and its slice and place kept."""
        nest, ctx, axes, underway = self.nest, self.ctx, slice_axes(self.nest), self.ctx.choose(UNDERWAY)
        box = extents(nest, axes)
        count = ctx.sizes(product(box))

        def place(p: Point) -> Expr:
            return self.slice_number(p.cell)

        def lane(first: Expr, narrow: bool) -> Stmt:
            def use(points: list[Placed], cells: list[Expr]) -> Stmt:
                hit, within = known = [
                    T.buffer(name, [underway], self.dtype, align=8, scope="local") for name in ("hit", "within")
                ]

                def keep(k: int) -> Stmt:
                    kept = zip((self.hit, self.within), known, strict=True)
                    return T.seq(*(T.store(to, [first + WARP * k], T.load(x, T.const(k))) for to, x in kept))

                return T.seq(
                    *map(T.allocate, known),
                    *(T.store(hit, [T.const(k)], T.cast(self.dtype, x)) for k, x in enumerate(cells)),
                    *(p.test for p in points),
                    _counted(self.counts, hit, within),
                    *(T.if_(first + WARP * k < count, keep(k)) for k in range(underway)),
                )

            return cells_ahead(nest, ctx, axes, first, narrow, place, use)

        return by_warps(ctx, box, lane)

    def reserved(self) -> Stmt:
        """Every slice gets as many places as it has points."""
        sums = T.buffer("sums", [WARP], self.dtype, align=8, scope="shared")
        begin = T.buffer("begin", [1], self.dtype, align=8, scope="local")
        blocks = T.maximum(T.quotient(self.cells + (LIST_THREADS - 1), T.const(LIST_THREADS)), T.const(1))

        def thread(b: Expr) -> Stmt:
            def inner(t: Expr) -> Stmt:
                cell = b * LIST_THREADS + t
                count = T.if_then_else(cell < self.cells, T.load(self.counts, cell), self.number(0))

                def reserve(count: Expr) -> Stmt:
                    long = _put(T.address_of(self.counts, self.cells + 1), self.long, T.cast(self.dtype, cell))
                    return T.seq(
                        _reserved(T.address_of(self.counts, self.cells), sums, count, begin),
                        T.if_(cell < self.cells, T.store(self.places, [cell], T.load(begin, ZERO))),
                        T.if_(T.not_(self.is_short(count)), long),
                    )

                reserved = T.registers("count", [count], lambda x: reserve(*x))
                return T.seq(T.allocate(sums), T.allocate(begin), T.if_(self.ctx.guard, reserved))

            return T.thread_binding("threadIdx.x", LIST_THREADS, inner, "t")

        return T.thread_binding("blockIdx.x", blocks, thread, "b")

    def each_ranked(self, body: Callable[[Expr, Expr, Expr, Expr], Stmt]) -> Stmt:
        """A thread for each point that takes part and finds its place in its list itself.

        Args:
            body: (how many points its slice has, where its list begins, the point's position, its number) -> what it does.
        """
        nest, axes = self.nest, slice_axes(self.nest)

        def thread(at: list[Expr], i: Expr) -> Stmt:
            point, _ = point_at(nest, axes, at, i)

            def found(cell: Expr) -> Stmt:
                def one(count: Expr, begin: Expr) -> Stmt:
                    return body(count, T.int64(begin), i, number_of(nest, self.ctx, point, self.dtype))

                def of(count: Expr) -> Stmt:
                    begin = T.registers("begin", [T.load(self.places, cell)], lambda x: one(count, *x))
                    return T.if_(self.is_ranked(count), begin)

                counted = T.registers("count", [T.load(self.counts, cell)], lambda x: of(*x))
                return T.if_(cell >= 0, counted)

            return T.registers("cell", [T.int64(T.load(self.hit, i))], lambda x: found(*x))

        return over(self.ctx, extents(nest, axes), thread)

    def is_short(self, count: Expr) -> Expr:
        """Whether a thread for each cell folds a list of so many points; at most ``LIST_THREADS`` are longer."""
        return self.at_most(count, LONG_LIST)

    def is_ranked(self, count: Expr) -> Expr:
        """Whether each point of a list of so many finds its place in it."""
        return self.at_most(count, RANKED_LIST)

    def at_most(self, count: Expr, length: int) -> Expr:
        """Or of more, where there are more than so many for each of ``LIST_THREADS`` lists."""
        points = product(extents(self.nest, slice_axes(self.nest)))
        many = T.quotient(self.ctx.sizes(points) + (LIST_THREADS - 1), T.const(LIST_THREADS))
        return count <= T.cast(self.dtype, T.maximum(many, T.const(length)))

    def put(self, _: Expr, begin: Expr, i: Expr, number: Expr) -> Stmt:
        """A point puts its number into its list."""
        return T.store(self.unordered, [begin + T.int64(T.load(self.within, i))], number)

    def rank(self, count: Expr, begin: Expr, _: Expr, number: Expr) -> Stmt:
        """A point finds its place in its list."""
        rank = T.buffer("rank", [1], self.dtype, align=8, scope="local")

        def look(k: Expr, numbers: int) -> Stmt:
            found = [T.load(self.unordered, begin + (k + q)) < number for q in range(numbers)]
            smaller = sum((T.cast(self.dtype, x) for x in found), T.load(rank, ZERO))
            return T.store(rank, [ZERO], smaller)

        fours = T.quotient(T.int64(count), T.const(4))
        return T.seq(
            T.allocate(rank),
            T.store(rank, [ZERO], self.number(0)),
            T.for_(fours, lambda k: look(k * 4, 4), "k"),
            T.for_(T.int64(count) - fours * 4, lambda k: look(fours * 4 + k, 1), "k"),
            T.store(self.ordered, [begin + T.int64(T.load(rank, ZERO))], number),
        )

    def each_long(self, parts: Dim, shared: Sequence[Buffer], body: Callable[..., Stmt]) -> Stmt:
        """A kernel with a block for each part of a slice with a long list.

        Args:
            parts: of each slice.
            shared: memory that its threads share.
            body: (thread, slice's number, its count, where its list begins, the part's number) -> what the thread does.
        """
        grid, parts_ = self.ctx.target.multiprocessors, self.ctx.sizes(parts)

        def some(b: Expr, t: Expr, tasks: Expr) -> Stmt:
            def one(k: Expr) -> Stmt:
                task = b + k * grid

                def of(cell: Expr) -> Stmt:
                    count = T.load(self.counts, cell)
                    known = [T.int64(x) for x in (count, T.load(self.places, cell))]
                    return T.registers("list", known, lambda x: body(t, cell, *x, T.floormod(task, parts_)))

                return T.registers("cell", [T.int64(T.load(self.long, T.floordiv(task, parts_)))], lambda x: of(*x))

            return T.for_(T.quotient(T.maximum(tasks - b, ZERO) + (grid - 1), T.const(grid)), one, "k")

        def thread(b: Expr) -> Stmt:
            def inner(t: Expr) -> Stmt:
                tasks = T.int64(T.load(self.counts, self.cells + 1)) * parts_
                walk = T.registers("tasks", [tasks], lambda x: some(b, t, *x))
                return T.seq(*map(T.allocate, shared), T.if_(self.ctx.guard, walk))

            return T.thread_binding("threadIdx.x", LIST_THREADS, inner, "t")

        return T.thread_binding("blockIdx.x", grid, thread, "b")

    def long_list(self, cell: Expr, begin: Expr, t: Expr, sums: Buffer) -> Stmt:
        """A block looks at all points for those of a slice."""
        nest, known = self.nest, known_by_cell(self.nest)
        upto = T.buffer("upto", [1], self.dtype, align=8, scope="local")
        chosen = T.buffer("chosen", [1], "uint32", align=8, scope="local")
        box = extents(nest, telling_axes(nest))
        axes: list[Place] = [*telling_axes(nest), *known]
        points = slice_axes(nest)
        count, whole = self.ctx.sizes(product(box)), self.coordinates(cell)

        def some(i: Expr) -> Expr:
            at = [*coordinates(self.ctx, i, box), *(whole[a] for a in known.values())]
            own = dict(zip(axes, at, strict=True))
            place = ravel([own[a] for a in points], extents(nest, points), self.ctx.sizes)
            return T.int64(T.load(self.hit, place)) == cell

        def several(first: Expr) -> Stmt:
            def one(q: Expr) -> Stmt:
                # one that is there is read in any case, so that no read waits for another
                here = T.all_of([first + q < count, some(T.minimum(first + q, count - 1))])
                bit = T.cast("uint32", here) << T.cast("uint32", q)
                return T.store(chosen, [ZERO], T.load(chosen, ZERO) + bit)

            append = _appended(T.address_of(self.ordered, begin), upto, sums, T.cast(self.dtype, first), chosen)
            return T.seq(T.store(chosen, [ZERO], T.const(0, "uint32")), T.for_(LIST_POINTS, one, "q"), append)

        def step(s: Expr) -> Stmt:
            return T.registers("first", [(s * LIST_THREADS + t) * LIST_POINTS], lambda x: several(*x))

        each = LIST_THREADS * LIST_POINTS
        steps = T.quotient(count + (each - 1), T.const(each))
        start = T.store(upto, [ZERO], self.number(0))
        return T.seq(T.allocate(upto), T.allocate(chosen), start, T.for_(steps, step, "s"))

    def coordinates(self, number: Expr) -> list[Expr]:
        """Of a slice's first cell."""
        nest = self.nest
        at = iter(coordinates(self.ctx, number, slices(nest)))
        return [ZERO if a in nest.covered else next(at) for a in range(len(nest.shape))]


# dtype of numbers -> C's name of it, and of what atomics take it as
_C = {"int32": ("int", "unsigned int"), "int64": ("int64_t", "unsigned long long")}


def _upto(name: str, c: str) -> str:
    """A device function: the sum of a warp's numbers up to a lane's own."""
    return (
        f"__device__ __forceinline__ {c} {name}_upto({c} x) {{\n"
        f"  for (int step = 1; step < 32; step *= 2) {{\n"
        f"    {c} other = __shfl_up_sync(0xffffffffu, x, step);\n"
        f"    if (threadIdx.x % 32 >= step) x += other;\n"
        f"  }}\n"
        f"  return x;\n}}\n"
    )


def _reserved(taken: Expr, sums: Buffer, count: Expr, begin: Buffer) -> Stmt:
    """Each thread of a block gets so many places of an array, in the order of threads: where they begin, in a register.

    Args:
        taken: the address of the number of places that are taken.
        sums: shared memory, a number for each warp.
    """
    (c, word), name = _C[T.element_dtype(sums)], f"gs_reserved_{T.element_dtype(sums)}"
    source = (
        f"{_upto(name, c)}"
        f"__device__ __forceinline__ void {name}({c}* taken, {c}* sums, {c} count, {c}* begin) {{\n"
        f"  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
        f"  {c} upto = {name}_upto(count);\n"
        f"  if (lane == 31) sums[warp] = upto;\n"
        f"  __syncthreads();\n"
        f"  if (warp == 0) {{\n"
        f"    {c} own = sums[lane], all = {name}_upto(own), first = 0;\n"
        f"    if (lane == 31) first = ({c})atomicAdd(({word}*)taken, ({word})all);\n"
        f"    sums[lane] = __shfl_sync(0xffffffffu, first, 31) + all - own;\n"
        f"  }}\n"
        f"  __syncthreads();\n"
        f"  *begin = sums[warp] + upto - count;\n}}\n"
    )
    addresses = [T.address_of(b, ZERO) for b in (sums, begin)]
    return T.evaluate(T.device_call(name, taken, addresses[0], count, addresses[1], source=source))


def _put(end: Expr, lists: Buffer, number: Expr) -> Stmt:
    """Put a number where a list ends, whose address is given."""
    (c, word), name = _C[T.element_dtype(lists)], f"gs_put_{T.element_dtype(lists)}"
    source = (
        f"__device__ __forceinline__ void {name}({c}* end, {c}* lists, {c} number) {{\n"
        f"  lists[atomicAdd(({word}*)end, ({word})1)] = number;\n}}\n"
    )
    return T.evaluate(T.device_call(name, end, T.address_of(lists, ZERO), number, source=source))


def _counted(counts: Buffer, hit: Buffer, within: Buffer) -> Stmt:
    """The lanes of a warp add 1 for each of their points, an atomic for those that meet.

    All 32 lanes must be there.

    Args:
        hit: registers with the places in ``counts`` where points are added, negative for none.
        within: registers that get what stood there before, as if the points had been added one after the other.
    """
    points = T.constant_value(T.extents(hit)[0])
    (c, word), name = _C[T.element_dtype(counts)], f"gs_counted_{T.element_dtype(counts)}_{points}"
    source = (
        f"__device__ __forceinline__ void {name}({c}* counts, {c}* hit, {c}* within) {{\n"
        f"  const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;\n"
        f"  unsigned int same[{points}];\n"
        f"  for (int k = 0; k < {points}; ++k) {{\n"
        f"    same[k] = __match_any_sync(all, (unsigned long long)hit[k]);\n"
        f"    within[k] = 0;\n"
        f"    if (hit[k] >= 0 && (same[k] & ((1u << lane) - 1)) == 0)\n"
        f"      within[k] = ({c})atomicAdd(({word}*)(counts + hit[k]), ({word})__popc(same[k]));\n"
        f"  }}\n"
        f"  for (int k = 0; k < {points}; ++k)\n"
        f"    within[k] = __shfl_sync(all, within[k], __ffs(same[k]) - 1) + __popc(same[k] & ((1u << lane) - 1));\n}}\n"
    )
    addresses = [T.address_of(b, ZERO) for b in (counts, hit, within)]
    return T.evaluate(T.device_call(name, *addresses, source=source))


def _appended(begin: Expr, upto: Buffer, sums: Buffer, first: Expr, chosen: Buffer) -> Stmt:
    """The threads of a block put numbers into a list, in order.

    Args:
        upto: a register with the list's length.
        sums: shared memory, an int32 for each warp.
        first, chosen: a thread's first number, and a register that says which of the 32 numbers from there on it puts.
    """
    (c, _), name = _C[T.element_dtype(upto)], f"gs_appended_{T.element_dtype(upto)}"
    source = (
        f"{_upto(name, 'int')}"
        f"__device__ __forceinline__ void {name}({c}* begin, {c}* upto, int* sums, {c} first, unsigned int* chosen) {{\n"
        f"  const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
        f"  int place = {name}_upto(__popc(*chosen)) - __popc(*chosen);\n"
        f"  if (lane == 31) sums[warp] = place + __popc(*chosen);\n"
        f"  __syncthreads();\n"
        f"  int own = sums[lane], others = {name}_upto(own);\n"
        f"  place += __shfl_sync(0xffffffffu, others - own, warp);\n"
        f"  for (unsigned int left = *chosen; left; left &= left - 1) begin[*upto + place++] = first + (__ffs(left) - 1);\n"
        f"  *upto += __shfl_sync(0xffffffffu, others, 31);\n"
        f"  __syncthreads();\n}}\n"
    )
    addresses = [T.address_of(b, ZERO) for b in (upto, sums, chosen)]
    return T.evaluate(T.device_call(name, begin, *addresses[:2], first, addresses[2], source=source))
