"""What to compile for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gscompile.compiler.nvcc import configure_tvm
from gscompile.errors import TargetError
from gscompile.ir import tir as T
from schedules import Target

DEFAULT_CUDA_ARCH = "sm_80"  # where there is no GPU to ask: what every data-centre GPU since 2020 runs


@dataclass(frozen=True, slots=True)
class Resolved:
    """A user's target: what schedules may know of it, and TVM's."""

    facts: Target
    tvm: Any

    @property
    def device(self) -> str:
        """Where arrays must live: ``cpu`` or ``cuda``."""
        return "cuda" if self.facts.kind == "cuda" else "cpu"


def resolve(spec: Any) -> Resolved:
    """The target that a user named.

    Args:
        spec: ``"llvm"``: this machine's CPU with all its features; ``"cuda"``: the GPU here, or sm_80; a dict of TVM's target
            attributes (``{"kind": "llvm", "mcpu": "x86-64-v3"}``, ``{"kind": "cuda", "arch": "sm_90"}``), or a tvm Target.

    Raises:
        TargetError: it is none of these, or this TVM has no such target.
    """
    if isinstance(spec, str):
        if spec not in ("llvm", "cuda"):
            raise TargetError(f"unknown target {spec!r}: 'llvm', 'cuda', a dict of target attributes or a tvm Target")
        attributes: dict[str, Any] = {"kind": spec}
    elif isinstance(spec, Mapping):
        attributes = dict(spec)
    elif hasattr(spec, "kind") and hasattr(spec, "attrs"):
        attributes = {**{str(k): v for k, v in spec.attrs.items()}, "kind": str(spec.kind.name)}
        attributes = {
            k: v for k, v in attributes.items() if k in ("kind", "mcpu", "mattr", "mtriple", "arch", "num-cores")
        }
    else:
        raise TargetError(f"a target is 'llvm', 'cuda', a dict of target attributes or a tvm Target; got {spec!r}")
    kind = attributes.get("kind")
    if kind not in ("llvm", "cuda"):
        raise TargetError(f"gscompile schedules for 'llvm' and 'cuda'; got target kind {kind!r}")
    if kind == "llvm":
        if "mcpu" not in attributes and "mtriple" not in attributes:
            attributes["mcpu"] = T.host_cpu()
        arch = str(attributes.get("mcpu", "generic"))
    else:
        configure_tvm()
        attributes.setdefault("arch", local_cuda_arch() or DEFAULT_CUDA_ARCH)
        arch = str(attributes["arch"])
        attributes.setdefault("max_num_threads", 1024)
    if kind == "llvm" and "mcpu" in attributes:
        triple = {k: v for k, v in attributes.items() if k in ("kind", "mtriple")}
        if not T.known_cpu(T.target(triple), arch):
            raise TargetError(f"LLVM knows no CPU {arch!r} for this target")
    try:
        target = T.target(attributes)
    except Exception as e:
        reason = re.sub(
            r"Check failed: \(.*?\) is false: |\.? ?Target creation from config dict failed.*",
            "",
            str(e).splitlines()[-1],
        )
        raise TargetError(f"{attributes} is not a target: {reason}") from e
    width = 16 if kind == "cuda" else T.vector_bytes(target)
    return Resolved(Target(kind, width, arch), target)


@lru_cache(maxsize=1)
def local_cuda_arch() -> str | None:
    """``sm_XY`` of the first GPU here; None where there is none."""
    return T.cuda_arch(0)
