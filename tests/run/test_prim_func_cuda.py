"""``Builder.prim_func`` for cuda: compiled by TVM's default pipeline and by NVIDIA's compilers, run on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.compiler.targets import resolve
from gscompile.emulation import EmulatedCuda
from gscompile.ir import codegen
from tests import graphs
from tests.cuda import Text
from tests.ir.test_cubins import ARCHS, missing
from tests.oracle import assert_same
from tests.run.test_prim_func import adding, called, codes, relax_module

IN_TURNS = EmulatedCuda.of({"arch": "sm_90"})


def target(arch: str) -> Any:
    return tvm.target.Target(resolve({"kind": "cuda", "arch": arch}).tvm, host="llvm")


def source(func: Any, arch: str = "sm_90") -> str:
    """The CUDA text that TVM's default pipeline makes of a function."""
    name = str(func.attrs["global_symbol"])
    return str(codegen.device_source(tvm.compile(tvm.IRModule({name: func}), target=target(arch))))


def run_every_operator(dtype: str, backward: bool) -> None:
    """The functions for cuda, but for their thread bindings, which are loops."""
    in_turns = EmulatedCuda.of({"arch": "sm_90", "backward": backward})
    for sample in graphs.samples(dtype):
        arrays, want = [codes(a) for a in sample.arrays], [codes(a) for a in sample.want]
        got = called(sample.builder.prim_func(in_turns, checks="clamp"), arrays, [np.zeros_like(a) for a in want])
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)


def test_every_operator() -> None:
    run_every_operator("float32", backward=False)


def test_every_operator_in_another_order() -> None:
    run_every_operator("int8", backward=False)
    run_every_operator("float32", backward=True)


def test_checks() -> None:
    x, i = np.ones((9, 8), "float32"), np.array([0, 3, 9, -1, -10])
    _, status = called(adding().prim_func(IN_TURNS), [x, i], [x * 0], np.zeros(3, "int64"))
    assert list(status) == [1, 2, 9]
    with pytest.raises(gs.BoundsError, match=r"i\[2\] = 9 is out of range for axis 0 of data \(9, 8\)"):
        adding().check_status(status, {"n": 9, "k": 5}, target=IN_TURNS)
    inside = np.array([0, 3, 8, -1, -9])
    got, status = called(adding().prim_func(IN_TURNS), [x, inside], [x * 0], np.full(3, -1, "int64"))
    want = x.copy()
    np.add.at(want, inside, x[inside])
    assert_same(got, want)
    assert status[0] == 0
    adding().check_status(status, {"n": 9, "k": 5}, target=IN_TURNS)


@pytest.mark.skipif(nvcc.available() is None, reason="needs nvcc, or the extra cuda")
@pytest.mark.parametrize("arch", ARCHS)
def test_machine_code(arch: str, thorough: bool) -> None:
    """Every second operator for each architecture; all of them with ``--thorough``."""
    for n, sample in enumerate(graphs.samples("float32")):
        if not thorough and n // 2 % 2 != ARCHS.index(arch) % 2:  # both kinds of checks for both
            continue
        func = sample.builder.prim_func({"kind": "cuda", "arch": arch}, checks=("status", "clamp")[n % 2])
        text = source(func, arch)
        kernels = set(Text.of(text).kernels)
        assert kernels
        assert not missing(kernels, nvcc.compile_cuda(text, arch, "cubin"))


def test_relax_holds_it_and_compiles_it() -> None:
    func = adding().prim_func({"kind": "cuda", "arch": "sm_90"})
    imported = list(tvm.compile(relax_module(func, 2), target=target("sm_90")).mod.imports)
    for module in imported:
        imported += module.imports
    (text,) = [str(module.inspect_source()) for module in imported if module.kind == "cuda"]
    assert set(Text.of(text).kernels)
