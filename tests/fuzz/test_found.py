"""What the fuzzer found, kept: each answered with another exception once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax, paddle, tensorflow, tensorrt, xla

ONES = np.ones((3, 2), "float32")
FIRST = np.zeros(1, "int32")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gs.Builder().transpose(np.zeros((2, 2)), np.array(1)), "transpose: perm"),
        (lambda: tensorflow.segment_max([], [None]), "segment_max: segment_ids must be integers; got [None]"),
        (lambda: tensorflow.segment_sum([], [[1], 2]), "segment_sum: segment_ids"),
        (lambda: gs.Builder().size(10**30), "size: an extent must be less than 2^63; got 1000"),
        (lambda: gs.Builder().input("x", ("n",), "int8")[2**64], "getitem: index 18446744073709551616 is out of range"),
        (
            lambda: xla.scatter(ONES, FIRST, ONES[0], [0], [0], [0], [], [], 0, update_computation=lambda a: a),
            "scatter: update_computation must be a function of 2 scalars; got <function",
        ),
        (
            lambda: paddle.put_along_axis(ONES, ONES.astype("int64"), 1.0, 0, reduce=[]),
            "put_along_axis: reduce must be assign or add",
        ),
        (lambda: gs.Builder().pointwise([], ONES), "pointwise: "),
        (lambda: gs.Builder().cumprod(ONES, dtype="9" * 5000), "cumprod: unknown dtype '999"),
        (lambda: gs.Builder().cast(ONES, "(" * 500 + "f4"), "cast: dtype: unknown dtype '((("),
        (lambda: gs.Builder().cast(np.zeros(2), "S3"), "cast: elements of |S3 can be moved, but not computed with"),
        (lambda: tensorrt.add_scatter(None, FIRST, ONES, "sum"), "add_scatter: data must be a tensor; got None"),
        (lambda: jax.segment_min(ONES, np.zeros(3)), "segment_min: segment_ids must be integers; got float64"),
        (lambda: jax.segment_min(ONES, float("nan")), "segment_min: segment_ids must be integers; got float64"),
        (
            lambda: jax.segment_sum(ONES[:0], FIRST[:0]),
            "segment_sum: num_segments is needed where segment_ids is empty",
        ),
        (
            lambda: xla.scatter(ONES, FIRST, ONES[0], [0], [0], [0], [0], [0], 0, update_computation=ONES),
            "scatter: update_computation must be a function of scalars; got array",
        ),
    ],
)
def test_calls_that_once_raised_something_else(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(gs.GSError) as e:
        call()
    assert str(e.value).startswith(words)
