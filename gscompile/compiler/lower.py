"""From a graph to one PrimFunc.

``Builder -> Graph -> plan -> nests -> schedules -> PrimFunc``.  Every value knows how to give its element at coordinates: a
stored one loads it, an inlined one composes its operator's ``element`` with those of its arguments.

The function's parameters are raw addresses of C-contiguous storage, then sizes:

    inputs and constants..., outputs..., status, workspace, symbolic sizes..., threads, in_place

``status`` receives what index checks found (``gscompile.ir.nests.CheckNest``); ``workspace`` is scratch memory; bit k of
``in_place`` says that output k already holds the data it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gscompile.compiler.plan import Plan, plan
from gscompile.compiler.targets import Target
from gscompile.ir import tir as T
from gscompile.ir.bounds import When
from gscompile.ir.dims import Dim, Shape, ceildiv, dim_min, product
from gscompile.ir.graph import Graph, Value
from gscompile.ir.nests import (
    CheckNest,
    Lane,
    MapNest,
    Nest,
    ReduceNest,
    ScatterNest,
    status_failed,
    status_length,
    status_position,
    work_of,
)
from gscompile.ir.ops.base import Coords, Inline, Leaf, Sizes
from gscompile.ir.ops.elementwise import POINTWISE, cast, constant
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import Slice
from gscompile.ir.ops.reduce import ArgReduce, Reduce, SegmentReduce, full_coords
from gscompile.ir.ops.scatter import Scatter
from gscompile.ir.tir import Buffer, Expr, PrimFunc, Stmt
from gscompile.ir.types import DTYPES, DType, TensorType
from schedules import Checked, Context, Rule, schedule

WORKSPACE_ALIGN = 64


@dataclass(frozen=True, slots=True)
class Stats:
    """What a compiled graph does.

    Attributes:
        kernels: (name, rule) of the loop nests (llvm) or nests of kernels (cuda) that compute something.
        checks: how many index checks run before them.
        workspace_bytes: scratch memory of one call; an int, or an expression of symbolic sizes.
        min_bytes: the least that must move between memory and cores: every output written once, and of every input what its
            readers need, each byte once.
    """

    kernels: tuple[tuple[str, str], ...]
    checks: int
    workspace_bytes: Dim
    min_bytes: Dim


@dataclass(frozen=True, slots=True)
class Lowered:
    """A PrimFunc and what a caller must know of it.

    Attributes:
        symbols: the sizes that it takes, in its order.
        checks: the gather or scatter whose indices each slot of its status is about.
        in_place: output number -> the input whose memory it may take over.
        work: rough scalar instructions of a call.
    """

    func: PrimFunc
    graph: Graph
    symbols: tuple[str, ...]
    checks: tuple[Value, ...]
    in_place: Mapping[int, Value]
    stats: Stats
    work: Dim


@dataclass(slots=True)
class Workspace:
    """Hands out scratch buffers, one after the other in one allocation."""

    sizes: Sizes
    pointer: Any
    align: int = WORKSPACE_ALIGN
    used: Dim = 0
    declared: list[Stmt] = field(default_factory=list)

    def buffer(self, name: str, shape: Shape, dtype: DType) -> Buffer:
        buf = T.buffer(name, self.sizes.shape(shape), dtype.tir, align=self.align)
        self.declared.append(T.declare(buf, T.offset_pointer(self.pointer, self.sizes(self.used))))
        self.used = self.used + ceildiv(product(shape) * dtype.itemsize, self.align) * self.align
        return buf


@dataclass(frozen=True, slots=True)
class ValueElement:
    """A value's element, loaded or composed."""

    lowering: Lowering
    value: Value
    trace: list[tuple[Buffer, list[Expr]]] | None = None
    checked: When = When.BEFORE

    @property
    def type(self) -> TensorType:
        return self.value.type

    def __call__(self, *coords: Expr) -> Expr:
        buf = self.lowering.buffers.get(id(self.value))
        if buf is not None:
            at = list(coords) or [T.const(0)]
            if self.trace is not None:
                self.trace.append((buf, at))
            return T.load(buf, *at)
        return self.compute(coords)

    def compute(self, coords: Coords) -> Expr:
        """The element from the arguments, even where the value is being stored."""
        op = self.value.op
        assert isinstance(op, Inline), f"{self.value.name} is read before it is stored"
        if isinstance(op, Gather):
            op = replace(op, checked=self.checked)
        args = [ValueElement(self.lowering, a, self.trace) for a in self.value.args]
        return op.element(args, self.value.type, coords, self.lowering.sizes)


