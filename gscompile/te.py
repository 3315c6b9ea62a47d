"""The operators as plain TVM tensor expressions: ``te.Tensor`` in, ``te.Tensor`` out.

    import gscompile.te as gte
    from tvm import te
    A, I = te.placeholder((8, 24), "float32", "A"), te.placeholder((3, 24), "int64", "I")
    B = gte.gather(A, I, dim=0)
    func = te.create_prim_func([A, I, B])

They are the very declarations that the builder's values are made of: a gather is a ``te.compute`` of its index map, a scatter
a TE extern that holds the TIR of the formula.  Arguments, shapes and errors are those of the builder's methods;
what only a call could tell about symbolic sizes is not checked.

A tensor expression cannot raise.  Under ``bounds="raise"`` a gather clamps the address and a scatter drops the point, so nothing
is read or written out of range, and :func:`first_invalid` declares a tensor that says whether, and where, an index was.  On an
axis that turns out empty, where no index is valid, a gather under ``raise``, ``clip`` or ``wrap`` gives 0, and a scatter drops
the point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gscompile.compiler.declarations import Tensor, TensorElement, declare, reference
from gscompile.errors import ArgumentError, DTypeError
from gscompile.frontend.arguments import FIRST, Scalar, flag
from gscompile.frontend.builder import Builder
from gscompile.ir import tir as T
from gscompile.ir.addressing import Addressing
from gscompile.ir.bounds import Bounds
from gscompile.ir.coords import Sizes, ravel
from gscompile.ir.dims import Dim, SymDim
from gscompile.ir.graph import Graph, Value
from gscompile.ir.index_map import IndexMap
from gscompile.ir.tir import Expr
from gscompile.ir.types import TensorType, dtype


def _from_bits(x: Expr) -> Expr:
    return T.cast("bfloat16", T.reinterpret("float32", T.cast("uint32", x) << T.const(16, "uint32")))


def _some(reduced: Sequence[Expr]) -> Expr:
    """Whether there is anything to fold: TE sets a result to the identity only when it meets the first element."""
    return T.all_of([T.const(True, "bool"), *(extent > 0 for extent in reduced)])


@dataclass(slots=True)
class Shapes:
    """Reads te shapes as dimensions: constants as ints, every other expression as a size of its own."""

    sizes: dict[str, Expr] = field(default_factory=dict)

    def type_of(self, t: Tensor) -> TensorType:
        found = dtype(str(t.dtype))
        if not found.native and found.name != "bfloat16":
            raise DTypeError(
                f"a te.Tensor of {found} is not supported; declare one of {found.tir} that holds its codes"
            )
        return TensorType(tuple(self.dim(d) for d in t.shape), found)

    def dim(self, d: Any) -> Dim:
        value = T.constant_value(d)
        if value is not None:
            return value
        for name, known in self.sizes.items():
            if T.constant_value(known - T.int64(d)) == 0:
                return SymDim.var(name)
        name = f"d{len(self.sizes)}"
        self.sizes[name] = T.int64(d)
        return SymDim.var(name)


def _apply(method: str, arguments: Mapping[str, Any], *args: Any, **kwargs: Any) -> Tensor:
    """One method of the builder, applied to te tensors; only ``src`` may be a scalar instead."""
    shapes = Shapes()
    builder = Builder("te")
    tensors: list[Tensor] = []
    values: list[Value | Scalar | np.generic] = []
    for name, x in arguments.items():
        if name == "src" and isinstance(x, (bool, int, float, complex, np.generic)):
            values.append(x)
            continue
        _need_tensor(method, name, x)
        type = shapes.type_of(x)
        tensors.append(x)
        # the result may be given any name
        values.append(builder.input(f"{name}_" if kwargs.get("name") == name else name, type.shape, type.dtype))
    result = getattr(builder, method)(*values, *args, **kwargs)
    if not isinstance(result, Value):
        raise ArgumentError(f"{method}: argmax and argmin give two tensors, and a tensor expression is one")
    graph = Graph(builder.name, tuple(builder.draft.values), (result,), ())
    found = declare(graph, tensors, Sizes(shapes.sizes))[id(result)]
    if not any(str(t.dtype) == "bfloat16" for t in tensors):
        return found
    return T.te_compute(f"{result.name}_bfloat16", found.shape, lambda *c: _from_bits(found(*c)))


def _need_tensor(op: str, argument: str, x: Any) -> None:
    if not T.is_te_tensor(x):
        raise ArgumentError(f"{op}: {argument} must be a te.Tensor; got {x!r}")


def gather(data: Tensor, index: Tensor, dim: int = FIRST, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.gather`."""
    return _apply("gather", {"data": data, "index": index}, dim, **options)


