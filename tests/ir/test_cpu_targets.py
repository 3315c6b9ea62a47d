"""CPUs other than this one: every operator compiles for them, and runs where this one can run their code."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

import gscompile as gs
from gscompile.compiler.targets import resolve
from gscompile.ir import machine
from tests import graphs
from tests.oracle import assert_same

# ELF's numbers of machines
X86_64, AARCH64 = 62, 183
TARGETS: dict[str, dict[str, str]] = {
    "x86-64": {"kind": "llvm", "mcpu": "x86-64"},
    "x86-64-v3": {"kind": "llvm", "mcpu": "x86-64-v3"},
    "x86-64-v4": {"kind": "llvm", "mcpu": "x86-64-v4"},
    "aarch64": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "neoverse-n1"},
}
MACHINE = {name: AARCH64 if name == "aarch64" else X86_64 for name in TARGETS}

# name: vector registers that the code must use, and those that the CPU does not have
REGISTERS: dict[str, tuple[str, str | None]] = {
    "x86-64": (r"%xmm\d", r"%[yz]mm\d"),
    "x86-64-v3": (r"%ymm\d", r"%zmm\d"),
    "x86-64-v4": (r"%zmm\d", None),
    "aarch64": (r"\bv\d+\.4s", r"%[xyz]mm\d"),
}
WIDTH = {"x86-64": 16, "x86-64-v3": 32, "x86-64-v4": 64, "aarch64": 16}


RUN = ("float32", "float16", "int8")  # the dtypes of operators that run where this CPU can run a target's code


def runs_here(name: str) -> bool:
    """Whether this CPU has what a target's code uses."""
    if platform.machine() not in ("x86_64", "AMD64") or MACHINE[name] != X86_64:
        return False
    return machine.vector_bytes(resolve("llvm").tvm) >= WIDTH[name]


def machine_code(module: gs.Module, path: Path) -> bytes:
    module._library.mod.write_to_file(str(path), "o")
    return path.read_bytes()


def large_scatters() -> list[gs.Builder]:
    """Each way in which llvm scatters many points."""
    found = []
    for want, data, points in [
        ("privatised", (9,), 40_000),
        ("chunked", (9, 8), 200_000),
        ("owned-rows", (90_000, 8), 40_000),
    ]:
        b = gs.Builder(want.replace("-", "_"))
        x, i = b.input("x", data, "float32"), b.input("i", (points,), "int64")
        b.output(b.put(x, i, b.input("s", (points, *data[1:]), "float32"), reduction="add"))
        assert b.build().stats.kernels[-1][1] == want
        found.append(b)
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_every_operator_compiles(name: str, tmp_path: Path, thorough: bool) -> None:
    """Those of dtypes that :func:`test_every_operator_runs` compiles are left out.

    Every second graph for every second CPU, and the others for the others; with ``--thorough`` every graph for each.
    """
    dtypes = [d for d in ("float32", "float16", "bool") if d not in RUN or not runs_here(name)]
    builders = [s.builder for dtype in dtypes for s in graphs.samples(dtype)]
    builders += [b for b in graphs.functions() if b.name in ("functions_float32", "functions_float16")]
    builders += [b for b in graphs.folds() if b.name in ("folds_float32", "folds_bfloat16")]
    builders += [b for b in graphs.reductions() if b.name in ("reduce_int8_any", "reduce_bfloat16_without_self")]
    if not thorough:
        builders = builders[list(TARGETS).index(name) % 2 :: 2]
    builders += large_scatters()
    used, absent = REGISTERS[name]
    asm = ""
    for k, b in enumerate(builders):
        module = b.build(TARGETS[name])
        code = machine_code(module, tmp_path / "code.o")
        assert code.startswith(b"\x7fELF") and int.from_bytes(code[18:20], "little") == MACHINE[name], b.name
        assert f"__tvm_ffi_{b.name}\0".encode() in code
        if k % 3 == 0:  # code generation again
            asm += module.source("asm")
    assert re.search(used, asm)
    assert absent is None or not re.search(absent, asm)


@pytest.mark.parametrize("dtype", RUN)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.skipif(not runs_here(n), reason=f"this CPU does not run code for {n}"))
        for n in ("x86-64", "x86-64-v3", "x86-64-v4")
    ],
)
def test_every_operator_runs(name: str, dtype: str) -> None:
    for sample in graphs.samples(dtype):
        for got, want in zip(sample.builder.build(TARGETS[name])(*sample.arrays), sample.want, strict=True):
            assert_same(got, want)


@pytest.mark.parametrize("name", TARGETS)
def test_rules_are_told_the_width_of_the_targets_registers(name: str) -> None:
    """Not of those of the CPU that compiles."""
    assert resolve(TARGETS[name]).facts.vector_bytes == WIDTH[name]
