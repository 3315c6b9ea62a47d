"""The graph: frozen, typed values in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterator
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

    __hash__ = object.__hash__
    __array_ufunc__ = None  # a NumPy array on the left leaves the operation to this class

    def __bool__(self) -> bool:
        raise GraphError(f"{self.name} is a value of a graph: it has no truth value until the graph is run")

    def __iter__(self) -> Iterator[Value]:
        raise GraphError(f"{self.name} is a value of a graph and cannot be iterated over")

    def __getitem__(self, key: Any) -> Value:
        return self.builder.getitem(self, key)


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

    def __str__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        lines = [f"{self.name}({head})"]
        for v in self.values:
            if isinstance(v.op, Input):
                continue
            inner = ", ".join([*(a.name for a in v.args), *filter(None, [v.op.attributes()])])
            lines.append(f"  {v.name}: {v.type} = {v.op.name}({inner})")
        lines.append("  return " + ", ".join(f"{v.name}: {v.dtype}{shape_str(v.shape)}" for v in self.outputs))
        return "\n".join(lines)
