"""Machine code for GPUs: whatever can be built for cuda is accepted by NVIDIA's compilers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.ir.ops.elementwise import POINTWISE
from gscompile.ir.types import DTYPES
from gscompile.schedules.cuda import RULES
from gscompile.schedules.cuda.atomics import ATOMICS, C_TYPES, device_function, function_name
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
    """But for the size of grids."""
    for b in list(graphs.everything(full=False))[::20]:
        targets = [{"kind": "cuda", "arch": arch, "multiprocessors": 132} for arch in ARCHS]
        first, *others = [b.build(target, **graphs.options(b)).source("cuda") for target in targets]
        assert all(other == first for other in others), b.name


PARTS = 4


@with_compiler
@pytest.mark.parametrize("part", range(PARTS))
def test_everything_compiles(part: int) -> None:
    """The compilers and the architectures take turns: the text is the same for all, but for functions of the device and
    the size of grids."""
    builders = list(graphs.everything(full=False))[part::PARTS]
    target = {"kind": "cuda", "arch": ARCHS[0]}
    sources = {b.name: b.build(target, **graphs.options(b)).source("cuda") for b in builders}
    assert all(kernels(source) for source in sources.values())
    source = cuda.joined(sources)
    names = kernels(source)
    assert len(names) > 100
    compilers = list(COMPILERS.values())
    assert missing(names, compilers[part % len(compilers)](source, ARCHS[part // 2], "cubin")) == []


def test_every_rule_is_compiled() -> None:
    target = resolve({"kind": "cuda", "arch": ARCHS[0]})
    some = ("elements", "float16", "float32", "complex64", "int8_sorted")
    graphs_of_all = [b for b in graphs.everything(full=False) if any(word in b.name for word in some)]
    used = {
        rule for b in graphs_of_all for _, rule in lower(b.graph(), target, **graphs.options(b)).summary.stats.kernels
    }
    assert used == {r.name for r in RULES} - {"check"}


@with_compiler
@pytest.mark.parametrize("arch", ARCHS)
def test_every_atomic_compiles(arch: str) -> None:
    """The table of functions, where the architectures differ."""
    rows = [(op, DTYPES[name]) for op in ATOMICS.values() for name in C_TYPES]
    rows = [(op, d) for op, d in rows if d.is_float or op != "logaddexp"]
    rows = [(op, d) for op, d in rows if d.is_integer or op not in ("and", "or", "xor")]
    source = cuda.common_header()
    for op, d in rows:
        pointer = d.tir + "_t" if d.bits == 64 and d.is_integer else C_TYPES[d.name]
        use = f'extern "C" __global__ void use_{op}_{d}({pointer}* p, {C_TYPES[d.name]} v) {{\n'
        source += f"\n{device_function(op, d)}\n{use}  {function_name(op, d)}(p, v);\n}}\n"
    names = {f"use_{op}_{d}" for op, d in rows}
    assert len(names) > 40 and missing(names, nvcc.compile_cuda(source, arch, "cubin")) == []


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
