"""What a GPU's machine code takes of a multiprocessor: registers, shared memory, and so how many threads there are at once.

ptxas writes it into the ELF file that a cubin is: attributes in ``.nv.info`` sections, and the size of ``.nv.shared.KERNEL``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gscompile.errors import TargetError

WARP = 32
REGISTERS = 1 << 16  # of a multiprocessor
PARTITIONS = 4  # of a multiprocessor, each with its own registers and warps
REGISTERS_AT_ONCE = 256  # in which a warp gets them
RESERVED_SINCE = 80, 1024  # a generation, and bytes of shared memory that each block takes for the system since then
INSIDE_SINCE = 90  # the generation since which a section's size has these in it, where there is a section

# By compute capability: warps, blocks and KB of shared memory of a multiprocessor ("Technical Specifications per Compute
# Capability" of the CUDA programming guide).  One that is not here is like the last before it.
MULTIPROCESSORS = {
    70: (64, 32, 96),
    75: (32, 16, 64),
    80: (64, 32, 164),
    86: (48, 16, 100),
    87: (48, 16, 164),
    89: (48, 24, 100),
    90: (64, 32, 228),
    100: (64, 32, 228),
    120: (48, 24, 100),
}
SHARED_AT_ONCE = 256, 128  # bytes in which a block gets it: before 8.0, and since

_REGCOUNT, _FRAME_SIZE, _MAX_THREADS = 0x2F, 0x11, 0x05  # attributes
_SIZED = 4  # the format of an attribute whose value's size comes before it
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes.

    Attributes:
        registers: of a thread.
        local_bytes: of a thread, in memory of its own, spilled registers among them.
        shared_bytes: of a block, that are static.
        threads: of a block, at most.
        blocks: that a multiprocessor runs at once.
        occupancy: part of a multiprocessor's warps that they are.
    """

    registers: int
    local_bytes: int
    shared_bytes: int
    threads: int
    blocks: int
    occupancy: float

    def __str__(self) -> str:
        taken = [f"{self.registers} registers", f"{self.shared_bytes} bytes of shared memory"]
        taken += [f"{self.local_bytes} bytes of local memory"] if self.local_bytes else []
        return f"{', '.join(taken)}, {self.threads} threads a block, occupancy {self.occupancy:.0%}"


def resources(cubin: bytes, arch: str) -> dict[str, Resources]:
    """Of each kernel in machine code for an architecture, by name.

    Raises:
        TargetError: this is no cubin, or one of a form that is not known.
    """
    try:
        return _resources(cubin, int(re.sub(r"\D", "", arch)))
    except (struct.error, ValueError, IndexError, KeyError) as e:
        raise TargetError(f"this machine code for {arch} cannot be read: {e}") from e


def _resources(cubin: bytes, capability: int) -> dict[str, Resources]:
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no ELF file of 64 bits")
    sections = _sections(cubin)
    symbols = {name: number for number, name in enumerate(_symbols(cubin, sections))}
    info = list(_attributes(cubin, sections[".nv.info"]))
    registers = {v[0]: v[1] for code, v in info if code == _REGCOUNT}
    frames = {v[0]: v[1] for code, v in info if code == _FRAME_SIZE}
    found = {}
    for section in reversed(sections):  # ptxas turns the source's order round
        if not section.startswith(".text."):
            continue
        kernel = section.removeprefix(".text.")
        own = dict(_attributes(cubin, sections[f".nv.info.{kernel}"]))
        x, y, z = own.get(_MAX_THREADS, (1, 1, 1))
        shared = sections.get(f".nv.shared.{kernel}", (0, 0))[1]
        shared -= RESERVED_SINCE[1] if shared and capability >= INSIDE_SINCE else 0
        number, threads = symbols[kernel], x * y * z
        blocks, part = occupancy(capability, registers[number], shared, threads)
        found[kernel] = Resources(registers[number], frames[number], shared, threads, blocks, part)
    return found


def occupancy(capability: int, registers: int, shared: int, threads: int) -> tuple[int, float]:
    """How many blocks a multiprocessor runs at once, and the part of its warps that they are.

    Args:
        capability: 90 for ``sm_90``.
        registers: of a thread.
        shared: bytes of a block, without what the system takes.
        threads: of a block.
    """
    known = [c for c in MULTIPROCESSORS if c <= capability] or [min(MULTIPROCESSORS)]
    most_warps, most_blocks, kilobytes = MULTIPROCESSORS[known[-1]]
    warps = _ceil(threads, WARP)
    of_a_warp = _ceil(max(registers, 1) * WARP, REGISTERS_AT_ONCE) * REGISTERS_AT_ONCE
    by_registers = REGISTERS // PARTITIONS // of_a_warp * PARTITIONS // warps
    is_later = capability >= RESERVED_SINCE[0]
    unit = SHARED_AT_ONCE[is_later]
    taken = _ceil(shared + is_later * RESERVED_SINCE[1], unit) * unit
    by_shared = kilobytes * 1024 // taken if taken else most_blocks
    blocks = min(most_blocks, most_warps // warps, by_registers, by_shared)
    return blocks, blocks * warps / most_warps


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def _sections(elf: bytes) -> dict[str, tuple[int, int]]:
    """Where each section begins, and its size."""
    (at,), (count, names) = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<HH", elf, 60)
    headers = [_SECTION.unpack_from(elf, at + _SECTION.size * k) for k in range(count)]
    return {_text(elf, headers[names][4] + h[0]): (h[4], h[5]) for h in headers}


def _symbols(elf: bytes, sections: dict[str, tuple[int, int]]) -> list[str]:
    """The names of all symbols, by number."""
    begin, size = sections[".symtab"]
    names = sections[".strtab"][0]
    return [_text(elf, names + struct.unpack_from("<I", elf, begin + k)[0]) for k in range(0, size, 24)]


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode()


def _attributes(elf: bytes, section: tuple[int, int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The codes of a section's attributes, and the 32-bit words of those that have any."""
    at, size = section
    end = at + size
    while at < end:
        form, code, value = struct.unpack_from("<BBH", elf, at)
        at += 4
        if form == _SIZED:
            yield code, struct.unpack_from(f"<{value // 4}I", elf, at)
            at += value
