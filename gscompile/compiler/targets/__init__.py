"""What to compile for: a registry of targets, by name.

A target is a subclass of :class:`~gscompile.compiler.targets.base.Target` in a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gscompile.compiler.targets.base import CodeKind, Target
from gscompile.compiler.targets.cuda import Cuda
from gscompile.compiler.targets.llvm import Llvm
from gscompile.errors import TargetError

TARGETS: dict[str, type[Target]] = {}

# Other kinds that TVM has, and what stands between them and gscompile.
_NO_KERNELS = "gscompile has no schedule rules and no runner for it"
UNSUPPORTED = {
    "rocm": f"{_NO_KERNELS}; its rules could be cuda's, but for the atomics, which are CUDA C++",
    "metal": f"{_NO_KERNELS}; Metal has no float64, and 64-bit atomics only for minimum and maximum",
    "vulkan": f"{_NO_KERNELS}; apache-tvm's wheels have none either, and its 64-bit and float atomics are optional",
    "opencl": f"{_NO_KERNELS}; its atomics would have to be OpenCL C, which has none for floats",
    "webgpu": f"{_NO_KERNELS}; WGSL has no 64-bit integers, which are what indices are computed in",
    "c": "gscompile has no schedule rules for C source; build for llvm and take source('llvm') or source('asm')",
}

_ATTRIBUTES = ("kind", "mcpu", "mattr", "mtriple", "arch", "num-cores")  # what is kept of a tvm Target


def register(target: type[Target]) -> type[Target]:
    """Make a kind of target known by its name; a class decorator."""
    TARGETS[target.kind] = target
    return target


register(Llvm)
register(Cuda)


def resolve(spec: Any) -> Target:
    """The target that a user named.

    Args:
        spec: ``"llvm"``: this machine's CPU with all its features; ``"cuda"``: the GPU here, or sm_80; a dict of TVM's target
            attributes (``{"kind": "llvm", "mcpu": "x86-64-v3"}``, ``{"kind": "cuda", "arch": "sm_90"}``), a tvm Target, or a
            :class:`~gscompile.compiler.targets.base.Target`, which is returned as it is.

    Raises:
        TargetError: it is none of these, or this TVM has no such target.
    """
    if isinstance(spec, Target):
        return spec
    if isinstance(spec, str):
        attributes: dict[str, Any] = {"kind": spec}
    elif isinstance(spec, Mapping):
        attributes = dict(spec)
    elif hasattr(spec, "kind") and hasattr(spec, "attrs"):
        given = {**{str(k): v for k, v in spec.attrs.items()}, "kind": str(spec.kind.name)}
        attributes = {k: v for k, v in given.items() if k in _ATTRIBUTES}
    else:
        raise TargetError(f"a target is {_known()}, a dict of target attributes or a tvm Target; got {spec!r}")
    kind = attributes.get("kind")
    if isinstance(kind, str) and kind in UNSUPPORTED:
        raise TargetError(f"target {kind!r} is not supported: {UNSUPPORTED[kind]}; supported: {_known()}")
    if not isinstance(kind, str) or kind not in TARGETS:
        raise TargetError(f"unknown target kind {kind!r}: {_known()}, a dict of target attributes or a tvm Target")
    return TARGETS[kind].of(attributes)


def for_device(device: str) -> str:
    """The kind of target whose kernels work on a device's memory."""
    return next(kind for kind, target in TARGETS.items() if target.device == device)


def known_code() -> list[str]:
    """The stages of code that some target has."""
    return list(dict.fromkeys(code for target in TARGETS.values() for code in target.code))


def _known() -> str:
    return ", ".join(repr(kind) for kind in TARGETS)


__all__ = ["TARGETS", "UNSUPPORTED", "CodeKind", "Target", "for_device", "known_code", "register", "resolve"]
