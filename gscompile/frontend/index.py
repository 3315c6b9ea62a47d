"""Gather and scatter: each operator is one index map handed to one of two cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gscompile.compiler.bounds_errors import empty_axis
from gscompile.errors import ArgumentError, DTypeError, ShapeError
from gscompile.frontend.base import GraphBuilder, Operand, axis_of, flag, int_of, ints_of, scalar_of
from gscompile.ir.bounds import Bounds
from gscompile.ir.bounds import bounds as bounds_of
from gscompile.ir.dims import Shape, product, shape_str, shape_symbols
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap, element_map, nd_dims_map, nd_map, take_map
from gscompile.ir.ops.addressing import Addressing
from gscompile.ir.ops.gather import Gather
from gscompile.ir.ops.movement import Full
from gscompile.ir.ops.reductions import Reduction
from gscompile.ir.ops.reductions import reduction as reduction_of
from gscompile.ir.ops.scatter import Scatter
from gscompile.ir.types import TensorType


class IndexOps(GraphBuilder):
    """``gather gather_nd take gather_map`` and ``scatter scatter_nd put scatter_map``.

    Common to all of them:

    index: any integer dtype; a value means its value, whatever the dtype.
    bounds: ``"raise"`` (default), ``"clip"``, ``"wrap"``, ``"fill"`` or ``"trust"``; see :mod:`gscompile.ir.bounds`.
    negative: a negative index counts from the end, once.  ``bounds="clip", negative=False`` is NumPy's clip.
    fill (gather): what ``bounds="fill"`` gives for a point out of range.

    Scatters return a new tensor of data's type; with ``out=`` aliasing data at the call they write in place.

    src: data's dtype; a scalar stands for a tensor of that value.
    reduction: ``update add sub mul min max mean``.  Duplicates: points that hit one cell are combined in row-major order of
        src; with ``update`` the last one wins.  That is exact and repeatable on llvm for any number of threads, though
        floating-point ``add mul`` with at least 16 points a cell may be taken in several stretches, as many as the sizes say,
        that are combined in order.  On cuda, floating-point ``add sub mul mean`` use atomics in no fixed order.
        ``deterministic=True`` keeps the row-major order everywhere.
    include_self: whether data's own value takes part where some point hits.
    unique: a promise that no two points hit one cell.

    Errors: ShapeError, DTypeError, ArgumentError when the graph is built; BoundsError when it is run (already when it is
    built, if an axis is certainly empty and the index certainly is not).
    """

    def gather(
        self,
        data: Operand,
        index: Operand,
        dim: int = 0,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: float = 0,
        name: str | None = None,
    ) -> Value:
        """``out[i0, .., iK] = data[i0, .., index[i0, .., iK], .., iK]`` with the index on axis ``dim``.

        torch.gather, ONNX GatherElements, CINN gather (design document, 1.1).  index has data's rank; on the other axes its
        extent is at most data's.  Result: index's shape, data's dtype.
        """
        d, i = self._pair("gather", data, index)
        map = element_map(d.rank, axis_of("gather", "dim", dim, d.rank))
        return self._gather("gather", d, i, map, bounds, negative, fill, name)

    def gather_nd(
        self,
        data: Operand,
        index: Operand,
        dims: Sequence[int] | None = None,
        batch_dims: int = 0,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: float = 0,
        name: str | None = None,
    ) -> Value:
        """Index vectors along index's last axis.

        ``dims=None``: ONNX and TensorFlow GatherND.  The first ``batch_dims`` axes are shared (equal extents), the vector's m
        components index the next m axes of data, the rest are slices:
        ``out.shape = index.shape[:-1] + data.shape[batch_dims + m:]``.

        ``dims=[...]``: CINN gather_nd (design document, 1.2).  index has data's rank plus one; component k indexes axis
        ``dims[k]``, every other axis is shared: ``out.shape = index.shape[:-1]``.
        """
        d, i = self._pair("gather_nd", data, index)
        map = self._nd_map("gather_nd", d, i, dims, batch_dims)
        return self._gather("gather_nd", d, i, map, bounds, negative, fill, name)

    def take(
        self,
        data: Operand,
        index: Operand,
        axis: int = 0,
        batch_dims: int = 0,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: float = 0,
        name: str | None = None,
    ) -> Value:
        """Slices of data along ``axis``: ONNX, NumPy, TensorFlow and OpenVINO Gather.

        ``out.shape = data.shape[:axis] + index.shape[batch_dims:] + data.shape[axis + 1:]``; the first ``batch_dims`` axes
        are shared (equal extents; negative counts from index's rank) and ``batch_dims <= axis``.
        """
        d, i = self._pair("take", data, index)
        map = self._take_map("take", d, i, axis, batch_dims)
        return self._gather("take", d, i, map, bounds, negative, fill, name)

    def gather_map(
        self,
        data: Operand,
        index: Operand,
        map: IndexMap,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: float = 0,
        name: str | None = None,
    ) -> Value:
        """``out[p] = data[map(p)]`` for any :class:`~gscompile.ir.index_map.IndexMap`, XLA's Gather included.

        A slice that lies partly outside is as a whole out of range: ``clip`` moves its start (XLA), ``fill`` fills all of it.
        Result: shape ``map.points_shape(data.shape, index.shape)``, data's dtype.
        """
        d, i = self._pair("gather_map", data, index)
        return self._gather("gather_map", d, i, map, bounds, negative, fill, name)

    def scatter(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        dim: int = 0,
        *,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """``out[i0, .., index[i0, .., iK], .., iK] = reduce(.., src[i0, .., iK])`` with the index on axis ``dim``.

        The mirror of :meth:`gather`: torch.scatter, ONNX ScatterElements, CINN scatter (design document, 2.1).  src has
        index's shape.  Result: data's shape and dtype.
        """
        d, i = self._pair("scatter", data, index)
        map = element_map(d.rank, axis_of("scatter", "dim", dim, d.rank))
        return self._scatter(
            "scatter", d, i, src, map, reduction, include_self, bounds, negative, unique, deterministic, name
        )

    def scatter_nd(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        dims: Sequence[int] | None = None,
        batch_dims: int = 0,
        *,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """The mirror of :meth:`gather_nd`: ONNX ScatterND, TensorFlow tensor_scatter_nd, CINN scatter_nd with ``dims``.

        src has the shape that gather_nd's result has: ``index.shape[:-1] + data.shape[batch_dims + m:]``, with ``dims``
        ``index.shape[:-1]``.  Result: data's shape and dtype.
        """
        d, i = self._pair("scatter_nd", data, index)
        map = self._nd_map("scatter_nd", d, i, dims, batch_dims)
        return self._scatter(
            "scatter_nd", d, i, src, map, reduction, include_self, bounds, negative, unique, deterministic, name
        )

    def put(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        axis: int = 0,
        batch_dims: int = 0,
        *,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """The mirror of :meth:`take`: torch index_add (``reduction="add"``) and index_copy (``"update"``), segment sums.

        src has the shape that take's result has: ``data.shape[:axis] + index.shape[batch_dims:] + data.shape[axis + 1:]``.
        Result: data's shape and dtype.
        """
        d, i = self._pair("put", data, index)
        map = self._take_map("put", d, i, axis, batch_dims)
        return self._scatter(
            "put", d, i, src, map, reduction, include_self, bounds, negative, unique, deterministic, name
        )

    def scatter_map(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        map: IndexMap,
        *,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """``out[map(p)] = reduce(out[map(p)], src[p])`` for any index map; ``fill`` drops a slice that lies partly outside.

        src has the shape ``map.points_shape(data.shape, index.shape)``.  Result: data's shape and dtype.
        """
        d, i = self._pair("scatter_map", data, index)
        return self._scatter(
            "scatter_map", d, i, src, map, reduction, include_self, bounds, negative, unique, deterministic, name
        )

    # -- the two cores

    def _gather(
        self,
        op: str,
        data: Value,
        index: Value,
        map: IndexMap,
        bounds: str,
        negative: bool,
        fill: Any,
        name: str | None,
    ) -> Value:
        addressing = self._addressing(op, data, index, map, bounds, negative)
        value = scalar_of(fill, data.dtype, f"{op}: fill") if addressing.bounds is Bounds.FILL else 0
        type = TensorType(map.points_shape(data.shape, index.shape), data.dtype)
        return self._add(Gather(op, addressing, value), [data, index], type, name)

    def _scatter(
        self,
        op: str,
        data: Value,
        index: Value,
        src: Operand,
        map: IndexMap,
        reduction: str | Reduction,
        include_self: bool,
        bounds: str,
        negative: bool,
        unique: bool,
        deterministic: bool,
        name: str | None,
        lane: int = 0,
        lanes: Sequence[Value] = (),
    ) -> Value:
        """A scatter; where the reduction combines several tensors at once, one lane of it, given the operands of all."""
        reduce = reduction_of(reduction, op)
        reduce.check(op, data.dtype)
        if reduce.ordered and not include_self:
            raise ArgumentError(f"{op}: an update computation begins with what is there: include_self must be True")
        addressing = self._addressing(op, data, index, map, bounds, negative)
        points = map.points_shape(data.shape, index.shape)
        if isinstance(src, (bool, int, float)):
            source = self._add(Full(scalar_of(src, data.dtype, f"{op}: src")), [], TensorType(points, data.dtype))
        else:
            source = self._value(op, "src", src)
        if source.dtype != data.dtype:
            raise DTypeError(f"{op}: src must have data's dtype {data.dtype}; got {source.dtype}")
        if source.rank != len(points):
            raise ShapeError(f"{op}: src must have shape {shape_str(points)}; got {shape_str(source.shape)}")
        self._require(
            [
                ("==", got, want, f"{op}: src {shape_str(source.shape)} on axis {a}")
                for a, (got, want) in enumerate(zip(source.shape, points, strict=True))
            ]
        )
        node = Scatter(
            op,
            addressing,
            reduce,
            flag(op, "include_self", include_self),
            flag(op, "unique", unique),
            flag(op, "deterministic", deterministic),
            lane,
        )
        return self._add(node, [data, index, source, *lanes], data.type, name)

    def _pair(self, op: str, data: Operand, index: Operand) -> tuple[Value, Value]:
        d, i = self._value(op, "data", data), self._value(op, "index", index)
        if not i.dtype.is_integer:
            raise DTypeError(f"{op}: index must have an integer dtype; got {i.dtype}")
        return d, i

    def _addressing(self, op: str, data: Value, index: Value, map: IndexMap, bounds: str, negative: bool) -> Addressing:
        if not isinstance(map, IndexMap):
            raise ArgumentError(f"{op}: map must be a gs.IndexMap; got {map!r}")
        self._require(map.check(op, data.shape, index.shape))
        policy = bounds_of(bounds, op)
        points = product(index.shape[j] for j in map.grid_axes)
        if policy in (Bounds.RAISE, Bounds.CLIP, Bounds.WRAP) and isinstance(points, int) and points > 0:
            for k, axis in enumerate(map.indexed_axes):
                if data.shape[axis] == 0:
                    symbols = shape_symbols(*(v.shape for v in self._values))
                    raise empty_axis(self._scope or op, data, index, map, k, symbols)
        return Addressing(map, policy, flag(op, "negative", negative))

    # -- the maps, from a user's arguments

    def _nd_map(self, op: str, data: Value, index: Value, dims: Sequence[int] | None, batch_dims: int) -> IndexMap:
        if index.rank == 0:
            raise ShapeError(
                f"{op}: index must have at least one axis, the last one holding index vectors; got a scalar"
            )
        m = index.shape[-1]
        if not isinstance(m, int):
            raise ShapeError(f"{op}: the last axis of index must have a fixed extent; got {shape_str(index.shape)}")
        if dims is not None:
            if batch_dims != 0:
                raise ShapeError(f"{op}: dims and batch_dims exclude each other")
            axes = [axis_of(op, "dims", d, data.rank) for d in ints_of(op, "dims", dims)]
            if len(set(axes)) != len(axes):
                raise ShapeError(f"{op}: dims names an axis twice: {tuple(dims)}")
            if m != len(axes):
                raise ShapeError(f"{op}: the last axis of index must have extent len(dims) = {len(axes)}; got {m}")
            if index.rank != data.rank + 1:
                raise ShapeError(
                    f"{op}: with dims, index must have rank {data.rank + 1} = data's rank + 1; got {shape_str(index.shape)}"
                )
            return nd_dims_map(data.rank, axes)
        batch_dims = int_of(op, "batch_dims", batch_dims)
        limit = min(data.rank, index.rank - 1)
        if not -index.rank <= batch_dims <= limit:
            raise ShapeError(f"{op}: batch_dims must be in [0, {limit}]; got {batch_dims}")
        batch = batch_dims + index.rank if batch_dims < 0 else batch_dims
        if batch > limit or batch + m > data.rank:
            raise ShapeError(
                f"{op}: index vectors of length {m} after {batch} batch axes need data of rank at least {batch + m}; "
                f"got {shape_str(data.shape)}"
            )
        self._equal_batch(op, data.shape, index.shape, batch)
        return nd_map(data.rank, index.rank, m, batch)

    def _take_map(self, op: str, data: Value, index: Value, axis: int, batch_dims: int) -> IndexMap:
        a, batch_dims = axis_of(op, "axis", axis, data.rank), int_of(op, "batch_dims", batch_dims)
        low, high = -index.rank, min(a, index.rank)
        if not low <= batch_dims <= high:
            raise ShapeError(
                f"{op}: batch_dims must be at most axis {a} and index's rank {index.rank}; got {batch_dims}"
            )
        batch = batch_dims + index.rank if batch_dims < 0 else batch_dims
        if batch > high:
            raise ShapeError(f"{op}: batch_dims must be at most axis {a} and index's rank {index.rank}; got {batch}")
        self._equal_batch(op, data.shape, index.shape, batch)
        return take_map(data.rank, index.rank, a, batch)

    def _equal_batch(self, op: str, data: Shape, index: Shape, batch: int) -> None:
        self._require(
            [
                (
                    "==",
                    index[k],
                    data[k],
                    f"{op}: batch axis {k} of index {shape_str(index)} and data {shape_str(data)}",
                )
                for k in range(batch)
            ]
        )