def gather_nd(
    data: Tensor, index: Tensor, dims: Sequence[int] | None = None, batch_dims: int = 0, **options: Any
) -> Tensor:
    """See :meth:`gscompile.Builder.gather_nd`."""
    return _apply("gather_nd", {"data": data, "index": index}, dims, batch_dims, **options)


def take(data: Tensor, index: Tensor, axis: int = FIRST, batch_dims: int = 0, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.take`."""
    return _apply("take", {"data": data, "index": index}, axis, batch_dims, **options)


def gather_map(data: Tensor, index: Tensor, map: IndexMap, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.gather_map`."""
    return _apply("gather_map", {"data": data, "index": index}, map, **options)


def scatter(data: Tensor, index: Tensor, src: Tensor, dim: int = FIRST, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.scatter`."""
    return _apply("scatter", {"data": data, "index": index, "src": src}, dim, **options)


def scatter_nd(
    data: Tensor,
    index: Tensor,
    src: Tensor,
    dims: Sequence[int] | None = None,
    batch_dims: int = 0,
    **options: Any,
) -> Tensor:
    """See :meth:`gscompile.Builder.scatter_nd`."""
    return _apply("scatter_nd", {"data": data, "index": index, "src": src}, dims, batch_dims, **options)


def put(data: Tensor, index: Tensor, src: Tensor, axis: int = FIRST, batch_dims: int = 0, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.put`."""
    return _apply("put", {"data": data, "index": index, "src": src}, axis, batch_dims, **options)


def scatter_map(data: Tensor, index: Tensor, src: Tensor, map: IndexMap, **options: Any) -> Tensor:
    """See :meth:`gscompile.Builder.scatter_map`."""
    return _apply("scatter_map", {"data": data, "index": index, "src": src}, map, **options)


def first_invalid(data: Tensor, index: Tensor, map: IndexMap, *, negative: bool = True) -> Tensor:
    """The smallest row-major position in ``index`` whose value is out of range for ``data``, through ``map``.

    Returns: a scalar int64 tensor; 2^63 - 1 where every index is valid.
    """
    _need_tensor("first_invalid", "data", data)
    _need_tensor("first_invalid", "index", index)
    if not isinstance(map, IndexMap):
        raise ArgumentError(f"first_invalid: map must be a gs.IndexMap; got {map!r}")
    shapes = Shapes()
    data_type, index_type = shapes.type_of(data), shapes.type_of(index)
    if not index_type.dtype.is_integer:
        raise DTypeError(f"first_invalid: index must have an integer dtype; got {index_type.dtype}")
    map.check("first_invalid", data_type.shape, index_type.shape)
    sizes = Sizes(shapes.sizes)
    addressing = Addressing(map, Bounds.RAISE, flag("first_invalid", "negative", negative))
    element = TensorElement(index_type, index)
    grid_shape = map.grid_shape(index_type.shape)
    none = T.const(T.INT64_MAX)

    def first(c: Sequence[Expr], r: Sequence[Expr]) -> list[Expr]:
        found = none
        for k in reversed(range(map.components)):
            g = list(r[: len(grid_shape)])
            flat = ravel(addressing.index_position(g, k), index_type.shape, sizes)
            valid = addressing.valid(k, element, g, data_type.shape, sizes)
            found = T.minimum(found, T.select(valid, none, flat))
        return [found]

    reduced = sizes.shape(grid_shape) or (T.const(1),)
    found = T.te_fold("first_invalid_fold", (), reduced, [none], lambda x, y: [T.minimum(x[0], y[0])], first)
    return T.te_compute("first_invalid", (), lambda: T.if_then_else(_some(reduced), found(), none))


__all__ = [
    "declare",
    "first_invalid",
    "gather",
    "gather_map",
    "gather_nd",
    "put",
    "reference",
    "scatter",
    "scatter_map",
    "scatter_nd",
    "take",
]
