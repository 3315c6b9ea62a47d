"""Exported libraries, loaded: the same callables as builds, without TVM and without the compiler."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gscompile.errors import ArgumentError, BoundsError, DeviceError, index_changed
from gscompile.runtime import manifest, pools
from gscompile.runtime.compiled import CompiledFunction
from gscompile.runtime.devices import HOST, LIBRARY_CUDA, thread_stream
from gscompile.runtime.manifest import Entry, Manifest
from gscompile.runtime.weights import Weights

_RANK, TEXT_BYTES = 16, 512
_INT, _POINTER = 1, 4  # types of TVMFFIAny
_ELF = {"x86_64": 62, "aarch64": 183, "riscv64": 243}


class _Any(ctypes.Structure):
    """TVMFFIAny."""

    _fields_ = (("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_int64))


class _Error(ctypes.Structure):
    """gs_error of the library's header."""

    _fields_ = (
        ("code", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("position", ctypes.c_int64 * _RANK),
        ("value", ctypes.c_int64),
        ("is_unsigned", ctypes.c_int64),
        ("low", ctypes.c_int64),
        ("high", ctypes.c_int64),
        ("op", ctypes.c_char_p),
        ("tensor", ctypes.c_char_p),
        ("text", ctypes.c_char * TEXT_BYTES),
    )


_Kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Any), ctypes.c_int32, ctypes.POINTER(_Any))


class LoadedFunction(CompiledFunction):
    """A graph of an exported library: a callable.

    Attributes:
        library: what the library says of itself.
        path: its file.
        weights: the file of its constants, where it was given.
    """

    def __init__(
        self, path: Path, library: Manifest, entry: Entry, weights: Path | None = None, check: str = "sync"
    ) -> None:
        self.path, self.library, self.weights, self._entry, self._check = path, library, weights, entry, check
        gpu = entry.interface.device != "cpu"
        function = _DeviceFunction if gpu else _Function
        runner = LIBRARY_CUDA if gpu else HOST
        super().__init__(entry.interface, lambda: function(path, library, entry), runner, (), self._explained, check)

    def __reduce__(self) -> tuple[Any, ...]:
        """Its file, which is loaded again."""
        return _again, (str(self.path), self.name, self.weights and str(self.weights), self._check)

    def __copy__(self) -> LoadedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> LoadedFunction:
        return self

    def __repr__(self) -> str:
        head = ", ".join(f"{v.name}: {v.type}" for v in self.inputs)
        tail = ", ".join(str(v.type) for v in self.outputs)
        return f"<gscompile function {self.name}({head}) -> {tail} of {self.path.name}>"

    def _explained(self, check: int, position: int, value: int, sizes: Mapping[str, int]) -> Exception:
        numbers = [sizes[n] for n in self._entry.interface.symbols]
        library = _opened(self.path, self.library.digest)
        return _explained(library, self._entry, check, position, value, numbers)


def load(
    path: str | Path,
    name: str | None = None,
    *,
    weights: str | Path | None = None,
    verify: bool = False,
    check: str = "sync",
) -> LoadedFunction:
    """A graph of a library that ``Module.export`` or ``gscompile compile`` wrote.

    Args:
        path: a shared library.
        name: the graph's, where the library has several.
        weights: the file of its constants, where they are not inside; by default it is beside the library.
        verify: read all of that file, to see whether its hash is right.  Otherwise only its head and its size are looked at.
        check: as for :meth:`gscompile.frontend.builder.Builder.build`.

    Returns:
        the same callable as a build.

    Raises:
        ArgumentError: the file is none, was changed, or is of a newer format; it has no such graph, or several; the file of
            constants is not found, or is not the library's.
        DeviceError: it is for another system, or for a CPU that has more than this one; for a GPU, and there is none that it has
            code for, or no driver.
    """
    found = manifest.read(path)
    entries = {e.interface.name: e for e in found.entries}
    names = ", ".join(entries)
    if name is None and len(entries) != 1:
        raise ArgumentError(f"{path}: name one of its graphs: {names}")
    if name is not None and name not in entries:
        raise ArgumentError(f"{path}: it has no graph {name!r}; its graphs: {names}")
    absolute = Path(path).absolute()
    _require_fits(absolute, found)
    given = None if weights is None else Path(weights).absolute()
    if found.weights is not None:
        _use_weights(absolute, found, given or absolute.parent / found.weights.name, found.weights if verify else None)
    elif weights is not None:
        raise ArgumentError(f"{path}: its constants are inside: it takes no weights")
    return LoadedFunction(absolute, found, entries[name] if name is not None else found.entries[0], given, check)


def _again(path: str, name: str, weights: str | None, check: str) -> LoadedFunction:
    return load(path, name, weights=weights, check=check)


