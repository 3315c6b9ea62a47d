"""Bad input: which exception, at which statement, and what its message says.

One table.  A row's code is run statement by statement, and the last statement alone must raise, so that a row also says how
early a mistake is found: when an operator is added, when the graph is built, or when the module is called.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.errors import (
    ArgumentError,
    BoundsError,
    DeviceError,
    DTypeError,
    GraphError,
    MissingExtraError,
    OutOfMemoryError,
    ShapeError,
    TargetError,
)
from tests.unit.test_arrays import Exporter

BASES = {
    ShapeError: ValueError,
    DTypeError: TypeError,
    ArgumentError: ValueError,
    GraphError: ValueError,
    TargetError: ValueError,
    DeviceError: RuntimeError,
    MissingExtraError: ImportError,
    OutOfMemoryError: MemoryError,
    BoundsError: IndexError,
}


@dataclass(frozen=True)
class Row:
    """A mistake.

    Attributes:
        what: names the row.
        code: statements; the last one must raise.  See :func:`names` for what they can use.
        error: the class, exactly.
        words: what the message must contain: the operator, the argument, the rule, what was got.
    """

    what: str
    code: str
    error: type[gs.GSError]
    words: tuple[str, ...]


def row(what: str, code: str, error: type[gs.GSError], *words: str) -> Row:
    return Row(what, textwrap.dedent(code).strip(), error, words)


@functools.cache
def modules() -> SimpleNamespace:
    """Compiled once: what the rows about calls are tried on."""
    b = gs.Builder("rows")
    b.output(b.gather(b.input("data", (4, 6), "float32"), b.input("index", (3, 6), "int64")))
    rows = b.build()
    b = gs.Builder("sized")
    a, i = b.input("a", ("n", 3), "float32"), b.input("i", ("n",), "int64")
    b.output(b.scatter(a, b.unsqueeze(i, 1), b.unsqueeze(b.cast(i, "float32"), 1), reduction="add"))
    sized = b.build()
    b = gs.Builder("pair")
    a = b.input("a", (2, 3), "float32")
    b.output(a + 1, a * 2)
    return SimpleNamespace(rows=rows, sized=sized, pair=b.build())


def names(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a row's code sees."""
    b = gs.Builder("net")
    made = modules()
    return {
        "gs": gs,
        "np": np,
        "b": b,
        "other": gs.Builder("other").input("stranger", (3, 24), "int64"),
        "data": b.input("data", (8, 24), "float32"),
        "index": b.input("index", (3, 24), "int64"),
        "src": b.input("src", (3, 24), "float32"),
        "flags": b.input("flags", (8, 24), "bool"),
        "small": b.input("small", (8, 24), "uint8"),
        "vectors": b.input("vectors", (5, 2), "int32"),
        "empty": b.input("empty", (0, 24), "float32"),
        "sized": b.input("sized", ("n", "m"), "float32"),
        "cube": b.input("cube", (2, 3, 4), "float32"),
        "rows": made.rows,  # rows(data: float32(4, 6), index: int64(3, 6)) -> float32(3, 6)
        "by_n": made.sized,  # sized(a: float32(n, 3), i: int64(n,))
        "pair": made.pair,  # pair(a: float32(2, 3)) -> two of them
        "A": np.arange(24, dtype=np.float32).reshape(4, 6),
        "I": np.zeros((3, 6), np.int64),
        "Exporter": Exporter,
        "hide": lambda module: patch.setitem(sys.modules, module, None),  # as if it were not installed
    }


# fmt: off
BUILDER = [
    row("builder name", "gs.Builder('no spaces')", ArgumentError, "name", "identifier", "'no spaces'"),
    row("builder name is no str", "gs.Builder(3)", ArgumentError, "name", "identifier", "3"),
    row("input name", "b.input('a b', (2,), 'int8')", GraphError, "input", "name", "identifier", "'a b'"),
    row("input name is no str", "b.input(None, (2,), 'int8')", GraphError, "input", "name", "identifier", "None"),
    row("input name is the keyword out", "b.input('out', (2,), 'int8')", GraphError, "input", "'out'"),
    row("duplicate input", "b.input('data', (2,), 'int8')", GraphError, "input", "'data'", "already used", "'net'"),
    row(
        "duplicate value",
        "b.gather(data, index, name='src')",
        GraphError, "gather", "'src'", "already used",
    ),
    row("value name is no str", "b.gather(data, index, name=3)", GraphError, "gather", "name", "identifier", "3"),
    row("value name", "b.gather(data, index, name='a b')", GraphError, "gather", "name", "identifier", "'a b'"),
    row("unknown dtype", "b.input('x', (2,), 'float33')", DTypeError, "'float33'", "float32"),
    row("dtype without width", "b.input('x', (2,), float)", DTypeError, "float", "no fixed width", "float32"),
    row("dtype is no dtype", "b.input('x', (2,), 7)", DTypeError, "7", "float32"),
    row("CINN's odd width", "gs.Float(8)", DTypeError, "float8"),
    row("negative extent", "b.input('x', (2, -1), 'int8')", ShapeError, "negative", "-1"),
    row("extent is a float", "b.input('x', (2, 1.5), 'int8')", ShapeError, "int", "1.5"),
    row("extent is None", "b.input('x', (2, None), 'int8')", ShapeError, "int", "None"),
    row("shape is no tuple", "b.input('x', 2.5, 'int8')", ShapeError, "shape", "2.5"),
    row("size name", "b.input('x', ('n-1',), 'int8')", ShapeError, "identifier", "'n-1'"),
    row("rank 9", "b.input('x', (1,) * 9, 'int8')", ShapeError, "input", "9", "8"),
    row("rank 9 by a gather", "b.take(b.input('x', (1,) * 8, 'int8'), index)", ShapeError, "take", "rank 9", "8"),
    row("no output", "gs.Builder('none').build()", GraphError, "'none'", "output"),
    row("output of another builder", "b.output(other)", GraphError, "output", "'stranger'", "'other'", "'net'"),
    row("output is an array", "b.output(np.zeros(3))", GraphError, "output", "value"),
    row(
        "a size no input has",
        "b.output(b.zeros(('q', 2)))\nb.build()",
        ShapeError, "'q'", "'net'", "input",
    ),
    row("truth of a value", "bool(data)", GraphError, "data", "truth value"),
    row("iterating over a value", "list(data)", GraphError, "data", "iterated"),
    row("truth of a size", "bool(sized.shape[0])", ShapeError, "n", "run time"),
]

