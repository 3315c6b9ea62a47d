"""gscompile itself, and the floor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.peers.torch import array, tensor
from gscompile.bench.workload import Arrays, Workload
from gscompile.bench.workloads import TINY
from gscompile.compiler.targets import resolve
from gscompile.ir import codegen, machine
from gscompile.ir import tir as T
from gscompile.runtime.pools import loaded
from gscompile.runtime.threads import set_num_threads

PARALLEL_BYTES = 64 << 10  # below which a second thread would cost more than it saves


@dataclass(frozen=True)
class Ours:
    """gscompile with its defaults: static sizes, every index checked.

    Attributes:
        arrays: whose arrays it is given: ``numpy``, ``torch`` or ``jax``, whose results cannot be written into.
    """

    arrays: str = "numpy"
    name: ClassVar[str] = "gscompile"
    packages: ClassVar[tuple[str, ...]] = ()

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        set_num_threads(threads)
        if self.arrays == "jax":
            import jax

            jax.config.update("jax_enable_x64", True)
            given = [jax.numpy.asarray(x) for x in arrays.values()]
        elif self.arrays == "torch":
            import torch

            given = [tensor(torch, x) for x in arrays.values()]
        else:
            given = [*arrays.values()]
        module = w.builder(arrays, symbolic=w.symbolic).build()
        if self.arrays == "jax":
            return [lambda: module(*given)]
        if w.name == TINY:
            out = module(*given)
            return [lambda: module(*given, out=out)]
        run = module.bind(*given)
        return [run] if self.arrays == "numpy" else [lambda: array(torch, run())]


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

    function = T.prim_func("copy", [target, source, n, threads], T.parallel(threads, piece), 1)
    library = codegen.compile_module(T.module({"copy": function}), resolve("llvm").tvm, codegen.CPU_PIPELINE)
    found: Callable[..., Any] = loaded(lambda: library["copy"], machine.parallel_launch())
    return found
