"""Machine code for GPUs: whatever can be built for cuda is accepted by NVIDIA's compilers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.schedules.cuda import RULES
from tests import cuda, graphs

COMPILERS: dict[str, Callable[[str, str, str], bytes]] = {}
if _nvcc := nvcc._nvcc():
    COMPILERS["nvcc"] = lambda *args: nvcc._run_nvcc(_nvcc, *args)
if _nvrtc := nvcc._nvrtc():
    COMPILERS["nvrtc"] = lambda *args: nvcc._run_nvrtc(*_nvrtc, *args)
with_compiler = pytest.mark.skipif(not COMPILERS, reason="needs nvcc, or the extra cuda")


def kernels(source: str) -> set[str]:
    return set(cuda.Text.of(source).kernels)


def missing(names: set[str], cubin: bytes) -> list[str]:
    """The kernels that machine code has no section for."""
    sections = set(cubin.split(b"\0"))
    return sorted(name for name in names if f".text.{name}".encode() not in sections)


def test_every_function_is_covered() -> None:
    """A function that refused every dtype would silently not be compiled."""
    assert all(graphs.takes(f) for f in POINTWISE)
    assert len(graphs.takes("add")) == len(graphs.DTYPES)


ARCHS = ("sm_80", "sm_90")


def test_the_source_is_the_same_for_every_architecture() -> None:
    for b in list(graphs.everything())[::20]:
        first, *others = [b.build({"kind": "cuda", "arch": arch}).source("cuda") for arch in ARCHS]
        assert all(other == first for other in others), b.name


@with_compiler
def test_everything_compiles() -> None:
    modules = [b.build({"kind": "cuda", "arch": ARCHS[0]}) for b in graphs.everything()]
    assert {rule for m in modules for _, rule in m.stats.kernels} == {r.name for r in RULES} - {"check"}
    sources = {m.name: m.source("cuda") for m in modules}
    assert all(kernels(source) for source in sources.values())
    source = cuda.joined(sources)
    names = kernels(source)
    assert len(names) > 1000
    for name, compiler in COMPILERS.items():
        for arch in ARCHS:
            assert missing(names, compiler(source, arch, "cubin")) == [], (name, arch)


@with_compiler
def test_a_missing_kernel_is_found() -> None:
    b = gs.Builder("here")
    b.output(b.take(b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), bounds="trust"))
    source = b.build({"kind": "cuda", "arch": "sm_80"}).source("cuda")
    cubin = nvcc.compile_cuda(source, "sm_80", "cubin")
    (name,) = kernels(source)
    assert missing({name}, cubin) == []
    assert missing({name, "not_here"}, cubin) == ["not_here"]
    with pytest.raises(gs.TargetError, match="cannot compile"):
        nvcc.compile_cuda(source + "int f() { return undeclared; }", "sm_80", "cubin")
