"""Compiled code on disk, so that a graph is compiled once for all processes of a user.

A file holds a shared library and, as JSON, what else a build found out.  Its name is a hash of all that the code follows from:
the graph, the target, the versions of gscompile and of TVM.  Files appear whole, by a rename, so that any number of processes
may share the folder; each is checked against its own hash before it is used; the ones not used for the longest time go first.

Two variables of the environment: ``GSCOMPILE_CACHE`` names the folder, ``~/.cache/gscompile`` by default, or is ``off``;
``GSCOMPILE_CACHE_MB`` is what it may hold, 256 by default.  Whatever goes wrong here, a build goes on without it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from gscompile.compiler.linked import link, linker
from gscompile.compiler.targets import Target
from gscompile.errors import GSError
from gscompile.ir import machine
from gscompile.ir.graph import Graph
from gscompile.ir.ops.leaf import Constant
from gscompile.schedules import Choices

FOLDER = "GSCOMPILE_CACHE"
MEGABYTES = "GSCOMPILE_CACHE_MB"
DEFAULT_MEGABYTES = 256
EVICTED_EVERY = 16
"""Files that a process adds between two looks at how much there is."""
TOUCHED_AFTER = 3600.0
"""Seconds after which a file that is used says so."""

_MAGIC = b"gscache1"
_TRAILER = struct.Struct("<QQ32s8s")  # bytes of the library, bytes of JSON, their hash, the magic number
_added = count()


class Kept(NamedTuple):
    """What the cache has for a graph.

    Attributes:
        library: a shared library; more bytes follow it, which loaders do not look at.
        found: what was read of what was kept with it.
    """

    library: Path
    found: Any


class Slot(NamedTuple):
    """Where the code for a graph is, or will be."""

    path: Path

    def find(self, read: Callable[[Any], Any]) -> Kept | None:
        """What is there, if ``read`` can make something of what was kept; None where that is nothing, or damaged."""
        try:
            with open(self.path, "rb") as file:
                data = file.read()
                found = read(_opened(data))
                if time.time() - os.fstat(file.fileno()).st_mtime > TOUCHED_AFTER:
                    os.utime(self.path)
        except (OSError, ValueError, TypeError, KeyError, GSError):
            return None
        return Kept(self.path, found)

    def add(self, write_objects: Callable[[str], list[str]], found: Any) -> Path | None:
        """Link object files and keep the library.

        Args:
            write_objects: writes them into a folder, and says which they are.
            found: what :meth:`find` is to read; as JSON holds it.

        Returns:
            the library; None where the system does not let us.
        """
        command = linker()
        if command is None:
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="new-", dir=self.path.parent) as folder:
                library = os.path.join(folder, "code.so")
                objects = write_objects(folder)
                link(command, objects, library)
                with open(library, "ab") as file:
                    file.write(_closing(Path(library).read_bytes(), found))
                os.replace(library, self.path)
        except (OSError, subprocess.SubprocessError):
            return None
        if next(_added) % EVICTED_EVERY == 0:
            _evict(self.path.parent)
        return self.path


def slot(graph: Graph, target: Target, deterministic: bool, choices: Choices | None = None) -> Slot | None:
    """Where the code for a graph is kept; None where none is kept: for some targets, or if the user does not want it."""
    key = hashlib.sha256()
    try:
        folder = _folder() if target.linkable and linker() is not None else None
        if folder is None:
            return None
        key.update(_pickled((graph, deterministic, target.facts, sorted(map(repr, target.tvm.export().items())))))
    except Exception:  # an operator of a user that is not pickled, a folder that is removed meanwhile
        return None
    if choices:
        key.update(json.dumps(choices, sort_keys=True, default=dict).encode())
    key.update(_versions())
    return Slot(folder / f"{key.hexdigest()[:40]}.so")


def structure(graph: Graph) -> str:
    """A hash of a graph's operators, shapes and dtypes, the same whatever its values are called."""
    numbers = {id(v): k for k, v in enumerate(graph.values)}
    values = [(v.op, v.type, [numbers[id(a)] for a in v.args]) for v in graph.values]
    outputs = [numbers[id(v)] for v in graph.outputs]
    return hashlib.sha256(_pickled((values, outputs))).hexdigest()[:24]


def _folder() -> Path | None:
    """The folder, which is there and nobody else's; None where there can be none."""
    given = os.environ.get(FOLDER, "")
    if given.lower() in ("off", "0"):
        return None
    return _usable(given or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "gscompile"))


@lru_cache(maxsize=8)
def _made(folder: str) -> Path | None:
    path = Path(folder).expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: no home
        return None
    return path


def _usable(folder: str) -> Path | None:
    path = _made(folder)
    if path is not None and not path.is_dir():  # it was removed meanwhile
        _made.cache_clear()
        path = _made(folder)
    if path is None or not os.access(path, os.W_OK):
        return None
    status = path.stat()
    # who can write there can have this process run anything
    private = status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return path if private else None


class _Pickler(pickle.Pickler):
    """Code takes constants as it takes inputs: of them it depends on shape and dtype only, which their values have."""

    def reducer_override(self, obj: Any) -> Any:
        return (Constant, (None,)) if isinstance(obj, Constant) else NotImplemented


def _pickled(found: Any) -> bytes:
    data = io.BytesIO()
    pickler = _Pickler(data, protocol=4)
    pickler.fast = True  # the same bytes whether equal objects are one or two
    pickler.dump(found)
    return data.getvalue()


@cache
def _versions() -> bytes:
    """What tells this gscompile and this TVM from others, changed ones among them."""
    package = Path(__file__).parents[1]
    sources = {*package.rglob("*"), *(package / "schedules").rglob("*")}  # the latter is a link in a checkout
    files = [f for f in sources if f.suffix in (".py", ".so", ".h")] + machine.library_files()
    stamps = sorted((str(f), s.st_size, s.st_mtime_ns) for f in files for s in [f.stat()])
    return repr((sys.version_info[:2], stamps)).encode()


def _closing(library: bytes, found: Any) -> bytes:
    """What follows the library in its file."""
    data = json.dumps(found).encode()
    digest = hashlib.sha256(library + data).digest()
    return data + _TRAILER.pack(len(library), len(data), digest, _MAGIC)


def _opened(data: bytes) -> Any:
    """What :func:`_closing` kept.

    Raises:
        ValueError: the file is damaged.
    """
    body, end = data[: -_TRAILER.size], data[-_TRAILER.size :]
    if len(end) != _TRAILER.size:
        raise ValueError
    library, rest, digest, magic = _TRAILER.unpack(end)
    if magic != _MAGIC or library + rest != len(body) or hashlib.sha256(body).digest() != digest:
        raise ValueError
    return json.loads(body[library:])


def _evict(folder: Path) -> None:
    """Remove the files that were not used for the longest time, where all take more than they may."""
    try:
        most = int(os.environ.get(MEGABYTES, "")) << 20
    except ValueError:
        most = DEFAULT_MEGABYTES << 20
    files = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # another process removes some, too
                status = entry.stat()
                if entry.name.endswith(".so"):
                    files.append((status.st_mtime, status.st_size, entry.path))
                elif entry.name.startswith("new-") and time.time() - status.st_mtime > TOUCHED_AFTER:
                    shutil.rmtree(entry.path, ignore_errors=True)  # of a process that was ended
    total = sum(size for _, size, _ in files)
    if total <= most:
        return
    for _, size, path in sorted(files):
        with suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= most * 3 // 4:
            break
