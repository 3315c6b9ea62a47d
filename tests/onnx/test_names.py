"""A model's names reach generated code only as identifiers that mean nothing else there."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.reserved import in_code
from tests.cuda import on_cpu
from tests.onnx.models import model, node

F = "float32"
INJECTIONS = (
    '"; system("x"); //',
    "a\nb",
    "a\0b",
    "*/ int x; /*",
    "a\\",
    "%s%n",
    "$(x)",
    "\u540d\u524d",
    "\u202e",
    "\ud7ff",
    "q" * 3000,
    "1",
)
WORDS = (
    *(
        "class",
        "for",
        "lambda",
        "None",
        "int",
        "double",
        "template",
        "this",
        "new",
        "namespace",
        "operator",
        "restrict",
    ),
    *(
        "threadIdx",
        "blockIdx",
        "blockDim",
        "int64_t",
        "float4",
        "half",
        "max",
        "min",
        "exp",
        "expf",
        "sqrt",
        "isnan",
        "status",
    ),
    *(
        "workspace",
        "threads",
        "in_place",
        "gs_atomic_add",
        "__global__",
        "T",
        "tir",
        "condval",
        "printf",
        "malloc",
        "main",
    ),
)


def named(name: str, other: str) -> Any:
    """A model in which everything that has a name has this one, or another where two must differ."""
    nodes = [node("Gather", "i i", "g"), node("Exp", "e", "r"), node("Max", "r c", "y")]
    nodes[0].input[:] = [name, "i"]
    nodes[1].input[:], nodes[0].output[:] = ["g"], ["g"]
    nodes[2].input[:], nodes[2].output[:] = ["r", other], [name + "_result"]
    for n in nodes:
        n.name = name
    m = model(nodes, {name: (F, [name, 3]), "i": ("int64", [other])}, {name + "_result": F}, {other: np.ones(3, F)})
    m.graph.name = name
    return m


def code(b: gs.Builder) -> list[str]:
    """All text that is made of a graph."""
    host, device = b.build(), b.build({"kind": "cuda", "arch": "sm_90"})
    return [host.source("tir"), host.source("llvm"), host.source("asm"), device.source("tir"), device.source("cuda")]


@pytest.mark.parametrize("name", INJECTIONS, ids=range(len(INJECTIONS)))
def test_no_text_of_a_model_stands_in_generated_code(name: str) -> None:
    b = gs.onnx.import_model(named(name, name + "!"))
    names = [b.name, *(v.name for v in b.graph().values), *b.graph().symbols]
    assert all(re.fullmatch(r"[A-Za-z_]\w{0,250}", n, re.ASCII) for n in names)
    for text in code(b) if len(name) < 100 else ():
        assert name not in text or name == "1"
    x, i = np.eye(3, dtype=F), np.array([2, 0])
    np.testing.assert_allclose(b.build()(x, i), np.maximum(np.exp(x[i]), 1), rtol=1e-6)


def test_words_of_other_languages(tmp_path: Path) -> None:
    """Sizes, inputs, constants and graphs that are called so compile, as CUDA's text does and Python's."""
    builders = [gs.onnx.import_model(named(w, w + "_c")) for w in WORDS]
    modules = on_cpu(builders, tmp_path)
    x, i = np.eye(3, dtype=F), np.array([2, 0])
    for module, _ in modules:
        np.testing.assert_allclose(module(x, i), np.maximum(np.exp(x[i]), 1), rtol=1e-6)
    for b in builders[:4]:
        np.testing.assert_allclose(b.build()(x, i), np.maximum(np.exp(x[i]), 1), rtol=1e-6)
        np.testing.assert_allclose(emulate(b)(x, i), np.maximum(np.exp(x[i]), 1), rtol=1e-6)


def test_names_in_code() -> None:
    assert [in_code(n) for n in ("n", "rows", "class", "max", "threadIdx", "__x")] == [
        *("n", "rows", "v_class", "v_max", "v_threadIdx", "v___x")
    ]
    assert not any(in_code(w) == w for w in keyword.kwlist)
