"""What every family of operators needs: adding a value, accepting a user's operand, normalising axes, broadcasting."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from gscompile.errors import ArgumentError, DTypeError, GraphError, GSError, ShapeError
from gscompile.ir.dims import Constraint, Dim, Shape, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import undecided
from gscompile.ir.ops.base import Operator
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.ops.leaf import Constant
from gscompile.ir.ops.movement import Full, Pointwise
from gscompile.ir.types import DType, TensorType, dtype, promote, result_of_scalar

if TYPE_CHECKING:
    from gscompile.frontend.builder import Builder

T = TypeVar("T")
Scalar: TypeAlias = bool | int | float
Operand: TypeAlias = Any  # a Value, a Python scalar, or an array


def _whole(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a builder that does all of its work or, where it raises, none."""

    @functools.wraps(method)
    def call(self: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
        lists: tuple[list[Any], ...] = (self._values, self._constraints, self._outputs)
        before = [len(kept) for kept in lists]
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self._names.difference_update(v.name for v in self._values[before[0] :])
            for kept, length in zip(lists, before, strict=True):
                del kept[length:]
            raise

    return call


class GraphBuilder:
    """Holds the values added so far, and turns operands into values.

    A public method that raises leaves the builder as it was: no operand that it had turned into a value, and no rule about
    sizes, stays behind.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _whole(method))

    def __init__(self, name: str = "main") -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ArgumentError(f"a graph's name becomes a C function's name: a Python identifier; got {name!r}")
        self.name = name
        self._values: list[Value] = []
        self._names: set[str] = set()
        self._constraints: list[tuple[int, Constraint]] = []  # with the number of the value that needs it
        self._outputs: list[Value] = []
        self._scope = ""

    # -- adding values

    def _add(self, op: Operator, args: Sequence[Value], type: TensorType, name: str | None = None) -> Value:
        if type.rank > 8:
            raise ShapeError(f"{op.name}: rank {type.rank} is above the limit of 8; shape {shape_str(type.shape)}")
        if name is None:
            k = len(self._values)
            while f"{op.name}_{k}" in self._names:
                k += 1
            name = f"{op.name}_{k}"
        elif not isinstance(name, str) or not name.isidentifier():
            raise GraphError(f"{op.name}: a name must be a Python identifier; got {name!r}")
        elif name in self._names:
            raise GraphError(f"{op.name}: the name {name!r} is already used in builder {self.name!r}")
        self._names.add(name)
        value = Value(name, type, op, tuple(args), self._self(), self._scope)
        self._values.append(value)
        return value

    @contextmanager
    def _within(self, scope: str) -> Iterator[None]:
        """What is added, and what goes wrong, is known as this function's; of functions that call others, the outermost's.

        Args:
            scope: what errors call it.
        """
        if self._scope:
            yield
            return
        self._scope = scope
        try:
            yield
        except GSError as e:
            if not str(e).startswith(scope):
                e.args = (f"{scope}: {e}", *e.args[1:])
            raise
        finally:
            self._scope = ""

    def _self(self) -> Builder:
        return self  # type: ignore[return-value]

    def _require(self, rules: Sequence[tuple[str, Dim, Dim, str]]) -> None:
        """Sizes must satisfy these rules: raises now where they cannot, at the call where only it can tell.

        They belong to the value that is added next, and hold at calls of graphs that need it.
        """
        self._constraints.extend((len(self._values), Constraint(*rule)) for rule in undecided(rules))

    # -- accepting operands

    def _value(self, op: str, argument: str, x: Operand) -> Value:
        """A value of this builder; arrays become constants, Python scalars constants of NumPy's default dtype."""
        if isinstance(x, Value):
            if x.builder is not self._self():
                raise GraphError(
                    f"{op}: {argument} is {x.name!r} of builder {x.builder.name!r}; it must belong to this builder, {self.name!r}"
                )
            return x
        if type(x) in (bool, int, float):
            return self._scalar(x, dtype(np.asarray(x).dtype))
        if isinstance(x, (str, bytes)):
            raise DTypeError(f"{op}: {argument} must be a value of this builder, a number or an array; got {x!r}")
        return self._constant(x, f"{op}: {argument}")

    def _constant(self, x: Any, what: str, name: str | None = None) -> Value:
        from gscompile.runtime import arrays

        try:
            array = arrays.as_array(x, None)
            view = arrays.view(array)
        except GSError as e:
            raise type(e)(f"{what}: {e}") from e
        return self._add(Constant(array), [], TensorType(view.shape, view.dtype), name)

    def _scalar(self, x: Scalar, d: DType) -> Value:
        return self._add(Full(scalar_of(x, d, "full")), [], TensorType((), d))

    def _operands(self, op: str, operands: Sequence[Operand], weak_against: slice = slice(None)) -> list[Value]:
        """Operands as values; Python scalars take their dtype from the tensors beside them (NEP 50)."""
        found: list[Value | Scalar] = [
            x if type(x) in (bool, int, float) else self._value(op, f"operand {k}", x) for k, x in enumerate(operands)
        ]
        beside = [v.dtype for v in found[weak_against] if isinstance(v, Value)]
        common = beside[0] if beside else None
        for d in beside[1:]:
            assert common is not None
            common = promote(common, d)
        values = []
        for x in found:
            if isinstance(x, Value):
                values.append(x)
            else:
                d = dtype(np.asarray(x).dtype) if common is None else result_of_scalar(x, common)
                values.append(self._scalar(x, d))
        return values

    # -- shapes and axes

    def _broadcast(self, op: str, shapes: Sequence[Shape]) -> Shape:
        """NumPy's broadcast of shapes; a symbolic size never stretches, so two that differ must agree at the call."""
        rank = max((len(s) for s in shapes), default=0)
        out: list[Dim] = []
        for a in range(rank):
            dims = [s[a - rank + len(s)] for s in shapes if a - rank + len(s) >= 0]
            kept: Dim = 1
            for d in dims:
                if d == 1 or d == kept:
                    continue
                if kept == 1:
                    kept = d
                    continue
                if isinstance(kept, int) and isinstance(d, int):
                    listed = " and ".join(shape_str(s) for s in shapes)
                    raise ShapeError(f"{op}: shapes {listed} do not broadcast: {kept} and {d} on axis {a - rank}")
                self._require([("==", d, kept, f"{op}: operands on axis {a - rank}")])
                if isinstance(d, int):
                    kept = d
            out.append(kept)
        return tuple(out)

    def _pointwise(self, function: str, *operands: Operand, weak_against: slice = slice(None)) -> Value:
        """One row of ``gscompile.ir.ops.elementwise.POINTWISE`` applied to operands that broadcast."""
        values = self._operands(function, operands, weak_against)
        wants, result = POINTWISE[function].signature([v.dtype for v in values])
        shape = self._broadcast(function, [v.shape for v in values])
        return self._add(Pointwise(function, tuple(w.name for w in wants)), values, TensorType(shape, result))


def int_of(op: str, argument: str, x: Any) -> int:
    """A user's int; a bool or a float is not one."""
    if isinstance(x, (bool, np.bool_)) or not hasattr(x, "__index__"):
        raise ArgumentError(f"{op}: {argument} must be an int; got {x!r}")
    return operator.index(x)


def ints_of(op: str, argument: str, x: Any) -> list[int]:
    """A user's sequence of ints."""
    return [int_of(op, argument, a) for a in list_of(op, argument, x, "ints")]


def list_of(op: str, argument: str, x: Any, what: str) -> list[Any]:
    """A user's sequence of ``what``; a str is not one."""
    if isinstance(x, (str, bytes)) or not isinstance(x, Iterable):
        raise ArgumentError(f"{op}: {argument} must be a sequence of {what}; got {x!r}")
    return named(op, argument, list, x)


def named(op: str, argument: str, read: Callable[[Any], T], x: Any) -> T:
    """``read(x)``, whose errors are made to name the operator and the argument."""
    try:
        return read(x)
    except GSError as e:
        raise type(e)(f"{op}: {argument}: {e}") from None


def axis_of(op: str, argument: str, axis: Any, rank: int) -> int:
    """A user's axis as a number in ``[0, rank)``; negative counts from the end."""
    a = int_of(op, argument, axis)
    if not -rank <= a < rank:
        raise ShapeError(f"{op}: {argument} must be in [{-rank}, {rank - 1}] for rank {rank}; got {a}")
    return a % rank


def axes_of(op: str, argument: str, axes: Any, rank: int) -> tuple[int, ...]:
    """A user's axes (one, several, or None for all) as sorted numbers, each once."""
    if axes is None:
        return tuple(range(rank))
    if not isinstance(axes, Iterable):
        axes = [axes]
    found = [axis_of(op, argument, a, rank) for a in axes]
    if len(set(found)) != len(found):
        raise ShapeError(f"{op}: {argument} names an axis twice: {tuple(axes)}")
    return tuple(sorted(found))


def scalar_of(x: Any, d: DType, op: str) -> Scalar:
    """A Python scalar that ``d`` can hold."""
    if hasattr(x, "item"):
        x = x.item()
    if not isinstance(x, (bool, int, float)):
        raise DTypeError(f"{op}: a scalar is needed; got {x!r}")
    if d.kind == "b":
        if x not in (0, 1):
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return bool(x)
    if d.is_integer:
        if (isinstance(x, float) and (not math.isfinite(x) or x != int(x))) or not d.min <= int(x) <= d.max:
            raise DTypeError(f"{op}: {x!r} does not fit {d}")
        return int(x)
    return float(x)


def flag(op: str, argument: str, x: Any) -> bool:
    """A user's True or False."""
    if not isinstance(x, (bool, np.bool_)):
        raise ArgumentError(f"{op}: {argument} must be True or False; got {x!r}")
    return bool(x)
