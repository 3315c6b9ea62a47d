"""From a graph to one PrimFunc.

``Builder -> Graph -> plan -> nests -> schedules -> PrimFunc``.  Every value knows how to give its element at coordinates: a
stored one loads it, an inlined one composes its operator's ``element`` with those of its arguments.

The function's parameters are raw addresses of C-contiguous storage, then sizes:

    inputs and constants..., outputs..., status, [kept,] workspace, symbolic sizes..., threads, in_place

``status`` receives what index checks found (``gscompile.ir.nests.CheckNest``); ``kept``, where a GPU's kernels are called by a
runner, what those of the first call that failed have found; ``workspace`` is scratch memory; bit k of ``in_place`` says that
output k already holds the data it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gscompile.compiler.parts import NESTS, Parts
from gscompile.compiler.plan import Plan, Ride, plan
from gscompile.compiler.segments import Segments, points_of
from gscompile.compiler.targets import Target
from gscompile.compiler.totals import totals_at_points
from gscompile.errors import ArgumentError
from gscompile.ir import status
from gscompile.ir import tir as T
from gscompile.ir.bounds import When
from gscompile.ir.coords import Coords, Sizes
from gscompile.ir.dims import Dim, Shape, ceildiv, dim_min, from_json, product, to_json, total
from gscompile.ir.graph import Graph, Value
from gscompile.ir.nests import Asked, CheckNest, MapNest, Nest, Record, ReduceNest, Riding, status_failed
from gscompile.ir.ops.base import Applied, Inline, Leaf, Stored
from gscompile.ir.ops.elementwise import cast, constant
from gscompile.ir.ops.reduce import SegmentArg, SegmentReduce
from gscompile.ir.ops.scatter import Scatter
from gscompile.ir.ops.scattering import Scattering, ScatterNest, SegmentFold, SegmentsNest, SegmentStep
from gscompile.ir.pairs import without_complex
from gscompile.ir.tir import Buffer, Expr, GlobalVar, PrimFunc, Stmt
from gscompile.ir.types import DTYPES, DType, TensorType
from gscompile.ir.words import in_words
from gscompile.schedules import Checked, Choice, Choices, Context, Decision, Explorer, Rule, schedule
from gscompile.schedules.choices import refused

WORKSPACE_ALIGN = 64
TERMS = 8
"""Terms of a size's formula, above which it has a name: what TVM analyses grows with each place where the formula stands."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a compiled graph does.

    Attributes:
        kernels: (name, rule) of the loop nests (llvm) or nests of kernels (cuda) that compute something.
        checks: how many index checks run before them.
        launches: kernels that a call launches on a GPU, at most, where no nest is empty; 0 on a CPU.
        workspace_bytes: scratch memory of one call; an int, or an expression of symbolic sizes.
        read_bytes, written_bytes: the least that must move between memory and cores: of every input what its readers need, each
            byte once, and every output written once.
    """

    kernels: tuple[tuple[str, str], ...]
    checks: int
    launches: int
    workspace_bytes: Dim
    read_bytes: Dim
    written_bytes: Dim

    @property
    def min_bytes(self) -> Dim:
        """The least that must be read and written together."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True, slots=True)
