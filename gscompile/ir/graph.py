"""The graph: frozen, typed values in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gscompile.errors import GraphError
from gscompile.ir.dims import Constraint, Shape, shape_str, shape_symbols
from gscompile.ir.ops.base import Operator
from gscompile.ir.ops.leaf import Constant, Input
from gscompile.ir.types import DType, TensorType


class Operators(Protocol):
    """What a value needs of its builder, so that Python's operators build more of the graph."""

    @property
    def name(self) -> str: ...

    def pointwise(self, function: str, *operands: Any) -> Value: ...

    def getitem(self, x: Any, key: Any) -> Value: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Value:
    """A tensor in a graph.  Python's operators build more of the graph: ``x + 1``, ``x < y``, ``x[1:, ::2]``.

    Attributes:
        name: unique in its builder.
        type: shape and dtype.
        op: what computes it, with its attributes.
        args: the values it is computed from.
        scope: the function that added it, where that is not the builder's own: a dialect's, or a model's node.
    """

    name: str
    type: TensorType
    op: Operator
    args: tuple[Value, ...]
    builder: Operators = field(repr=False)
    scope: str = ""

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def rank(self) -> int:
        return self.type.rank

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type} = {self.op.name}>"

    def __add__(self, other: Any) -> Value:
        return self.builder.pointwise("add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.builder.pointwise("add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.builder.pointwise("sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.builder.pointwise("sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.builder.pointwise("mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.builder.pointwise("mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.builder.pointwise("div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.builder.pointwise("div", other, self)

    def __floordiv__(self, other: Any) -> Value:
        return self.builder.pointwise("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Value:
        return self.builder.pointwise("floordiv", other, self)

    def __mod__(self, other: Any) -> Value:
        return self.builder.pointwise("mod", self, other)

    def __rmod__(self, other: Any) -> Value:
        return self.builder.pointwise("mod", other, self)

    def __pow__(self, other: Any) -> Value:
        return self.builder.pointwise("pow", self, other)

    def __rpow__(self, other: Any) -> Value:
        return self.builder.pointwise("pow", other, self)

    def __and__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_and", other, self)

    def __or__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Value:
        return self.builder.pointwise("bitwise_xor", other, self)

    def __lshift__(self, other: Any) -> Value:
        return self.builder.pointwise("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Value:
        return self.builder.pointwise("left_shift", other, self)

    def __rshift__(self, other: Any) -> Value:
        return self.builder.pointwise("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Value:
        return self.builder.pointwise("right_shift", other, self)

    def __pos__(self) -> Value:
        return self

    def __neg__(self) -> Value:
        return self.builder.pointwise("neg", self)

    def __abs__(self) -> Value:
        return self.builder.pointwise("abs", self)

    def __invert__(self) -> Value:
        return self.builder.pointwise("bitwise_not", self)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return self.builder.pointwise("eq", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self.builder.pointwise("ne", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.builder.pointwise("lt", self, other)

    def __le__(self, other: Any) -> Value:
        return self.builder.pointwise("le", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.builder.pointwise("gt", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.builder.pointwise("ge", self, other)

    def __reduce__(self) -> tuple[Any, ...]:
        raise GraphError(
            f"{self.name} is a value of a builder: neither is copied or pickled, but a graph or a module is"
        )

    __hash__ = object.__hash__
    __array_ufunc__ = None  # a NumPy array on the left leaves the operation to this class

    def __bool__(self) -> bool:
        raise GraphError(f"{self.name} is a value of a graph: it has no truth value until the graph is run")

    def __iter__(self) -> Iterator[Value]:
        raise GraphError(f"{self.name} is a value of a graph and cannot be iterated over")

    def __getitem__(self, key: Any) -> Value:
        return self.builder.getitem(self, key)


def line(v: Value) -> str:
    """A value's name, type and operator, with what this is applied to."""
    inner = ", ".join([*(a.name for a in v.args), *filter(None, [v.op.attributes()])])
    return f"{v.name}: {v.type} = {v.op.name if isinstance(v.op, Input) else f'{v.op.name}({inner})'}"


@dataclass(frozen=True, slots=True)
class Graph:
    """What a builder hands to the lowering.

    Attributes:
        values: in topological order, leaves included; only those that an output needs, and every input.
        outputs: in the order of the results.
        constraints: what a call must satisfy about sizes.
    """

    name: str
    values: tuple[Value, ...]
    outputs: tuple[Value, ...]
    constraints: tuple[Constraint, ...]

    @property
    def inputs(self) -> list[Value]:
        return [v for v in self.values if isinstance(v.op, Input)]

    @property
    def constants(self) -> list[Value]:
        return [v for v in self.values if isinstance(v.op, Constant)]

    @property
    def symbols(self) -> list[str]:
        """The symbolic sizes, sorted."""
        return shape_symbols(*(v.shape for v in self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        """A row for each value, so that no recursion follows the arguments; builders stay behind."""
        number = {id(v): k for k, v in enumerate(self.values)}
        rows = [(v.name, v.type, v.op, tuple(number[id(a)] for a in v.args), v.scope) for v in self.values]
        return _loaded, (self.name, rows, [number[id(v)] for v in self.outputs], self.constraints)

    def __str__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        lines = [f"{self.name}({head})"]
        for v in self.values:
            if isinstance(v.op, Input):
                continue
            lines.append(f"  {line(v)}")
        lines.append("  return " + ", ".join(f"{v.name}: {v.dtype}{shape_str(v.shape)}" for v in self.outputs))
        return "\n".join(lines)


class _Finished:
    """What stands for the builder of a graph that was copied or loaded."""

    def __init__(self, name: str) -> None:
        self.name = name

    def pointwise(self, function: str, *operands: Any) -> Value:
        raise GraphError(f"{function}: the graph {self.name!r} was copied or loaded, and takes no more values")

    def getitem(self, x: Any, key: Any) -> Value:
        return self.pointwise("slice")


def _loaded(
    name: str,
    rows: Sequence[tuple[str, TensorType, Operator, tuple[int, ...], str]],
    outputs: Sequence[int],
    constraints: tuple[Constraint, ...],
) -> Graph:
    builder = _Finished(name)
    values: list[Value] = []
    for value, result, op, args, scope in rows:
        values.append(Value(value, result, op, tuple(values[k] for k in args), builder, scope))
    return Graph(name, tuple(values), tuple(values[k] for k in outputs), constraints)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A graph made of another one.

    Attributes:
        origin: id of one of its values -> the value of the other graph that it stands for, or is a part of.
    """

    graph: Graph
    origin: Mapping[int, Value]

    @staticmethod
    def unchanged(graph: Graph) -> Rewritten:
        return Rewritten(graph, {id(v): v for v in graph.values})

    def after(self, first: Rewritten) -> Rewritten:
        """This of a graph that another rewriting made, as one of what that began with."""
        return Rewritten(self.graph, {k: first.origin[id(v)] for k, v in self.origin.items()})
