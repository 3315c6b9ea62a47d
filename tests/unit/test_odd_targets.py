"""Targets that are misspelt, or not for this machine: an error of gscompile's, never TVM's and never a crash."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.targets import cuda, resolve
from gscompile.compiler.targets.create import architecture
from gscompile.ir import machine


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
    ("arch", "count"),
    [("sm_80", 108), ("sm_86", 84), ("sm_89", 142), ("sm_90", 132), ("sm_90a", 132), ("sm_100f", 148), ("sm_75", 132)],
)
def test_multiprocessors_by_architecture(arch: str, count: int) -> None:
    assert resolve({"kind": "cuda", "arch": arch}).facts.multiprocessors == count


@pytest.mark.parametrize("count", [0, 513, -1, True, 1.5, "132", None])
def test_a_number_of_multiprocessors_that_no_gpu_has(count: Any) -> None:
    with pytest.raises(gs.TargetError, match="multiprocessors: an int from 1 to 512; got"):
        resolve({"kind": "cuda", "arch": "sm_90", "multiprocessors": count})


def test_the_multiprocessors_of_the_gpu_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count where the architecture is that of the GPU here, and nothing else is said."""
    monkeypatch.setattr(cuda, "local_arch", lambda: "sm_90")
    monkeypatch.setattr(cuda, "local_multiprocessors", lambda: 114)
    given: list[dict[str, Any]] = [{}, {"arch": "sm_90"}, {"multiprocessors": 78}]
    counts = [resolve({"kind": "cuda", **more}).facts.multiprocessors for more in given]
    assert counts == [114, 132, 78]


@pytest.mark.parametrize(("count", "blocks"), [(1, 8), (108, 8 * 108)])
def test_grids_are_of_the_multiprocessors(count: int, blocks: int) -> None:
    """Of blocks with accumulators of their own there are as many as the GPU holds."""
    b = gs.Builder("few")
    i, v = b.input("i", (1 << 20,), "int64"), b.input("v", (1 << 20,), "float32")
    b.output(b.put(b.zeros((64,)), i, v, reduction="add"))
    module = b.build({"kind": "cuda", "arch": "sm_80", "multiprocessors": count})
    assert f"T.min(T.int64({blocks}), T.int64(1048576)" in module.source("tir")
    assert f"grids for {count} multiprocessors" in module.explain()


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
    monkeypatch.setattr(machine, "host_vector_bytes", lambda: 8)
    module = rows("llvm")
    with pytest.raises(gs.DeviceError, match=r"vectors of .* bytes, and this one has 8"):
        module(np.zeros(3, "float32"), np.array([0, 1]))
