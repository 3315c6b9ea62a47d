"""The modules that calls with arrays were compiled to, by kind of call and by shapes.

A *kind* is all that a module follows from but its sizes.  The first call of a kind is compiled for its shapes; the second, of
other shapes, for a *pattern*: the extents that changed are sizes known only at run time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from gscompile.build import Module
from gscompile.errors import GSError

Shapes: TypeAlias = tuple[tuple[int, ...], ...]
Pattern: TypeAlias = tuple[tuple[int | str, ...], ...]

MAX_KINDS = 256  # kinds of calls whose modules are kept
MAX_MODULES = 8  # modules of one kind


class CacheInfo(NamedTuple):
    """What the cache of compiled calls has done.

    Attributes:
        hits: calls that found a module.
        misses: calls that compiled one.
        size: modules that are kept now.
        kinds: kinds of calls that they belong to.
        maxkinds: how many kinds are kept; the one that was not called for the longest time goes first.
    """

    hits: int
    misses: int
    size: int
    kinds: int
    maxkinds: int


@dataclass(slots=True)
class Kind:
    """The modules of one kind of call, the newest first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    modules: list[tuple[Pattern, Module]] = field(default_factory=list)
    shapes: Shapes | None = None

    def find(self, shapes: Shapes) -> Module | None:
        """A module that takes these shapes."""
        return next((m for pattern, m in list(self.modules) if matches(pattern, shapes)), None)

    def add(self, shapes: Shapes, build: Callable[[Pattern], Module]) -> Module:
        """A new module for these shapes: for just them the first time, for others like them later."""
        earlier, self.shapes = self.shapes, shapes
        candidates: list[Pattern] = []
        if earlier is not None:
            candidates = [generalised(earlier, shapes, tied=True), generalised(earlier, shapes, tied=False)]
            known = {pattern for pattern, _ in self.modules}
            candidates = [p for p in candidates if p not in known and matches(p, shapes)]
        for pattern in candidates:
            try:
                module = build(pattern)
            except (GSError, TypeError):
                continue  # a shape rule that needs the numbers
            break
        else:
            pattern = shapes
            module = build(pattern)
        self.modules.insert(0, (pattern, module))
        del self.modules[MAX_MODULES:]
        return module


def matches(pattern: Pattern, shapes: Shapes) -> bool:
    """Whether shapes are of a pattern: equal numbers, and one number for each name."""
    sizes: dict[str, int] = {}
    for want, got in zip(pattern, shapes, strict=True):
        for p, n in zip(want, got, strict=True):
            if (sizes.setdefault(p, n) if isinstance(p, str) else p) != n:
                return False
    return True


def generalised(first: Shapes, second: Shapes, tied: bool) -> Pattern:
    """A pattern of both shapes: a name where they differ.

    Args:
        tied: axes that have the same extents in both are taken to be one size; otherwise each axis is a size of its own.
    """
    names: dict[Hashable, str] = {}
    pattern = []
    for t, (a, b) in enumerate(zip(first, second, strict=True)):
        dims: list[int | str] = []
        for axis, (m, n) in enumerate(zip(a, b, strict=True)):
            key = (m, n) if tied else (t, axis)
            dims.append(m if m == n else names.setdefault(key, f"n{len(names)}"))
        pattern.append(tuple(dims))
    return tuple(pattern)


class ModuleCache:
    """Kinds of calls, by key; safe for any number of threads."""

    def __init__(self, maxkinds: int = MAX_KINDS) -> None:
        self.maxkinds = maxkinds
        self._lock = threading.Lock()
        self._kinds: OrderedDict[Hashable, Kind] = OrderedDict()
        self._hits = self._misses = 0

    def module(self, key: Hashable, shapes: Shapes, build: Callable[[Pattern], Module]) -> Module:
        """The module for a call; built, where there is none yet, by one thread while the others wait for it."""
        with self._lock:
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = Kind()
                while len(self._kinds) > self.maxkinds:
                    self._kinds.popitem(last=False)
            else:
                self._kinds.move_to_end(key)
            module = kind.find(shapes)
            if module is not None:
                self._hits += 1
                return module
        with kind.lock:
            module = kind.find(shapes)  # another thread may have built it meanwhile
            found = module is not None
            if module is None:
                module = kind.add(shapes, build)
        with self._lock:
            self._hits += found
            self._misses += not found
        return module

    def used(self, key: Hashable, module: Module) -> bool:
        """Count a call that knows its module already; False where that is not kept any more."""
        with self._lock:
            kind = self._kinds.get(key)
            if kind is None or all(m is not module for _, m in kind.modules):
                return False
            self._kinds.move_to_end(key)
            self._hits += 1
            return True

    def info(self) -> CacheInfo:
        """What the cache has done."""
        with self._lock:
            size = sum(len(k.modules) for k in self._kinds.values())
            return CacheInfo(self._hits, self._misses, size, len(self._kinds), self.maxkinds)

    def clear(self) -> None:
        """Forget all modules, and the counts."""
        with self._lock:
            self._kinds.clear()
            self._hits = self._misses = 0
