"""Calls that do not wait for their index checks: what the first that failed has found is kept until it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from gscompile.errors import ArgumentError
from gscompile.ir import status
from gscompile.runtime.arrays import Device, View
from gscompile.runtime.call import PreparedCall
from gscompile.runtime.devices import Keeper, Launch, Room, Runner
from gscompile.runtime.interface import Interface

CHECKS = ("sync", "deferred")
"""When a call's index checks are read: before it returns, or when :meth:`CompiledFunction.check` asks for them."""

Found: TypeAlias = "tuple[Sequence[int], Mapping[str, int]]"
"""(a status record, the symbolic sizes of its call)"""


def is_deferred(what: str, check: str) -> bool:
    """Whether ``check`` is ``"deferred"``; ``what`` names who was given it.

    Raises:
        ArgumentError: there is no such check.
    """
    if check not in CHECKS:
        raise ArgumentError(f'{what}: check must be "sync" or "deferred"; got {str(check)[:200]!r}')
    return check == "deferred"


class Deferred:
    """The checks of a function's calls, which do not wait for them.

    A GPU's kernels keep what they find themselves, in a record for each device; a call on the CPU hands it to :meth:`keep`.
    """

    def __init__(self, runner: Runner, interface: Interface) -> None:
        self._interface = interface
        self._keeper = cast(Keeper, runner) if runner.names_later else None
        self._records: dict[Device, View] = {}
        self._found: Found | None = None
        self._lock = threading.Lock()

    @property
    def by_kernels(self) -> bool:
        """Whether kernels keep what they find."""
        return self._keeper is not None

    def room(self, call: PreparedCall) -> Room | None:
        """Memory for calls like this one; None where they bring their own."""
        if self._keeper is None:
            return None
        length = self._interface.kept_length
        return self._keeper.room(length, call.extents.workspace, call.kind, call.device)

    def enqueue(self, launch: Launch, call: PreparedCall, room: Room | None) -> None:
        """Launch a call's kernels, in memory of its own where no room is given."""
        assert self._keeper is not None
        kept = self._record(call) if self._interface.checks else None
        room = room or self.room(call)
        assert room is not None
        self._keeper.enqueue(launch, room, kept, call.inputs, call.kind, call.device)

    def _record(self, call: PreparedCall) -> View:
        found = self._records.get(call.device)
        if found is None:
            with self._lock:
                found = self._records.get(call.device)
                if found is None:
                    found = self._keeper.record(self._interface.kept_length, call.kind, call.device)  # type: ignore[union-attr]
                    self._records[call.device] = found
        return found

    def keep(self, record: Sequence[int], sizes: Mapping[str, int]) -> None:
        """A call on the CPU has failed."""
        with self._lock:
            self._found = self._found or (record, sizes)

    def take(self) -> Found | None:
        """What the first call that failed has found, once all calls are done; on several devices, of one of them."""
        with self._lock:
            found, self._found = self._found, None
            records = list(self._records.items())
        for device, record in records:
            assert self._keeper is not None
            numbers = list(self._keeper.take(record, device))
            if numbers[status.FAILED] and found is None:
                found = (
                    numbers,
                    dict(zip(self._interface.symbols, numbers[self._interface.status_length :], strict=True)),
                )
        return found
