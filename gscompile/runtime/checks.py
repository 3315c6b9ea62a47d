"""When a call's index checks are read, and where they are kept until then.

On the CPU a call's status record says all, and is read at once.  A GPU's kernels put what they find in a record that outlives the
call: with ``check="sync"`` one for each thread, read when the call's kernels are done; with ``"deferred"`` one for all, read when
it is asked for, in which the first call that failed stays.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gscompile.errors import ArgumentError, DeviceError, OutOfMemoryError
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


_Place: TypeAlias = tuple[str, Device, int, int]  # library, device, stream, bytes of scratch memory

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


def _is_free(room: Room, stream: int | None) -> bool:
    """Whether a call on a stream, None for one that is being captured, may have a bound call's room.

    What is captured runs later: replays of one graph after the other, and not beside the bound call.
    """
    if room.stream is None:
        return False
    return stream is None or (stream == room.stream and not room.fast)


class _Own(threading.local):
    """A thread's own records, and the devices where one may say what a call has found that was broken off."""

    def __init__(self) -> None:
        self.records: dict[Device, View] = {}
        self.doubtful: set[Device] = set()


class DeviceCalls:
    """A function's calls on a GPU: their rooms, and the records in which kernels keep what they find.

    Args:
        deferred: calls do not wait for their checks.
    """

    def __init__(self, keeper: Keeper, interface: Interface, deferred: bool) -> None:
        self.deferred = deferred
        self._keeper, self._interface = keeper, interface
        self._shared: dict[Device, View] = {}
        self._own = _Own()
        self._rooms: dict[_Place, Room] = {}
        self._lock = threading.Lock()

    def room(self, call: PreparedCall) -> Room:
        """Memory for calls like this one."""
        return self._keeper.room(self._interface.kept_length, call.extents.workspace, call.kind, call.device)

    def run(self, launch: Launch, call: PreparedCall, room: Room | None = None) -> Found | None:
        """Launch a call's kernels, and say what they have found if the call is to wait for that.

        Args:
            room: a bound call's.  None, or where it is in use: one that is kept for the stream, or for this call alone.

        Raises:
            DeviceError: the call would have to wait, and is being captured in a CUDA graph.
        """
        kept = self.record(call) if self._interface.checks else None
        waits = kept is not None and not self.deferred
        stream = self._keeper.stream(call.kind, call.device)
        if waits and stream is None:
            raise DeviceError(
                f"{self._interface.name}: a call that waits for its index checks cannot be captured in a CUDA graph; "
                'build with check="deferred"'
            )
        if kept is not None and waits and call.device in self._own.doubtful:
            self._keeper.take(kept, call.device)
            self._own.doubtful.discard(call.device)
        place = None
        if room is None or not _is_free(room, stream):
            place = self._place(call, stream)
            room = (self._rooms.get(place) if place is not None else None) or self.room(call)
        try:
            with room.one:  # two calls on a stream may share it, one after the other
                self._keeper.enqueue(launch, room, kept, call.inputs, call.kind, call.device)
            said = self._said(kept, call.device, call.kind) if kept is not None and waits else None
        except BaseException:
            if place is not None:
                self._rooms.pop(place, None)
            if waits:
                self._own.doubtful.add(call.device)
            raise
        if place is not None:
            with self._lock:
                if len(self._rooms) >= ROOMS and place not in self._rooms:
                    self._rooms.clear()
                self._rooms[place] = room
        return said

    def addresses(self) -> tuple[int, ...] | None:
        """Of what the fast path needs of the driver; None where there is no such path."""
        return self._keeper.driver_addresses()

    def fast(self, call: PreparedCall, room: Room | None) -> tuple[int, int, int, int, int, int, int, object] | None:
        """Where calls like this one run whose arrays are checked in C; see ``FastCall.add``.  None for nowhere.

        Args:
            room: a bound call's, which they may have.  None, or where it is for another stream: one of their own.
        """
        stream = self._keeper.stream(call.kind, call.device) if call.kind == "torch" else None
        if stream is None:
            return None
        if room is not None and (room.fast or room.stream != stream):
            room = None
        if room is None and call.extents.workspace > KEPT_WORKSPACE:
            return None
        kept = self.record(call) if self._interface.checks else None
        waits = kept is not None and not self.deferred
        try:
            room = room or self.room(call)
            host = pinned(self._interface.kept_length) if waits else None
        except (OutOfMemoryError, RuntimeError):  # calls do without
            return None
        room.fast = True
        addresses = (
            room.status.ptr,
            0 if kept is None else kept.ptr,
            room.workspace.ptr,
            0 if host is None else host.data_ptr(),
        )
        nbytes = 8 * self._interface.kept_length
        return stream, self._keeper.context(call.device), *addresses, nbytes, (room, kept, host)

    @staticmethod
    def _place(call: PreparedCall, stream: int | None) -> _Place | None:
        """By what a room is kept; None for not."""
        workspace = call.extents.workspace
        return None if stream is None or workspace > KEPT_WORKSPACE else (call.kind, call.device, stream, workspace)

    def record(self, call: PreparedCall) -> View:
        """Where a call's kernels keep what they find."""
        if not self.deferred:
            records = self._own.records
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
