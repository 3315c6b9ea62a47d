"""Index checks on cuda: no assertion that would kill the context, just a record that the host reads after the call.

The thread that reads an index tests it, and reports one that is out of range; a kernel that does so needs no check before it.
Where nothing in the call has to ask what was found, it says that in the record that outlives the call, at once: :func:`found`.

Else the status begins as zeros, for which the caller sees: a position is kept as what it lacks to ``NOWHERE``, so that the
smallest one is the largest number.  A last kernel of one thread says what stands there: :func:`named`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gscompile.ir import status
from gscompile.ir import tir as T
from gscompile.ir.nests import CheckNest, Nest, Record, status_failed
from gscompile.ir.tir import Buffer, Expr, Stmt
from gscompile.schedules.cuda.atomics import atomic
from gscompile.schedules.cuda.launch import over
from gscompile.schedules.loops import ravel, unravel
from gscompile.schedules.rule import Checked, Context


def valid(check: CheckNest, grid: list[Expr]) -> Expr | None:
    """Whether the index vector at a grid position is in range; None if it always is."""
    return T.all_of(check.valid(grid, k) for k in range(check.components))


def test(check: CheckNest | None, grid: list[Expr], ctx: Context, together: bool = False) -> Stmt | None:
    """Report the index vector at a grid position if it is out of range: two comparisons, on an index that is read anyway.

    Args:
        together: with one branch for all components as a rule.  Measured on an H200: points of two components 147 us instead of
            160, but slices by three, whose rows are copied, 69 instead of 64.
    """
    if check is None:
        return None
    at, steps = T.const(status.position(check.slot)), []
    for k in range(check.components):
        place = check.position(grid, k)
        flat = T.hidden(ravel(place, check.index, ctx.sizes))
        report = T.seq(
            atomic("max", check.status, [at], T.const(status.NOWHERE) - flat),
            atomic("max", check.status, [T.const(status.FAILED)], T.const(1)),
        )
        if check.record is not None:
            report = found(check.record, check.slot, flat, check.value(place))
        steps.append(T.if_(T.not_(check.valid(grid, k)), report))
    if not together or len(steps) == 1:
        return T.seq(*steps)
    return T.if_(T.not_(T.all_of(check.valid(grid, k) for k in range(check.components))), T.seq(*steps))


FOUND = "gs_found"
"""What the name of the device function begins with that says which index is out of range; the numbers of the check, of all checks
and of sizes follow."""

LOCKED = 1 << 62
"""What a thread adds to a record's first number while it changes the others."""


def found(record: Record, slot: int, position: Expr, value: Expr) -> Stmt:
    """Say in a record that a check has found something, unless it says that of an earlier call, or of an earlier position."""
    name, at = f"{FOUND}_{slot}_{record.checks}_{len(record.sizes)}", status.position(slot)
    sizes = "".join(f", long long s{k}" for k in range(len(record.sizes)))
    first = [f"r[{status.position(k)}] = {status.NOWHERE}ll; r[{status.value(k)}] = 0;" for k in range(record.checks)]
    first += [f"r[{status.length(record.checks) + k}] = s{k};" for k in range(len(record.sizes))]
    source = (
        f"__device__ __forceinline__ void {name}(int64_t* kept, long long at, long long value, long long call{sizes}) {{\n"
        f"  unsigned long long* state = (unsigned long long*)kept;\n"
        f"  volatile int64_t* r = kept;\n"
        f"  const unsigned long long locked = {LOCKED}ull, mine = call;\n"
        f"  for (;;) {{\n"
        f"    unsigned long long seen = *(volatile unsigned long long*)state;\n"
        f"    if ((seen & ~locked) != 0 && (seen & ~locked) != mine) return;\n"
        f"    if (seen == mine && r[{at}] <= at) return;\n"
        f"    if ((seen & locked) || atomicCAS(state, seen, mine | locked) != seen) continue;\n"
        f"    __threadfence();\n"
        f"    if (seen == 0) {{ {' '.join(first)} }}\n"
        f"    if (at < r[{at}]) {{ r[{at}] = at; r[{at + 1}] = value; }}\n"
        f"    __threadfence();\n"
        f"    atomicExch(state, mine);\n"
        f"    return;\n"
        f"  }}\n"
        f"}}\n"
    )
    address = T.address_of(record.kept, T.const(status.FAILED))
    return T.evaluate(T.device_call(name, address, position, value, record.call, *record.sizes, source=source))