OF_ANOTHER = [  # every operator, each of its arguments
    row(
        f"another builder's value in {code}",
        f"b.{code}",
        GraphError, code.partition("(")[0], argument, "'stranger'", "'other'", "'net'",
    )
    for code, argument in [
        ("gather(other, index)", "data"),
        ("gather(data, other)", "index"),
        ("gather_nd(other, vectors)", "data"),
        ("gather_nd(data, other)", "index"),
        ("take(other, index)", "data"),
        ("take(data, other)", "index"),
        ("gather_map(data, other, None)", "index"),
        ("scatter(other, index, src)", "data"),
        ("scatter(data, other, src)", "index"),
        ("scatter(data, index, other)", "src"),
        ("scatter_nd(data, vectors, other)", "src"),
        ("put(data, index, other)", "src"),
        ("scatter_map(other, index, src, None)", "data"),
        ("add(data, other)", "operand 1"),
        ("where(flags, data, other)", "operand 2"),
        ("cast(other, 'int8')", "x"),
        ("clip(other)", "x"),
        ("sum(other)", "x"),
        ("argmax(other, 0)", "x"),
        ("reshape(other, -1)", "x"),
        ("transpose(other)", "x"),
        ("broadcast_to(other, (3, 24))", "x"),
        ("squeeze(other)", "x"),
        ("unsqueeze(other, 0)", "x"),
        ("flatten(other)", "x"),
        ("flip(other)", "x"),
        ("slice(other, [0], [1])", "x"),
        ("getitem(other, 0)", "x"),
        ("pad(other, [0, 0], [1, 1])", "x"),
        ("concat([index, other])", "values[1]"),
        ("stack([index, other])", "values[1]"),
    ]
]

GATHERS = {
    "gather": "data, index",
    "gather_nd": "data, vectors",
    "take": "data, index",
    "gather_map": "data, index, gs.IndexMap((gs.Indexed(0), gs.Shared(1)), (('index', 0), ('index', 1)))",
}
SCATTERS = {
    "scatter": "data, index, src",
    "scatter_nd": "data, vectors, b.zeros((5,))",
    "put": "data, index, 0.5",
    "scatter_map": "data, index, src, gs.IndexMap((gs.Indexed(0), gs.Shared(1)), (('index', 0), ('index', 1)))",
}
BOUNDS = ("raise", "clip", "wrap", "fill", "trust")
REDUCTIONS = ("update", "add", "sub", "mul", "min", "max", "mean", "or", "and", "xor", "logaddexp")

OPTIONS = [  # of every gather and scatter
    *(
        row(f"{op}: {option}={value}", f"b.{op}({args}, {option}={value})", ArgumentError, op, option, value, *known)
        for op, args in {**GATHERS, **SCATTERS}.items()
        for option, value, known in [
            ("bounds", "'clamp'", BOUNDS),
            ("bounds", "None", BOUNDS),
            ("bounds", "[]", BOUNDS),
            ("negative", "'no'", ("True or False",)),
            ("negative", "1", ("True or False",)),
        ]
    ),
    *(
        row(f"{op}: {option}={value}", f"b.{op}({args}, {option}={value})", ArgumentError, op, option, value, *known)
        for op, args in SCATTERS.items()
        for option, value, known in [
            ("reduction", "'total'", REDUCTIONS),
            ("reduction", "None", REDUCTIONS),
            ("reduction", "['add']", REDUCTIONS),
            ("include_self", "0", ("True or False",)),
            ("unique", "'yes'", ("True or False",)),
            ("sorted", "1", ("True or False",)),
            ("deterministic", "None", ("True or False",)),
        ]
    ),
    *(
        row(
            f"{op}: fill {value} into {array}",
            f"b.{op}({args.replace('data', array, 1)}, bounds='fill', fill={value})",
            DTypeError, op, "fill", value, dtype,
        )
        for op, args in GATHERS.items()
        for array, value, dtype in [("small", "256", "uint8"), ("small", "0.5", "uint8"), ("flags", "2", "bool")]
    ),
    *(
        row(f"{op}: index dtype {dtype}", f"b.{op}({bad})", DTypeError, op, "index", "integer", dtype)
        for op, args in {**GATHERS, **SCATTERS}.items()
        for name, dtype in [("src", "float32"), ("flags", "bool")]
        for bad in [args.replace("index", name, 1).replace("vectors", name)]
    ),
    *(
        row(f"{op}: data is {value}", f"b.{op}({args.replace('data', value, 1)})", DTypeError, op, "data", value)
        for op, args in {**GATHERS, **SCATTERS}.items()
        for value in ("'text'", "None")
    ),
]

