"""A value that stands where no element does: a number, or the bytes of an opaque element."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from gscompile.ir import tir as T
from gscompile.ir.coords import Coords
from gscompile.ir.ops.elementwise import Scalar, constant, filler
from gscompile.ir.tir import Expr
from gscompile.ir.types import DType, OpaqueDType

Fill: TypeAlias = Scalar | bytes | tuple[int, ...]
"""Bytes of an opaque element; integers where its words, on the innermost axis, are not all the same."""


def word_values(value: Fill, dtype: OpaqueDType) -> Fill:
    """The words of an opaque element that is given by its bytes."""
    assert isinstance(value, bytes)
    words = tuple(int(w) for w in np.frombuffer(value, dtype.word.numpy))
    return words[0] if len(set(words)) == 1 else words


def made_of(value: Fill, dtype: DType, coords: Coords) -> Expr:
    """The value at a position."""
    assert not isinstance(value, bytes), "opaque elements are words by now"
    if not isinstance(value, tuple):
        return filler(value, dtype, coords)
    found = constant(value[-1], dtype)
    for k in reversed(range(len(value) - 1)):
        found = T.select(coords[-1] == k, constant(value[k], dtype), found)
    return found
