"""Reductions over axes."""

from __future__ import annotations

from typing import Any, cast

from gscompile.errors import DTypeError, ShapeError
from gscompile.frontend import core
from gscompile.frontend.arg_scatter import ARGS
from gscompile.frontend.arguments import Operand, axes_of, axis_of, flag, named, scalar_of
from gscompile.frontend.core import GatherOptions, ScatterOptions
from gscompile.frontend.getitem import GetItemOps
from gscompile.ir.dims import Dim, as_dim, product, shape_str
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.movement import RunNumbers, Slice
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
        _require_offsets(op, o)
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

    def segment_expand(self, x: Operand, offsets: Operand, rows: Any) -> Value:
        """What stands for a run, for each of its rows: ``out[p] = x[s]`` where ``offsets[s] <= p < offsets[s + 1]``.

        It leads back from what :meth:`segment_reduce` gives to the rows that were reduced: torch_scatter's ``gather_csr``,
        ``numpy.repeat(x, lengths, 0)``.

        x: at least one axis, n rows.  offsets: any integer dtype, (n + 1,), ascending from 0 to ``rows``, so that each row is in
        one run.  rows: how many there are: an int, a symbolic size's name, or an entry of some value's ``shape``.

        Result: (rows,) and x's other extents; x's dtype.

        Raises: DTypeError, ShapeError; BoundsError at the call, with the place of an offset and, as its value, the length of the
        run that ends there, if that is not in [0, rows]; with -1, if the first offset is not 0 or the last one not ``rows``.
        """
        op = "segment_expand"
        v, o = self.draft.as_value(op, "x", x), self.draft.as_value(op, "offsets", offsets)
        k = named(op, "rows", as_dim, rows)
        if v.rank == 0:
            raise ShapeError(f"{op}: x must have at least one axis; got a scalar")
        _require_offsets(op, o)
        what = f"{op}: the first axis of x {shape_str(v.shape)} and offsets {shape_str(o.shape)} less one"
        self.draft.require([("<=", 1, o.shape[0], what), ("==", v.shape[0], o.shape[0] - 1, what)])
        numbers = self._run_numbers(op, o, k)
        return core.gather(self.draft, op, v, numbers, IndexMap.take(v.rank, 1), GatherOptions(bounds="trust"))

    def _run_numbers(self, op: str, offsets: Value, rows: Dim) -> Value:
        """The number of the run that each of so many rows is in: the same value where it is asked for again."""
        values, known = self.draft.values, self.draft.run_numbers
        place, found = known.get((id(offsets), rows), (len(values), offsets))
        if place < len(values) and values[place] is found:  # it has not been rewound
            return found
        n, at, through = offsets.shape[0] - 1, self.cast(offsets, "int64"), IndexMap.take(1, 1)

        def part(x: Value, start: Dim, extent: Dim) -> Value:
            return self.draft.add(Slice((start,), (1,)), [x], TensorType((extent,), x.dtype))

        # each run's length, and before and after them 0 where the first one begins at 0 and the last one ends at rows, else -1
        zero, begins = self.zeros((), "int64"), part(at, 0, n)
        begin, end = self.eq(part(at, 0, 1), 0), self.eq(part(at, n, 1), self.size(rows))
        lengths = self.concat([self.where(begin, zero, -1), part(at, 1, n) - begins, self.where(end, zero, -1)])
        # taking from 0..rows gives them themselves, checked
        checked = core.gather(self.draft, op, self.iota((rows + 1,)), lengths, through, GatherOptions(negative=False))
        options = ScatterOptions(reduction="add", bounds="trust", sorted=True)
        zeros = self.zeros((rows + 1,), "int64")
        ended = core.scatter(self.draft, op, zeros, begins + part(checked, 1, n), 1, through, options)
        found = self.draft.add(RunNumbers(), [self.cumsum(ended), offsets], TensorType((rows,), DTYPES["int64"]))
        known[id(offsets), rows] = len(values) - 1, found
        return found


def _require_offsets(op: str, offsets: Value) -> None:
    if not offsets.dtype.is_integer:
        raise DTypeError(f"{op}: offsets must have an integer dtype; got {offsets.dtype}")
    if offsets.rank != 1 or offsets.shape[0] == 0:
        raise ShapeError(f"{op}: offsets must have one axis, of at least one element; got {shape_str(offsets.shape)}")
