"""A graph with complex values as one without: TIR has no complex numbers.

A complex value becomes one of two things:

* *units*, unsigned integers of its 64 bits, where complex64 is only moved: by whatever reads it, and by all that it is made of.
  Movement is then that of an integer, in every schedule;
* *pairs*, its type's parts on one more axis, the innermost, of extent 2: the same memory.  An index map moves both parts as a
  window, sums are sums of each part, and a function that needs both parts reads both (:mod:`gscompile.ir.ops.complex`).

What meets in a cell of a scatter through such a function is combined as two tensors, of real and of imaginary parts, in
row-major order of the points: no atomic operation of a GPU could do so.

Arrays of the caller's are used as they are: both are other names for their storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gscompile.ir.computation import Computation, item
from gscompile.ir.graph import Graph, Rewritten, Value
from gscompile.ir.ops.base import Operator
from gscompile.ir.ops.complex import Complex, Pair, PairFold, PairReduction, PairScan, Part
from gscompile.ir.ops.elementwise import complexes
from gscompile.ir.ops.fill import Fill
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.leaf import Constant, Input
from gscompile.ir.ops.movement import (
    Cast,
    Full,
    Iota,
    Pad,
    Pointwise,
    Reshape,
)
from gscompile.ir.ops.reduce import Reduce, SegmentReduce
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.ops.scan import Scan
from gscompile.ir.ops.scatter import Scatter
from gscompile.ir.types import DTYPES, DType, TensorType

BOOL, UNIT = DTYPES["bool"], DTYPES["uint64"]


def without_complex(graph: Graph, units: bool = True) -> Rewritten:
    """The graph, with units and pairs for complex values.

    Args:
        units: whether there may be units; pairs otherwise.
    """
    if not any(v.dtype.is_complex for v in graph.values):
        return Rewritten.unchanged(graph)
    return _Rewriting(_moved(graph) if units else frozenset()).of(graph)


# -- units


def _moved(graph: Graph) -> frozenset[int]:
    """The ids of the values that are units."""
    beside: dict[int, list[int]] = {id(v): [] for v in graph.values}
    others: list[int] = []
    for v in graph.values:
        met = [id(x) for x in (v, *v.args) if x.dtype.is_complex]
        if met and not (v.dtype.name == "complex64" and _moves(v)):
            others += met
        for a in met:
            beside[a] += met
    moved = {id(v) for v in graph.values if v.dtype.is_complex}
    while others:
        a = others.pop()
        if a in moved:
            moved.remove(a)
            others += beside[a]
    return frozenset(moved)


def _moves(v: Value) -> bool:
    """Whether a complex value is elements of its arguments as they are, or comes from outside."""
    if not v.args:
        return v.op.moves(0)
    moved = [v.op.moves(k) for k, a in enumerate(v.args) if a.dtype.is_complex]
    return bool(moved) and all(moved)


def _unit(value: Fill) -> int:
    """The bits of a constant."""
    assert not isinstance(value, (bytes, tuple))
    with np.errstate(over="ignore"):
        return int(np.complex64(value).view(np.uint64))


def _of_units(op: Operator) -> Operator:
    """The operator, where complex numbers are units."""
    if isinstance(op, Gather):
        return replace(op, fill=_unit(op.fill))
    if isinstance(op, (Full, Pad)):
        return replace(op, value=_unit(op.value))
    if isinstance(op, Pointwise):
        return Pointwise(op.function, (op.operand_dtypes[0], UNIT.name, UNIT.name))
    return op


# -- pairs


class _Rewriting:
    """One graph's; see :func:`without_complex`."""

    def __init__(self, units: frozenset[int]) -> None:
        self.units = units
        self.values: list[Value] = []
        self.found: dict[int, Value] = {}
        self.origin: dict[int, Value] = {}
        self.parts: dict[tuple[int, int], Value] = {}
        self.computations: dict[str, Computation] = {}
        self.current: Value
        self.made = 0

    def of(self, graph: Graph) -> Rewritten:
        for v in graph.values:
            self.current, self.made = v, 0
            self.found[id(v)] = self.named(self.rewritten(v, [self.found[id(a)] for a in v.args]))
        outputs = tuple(self.found[id(v)] for v in graph.outputs)
        return Rewritten(Graph(graph.name, tuple(self.values), outputs, graph.constraints), self.origin)

    def add(self, op: Operator, args: Sequence[Value], type: TensorType) -> Value:
        """A value that the current one needs, or is."""
        v, self.made = self.current, self.made + 1
        return self.kept(Value(f"{v.name}_{self.made}", type, op, tuple(args), v.builder, v.scope))

    def named(self, result: Value) -> Value:
        """What the current value has become, under its name."""
        v = self.values[-1]
        if result is not v or isinstance(v.op, Part) or v.name == self.current.name:  # another's, or known as a part
            return result
        self.values.pop()
        return self.kept(replace(v, name=self.current.name))

    def kept(self, v: Value) -> Value:
        self.values.append(v)
        self.origin[id(v)] = self.current
        return v

    def rewritten(self, v: Value, args: list[Value]) -> Value:
        if id(v) in self.units:
            return self.add(_of_units(v.op), args, TensorType(v.shape, UNIT))
        if not any(x.dtype.is_complex for x in (v, *v.args)):
            same = all(a is b for a, b in zip(args, v.args, strict=True))
            return self.kept(v if same else replace(v, args=tuple(args)))
        if isinstance(v.op, Pointwise):
            return self.pointwise(v, v.op, args)
        if isinstance(v.op, Cast):
            return self.converted(args[0], v.args[0].dtype, v.dtype)
        if isinstance(v.op, Iota):
            return self.pair(self.add(v.op, args, TensorType(v.shape, v.dtype.real)))
        if isinstance(v.op, (Reduce, SegmentReduce)):
            return self.fold(v, v.op, args)
        if isinstance(v.op, Scan):
            x = self.converted(args[0], v.args[0].dtype, v.dtype)
            if not v.dtype.is_complex:
                return self.add(v.op, [x], v.type)
            return self.add(v.op if _by_parts(v.op.reduction) else PairScan(v.op), [x], _pairs(v.type))
        if isinstance(v.op, Scatter) and not _by_parts(v.op.reduction):
            return self.scatter(v, v.op, args)
        return self.add(v.op.with_lane(), args, _pairs(v.type))

    # -- parts

    def part(self, x: Value, lane: int) -> Value:
        """The real or the imaginary parts of pairs."""
        if isinstance(x.op, Pair) and lane < len(x.args):
            return x.args[lane]
        key = (id(x), lane)
        if key not in self.parts:
            self.parts[key] = self.add(Part(lane), [x], TensorType(x.shape[:-1], x.dtype))
        return self.parts[key]

    def pair(self, *args: Value) -> Value:
        return self.add(Pair(), args, TensorType((*args[0].shape, 2), args[0].dtype))

    def converted(self, x: Value, src: DType, dst: DType) -> Value:
        """A value of dtype ``src``, as it is represented here, in ``dst``."""
        if src == dst or not (src.is_complex or dst.is_complex):
            return x
        if dst is BOOL:
            return self.add(Complex("nonzero"), [x], TensorType(x.shape[:-1], BOOL))
        if src.is_complex and dst.is_complex:
            return self.add(Cast(dst.real.name), [x], TensorType(x.shape, dst.real))
        number = self.part(x, 0) if src.is_complex else x
        if number.dtype != dst.real:
            number = self.add(Cast(dst.real.name), [number], TensorType(number.shape, dst.real))
        return self.pair(number) if dst.is_complex else number

    # -- operators

    def pointwise(self, v: Value, op: Pointwise, args: list[Value]) -> Value:
        wants = [DTYPES[d] for d in op.operand_dtypes]
        args = [self.converted(a, x.dtype, d) for a, x, d in zip(args, v.args, wants, strict=True)]
        if not wants[-1].is_complex:
            return self.add(op, args, v.type)
        if op.function in ("real", "imag"):
            return self.part(args[0], int(op.function == "imag"))
        result = _pairs(v.type) if v.dtype.is_complex else v.type
        if op.function not in complexes.PARTWISE:
            return self.add(Complex(op.function), args, result)
        args = [a if d.is_complex else self.beside_lane(a) for a, d in zip(args, wants, strict=True)]
        return self.add(Pointwise(op.function, tuple(d.real.name for d in wants)), args, result)

    def beside_lane(self, x: Value) -> Value:
        """A tensor of no pairs, for both parts."""
        return self.add(Reshape(), [x], TensorType((*x.shape, 1), x.dtype))

    def fold(self, v: Value, op: Reduce | SegmentReduce, args: list[Value]) -> Value:
        if not v.dtype.is_complex:  # whether any or all are not 0
            return self.add(op, [self.converted(args[0], v.args[0].dtype, BOOL), *args[1:]], v.type)
        if not _by_parts(op.reduction):
            return self.add(PairFold(op), args, _pairs(v.type))
        x = args[0]
        if isinstance(op, SegmentReduce) or x.rank < 3 or x.rank - 2 in op.axes:
            return self.add(op, args, _pairs(v.type))
        # the parts of neighbouring columns are one run of columns
        flat = self.add(Reshape(), [x], _merged(x.type))
        return self.add(Reshape(), [self.add(op, [flat], _merged(_pairs(v.type)))], _pairs(v.type))

    def scatter(self, v: Value, op: Scatter, args: list[Value]) -> Value:
        """A scatter through a function that needs both parts: one of two tensors, or through an update computation."""
        given, operands = op.operands(v.args), op.operands(args)
        split = [
            [
                [self.part(x, lane) for lane in (0, 1)] if of.dtype.is_complex else [x]
                for x, of in zip(pair, was, strict=True)
            ]
            for pair, was in zip(operands, given, strict=True)
        ]
        first = sum(len(data) for data, _ in split[: op.lane])
        row = self.row(op)
        lanes = [lane for data, src in split for lane in zip(data, src, strict=True)]
        if isinstance(row, PairReduction) and row.begun:
            lanes.append((self.flags(False, lanes[0][0]), self.flags(True, lanes[0][1])))
        every = [*(data for data, _ in lanes), *(src for _, src in lanes)]
        scatter = replace(op, reduction=row, include_self=True, lane=0)
        made = []
        for k in range(first, first + len(split[op.lane][0])):
            data, src = lanes[k]
            made.append(self.add(replace(scatter, lane=k), [data, args[1], src, *every], data.type))
        return self.pair(*made) if v.dtype.is_complex else made[0]

    def flags(self, value: bool, like: Value) -> Value:
        return self.add(Full(value), [], TensorType(like.shape, BOOL))

    def row(self, op: Scatter) -> Reduction:
        """A scatter's reduction, of tensors of parts."""
        row = op.reduction
        if not isinstance(row, Computation):
            return PairReduction.like(row, begun=not op.include_self)
        if row.key not in self.computations:
            self.computations[row.key] = replace(row, key=f"parts of {row.key}", graph=_of_parts(row.graph))
        return self.computations[row.key]


