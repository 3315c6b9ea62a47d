"""Arguments of the wrong kind, of the operators that move and reduce: refused when added, never cut down to what fits."""

from __future__ import annotations

from typing import Any

import pytest

import gscompile as gs
from gscompile.errors import ArgumentError, DTypeError, GraphError, ShapeError

# the call, the error, and what its message begins with
MISTAKES: list[tuple[str, type[gs.GSError], str]] = [
    ("x[::1.5]", DTypeError, "getitem: bounds and steps must be ints; got 1.5"),
    ("x[1.0]", ArgumentError, "getitem: an int, slice"),
    ("x['a']", ArgumentError, "getitem: an int, slice"),
    ("x[True]", ArgumentError, "getitem: an int, slice"),
    ("x[None, 1.5]", ArgumentError, "getitem: an int, slice"),
    ("b.pad(x, [0.5], [0])", ArgumentError, "pad: low must be an int; got 0.5"),
    ("b.pad(x, [0, 0], [0, 1.5])", ArgumentError, "pad: high must be an int; got 1.5"),
    ("b.pad(x, 1, 1)", ArgumentError, "pad: low must be a sequence of ints; got 1"),
    ("b.pad(x, 'ab', [0, 0])", ArgumentError, "pad: low must be a sequence of ints; got 'ab'"),
    ("b.pad(x, [True, 0], [0, 0])", ArgumentError, "pad: low must be an int; got True"),
    ("b.pad(x, [0, 0], [1, 1], 'a')", DTypeError, "pad: value: a scalar is needed; got 'a'"),
    ("b.pad(x, [0, 0], [1, 1], None)", DTypeError, "pad: value: a scalar is needed; got None"),
    ("b.transpose(x, 1)", ArgumentError, "transpose: perm must be a sequence of ints; got 1"),
    ("b.transpose(x, [0, 1.0])", ArgumentError, "transpose: perm must be an int; got 1.0"),
    ("b.transpose(x, '01')", ArgumentError, "transpose: perm must be a sequence of ints; got '01'"),
    ("b.transpose(x, [True, False])", ArgumentError, "transpose: perm must be an int; got True"),
    ("b.reshape(x, None)", ShapeError, "reshape: shape: a dimension must be an int or a str; got None"),
    ("b.reshape(x, (8.0, 24))", ShapeError, "reshape: shape: a dimension must be an int or a str; got 8.0"),
    ("b.reshape(x, (-1, 1.5))", ShapeError, "reshape: shape: a dimension must be an int or a str; got 1.5"),
    ("b.reshape(x, (True, 192))", ShapeError, "reshape: shape: a dimension must be an int or a str; got True"),
    ("b.reshape(x, (-2, -96))", ShapeError, "reshape: shape: a dimension must not be negative; got -2"),
    ("b.broadcast_to(x, None)", ShapeError, "broadcast_to: shape: a shape must be a tuple"),
    (
        "b.broadcast_to(x, (2, 8.0, 24))",
        ShapeError,
        "broadcast_to: shape: a dimension must be an int or a str; got 8.0",
    ),
    ("b.squeeze(x, 0.5)", ArgumentError, "squeeze: axis must be an int; got 0.5"),
    ("b.squeeze(x, '0')", ArgumentError, "squeeze: axis must be an int; got '0'"),
    ("b.squeeze(x, True)", ArgumentError, "squeeze: axis must be an int; got True"),
    ("b.unsqueeze(x, 0.5)", ArgumentError, "unsqueeze: axis must be an int; got 0.5"),
    ("b.unsqueeze(x, None)", ArgumentError, "unsqueeze: axis must be an int; got None"),
    ("b.flatten(x, 1.0)", ArgumentError, "flatten: axis must be an int; got 1.0"),
    ("b.flip(x, 1.0)", ArgumentError, "flip: axis must be an int; got 1.0"),
    ("b.slice(x, 0, 1)", ArgumentError, "slice: starts must be a sequence of ints; got 0"),
    ("b.slice(x, [0], 1)", ArgumentError, "slice: stops must be a sequence of ints; got 1"),
    ("b.slice(x, [0], [1], 0)", ArgumentError, "slice: axes must be a sequence of ints; got 0"),
    ("b.slice(x, [0], [1], [0.0])", ArgumentError, "slice: axes must be an int; got 0.0"),
    ("b.slice(x, [0], [1], steps=2)", ArgumentError, "slice: steps must be a sequence of ints; got 2"),
    ("b.slice(x, [0], [1], [0], [1.5])", DTypeError, "slice: bounds and steps must be ints; got 1.5"),
    ("b.concat(x)", GraphError, "concat: values: x is a value of a graph"),
    ("b.concat(None)", ArgumentError, "concat: values must be a sequence of values; got None"),
    ("b.concat('xy')", ArgumentError, "concat: values must be a sequence of values; got 'xy'"),
    ("b.concat([x, 'a'])", DTypeError, "concat: values[1]"),
    ("b.concat([x, x], 1.0)", ArgumentError, "concat: axis must be an int; got 1.0"),
    ("b.stack(3)", ArgumentError, "stack: values must be a sequence of values; got 3"),
    ("b.stack([x], 1.5)", ArgumentError, "stack: axis must be an int; got 1.5"),
    ("b.iota((3,), 0.5)", ArgumentError, "iota: axis must be an int; got 0.5"),
    ("b.iota((3.5,))", ShapeError, "iota: shape: a dimension must be an int or a str; got 3.5"),
    ("b.iota((3,), 0, 'complex31')", DTypeError, "iota: dtype: unknown dtype 'complex31'"),
    ("b.zeros((1.5,))", ShapeError, "zeros: shape: a dimension must be an int or a str; got 1.5"),
    ("b.zeros((2,), 'float8')", DTypeError, "zeros: dtype: unknown dtype 'float8'"),
    ("b.full((2,), [1, 2])", DTypeError, "full: a scalar is needed; got [1, 2]"),
    ("b.full((2,), 1.5, 'int32')", DTypeError, "full: 1.5 does not fit int32"),
    ("b.full((2,), 300, 'uint8')", DTypeError, "full: 300 does not fit uint8"),
    ("b.constant([1, 'a'])", DTypeError, "constant: "),
    ("b.size(1.5)", ShapeError, "size: dim: a dimension must be an int or a str; got 1.5"),
    ("b.size(True)", ShapeError, "size: dim: a dimension must be an int or a str; got True"),
    ("b.cast(x, 'int')", DTypeError, "cast: dtype: unknown dtype 'int'"),
    ("b.sum(x, 0.5)", ArgumentError, "sum: axis must be an int; got 0.5"),
    ("b.sum(x, [0, 0])", ShapeError, "sum: axis names an axis twice"),
    ("b.sum(x, True)", ArgumentError, "sum: axis must be an int; got True"),
    ("b.sum(x, 0, 1)", ArgumentError, "sum: keepdims must be True or False; got 1"),
    ("b.argmax(x, [0])", ArgumentError, "argmax: axis must be an int; got [0]"),
    ("b.argmin(x, 0.5)", ArgumentError, "argmin: axis must be an int; got 0.5"),
    ("b.argmax(x, 0, False, 1)", ArgumentError, "argmax: select_last must be True or False; got 1"),
    ("b.gelu(x, 'quick')", ArgumentError, "gelu: approximate must be 'none' or 'tanh'; got 'quick'"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES, ids=[call for call, *_ in MISTAKES])
def test_refused(call: str, error: type[gs.GSError], message: str) -> None:
    b = gs.Builder("net")
    names: dict[str, Any] = {"b": b, "x": b.input("x", (8, 24), "float32")}
    before = str(b.draft.values)
    with pytest.raises(gs.GSError) as caught:
        eval(call, names)
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)
    assert str(b.draft.values) == before, "the refused call has left values behind"


BY_AXIS = ["sum", "prod", "mean", "max", "min", "any", "all", "squeeze", "unsqueeze", "flip"]


@pytest.mark.parametrize("method", BY_AXIS)
def test_an_axis_is_named_as_in_numpy(method: str) -> None:
    b = gs.Builder("net")
    x = b.input("x", (1, 1), "float32")
    call = getattr(b, method)
    assert call(x, axis=0).shape == call(x, axis=(0,)).shape == call(x, axis=[0]).shape
    with pytest.raises(TypeError, match="axes"):
        call(x, axes=0)
