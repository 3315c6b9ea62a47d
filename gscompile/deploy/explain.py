"""The C that makes an error of an index out of range; see :mod:`gscompile.compiler.bounds_errors`, whose sentences these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gscompile.compiler.bounds_errors import origins
from gscompile.deploy import text
from gscompile.errors import index_changed
from gscompile.ir.bounds import Bounds
from gscompile.ir.dims import Dim
from gscompile.ir.graph import Value


def explain(
    number: int, checks: Sequence[Value], symbols: Sequence[str], size: Callable[[str], str], dim: Callable[[Dim], str]
) -> str:
    """The function that says what a failed check means.

    Args:
        number: the graph's.
        checks: the gather or scatter that each slot of the status record is about.
        symbols: the graph's sizes.
        size, dim: a size, and a dimension, in C.
    """
    cases = [f"    case {k}: {{\n{_case(v, symbols, size, dim)}\n        break;\n    }}" for k, v in enumerate(checks)]
    body = "\n".join(cases)
    return (
        f"static void gs_explain_{number}(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *error) {{\n"
        "    int bad = 0;\n    (void)bad, (void)at, (void)number, (void)size, (void)error;\n"
        f"    switch (check) {{\n{body}\n    default:\n        break;\n    }}\n}}"
    )


def _case(op: Value, symbols: Sequence[str], size: Callable[[str], str], dim: Callable[[Dim], str]) -> str:
    a, data, index = op.op.indexing, op.args[0], op.args[1]
    assert a is not None
    found = origins(index, symbols, size)
    name = op.scope or op.name
    rank, axes = index.rank, a.map.indexed_axes
    vector = None if a.map.vector_axis is None else a.map.vector_axis % rank
    extents = ", ".join(map(dim, data.shape)) or "1"
    shape = ", ".join(map(dim, index.shape)) or "1"
    slices = ", ".join(dim(a.map.slice_size(axis)) for axis in axes)
    component = "0" if vector is None else f"p[{vector}]"
    position = None if found.position is None else ", ".join(found.position)
    flags = [
        found.same,
        bool(op.scope) and data.scope == op.scope,
        a.bounds is Bounds.RAISE,
        bool(a.negative) and index.dtype.kind == "i",
        index.dtype.name == "uint64",
    ]
    return "\n".join(
        f"        {line}"
        for line in [
            f"const int64_t shape[] = {{{shape}}}, extents[] = {{{extents}}}, slices[] = {{{slices}}};",
            f"static const int axes[] = {{{', '.join(map(str, axes))}}};",
            f"int64_t p[{max(rank, 1)}] = {{0}};",
            f"for (int k = {rank} - 1; k >= 0; --k) {{",
            "    p[k] = at % shape[k];",
            "    at /= shape[k];",
            "}",
            f"const int64_t position[] = {{{position or '0'}}};",
            f"const GsFound found = {{{text.string(name)}, {text.string(found.tensor)}, "
            f"{text.string(str(index_changed(name, found.tensor)))},",
            f"    {', '.join(str(int(x)) for x in flags)}, {-1 if found.position is None else len(found.position)},",
            f"    axes[{component}], {data.rank}, position, extents, slices[{component}], number}};",
            "gs_out_of_range(error, &found);",
        ]
    )
