"""How many instructions the hot loops take on CPUs other than this one: counted in their assembly, where no clock can be read.

Each loop does a row of 64 floats.  The numbers are what LLVM 22 made when somebody last looked, and a little room.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.asm import Loop, hottest, loops
from tests.oracle import assert_same

Make = Callable[[gs.Builder], gs.Value]
ROW = 64

TARGETS: dict[str, dict[str, Any]] = {
    "avx2": {"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2},
    "avx512": {"kind": "llvm", "mcpu": "x86-64-v4", "num-cores": 2},
    "aarch64": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "neoverse-n1", "num-cores": 2},
}
LANES = {"avx2": 8, "avx512": 8, "aarch64": 4}  # LLVM prefers ymm registers for AVX-512 too
ADD = {"avx2": r"vaddps", "avx512": r"vaddps", "aarch64": r"fadd\s.*\.4s"}
MULTIPLY = {"avx2": r"vmulps", "avx512": r"vmulps", "aarch64": r"fmul\s.*\.4s"}
SCALAR = {"avx2": r"v(add|mul)ss", "avx512": r"v(add|mul)ss", "aarch64": r"f(add|mul)\ss\d"}
SPILL = {
    "avx2": r"^vmov.*%[xy]mm\d+, .*\(%rsp\)",
    "avx512": r"^vmov.*mm\d+, .*\(%rsp\)",
    "aarch64": r"^st[rp]\s+q.*\[sp",
}


def bags(b: gs.Builder) -> gs.Value:
    return b.sum(b.take(b.input("x", (1000, ROW), "float32"), b.input("i", (500, 20), "int64")), 1)


def weighted_rows(b: gs.Builder) -> gs.Value:
    rows = b.take(b.input("x", (5000, ROW), "float32"), b.input("i", (9000,), "int64"))
    return rows * b.input("w", (9000, ROW), "float32")


def added_rows(b: gs.Builder) -> gs.Value:
    x, i = b.input("x", (90_000, ROW), "float32"), b.input("i", (40_000,), "int64")
    return b.put(x, i, b.input("s", (40_000, ROW), "float32"), reduction="add", deterministic=True)


# kernel, what it computes with, most instructions a row by target
CASES: list[tuple[Make, dict[str, str], dict[str, int]]] = [
    (bags, ADD, {"avx2": 20, "avx512": 20, "aarch64": 35}),
    (weighted_rows, MULTIPLY, {"avx2": 40, "avx512": 40, "aarch64": 92}),
    (added_rows, ADD, {"avx2": 43, "avx512": 43, "aarch64": 60}),
]


def asm(make: Make, target: str) -> str:
    b = gs.Builder("k")
    b.output(make(b))
    return str(b.build(TARGETS[target]).source("asm"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("make", "computes", "most"), CASES)
def test_hot_loops(make: Make, computes: dict[str, str], most: dict[str, int], target: str) -> None:
    loop = hottest(asm(make, target), computes[target])
    rows = loop.count(computes[target]) * LANES[target] / ROW
    assert rows >= 1, loop.instructions
    assert len(loop.instructions) <= most[target] * rows, loop.instructions
    assert loop.count(SCALAR[target]) == loop.count(SPILL[target]) == 0, loop.instructions


def test_how_loops_are_found() -> None:
    text = "f:\n.L1:\n\tmovl\t$0, %ecx\n.L2:\n\tvaddps\t%ymm0, %ymm1, %ymm1 # a sum\n\tincl\t%ecx\n\tjne\t.L2\n\tjmp\t.L1\n"
    assert list(loops(text)) == [Loop(("vaddps\t%ymm0, %ymm1, %ymm1", "incl\t%ecx", "jne\t.L2"))]
    assert hottest(text, "vaddps").count("vaddps") == 1


@pytest.mark.parametrize(
    ("dtype", "cells"), [("float32", 3), ("float32", 4), ("float32", 6), ("int8", 4), ("float16", 6)]
)
def test_rows_of_a_few_cells_are_not_put_together_cell_by_cell(dtype: str, cells: int) -> None:
    """LLVM would make vectors across rows, where threads share them; it is two to three times slower."""

    def scaled(b: gs.Builder) -> gs.Value:
        return b.take(b.input("x", (1000, cells), dtype), b.input("i", (100_000,), "int64")) * 3

    put_together = re.findall(r"\t(vinsertps|vpinsr[bwdq])\t", asm(scaled, "avx2"))
    assert len(put_together) <= 3, put_together  # those of single float16


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("rows", [300, 90_000])
def test_64_bit_maxima_of_rows_use_no_masked_stores(dtype: str, rows: int) -> None:
    """LLVM makes them of a choice between what was there and what is new."""

    def maxima(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", (rows, ROW), dtype), b.input("i", (40_000,), "int64")
        return b.put(x, i, b.input("s", (40_000, ROW), dtype), reduction="max")

    made = asm(maxima, "avx2")
    assert "vpcmpgtq" in made and not re.search(r"vp?maskmov", made)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint16", "int32", "int64"])
def test_minima_of_single_elements_do_not_branch(dtype: str) -> None:
    """The loop over points jumps back at its end, and nowhere else: which value stays cannot be predicted."""
    b = gs.Builder("k")
    data, index = b.input("x", (3000, 516), dtype), b.input("i", (4000, 516), "int64")
    b.output(b.scatter(data, index, b.input("v", (4000, 516), dtype), 0, reduction="min"))
    text = b.build(TARGETS["avx2"]).source("asm")
    found = [loop for loop in loops(text) if loop.count("cmov") and loop.count(r"^mov.*%[a-z0-9]+, \(")]
    assert found
    for loop in found:
        assert loop.count(r"^j") == 1, loop.instructions
        assert not loop.count("vpinsrw"), "waits for what the register held"


@pytest.mark.parametrize("rows", [2000, "n"])
@pytest.mark.parametrize(
    ("dtype", "columns", "bags", "alone"),
    [
        ("float32", 2, (90_000, 3), True),
        ("int16", 3, (90_000, 3), True),
        ("int8", 2, (90_000, 3), True),
        ("float32", 2, (30_000, 3, 3), True),  # not listed
        ("int16", 3, (30_000, 3, 3), True),
        ("int8", 2, (30_000, 3, 3), False),
    ],
)
def test_bags_of_few_short_rows_are_not_gathered_where_that_is_slow(
    dtype: str, columns: int, bags: tuple[int, ...], alone: bool, rows: int | str
) -> None:
    """LLVM makes vectors across bags where it unrolls each, by gathers or cell by cell."""
    b = gs.Builder("k")
    x, i = b.input("x", (rows, columns), dtype), b.input("i", bags, "int64")
    b.output(b.sum(b.take(x, i), len(bags) - 1))
    made = str(b.build({"kind": "llvm", "mcpu": "znver4", "num-cores": 2}).source("asm"))
    across = re.findall(r"\tv(?:pgather[dq][dq]|gather[dq]p[sd]|pextrq)\t", made)
    assert alone == (len(across) <= 2), across  # a flag's lanes are put together at the end of a check


@pytest.mark.parametrize("columns", [2, 3, 7, 12])
def test_short_rows_of_float16_do_not_wait_for_what_a_register_held(columns: int) -> None:
    b = gs.Builder("k")
    b.output(b.sum(b.take(b.input("x", (2000, columns), "float16"), b.input("i", (9000, 20), "int64")), 1))
    text = b.build(TARGETS["avx512"]).source("asm")
    folds = [loop for loop in loops(text) if loop.count("vcvtph2ps")]
    assert folds and not any(loop.count("vpinsrw") for loop in folds)


Move = Callable[[gs.Builder, str], gs.Value]


def elements(b: gs.Builder, dtype: str) -> gs.Value:
    return b.gather(b.input("x", (3000, 7), dtype), b.input("i", (4000, 7), "int64"), 0)


def short_rows(b: gs.Builder, dtype: str) -> gs.Value:
    return b.take(b.input("x", (3000, 3), dtype), b.input("i", (4000,), "int64"), bounds="fill", fill=-0.0)


def updates(b: gs.Builder, dtype: str) -> gs.Value:
    return b.put(b.input("x", (9000,), dtype), b.input("i", (4000,), "int64"), b.input("s", (4000,), dtype))


MOVED: list[Move] = [elements, short_rows, updates]


@pytest.mark.parametrize("move", MOVED)
def test_float16_is_moved_as_integers(move: Move) -> None:
    """x86 loads one into a part of a vector register, and waits for what the rest held."""

    def parts(dtype: str) -> int:
        return sum(loop.count(r"^v?p(insr|extr)w") for loop in loops(asm(lambda b: move(b, dtype), "avx2")))

    assert parts("float16") == parts("int16")


@pytest.mark.parametrize("move", MOVED)
def test_float16_keeps_its_bits(move: Move) -> None:
    """NaN and zeros of either sign, payloads too, also beside something that is computed of the same tensors."""
    results = []
    for computes in (False, True):
        b = gs.Builder("k")
        b.output(moved := move(b, "float16"))
        if computes:
            b.output(moved + 1)
        m, rng = b.build("llvm"), np.random.default_rng(0)
        args = [
            rng.integers(0, 1 << 16, v.shape, "uint16").view("float16")
            if v.dtype.is_float
            else rng.integers(-9, 3000, v.shape)
            for v in m.inputs
        ]
        got = m(*args)
        results.append(got[0] if computes else got)
        if computes:
            with np.errstate(invalid="ignore", over="ignore"):
                assert_same(got[1], got[0] + np.float16(1))
    assert results[0].tobytes() == results[1].tobytes()
