"""Threads that work together: a warp, or a block, for each of many tasks, and the trees in which they merge what they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gscompile.ir import tir as T
from gscompile.ir.dims import Shape, product
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.choices import BLOCK
from gscompile.schedules.cuda.launch import coordinates
from gscompile.schedules.folds import replaced
from gscompile.schedules.rule import Context

WARP = 32
ZERO = T.const(0)


@dataclass(frozen=True, slots=True)
class Group:
    """A warp or a block, as one of its threads sees it.

    Attributes:
        lane: the thread's number in it.
        lanes: its threads: 32, or a block's.
    """

    lane: Expr
    lanes: int


def groups(ctx: Context, tasks: Shape | Expr, lanes: int, body: Callable[[Group, list[Expr]], Stmt]) -> Stmt:
    """A kernel with a warp or a block for each position of a box, or for each number below one.

    All threads of a group run the body, or none: they may wait for each other.
    """
    shape = tasks if isinstance(tasks, tuple) else None
    count: Expr = tasks if shape is None else ctx.sizes(product(shape))
    block = ctx.choose(BLOCK) if lanes == WARP else lanes
    each = block // lanes
    blocks = T.maximum(T.quotient(count + (each - 1), T.const(each)), T.const(1))

    def thread(b: Expr) -> Stmt:
        def inner(t: Expr) -> Stmt:
            number = b * each + T.floordiv(t, T.const(lanes))
            at = [number] if shape is None else coordinates(ctx, number, shape)
            task = body(Group(T.floormod(t, T.const(lanes)), lanes), at)
            return T.if_(T.all_of([number < count, ctx.guard]), task)

        return T.thread_binding("threadIdx.x", block, inner, "t")

    return T.thread_binding("blockIdx.x", blocks, thread, "b")


Merge = Callable[[Sequence[Expr], Sequence[Expr]], list[Expr]]


def tree(acc: Sequence[Buffer], merge: Merge, group: Group) -> Stmt:
    """Merge the accumulators of a group's threads into those of its first, in an order that is always the same.

    Five shuffles in a warp; a block's warps leave theirs in shared memory, where the first finds them: 5 more.
    """
    warp = _shuffles(acc, merge, WARP)
    if group.lanes == WARP:
        return warp
    warps = group.lanes // WARP
    lane, number = T.floormod(group.lane, T.const(WARP)), T.floordiv(group.lane, T.const(WARP))
    shared = [T.buffer(f"warp{k}", [warps], T.element_dtype(a), align=8, scope="shared") for k, a in enumerate(acc)]
    leave = T.seq(*(T.store(s, [number], T.load(a, ZERO)) for s, a in zip(shared, acc, strict=True)))
    find = T.seq(
        *(T.store(a, [ZERO], T.load(s, T.floormod(lane, T.const(warps)))) for s, a in zip(shared, acc, strict=True))
    )
    first = T.if_(number == 0, T.seq(find, _shuffles(acc, merge, warps)))
    return T.seq(*map(T.allocate, shared), warp, T.if_(lane == 0, leave), T.synchronize_block(), first)


def _shuffles(acc: Sequence[Buffer], merge: Merge, lanes: int) -> Stmt:
    """Merge the accumulators of neighbours at half the lanes' distance, then at half of that, and so on.

    A loop: CUDA's compiler unrolls it, and TVM takes seconds to simplify merges of merges.
    """

    def step(k: Expr) -> Stmt:
        distance = T.const(lanes // 2, "int32") >> T.cast("int32", k)
        return T.lets(
            "other",
            [T.from_lane_below(T.load(a, ZERO), distance) for a in acc],
            lambda other: replaced(acc, ZERO, merge([T.load(a, ZERO) for a in acc], other)),
        )

    return T.for_(lanes.bit_length() - 1, step, "s")