GATHER = [
    row("gather: dim 2 of rank 2", "b.gather(data, index, dim=2)", ShapeError, "gather", "dim", "[-2, 1]", "got 2"),
    row("gather: dim -3 of rank 2", "b.gather(data, index, dim=-3)", ShapeError, "gather", "dim", "[-2, 1]", "got -3"),
    row("gather: dim is a float", "b.gather(data, index, dim=1.0)", ArgumentError, "gather", "dim", "int", "1.0"),
    row("gather: dim is None", "b.gather(data, index, dim=None)", ArgumentError, "gather", "dim", "int", "None"),
    row("gather: scalar data", "b.gather(b.zeros(()), index)", ShapeError, "gather", "dim", "rank 0"),
    row("gather: rank", "b.gather(data, b.zeros((3,), 'int64'))", ShapeError, "gather", "index", "rank 2", "(3,)"),
    row(
        "gather: index longer than data on another axis",
        "b.gather(data, b.zeros((3, 25), 'int64'))",
        ShapeError, "gather", "index (3, 25)", "axis 1", "data (8, 24)", "at most 24", "got 25",
    ),
    row("gather: data is ragged", "b.gather([[1], [2, 3]], index)", ShapeError, "gather", "data"),
    row(
        "gather: empty axis", "b.gather(empty, index)", BoundsError, "gather", "axis 0", "(0, 24)", "empty", "(3, 24)"
    ),
    row("gather: empty axis, clip", "b.gather(empty, index, bounds='clip')", BoundsError, "gather", "axis 0", "empty"),
    row("gather: empty axis, wrap", "b.gather(empty, index, bounds='wrap')", BoundsError, "gather", "axis 0", "empty"),
    row("take: empty axis", "b.take(empty, index)", BoundsError, "take", "axis 0", "(0, 24)", "empty"),
    row("put: empty axis", "b.put(empty, index, 1)", BoundsError, "put", "axis 0", "(0, 24)", "empty"),
    row(
        "gather_nd: scalar index",
        "b.gather_nd(data, b.zeros((), 'int8'))",
        ShapeError, "gather_nd", "index", "scalar",
    ),
    row(
        "gather_nd: length of the vector unknown",
        "b.gather_nd(data, b.input('v', (3, 'm'), 'int8'))",
        ShapeError, "gather_nd", "last axis of index", "fixed", "(3, m)",
    ),
    row(
        "gather_nd: vector too long",
        "b.gather_nd(data, b.zeros((5, 3), 'int64'))",
        ShapeError, "gather_nd", "length 3", "rank at least 3", "(8, 24)",
    ),
    row(
        "gather_nd: batch_dims too large",
        "b.gather_nd(data, vectors, batch_dims=2)",
        ShapeError, "gather_nd", "batch_dims", "got 2",
    ),
    row(
        "gather_nd: batch_dims is a float",
        "b.gather_nd(cube, vectors, batch_dims=1.0)",
        ArgumentError, "gather_nd", "batch_dims", "int", "1.0",
    ),
    row(
        "gather_nd: batch_dims is a str",
        "b.gather_nd(cube, vectors, batch_dims='1')",
        ArgumentError, "gather_nd", "batch_dims", "int", "'1'",
    ),
    row(
        "gather_nd: batch extents",
        "b.gather_nd(cube, b.zeros((5, 2), 'int64'), batch_dims=1)",
        ShapeError, "gather_nd", "batch axis 0", "index (5, 2)", "data (2, 3, 4)", "equal to 2", "got 5",
    ),
    row(
        "gather_nd: dims and batch_dims",
        "b.gather_nd(data, vectors, dims=[0, 1], batch_dims=1)",
        ShapeError, "gather_nd", "dims", "batch_dims", "exclude",
    ),
    row(
        "gather_nd: dims twice",
        "b.gather_nd(data, b.zeros((8, 24, 2), 'int64'), dims=[0, -2])",
        ShapeError, "gather_nd", "dims", "twice", "(0, -2)",
    ),
    row(
        "gather_nd: dims out of range",
        "b.gather_nd(data, b.zeros((8, 24, 1), 'int64'), dims=[2])",
        ShapeError, "gather_nd", "dims", "[-2, 1]", "got 2",
    ),
    row(
        "gather_nd: dims is an int",
        "b.gather_nd(data, b.zeros((8, 24, 1), 'int64'), dims=0)",
        ArgumentError, "gather_nd", "dims", "0",
    ),
    row(
        "gather_nd: dims and the vector's length",
        "b.gather_nd(data, b.zeros((8, 24, 3), 'int64'), dims=[0, 1])",
        ShapeError, "gather_nd", "last axis of index", "len(dims) = 2", "got 3",
    ),
    row(
        "gather_nd: rank with dims",
        "b.gather_nd(data, vectors, dims=[0, 1])",
        ShapeError, "gather_nd", "dims", "index", "rank 3", "(5, 2)",
    ),
    row("take: axis", "b.take(data, index, axis=2)", ShapeError, "take", "axis", "[-2, 1]", "got 2"),
    row("take: axis is a str", "b.take(data, index, axis='x')", ArgumentError, "take", "axis", "int", "'x'"),
    row(
        "take: batch_dims after axis",
        "b.take(cube, b.zeros((2, 3), 'int64'), axis=0, batch_dims=1)",
        ShapeError, "take", "batch_dims", "axis 0", "got 1",
    ),
    row(
        "take: batch_dims beyond index's rank",
        "b.take(cube, b.zeros((2,), 'int64'), axis=2, batch_dims=2)",
        ShapeError, "take", "batch_dims", "rank 1", "got 2",
    ),
    row(
        "take: batch_dims is None",
        "b.take(cube, index, axis=2, batch_dims=None)",
        ArgumentError, "take", "batch_dims", "int", "None",
    ),
    row(
        "take: batch extents",
        "b.take(cube, b.zeros((3, 5), 'int64'), axis=1, batch_dims=1)",
        ShapeError, "take", "batch axis 0", "index (3, 5)", "data (2, 3, 4)", "equal to 2", "got 3",
    ),
    row(
        "gather_map: no map",
        "b.gather_map(data, index, (0, 1))",
        ArgumentError, "gather_map", "map", "IndexMap", "(0, 1)",
    ),
    row(
        "gather_map: rank of data",
        "b.gather_map(cube, index, gs.IndexMap((gs.Indexed(0), gs.Shared(1)), (('index', 0), ('index', 1))))",
        ShapeError, "gather_map", "data", "rank 2", "(2, 3, 4)",
    ),
    row(
        "gather_map: length of the vector",
        "b.gather_map(data, vectors, gs.IndexMap((gs.Indexed(0), gs.Window(0)), (('index', 0), ('window', 0)), 1))",
        ShapeError, "gather_map", "index", "vector axis", "equal to 1", "got 2",
    ),
    row(
        "gather_map: window larger than data",
        """
        slices = gs.IndexMap((gs.Indexed(0, 0), gs.Indexed(1, 1)), (('index', 0), ('window', 0), ('window', 1)), 1, (9, 2))
        b.gather_map(data, vectors, slices)
        """,
        ShapeError, "gather_map", "slice size", "axis 0", "data (8, 24)", "at most 8", "got 9",
    ),
    row("getitem: axis", "data[8]", ShapeError, "getitem", "index 8", "axis 0", "(8, 24)"),
    row("getitem: too many", "data[0, 0, 0]", ShapeError, "getitem", "too many", "(8, 24)"),
    row("getitem: a str", "data['x']", ArgumentError, "getitem", "'x'"),
    row("getitem: a float", "data[1.0]", ArgumentError, "getitem", "1.0"),
    row("getitem: float tensor", "data[src]", DTypeError, "index", "integer", "float32"),
]

MAPS = [
    row(
        "map: a window twice",
        "gs.IndexMap((gs.Window(0), gs.Indexed(0, 0)), (('index', 0), ('window', 0)))",
        ShapeError, "index map", "window", "[0, 0]",
    ),
    row(
        "map: a component missing",
        "gs.IndexMap((gs.Indexed(1),), (('index', 0),), 1)",
        ShapeError, "index map", "component", "[1]",
    ),
    row(
        "map: two components, no vector",
        "gs.IndexMap((gs.Indexed(0), gs.Indexed(1)), (('index', 0),))",
        ShapeError, "index map", "vector axis", "2",
    ),
    row(
        "map: layout without a window",
        "gs.IndexMap((gs.Indexed(0), gs.Window(0)), (('index', 0),))",
        ShapeError, "index map", "layout", "window",
    ),
    row(
        "map: layout names an axis twice",
        "gs.IndexMap((gs.Indexed(0),), (('index', 0), ('index', 0)))",
        ShapeError, "index map", "layout", "twice",
    ),
    row(
        "map: Shared beyond the grid",
        "gs.IndexMap((gs.Indexed(0), gs.Shared(3)), (('index', 0),))",
        ShapeError, "index map", "Shared(3)",
    ),
    row(
        "map: slice without a size",
        "gs.IndexMap((gs.Indexed(0, 0),), (('index', 0), ('window', 0)))",
        ShapeError, "index map", "window_sizes", "(None,)",
    ),
    row(
        "map: sources are ints",
        "gs.IndexMap((0, 1), (('index', 0), ('index', 1)))",
        ArgumentError, "index map", "source", "0",
    ),
    row("map: layout of ints", "gs.IndexMap((gs.Indexed(0),), (0,))", ArgumentError, "index map", "layout", "0"),
]

