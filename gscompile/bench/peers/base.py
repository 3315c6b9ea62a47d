"""What an adapter is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from gscompile.bench.workload import Arrays, Workload

Run: TypeAlias = Callable[[], Any]
"""Computes the result; gives something that ``np.asarray`` reads, or an array of the same bytes where NumPy lacks the dtype."""


class UnavailableError(Exception):
    """A peer cannot run here; the message says what is missing."""


class Peer(Protocol):
    """A library.

    Attributes:
        packages: what has to be installed, as one imports it.
    """

    @property
    def name(self) -> str: ...

    @property
    def packages(self) -> tuple[str, ...]: ...

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        """The ways to compute a workload; none where the library has no operator for it.

        Raises:
            UnavailableError: the library cannot run here.
        """
