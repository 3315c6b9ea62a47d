"""Coordinates as expressions: sizes, tensors as functions of a position, and loops over a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from gscompile.errors import ShapeError
from gscompile.ir import tir as T
from gscompile.ir.dims import INT64_MAX, Dim, SymDim, fold
from gscompile.ir.reserved import in_code
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
        return Sizes({n: T.var(in_code(n)) for n in names})

    def __call__(self, dim: Dim) -> Expr:
        return fold(dim, self.variables.__getitem__, _number, _EXPR_OPS)

    def shape(self, shape: Sequence[Dim]) -> tuple[Expr, ...]:
        return tuple(self(d) for d in shape)

    def dim(self, extent: Expr) -> Dim | None:
        """The dimension of a number or a size; None for what is computed from them."""
        known = T.constant_value(extent)
        if known is not None:
            return known
        return next((SymDim.var(name) for name, v in self.variables.items() if v.same_as(extent)), None)


def _number(value: int) -> Expr:
    if not -INT64_MAX <= value <= INT64_MAX:
        raise ShapeError(f"a size would need the number {value}, which int64 cannot hold")
    return T.const(value)


_EXPR_OPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "floordiv": T.floordiv,
    "max": T.maximum,
    "min": T.minimum,
}


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


def nested(names: str, extents: Sequence[Expr], body: Callable[[list[Expr]], Stmt], one_copy: bool = False) -> Stmt:
    """Serial loops over a box in row-major order; ``one_copy`` as :func:`gscompile.ir.tir.for_` takes it."""

    def level(done: list[Expr]) -> Stmt:
        k = len(done)
        if k == len(extents):
            return body(done)
        return T.for_(extents[k], lambda i: level([*done, i]), f"{names}{k}", one_copy)

    return level([])
