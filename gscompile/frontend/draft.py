"""The graph that a builder is making, and what every family of operators needs: adding a value, accepting a user's operand.

This is the interface for authors of operators: a builder's methods, and dialects, call ``b.draft.require(..)``,
``b.draft.broadcast(..)`` and ``b.draft.add(..)``.  Users call the builder's methods.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from gscompile.errors import ArgumentError, BoundsError, DTypeError, GraphError, GSError, ShapeError
from gscompile.frontend.arguments import NUMBERS, Operand, Scalar, named, scalar_of
from gscompile.ir.dims import Constraint, Dim, Shape, SymDim, at_most_one, shape_str
from gscompile.ir.graph import Operators, Value
from gscompile.ir.index_map import undecided
from gscompile.ir.ops.base import Operator
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.ops.leaf import Constant
from gscompile.ir.ops.movement import Cast, Full, Pointwise
from gscompile.ir.types import DType, TensorType, dtype, promote, result_of_scalar
from gscompile.runtime import arrays


class Draft:
    """The values added so far, and the rules about sizes that they need.

    Attributes:
        name: the graph's.
        builder: whose methods the values' operators (``x + y``) call.
        values: in the order in which they were added.
        names: theirs.
        constraints: each with the number of the value that needs it.
        outputs: in the order of the results.
        scope: the function that is adding values, where that is not the builder's own; see :meth:`within`.
        run_numbers: (id of offsets, rows) -> the numbers of the runs of so many rows, and their place among the values.
        busy: whether a method of the builder is running, so that another one is called by it, not by the user.
    """

    def __init__(self, name: str, builder: Operators) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ArgumentError(f"a graph's name becomes a C function's name: a Python identifier; got {name!r}")
        self.name = name
        self.builder = builder
        self.values: list[Value] = []
        self.constraints: list[tuple[int, Constraint]] = []
        self.outputs: list[Value] = []
        self.scope = ""
        self.run_numbers: dict[tuple[int, Dim], tuple[int, Value]] = {}
        self.busy = False
        self.names: set[str] = set()

    # -- adding values

    def add(self, op: Operator, args: Sequence[Value], result: TensorType, name: str | None = None) -> Value:
        """A new value, of type ``result``: what ``op`` computes from ``args``.

        Raises:
            GraphError: the name is no identifier, or taken.  ShapeError: the rank is above 8, or its bytes above int64's range.
            DTypeError: ``op`` computes with elements that can only be moved.
        """
        if result.rank > 8:
            raise ShapeError(f"{op.name}: rank {result.rank} is above the limit of 8; shape {shape_str(result.shape)}")
        refuse_numbers_of(op, args, result)
        if name is None:
            k = len(self.values)
            while f"{op.name}_{k}" in self.names:
                k += 1
            name = f"{op.name}_{k}"
        elif not isinstance(name, str) or not name.isidentifier():
            raise GraphError(f"{op.name}: a name must be a Python identifier; got {name!r}")
        elif name in self.names:
            raise GraphError(f"{op.name}: the name {name!r} is already used in builder {self.name!r}")
        result.check_size(f"{op.name}: {name}")
        self.names.add(name)
        value = Value(name, result, op, tuple(args), self.builder, self.scope)
        self.values.append(value)
        return value

    def require(self, rules: Sequence[tuple[str, Dim, Dim, str]]) -> None:
        """Sizes must satisfy these rules, each ``(relation, left, right, what it is about)``, relation ``"=="`` or ``"<="``.

        They belong to the value that is added next, and hold at calls of graphs that need it.

        Raises:
            ShapeError: a rule is broken already; one that only a call can tell is kept for it.
        """
        self.constraints.extend((len(self.values), Constraint(*rule)) for rule in undecided(rules))

    @contextmanager
    def within(self, scope: str) -> Iterator[None]:
        """What is added, and what goes wrong, is known as this function's; where functions call others, as the outermost's.

        Args:
            scope: what errors call it.
        """
        if self.scope:
            yield
            return
        self.scope = scope
        try:
            yield
        except GSError as e:
            called_as(scope, e)
            raise
        finally:
            self.scope = ""

    def mark(self) -> tuple[int, int, int]:
        """How far the draft has come, for :meth:`rewind`."""
        return len(self.values), len(self.constraints), len(self.outputs)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Forget all that was added since a mark."""
        self.names.difference_update(v.name for v in self.values[mark[0] :])
        del self.values[mark[0] :], self.constraints[mark[1] :], self.outputs[mark[2] :]

    # -- accepting operands

    def as_value(self, op: str, argument: str, x: Operand) -> Value:
        """A value of this graph; arrays become constants, Python scalars constants of NumPy's default dtype.

        Raises:
            GraphError: ``x`` is another builder's.  DTypeError: it is neither a number nor an array.
        """
        if isinstance(x, Value):
            if x.builder is not self.builder:
                raise GraphError(
                    f"{op}: {argument} is {x.name!r} of builder {x.builder.name!r}; it must belong to this builder, {self.name!r}"
                )
            return x
        if type(x) in NUMBERS:
            return self.scalar(x, dtype(np.asarray(x).dtype))
        if isinstance(x, (str, bytes)):
            raise DTypeError(f"{op}: {argument} must be a value of this builder, a number or an array; got {x!r}")
        return self.constant(x, f"{op}: {argument}")

    def constant(self, x: Any, what: str, name: str | None = None) -> Value:
        """An array, not copied; ``what`` is what errors call it."""
        try:
            array = arrays.as_array(x, None)
            view = arrays.operand(array)
        except GSError as e:
            raise type(e)(f"{what}: {e}") from e
        return self.add(Constant(array), [], TensorType(view.shape, view.dtype), name)

    def scalar(self, x: Scalar, d: DType) -> Value:
        """A number, as a tensor of no axes."""
        return self.add(Full(scalar_of(x, d, "full")), [], TensorType((), d))

    def operands(self, op: str, operands: Sequence[Operand], weak_against: slice = slice(None)) -> list[Value]:
        """Operands as values; Python scalars take their dtype from the tensors beside them (NEP 50).

        Args:
            weak_against: which of the operands those tensors are.
        """
        found: list[Value | Scalar] = [
            x if type(x) in NUMBERS else self.as_value(op, f"operand {k}", x) for k, x in enumerate(operands)
        ]
        beside = [v.dtype for v in found[weak_against] if isinstance(v, Value)]
        common = named(op, "operands", functools.partial(functools.reduce, promote), beside) if beside else None
        values = []
        for x in found:
            if isinstance(x, Value):
                values.append(x)
            else:
                d = dtype(np.asarray(x).dtype) if common is None else result_of_scalar(x, common)
                values.append(self.scalar(x, d))
        return values

    def broadcast(self, op: str, shapes: Sequence[Shape]) -> Shape:
        """NumPy's broadcast of shapes; a symbolic size never stretches, so two that differ must agree at the call.

        One that is 0 or 1 whatever the sizes are, as the extent of ``x[:1]`` is, stretches where it is 1.

        Raises:
            ShapeError: two extents differ and neither is 1.
        """
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
                self.require([(*stretch(d, kept), f"{op}: operands on axis {a - rank}")])
                if isinstance(d, int) or (isinstance(kept, SymDim) and at_most_one(kept)):
                    kept = d
            out.append(kept)
        return tuple(out)

    def pointwise(self, function: str, *operands: Operand, weak_against: slice = slice(None)) -> Value:
        """One row of ``gscompile.ir.ops.elementwise.POINTWISE`` applied to operands that broadcast."""
        values = self.operands(function, operands, weak_against)
        row = POINTWISE[function]
        wants, result = row.signature([v.dtype for v in values])
        shape = self.broadcast(function, [v.shape for v in values])
        if row.cost >= COSTLY and any(w.is_float and w.bits == 8 for w in wants):
            wide = [self.cast(self.cast(v, w), w.compute) for v, w in zip(values, wants, strict=True)]
            return self.cast(self.pointwise(function, *wide), result)
        return self.add(Pointwise(function, tuple(w.name for w in wants)), values, TensorType(shape, result))

    def cast(self, x: Value, to: DType) -> Value:
        """``x`` in another dtype, or as it is."""
        return x if x.dtype == to else self.add(Cast(to.name), [x], TensorType(x.shape, to))


