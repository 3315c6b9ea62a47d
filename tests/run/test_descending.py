"""Coordinates that fall as a loop rises, taken apart by a reshape: what TVM's simplifier must not be shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle import Array
from tests.paths import Sheet


def flat(b: Any, v: Any) -> Any:
    """The rows of a gather, end to end."""
    return b.reshape(b.take(v.x, v.i, 0), (-1,))


@pytest.mark.parametrize("size", [42, 43, 64])
def test_reversed_rows(size: int) -> None:
    rng = np.random.default_rng(size)
    x: Array = rng.random((9, 6), np.float32)
    i = rng.integers(0, 9, size)
    for extent in (size, "k"):
        sheet = Sheet()
        sheet.input("x", (9, 6))
        sheet.input("i", (extent,), "int64")
        sheet.check("flip", lambda b, v: b.flip(flat(b, v), 0))
        sheet.check("flip, then reshape", lambda b, v: b.reshape(b.flip(flat(b, v), 0), (-1, 3)))
        sheet.check("negative step", lambda b, v: b.slice(flat(b, v), [100], [4], steps=[-3]))
        sheet.check("slice, then flip", lambda b, v: b.flip(b.slice(flat(b, v), [5], [101]), 0))
        sheet.check("pad, then flip", lambda b, v: b.flip(b.pad(flat(b, v), [7], [2]), 0))
        sheet.run(x=x, i=i)