def _of_parts(graph: Graph) -> Graph:
    """An update computation's graph, with two scalars for each complex argument and result."""
    parts = _Rewriting(frozenset())
    for v in graph.values:
        parts.current = v
        if v.dtype.is_complex and isinstance(v.op, Input):
            both = [parts.add(v.op, [], TensorType((), v.dtype.real)) for _ in (0, 1)]
            parts.found[id(v)] = parts.pair(*both)
        elif v.dtype.is_complex and isinstance(v.op, Constant):
            parts.found[id(v)] = parts.add(Full(complex(item(v))), [], _pairs(v.type))
        else:
            parts.found[id(v)] = parts.rewritten(v, [parts.found[id(a)] for a in v.args])
    outputs = [
        x
        for v in graph.outputs
        for x in ([parts.part(parts.found[id(v)], k) for k in (0, 1)] if v.dtype.is_complex else [parts.found[id(v)]])
    ]
    return Graph(graph.name, tuple(parts.values), tuple(outputs), ())


def _pairs(type: TensorType) -> TensorType:
    return TensorType((*type.shape, 2), type.dtype.real)


def _merged(type: TensorType) -> TensorType:
    """The type of pairs whose axis of parts is one with the axis beside it."""
    return TensorType((*type.shape[:-2], type.shape[-2] * type.shape[-1]), type.dtype)


def _by_parts(row: Reduction) -> bool:
    """Whether a reduction does to each part what it does to a number."""
    return row.replaces or row.function in complexes.PARTWISE
