"""Any module may be the first that a process imports; and what is imported only when it is used."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import gscompile as gs
from tests.children import WITHOUT_TORCH

FIRST = [
    "gscompile",
    "schedules",
    "gscompile.schedules.rule",
    "schedules.llvm",
    "gscompile.schedules.cuda",
    "gscompile.te",
    "gscompile.ir.nests",
]


@pytest.mark.parametrize("module", FIRST)
def test_first(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"{WITHOUT_TORCH}import {module}"], check=True, timeout=120)


HEAVY = ("tvm", "tvm_ffi", "numpy", "onnx", "torch")


@pytest.mark.parametrize(
    "statement",
    [
        "import gscompile",
        "from gscompile.commands.main import main; main(['--help'])",
        "from gscompile.commands.main import main; main(['--version'])",
        *(f"from gscompile.commands.main import main; main([{c!r}, '--help'])" for c in ("bench", "compile", "demo")),
    ],
)
def test_what_loads_nothing_heavy(statement: str) -> None:
    program = f"{statement}; import sys; found = set({HEAVY!r}) & set(sys.modules); assert not found, found"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_are_listed_once_for_tools_and_once_for_python() -> None:
    tree = ast.parse(Path(gs.__file__).read_text())
    (checking,) = [n for n in tree.body if isinstance(n, ast.If)]
    told = {
        alias.asname or alias.name: n.module
        for n in checking.body
        if isinstance(n, ast.ImportFrom)
        for alias in n.names
    }
    assert told == {**gs._HOME, **dict.fromkeys(gs._SUBPACKAGES, "gscompile")}
    assert sorted(gs.__all__) == sorted(gs._HOME)
    there = [name for name in gs._SUBPACKAGES if name != "onnx" or importlib.util.find_spec("onnx")]
    for name in (*gs.__all__, *there):
        assert getattr(gs, name) is not None
        assert name in dir(gs)
    with pytest.raises(AttributeError, match="no attribute 'gahter'"):
        gs.gahter  # noqa: B018


def test_the_runtime_needs_numpy_only() -> None:
    """A process that only runs kernels imports neither a compiler nor TVM, whichever modules it imports."""
    code = """
        import importlib, pkgutil, sys
        import gscompile.runtime
        found = list(pkgutil.walk_packages(gscompile.runtime.__path__, "gscompile.runtime."))
        for module in found:
            importlib.import_module(module.name)
        print(len(found) > 15, sorted(
            name
            for name in sys.modules
            if name.partition(".")[0] in ("tvm", "tvm_ffi", "ml_dtypes", "torch", "jax", "cupy", "schedules")
            or name.startswith(("gscompile.ir.tir", "gscompile.compiler", "gscompile.schedules"))
        ))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True []\n", "")


def test_the_first_library_waits_for_no_slow_imports() -> None:
    """What the runtime needs in rare cases only, and takes longer to import than a library to load."""
    code = """
        import numpy, sys
        before = set(sys.modules)
        import gscompile.runtime.load
        slow = {"importlib.abc", "importlib.resources", "tempfile", "concurrent.futures", "logging"}
        print(sorted(slow & (set(sys.modules) - before)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
