"""Sizes that int64 cannot count are refused where a tensor is declared, by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gscompile as gs

FAR = 1 << 40
LARGE: dict[str, Callable[[gs.Builder], gs.Value]] = {
    "input: x": lambda b: b.input("x", (FAR, FAR), "float32"),
    "input: extents": lambda b: b.input("y", (1 << 63,), "int8"),
    "input: z": lambda b: b.input("z", (1 << 62, "n"), "int32"),
    "add": lambda b: b.input("x", (FAR, 1), "int8") + b.input("y", (1, FAR), "int8"),
    "concat": lambda b: b.concat([b.input("x", (1 << 62,), "int8")] * 2),
    "pad": lambda b: b.pad(b.input("x", (1 << 62,), "int8"), (1 << 62,), (1,)),
    "broadcast_to": lambda b: b.broadcast_to(b.input("x", (1,), "int8"), (1 << 62, 8)),
    "full": lambda b: b.zeros((0, 1 << 62, 8)),
    "iota": lambda b: b.iota((1 << 61,)),
}


@pytest.mark.parametrize("what", LARGE)
def test_a_tensor_that_int64_cannot_count(what: str) -> None:
    with pytest.raises(gs.ShapeError, match=rf"{what}.*( would be .* bytes or more| must be less than 2\^63)"):
        LARGE[what](gs.Builder("large"))


def test_the_largest_tensor() -> None:
    assert gs.Builder("large").input("x", ((1 << 63) - 1,), "int8").shape == ((1 << 63) - 1,)
