"""Defects in the kernels of compiled graphs are noticed: an atomic made plain, a barrier left out, a block that does not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import Text, cpu_compiler, device, mutations, on_cpu
from tests.cuda.counters import counted

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

N, K, F = 251, 450, 8


def scatter(b: gs.Builder, dtype: str, reduction: Any) -> gs.Value:
    x, i, v = b.input("x", (N, F), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k", F), dtype)
    return b.put(x, i, v, reduction=reduction)


def histogram(b: gs.Builder) -> gs.Value:
    i, v = b.input("i", ("k",), "int64"), b.input("v", ("k",), "int32")
    return b.put(b.zeros((N // 4,), "int32"), i, v, reduction="add", bounds="fill")


def update(b: gs.Builder) -> gs.Value:
    return scatter(b, "int32", "update")


def total(b: gs.Builder) -> gs.Value:
    return b.sum(b.input("x", ("n", 64), "float32"))


def rows(b: gs.Builder) -> gs.Value:
    return b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("k",), "int64"))


GRAPHS: dict[str, Callable[[gs.Builder], gs.Value]] = {
    "add_float32": lambda b: scatter(b, "float32", "add"),
    "add_int64": lambda b: scatter(b, "int64", "add"),
    "max_int32": lambda b: scatter(b, "int32", "max"),
    "histogram": histogram,
    "update": update,
    "total": total,
    "rows": rows,
}


def arrays(inputs: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    sizes = {"k": K, "n": N}
    found = {}
    for a in inputs:
        shape = [sizes.get(str(n), n) for n in a.type.shape]
        found[a.name] = rng.integers(0, N, [int(n) for n in shape]).astype(a.type.dtype.name)
    return found


def builder(name: str) -> gs.Builder:
    b = gs.Builder(name)
    b.output(GRAPHS[name](b))
    return b


@pytest.mark.parametrize("name", GRAPHS)
def test_defects_are_noticed(name: str, tmp_path: Path) -> None:
    ((m, source),) = on_cpu([builder(name)], tmp_path)
    given = arrays(m.inputs)
    want = builder(name).build("llvm")(**given)

    def right(module: Any) -> bool:
        """With every one of a few orders."""
        try:
            for seed in range(4):
                module.seed = seed
                np.testing.assert_allclose(module(**given), want, rtol=1e-4)
        except AssertionError:  # or CudaError
            return False
        return True

    assert right(m)
    with counted() as launches:
        m(**given)
    if any(launch.blocks > 1 for launch in launches):
        with device.losing_blocks(1):
            assert not right(m), "a block was lost"
    text = Text.of(source)
    # the atomics of index checks act on bad indices only, of which there are none; of kernels for other sizes none ran
    ran = {launch.kernel for launch in launches}
    kernels = [code for f, code in text.kernels.items() if f in ran]
    called = [f for f in text.functions if "max_int64" not in f and any(f"{f}(" in code for code in kernels)]
    places = [*(text.functions[f] for f in called), *kernels]
    for k, mutation in enumerate(change for code in places for change in mutations(code)):
        folder = tmp_path / f"m{k}"
        folder.mkdir()
        ((broken, _),) = on_cpu([builder(name)], folder, edit=mutation)
        assert not right(broken), mutation.what
