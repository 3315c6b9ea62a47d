"""Coordinates that come back to 0 within a row, read in branches: LLVM's loop vectoriser must not take them for straight runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir import machine

X86 = machine.host_triple().startswith("x86_64")
# those whose vectors this machine has; 16 floats in one register find what 8 do not
CPUS = [("x86-64-v3", 32), ("znver4", 64)]

# graphs of x (rows, blocks, k) and t (rows, 1, k), a row of a table for each row; h is half of k
GRAPHS: dict[str, Callable[[gs.Builder, Any, Any, int], Any]] = {
    "product": lambda b, x, t, h: x * t,
    "rotation": lambda b, x, t, h: b.concat(
        [x[..., :h] * t[..., :h] - x[..., h:] * t[..., h:], x[..., :h] * t[..., h:] + x[..., h:] * t[..., :h]], 2
    ),
    "half": lambda b, x, t, h: b.concat([x[..., :h] * t[..., :h], x[..., h:]], 2),
    "odd": lambda b, x, t, h: b.concat([x[..., : h + 1] * t[..., : h + 1], x[..., h + 1 :]], 2),
    "copy": lambda b, x, t, h: b.concat([x[..., :h], b.broadcast_to(t, x.shape)[..., h:]], 2),
    "padded": lambda b, x, t, h: x * b.pad(t[..., :h], (0, 0, 0), (0, 0, h), value=2),
    "chosen": lambda b, x, t, h: b.where(x > 0.5, b.concat([t[..., :h] * 3, t[..., :h]], 2), x),
}
EXPECTED: dict[str, Callable[[Any, Any, int], Any]] = {
    "product": lambda x, t, h: x * t,
    "rotation": lambda x, t, h: np.concatenate(
        [x[..., :h] * t[..., :h] - x[..., h:] * t[..., h:], x[..., :h] * t[..., h:] + x[..., h:] * t[..., :h]], 2
    ),
    "half": lambda x, t, h: np.concatenate([x[..., :h] * t[..., :h], x[..., h:]], 2),
    "odd": lambda x, t, h: np.concatenate([x[..., : h + 1] * t[..., : h + 1], x[..., h + 1 :]], 2),
    "copy": lambda x, t, h: np.concatenate([x[..., :h], np.broadcast_to(t, x.shape)[..., h:]], 2),
    "padded": lambda x, t, h: x * np.pad(t[..., :h], ((0, 0), (0, 0), (0, h)), constant_values=2),
    "chosen": lambda x, t, h: np.where(x > 0.5, np.concatenate([t[..., :h] * 3, t[..., :h]], 2), x),
}


@pytest.mark.parametrize("k", [4, 8])
@pytest.mark.parametrize("graph", GRAPHS)
def test_rows_of_a_table_beside_blocks_of_a_row(graph: str, k: int) -> None:
    widest = machine.host_vector_bytes()
    rng = np.random.default_rng(k)
    blocks = 64 // k
    x = rng.random((3, blocks * k), dtype="float32")
    table, index = rng.random((5, k), dtype="float32"), np.array([4, 1, 3])
    for fixed in (True, False):
        b = gs.Builder("net")
        x_ = b.input("x", (3, blocks * k) if fixed else ("rows", blocks * k), "float32")
        t_ = b.take(b.input("t", (5, k), "float32"), b.input("i", (3,) if fixed else ("rows",), "int64"), 0)
        rows = x_.shape[0]
        y = GRAPHS[graph](b, b.reshape(x_, (rows, blocks, k)), b.reshape(t_, (rows, 1, k)), k // 2)
        b.output(b.reshape(y, (rows, -1)))
        wanted = EXPECTED[graph](x.reshape(3, blocks, k), table[index].reshape(3, 1, k), k // 2).reshape(3, -1)
        for target in ["llvm", *({"kind": "llvm", "mcpu": cpu} for cpu, vectors in CPUS if vectors <= widest and X86)]:
            np.testing.assert_allclose(b.build(target)(x, table, index), wanted, 1e-5, err_msg=f"{target} {fixed}")
