"""When a call's index checks are read, and where they are kept until then.

On the CPU a call's status record says all, and is read at once.  A GPU's kernels put what they find in a record that outlives the
call: with ``check="sync"`` one for each thread, read when the call's kernels are done; with ``"deferred"`` one for all, read when
it is asked for, in which the first call that failed stays.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError
from gscompile.ir import status
from gscompile.runtime.arrays import Device, View
from gscompile.runtime.call import PreparedCall
from gscompile.runtime.devices import Keeper, Launch, Room
from gscompile.runtime.interface import Interface

CHECKS = ("sync", "deferred")
"""When a call's index checks are read: before it returns, or when :meth:`CompiledFunction.check` asks for them."""

Found: TypeAlias = "tuple[Sequence[int], Mapping[str, int]]"
"""(a status record, the symbolic sizes of its call)"""


def pinned(length: int) -> Any:
    """A tensor of int64 on the host, to which a GPU can copy by itself."""
    import torch

    return torch.empty(length, dtype=torch.int64, pin_memory=True)


ROOMS = 16  # of a module, kept for calls to come
KEPT_WORKSPACE = 1 << 20  # bytes of scratch memory that a room may have to be kept


def is_deferred(what: str, check: str) -> bool:
    """Whether ``check`` is ``"deferred"``; ``what`` names who was given it.

    Raises:
        ArgumentError: there is no such check.
    """
    if check not in CHECKS:
        raise ArgumentError(f'{what}: check must be "sync" or "deferred"; got {str(check)[:200]!r}')
    return check == "deferred"


class FirstFound:
    """What the first call that failed on the CPU has found, until it is asked for."""

    def __init__(self) -> None:
        self._found: Found | None = None
        self._lock = threading.Lock()

    def keep(self, record: Sequence[int], sizes: Mapping[str, int]) -> None:
        """A call has failed."""
        with self._lock:
            self._found = self._found or (record, sizes)

    def take(self) -> Found | None:
        """What the first one has found; then it is as if none had failed."""
        with self._lock:
            found, self._found = self._found, None
        return found


class DeviceCalls:
    """A function's calls on a GPU: their rooms, and the records in which kernels keep what they find.

    Args:
        deferred: calls do not wait for their checks.
    """

    def __init__(self, keeper: Keeper, interface: Interface, deferred: bool) -> None:
        self.deferred = deferred
        self._keeper, self._interface = keeper, interface
        self._shared: dict[Device, View] = {}
        self._own = threading.local()
        self._rooms: dict[tuple[str, Device, int, int], Room] = {}
        self._lock = threading.Lock()

    def room(self, call: PreparedCall) -> Room:
        """Memory for calls like this one."""
        return self._keeper.room(self._interface.kept_length, call.extents.workspace, call.kind, call.device)

    def run(self, launch: Launch, call: PreparedCall, room: Room | None = None) -> Found | None:
        """Launch a call's kernels, and say what they have found if the call is to wait for that.

        Args:
            room: None: one that is kept for the stream, or for this call alone.
        """
        kept = self.record(call) if self._interface.checks else None
        place = None if room is not None else self._place(call)
        room = room or (self._rooms.get(place) if place is not None else None) or self.room(call)
        with room.one:  # two calls on a stream may share it, one after the other
            self._keeper.enqueue(launch, room, kept, call.inputs, call.kind, call.device)
        if place is not None:  # what was left behind by kernels that could not be launched is not kept
            with self._lock:
                if len(self._rooms) >= ROOMS:
                    self._rooms.clear()
                self._rooms[place] = room
        return None if kept is None or self.deferred else self._said(kept, call.device, call.kind)

    def addresses(self) -> tuple[int, ...] | None:
        """Of what the fast path needs of the driver; None where there is no such path."""
        return self._keeper.driver_addresses()

    def fast(self, call: PreparedCall, room: Room | None) -> tuple[int, int, int, int, int, int, int, object] | None:
        """Where calls like this one run whose arrays are checked in C; see ``FastCall.add``.  None for nowhere.

        Args:
            room: theirs; None for one of their own, if it may be kept.
        """
        if call.kind != "torch" or (room is None and call.extents.workspace > KEPT_WORKSPACE):
            return None
        stream = self._keeper.stream(call.kind, call.device)
        if stream is None:
            return None
        room = room or self.room(call)
        kept = self.record(call) if self._interface.checks else None
        waits = kept is not None and not self.deferred
        host = pinned(self._interface.kept_length) if waits else None
        addresses = (
            room.status.ptr,
            0 if kept is None else kept.ptr,
            room.workspace.ptr,
            0 if host is None else host.data_ptr(),
        )
        nbytes = 8 * self._interface.kept_length if waits else 0
        return stream, self._keeper.context(call.device), *addresses, nbytes, (room, kept, host)

    def _place(self, call: PreparedCall) -> tuple[str, Device, int, int] | None:
        """By what a room is kept; None for not."""
        workspace = call.extents.workspace
        stream = self._keeper.stream(call.kind, call.device) if workspace <= KEPT_WORKSPACE else None
        return None if stream is None else (call.kind, call.device, stream, workspace)

    def record(self, call: PreparedCall) -> View:
        """Where a call's kernels keep what they find."""
        if not self.deferred:
            records: dict[Device, View] = self._own.__dict__.setdefault("records", {})
            if call.device not in records:
                records[call.device] = self._new_record(call)
            return records[call.device]
        if call.device not in self._shared:
            with self._lock:
                if call.device not in self._shared:
                    self._shared[call.device] = self._new_record(call)
        return self._shared[call.device]

    def _new_record(self, call: PreparedCall) -> View:
        return self._keeper.record(self._interface.kept_length, call.kind, call.device)

    def take(self) -> Found | None:
        """What the first call that failed has found, once all calls are done; on several devices, of one of them."""
        said = [self._said(record, device) for device, record in list(self._shared.items())]
        return next((found for found in said if found is not None), None)

    def _said(self, record: View, device: Device, kind: str | None = None) -> Found | None:
        numbers = list(self._keeper.take(record, device, kind))
        if not numbers[status.FAILED]:
            return None
        return numbers, dict(zip(self._interface.symbols, numbers[self._interface.status_length :], strict=True))