def plainly_found(name: str, kept: Buffer, at: Expr, value: Expr, call: Expr, *sizes: Expr) -> Stmt:
    """What that device function does where no other thread runs."""
    slot, checks, _ = map(int, name.removeprefix(f"{FOUND}_").split("_"))

    def put(k: int, x: Expr) -> Stmt:
        return T.store(kept, [T.const(k)], x)

    places = [put(status.position(k), T.const(status.NOWHERE)) for k in range(checks)]
    values = [put(status.value(k), T.const(0)) for k in range(checks)]
    others = [put(status.length(checks) + k, size) for k, size in enumerate(sizes)]
    state = T.load(kept, T.const(status.FAILED))
    position = status.position(slot)
    sooner = T.all_of([state == call, at < T.load(kept, T.const(position))])
    return T.seq(
        T.if_(state == 0, T.seq(*places, *values, *others, put(status.FAILED, call))),
        T.if_(sooner, T.seq(put(position, at), put(position + 1, value))),
    )


def if_valid(check: CheckNest | None, grid: list[Expr], ctx: Context, stmt: Stmt) -> Stmt:
    """A statement where the index vector at a grid position is in range, and otherwise a report."""
    if check is None:
        return stmt
    ok = valid(check, grid)
    return stmt if ok is None else T.if_(ok, stmt, test(check, grid, ctx))


def checked(nest: Nest, stmt: Stmt) -> Stmt | Checked:
    """What a rule returns whose kernels test the nest's indices, if it has any to test."""
    return stmt if nest.check is None else Checked(stmt)


def guarded(ctx: Context, nest: Nest) -> Context:
    """The context of the kernels of a nest that tests its own indices.

    No thread may be kept from its test by what another has just found: only the checks before this one count.  Where the nest
    works in place its own has been, and has to have found nothing.
    """
    check = nest.check
    if check is None or check.record is not None:
        return ctx
    conditions = [_nothing(check, s) for s in range(check.slot)]
    if nest.in_place is not None:
        conditions.append(T.any_of([T.not_(nest.in_place), _nothing(check, check.slot)]))
    return replace(ctx, guard=T.all_of(conditions))


def _nothing(check: CheckNest, slot: int) -> Expr:
    """That a check has found nothing so far."""
    return T.load(check.status, T.const(status.position(slot))) == 0


def named(checks: Sequence[CheckNest], ctx: Context, kept: Buffer | None) -> Stmt:
    """Make the record say what it says on a CPU, for a kernel of one thread: positions as such, and what stands there.

    Args:
        kept: a record that outlives the call; with fewer than 0 threads, and if it says nothing, it receives what this one says,
            and the symbolic sizes, and this one is zeros again for the next call.
    """

    def name(check: CheckNest) -> Stmt:
        record, at, value = check.status, T.const(status.position(check.slot)), T.const(status.value(check.slot))

        def read(p: Expr) -> Stmt:
            number = check.value(unravel(p, check.index, ctx.sizes))
            return T.seq(T.store(record, [value], number), T.store(record, [at], p))

        kept = T.load(record, at)
        found = T.let("p", T.const(status.NOWHERE) - kept, read)
        return T.if_(kept != 0, found, T.store(record, [at], T.const(status.NOWHERE)))

    says = T.seq(*map(name, checks))
    if kept is None:
        return says
    record, sizes = checks[0].status, ctx.sizes.variables.values()
    first = status.length(len(checks))
    stores = [T.store(record, [T.const(first + k)], size) for k, size in enumerate(sizes)]
    keep = T.if_(ctx.threads < 0, T.seq(*stores, _keep(kept, record, first + len(stores))))
    clear = T.seq(*(T.store(record, [T.const(k)], T.const(0)) for k in range(first)))
    return T.seq(T.if_(status_failed(record), T.seq(says, keep)), T.if_(ctx.threads < 0, clear))


KEEP = "gs_keep"
"""What the name of the device function begins with that keeps a record; the record's length follows."""


def _keep(kept: Buffer, record: Buffer, length: int) -> Stmt:
    """Copy a record if the other one says nothing; of the calls on several streams one wins."""
    source = (
        f"__device__ __forceinline__ void {KEEP}{length}(int64_t* kept, int64_t* record) {{\n"
        f"  if (atomicCAS((unsigned long long*)kept, 0ull, 1ull) == 0)\n"
        f"    for (int k = 1; k < {length}; ++k) kept[k] = record[k];\n"
        f"}}\n"
    )
    zero = T.const(status.FAILED)
    return T.evaluate(
        T.device_call(f"{KEEP}{length}", T.address_of(kept, zero), T.address_of(record, zero), source=source)
    )


class Check:
    """A thread per index vector, in a kernel of its own: 8 bytes read per int64, before a scatter that works in place."""

    name = "check"

    def apply(self, nest: Nest, ctx: Context) -> Stmt | None:
        if not isinstance(nest, CheckNest):
            return None
        earlier = T.all_of(_nothing(nest, s) for s in range(nest.slot))
        return over(replace(ctx, guard=earlier), nest.grid, lambda g, _: T.seq(test(nest, g, ctx)))
