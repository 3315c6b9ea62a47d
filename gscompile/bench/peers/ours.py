"""gscompile itself, and the floor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload
from gscompile.bench.workloads import TINY
from gscompile.compiler.targets import resolve
from gscompile.ir import tir as T
from gscompile.runtime.threads import set_num_threads

PARALLEL_BYTES = 64 << 10  # below which a second thread would cost more than it saves


class Ours:
    """gscompile with its defaults: static sizes, every index checked."""

    name = "gscompile"
    packages = ()

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        set_num_threads(threads)
        module = w.builder(arrays).build()
        if w.name == TINY:
            given = tuple(arrays.values())
            out = module(*given)
            return [lambda: module(*given, out=out)]
        return [module.bind(*arrays.values())]


class Floor:
    """A plain copy, by ``memcpy`` on as many threads, of as many bytes as must move: half of them read, half written."""

    name = "floor"
    packages = ()

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        return [copy(w.moved(arrays) // 2, threads)]


def copy(nbytes: int, threads: int) -> Run:
    """A function that copies bytes from one array of its own to another, and returns that."""
    source, target = np.ones(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    function = _copy_function()
    arguments = [ctypes.c_void_p(target.ctypes.data), ctypes.c_void_p(source.ctypes.data), nbytes]
    arguments.append(threads if nbytes >= PARALLEL_BYTES else 1)

    def run() -> Any:
        function(*arguments)
        return target, source

    return run


@lru_cache(maxsize=1)
def _copy_function() -> Callable[..., Any]:
    """(target, source, bytes, threads) -> None."""
    target, source = T.pointer("target", "uint8"), T.pointer("source", "uint8")
    n, threads = T.var("n"), T.var("threads")

    def piece(k: Any) -> Any:
        lo, hi = T.quotient(n * k, threads), T.quotient(n * (k + 1), threads)
        to, start = T.offset_pointer(target, lo), T.offset_pointer(source, lo)
        return T.evaluate(T.call_extern("handle", "memcpy", to, start, hi - lo))

    body = T.if_(threads > 1, T.parallel(threads, piece), piece(T.const(0)))
    function = T.prim_func("copy", [target, source, n, threads], body, 1)
    library = T.compile_module(T.module({"copy": function}), resolve("llvm").tvm)
    found: Callable[..., Any] = library["copy"]
    return found