def _use_weights(path: Path, found: Manifest, weights: Path, verified: Weights | None) -> None:
    """Map a library's constants."""
    error = _Error()
    use = _opened(path, found.digest)[f"{found.name}_use_weights"]
    if use(os.fsencode(weights), ctypes.byref(error)) != 0:
        raise ArgumentError(error.text.decode(errors="replace"))
    if verified is not None:
        verified.verify(weights)


def _require_fits(path: Path, found: Manifest) -> None:
    """Whether this process can load a library: its file's own head says what it is for."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    with open(path, "rb") as file:
        head = file.read(20)
    if (
        not sys.platform.startswith("linux")
        or head[:4] != b"\x7fELF"
        or head[18:20] != _ELF.get(machine, 0).to_bytes(2, "little")
    ):
        raise DeviceError(f"{path}: it is for {found.triple}, and this process runs on {sys.platform}, {machine}")
    if head[16] != 3:  # ET_DYN
        raise ArgumentError(f"{path}: it is no shared library: link it, or export one that ends in .so")
    library = _opened(path, found.digest)
    lacks = library[f"{found.name}_lacks"]
    lacks.restype = ctypes.c_char_p
    missing = lacks()
    if missing is not None and found.entries[0].interface.device != "cpu":
        raise DeviceError(f"{path}: {missing.decode(errors='replace')}")
    if missing is not None:
        raise DeviceError(f"{path}: this CPU lacks {missing.decode()}, which the library was compiled for")


_first: dict[Path, bytes] = {}  # what a path held when it was loaded


@cache
def _opened(path: Path, digest: bytes) -> Any:
    """A library with these bytes.

    The system keeps what it has loaded by its path, and gives that again though another library is there now: that one is
    loaded from a copy.
    """
    try:
        if _first.setdefault(path, digest) == digest:
            return ctypes.CDLL(str(path))
        import shutil  # these take longer to import than a library to load
        import tempfile

        with tempfile.TemporaryDirectory(prefix="gscompile-") as folder:
            return ctypes.CDLL(shutil.copy(path, folder))
    except OSError as e:
        raise ArgumentError(f"{path}: cannot be loaded: {e}") from None


class _Function:
    """A kernel, to be called with addresses, as ``ctypes.c_void_p``, and numbers.

    Attributes:
        entry: its address, and the first of its arguments; what the fast path calls.
    """

    __slots__ = ("_kernel", "_library", "entry")

    def __init__(self, path: Path, library: Manifest, entry: Entry) -> None:
        self._library = _opened(path, library.digest)
        if (launcher := pools.launcher()) is not None:
            use = self._library[f"{library.name}_use_launcher"]
            use.argtypes, use.restype = [ctypes.c_void_p], None
            use(launcher)
        get = self._library[f"{entry.function}_kernel"]
        get.restype = ctypes.c_void_p
        address = get()
        self._kernel, self.entry = _Kernel(address), (address, 0)

    def __call__(self, *args: Any) -> None:
        packed = (_Any * len(args))()
        for slot, x in zip(packed, args, strict=True):
            slot.value = x if isinstance(x, int) else x.value or 0
        if self._kernel(None, packed, len(args), ctypes.byref(_Any())) != 0:
            raise RuntimeError("a kernel has failed")


class _DeviceFunction:
    """Kernels for a GPU, to be launched with addresses there, as ``ctypes.c_void_p``, and numbers."""

    __slots__ = ("_launch",)

    def __init__(self, path: Path, library: Manifest, entry: Entry) -> None:
        self._launch = _opened(path, library.digest)[f"{entry.function}_launch"]
        self._launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p]

    def __call__(self, *args: Any) -> None:
        packed, error = (_Any * len(args))(), _Error()
        for slot, x in zip(packed, args, strict=True):
            slot.value = x if isinstance(x, int) else x.value or 0
            slot.type = _INT if isinstance(x, int) else _POINTER if slot.value else 0
        if self._launch(thread_stream(), packed, len(args), ctypes.byref(error)) != 0:
            raise DeviceError(error.text.decode(errors="replace"))


def _explained(
    library: Any, entry: Entry, check: int, position: int, value: int, numbers: Sequence[int]
) -> BoundsError:
    """The error that the library makes of a failed check."""
    error = _Error()
    explain = library[f"{entry.function}_explain"]
    sizes = (ctypes.c_int64 * max(len(numbers), 1))(*numbers)
    explain.argtypes = [ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    explain.restype = None
    explain(check, position, value, sizes, ctypes.byref(error))
    text, op, tensor = (s.decode(errors="replace") for s in (error.text, error.op or b"", error.tensor or b""))
    changed = index_changed(op, tensor)
    if text == str(changed):
        return changed
    return BoundsError(
        text,
        op=op,
        tensor=tensor,
        position=tuple(error.position[: error.rank]),
        value=error.value % (1 << 64) if error.is_unsigned else error.value,
        valid=(error.low, error.high) if error.low <= error.high else None,
    )