class Summary:
    """What calls need of a lowering, in terms of its graph, without anything of TVM's.

    Attributes:
        symbols: the sizes that the function takes, in its order.
        checks: the gather or scatter whose indices each slot of its status is about: its number among the graph's values.
        in_place: output number -> the number of the input whose memory it may take over.
        work: rough scalar instructions of a call.
    """

    symbols: tuple[str, ...]
    checks: tuple[int, ...]
    in_place: Mapping[int, int]
    work: Dim
    stats: Stats

    def to_json(self) -> Any:
        """As JSON can hold it."""
        s = self.stats
        return {
            "symbols": self.symbols,
            "checks": self.checks,
            "in_place": list(self.in_place.items()),
            "kernels": s.kernels,
            "launches": s.launches,
            "sizes": [to_json(d) for d in (self.work, s.workspace_bytes, s.read_bytes, s.written_bytes)],
        }

    @staticmethod
    def from_json(found: Any) -> Summary:
        """What :meth:`to_json` gave."""
        work, *sizes = map(from_json, found["sizes"])
        kernels = tuple((str(name), str(rule)) for name, rule in found["kernels"])
        stats = Stats(kernels, len(found["checks"]), int(found["launches"]), *sizes)
        return Summary(tuple(found["symbols"]), tuple(found["checks"]), dict(found["in_place"]), work, stats)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A PrimFunc and what a caller must know of it.

    Attributes:
        parts: the functions that it calls, where it has many nests; see :mod:`gscompile.compiler.parts`.
        graph: as it was given, complex values included.
        decisions: by the name of a nest, what its rules chose by estimated times.
        asked: by the name of a nest, the choices that its rules left open.
    """

    func: PrimFunc
    parts: Mapping[GlobalVar, PrimFunc]
    graph: Graph
    summary: Summary
    decisions: Mapping[str, Sequence[Decision]]
    asked: Mapping[str, Mapping[str, Choice]]

    @property
    def module(self) -> Any:
        """The function and its parts, as TVM's module."""
        return T.module({self.graph.name: self.func, **self.parts})

    @property
    def code(self) -> Any:
        """What there is to print: the function, or the module if it has parts."""
        return self.module if self.parts else self.func


class NamedSizes(Sizes):
    """Sizes of which those of many terms are computed once, and known by a name where they are used.

    Attributes:
        named: the variables of these, with their formulas.
    """

    def __init__(self, variables: Mapping[str, Any]) -> None:
        super().__init__(variables)
        self.named: dict[Dim, Any] = {}

    def __call__(self, dim: Dim) -> Expr:
        if isinstance(dim, int) or len(dim.terms) <= TERMS:
            return super().__call__(dim)
        if dim not in self.named:
            self.named[dim] = T.var(f"size_{len(self.named)}")
        return self.named[dim]

    def bindings(self) -> list[Stmt]:
        """Statements that compute them."""
        return [T.bind(v, super(NamedSizes, self).__call__(dim)) for dim, v in self.named.items()]


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
    """A value's element, loaded or composed.

    Attributes:
        trace: receives what is loaded.
        checked: when the value's own indices are found to be in range.
        inside: when those are by which its arguments are computed.
    """

    lowering: Lowering
    value: Value
    trace: list[tuple[Buffer, list[Expr]]] | None = None
    checked: When = When.BEFORE
    inside: When = When.BEFORE

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
        args = [ValueElement(self.lowering, a, self.trace, self.inside, self.inside) for a in self.value.args]
        return op.assuming(self.checked).element(args, self.value.type, coords, self.lowering.sizes)


