"""The constructors of index maps: the very maps of the builder's operators, and errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
import gscompile.te as gte
from gscompile.dialects import xla as gx

M = gs.IndexMap


def values() -> tuple[gs.Builder, gs.Value, gs.Value]:
    b = gs.Builder("maps")
    return b, b.input("x", (4, 4, 4), "float32"), b.input("i", (4, 2), "int64")


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (M.elements(3, 1), lambda b, x, i: b.gather(x, b.zeros((4, 4, 4), "int64"), 1)),
        (M.elements(3, -1), lambda b, x, i: b.gather(x, b.zeros((4, 4, 4), "int64"), 2)),
        (M.take(3, 2), lambda b, x, i: b.take(x, i)),
        (M.take(3, 2, -1), lambda b, x, i: b.take(x, i, 2)),
        (M.take(3, 2, 1, 1), lambda b, x, i: b.take(x, i, 1, 1)),
        (M.take(3, 2, 2, 1), lambda b, x, i: b.take(x, i, 2, 1)),
        (M.nd(3, 2, 2), lambda b, x, i: b.gather_nd(x, i)),
        (M.nd(3, 2, 2, 1), lambda b, x, i: b.gather_nd(x, i, batch_dims=1)),
        (M.nd_dims(3, [2, 0]), lambda b, x, i: b.gather_nd(x, b.zeros((4, 4, 4, 2), "int64"), dims=[2, 0])),
        (
            M.xla(3, 2, offset_dims=[1, 2], collapsed_slice_dims=[1], start_index_map=[2, 1], index_vector_dim=1,
                  slice_sizes=[3, 1, 2]),
            lambda b, x, i: gx.gather(x, i, [1, 2], [1], [], [], [2, 1], 1, [3, 1, 2]),
        ),
        (
            M.xla(3, 2, offset_dims=[2], collapsed_slice_dims=[1], operand_batching_dims=[0],
                  start_indices_batching_dims=[0], start_index_map=[1], index_vector_dim=2, slice_sizes=[1, 1, 4]),
            lambda b, x, i: gx.gather(x, i, [2], [1], [0], [0], [1], 2, [1, 1, 4]),
        ),
    ],
)  # fmt: skip
def test_a_constructor_makes_the_operators_map(made: gs.IndexMap, call: Any) -> None:
    op = call(*values()).op
    assert op.addressing.map == made


def test_a_scatters_numbers() -> None:
    b, x, i = values()
    updates = b.input("u", (4, 3, 2), "float32")
    out = gx.scatter(x, i, updates, [1, 2], [1], [], [], [2, 1], 1)
    assert out.op.addressing.map == M.xla(
        3, 2, offset_dims=[1, 2], collapsed_slice_dims=[1], start_index_map=[2, 1], index_vector_dim=1,
        slice_sizes=[3, 1, 2],
    )  # fmt: skip


def test_te_takes_them() -> None:
    from tvm import te

    x, i = te.placeholder((4, 5), "float32", "x"), te.placeholder((3,), "int64", "i")
    assert [int(d) for d in gte.gather_map(x, i, M.take(2, 1, 1)).shape] == [4, 3]
    assert gte.first_invalid(x, i, M.take(2, 1, 1)).ndim == 0


def test_vectors_along_the_first_axis() -> None:
    b = gs.Builder("outermost")
    x, i = b.input("x", (2, 3), "int64"), b.input("i", (2, 4), "int64")
    b.output(b.gather_map(x, i, M.nd(2, 2, 2, vector_axis=0)))
    a, at = np.arange(6).reshape(2, 3), np.array([[0, 1, 1, 0], [2, 0, 1, 1]])
    assert np.array_equal(b.build()(a, at), a[at[0], at[1]])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: M.elements(2, 2), "dim must be in"),
        (lambda: M.take(2, 1, 2), "axis must be in"),
        (lambda: M.take(2, 1, 0, 1), "batch_dims must be in"),
        (lambda: M.nd(2, 1, 3), "index vectors of length 3"),
        (lambda: M.nd(2, 1, 1, 1), "index vectors of length 1 after 1 batch axes"),
        (lambda: M.nd(2, 1, 1, vector_axis=1), "vector_axis must be in"),
        (lambda: M.nd_dims(2, [0, 0]), "dims names an axis twice"),
        (
            lambda: M.xla(2, 1, offset_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1]),
            "slice_sizes must have 2 entries",
        ),
        (
            lambda: M.xla(2, 1, offset_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1, 1]),
            "offset_dims must have 2 entries",
        ),
        (
            lambda: M.xla(1, 1, offset_dims=[9], start_index_map=[0], index_vector_dim=1, slice_sizes=[1]),
            "layout must name",
        ),
        (
            lambda: M.xla(1, 1, offset_dims=[0], operand_batching_dims=[0], start_index_map=[0], index_vector_dim=1,
                          slice_sizes=[1]),
            "operand_batching_dims and",
        ),
    ],
)  # fmt: skip
def test_mistakes(call: Any, says: str) -> None:
    with pytest.raises(gs.ShapeError, match=f"index map: {says}"):
        call()
