"""What a measurement is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from gscompile.bench.peers.base import Peer
from gscompile.bench.workload import Workload

Row: TypeAlias = dict[str, Any]
"""What was measured of one workload or size, as it is saved.  Times are [lower quartile, median, upper quartile]."""

MEDIAN = 1  # where the median is in such a list


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Attributes:
        most: cut the workloads' axes to about this many elements, for a rehearsal.
        max_points: of a measurement of sizes.
        process: the library that computes in the same process, right before each call.
        arrays: whose arrays gscompile is given.
        clients: threads that call at once.
    """

    workloads: Sequence[Workload]
    peers: Sequence[Peer]
    rounds: int
    threads: int
    most: int | None = None
    max_points: int = 10**8
    process: str | None = None
    arrays: str = "numpy"
    clients: int = 1


class Measurement(Protocol):
    """A module of this package."""

    @property
    def HELP(self) -> str: ...

    def measure(self, request: Request) -> list[Row]:
        """Do it; one line to stderr for each row done."""

    def table(self, rows: Sequence[Row]) -> str:
        """The rows in Markdown, and what is to be said of them."""
