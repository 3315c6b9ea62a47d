"""Reductions over axes."""

from __future__ import annotations

from typing import Any, cast

from gscompile.errors import DTypeError, ShapeError
from gscompile.frontend import core
from gscompile.frontend.arg_scatter import ARGS
from gscompile.frontend.arguments import Operand, axes_of, axis_of, flag, scalar_of
from gscompile.frontend.core import GatherOptions
from gscompile.frontend.getitem import GetItemOps
from gscompile.ir.dims import product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.reduce import ArgReduce, Reduce, SegmentArg, SegmentReduce, reduced_shape
from gscompile.ir.ops.reductions import FOLDS, fold
from gscompile.ir.ops.scan import Scan
from gscompile.ir.types import DTYPES, TensorType
from gscompile.ir.types import dtype as as_dtype


class ReduceOps(GetItemOps):
    """``axis`` is one axis, several, or None for all.  Sums of 16-bit floats accumulate in float32."""

    def _reduce(self, name: str, x: Operand, axis: Any, keepdims: bool) -> Value:
        v = self.draft.as_value(name, "x", x)
        over = axes_of(name, "axis", axis, v.rank)
        row = FOLDS[name]
        keep = flag(name, "keepdims", keepdims)
        result = TensorType(reduced_shape(v.shape, over, keep), row.result(v.dtype))
        if row.needs_element and product(v.shape[a] for a in over) == 0:
            raise ShapeError(f"{name}: of no elements has no value; shape {shape_str(v.shape)}, axis {over}")
        return self.draft.add(Reduce(row, over, keep), [v], result)

    def sum(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """The sum; integers and bool in 64 bits, as in NumPy."""
        return self._reduce("sum", x, axis, keepdims)

    def prod(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """The product; integers and bool in 64 bits, as in NumPy."""
        return self._reduce("prod", x, axis, keepdims)

    def mean(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """The mean; of integers in float64, of no elements NaN."""
        return self._reduce("mean", x, axis, keepdims)

    def max(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """The largest; NaN if any is."""
        return self._reduce("max", x, axis, keepdims)

    def min(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """The smallest; NaN if any is."""
        return self._reduce("min", x, axis, keepdims)

    def any(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether any element is not 0."""
        return self._reduce("any", x, axis, keepdims)

    def all(self, x: Operand, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether every element is not 0."""
        return self._reduce("all", x, axis, keepdims)

    def _arg(self, largest: bool, x: Operand, axis: int | None, keepdims: bool, select_last: bool) -> Value:
        name = "argmax" if largest else "argmin"
        v = self.draft.as_value(name, "x", x)
        keep, last = flag(name, "keepdims", keepdims), flag(name, "select_last", select_last)
        if v.dtype.is_complex:
            raise DTypeError(f"{name}: is not defined for {v.dtype}")
        flat = v if axis is not None else self.reshape(v, (product(v.shape),))
        a = 0 if axis is None else axis_of(name, "axis", axis, v.rank)
        result = TensorType(reduced_shape(flat.shape, (a,), keep), DTYPES["int64"])
        if flat.shape[a] == 0:
            raise ShapeError(f"{name}: of no elements has no value; shape {shape_str(v.shape)}, axis {axis}")
        best = self.draft.add(ArgReduce(largest, a, keep, last), [flat], result)
        return self.reshape(best, (1,) * v.rank) if axis is None and keep else best

    def argmax(self, x: Operand, axis: int | None = None, keepdims: bool = False, select_last: bool = False) -> Value:
        """Position of the largest along ``axis`` (of all in row-major order for None): the first of equals, or the last."""
        return self._arg(True, x, axis, keepdims, select_last)

    def argmin(self, x: Operand, axis: int | None = None, keepdims: bool = False, select_last: bool = False) -> Value:
        """Position of the smallest along ``axis`` (of all in row-major order for None): the first of equals, or the last."""
        return self._arg(False, x, axis, keepdims, select_last)

    def _scan(self, name: str, fold: str, x: Operand, axis: int, exclusive: bool, reverse: bool, result: Any) -> Value:
        v = self.draft.as_value(name, "x", x)
        row = FOLDS[fold]
        d = row.result(v.dtype) if result is None else as_dtype(result)
        flat = v if v.rank else self.reshape(v, (1,))
        a = axis_of(name, "axis", axis, flat.rank)
        op = Scan(name, row, a, flag(name, "exclusive", exclusive), flag(name, "reverse", reverse))
        return self.draft.add(op, [flat], TensorType(flat.shape, d))

    def cumsum(
        self, x: Operand, axis: int = 0, *, exclusive: bool = False, reverse: bool = False, dtype: Any = None
    ) -> Value:
        """Sums of the elements up to each one along ``axis``: ``out[k] = x[0] + .. + x[k]``.

        exclusive: without the element itself, so that the first is 0.  reverse: from the axis's end: ``x[k] + .. + x[-1]``.
        dtype: of the result, to which elements are cast first; by default integers and bool become 64 bits wide, as in NumPy.

        Result: x's shape, (1,) of a scalar.  Integers wrap.  Sums of 16-bit floats accumulate in float32, and each is rounded.
        A long axis is summed in blocks, whose size depends on the shape alone: floats may round otherwise than one after the
        other, but always in the same way.

        Raises: ArgumentError, DTypeError, ShapeError.
        """
        return self._scan("cumsum", "sum", x, axis, exclusive, reverse, dtype)

    def cumprod(
        self, x: Operand, axis: int = 0, *, exclusive: bool = False, reverse: bool = False, dtype: Any = None
    ) -> Value:
        """Products of the elements up to each one along ``axis``: :meth:`cumsum`, but the first exclusive one is 1."""
        return self._scan("cumprod", "prod", x, axis, exclusive, reverse, dtype)

    def segment_reduce(
        self, x: Operand, offsets: Operand, reduction: str = "sum", *, empty: float | None = None
    ) -> Value:
        """Reductions of runs of rows: ``out[s] = reduction of x[offsets[s]:offsets[s + 1]]`` over axis 0.

        x: at least one axis, k rows.  offsets: any integer dtype, (n + 1,), each in [0, k]; a run that ends before it
        begins is empty.  reduction: ``sum prod mean max min any all``, with the dtypes that the methods of these names have;
        scatters' words for them are understood.
        empty: the value of an empty run; by default the reduction's identity (0 for a mean).

        Result: (n,) and x's other extents.  ``argmax`` and ``argmin`` give two values: the largest or smallest, and the row of x
        that the first of equals is, int64; for an empty run that is k, and NaN beats every number.

        Raises: ArgumentError, DTypeError, ShapeError; BoundsError at the call for an offset that is not in [0, k].
        """
        op, arg = "segment_reduce", reduction if isinstance(reduction, str) and reduction in ARGS else None
        row = fold(reduction if arg is None else arg.removeprefix("arg"), op)
        v, o = self.draft.as_value(op, "x", x), self.draft.as_value(op, "offsets", offsets)
        if v.rank == 0:
            raise ShapeError(f"{op}: x must have at least one axis; got a scalar")
        if not o.dtype.is_integer:
            raise DTypeError(f"{op}: offsets must have an integer dtype; got {o.dtype}")
        if o.rank != 1 or o.shape[0] == 0:
            raise ShapeError(f"{op}: offsets must have one axis, of at least one element; got {shape_str(o.shape)}")
        # taking from 0..k gives the offsets themselves, checked
        places = self.iota((v.shape[0] + 1,))
        inside = core.gather(self.draft, op, places, o, IndexMap.take(1, 1), GatherOptions(negative=False))
        begin, end = inside[:-1], inside[1:]
        result = row.result(v.dtype)
        value = None if empty is None else scalar_of(empty, result, f"{op}: empty")
        rows = TensorType((begin.shape[0], *v.shape[1:]), result)
        folded = self.draft.add(SegmentReduce(row, value), [v, begin, end], rows)
        if arg is None:
            return folded
        at = TensorType(rows.shape, DTYPES["int64"])
        pair = folded, self.draft.add(SegmentArg(ArgReduce(arg == "argmax", 0, False)), [v, begin, end], at)
        return cast(Value, pair)
