"""``Builder.prim_func``: what TVM's users take, compiled and called by TVM's own means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import gscompile as gs
from gscompile.compiler.targets import resolve
from tests import graphs
from tests.oracle import Array, assert_same


def compiled(func: Any) -> Any:
    target = resolve("llvm").tvm
    name = str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else "main"
    return tvm.compile(tvm.IRModule({name: func.with_attr("global_symbol", name)}), target=target)[name]


def called(func: Any, inputs: list[Array], outputs: list[Array], *more: Array) -> list[Array]:
    """What TVM's function writes to the outputs, and to more parameters."""
    written = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in (*outputs, *more)]
    compiled(func)(*(tvm.runtime.tensor(np.ascontiguousarray(a)) for a in inputs), *written)
    return [t.numpy() for t in written]


def codes(a: Array) -> Array:
    """As TVM is passed an array: a bfloat16 as its bits."""
    return a.view(f"uint{8 * a.dtype.itemsize}") if a.dtype.kind == "V" or a.dtype.name == "bfloat16" else a


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_every_operator(dtype: str) -> None:
    for sample in graphs.samples(dtype):
        arrays, want = [codes(a) for a in sample.arrays], [codes(a) for a in sample.want]
        empty = [np.zeros_like(a) for a in want]
        record = np.zeros(1 + 2 * sample.builder.build().stats.checks, "int64")
        *got, status = called(sample.builder.prim_func(threads=3), arrays, empty, record)
        assert status[0] == 0
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)


def adding() -> gs.Builder:
    b = gs.Builder("net")
    x, i = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")
    b.output(b.put(x, i, b.take(x, i), reduction="add"))
    return b


def test_checks() -> None:
    x, i = np.ones((9, 8), "float32"), np.array([0, 3, 9, -1, -10])
    _, status = called(adding().prim_func(), [x, i], [x * 0], np.zeros(3, "int64"))  # one check: both index by i
    assert status[0] != 0 and list(status[1:]) == [2, 9]
    good = np.where((i < -9) | (i > 8), 0, i)
    (got,) = called(adding().prim_func(checks="clamp"), [x, i], [x * 0])
    want = x.copy()
    np.add.at(want, good[[0, 1, 3]], 1)
    assert_same(got, want)
    with pytest.raises(gs.ArgumentError, match='checks must be "status" or "clamp"'):
        adding().prim_func(checks="none")
    with pytest.raises(gs.TargetError, match="not made yet"):
        adding().prim_func({"kind": "cuda", "arch": "sm_90"})


def test_the_plain_one_is_scheduled_by_tvm() -> None:
    """As its user would: split, parallel, vectorised."""
    b = gs.Builder("net")
    b.output(b.take(b.input("x", (100, 64), "float32"), b.input("i", (50,), "int64"), name="rows"))
    sch = tvm.s_tir.Schedule(tvm.IRModule({"main": b.prim_func(schedule=False)}))
    block = sch.get_sblock("rows", "main")
    row, cell = sch.get_loops(block)
    sch.parallel(row)
    _, lanes = sch.split(cell, [None, 16])
    sch.vectorize(lanes)
    x, i = np.random.default_rng(0).random((100, 64), dtype="float32"), np.arange(50) - 25
    assert "T.parallel" in str(sch.mod) and "T.vectorized" in str(sch.mod)
    (got,) = called(sch.mod["main"], [x, i], [np.zeros((50, 64), "float32")])
    assert_same(got, x[i])


def test_relax_calls_it() -> None:
    func = adding().prim_func(checks="clamp")
    bb = relax.BlockBuilder()
    n, k = tvm.tirx.Var("n", "int64"), tvm.tirx.Var("k", "int64")
    x, i = relax.Var("x", relax.TensorType((n, 8), "float32")), relax.Var("i", relax.TensorType((k,), "int64"))
    with bb.function("main", [x, i]):
        f = bb.add_func(func, "net")
        with bb.dataflow():
            y = bb.emit(relax.call_tir(f, [x, i], relax.TensorType((n, 8), "float32")))
            z = bb.emit_output(relax.op.add(y, y))
        bb.emit_func_output(z)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), target=resolve("llvm").tvm), tvm.cpu())
    a, j = np.ones((9, 8), "float32"), np.array([0, 3, 3])
    want = a.copy()
    np.add.at(want, j, 1)
    assert_same(vm["main"](tvm.runtime.tensor(a), tvm.runtime.tensor(j)).numpy(), 2 * want)
