"""What an operator is.

An operator is a frozen description (its attributes) with a shape rule, ``infer``, and a declaration:

* an :class:`Inline` operator declares one element as an expression of the elements of its arguments, ``element``.  That is
  the body of a ``te.compute``; the lowering composes such functions, so chains of them are never stored;
* a :class:`Stored` operator (scatters and reductions) combines many contributions into a cell.  Its result always has
  storage of its own.

Nothing here mentions threads, vectors or a target.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from gscompile.ir import tir as T
from gscompile.ir.dims import Dim, fold, symbols
from gscompile.ir.tir import Expr, Stmt, Var
from gscompile.ir.types import TensorType

Coords: TypeAlias = Sequence[Expr]


class Element(Protocol):
    """A tensor as a function of coordinates (int64 expressions, one per axis)."""

    @property
    def type(self) -> TensorType: ...

    def __call__(self, *coords: Expr) -> Expr: ...


class Sizes:
    """Turns dimensions into int64 expressions, one variable per symbolic name."""

    def __init__(self, variables: Mapping[str, Var]) -> None:
        self.variables = dict(variables)

    @staticmethod
    def of(names: Sequence[str]) -> Sizes:
        """Fresh variables for these names."""
        return Sizes({n: T.var(n) for n in names})

    def __call__(self, dim: Dim) -> Expr:
        return fold(dim, self.variables.__getitem__, T.const, _EXPR_OPS)

    def shape(self, shape: Sequence[Dim]) -> tuple[Expr, ...]:
        return tuple(self(d) for d in shape)


_EXPR_OPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": T.floordiv,
    "max": T.maximum,
    "min": T.minimum,
}


def shape_symbols(*shapes: Sequence[Dim]) -> list[str]:
    """The names that occur in shapes, sorted."""
    return sorted({n for shape in shapes for d in shape for n in symbols(d)})


def unravel(flat: Expr, shape: Sequence[Dim], sizes: Sizes) -> list[Expr]:
    """Coordinates of a row-major position, in a box that is not empty; axes of extent 1 cost nothing."""
    rest = [a for a, d in enumerate(shape) if d != 1]
    at: dict[int, Expr] = {}
    for a in reversed(rest[1:]):
        extent = (
            sizes(shape[a] or 1) if isinstance(shape[a], int) else sizes(shape[a])
        )  # a box with a 0 is never walked
        at[a] = T.remainder(flat, extent)
        flat = T.quotient(flat, extent)
    if rest:
        at[rest[0]] = flat
    return [at.get(a, T.const(0)) for a in range(len(shape))]


def ravel(coords: Sequence[Expr], shape: Sequence[Dim], sizes: Sizes) -> Expr:
    """The row-major position of coordinates."""
    flat: Expr = T.const(0)
    for c, d in zip(coords, shape, strict=True):
        flat = c if d == 1 and len(shape) == 1 else flat * sizes(d) + c
    return flat


def nested(names: str, extents: Sequence[Expr], body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Serial loops over a box in row-major order."""

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        return body(done) if k == len(extents) else T.for_(extents[k], lambda i: level([*done, i]), f"{names}{k}")

    return level([])


class Operator(ABC):
    """Attributes of one operation; arguments are passed to its methods."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The operator's name, as in the graph's printout and in errors."""

    def attributes(self) -> str:
        """The attributes as the graph's printout shows them."""
        return ""


class Leaf(Operator):
    """A tensor that comes from outside: an input or a constant."""

    __slots__ = ()


class Inline(Operator):
    """An operator whose element is an expression of its arguments' elements."""

    __slots__ = ()

    @abstractmethod
    def element(self, args: Sequence[Element], out: TensorType, coords: Coords, sizes: Sizes) -> Expr:
        """The value at ``coords``."""

    @property
    def cost(self) -> int:
        """Rough scalar instructions per element, its arguments apart."""
        return 1


class Stored(Operator):
    """An operator whose result needs storage: many contributions meet in one cell."""

    __slots__ = ()
