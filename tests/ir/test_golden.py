"""The loops that small graphs become, and the CUDA source, as they were when somebody last looked at them.

A change of a schedule shows here as a diff.  If it is meant, ``pytest tests/ir/test_golden.py --update-golden`` accepts it, and
the commit shows what it does to the code.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from tests.cuda import Text

GOLDEN = Path(__file__).with_name("golden")
# the CPU that runs the test must not matter
LLVM, CUDA = {"kind": "llvm", "mcpu": "x86-64-v3"}, {"kind": "cuda", "arch": "sm_90"}


def table(b: gs.Builder, rows: Any = "n", width: int = 8) -> gs.Value:
    return b.input("x", (rows, width), "float32")


def index(b: gs.Builder, *shape: Any) -> gs.Value:
    return b.input("i", shape, "int64")


def source(b: gs.Builder, *shape: Any) -> gs.Value:
    return b.input("v", shape, "float32")


def message_passing(b: gs.Builder) -> gs.Value:
    """The rows of edges' ends, weighted and summed: nothing of size edges x features is stored."""
    x, src, dst = table(b), b.input("src", ("e",), "int32"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    return b.put(b.zeros(("n", 8)), dst, b.take(x, src, bounds="trust") * w, reduction="add", bounds="trust")


def segment_softmax(b: gs.Builder) -> gs.Value:
    """Of sorted segments: both folds and the quotients are one kernel for cuda."""
    x, i = b.input("x", (3000, 8), "float32"), b.input("i", (3000,), "int64")
    most = b.put(b.full((70, 8), float("-inf"), "float32"), i, x, reduction="max", sorted=True)
    power = b.exp(x - b.take(most, i))
    return power / b.take(b.put(b.zeros((70, 8)), i, power, reduction="add", sorted=True), i)


def run_softmax(b: gs.Builder) -> gs.Value:
    """Of segments that offsets give."""
    x, o = b.input("x", (3000, 8), "float32"), b.input("o", (71,), "int32")
    power = b.exp(x - b.segment_expand(b.segment_reduce(x, o, "max"), o, 3000))
    return power / b.segment_expand(b.segment_reduce(power, o, "sum"), o, 3000)


GRAPHS: dict[str, Callable[[gs.Builder], gs.Value]] = {
    "take_rows": lambda b: b.take(table(b), index(b, "k")),
    "take_fill": lambda b: b.take(table(b, 9, 5), index(b, 7), bounds="fill", fill=-1.0),
    "gather_elements": lambda b: b.gather(table(b), index(b, "k", 8), 0, bounds="clip"),
    "gather_nd": lambda b: b.gather_nd(b.input("x", ("n", "m", 4), "float16"), index(b, "k", 2), bounds="wrap"),
    "put_update": lambda b: b.put(table(b), index(b, "k"), source(b, "k", 8), bounds="fill"),
    "put_mean": lambda b: b.put(table(b, 9), index(b, 7), source(b, 7, 8), reduction="mean", bounds="trust"),
    "scatter_add": lambda b: b.scatter(table(b), index(b, "k", 8), source(b, "k", 8), 0, reduction="add"),
    "histogram": lambda b: b.put(
        b.zeros((64,), "int32"), index(b, "k"), b.input("v", ("k",), "int32"), reduction="add"
    ),
    "ordered_add": lambda b: b.put(
        table(b), index(b, "k"), source(b, "k", 8), reduction="add", bounds="trust", deterministic=True
    ),
    "sorted_sums": lambda b: b.put(
        b.input("x", ("n",), "float32"), index(b, "k"), source(b, "k"), reduction="add", bounds="fill", sorted=True
    ),
    "segment_softmax": segment_softmax,
    "run_softmax": run_softmax,
    "message_passing": message_passing,
    "sum_rows": lambda b: b.sum(table(b), 1),
    "bags": lambda b: b.sum(b.take(table(b, width=64), index(b, "k", 20)), 1),
    "cumsum_rows": lambda b: b.cumsum(table(b), 0),
}


def texts(name: str) -> dict[str, str]:
    """The files of a graph: their names and what is in them."""
    b = gs.Builder(name)
    b.output(GRAPHS[name](b))
    loops = lower(b.graph(), resolve(LLVM)).func.script()
    cuda = b.build(CUDA)
    return {
        f"{name}.llvm.tir": f"{loops}\n",
        f"{name}.cuda.tir": f"{cuda.source('tir')}\n",
        f"{name}.cu": f"{Text.of(cuda.source('cuda')).body}\n",
    }


def diff(file: str, was: str, now: str) -> str:
    """What has changed, in lines; empty if nothing has."""
    lines = difflib.unified_diff(was.splitlines(), now.splitlines(), f"golden/{file}", "now", lineterm="")
    return "\n".join(lines)


@pytest.mark.parametrize("name", GRAPHS)
def test_golden(name: str, pytestconfig: pytest.Config) -> None:
    changes = []
    for file, now in texts(name).items():
        path = GOLDEN / file
        if pytestconfig.getoption("update_golden"):
            path.write_text(now, encoding="utf-8")
        was = path.read_text(encoding="utf-8") if path.is_file() else ""
        if changed := diff(file, was, now):
            changes.append(changed)
    assert not changes, "the generated code has changed (--update-golden accepts it):\n" + "\n\n".join(changes)


def test_a_change_is_found() -> None:
    (_, now), *_ = texts("take_rows").items()
    assert diff("take_rows.llvm.tir", now, now) == ""
    changed = diff("take_rows.llvm.tir", now.replace("T.int64(8)", "T.int64(9)"), now)
    assert any(line.startswith("-") and "T.int64(9)" in line for line in changed.splitlines())


def test_no_golden_file_is_left_over() -> None:
    wanted = {f"{name}.{kind}" for name in GRAPHS for kind in ("llvm.tir", "cuda.tir", "cu")}
    assert {path.name for path in GOLDEN.iterdir()} == wanted
