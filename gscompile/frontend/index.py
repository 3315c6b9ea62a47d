"""Gather and scatter: each operator is an index map handed to one of two cores."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.frontend import arg_scatter, core
from gscompile.frontend.arguments import FIRST, Operand, axis_of, one_axis
from gscompile.frontend.core import GatherOptions, ScatterOptions
from gscompile.frontend.math import MathOps
from gscompile.ir.graph import Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.ops.reductions import Reduction


class IndexOps(MathOps):
    """``gather gather_nd take gather_map`` and ``scatter scatter_nd put scatter_map``.

    Common to all of them:

    index: any integer dtype; a value means its value, whatever the dtype.
    dim, axis: two names of one argument, 0 by default.
    bounds: ``"raise"`` (default), ``"clip"``, ``"wrap"``, ``"fill"`` or ``"trust"``; see :mod:`gscompile.ir.bounds`.
    negative: a negative index counts from the end, once.  ``bounds="clip", negative=False`` is NumPy's clip.
        A slice of several elements along an indexed axis (an XLA window) counts as out of range when a part of it is: ``wrap``
        takes its start modulo ``extent - size + 1``, so that it stays one slice and does not go round the end.
    fill (gather): what ``bounds="fill"`` gives for a point out of range.

    Scatters return a new tensor of data's type; with ``out=`` aliasing data at the call they write in place.

    src: data's dtype, and a shape that broadcasts to the points' as in NumPy; a number, Python's or NumPy's, stands for a tensor
        of that value.
    reduction: ``update add sub mul min max mean and or xor logaddexp``; frameworks' words for them, ``sum prod amin amax``, are
        understood.  Duplicates: points that hit one cell are combined in
        row-major order of src; with ``update`` the last one wins.  That is exact and repeatable on llvm for any number of
        threads, though floating-point ``add mul`` with at least 16 points a cell may be taken in several chunks, as many as the
        sizes say, that are combined in order.  On cuda, floating-point ``add sub mul mean logaddexp`` use atomics in no fixed
        order.  ``deterministic=True`` keeps the row-major order everywhere.
        ``argmax`` and ``argmin`` give two values: the largest or smallest in each cell, and where it came from, int64 of data's
        shape: the row-major number, on the axes of index that data does not share, of the first of equal points (with
        :meth:`scatter`, and :meth:`put` of a 1-D index, the coordinate in src along ``dim``).  NaN beats every number; data's
        own value, with include_self, beats its equals.  Where none of src stayed, it is the number of such points
        (``src.shape[dim]``), as in pytorch_scatter.
    include_self: whether data's own value takes part where some point hits.  Without it the first value that arrives takes its
        place: with ``sub`` a cell that v0, v1 and v2 hit becomes ``v0 - v1 - v2``.
    unique: a promise that no two points hit one cell.
    sorted: a promise that the places that index stands for ascend in its row-major order, index vectors lexicographically, for
        each position on the axes that data shares; negative indices are counted from the end first, clipped or wrapped ones
        after that, and points that are dropped do not count.  On cuda reductions then need few atomics.  If it is broken, some
        cell's value is undefined, and nothing else.

    Errors: ShapeError, DTypeError, ArgumentError when the graph is built; BoundsError when it is run (already when it is
    built, if an axis is certainly empty and the index certainly is not).
    """

    def gather(
        self,
        data: Operand,
        index: Operand,
        dim: int = FIRST,
        *,
        axis: int = FIRST,
        bounds: str = "raise",
        negative: bool = True,
        fill: complex = 0,
        name: str | None = None,
    ) -> Value:
        """``out[i0, .., iK] = data[i0, .., index[i0, .., iK], .., iK]`` with the index on axis ``dim``.

        torch.gather, ONNX GatherElements, CINN gather (design document, 1.1).  index has data's rank; on the other axes its
        extent is at most data's.  Result: index's shape, data's dtype.
        """
        d, i = core.data_and_index(self.draft, "gather", data, index)
        through = IndexMap.elements(d.rank, axis_of("gather", "dim", one_axis("gather", dim, axis), d.rank))
        options = GatherOptions(bounds=bounds, negative=negative, fill=fill)
        return core.gather(self.draft, "gather", d, i, through, options, name)

    def gather_nd(
        self,
        data: Operand,
        index: Operand,
        dims: Sequence[int] | None = None,
        batch_dims: int = 0,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: complex = 0,
        name: str | None = None,
    ) -> Value:
        """Index vectors along index's last axis.

        ``dims=None``: ONNX and TensorFlow GatherND.  The first ``batch_dims`` axes are shared (equal extents), the vector's m
        components index the next m axes of data, the rest are slices:
        ``out.shape = index.shape[:-1] + data.shape[batch_dims + m:]``.

        ``dims=[...]``: CINN gather_nd (design document, 1.2).  index has data's rank plus one; component k indexes axis
        ``dims[k]``, every other axis is shared: ``out.shape = index.shape[:-1]``.
        """
        d, i = core.data_and_index(self.draft, "gather_nd", data, index)
        through = core.map_of_nd(self.draft, "gather_nd", d, i, dims, batch_dims)
        options = GatherOptions(bounds=bounds, negative=negative, fill=fill)
        return core.gather(self.draft, "gather_nd", d, i, through, options, name)

    def take(
        self,
        data: Operand,
        index: Operand,
        axis: int = FIRST,
        batch_dims: int = 0,
        *,
        dim: int = FIRST,
        bounds: str = "raise",
        negative: bool = True,
        fill: complex = 0,
        name: str | None = None,
    ) -> Value:
        """Slices of data along ``axis``: ONNX, NumPy, TensorFlow and OpenVINO Gather.

        ``out.shape = data.shape[:axis] + index.shape[batch_dims:] + data.shape[axis + 1:]``; the first ``batch_dims`` axes
        are shared (equal extents; negative counts from index's rank) and ``batch_dims <= axis``.
        """
        d, i = core.data_and_index(self.draft, "take", data, index)
        through = core.map_of_take(self.draft, "take", d, i, one_axis("take", dim, axis), batch_dims)
        options = GatherOptions(bounds=bounds, negative=negative, fill=fill)
        return core.gather(self.draft, "take", d, i, through, options, name)

    def gather_map(
        self,
        data: Operand,
        index: Operand,
        map: IndexMap,
        *,
        bounds: str = "raise",
        negative: bool = True,
        fill: complex = 0,
        name: str | None = None,
    ) -> Value:
        """``out[p] = data[map(p)]`` for any :class:`~gscompile.ir.index_map.IndexMap`, XLA's Gather included.

        A slice that lies partly outside is as a whole out of range: ``clip`` moves its start (XLA), ``fill`` fills all of it.
        Result: shape ``map.points_shape(data.shape, index.shape)``, data's dtype.
        """
        d, i = core.data_and_index(self.draft, "gather_map", data, index)
        options = GatherOptions(bounds=bounds, negative=negative, fill=fill)
        return core.gather(self.draft, "gather_map", d, i, map, options, name)

    def scatter(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        dim: int = FIRST,
        *,
        axis: int = FIRST,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        sorted: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """``out[i0, .., index[i0, .., iK], .., iK] = reduce(.., src[i0, .., iK])`` with the index on axis ``dim``.

        The mirror of :meth:`gather`: torch.scatter, ONNX ScatterElements, CINN scatter (design document, 2.1).  src has
        index's shape.  Result: data's shape and dtype.
        """
        d, i = core.data_and_index(self.draft, "scatter", data, index)
        through = IndexMap.elements(d.rank, axis_of("scatter", "dim", one_axis("scatter", dim, axis), d.rank))
        options = ScatterOptions(
            reduction=reduction,
            include_self=include_self,
            bounds=bounds,
            negative=negative,
            unique=unique,
            sorted=sorted,
            deterministic=deterministic,
        )
        return arg_scatter.scatter(self.draft, "scatter", d, i, src, through, options, name)

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
        sorted: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """The mirror of :meth:`gather_nd`: ONNX ScatterND, TensorFlow tensor_scatter_nd, CINN scatter_nd with ``dims``.

        src has the shape that gather_nd's result has: ``index.shape[:-1] + data.shape[batch_dims + m:]``, with ``dims``
        ``index.shape[:-1]``.  Result: data's shape and dtype.
        """
        d, i = core.data_and_index(self.draft, "scatter_nd", data, index)
        through = core.map_of_nd(self.draft, "scatter_nd", d, i, dims, batch_dims)
        options = ScatterOptions(
            reduction=reduction,
            include_self=include_self,
            bounds=bounds,
            negative=negative,
            unique=unique,
            sorted=sorted,
            deterministic=deterministic,
        )
        return arg_scatter.scatter(self.draft, "scatter_nd", d, i, src, through, options, name)

    def put(
        self,
        data: Operand,
        index: Operand,
        src: Operand,
        axis: int = FIRST,
        batch_dims: int = 0,
        *,
        dim: int = FIRST,
        reduction: str | Reduction = "update",
        include_self: bool = True,
        bounds: str = "raise",
        negative: bool = True,
        unique: bool = False,
        sorted: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """The mirror of :meth:`take`: torch index_add (``reduction="add"``) and index_copy (``"update"``), segment sums.

        src has the shape that take's result has: ``data.shape[:axis] + index.shape[batch_dims:] + data.shape[axis + 1:]``.
        Result: data's shape and dtype.
        """
        d, i = core.data_and_index(self.draft, "put", data, index)
        through = core.map_of_take(self.draft, "put", d, i, one_axis("put", dim, axis), batch_dims)
        options = ScatterOptions(
            reduction=reduction,
            include_self=include_self,
            bounds=bounds,
            negative=negative,
            unique=unique,
            sorted=sorted,
            deterministic=deterministic,
        )
        return arg_scatter.scatter(self.draft, "put", d, i, src, through, options, name)

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
        sorted: bool = False,
        deterministic: bool = False,
        name: str | None = None,
    ) -> Value:
        """``out[map(p)] = reduce(out[map(p)], src[p])`` for any index map; ``fill`` drops a slice that lies partly outside.

        src has the shape ``map.points_shape(data.shape, index.shape)``.  Result: data's shape and dtype.
        """
        d, i = core.data_and_index(self.draft, "scatter_map", data, index)
        options = ScatterOptions(
            reduction=reduction,
            include_self=include_self,
            bounds=bounds,
            negative=negative,
            unique=unique,
            sorted=sorted,
            deterministic=deterministic,
        )
        return arg_scatter.scatter(self.draft, "scatter_map", d, i, src, map, options, name)
