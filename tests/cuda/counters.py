"""What kernels ask of the memory, counted while they run on the CPU (``runtime/counters.cpp``)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tests.cuda import device

SECTOR = 32  # bytes
ACCESSES = {0: "read", 1: "write", 2: "relaxed read", 3: "atomic"}


@dataclass(frozen=True)
class Site:
    """One instruction of a kernel, over a whole launch.

    Attributes:
        size: bytes that a lane accesses.
        requests: executions by a warp.
        lanes: executions by threads.
        sectors: of 32 bytes, that requests were for.
        l2_sectors: those that L1 did not have.
        l2_accesses: those of L2 for them, each of up to 64 bytes that lie together.
        dram_sectors: those that L2 did not have either, and that had to be read.
        wavefronts: turns that L1 or shared memory takes; one for each request, at best.
    """

    buffer: str
    access: str
    size: int
    shared: bool
    requests: int
    lanes: int
    sectors: int
    l2_sectors: int
    l2_accesses: int
    dram_sectors: int
    wavefronts: int

    @property
    def used(self) -> float:
        """The part of the sectors' bytes that lanes asked for; above 1 where lanes ask for the same."""
        return self.lanes * self.size / (self.sectors * SECTOR) if self.sectors else 1.0


@dataclass(frozen=True)
class Chain:
    """What the warps of a block do one after the other: from each barrier to the next, what the warp does that does most."""

    operations: int
    instructions: int
    l2_waits: int
    dram_waits: int


@dataclass(frozen=True)
class Launch:
    """
    Attributes:
        threads: of a block.
        longest: accesses of the thread that has most.
        atomics_of_one: atomics at the address that has most.
        written_back: sectors written to DRAM.
        l2_waits, dram_waits: how often warps wait for what they read, all of them together.
        longest_l2_waits, longest_dram_waits: the same of the warp that waits most.
        barriers: of all blocks.
        operations: requests, barriers, and shuffles, votes and matches, of all warps.
        instructions: that compute, compare or branch, of all warps; 0 unless the kernels are traced.
        chain: of all blocks, one after the other.
        longest_chain: of each count the most that a block has.
        shared_atomics_of_one: atomics at the address of a block's shared memory that has most.
    """

    kernel: str
    blocks: int
    threads: int
    longest: int
    atomics_of_one: int
    written_back: int
    l2_waits: int
    dram_waits: int
    longest_l2_waits: int
    longest_dram_waits: int
    barriers: int
    operations: int
    instructions: int
    chain: Chain
    longest_chain: Chain
    shared_atomics_of_one: int
    sites: list[Site] = field(default_factory=list)

    @property
    def warps(self) -> int:
        return self.blocks * -(-self.threads // 32)

    def total(self, name: str, *, shared: bool = False, access: str | None = None) -> int:
        """The sum of an attribute over instructions."""
        return sum(getattr(s, name) for s in self.sites if s.shared is shared and access in (None, s.access))

    @property
    def keeps_a_record(self) -> bool:
        """Whether it is the last kernel of a call, a thread, which keeps what checks have found and clears the status."""
        return self.blocks * self.threads == 1 and {s.buffer for s in self.sites} == {"status_ptr"}

    @property
    def dram_bytes(self) -> int:
        return SECTOR * (self.total("dram_sectors") + self.written_back)

    @property
    def l2_bytes(self) -> int:
        return SECTOR * self.total("l2_sectors")


@contextmanager
def counted(l1: int = 128 << 10, l2: int = 50 << 20, in_flight: int = 4, fetch: int = SECTOR) -> Iterator[list[Launch]]:
    """Count the launches of a ``with`` statement; the list is filled at its end.  Races are not looked for meanwhile.

    The one that ends each call with checks, and is the same for all, is left out; what is still to be written then is another's.

    Args:
        l1, l2: bytes of the caches: of one multiprocessor, of the device.  Empty at the start.
        in_flight: reads of one buffer, one after the other in a warp, that wait at once.
        fetch: bytes that come from DRAM together, where one of their sectors is read.
    """
    lib = device.library()
    lib.gs_counted.restype = ctypes.c_char_p
    lib.gs_count_from_here.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
    lib.gs_count_from_here(l1, l2, in_flight, fetch // SECTOR)
    lib.gs_check(0, 1)
    found: list[Launch] = []
    try:
        yield found
    finally:
        lib.gs_check(1, 0)
    for line in lib.gs_counted().decode().splitlines():
        kind, name, *numbers = line.split("\t")
        n = [int(x) for x in numbers]
        if kind == "launch":
            chains = Chain(*n[12:16]), Chain(*n[16:20])
            found.append(Launch(name, *n[:12], *chains, *n[20:]))
        else:
            found[-1].sites.append(Site(name, ACCESSES[n[0]], n[1], bool(n[2]), *n[3:]))
    kept: list[Launch] = []
    for launch in found:
        if not launch.keeps_a_record:
            kept.append(launch)
        elif kept:  # what was written before and is still in L2
            kept[-1] = replace(kept[-1], written_back=kept[-1].written_back + launch.written_back)
    found[:] = kept