class Lowering:
    """The state of one lowering; see :func:`lower`."""

    def __init__(self, graph: Graph, target: Target, rules: Sequence[Rule], deterministic: bool) -> None:
        self.graph, self.target = graph, target
        self.rules = [*rules, *target.rules]
        self.plan: Plan = plan(graph)
        self.sizes = Sizes.of(graph.symbols)
        self.buffers: dict[int, Buffer] = {}
        self.params: list[Any] = []
        self.declared: list[Stmt] = []
        self.threads = T.var("threads")
        self.in_place = T.var("in_place")
        checks = len(self.plan.early) + len(self.plan.late)
        for v in [*graph.inputs, *graph.constants]:
            self.buffers[id(v)] = self.parameter(v.name, v.shape, v.dtype)
        self.outs = [self.parameter(f"out{k}_{v.name}", v.shape, v.dtype) for k, v in enumerate(graph.outputs)]
        self.status = self.parameter("status", (status_length(checks),), DTYPES["int64"])
        pointer = T.pointer("workspace", "uint8")
        self.params.append(pointer)
        self.workspace = Workspace(self.sizes, pointer)
        self.context = Context(
            target.facts,
            self.sizes,
            self.threads,
            T.not_(status_failed(self.status)) if checks else None,
            self.workspace.buffer,
            deterministic,
        )
        self.checks: list[Value] = []
        self.kernels: list[tuple[str, str]] = []
        self.work: Dim = 0
        self.body: list[Stmt] = []

    def parameter(self, name: str, shape: Shape, dtype: DType) -> Buffer:
        """An address parameter, seen as a buffer."""
        pointer = T.pointer(f"{name}_ptr", dtype.tir)
        align = self.target.address_alignment(dtype)
        buf = T.buffer(name, self.sizes.shape(shape) or (T.const(1),), dtype.tir, align=align)
        self.params.append(pointer)
        self.declared.append(T.declare(buf, pointer))
        return buf

    def element(self, value: Value) -> ValueElement:
        return ValueElement(self, value)

    # -- nests

    def emit(self, nest: Nest) -> None:
        """Schedule a nest and its check, and add them to the function."""
        rule, stmt = schedule(nest, self.context, self.rules)
        self.work += work_of(nest)
        check = None if isinstance(nest, CheckNest) else nest.check
        if isinstance(stmt, Checked):
            assert not isinstance(nest, CheckNest) and check is not None, (
                f"rule {rule} has taken over a check that {nest.name} does not have"
            )
            self.work += work_of(check)
            failed = status_failed(self.status)
            in_place = nest.in_place if isinstance(nest, ScatterNest) else None
            if first := [c for c in (in_place, self.idle(nest)) if c is not None]:
                self.body.append(T.if_(T.all_of([self.context.guard, T.any_of(first)]), self.scheduled(check)))
            stmt = T.seq(stmt.stmt, T.if_(failed, self.scheduled(replace(check, known=True))))
        elif check is not None:
            self.emit(check)
        if self.target.host_guards:
            stmt = T.if_(self.context.guard, stmt)
        self.body.append(stmt)
        if not isinstance(nest, CheckNest):
            self.kernels.append((nest.name, rule))

    def idle(self, nest: MapNest | ReduceNest | ScatterNest) -> Expr | None:
        """When a nest has nothing to compute, and so looks at no index, though there may be a bad one; None for never."""
        if isinstance(nest, ReduceNest):
            work = nest.elements
        else:
            work = product(nest.shape) * (product(nest.window) if isinstance(nest, ScatterNest) else 1)
        return None if isinstance(work, int) and work > 0 else self.sizes(work) == 0

    def scheduled(self, check: CheckNest) -> Stmt:
        """A check's statement, not yet part of the function."""
        _, stmt = schedule(check, self.context, self.rules)
        assert not isinstance(stmt, Checked)
        return stmt

    def check(self, value: Value) -> CheckNest:
        """The index check of a gather or scatter."""
        op = value.op
        assert isinstance(op, (Gather, Scatter))
        a, data, index = op.addressing, value.args[0], value.args[1]
        element = self.element(index)
        slot = len(self.checks)
        self.checks.append(value)
        return CheckNest(
            f"{value.name}_check",
            a.map.grid_shape(index.shape),
            index.shape,
            a.map.components,
            lambda g, k: a.valid(k, element, g, data.shape, self.sizes),
            lambda g, k: a.excess(k, element, g, data.shape, self.sizes),
            a.index_position,
            lambda at: T.cast("int64", element(*at)),
            self.status,
            slot,
        )

    def taken_over(self, value: Value) -> CheckNest | None:
        """The check that the nest of a value may take over."""
        return self.check(value) if self.target.joins_checks and id(value) in self.plan.joined else None

    def storage(self, value: Value) -> Buffer:
        """Where a value is stored: the output that it is, or scratch."""
        numbers = [k for k, o in enumerate(self.graph.outputs) if o is value]
        return self.outs[numbers[0]] if numbers else self.scratch(value.name, value.type)

    def scratch(self, name: str, type: TensorType) -> Buffer:
        return self.workspace.buffer(name, type.shape or (1,), type.dtype)

    def lanes(self, value: Value) -> list[Value | None]:
        """A value and those that are computed with it, by lane; None for one that the graph does not need."""
        op = value.op
        if not isinstance(op, Scatter) or op.reduction.arity == 1:
            return [value]
        operands = [id(a) for a in (value.args[1], *value.args[3:])]
        mates = {
            v.op.lane: v
            for v in self.graph.values
            if isinstance(v.op, Scatter)
            and [id(a) for a in (v.args[1], *v.args[3:])] == operands
            and replace(v.op, lane=op.lane) == op
        }
        return [mates.get(k) for k in range(op.reduction.arity)]

    def stored(self, value: Value, written: dict[int, Buffer]) -> None:
        """The nest that fills a value's storage, and that of its other lanes."""
        op, lanes = value.op, self.lanes(value)
        outs = [
            self.scratch(f"{value.name}_lane{k}", value.args[3 + k].type) if v is None else self.storage(v)
            for k, v in enumerate(lanes)
        ]
        out = next(o for o, v in zip(outs, lanes, strict=True) if v is value)
        if isinstance(op, Scatter):
            self.emit(self.scatter_nest(value, op, outs))
        elif isinstance(op, (Reduce, ArgReduce)):
            self.emit(self.reduce_nest(value, op, out))
        elif isinstance(op, SegmentReduce):
            self.emit(self.segment_nest(value, op, out))
        else:
            self.copy(value, out)
        for v, o in zip(lanes, outs, strict=True):
            if v is not None:
                self.buffers[id(v)] = written[id(v)] = o

    def copy(self, value: Value, out: Buffer) -> None:
        """A map nest: an inline value's formula, or a copy of what is stored elsewhere."""
        known = id(value) in self.buffers

        def element(c: Coords, trace: list[tuple[Buffer, list[Expr]]] | None = None) -> Expr:
            e = ValueElement(self, value, trace)
            return e(*c) if known else e.compute(c)

        def loads(c: Coords) -> list[tuple[Buffer, list[Expr]]]:
            trace: list[tuple[Buffer, list[Expr]]] = []
            element(c, trace)
            return trace

        check = None if known else self.taken_over(value)
        clamped = None if check is None else lambda c: ValueElement(self, value, checked=When.MEANWHILE).compute(c)
        cost = self.plan.cost[id(value)]
        op = value.op
        grid: Callable[[Coords], list[Expr]] = (lambda c: op.addressing.split(c)[0]) if isinstance(op, Gather) else list
        self.emit(MapNest(value.name, value.shape, value.dtype, out, element, cost, loads, check, clamped, grid))

    def reduce_nest(self, value: Value, op: Reduce | ArgReduce, out: Buffer) -> ReduceNest:
        source = value.args[0]
        element = self.element(source)
        axes = op.axes

        def at(c: Coords, r: Coords) -> Expr:
            return element(*full_coords(source.rank, axes, op.keepdims, c, r))

        if isinstance(op, Reduce):
            acc = op.fold.accumulate(source.dtype)
            initial: tuple[tuple[DType, Expr], ...] = ((acc, constant(op.fold.identity(acc), acc)),)
            step: Callable[..., list[Expr]] = lambda a, c, r: [op.combine(acc, a[0], op.lift(source.dtype, at(c, r)))]  # noqa: E731
            finish: Callable[..., Expr] = lambda a, c: op.finish(source.dtype, a[0], source.shape, self.sizes)  # noqa: E731
        else:
            initial = (
                (source.dtype.compute, constant(0, source.dtype.compute)),
                (DTYPES["int64"], T.const(0)),
            )

            def step(a: Sequence[Expr], c: Coords, r: Coords) -> list[Expr]:
                x = cast(at(c, r), source.dtype, source.dtype.compute)
                wins = T.any_of([r[0] == 0, op.better(source.dtype, x, a[0])])
                return [T.select(wins, x, a[0]), T.select(wins, r[0], a[1])]

            finish = lambda a, c: a[1]  # noqa: E731
        ranges = [(T.const(0), self.sizes(source.shape[a])) for a in axes]
        inner = list(axes) == list(range(source.rank - len(axes), source.rank))
        gather = self.plan.folded.get(id(value))

        def grid(c: Coords, r: Coords) -> list[Expr]:
            assert gather is not None and isinstance(gather.op, Gather)
            return gather.op.addressing.split(full_coords(source.rank, axes, op.keepdims, c, r))[0]

        return ReduceNest(
            value.name,
            value.shape,
            value.dtype,
            out,
            product(source.shape),
            lambda c: ranges,
            initial,
            step,
            finish,
            self.plan.cost[id(value)],
            inner,
            None if gather is None else self.taken_over(gather),
            grid,
        )

    def segment_nest(self, value: Value, op: SegmentReduce, out: Buffer) -> ReduceNest:
        x, begin, end = (self.element(a) for a in value.args)
        source = x.type
        acc = op.fold.accumulate(source.dtype)

        def step(a: Sequence[Expr], c: Coords, r: Coords) -> list[Expr]:
            row = cast(x(r[0], *c[1:]), source.dtype, acc)
            return [POINTWISE[op.fold.function].expr(acc, [a[0], row])]

        return ReduceNest(
            value.name,
            value.shape,
            value.dtype,
            out,
            product(source.shape),
            lambda c: [(begin(c[0]), end(c[0]))],
            ((acc, constant(op.fold.identity(acc), acc)),),
            step,
            lambda a, c: op.finish(source.dtype, a[0], end(c[0]) - begin(c[0])),
            self.plan.cost[id(value)],
            source.rank == 1,
        )

    def scatter_nest(self, value: Value, op: Scatter, outs: Sequence[Buffer]) -> ScatterNest:
        index = self.element(value.args[1])
        a = op.addressing
        number = next((k for k, v in self.plan.in_place.items() if self.graph.outputs[k] is value), None)
        flag = None
        if number is not None:
            flag = T.truncmod(T.truncdiv(self.in_place, T.const(1 << number)), T.const(2)) == 1
        shape = value.shape

        def lane(data: Value, src: Value, out: Buffer) -> Lane:
            base, element = self.element(data), self.element(src)

            def source(grid: Coords, window: Coords) -> Expr:
                at = {**{("index", j): g for j, g in zip(a.map.grid_axes, grid, strict=True)}}
                at |= {("window", w): x for w, x in enumerate(window)}
                return element(*(at[p] for p in a.map.layout))

            return Lane(data.dtype, out, lambda c: base(*c), source)

        lanes = tuple(lane(*pair, o) for pair, o in zip(op.operands(value.args), outs, strict=True))
        own = lanes[op.lane]
        return ScatterNest(
            value.name,
            op,
            shape,
            value.dtype,
            own.out,
            a.map.grid_shape(index.type.shape),
            a.map.window_shape(shape),
            own.base,
            flag,
            lambda g: a.starts(index, g, shape, self.sizes, When.BEFORE),
            own.src,
            self.plan.cost[id(value)],
            self.taken_over(value),
            lanes if op.reduction.ordered else (),
        )

    # -- the function

    def run(self) -> Lowered:
        graph = self.graph
        for v in self.plan.early:
            if not self.target.joins_checks or id(v) not in self.plan.joined:
                self.emit(self.check(v))
        late = {id(v) for v in self.plan.late}
        written: dict[int, Buffer] = {}
        for v in graph.values:
            if id(v) in late:
                self.emit(self.check(v))
            if id(v) in self.plan.stored and id(v) not in written:
                self.stored(v, written)
        for k, v in enumerate(graph.outputs):
            if written.get(id(v)) is not self.outs[k]:  # an input, a constant, or an output named twice
                self.copy(v, self.outs[k])
        begin = self.prologue()
        params = [*self.params, *(self.sizes.variables[n] for n in graph.symbols), self.threads, self.in_place]
        body = T.seq(*self.declared, *self.workspace.declared, begin, *self.body)
        func = self.target.adapted(T.prim_func(graph.name, params, body, self.target.device_type))
        stats = Stats(tuple(self.kernels), len(self.checks), self.workspace.used, least_bytes(graph))
        symbols, checks = tuple(graph.symbols), tuple(self.checks)
        return Lowered(func, graph, symbols, checks, self.plan.in_place, stats, self.work)

    def prologue(self) -> Stmt | None:
        """No check has failed yet."""
        if not self.checks:
            return None
        stores = [T.store(self.status, [T.const(0)], T.const(0))]
        for slot in range(len(self.checks)):
            at = status_position(slot)
            stores.append(T.store(self.status, [at], T.const(T.INT64_MAX)))
            stores.append(T.store(self.status, [at + 1], T.const(0)))
        return self.target.once(T.seq(*stores))


def lower(graph: Graph, target: Target, rules: Sequence[Rule] = (), deterministic: bool = False) -> Lowered:
    """One PrimFunc for the graph.

    Args:
        rules: tried before the target's own.
        deterministic: bitwise repeatable results on cuda too.
    """
    return Lowering(graph, target, rules, deterministic).run()


def least_bytes(graph: Graph) -> Dim:
    """The least bytes a run of the graph moves: outputs once, and of each leaf as much as its readers can need."""
    moved: Dim = 0
    for v in graph.outputs:
        moved = moved + v.type.nbytes
    for v in graph.values:
        if not isinstance(v.op, Leaf):
            continue
        size = product(v.shape)
        reads = [size for o in graph.outputs if o is v]
        for reader in graph.values:
            for k, a in enumerate(reader.args):
                if a is v:
                    picks = isinstance(reader.op, Slice) or (isinstance(reader.op, Gather) and k == 0)
                    reads.append(product(reader.shape) if picks else size)
        need = size if size in reads else dim_min(sum(reads), size) if reads else 0
        moved = moved + need * v.dtype.itemsize
    return moved
