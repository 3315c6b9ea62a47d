"""CPUs, through LLVM."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gscompile.compiler.linked import Linked
from gscompile.compiler.targets.base import HOST_CODE, Target
from gscompile.compiler.targets.create import architecture, refusals, require_known, require_runs_here, tvm_target
from gscompile.errors import TargetError
from gscompile.ir import codegen, machine
from gscompile.runtime.devices import HOST, Runner
from gscompile.schedules import Rule
from gscompile.schedules import Target as Facts
from gscompile.schedules.llvm import RULES


class Llvm(Target):
    """A CPU: this machine's with all its features, or one given as ``mcpu`` (``mtriple``, ``mattr``, ``num-cores``)."""

    kind = "llvm"
    device = "cpu"
    device_type = 1
    host_guards = True
    joins_checks = True
    stores_indices = True
    by_driver = False
    variant = "mcpu"
    in_parts = True
    pipeline = codegen.CPU_PIPELINE
    code = HOST_CODE

    @property
    def linkable(self) -> bool:
        return "mtriple" not in self.attributes

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Llvm:
        given = dict(attributes)
        require_known(given)
        here = "mcpu" not in given and "mtriple" not in given
        if here:
            given["mcpu"] = machine.host_cpu()
            if features := host_features():
                given["mattr"] = [*features, *given.get("mattr", [])]  # what is given comes last, and counts
        if architecture(str(given.get("mtriple", ""))).startswith("wasm"):
            given.setdefault("vector-width", 128)  # what TVM takes, with a warning each time
        cpu = str(given.get("mcpu", "generic"))
        if "mcpu" in given:
            triple = {k: v for k, v in given.items() if k in ("kind", "mtriple")}
            if not machine.known_cpu(machine.target(triple), cpu):
                raise TargetError(f"LLVM knows no CPU {cpu!r} for this target")
        target = tvm_target(given)
        with refusals(given):  # some attributes LLVM reads only now
            width = machine.vector_bytes(target)
        cores = given.get("num-cores", os.cpu_count() if here else None)
        caches = (cache_bytes(2), cache_bytes(3)) if here else (None, None)
        facts = Facts(cls.kind, width, cpu, *caches, cores)
        return cls(facts, target, attributes=dict(attributes))

    def compile(self, module: Any) -> Any:
        library = super().compile(module)
        return Linked(library) if self.linkable and self.attributes.get("opt-level") == 0 else library

    def require_device(self, module: str) -> None:
        require_runs_here(str(self.tvm.attrs.get("mtriple", "")), self.facts.vector_bytes, module)

    @property
    def rules(self) -> Sequence[Rule]:
        return RULES

    @property
    def runner(self) -> Runner:
        return HOST


_FEATURES = {"avx512_fp16": "+avx512fp16"}
"""What the system calls a feature of a CPU, and what LLVM does.

Without avx512fp16 each 16-bit float that is loaded alone waits for what its register held: 7.0 ns instead of 3.3 for an edge of
message passing.
"""


@cache
def host_features() -> tuple[str, ...]:
    """Features that this machine has, whatever CPU LLVM takes it for: of a virtual machine's it may know too little."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ()
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return tuple(feature for flag, feature in _FEATURES.items() if flag in flags)


@cache
def cache_bytes(level: int) -> int | None:
    """Bytes of this machine's first core's cache of a level; None where the system does not say."""
    for found in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if (found / "level").read_text().strip() == str(level):
                return int((found / "size").read_text().strip().removesuffix("K")) << 10
        except (OSError, ValueError):  # not all systems tell all of it
            continue
    return None