SCATTER = [
    row("scatter: src dtype", "b.scatter(data, index, index)", DTypeError, "scatter", "src", "float32", "got int64"),
    row(
        "scatter: src rank",
        "b.scatter(data, index, b.zeros((3,)))",
        ShapeError, "scatter", "src (3,)", "(3, 24)", "axis 1", "equal to 24", "got 3",
    ),
    row(
        "scatter: src shape",
        "b.scatter(data, index, b.zeros((4, 24)))",
        ShapeError, "scatter", "src", "(4, 24)", "axis 0", "equal to 3", "got 4",
    ),
    row(
        "scatter_nd: src shape",
        "b.scatter_nd(cube, vectors, b.zeros((5, 3)))",
        ShapeError, "scatter_nd", "src", "(5, 3)", "axis 1", "equal to 4", "got 3",
    ),
    row(
        "put: src shape",
        "b.put(data, b.zeros((3,), 'int64'), b.zeros((3, 23)))",
        ShapeError, "put", "src", "(3, 23)", "axis 1", "equal to 24", "got 23",
    ),
    row("scatter: src does not fit", "b.scatter(small, index, 256)", DTypeError, "scatter", "src", "256", "uint8"),
    row("scatter: src is a fraction", "b.scatter(small, index, 0.5)", DTypeError, "scatter", "src", "0.5", "uint8"),
    row("scatter: src is NaN", "b.scatter(small, index, float('nan'))", DTypeError, "scatter", "src", "nan", "uint8"),
    row("scatter: src is text", "b.scatter(data, index, 'x')", DTypeError, "scatter", "src", "'x'"),
    row("scatter: dim", "b.scatter(data, index, src, dim=5)", ShapeError, "scatter", "dim", "[-2, 1]", "got 5"),
    row(
        "scatter: sub of bool",
        "b.scatter(flags, index, True, reduction='sub')",
        DTypeError, "scatter", "'sub'", "bool",
    ),
    row(
        "scatter: mean of bool",
        "b.scatter(flags, index, True, reduction='mean')",
        DTypeError, "scatter", "'mean'", "bool",
    ),
    row("scatter: empty axis", "b.scatter(empty, index, src)", BoundsError, "scatter", "axis 0", "(0, 24)", "empty"),
]

SURROUNDINGS = [
    row("add: shapes", "data + b.zeros((8, 23))", ShapeError, "add", "(8, 24)", "(8, 23)", "24 and 23", "axis -1"),
    row("add: text", "data + 'x'", DTypeError, "add", "operand", "'x'"),
    row("add: an int that does not fit", "small + 256", DTypeError, "256", "uint8"),
    row("bitwise_and of floats", "data & src", DTypeError, "bitwise_and", "float32"),
    row("left_shift of floats", "data << 1", DTypeError, "left_shift", "float32"),
    row("bitwise_not of floats", "~data", DTypeError, "bitwise_not", "float32"),
    row(
        "gelu: approximate",
        "b.gelu(data, approximate='yes')",
        ArgumentError, "gelu", "approximate", "'tanh'", "'yes'",
    ),
    row("cast: dtype", "b.cast(data, 'float33')", DTypeError, "'float33'"),
    row("full: does not fit", "b.full((2,), 300, 'int8')", DTypeError, "full", "300", "int8"),
    row("full: NaN", "b.full((2,), float('nan'), 'int8')", DTypeError, "full", "nan", "int8"),
    row("full: not a number", "b.full((2,), 'one')", DTypeError, "full", "'one'"),
    row("constant: long", "b.constant(np.zeros((200, 200), 'O'))", DTypeError, "constant", "object"),
    row("constant: masked", "b.constant(np.ma.masked_array([1, 2], [0, 1]))", ArgumentError, "constant", "mask"),
    row("constant: ragged", "b.constant([[1], [2, 3]])", ShapeError, "constant"),
    row("iota: axis", "b.iota((2, 3), axis=2)", ShapeError, "iota", "axis", "[-2, 1]", "got 2"),
    row("size: not a size", "b.size(1.5)", ShapeError, "1.5"),
    row("reshape: count", "b.reshape(data, (5, 5))", ShapeError, "reshape", "(8, 24)", "(5, 5)", "192", "25"),
    row("reshape: two free", "b.reshape(data, (-1, -1))", ShapeError, "reshape", "one extent", "(-1, -1)"),
    row("reshape: not a multiple", "b.reshape(data, (5, -1))", ShapeError, "reshape", "192", "5"),
    row("reshape: beside 0", "b.reshape(empty, (0, -1))", ShapeError, "reshape", "-1", "0"),
    row("reshape: -2", "b.reshape(data, (-2, 4))", ShapeError, "-2"),
    row("transpose: twice", "b.transpose(data, [0, 0])", ShapeError, "transpose", "perm", "[0, 0]"),
    row("transpose: short", "b.transpose(data, [0])", ShapeError, "transpose", "perm", "[0]"),
    row("transpose: axis", "b.transpose(data, [0, 2])", ShapeError, "transpose", "perm", "got 2"),
    row("transpose: an int", "b.transpose(data, 1)", ArgumentError, "transpose", "perm", "1"),
    row("broadcast_to", "b.broadcast_to(data, (7, 24))", ShapeError, "broadcast_to", "(8, 24)", "(7, 24)"),
    row("broadcast_to: smaller", "b.broadcast_to(data, (24,))", ShapeError, "broadcast_to", "(8, 24)", "(24,)"),
    row("squeeze: extent", "b.squeeze(data, 0)", ShapeError, "squeeze", "(8, 24)", "axis 0", "equal to 1", "got 8"),
    row("squeeze: axis", "b.squeeze(data, 2)", ShapeError, "squeeze", "axis", "[-2, 1]", "got 2"),
    row("unsqueeze: axis", "b.unsqueeze(data, 3)", ShapeError, "unsqueeze", "axis", "[-3, 2]", "got 3"),
    row("unsqueeze: twice", "b.unsqueeze(data, [0, 0])", ShapeError, "unsqueeze", "axis", "twice"),
    row("flatten: axis", "b.flatten(data, 3)", ShapeError, "flatten", "axis", "got 3"),
    row("flip: axis", "b.flip(data, 2)", ShapeError, "flip", "axis", "got 2"),
    row("slice: lengths", "b.slice(data, [0, 0], [1])", ShapeError, "slice", "one entry"),
    row("slice: step 0", "data[::0]", ShapeError, "getitem", "step"),
    row("slice: step is a float", "data[::1.5]", DTypeError, "getitem", "1.5"),
    row("slice: start is a float", "data[0.5:]", DTypeError, "getitem", "0.5"),
    row("slice: axis twice", "b.slice(data, [0, 0], [1, 1], axes=[0, -2])", ShapeError, "slice", "axes", "twice"),
    row("pad: lengths", "b.pad(data, [0], [0, 0])", ShapeError, "pad", "2 entries", "1"),
    row("pad: cut too much", "b.pad(data, [-5, 0], [-4, 0])", ShapeError, "pad", "(8, 24)", "(-5, 0)", "(-4, 0)"),
    row("pad: value", "b.pad(small, [0, 0], [1, 1], value=-1)", DTypeError, "pad", "value", "-1", "uint8"),
    row("pad: amount is a float", "b.pad(data, [0.5, 0], [0, 0])", ArgumentError, "pad", "low", "0.5"),
    row("concat: nothing", "b.concat([])", ArgumentError, "concat", "at least one"),
    row("concat: rank", "b.concat([data, b.zeros((24,))])", ShapeError, "concat", "values[1]", "rank 2", "(24,)"),
    row(
        "concat: extent",
        "b.concat([data, b.zeros((8, 23))])",
        ShapeError, "concat", "values[1]", "axis 1", "24", "23",
    ),
    row("concat: axis", "b.concat([data, data], axis=2)", ShapeError, "concat", "axis", "[-2, 1]", "got 2"),
    row("concat: one value", "b.concat(data)", GraphError, "data"),
    row("stack: extent", "b.stack([data, b.zeros((8, 23))])", ShapeError, "values[1]", "24", "23"),
    row("sum: axis", "b.sum(data, 2)", ShapeError, "sum", "axis", "[-2, 1]", "got 2"),
    row("sum: axis twice", "b.sum(data, [0, -2])", ShapeError, "sum", "axis", "twice"),
    row("sum: keepdims", "b.sum(data, 0, keepdims='x')", ArgumentError, "sum", "keepdims", "'x'"),
    row("max of nothing", "b.max(empty, 0)", ShapeError, "max", "no elements", "(0, 24)"),
    row("argmax of nothing", "b.argmax(empty, 0)", ShapeError, "argmax", "(0, 24)"),
    row("argmax: axis", "b.argmax(data, 2)", ShapeError, "argmax", "axis", "got 2"),
]

