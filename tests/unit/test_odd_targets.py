"""Targets that are misspelt, or not for this machine: an error of gscompile's, never TVM's and never a crash."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.targets import resolve
from gscompile.compiler.targets.create import architecture
from gscompile.ir import tir as T


def rows(target: Any) -> gs.Module:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", (3,), "float32"), b.input("i", (2,), "int64")))
    return b.build(target)


@pytest.mark.parametrize(
    "arch", ["sm_9", "sm_", "sm_²", "sm_08", "sm_90\0", "sm_-90", "sm_9 0", "sm_90x", "compute_90", "", 90]
)
def test_a_malformed_arch(arch: Any) -> None:
    with pytest.raises(gs.TargetError):
        resolve({"kind": "cuda", "arch": arch})


@pytest.mark.parametrize("arch", ["sm_52", "sm_90a", "sm_100", "sm_120f"])
def test_an_arch_that_may_be(arch: str) -> None:
    assert resolve({"kind": "cuda", "arch": arch}).facts.arch == arch


@pytest.mark.parametrize(
    "triple", ["junk", "x86_64\0z", "nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa", "spirv64", "-linux-gnu", "²"]
)
def test_an_unknown_architecture(triple: str) -> None:
    with pytest.raises(gs.TargetError, match="LLVM has no CPU architecture"):
        resolve({"kind": "llvm", "mtriple": triple})
    with pytest.raises(gs.TargetError, match="LLVM has no CPU architecture"):
        resolve({"kind": "cuda", "host": {"kind": "llvm", "mtriple": triple}})


@pytest.mark.parametrize("attributes", [{"jit": "x"}, {"mfloat-abi": "x"}])
def test_attributes_that_only_llvm_refuses(attributes: dict[str, str]) -> None:
    with pytest.raises(gs.TargetError, match=r"is not a target: .*x"):
        resolve({"kind": "llvm", **attributes})


def test_features_that_leave_no_code() -> None:
    with pytest.raises(gs.TargetError, match="TVM cannot compile this for llvm"):
        rows({"kind": "llvm", "mattr": ["x" * 5000]})


def test_architectures_have_several_names() -> None:
    names = {
        "i686": "i386",
        "amd64": "x86_64",
        "arm64": "aarch64",
        "armv7a": "arm",
        "thumbv8m": "thumb",
        "wasm32": "wasm32",
    }
    assert {name: architecture(f"{name}-linux-gnu") for name in names} == names


OTHER = "x86_64-linux-gnu" if platform.machine() == "aarch64" else "aarch64-linux-gnu"


@pytest.mark.parametrize("triple", [OTHER, "x86_64-pc-windows-msvc", "wasm32-unknown"])
def test_a_module_for_another_machine_has_code_but_does_not_run(triple: str) -> None:
    module = rows({"kind": "llvm", "mtriple": triple})
    assert "rows" in module.source("asm")
    for call in (module, module.bind):
        with pytest.raises(
            gs.DeviceError, match=f"rows: this module is compiled for {triple}, and this process runs on"
        ):
            call(np.zeros(3, "float32"), np.array([0, 1]))


def test_a_module_for_wider_vectors_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rows("llvm")
    monkeypatch.setattr(T, "vector_bytes", lambda target: 8)
    with pytest.raises(gs.DeviceError, match=r"vectors of .* bytes, and this one has 8"):
        module(np.zeros(3, "float32"), np.array([0, 1]))
