"""Whether an output may share memory with the inputs: the one rule for every kind of call.

An output may begin exactly where the input begins whose memory it may take over (the data of a scatter); the call then works in
place.  Sharing a byte with any input in another way is a conflict: a kernel must not write there.  The C extension has the same
rule, in ``_fastcall.c``; one table of cases tests both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum, auto
from typing import TypeAlias

from gscompile.runtime.arrays import View

Span: TypeAlias = tuple[int, int]  # the first byte, and the one after the last


class Aliasing(Enum):
    """How an output lies to the inputs."""

    NONE = auto()
    IN_PLACE = auto()
    CONFLICT = auto()


def aliasing(out: Span, inputs: Iterable[Span], in_place: int | None) -> Aliasing:
    """How an output lies to the inputs, all without gaps between their elements.

    Args:
        in_place: the number of the input whose memory it may take over.
    """
    found = Aliasing.NONE
    for k, span in enumerate(inputs):
        if overlap(span, out):
            if span[0] != out[0] or in_place != k:
                return Aliasing.CONFLICT
            found = Aliasing.IN_PLACE
    return found


def overlap(a: Span, b: Span) -> bool:
    """Whether two ranges of bytes share one.

    Devices are not compared: addresses are unique among them, and memory that CUDA manages is on several.
    """
    return a[0] < b[1] and b[0] < a[1] and a[0] < a[1] and b[0] < b[1]


def span(v: View) -> Span:
    """From the first to the last byte of an array, gaps between its elements included."""
    if v.strides is None or 0 in v.shape:
        return v.ptr, v.ptr + math.prod(v.shape) * v.dtype.itemsize
    start = v.ptr
    end = v.ptr + v.dtype.itemsize
    for extent, stride in zip(v.shape, v.strides, strict=True):
        if stride < 0:
            start += (extent - 1) * stride
        else:
            end += (extent - 1) * stride
    return start, end