BUILDING = [
    row("unknown target", "b.output(data)\nb.build('rocm')", TargetError, "'rocm'", "'llvm'", "'cuda'"),
    row("target is None", "b.output(data)\nb.build(None)", TargetError, "None", "'llvm'", "'cuda'"),
    row("target kind", "b.output(data)\nb.build({'kind': 'metal'})", TargetError, "'metal'", "'llvm'", "'cuda'"),
    row("target without kind", "b.output(data)\nb.build({'mcpu': 'x86-64'})", TargetError, "kind", "None"),
    row("target attribute", "b.output(data)\nb.build({'kind': 'llvm', 'speed': 9})", TargetError, "'speed'"),
    row("cuda arch", "b.output(data)\nb.build({'kind': 'cuda', 'arch': 'fast'})", TargetError, "'fast'"),
    row("CPU name", "b.output(data)\nb.build({'kind': 'llvm', 'mcpu': 'pentium9'})", TargetError, "'pentium9'"),
    row("rule", "b.output(b.gather(data, index))\nb.build(rules=['fast'])", ArgumentError, "rule", "'fast'"),
    row("source kind", "rows.source('c++')", ArgumentError, "source", "'c++'", "tir"),
    row("cuda source of llvm", "rows.source('cuda')", TargetError, "source", "llvm", "cuda"),
    row("ptx of llvm", "rows.source('ptx')", TargetError, "source", "llvm", "ptx"),
    row("threads: 0", "gs.set_num_threads(0)", ArgumentError, "set_num_threads", "positive", "0"),
    row("threads: True", "gs.set_num_threads(True)", ArgumentError, "set_num_threads", "positive", "True"),
    row("threads: a str", "gs.set_num_threads('2')", ArgumentError, "set_num_threads", "positive", "'2'"),
    row("threads: None", "gs.set_num_threads(None)", ArgumentError, "set_num_threads", "positive", "None"),
    row(
        "missing extra",
        """
        hide('ml_dtypes')
        gs.BFloat16().numpy
        """,
        MissingExtraError, "bfloat16", "ml_dtypes", "not installed", "pip install '.[",
    ),
]

SCALAR = "b = gs.Builder('one')\nb.output(b.input('x', (), 'float64') + 1)\nm = b.build()"