class Lowering:
    """The state of one lowering; see :func:`lower`."""

    def __init__(
        self,
        graph: Graph,
        target: Target,
        rules: Sequence[Rule],
        deterministic: bool,
        choices: Choices,
        explorer: Explorer | None,
        by_runner: bool,
    ) -> None:
        self.given, self.target, self.explorer, self.by_runner = graph, target, explorer, by_runner
        words = in_words(graph)
        rewritten = without_complex(words.graph).after(words)
        by_segment = target.by_segment and not deterministic
        if by_segment:
            rewritten = totals_at_points(rewritten.graph).after(rewritten)
        self.graph = graph = rewritten.graph
        self.origin = rewritten.origin
        self.rules = [*rules, *target.rules]
        self.plan: Plan = plan(graph, target.again, target.stores_indices, by_segment, target.joins_several)
        self.sizes = NamedSizes(Sizes.of(graph.symbols).variables)
        self.buffers: dict[int, Buffer] = {}
        self.params: list[Any] = []
        self.declared: list[Stmt] = []
        self.threads = T.var("threads")
        self.in_place = T.var("in_place")
        checks = len(self.plan.early) + len(self.plan.late)
        for v in [*graph.inputs, *graph.constants]:
            self.buffers[id(v)] = self.parameter(v.name, v.shape, v.dtype)
        self.outs = [self.parameter(f"out{k}_{v.name}", v.shape, v.dtype) for k, v in enumerate(graph.outputs)]
        self.numbers = {id(v): k for k, v in reversed(list(enumerate(graph.outputs)))}  # the first, if named twice
        self.mates: dict[Hashable, dict[int, Value]] = {}
        for v in graph.values:
            if v.op.lanes > 1:
                self.mates.setdefault(_joint(v), {})[v.op.lane] = v  # type: ignore[attr-defined]
        keeps = by_runner and not target.host_guards
        length = status.kept_length(checks, len(graph.symbols)) if keeps else status.length(checks)
        self.status = self.parameter("status", (length,), DTYPES["int64"])
        self.kept = self.parameter("kept", (length,), DTYPES["int64"]) if keeps else None
        self.record = self.at_once(checks)
        pointer = T.pointer("workspace", "uint8")
        self.params.append(pointer)
        self.workspace = Workspace(self.sizes, pointer)
        self.context = Context(
            target.facts,
            self.sizes,
            self.threads,
            T.not_(status_failed(self.status)) if checks and target.host_guards else None,
            self.workspace.buffer,
            deterministic,
            choices,
            word=self.word,
        )
        self.words: dict[str, int] = {}
        self.checks: list[Value] = []
        self.check_nests: list[CheckNest] = []
        self.check_of: dict[int, CheckNest] = {}
        self.places: dict[int, Any] = {}
        self.kernels: list[tuple[str, str]] = []
        self.work: Dim = 0
        self.launches = 0
        self.body: list[Stmt] = []

    def at_once(self, checks: int) -> Record | None:
        """The record in which kernels say at once which index is out of range; None where what comes after them has to ask.

        There is one check, by kernels that read its indices anyway, nothing is changed that a call must not change if it fails,
        and no rule counts in the status (:meth:`word`).
        """
        joined = self.target.joins_checks and all(id(v) in self.plan.joined for v in self.plan.early)
        counts = self.plan.segments or any(isinstance(v.op, (SegmentReduce, SegmentArg)) for v in self.graph.values)
        if self.kept is None or checks != 1 or self.plan.late or not joined or self.plan.in_place or counts:
            return None
        call = T.if_then_else(self.threads < 0, -self.threads, self.threads)
        return Record(self.kept, call, checks, tuple(self.sizes.variables[n] for n in self.graph.symbols))

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
        if self.explorer is not None and not isinstance(nest, CheckNest):
            self.explorer.look(nest, self.context, self.rules, Workspace(self.sizes, T.pointer("none", "uint8")).buffer)
        rule, stmt = schedule(nest, self.context, self.rules)
        self.work += nest.work
        checks = nest.checks
        self.launches += T.launches(stmt.stmt if isinstance(stmt, Checked) else stmt)
        if isinstance(stmt, Checked):
            assert checks, f"rule {rule} has taken over a check that {nest.name} does not have"
            self.work = total([self.work, *(check.work for check in checks)])
            stmt = self.checked(nest, checks, self.unless_empty(nest, stmt.stmt))
        else:
            for check in checks:
                self.emit(check)
            stmt = self.unless_empty(nest, stmt)
        if self.target.host_guards:
            stmt = T.if_(self.context.guard, stmt)
        elif self.record is None and (
            checks or isinstance(nest, CheckNest)
        ):  # nothing that comes before a check has to ask
            self.context = replace(self.context, guard=T.not_(status_failed(self.status)))
        self.body.append(stmt)
        if not isinstance(nest, CheckNest):
            self.kernels.append((nest.name, rule))
            if nest.name not in self.context.decisions:  # the first rule that takes such a nest
                self.context.decided(Decision(nest.name, {"elements": nest.reads, "operations": nest.work}, {}))

    def unless_empty(self, nest: Nest, stmt: Stmt) -> Stmt:
        """A nest's statement, on a CPU where its result has cells."""
        cells = product(nest.shape) if isinstance(nest, (MapNest, ReduceNest, ScatterNest)) else 1
        if not self.target.host_guards or isinstance(cells, int):
            return stmt
        return T.if_(self.sizes(cells) > 0, stmt)

    def checked(self, nest: Nest, checks: Sequence[CheckNest], stmt: Stmt) -> Stmt:
        """The statement of a rule that has taken over checks, which come first all the same where indices might not be read."""
        empty = None if nest.readable is None else T.not_(nest.readable)
        first = [c for c in (nest.in_place, self.idle(nest), empty) if c is not None]
        stmt = T.if_(nest.readable, stmt)
        if not self.target.host_guards:  # each thread that reads an index says itself which it is
            return T.seq(T.if_(T.any_of(first), T.seq(*map(self.scheduled, checks))) if first else None, stmt)
        (check,) = checks
        failed = status_failed(self.status)
        if first:
            asked = Asked.SELDOM if nest.in_place is None else Asked.WHETHER
            found = T.if_(T.any_of(first), self.scheduled(replace(check, asked=asked)))
            stmt = T.seq(found, T.if_(T.not_(failed), stmt))
        return T.seq(stmt, T.if_(failed, self.scheduled(replace(check, asked=Asked.WHERE))))

    def idle(self, nest: Nest) -> Expr | None:
        """When a nest has nothing to compute, and so looks at no index, though there may be a bad one; None for never."""
        return None if isinstance(nest.reads, int) and nest.reads > 0 else self.sizes(nest.reads) == 0

    def scheduled(self, check: CheckNest) -> Stmt:
        """A check's statement, not yet part of the function."""
        _, stmt = schedule(check, self.context, self.rules)
        assert not isinstance(stmt, Checked)
        return stmt

    def check(self, value: Value) -> CheckNest:
        """The index check of a gather or scatter."""
        a, data, index = value.op.indexing, value.args[0], value.args[1]
        assert a is not None
        if id(value) in self.check_of:  # of nests of which a call runs one
            return self.check_of[id(value)]
        element = self.element(index)
        slot = len(self.checks)
        self.checks.append(value)
        nest = CheckNest(
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
            self.place(slot),
            in_memory=id(index) in self.buffers and a.map.vector_axis in (None, len(index.shape) - 1),
            record=self.record,
        )
        self.check_nests.append(nest)
        self.check_of[id(value)] = nest
        return nest

    def place(self, slot: int) -> Expr:
        """A check's number; a variable where the function may be long, so that checks that are alike can be one part."""
        nests = len(self.plan.early) + len(self.plan.late) + len(self.plan.stored)
        if not self.target.in_parts or nests <= NESTS:
            return T.const(slot)
        return self.places.setdefault(slot, T.var(f"check{slot}"))

    def word(self, nest: str) -> tuple[Buffer, Expr] | None:
        """A number that is 0 when a nest's kernels begin: where a check will have the index that it has found."""
        if self.target.host_guards or self.record is not None:
            return None
        if self.words.setdefault(nest, len(self.words)) >= len(self.plan.early + self.plan.late):
            return None
        return self.status, status.value(self.place(self.words[nest]))

    def taken_over(self, value: Value) -> CheckNest | None:
        """The check that the nest of a value may take over."""
        return self.check(value) if self.target.joins_checks and id(value) in self.plan.joined else None

    def storage(self, value: Value) -> Buffer:
        """Where a value is stored: the output that it is, or scratch."""
        number = self.numbers.get(id(value))
        return self.scratch(value.name, value.type) if number is None else self.outs[number]

    def scratch(self, name: str, type: TensorType) -> Buffer:
        return self.workspace.buffer(name, type.shape or (1,), type.dtype)

    def lanes(self, value: Value, op: Stored) -> list[Value | None]:
        """A value and those that are computed with it, by lane; None for one that the graph does not need."""
        if op.lanes == 1:
            return [value]
        mates = self.mates[_joint(value)]
        return [mates.get(k) for k in range(op.lanes)]

    def stored(self, value: Value, written: dict[int, Buffer]) -> None:
        """The nest that fills a value's storage, and that of its other lanes."""
        op = value.op
        if not isinstance(op, Stored):
            out = self.storage(value)
            self.copy(value, out)
            self.buffers[id(value)] = written[id(value)] = out
            return
        lanes, types = self.lanes(value, op), [a.type for a in value.args]
        outs = [
            self.scratch(f"{value.name}_lane{k}", op.lane_type(k, value.type, types)) if v is None else self.storage(v)
            for k, v in enumerate(lanes)
        ]
        self.emit(op.nest(self.applied(value, outs)))
        for v, o in zip(lanes, outs, strict=True):
            if v is not None:
                self.buffers[id(v)] = written[id(v)] = o

    def applied(self, value: Value, outs: Sequence[Buffer]) -> Applied:
        """A stored value, as its operator sees it."""
        indexed = self.plan.folded.get(id(value), value)
        number = self.numbers.get(id(value))
        in_place = None
        if number in self.plan.in_place:
            in_place = T.truncmod(T.truncdiv(self.in_place, T.const(1 << number)), T.const(2)) == 1
        return Applied(
            value.name,
            value.type,
            [self.element(a) for a in value.args],
            outs,
            self.sizes,
            self.plan.cost[id(value)],
            in_place,
            self.taken_over(indexed),
            _grid(indexed),
        )

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

        rides = () if known or not self.target.joins_checks else self.plan.riding.get(id(value), ())
        inside = When.MEANWHILE if any(r.gather is not value for r in rides) else When.BEFORE
        clamped = ValueElement(self, value, None, When.MEANWHILE, inside).compute if rides else None
        riding = [Riding(self.check(r.gather), _grid_by(r)) for r in rides]
        self.emit(
            MapNest(
                value.name,
                value.shape,
                value.dtype,
                out,
                element,
                self.plan.cost[id(value)],
                loads,
                riding[0].check if riding else None,
                clamped,
                riding[0].grid if riding else _grid(value),
                T.all_of(self.readable(r.gather) for r in rides),
                tuple(riding[1:]),
            )
        )

    def readable(self, gather: Value) -> Expr | None:
        """Whether there is something to read at each index that is in range, in a tensor of unknown extents."""
        a = gather.op.indexing
        assert a is not None
        return a.readable(gather.args[0].shape, self.sizes)

    def segments(self, group: Segments, written: dict[int, Buffer]) -> None:
        """The nest of folds over segments and of what becomes of the points."""
        last, folds, offsets = group.last, group.folds, group.offsets
        out, points, (gather, _) = self.storage(last), points_of(folds[0]), group.gathers()[0]
        a, data, index = gather.op.indexing, folds[0].shape, gather.args[1]
        assert a is not None
        steps = [v for v in group.inside if id(v) in self.plan.stored]
        totals: list[list[Buffer]] = [[] for _ in folds]
        for v, k in group.gathers():
            totals[k].append(self.stand_in(v))
        self.buffers |= {id(v): self.stand_in(v) for v in steps}
        checked = self.plan.folded.get(id(last))
        check = None if checked is None else self.taken_over(checked)

        def apart() -> Stmt:
            """The nests of a graph without the group."""
            body, launches, work, self.body = self.body, self.launches, self.work, []
            forget()
            if check is not None and offsets is not None:
                self.emit(check)
            for v in without:
                if id(v) in self.plan.apart:
                    self.stored(v, written)
            self.copy(last, out)
            forget()
            stmt, self.body, self.launches, self.work = T.seq(*self.body), body, launches, work
            return stmt

        own = {id(v) for v in group.values}
        without = [v for v in self.graph.values if id(v) in own or (offsets is not None and id(v) in self.plan.idle)]

        def forget() -> None:
            for v in (*without, last):
                self.buffers.pop(id(v), None)

        def fold(v: Value) -> SegmentFold:
            values = points_of(v)
            source, needs = self.element(values), group.needs(values, steps)
            if isinstance(v.op, Scatter):
                base = self.element(v.args[0])(*(T.const(0) for _ in data))
                return SegmentFold(v.op, v.dtype, base, lambda c: source(*c), needs)
            assert isinstance(v.op, SegmentReduce)
            op = Scattering(v.op.name, a, v.op.reduction, include_self=False)
            nothing = constant(0, v.dtype)
            return SegmentFold(op, v.dtype, nothing, lambda c: cast(source(*c), values.dtype, v.dtype), needs)

        def step(v: Value) -> SegmentStep:
            return SegmentStep(self.buffers[id(v)], lambda c: self.element(v).compute(c))

        def result(c: Coords) -> Expr:
            element = self.element(last)
            return element(*c) if id(last) in self.buffers else element.compute(c)

        def place(j: Expr) -> Expr:
            assert offsets is not None
            return T.cast("int64", self.element(offsets)(j))

        self.emit(
            SegmentsNest(
                name=last.name,
                shape=points.shape,
                dtype=last.dtype,
                out=out,
                own=a.map.layout.index(("index", a.map.own_axes[0])),
                segments=product(data[k] for k in a.map.indexed_axes),
                starts=lambda c: a.starts(self.element(index), a.split(c)[0], data, self.sizes, When.BEFORE)[0],
                offsets=None if offsets is None else place,
                folds=tuple(map(fold, folds)),
                totals=tuple(map(tuple, totals)),
                steps=tuple(map(step, steps)),
                element=result,
                needs=group.needs(last, steps),
                cost=sum(self.plan.cost[id(v)] for v in (*map(points_of, folds), last)),
                grid=lambda c: a.split(c)[0],
                apart=apart,
                check=check,
            )
        )
        forget()
        self.buffers[id(last)] = written[id(last)] = out

    def stand_in(self, value: Value) -> Buffer:
        """A buffer that a value is loaded from, for a rule to put something in place of the loads."""
        shape = self.sizes.shape(value.shape) or (T.const(1),)
        buf = T.buffer(value.name, shape, value.dtype.tir, align=value.dtype.itemsize)
        return self.buffers.setdefault(id(value), buf)

    # -- the function

    def run(self) -> Lowered:
        graph = self.graph
        for v in self.plan.early:
            if not self.target.joins_checks or id(v) not in self.plan.joined:
                self.emit(self.check(v))
        late = {id(v) for v in self.plan.late}
        written: dict[int, Buffer] = {}
        passed = self.plan.idle | {id(v) for g in self.plan.segments.values() for v in g.values}
        for v in graph.values:
            if id(v) in late:
                self.emit(self.check(v))
            if id(v) in self.plan.segments:
                self.segments(self.plan.segments[id(v)], written)
            elif id(v) in self.plan.stored and id(v) not in written and id(v) not in passed:
                self.stored(v, written)
        for k, v in enumerate(graph.outputs):
            if written.get(id(v)) is not self.outs[k]:  # an input, a constant, or an output named twice
                self.copy(v, self.outs[k])
        symbols = tuple(graph.symbols)
        params = [*self.params, *(self.sizes.variables[n] for n in symbols), self.threads, self.in_place]
        declared = [*self.declared, *self.workspace.declared]
        parts = Parts(graph.name, self.target.device_type, map(T.declared, declared))
        begin, end = self.prologue(), self.epilogue()
        call: Callable[[Stmt], Stmt] = lambda stmt: stmt  # noqa: E731
        if self.target.in_parts and (len(self.body) > NESTS or self.sizes.named):
            call, declared = parts.call, []
        if self.record is not None:
            stmts = [*declared, T.if_(self.threads != 0, T.seq(*map(call, self.body)))]
        elif end is None or not self.by_runner:
            stmts = [*declared, *(call(s) for s in (begin, *self.body, end) if s is not None)]
        else:
            body = T.seq(*map(call, self.body))
            stmts = [*declared, T.if_(self.threads != 0, body), T.if_(self.threads <= 0, call(end))]
        places = (T.bind(place, T.const(slot)) for slot, place in self.places.items())
        body = T.seq(*self.sizes.bindings(), *places, *stmts)
        func = self.target.adapted(T.prim_func(graph.name, params, body, self.target.device_type))
        functions = {name: self.target.adapted(part) for name, part in parts.functions.items()}
        stats = Stats(tuple(self.kernels), len(self.checks), self.launches, self.workspace.used, *least_bytes(graph))
        values = {id(v): n for n, v in enumerate(self.given.values)}
        inputs = {id(v): n for n, v in enumerate(self.given.inputs)}
        checks = tuple(values[id(self.origin[id(v)])] for v in self.checks)
        in_place = {k: inputs[id(self.origin[id(v)])] for k, v in self.plan.in_place.items()}
        summary = Summary(symbols, checks, in_place, self.work, stats)
        self.require_asked()
        return Lowered(func, functions, self.given, summary, self.context.decisions, self.context.asked)

    def require_asked(self) -> None:
        """Make sure that every choice that was given is one.

        Raises:
            ArgumentError: there is no such nest or choice, or it has no such value.
        """
        kernels = [name for name, _ in self.kernels]
        for nest, given in self.context.choices.items():
            if nest not in kernels:
                raise ArgumentError(f"choices: there is no nest {nest!r}; there are {', '.join(kernels)}")
            asked = self.context.asked.get(nest, {})
            for name, value in given.items():
                if name not in asked:
                    raise ArgumentError(f"choices: {nest} has no choice {name!r} here; it has {', '.join(asked)}")
                if not asked[name].allows(value):
                    raise refused(nest, asked[name], value)

    def prologue(self) -> Stmt | None:
        """No check has failed yet."""
        if not self.checks:
            return None
        stores = [T.store(self.status, [T.const(status.FAILED)], T.const(0))]
        nowhere = status.NOWHERE if self.target.host_guards else status.UNSAID
        for slot in range(len(self.checks)):
            stores.append(T.store(self.status, [T.const(status.position(slot))], T.const(nowhere)))
            stores.append(T.store(self.status, [T.const(status.value(slot))], T.const(0)))
        return self.target.once(T.seq(*stores))

    def epilogue(self) -> Stmt | None:
        """What makes the status say all that it has to, where checks only note positions; see :func:`lower`."""
        ask = self.check_nests and self.record is None
        return self.target.named(self.check_nests, self.context, self.kept) if ask else None


