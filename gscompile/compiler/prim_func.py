"""A graph as a PrimFunc whose parameters are buffers, as TVM's own programs call one.

The function that a module is compiled of takes addresses and numbers.  Here it is wrapped: shapes of buffers say what the sizes
are, and scratch memory is allocated inside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gscompile.compiler.lower import WORKSPACE_ALIGN, Lowered
from gscompile.compiler.standalone import standalone
from gscompile.compiler.targets import Target
from gscompile.errors import TargetError
from gscompile.ir import status
from gscompile.ir import tir as T
from gscompile.ir.bounds import Bounds
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Shape
from gscompile.ir.graph import Graph, Value
from gscompile.ir.ops.scattering import Scattering
from gscompile.ir.tir import Buffer, PrimFunc, Stmt
from gscompile.ir.types import DType, OpaqueDType


def with_buffers(lowered: Lowered, target: Target, threads: int, checked: bool) -> PrimFunc:
    """``f(inputs..., constants..., outputs..., status)``.

    Args:
        threads: that share its work.
        checked: whether the status record is a parameter.

    Raises:
        TargetError: the function is in parts.
    """
    if lowered.parts:
        raise TargetError(
            f"prim_func: {lowered.graph.name} is long and compiled in parts, which are no single PrimFunc"
        )
    graph, summary = lowered.graph, lowered.summary
    tensors = [(v.name, v) for v in [*graph.inputs, *graph.constants]]
    tensors += [(f"out{k}_{v.name}", v) for k, v in enumerate(graph.outputs)]
    params = list(lowered.func.params)
    pointers, (record, workspace), rest = params[: len(tensors)], params[len(tensors) :][:2], params[len(tensors) + 2 :]
    *variables, thread_count, in_place = rest
    sizes = Sizes(dict(zip(summary.symbols, variables, strict=True)))
    given: list[Buffer] = []
    binds: list[Stmt] = []
    for (name, v), pointer in zip(tensors, pointers, strict=True):
        shape, dtype = _stored(v.shape, v.dtype)
        tensor = T.buffer(name, sizes.shape(shape), dtype.tir, align=target.address_alignment(dtype))
        given.append(tensor)
        binds.append(T.bind(pointer, T.begin_of(tensor, pointer)))
    found = T.buffer("status", [T.const(status.length(len(summary.checks)))], "int64", align=8)
    allocated: list[Buffer] = []
    (given if checked else allocated).append(found)
    scratch = found
    if summary.stats.workspace_bytes != 0:
        scratch = T.buffer("scratch", [sizes(summary.stats.workspace_bytes) + 1], "uint8", align=WORKSPACE_ALIGN)
        allocated.append(scratch)
    binds += map(T.allocate, allocated)
    binds += [T.bind(workspace, T.begin_of(scratch, workspace)), T.bind(record, T.begin_of(found, record))]
    binds += [T.bind(thread_count, T.const(threads)), T.bind(in_place, T.const(0))]
    # StorageRewrite follows no addresses: what is allocated is in use until a last store
    ends = [target.once(T.store(b, [T.extents(b)[0] - 1], T.const(0, T.element_dtype(b)))) for b in allocated]
    body = T.seq(*binds, standalone(lowered.func, target), *ends)
    return target.adapted(T.buffer_func(graph.name, given, body))


def _stored(shape: Shape, dtype: DType) -> tuple[Shape, DType]:
    """As kernels see a tensor: complex numbers as pairs, opaque elements as words, on one more axis."""
    if dtype.is_complex:
        return (*shape, 2), dtype.real
    if isinstance(dtype, OpaqueDType):
        return (*shape, dtype.words) if dtype.words > 1 else shape, dtype.word
    return shape, dtype


def clamped(graph: Graph) -> Graph:
    """The graph whose gathers clamp an index out of range, and whose scatters drop the point, where they would have raised."""
    made: dict[int, Value] = {}
    for v in graph.values:
        op: Any = v.op
        if op.indexing is not None and op.indexing.bounds is Bounds.RAISE:
            bounds = Bounds.FILL if isinstance(op, Scattering) else Bounds.CLIP
            op = replace(op, addressing=replace(op.addressing, bounds=bounds))
        made[id(v)] = replace(v, op=op, args=tuple(made[id(a)] for a in v.args))
    return replace(
        graph, values=tuple(made[id(v)] for v in graph.values), outputs=tuple(made[id(v)] for v in graph.outputs)
    )
