"""``Builder.prim_func``: what TVM's users take, compiled and called by TVM's own means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.s_tir import dlight

import gscompile as gs
from gscompile.compiler.targets import resolve
from tests import graphs
from tests.oracle import Array, assert_same

TARGET = resolve("llvm").tvm


def compiled(func: Any) -> Any:
    """By TVM's default pipeline."""
    name = str(func.attrs["global_symbol"]) if "global_symbol" in func.attrs else "main"
    return tvm.compile(tvm.IRModule({name: func.with_attr("global_symbol", name)}), target=TARGET)[name]


def called(func: Any, inputs: list[Array], outputs: list[Array], *more: Array) -> list[Array]:
    """What TVM's function writes to the outputs, and to more parameters."""
    written = [tvm.runtime.tensor(np.ascontiguousarray(a)) for a in (*outputs, *more)]
    compiled(func)(*(tvm.runtime.tensor(np.ascontiguousarray(a)) for a in inputs), *written)
    return [t.numpy() for t in written]


def codes(a: Array) -> Array:
    """As TVM is passed an array: a bfloat16 as its bits."""
    return a.view(f"uint{8 * a.dtype.itemsize}") if a.dtype.kind == "V" or a.dtype.name == "bfloat16" else a


def relax_module(func: Any, inputs: int) -> Any:
    """A Relax function ``main`` of so many inputs, which calls this one by ``R.call_tir``, symbolic extents included."""
    bb = relax.BlockBuilder()
    types = [relax.TensorType(list(p.ty.shape), str(p.ty.dtype)) for p in func.params]
    given = [relax.Var(f"x{k}", t) for k, t in enumerate(types[:inputs])]
    with bb.function("main", given):
        f = bb.add_func(func.without_attr("global_symbol"), "kernel")
        with bb.dataflow():
            result = bb.emit_output(relax.call_tir(f, relax.Tuple(given), types[inputs:]))
        bb.emit_func_output(result)
    return bb.get()


def by_relax(func: Any, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """What ``R.call_tir`` gives, in the Relax VM."""
    vm = relax.VirtualMachine(tvm.compile(relax_module(func, len(inputs)), target=TARGET), tvm.cpu())
    found = vm["main"](*(tvm.runtime.tensor(np.ascontiguousarray(a)) for a in inputs))
    assert len(outputs) == len(func.params) - len(inputs)
    return [found.numpy()] if len(outputs) == 1 else [t.numpy() for t in found]


def record(builder: gs.Builder) -> Array:
    return np.full(1 + 2 * builder.build().stats.checks, -1, "int64")


@pytest.mark.parametrize("dtype", ["bfloat16", "int8"])
def test_every_operator(dtype: str) -> None:
    for sample in graphs.samples(dtype):
        arrays, want = [codes(a) for a in sample.arrays], [codes(a) for a in sample.want]
        empty = [np.zeros_like(a) for a in want]
        got = called(sample.builder.prim_func(threads=3, checks="clamp"), arrays, empty)
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)


def test_every_operator_by_relax() -> None:
    for sample in graphs.samples("float32"):
        status = record(sample.builder)
        *got, status = by_relax(sample.builder.prim_func(threads=3), list(sample.arrays), [*sample.want, status])
        assert len(status) == 1 or status[0] == 0
        for a, b in zip(got, sample.want, strict=True):
            assert_same(a, b)


def nets() -> Iterator[tuple[gs.Builder, list[Array]]]:
    """Reductions, segments, bags, chains, message passing; symbolic and static extents, little and much work."""
    rng = np.random.default_rng(0)
    for n, e, static in ((90, 70, False), (3000, 40000, True)):
        rows, edges = (n, e) if static else ("n", "e")
        x, i = rng.random((n, 16), dtype="float32"), rng.integers(0, n, e)
        v = rng.random((e, 16), dtype="float32")

        def inputs(name: str, rows: Any = rows, edges: Any = edges) -> tuple[gs.Builder, gs.Value, gs.Value, gs.Value]:
            b = gs.Builder(name)
            index = b.input("i", (edges,), "int64")
            return b, b.input("x", (rows, 16), "float32"), index, b.input("v", (edges, 16), "float32")

        for reduction in ("add",) if static else ("update", "mul", "max", "mean"):
            b, table, index, values = inputs(reduction)
            b.output(b.put(table, index, values, reduction=reduction))
            yield b, [i, x, v]
        b, table, index, values = inputs("chain")
        b.output(
            b.put(b.zeros((rows, 16)), index, b.take(table, index) * values + b.take(table, index), reduction="add")
        )
        yield b, [i, x, v]
        if static:
            continue
        b, table, index, values = inputs("hops")
        b.output(b.take(b.take(table, index), index % 7))
        yield b, [i, x, v]
        bags = gs.Builder("bags")
        ids = bags.input("i", (edges, 3), "int64")
        bags.output(bags.sum(bags.take(bags.input("x", (rows, 16), "float32"), ids), 1))
        yield bags, [np.stack([i, i[::-1], i], 1), x]
        segments = gs.Builder("segments")
        offsets = segments.input("i", (rows,), "int64")
        segments.output(segments.segment_reduce(segments.input("v", (edges, 16), "float32"), offsets, "sum"))
        yield segments, [np.sort(rng.integers(0, e, n)), v]


def test_nets() -> None:
    for k, (builder, arrays) in enumerate(nets()):
        want = np.asarray(builder.build()(*arrays))
        func = builder.prim_func(checks="clamp", threads=2)
        (got,) = by_relax(func, arrays, [want]) if k % 2 else called(func, arrays, [np.zeros_like(want)])
        np.testing.assert_allclose(got, want, rtol=1e-4, err_msg=builder.name)


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


def test_the_error_of_a_status() -> None:
    """Is that of a call, of whichever check has failed."""
    b = gs.Builder("two")
    x, i, j = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64"), b.input("j", ("k", 2), "int32")
    b.output(b.put(x, i, b.take(x, b.sum(j, 1)), reduction="add"), b.gather_nd(x, j))
    func, module = b.prim_func(), b.build()
    data, sizes, numbers = np.ones((9, 8), "float32"), {"n": 9, "k": 3}, np.zeros((3, 2), "int32")
    for bad in range(3):
        good, pairs = np.array([0, 3, 5]), numbers.copy()
        (good if bad == 0 else pairs.reshape(-1))[(2, 3, 4)[bad]] = (9, 8, -99)[bad]
        outs = [data * 0, np.zeros(3, "float32")]
        *_, status = called(func, [data, good, pairs], outs, np.zeros(func.params[-1].ty.shape[0].value, "int64"))
        with pytest.raises(gs.BoundsError) as ours:
            b.check_status(status, sizes)
        with pytest.raises(IndexError) as theirs:
            module(data, good, pairs)
        assert str(ours.value) == str(theirs.value)
    *_, status = called(func, [data, np.array([0, 3, 5]), numbers], outs, status)
    b.check_status(tvm.runtime.tensor(status), sizes)
    with pytest.raises(gs.ArgumentError, match="fills int64"):
        b.check_status(status[1:], sizes)
    with pytest.raises(gs.ArgumentError, match="symbolic sizes of two are"):
        b.check_status(status, {"n": 9})


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


def test_dlight_binds_the_plain_one_to_threads() -> None:
    b = gs.Builder("net")
    b.output(b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("k",), "int64")) * 2.0)
    module = tvm.IRModule({"main": b.prim_func(schedule=False)})
    with tvm.target.Target({"kind": "cuda", "arch": "sm_90"}):
        bound = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(module)
    assert "threadIdx.x" in bound.script()