def _joint(value: Value) -> Hashable:
    """What is equal for the values that one nest computes."""
    assert isinstance(value.op, Stored)
    return value.op.joint([id(a) for a in value.args])


def _grid(value: Value) -> Callable[[Coords], list[Expr]]:
    """A position in what a gather gives -> the grid position whose index is used there."""
    a = value.op.indexing
    return list if a is None else lambda c: a.split(c)[0]


def _grid_by(ride: Ride) -> Callable[[Coords], list[Expr]]:
    """A cell of a map -> the grid position of a gather by which it is computed."""

    def grid(c: Coords) -> list[Expr]:
        for v in (*ride.by, ride.gather):
            c = _grid(v)(c)
        return list(c)

    return grid


def lower(
    graph: Graph,
    target: Target,
    rules: Sequence[Rule] = (),
    deterministic: bool = False,
    choices: Choices | None = None,
    explorer: Explorer | None = None,
    by_runner: bool = False,
) -> Lowered:
    """One PrimFunc for the graph.

    Args:
        rules: tried before the target's own.
        deterministic: bitwise repeatable results on cuda too.
        choices: for those that rules leave open.
        explorer: finds what they leave open.
        by_runner: the function is called by a :class:`gscompile.runtime.devices.Runner`.  On a GPU that hands it a status of
            zeros, and calls it again with 0 threads where some check has failed, which runs no nest, but has the status say
            where, and what stands there.  With fewer than 0 threads a call does both, and puts what the status says in ``kept``
            if nothing is there.  Where it can, it puts that there at once, as :class:`gscompile.ir.nests.Record` says: the
            call's number is that of threads, without its sign.  A function for others does both by itself, which takes two
            more kernels.

    Raises:
        ArgumentError: a choice was given that is none.
    """
    return Lowering(graph, target, rules, deterministic, choices or {}, explorer, by_runner).run()


def least_bytes(graph: Graph) -> tuple[Dim, Dim]:
    """The least bytes that a run of the graph reads, of each leaf as much as its readers can need, and writes, outputs once."""
    reads: dict[int, list[Dim]] = {id(v): [] for v in graph.values if isinstance(v.op, Leaf)}
    for v in graph.outputs:
        if id(v) in reads:
            reads[id(v)].append(product(v.shape))
    for reader in graph.values:
        for k, a in enumerate(reader.args):
            if id(a) in reads:
                reads[id(a)].append(product((reader if reader.op.picks(k) else a).shape))
    moved = []
    for v in graph.values:
        if found := reads.get(id(v)):
            size = product(v.shape)
            moved.append((size if size in found else dim_min(total(found), size)) * v.dtype.itemsize)
    return total(moved), total([v.type.nbytes for v in graph.outputs])
