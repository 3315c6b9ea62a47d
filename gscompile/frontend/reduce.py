"""Reductions over axes."""

from __future__ import annotations

from typing import Any

from gscompile.dims import product, shape_str
from gscompile.errors import ShapeError
from gscompile.frontend.base import GraphBuilder, Operand, axes_of, axis_of, flag
from gscompile.graph import Value
from gscompile.ops.reduce import ArgReduce, Reduce, fold, reduced_shape
from gscompile.types import DTYPES, TensorType


class ReduceOps(GraphBuilder):
    """``axes`` is one axis, several, or None for all.  Sums of 16-bit floats accumulate in float32."""

    def _reduce(self, name: str, x: Operand, axes: Any, keepdims: bool) -> Value:
        v = self._value(name, "x", x)
        over = axes_of(name, "axes", axes, v.rank)
        row = fold(name, v.dtype)
        keep = flag(name, "keepdims", keepdims)
        type = TensorType(reduced_shape(v.shape, over, keep), row.result(v.dtype))
        if row.needs_element and product(v.shape[a] for a in over) == 0:
            raise ShapeError(f"{name}: of no elements has no value; shape {shape_str(v.shape)}, axes {over}")
        return self._add(Reduce(row, over, keep), [v], type)

    def sum(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """The sum; integers and bool in 64 bits, as in NumPy."""
        return self._reduce("sum", x, axes, keepdims)

    def prod(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """The product; integers and bool in 64 bits, as in NumPy."""
        return self._reduce("prod", x, axes, keepdims)

    def mean(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """The mean; of integers in float64, of no elements NaN."""
        return self._reduce("mean", x, axes, keepdims)

    def max(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """The largest; NaN if any is."""
        return self._reduce("max", x, axes, keepdims)

    def min(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """The smallest; NaN if any is."""
        return self._reduce("min", x, axes, keepdims)

    def any(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """Whether any element is not 0."""
        return self._reduce("any", x, axes, keepdims)

    def all(self, x: Operand, axes: Any = None, keepdims: bool = False) -> Value:
        """Whether every element is not 0."""
        return self._reduce("all", x, axes, keepdims)

    def _arg(self, largest: bool, x: Operand, axis: int | None, keepdims: bool, select_last: bool) -> Value:
        name = "argmax" if largest else "argmin"
        v = self._value(name, "x", x)
        keep, last = flag(name, "keepdims", keepdims), flag(name, "select_last", select_last)
        flat = v if axis is not None else self._self().reshape(v, (product(v.shape),))
        a = 0 if axis is None else axis_of(name, "axis", axis, v.rank)
        type = TensorType(reduced_shape(flat.shape, (a,), keep), DTYPES["int64"])
        if flat.shape[a] == 0:
            raise ShapeError(f"{name}: of no elements has no value; shape {shape_str(v.shape)}, axis {axis}")
        best = self._add(ArgReduce(largest, a, keep, last), [flat], type)
        return self._self().reshape(best, (1,) * v.rank) if axis is None and keep else best

    def argmax(self, x: Operand, axis: int | None = None, keepdims: bool = False, select_last: bool = False) -> Value:
        """Position of the largest along ``axis`` (of all in row-major order for None): the first of equals, or the last."""
        return self._arg(True, x, axis, keepdims, select_last)

    def argmin(self, x: Operand, axis: int | None = None, keepdims: bool = False, select_last: bool = False) -> Value:
        """Position of the smallest along ``axis`` (of all in row-major order for None): the first of equals, or the last."""
        return self._arg(False, x, axis, keepdims, select_last)