def refuse_numbers_of(op: Operator, args: Sequence[Value], result: TensorType) -> None:
    """Raises DTypeError where an operator computes with elements of a dtype that is moved only."""
    opaque = [v.dtype for k, v in enumerate(args) if v.dtype.kind == "V" and not op.moves(k)]
    if result.dtype.kind == "V" and not any(a.dtype == result.dtype for a in args) and (args or not op.moves(0)):
        opaque.append(result.dtype)
    if opaque:
        raise moved_only(op.name, opaque[0])


def moved_only(op: str, dtype: DType) -> DTypeError:
    """What is raised where an operator computes with elements of such a dtype."""
    return DTypeError(f"{op}: elements of {dtype} can be moved, but not computed with")


def stretch(a: Dim, b: Dim) -> tuple[str, Dim, Dim]:
    """The rule by which two extents broadcast, neither of which is the number 1: that they are equal.

    Where one of them is a size of 0 or 1, the product of both is the other.
    """
    for short, long in ((a, b), (b, a)):
        if isinstance(short, SymDim) and at_most_one(short) and (isinstance(long, int) or not at_most_one(long)):
            return "==", short * long, long
    return "==", a, b


COSTLY = 10  # instructions of a function which, with an 8-bit float decoded and encoded in it, is too much for one expression
CALLED = set(POINTWISE)  # names of functions that an error's message may begin with
_OTHERS_ERRORS = frozenset(
    {"pointwise", "graph", "build", "check_status"}
)  # methods whose errors are about what was called before, or named


def called_as(name: str, error: GSError) -> None:
    """Make an error's message begin with the function that the user called, rather than with one that this is made of."""
    message = str(error)
    if not re.match(re.escape(name) + r"(?!\w)", message):
        error.args = (f"{name}: {without_callee(message)}", *error.args[1:])
    if isinstance(error, BoundsError):
        error.op = name


def without_callee(message: str, *others: str) -> str:
    """A message without the name that it begins with, if that is a builder's or a dialect's function, or one of ``others``."""
    first, _, rest = message.partition(": ")
    return rest if rest and (first in CALLED or first in others) else message


def public(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a builder that does all of its work or, where it raises, none; errors are in the outermost one's name."""
    name = method.__name__
    CALLED.add(name)

    @functools.wraps(method)
    def call(self: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
        draft = self.draft
        mark, outermost = draft.mark(), not draft.busy
        draft.busy = True
        try:
            return method(self, *args, **kwargs)
        except BaseException as e:
            draft.rewind(mark)
            if outermost and name not in _OTHERS_ERRORS and isinstance(e, GSError):
                called_as(name, e)
            raise
        finally:
            draft.busy = not outermost

    return call


class GraphBuilder:
    """What the families of operators extend, one after the other.

    A public method that raises leaves the builder as it was: no operand that it had turned into a value, and no rule about
    sizes, stays behind.

    Attributes:
        name: the graph's.
        draft: the graph as it stands, for authors of operators.
    """

    name: str
    draft: Draft

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, public(method))
