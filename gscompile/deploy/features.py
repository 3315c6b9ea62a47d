"""What a CPU must have for code that was compiled for it: LLVM's names of it, and where the CPU says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gscompile.ir import machine

_EAX, _EBX, _ECX, _EDX = range(4)
_AVX, _AVX512 = 0x6, 0xE6  # of XCR0: what the system saves


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a CPU.

    Attributes:
        name: LLVM's.
        leaf, word, bit: of x86's cpuid; of aarch64 the bit of Linux's AT_HWCAP.
        state: bits of XCR0 that must be set.
    """

    name: str
    leaf: int
    word: int
    bit: int
    state: int = 0


X86 = (
    Feature("sse3", 1, _ECX, 0),
    Feature("ssse3", 1, _ECX, 9),
    Feature("fma", 1, _ECX, 12, _AVX),
    Feature("sse4.1", 1, _ECX, 19),
    Feature("sse4.2", 1, _ECX, 20),
    Feature("movbe", 1, _ECX, 22),
    Feature("popcnt", 1, _ECX, 23),
    Feature("avx", 1, _ECX, 28, _AVX),
    Feature("f16c", 1, _ECX, 29, _AVX),
    Feature("lzcnt", 0x80000001, _ECX, 5),
    Feature("bmi", 7, _EBX, 3),
    Feature("avx2", 7, _EBX, 5, _AVX),
    Feature("bmi2", 7, _EBX, 8),
    Feature("avx512f", 7, _EBX, 16, _AVX512),
    Feature("avx512dq", 7, _EBX, 17, _AVX512),
    Feature("avx512ifma", 7, _EBX, 21, _AVX512),
    Feature("avx512cd", 7, _EBX, 28, _AVX512),
    Feature("avx512bw", 7, _EBX, 30, _AVX512),
    Feature("avx512vl", 7, _EBX, 31, _AVX512),
    Feature("avx512vbmi", 7, _ECX, 1, _AVX512),
    Feature("avx512vbmi2", 7, _ECX, 6, _AVX512),
    Feature("gfni", 7, _ECX, 8),
    Feature("avx512vnni", 7, _ECX, 11, _AVX512),
    Feature("avx512bitalg", 7, _ECX, 12, _AVX512),
    Feature("avx512vpopcntdq", 7, _ECX, 14, _AVX512),
    Feature("avx512fp16", 7, _EDX, 23, _AVX512),
)
AARCH64 = (
    Feature("crc", 0, 0, 7),
    Feature("lse", 0, 0, 8),
    Feature("fullfp16", 0, 0, 10),
    Feature("rdm", 0, 0, 12),
    Feature("rcpc", 0, 0, 15),
    Feature("dotprod", 0, 0, 20),
    Feature("sve", 0, 0, 22),
)


def needed(target: Any, architecture: str) -> tuple[Feature, ...]:
    """What code for one of TVM's targets may use beyond the least that its architecture has.

    Of RISC-V and WebAssembly nothing: there code is compiled for what its target names, and nobody asks.
    """
    known = {"x86_64": X86, "i386": X86, "aarch64": AARCH64}.get(architecture, ())
    return tuple(f for f in known if machine.has_feature(target, f.name))