CALLING = [
    row("missing input", "rows(A)", ArgumentError, "rows", "missing input index"),
    row("missing inputs", "rows()", ArgumentError, "rows", "missing inputs data, index"),
    row("missing by name", "rows(index=I)", ArgumentError, "rows", "missing input data"),
    row("extra input", "rows(A, I, I)", ArgumentError, "rows", "2 inputs", "data, index", "got 3"),
    row("misnamed input", "rows(A, indices=I)", ArgumentError, "rows", "'indices'", "data, index"),
    row("misnamed beside all", "rows(A, I, indices=I)", ArgumentError, "rows", "'indices'", "data, index"),
    row("named self", "rows(A, I, self=I)", ArgumentError, "rows", "'self'", "data, index"),
    row("input twice", "rows(A, data=A, index=I)", ArgumentError, "rows", "'data'", "twice"),
    row("dtype of data", "rows(A.astype('f8'), I)", DTypeError, "rows", "input data", "float32", "got float64"),
    row("dtype of index", "rows(A, I.astype('i4'))", DTypeError, "rows", "input index", "int64", "got int32"),
    row("complex array", "rows(A.astype('c8'), I)", DTypeError, "rows", "input data", "complex64"),
    row("swapped bytes", "rows(A.astype('>f4'), I)", DTypeError, "rows", "input data", "got >f4"),
    row("object array", "rows(A.astype('O'), I)", DTypeError, "rows", "input data", "object"),
    row("text", "rows('text', I)", DTypeError, "rows", "input data"),
    row("None", "rows(None, I)", DTypeError, "rows", "input data", "None"),
    row("a dict", "rows({}, I)", DTypeError, "rows", "input data", "dict"),
    row("a type", "rows(np.ndarray, I)", DTypeError, "rows", "input data", "type"),
    row("a value of the graph", "rows(data, I)", DTypeError, "rows", "input data", "Value"),
    row("masked array", "rows(np.ma.masked_array(A, A > 3), I)", ArgumentError, "rows", "input data", "mask"),
    row("ragged lists", "rows([[1], [2, 3]], I)", ShapeError, "rows", "input data"),
    row(
        "a list that does not fit",
        "rows(A, [[2**63] * 6] * 3)",
        DTypeError, "rows", "input index", str(2**63), "int64",
    ),
    row("a list of floats as index", "rows(A, [[0.5] * 6] * 3)", DTypeError, "rows", "input index", "float", "int64"),
    row("rank of data", "rows(A[0], I)", ShapeError, "rows", "input data", "(4, 6)", "got (6,)"),
    row("shape of data", "rows(A[:3], I)", ShapeError, "rows", "input data", "(4, 6)", "got (3, 6)"),
    row("shape of index", "rows(A, I[:, :5])", ShapeError, "rows", "input index", "(3, 6)", "got (3, 5)"),
    row(
        "sizes that differ",
        "by_n(np.zeros((5, 3), 'f4'), np.zeros(7, 'i8'))",
        ShapeError, "sized", "size n", "5 by axis 0 of a", "7 by axis 0 of i",
    ),
    row(
        "static extent beside a size",
        "by_n(np.zeros((5, 2), 'f4'), np.zeros(5, 'i8'))",
        ShapeError, "sized", "input a", "(n, 3)", "got (5, 2)",
    ),
    row(
        "extents that only a call can compare",
        """
        b = gs.Builder('late')
        d, i = b.input('d', ('n', 'm'), 'float32'), b.input('i', ('k', 'l'), 'int64')
        b.output(b.gather(d, i))
        m = b.build()
        m(np.zeros((4, 5), 'f4'), np.zeros((3, 6), 'i8'))
        """,
        ShapeError, "gather", "index (k, l)", "axis 1", "at most m = 5", "got l = 6",
    ),
    row(
        "operands that only a call can compare",
        """
        b = gs.Builder('late')
        b.output(b.input('x', ('n',), 'float32') + b.input('y', ('m',), 'float32'))
        m = b.build()
        m(np.zeros(4, 'f4'), np.zeros(1, 'f4'))
        """,
        ShapeError, "add", "axis -1", "4", "1",
    ),
    row(
        "reshape that only a call can refuse",
        """
        b = gs.Builder('late')
        b.output(b.reshape(b.input('x', ('n',), 'float32'), (-1, 3)) * 2)
        m = b.build()
        m(np.zeros(7, 'f4'))
        """,
        ShapeError, "reshape", "(n,)", "n = 7",
    ),
    row(
        "empty axis that only a call can see",
        """
        b = gs.Builder('late')
        b.output(b.take(b.input('d', ('n', 2), 'float32'), b.input('i', ('k',), 'int64'), bounds='clip', name='rows'))
        m = b.build()
        m(np.zeros((0, 2), 'f4'), np.zeros(3, 'i8'))
        """,
        BoundsError, "rows", "i[0] = 0", "axis 0", "(0, 2)", "no valid position",
    ),
    row("out: count", "rows(A, I, out=(I, I))", ArgumentError, "rows", "out", "1 array", "got 2"),
    row(
        "out: one for two",
        "pair(np.zeros((2, 3), 'f4'), out=np.zeros((2, 3), 'f4'))",
        ArgumentError, "pair", "out", "2 arrays",
    ),
    row("out: shape", "rows(A, I, out=np.zeros((4, 6), 'f4'))", ShapeError, "rows", "out", "(3, 6)", "got (4, 6)"),
    row("out: dtype", "rows(A, I, out=np.zeros((3, 6), 'f8'))", DTypeError, "rows", "out", "float32", "got float64"),
    row(
        "out: read-only",
        "o = np.zeros((3, 6), 'f4')\no.flags.writeable = False\nrows(A, I, out=o)",
        ArgumentError, "rows", "out", "read-only",
    ),
    row(
        "out: broadcast",
        "o = np.lib.stride_tricks.as_strided(np.zeros(6, 'f4'), (3, 6), (0, 4))\nrows(A, I, out=o)",
        ArgumentError, "rows", "out", "share",
    ),
    row("out: a list", "rows(A, I, out=[[0.0] * 6] * 3)", ArgumentError, "rows", "out"),
    row("out: a list of a list", "rows(A, I, out=[[[0.0] * 6] * 3])", DTypeError, "rows", "out", "array", "list"),
    row("out: text", "rows(A, I, out='text')", DTypeError, "rows", "out", "array", "str"),
    row("out: a number", "rows(A, I, out=1.0)", DTypeError, "rows", "out", "array", "float"),
    row("out: a number that would fit", f"{SCALAR}\nm(3.0, out=1.0)", DTypeError, "one", "out", "array", "float"),
    row("out: a list that would fit", f"{SCALAR}\nm(3.0, out=[1.0])", DTypeError, "one", "out", "array", "float"),
    row("out: a NumPy scalar", f"{SCALAR}\nm(3.0, out=np.float64(1))", DTypeError, "one", "out", "array", "float64"),
    row(
        "out: one array for two outputs",
        "o = np.zeros((2, 3), 'f4')\npair(o.copy(), out=(o, o))",
        ArgumentError, "pair", "out", "overlap",
    ),
    row(
        "out: overlapping arrays for two outputs",
        "o = np.zeros((3, 3), 'f4')\npair(o[:2].copy(), out=(o[:2], o[1:]))",
        ArgumentError, "pair", "out", "overlap",
    ),
    row("wrong device", "rows(Exporter(A, device=(2, 0)), I)", DeviceError, "rows", "input data", "cpu", "got cuda:0"),
    row(
        "wrong device of the second",
        "rows(A, Exporter(I, device=(2, 1)))",
        DeviceError, "rows", "input index", "cpu", "got cuda:1",
    ),
    row(
        "device of no kind we know",
        "rows(Exporter(A, device=(8, 0)), I)",
        DeviceError, "rows", "input data", "DLPack device type 8",
    ),
    row(
        "out on the wrong device",
        "rows(A, I, out=Exporter(np.zeros((3, 6), 'f4'), device=(2, 0)))",
        DeviceError, "rows", "out", "cpu", "got cuda:0",
    ),
    row(
        "index out of range",
        "I[1, 4] = 4\nrows(A, I)",
        BoundsError, "gather", "index[1, 4] = 4", "axis 0", "(4, 6)", "-4 to 3",
    ),
]

