"""What a call costs beside the kernel, and what a build takes."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.peers.base import Run
from gscompile.bench.report import markdown
from gscompile.bench.timing import Sample
from gscompile.bench.variants import turns
from gscompile.bench.workload import Arrays, Workload
from gscompile.bench.workloads import TINY, WORKLOADS
from gscompile.build import Module
from gscompile.runtime.arrays import finish
from gscompile.runtime.threads import set_num_threads

HELP = "microseconds of a tiny call, in several forms, and milliseconds of a build"
BUILDS = 10
KERNEL = "the kernel alone"


def measure(request: Request) -> list[Row]:
    """Rows: ``call`` and ``us``, or ``build`` and ``ms``."""
    set_num_threads(request.threads)
    w = WORKLOADS[TINY]
    rows: list[Row] = [{"call": name, "us": [x * 1e3 for x in ms]} for name, ms in _calls(w, request.rounds).items()]
    print("1/2 calls", file=sys.stderr, flush=True)
    rows += [{"build": w.name, "ms": builds(w, request.most)} for w in request.workloads]
    print("2/2 builds", file=sys.stderr, flush=True)
    return rows


def _calls(w: Workload, rounds: int) -> dict[str, list[float]]:
    arrays = w.arrays()
    x, i = arrays.values()
    m, symbolic = w.builder(arrays).build(), w.builder(arrays, symbolic=True).build()
    out = m(x, i)
    runs: dict[str, Run] = {
        "m.bind(x, i, out=out)()": m.bind(x, i, out=out),
        "m(x, i, out=out)": lambda: m(x, i, out=out),
        "m(x, i)": lambda: m(x, i),
        "m(x, i, out=out), symbolic sizes": lambda: symbolic(x, i, out=out),
        "numpy.take(x, i, out=out, mode='clip')": lambda: np.take(x, i, out=out, mode="clip"),
        "x.take(i, out=out, mode='clip')": lambda: x.take(i, out=out, mode="clip"),
        "numpy.take(x, i)": lambda: np.take(x, i),
        "x[i]": lambda: x[i],
    }
    if importlib.util.find_spec("torch"):
        runs |= _torch(m, x, i)
    if importlib.util.find_spec("jax"):
        runs |= _jax(m, x, i, out)
    times = turns(runs, rounds)
    return {KERNEL: kernel(m, arrays, rounds), **{name: Sample.of(ms).as_json() for name, ms in times.items()}}


def _torch(m: Module, x: Any, i: Any) -> dict[str, Run]:
    """Calls on PyTorch's tensors of the same values."""
    import torch

    x, i, out = torch.from_numpy(x), torch.from_numpy(i), torch.from_numpy(np.empty_like(m(x, i)))
    return {
        "m.bind(x, i, out=out)(), torch": m.bind(x, i, out=out),
        "m(x, i, out=out), torch": lambda: m(x, i, out=out),
        "m(x, i), torch": lambda: m(x, i),
        "torch.index_select(x, 0, i, out=out)": lambda: torch.index_select(x, 0, i, out=out),
        "torch.empty_like(out)": lambda: torch.empty_like(out),
    }


def _jax(m: Module, x: Any, i: Any, out: Any) -> dict[str, Run]:
    """Calls on JAX's arrays of the same values; JAX has no way to write one, and to make one takes it longest."""
    import jax

    x, i, narrow = finish("jax", x.copy()), finish("jax", i.copy()), jax.numpy.asarray(i, "int32")
    take, cpu = jax.jit(lambda x, i: x[i]), jax.local_devices(backend="cpu")[0]
    return {
        "m.bind(x, i, out=numpy)(), jax": m.bind(x, i, out=out),
        "m(x, i, out=numpy), jax": lambda: m(x, i, out=out),
        "m(x, i), jax": lambda: m(x, i),
        "jax.jit(take)(x, i)": lambda: take(x, narrow),
        "jax.device_put(out)": lambda: jax.device_put(out, cpu, may_alias=True),
    }


def kernel(m: Module, arrays: Arrays, rounds: int) -> list[float]:
    """Milliseconds of the compiled function without Python, by TVM's timing loop: [lower quartile, median, upper quartile].

    The module has static sizes, one output and no scratch memory.
    """
    import tvm

    out, status = m(*arrays.values()), np.zeros(64, np.int64)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays.values(), out, status)]
    evaluator = m._library.mod.time_evaluator(m.name, tvm.cpu(), number=10_000, repeat=rounds)
    seconds: Any = evaluator(*pointers, ctypes.c_void_p(0), 1, 0).results
    return Sample.of(np.array(seconds) * 1e3).as_json()


def builds(w: Workload, most: int | None) -> list[float]:
    """Milliseconds of builds with sizes that differ, after a first one: [lower quartile, median, upper quartile]."""
    shapes = {name: (x.shape, x.dtype) for name, x in w.arrays(most=most).items()}
    found = []
    for k in range(BUILDS + 1):
        # pages that are never written take no memory
        like = {name: np.empty([n - k if n > 100 else n for n in shape], t) for name, (shape, t) in shapes.items()}
        begin = time.perf_counter()
        w.builder(like).build()
        found.append((time.perf_counter() - begin) * 1e3)
    return Sample.of(found[1:]).as_json()


def table(rows: Sequence[Row]) -> str:
    calls = [r for r in rows if "call" in r]
    alone = next((r["us"][MEDIAN] for r in calls if r["call"] == KERNEL), 0.0)
    lines = [
        [
            f"`{r['call']}`" if r["call"] != KERNEL else KERNEL,
            f"{r['us'][MEDIAN]:.2f}",
            f"{r['us'][MEDIAN] - alone:.2f}" if r["call"].startswith("m") else "",
        ]
        for r in calls
    ]
    text = markdown(["100 of 1,000 elements", "us", "over the kernel"], lines)
    built = [[r["build"], *(f"{x:.0f}" for x in r["ms"])] for r in rows if "build" in r]
    return text + "\n\n" + markdown(["build", "ms: lower quartile", "median", "upper quartile"], built)
