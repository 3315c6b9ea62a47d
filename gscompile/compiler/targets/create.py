"""TVM's targets, and what it says of those that it refuses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gscompile.errors import DeviceError, TargetError
from gscompile.ir import machine

# what TVM wraps its reason in
_AROUND = r"Check failed: \(.*?\) is false: |\.? ?Target creation from config dict failed.*"


# of LLVM's architectures, those of GPUs: TVM's code generator for CPUs fails on them
_GPUS = re.compile(r"amdgcn|r600|nvptx.*|spirv.*")
# what systems are called in triples, by ``sys.platform``
_SYSTEMS = {"linux": ("linux",), "darwin": ("darwin", "macos"), "win32": ("windows", "win32")}


def architecture(triple: str) -> str:
    """LLVM's name of a triple's architecture, whichever of its names the triple has."""
    name = triple.partition("-")[0]
    for pattern, plain in ((r"i[3-9]86", "i386"), (r"amd64|x86_64h", "x86_64"), (r"arm64e?", "aarch64")):
        if re.fullmatch(pattern, name):
            return plain
    return re.sub(r"^(arm|thumb)v[0-9].*", r"\1", name)


def require_known(attributes: Mapping[str, Any]) -> None:
    """Make sure that LLVM has the architecture of a target and of its host: TVM crashes where it has not.

    Raises:
        TargetError: it has not.
    """
    host = attributes.get("host")
    for part in (attributes, host if isinstance(host, Mapping) else {}):
        triple = part.get("mtriple")
        if not isinstance(triple, str) or not triple:
            continue
        known = [name for name in machine.llvm_architectures() if not _GPUS.fullmatch(name)]
        if architecture(triple) not in known:
            raise TargetError(
                f"LLVM has no CPU architecture {architecture(triple)!r} (mtriple={triple!r}); known: {', '.join(known)}"
            )


def require_runs_here(triple: str, vectors: int, what: str) -> None:
    """Make sure that a CPU's code can run in this process.

    Args:
        triple: what it was compiled for; empty for what this process runs on.
        vectors: bytes of its vector registers.
        what: the function, for the error.

    Raises:
        DeviceError: it is for another architecture, another system, or a CPU with wider vectors.
    """
    here = machine.host_triple()
    triple = triple or here
    system = _SYSTEMS.get(sys.platform, (sys.platform,))
    if architecture(triple) != architecture(here) or not any(name in triple for name in system):
        raise DeviceError(
            f"{what}: this module is compiled for {triple}, and this process runs on {here}: "
            "build it without mtriple to run it here"
        )
    widest = machine.host_vector_bytes()
    if vectors > widest:
        raise DeviceError(
            f"{what}: this module is compiled for a CPU with vectors of {vectors} bytes, and this one has {widest}: "
            "build it for target='llvm' to run it here"
        )


def tvm_target(attributes: Mapping[str, Any]) -> Any:
    """TVM's target of these attributes.

    Raises:
        TargetError: TVM refuses them, or would crash.
    """
    require_known(attributes)
    with refusals(attributes):
        return machine.target(dict(attributes))


@contextmanager
def refusals(attributes: Mapping[str, Any]) -> Iterator[None]:
    """What TVM says against a target's attributes becomes a TargetError."""
    try:
        yield
    except Exception as e:
        reason = re.sub(_AROUND, "", str(e).splitlines()[-1])
        raise TargetError(f"{dict(attributes)} is not a target: {reason}") from e