# fmt: on

TABLE = [*BUILDER, *OF_ANOTHER, *OPTIONS, *GATHER, *MAPS, *SCATTER, *SURROUNDINGS, *BUILDING, *CALLING]

TVM_TALK = re.compile(r"Check failed|InternalError|Traceback|TVMError|tirx?\.|\.cc\b|\.py\b|File \"|0x[0-9a-f]{6}")


def compiled(statements: list[ast.stmt], what: str) -> CodeType:
    return compile(ast.Module(statements, []), what, "exec")


def check(error: gs.GSError, cls: type[gs.GSError], words: tuple[str, ...]) -> None:
    """The error is of exactly this class, reads well, and says these words."""
    assert type(error) is cls
    assert isinstance(error, gs.GSError) and isinstance(error, BASES[cls])
    message = str(error)
    assert not TVM_TALK.search(message), f"not our own words: {message}"
    assert "\n" not in message and 10 < len(message) < 500
    missing = [w for w in words if w not in message]
    assert not missing, f"{missing} not in: {message}"


@pytest.mark.parametrize("case", TABLE, ids=lambda r: r.what)
def test_a_mistake_is_explained(case: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    *before, last = ast.parse(case.code).body
    scope = names(monkeypatch)
    exec(compiled(before, case.what), scope)
    with pytest.raises(Exception) as caught:
        exec(compiled([last], case.what), scope)
    check(caught.value, case.error, case.words)


def test_the_table_has_no_row_twice() -> None:
    assert len({r.what for r in TABLE}) == len(TABLE)
    assert len({r.code for r in TABLE}) == len(TABLE)


def test_a_row_that_raises_nothing_fails() -> None:
    """The harness itself: neither silence, nor another class, nor other words, nor an early error passes."""
    patch = pytest.MonkeyPatch()
    good = row("good", "b.gather(data, index, dim=2)", ShapeError, "gather", "dim")
    test_a_mistake_is_explained(good, patch)
    for bad in (
        row("silence", "b.gather(data, index, dim=1)", ShapeError, "gather"),
        row("class", good.code, DTypeError, "gather"),
        row("words", good.code, ShapeError, "scatter"),
        row("early", f"{good.code}\nb.build()", ShapeError, "gather"),
        row("raw", "{}['x']", ShapeError, "x"),
    ):
        with pytest.raises((AssertionError, pytest.fail.Exception, ShapeError)):
            test_a_mistake_is_explained(bad, patch)


def test_a_call_that_is_refused_changes_nothing() -> None:
    """Every refused call leaves its arrays as they were, out too unless an index is out of range, and the module usable."""
    rows = modules().rows
    a, i, out = np.arange(24, dtype="f4").reshape(4, 6), np.ones((3, 6), "i8"), np.full((3, 6), 7, "f4")
    refused = [
        lambda: rows(a, out=out),
        lambda: rows(a, i[:2], out=out),
        lambda: rows(a[:3], i, out=out),
        lambda: rows(a, i.astype("i4"), out=out),
        lambda: rows(a.astype("f8"), i, out=out),
        lambda: rows(a, i, out=out[:2]),
        lambda: rows(a, i, out=(out, out)),
        lambda: rows(a, np.full((3, 6), 4, "i8"), out=out.copy()),
    ]
    for call in refused:
        with pytest.raises(gs.GSError):
            call()
        assert (out == 7).all() and (i == 1).all() and (a == np.arange(24).reshape(4, 6)).all()
    assert (rows(a, i, out=out) == a[1]).all()


# -- BoundsError ------------------------------------------------------------------------------------------------------


def test_bounds_error_says_where() -> None:
    b = gs.Builder("net")
    d, i = b.input("table", (5, 7), "float32"), b.input("which", (2, 3, 2), "int32")
    b.output(b.gather_nd(d, i, name="look"))
    module = b.build()
    good = np.zeros((2, 3, 2), np.int32)
    for position, value, valid, axis in [
        ((0, 0, 0), 5, (-5, 4), 0),
        ((1, 2, 1), 7, (-7, 6), 1),
        ((0, 2, 1), -8, (-7, 6), 1),
        ((1, 0, 0), np.iinfo(np.int32).min, (-5, 4), 0),
        ((1, 0, 1), np.iinfo(np.int32).max, (-7, 6), 1),
    ]:
        index = good.copy()
        index[position] = value
        index[1, 2, 1] = value if position == (1, 2, 1) else 99  # a later one, which must not be reported
        with pytest.raises(BoundsError) as caught:
            module(np.zeros((5, 7), "f4"), index)
        e = caught.value
        assert (e.op, e.tensor, e.position, e.value, e.valid) == ("look", "which", position, value, valid)
        assert type(e.value) is int and all(type(p) is int for p in e.position)
        at = list(position)
        check(e, BoundsError, ("look", f"which{at} = {value}", f"axis {axis}", "(5, 7)", f"{valid[0]} to {valid[1]}"))


def test_bounds_error_of_unsigned_and_unnegated_indices() -> None:
    b = gs.Builder("net")
    d = b.input("d", (5,), "float32")
    u, s = b.input("u", (3,), "uint64"), b.input("s", (3,), "int64")
    b.output(b.take(d, u, name="unsigned"), b.take(d, s, negative=False, name="forward"))
    module = b.build()
    d_, u_, s_ = np.zeros(5, "f4"), np.array([0, 4, 4], "u8"), np.array([0, 4, 4])
    module(d_, u_, s_)
    for value in (5, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1):
        u_[1] = value
        with pytest.raises(BoundsError) as caught:
            module(d_, u_, s_)
        e = caught.value
        assert (e.op, e.tensor, e.position, e.value, e.valid) == ("unsigned", "u", (1,), value, (0, 4))
    u_[1] = 0
    s_[2] = -1
    with pytest.raises(BoundsError) as caught:
        module(d_, u_, s_)
    e = caught.value
    assert (e.op, e.tensor, e.position, e.value, e.valid) == ("forward", "s", (2,), -1, (0, 4))


def test_bounds_error_of_a_scalar_index() -> None:
    b = gs.Builder("net")
    b.output(b.take(b.input("d", (5, 2), "float32"), b.input("i", (), "int64")))
    with pytest.raises(BoundsError) as caught:
        b.build()(np.zeros((5, 2), "f4"), np.array(5))
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((), 5, (-5, 4))
    check(caught.value, BoundsError, ("take", "i = 5", "-5 to 4"))


def test_bounds_error_on_an_empty_axis_has_no_valid_range() -> None:
    b = gs.Builder("net")
    b.output(b.take(b.input("d", ("n",), "float32"), b.input("i", (4,), "int64")))
    module = b.build()
    with pytest.raises(BoundsError) as caught:
        module(np.zeros(0, "f4"), np.array([0, 1, -1, 2]))
    e = caught.value
    assert (e.tensor, e.position, e.value, e.valid) == ("i", (0,), 0, None)
    assert module(np.ones(3, "f4"), np.array([0, 1, -1, 2])).tolist() == [1, 1, 1, 1]


def test_bounds_error_of_a_slice() -> None:
    """The valid range of a start leaves room for the slice."""
    b = gs.Builder("net")
    slices = gs.IndexMap((gs.Indexed(0, 0),), (("index", 0), ("window", 0)), None, (3,))
    b.output(b.gather_map(b.input("d", (10,), "float32"), b.input("i", (2,), "int64"), slices))
    module = b.build()
    assert module(np.arange(10, dtype="f4"), np.array([7, -10])).tolist() == [[7, 8, 9], [0, 1, 2]]
    for value in (8, -11, -2, -1):
        with pytest.raises(BoundsError) as caught:
            module(np.arange(10, dtype="f4"), np.array([7, value]))
        e = caught.value
        assert (e.position, e.value) == ((1,), value)
        assert e.valid is not None and e.valid[0] == -10 and e.valid[1] == 7


def test_the_first_failing_operator_is_reported() -> None:
    """Of several operators with bad indices, the graph's first."""
    b = gs.Builder("net")
    d, i, j = b.input("d", (5,), "float32"), b.input("i", (3,), "int64"), b.input("j", (3,), "int64")
    b.output(b.take(d, i, name="one"), b.take(d, j, name="two"))
    with pytest.raises(BoundsError) as caught:
        b.build()(np.zeros(5, "f4"), np.array([0, 0, 9]), np.array([8, 0, 0]))
    assert (caught.value.op, caught.value.position, caught.value.value) == ("one", (2,), 9)


def test_an_index_that_is_computed_is_checked() -> None:
    b = gs.Builder("net")
    d, i = b.input("d", (5,), "float32"), b.input("i", (3,), "int64")
    b.output(b.take(d, b.add(i, 2), name="shifted"))
    module = b.build()
    assert module(np.arange(5, dtype="f4"), np.array([0, 1, 2])).tolist() == [2, 3, 4]
    with pytest.raises(BoundsError) as caught:
        module(np.zeros(5, "f4"), np.array([0, 3, 2]))
    assert (caught.value.op, caught.value.position, caught.value.value) == ("shifted", (1,), 5)
    check(caught.value, BoundsError, ("shifted: i[1] gives 5, which is out of range", "axis 0", "(5,)", "-5 to 4"))


def test_an_index_is_followed_to_the_argument_it_came_from() -> None:
    b = gs.Builder("net")
    d, i, j = b.input("d", (5, 7), "float32"), b.input("i", ("n", 1), "int32"), b.input("j", (2,), "int64")
    grid = [b.broadcast_to(b.cast(x, "int64"), (i.shape[0], 2)) for x in (i, j)]
    b.output(b.gather_nd(d, b.stack(grid, 2)))
    module = b.build()
    data, rows, columns = np.zeros((5, 7), "f4"), np.array([[0], [4], [1]], "i4"), np.array([6, -7])
    assert module(data, rows, columns).shape == (3, 2)
    for bad_rows, bad_columns, tensor, position, value in [
        (np.array([[0], [5], [1]], "i4"), columns, "i", (1, 0), 5),
        (rows, np.array([6, 7]), "j", (1,), 7),
    ]:
        with pytest.raises(BoundsError) as caught:
            module(data, bad_rows, bad_columns)
        e = caught.value
        assert (e.tensor, e.position, e.value) == (tensor, position, value)
        assert f"{tensor}{list(position)} = {value} is out of range" in str(e)
    named = gs.Builder("net")
    i, d = named.input("i", (3,), "int64"), named.input("d", (5,), "float32")
    named.output(named.take(d, named.take(named.input("r", (3,), "int64"), i, name="row")))
    with pytest.raises(BoundsError, match=r"row\[1\] = 6 is out"):  # a name of its own tells more
        named.build()(np.array([0, 2, 0]), np.zeros(5, "f4"), np.array([0, 1, 6]))
    mixed = gs.Builder("net")
    i, j = mixed.input("i", (3,), "int64"), mixed.input("j", (3,), "int64")
    mixed.output(mixed.take(mixed.input("d", (5,), "float32"), i + j))
    with pytest.raises(BoundsError, match=r"add_\d+\[1\] = 6 is out"):  # of two inputs, neither alone
        mixed.build()(np.array([0, 4, 0]), np.array([0, 2, 0]), np.zeros(5, "f4"))


# -- cuda without a GPU -----------------------------------------------------------------------------------------------


def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a CUDA device, whatever this one has."""
    from gscompile.ir import machine

    monkeypatch.setattr(machine, "cuda_exists", lambda: False)


def test_cuda_without_gpu_compiles_but_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)
    b = gs.Builder("net")
    b.output(b.gather(b.input("a", (8, 24), "float32"), b.input("i", (3, 24), "int64")))
    module = b.build(target="cuda")
    assert "__global__" in module.source("cuda")
    a, i = np.zeros((8, 24), "f4"), np.zeros((3, 24), "i8")
    for arguments in [(a, i), (Exporter(a, device=(2, 0)), Exporter(i, device=(2, 0)))]:
        with pytest.raises(DeviceError) as caught:
            module(*arguments)
        check(caught.value, DeviceError, ("net", "CUDA device", "target='llvm'"))


def test_an_error_is_raised_by_us_not_through_tvm() -> None:
    """No frame of TVM's stands in the traceback of a refused call or of an index out of range."""
    rows = modules().rows
    for index in (np.full((3, 6), 4), np.zeros((2, 6), int)):
        with pytest.raises(gs.GSError) as caught:
            rows(np.zeros((4, 6), "f4"), index)
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert not [f for f in frames if "tvm" in Path(f.filename).parts]
