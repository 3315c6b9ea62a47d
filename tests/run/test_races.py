"""No kernel touches memory outside a tensor, whatever other threads write to the indices while it runs.

A thread flips elements of the index between a good and a bad value as fast as it can, while a function is called on it again and
again.  As in :mod:`tests.run.test_guard_pages`, every tensor ends where an unreadable page begins, or begins where one ends, and
calls are made in a process of their own, which a kernel that strays ends.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir import status
from gscompile.schedules import cuda, llvm
from gscompile.schedules.llvm.numbers import PARALLEL_POINTS
from tests.run.test_guard_pages import MANY_CORES, TARGETS, Array, Fence, Say, build, in_child, slices_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="protects pages with Linux's mprotect")

BOUNDS = ("raise", "clip", "wrap", "fill")

# -- the thread that interferes ---------------------------------------------------------------------------------------

FLIPPER = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct flipper { char *at; const char *good, *bad; long count, width, bads; volatile int stop; pthread_t thread; };
static void put(volatile char *at, const char *from, long width) {
    switch (width) {  /* at once, as a program would */
    case 1: *(volatile uint8_t *)at = *(const uint8_t *)from; break;
    case 2: *(volatile uint16_t *)at = *(const uint16_t *)from; break;
    case 4: *(volatile uint32_t *)at = *(const uint32_t *)from; break;
    default: *(volatile uint64_t *)at = *(const uint64_t *)from;
    }
}
static void *flip(void *given) {
    struct flipper *f = given;
    uint64_t r = 88172645463325252ull;
    while (!f->stop) {
        r ^= r << 13; r ^= r >> 7; r ^= r << 17;
        long from = r % f->count, n = (r >> 60) ? 1 : f->count - from;
        for (long k = from; k < from + n; k++) put(f->at + k * f->width, f->bad + (r >> 32) % f->bads * f->width, f->width);
        for (volatile long wait = (r >> 20) % 1024; wait > 0; wait--);
        for (long k = from; k < from + n; k++) put(f->at + k * f->width, f->good + k * f->width, f->width);
        for (volatile long wait = (r >> 40) % 1024; wait > 0; wait--);
    }
    return 0;
}
struct flipper *begin(char *at, const char *good, const char *bad, long count, long width, long bads) {
    struct flipper *f = malloc(sizeof *f);
    *f = (struct flipper){at, good, bad, count, width, bads, 0};
    pthread_create(&f->thread, 0, flip, f);
    return f;
}
void end(struct flipper *f) { f->stop = 1; pthread_join(f->thread, 0); free(f); }
"""


def native_flipper() -> ctypes.CDLL | None:
    """The flipper in C; None where there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "flipper.c"), Path(folder, "flipper.so")
        source.write_text(FLIPPER)
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-pthread", "-o", library, source], check=True)
        lib = ctypes.CDLL(str(library))
    lib.begin.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 3
    lib.begin.restype = ctypes.c_void_p
    lib.end.argtypes = [ctypes.c_void_p]
    return lib


@contextmanager
def flipping(native: ctypes.CDLL | None, index: Array, bad: Array) -> Iterator[None]:
    """Elements of an index change to bad values and back meanwhile; afterwards it is as it was."""
    good = index.copy()
    if native is None:
        stop = threading.Event()

        def flip() -> None:
            while not stop.is_set():
                k = random.randrange(index.size)
                index.reshape(-1)[k] = random.choice(bad)
                index.reshape(-1)[k] = good.reshape(-1)[k]

        thread = threading.Thread(target=flip)
        thread.start()
        yield
        stop.set()
        thread.join()
    else:
        flipper = native.begin(
            index.ctypes.data, good.ctypes.data, bad.ctypes.data, index.size, index.itemsize, bad.size
        )
        yield
        native.end(flipper)
    index[...] = good


# -- what is computed -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A graph whose indices change.

    Attributes:
        graph: (builder, input's name, shape and dtype -> value, options of a gather or scatter) -> output.
        indices: the inputs that change, and how many of their values, from 0 on, are valid.
        sizes: of symbolic extents.
        in_place: the input that is also the output.
        threads: that a parallel loop is to use.
        rule: on llvm, what is to carry it out, where that depends on the machine.
        ordered: whether indices are in order, until they change.
        deterministic: as for :func:`gscompile.build`.
    """

    graph: Callable[[gs.Builder, Callable[..., gs.Value], dict[str, Any]], gs.Value]
    indices: dict[str, int]
    sizes: dict[str, int] = field(default_factory=dict)
    in_place: str | None = None
    threads: int = 3
    rule: str = ""
    ordered: bool = False
    deterministic: bool = False


def put(
    shape: Sequence[Any], points: Any, dtype: str = "float32", **more: Any
) -> Callable[[gs.Builder, Callable[..., gs.Value], dict[str, Any]], gs.Value]:
    """Rows put into rows, and added unless ``more`` says otherwise."""

    def graph(b: gs.Builder, given: Callable[..., gs.Value], o: dict[str, Any]) -> gs.Value:
        x, i, v = given("x", shape, dtype), given("i", (points,), "int64"), given("v", (points, *shape[1:]), dtype)
        return b.put(x, i, v, **{"reduction": "add"} | more, **o)

    return graph


def scatter(shape: Sequence[Any], points: Any, **more: Any) -> Callable[..., gs.Value]:
    def graph(b: gs.Builder, given: Callable[..., gs.Value], o: dict[str, Any]) -> gs.Value:
        i, v = given("i", (points, shape[1]), "int64"), given("v", (points, shape[1]), "float32")
        return b.scatter(given("x", shape, "float32"), i, v, 0, **more, **o)

    return graph


def messages(b: gs.Builder, given: Callable[..., gs.Value], o: dict[str, Any]) -> gs.Value:
    h, src, dst = given("h", (90, 8), "float32"), given("src", ("k",), "int32"), given("dst", ("k",), "int32")
    w, x = given("w", ("k", 1), "float32"), given("x", (80, 8), "float32")
    return b.put(x, dst, b.take(h, src, **o) * w, reduction="add", **o)


def bags(b: gs.Builder, given: Callable[..., gs.Value], o: dict[str, Any]) -> gs.Value:
    x, i = given("x", (70_000, 16), "float32"), given("i", (3000,), "int64")
    return b.segment_reduce(b.take(x, i, **o), given("offsets", (301,), "int64"), "mean")


CASES = {
    "elements": Case(
        lambda b, given, o: b.take(given("x", ("n",), "float32"), given("i", ("k",), "int64"), **o) * 2,
        {"i": 100},
        {"n": 100, "k": 640},
    ),
    "of 8 bits": Case(
        lambda b, given, o: b.take(given("x", (100,), "float32"), given("i", (6400,), "int8"), **o) * 2, {"i": 100}
    ),
    "rows": Case(
        lambda b, given, o: b.take(given("x", (50, 64), "float32"), given("i", (700,), "int32"), **o), {"i": 50}
    ),
    "rows of any number": Case(
        lambda b, given, o: b.take(given("x", ("n", "w"), "uint8"), given("i", ("k",), "uint64"), **o),
        {"i": 50},
        {"n": 50, "w": 33, "k": 700},
    ),
    "computed of rows of any width": Case(
        lambda b, given, o: b.take(given("x", ("n", "w"), "float32"), given("i", ("k",), "int64"), **o) * 2 + 1,
        {"i": 50},
        {"n": 50, "w": 37, "k": 700},
    ),
    "picked from short rows": Case(
        lambda b, given, o: b.gather(given("x", (200_000, 47), "float32"), given("i", (200_000, 5), "int64"), 1, **o),
        {"i": 47},
    ),
    "picked from rows": Case(
        lambda b, given, o: b.gather(given("x", (200, 256), "float32"), given("i", (200, 40), "int64"), 1, **o),
        {"i": 256},
    ),
    "picked from rows of any width": Case(
        lambda b, given, o: b.gather(given("x", ("n", "w"), "float32"), given("i", ("n", "k"), "int64"), 1, **o),
        {"i": 50},
        {"n": 200, "w": 50, "k": 42},
    ),
    "picked from columns": Case(
        lambda b, given, o: b.gather(given("x", (2000, 80), "float32"), given("i", (2000, 80), "int64"), 0, **o),
        {"i": 2000},
        rule="packed-columns",
    ),
    "an index computed": Case(
        lambda b, given, o: b.take(given("x", (99,), "float32"), b.cast(given("i", (900,), "int32"), "int64") + 1, **o),
        {"i": 98},
    ),
    "an index twice": Case(
        lambda b, given, o: (
            b.take(given("x", (90, 8), "float32"), b.take(i := given("i", ("k",), "int64"), i, **o), **o)
            + b.take(given("y", (80, 8), "float32"), i, **o)
        ),
        {"i": 80},
        {"k": 80},
    ),
    "under a condition on the index": Case(
        lambda b, given, o: b.where(
            (i := given("i", (900,), "int64")) < 99, b.take(given("x", (99,), "float32"), i, **o), -1.0
        ),
        {"i": 99},
    ),
    "cells": Case(
        lambda b, given, o: b.gather_nd(given("x", (30, 40), "float64"), given("i", (900, 2), "int32"), **o) * 2,
        {"i": 30},
    ),
    "slices": Case(
        lambda b, given, o: b.gather_map(
            given("x", (30, 40), "float32"), given("i", (900, 2), "int64"), slices_of(3, 2), **o
        ),
        {"i": 27},
    ),
    "a sum of rows": Case(
        lambda b, given, o: b.sum(b.take(given("x", (90_000, 32), "float32"), given("i", (64, 30), "int64"), **o), 1),
        {"i": 90_000},
    ),
    "sums along rows": Case(
        lambda b, given, o: b.sum(b.gather(given("x", (60, 50), "float32"), given("i", (60, 70), "int64"), 1, **o), 1),
        {"i": 50},
    ),
    "a sum of rows by parts": Case(
        lambda b, given, o: b.sum(b.take(given("x", (90_000, 32), "float32"), given("i", (64, 99), "int64"), **o), 1),
        {"i": 90_000},
        deterministic=True,
    ),
    "sums along rows by parts": Case(
        lambda b, given, o: b.sum(b.gather(given("x", (60, 50), "float32"), given("i", (60, 99), "int64"), 1, **o), 1),
        {"i": 50},
        deterministic=True,
    ),
    "bags": Case(bags, {"i": 70_000, "offsets": 3001}),
    "running sums": Case(
        lambda b, given, o: b.cumsum(b.take(given("x", (90, 4), "float32"), given("i", (500,), "int64"), **o)),
        {"i": 90},
    ),
    "running products of pairs": Case(
        lambda b, given, o: b.cumprod(b.take(given("x", (90, 4), "complex64"), given("i", (500,), "int64"), **o)),
        {"i": 90},
    ),
    "rows added": Case(put((50, 16), 5000), {"i": 50}),
    "rows added by one thread": Case(put((50, 3), 5000), {"i": 50}, threads=1),
    "rows of any number added by one": Case(put(("n", 3), "k"), {"i": 50}, {"n": 50, "k": 5000}, threads=1),
    "rows at index vectors": Case(
        lambda b, given, o: b.scatter_nd(
            given("x", ("n", 40, 2), "float16"),
            given("i", ("k", 2), "int64"),
            given("v", ("k", 2), "float16"),
            reduction="add",
            **o,
        ),
        {"i": 30},
        {"n": 30, "k": 5000},
    ),
    "rows added in place": Case(put(("n", 16), "k"), {"i": 50}, {"n": 50, "k": 5000}, "x"),
    "rows updated": Case(put((50, 3), 700, reduction="update"), {"i": 50}),
    "rows among many threads": Case(
        put((20_000, 3), PARALLEL_POINTS + 99, deterministic=True), {"i": 20_000}, threads=40
    ),
    "elements into few cells": Case(put((64,), PARALLEL_POINTS), {"i": 64}),
    "elements of a near table": Case(put((500,), 3000), {"i": 500}, threads=1),
    "elements along the last axis": Case(
        lambda b, given, o: b.scatter(
            given("x", (9, 50), "float32"),
            given("i", (9, 700), "int64"),
            given("v", (9, 700), "float32"),
            dim=1,
            reduction="add",
            **o,
        ),
        {"i": 50},
    ),
    "means": Case(put((50, 4), 700, reduction="mean", include_self=False), {"i": 50}),
    "long columns": Case(scatter((50, 3), PARALLEL_POINTS // 3 + 1, reduction="add"), {"i": 50}),
    "short columns": Case(scatter((50, 8), 200, reduction="max"), {"i": 50}),
    "products": Case(scatter((50, 8), 200, reduction="mul", deterministic=True), {"i": 50}),
    "a promise of order": Case(put((50, 4), 700, sorted=True), {"i": 50}, ordered=True),
    "a promise of no duplicates": Case(put((5000, 4), 50, reduction="add", unique=True), {"i": 5000}),
    "messages": Case(messages, {"src": 90, "dst": 80}, {"k": 3000}),
    "messages in place": Case(messages, {"src": 90, "dst": 80}, {"k": 3000}, "x"),
}


def wild(dtype: np.dtype[Any], valid: int) -> Array:
    """Values that are good for nothing: just outside, and as far away as can be."""
    info = np.iinfo(dtype)
    values = [valid + 60, -valid - 60, info.min, info.max, 1 << 31, 1 << 36, -(1 << 40), 1 << 61, (1 << 62) + 5]
    return np.array([v for v in values if info.min <= v <= info.max], dtype)


def arrays(case: Case, module: Any, fence: Fence) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    made = {}
    for v in module.inputs:
        shape = tuple(case.sizes[str(d)] if not isinstance(d, int) else d for d in v.shape)
        values: Any = rng.integers(0, case.indices.get(v.name, 9), shape)
        made[v.name] = fence.copy(
            (np.sort(values) if case.ordered or v.name == "offsets" else values).astype(v.dtype.name)
        )
    return made


def race(say: Say, target: str, bounds: str, names: Sequence[str], seconds: float) -> None:
    """Calls of each graph for some time while its indices change; afterwards, they give what they gave before."""
    native = native_flipper()
    rules = set()
    for n, name in enumerate(names):
        say(f"{name}, {bounds}: compiling")
        case = CASES[name]
        gs.set_num_threads(case.threads)
        b = gs.Builder("race")
        y = case.graph(b, b.input, {"bounds": bounds})
        b.output(y)
        if case.rule and target == "llvm":
            module = b.build(choices={y.name: {"rule": case.rule}})
        else:
            module = build(b, MANY_CORES if target == "llvm" and case.threads > 6 else target, case.deterministic)
        rules |= {rule for _, rule in module.stats.kernels}
        fence = Fence(n % 2 == 0, 16)
        given = arrays(case, module, fence)
        original = {k: x.copy() for k, x in given.items()}
        shape = tuple(case.sizes[str(d)] if not isinstance(d, int) else d for d in module.outputs[0].shape)
        out = fence.array(shape, module.outputs[0].dtype.name)
        say(f"{name}, {bounds}: {module.stats.kernels}")
        inputs = list(given.values())
        before = module(*inputs, out=out).copy()
        for changing in [*([k] for k in case.indices), list(case.indices)]:
            with ExitStack() as stack:
                for k in changing:
                    stack.enter_context(flipping(native, given[k], wild(given[k].dtype, case.indices[k])))
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    try:
                        module(*inputs, out=given[case.in_place] if case.in_place else out)
                    except gs.BoundsError:
                        assert bounds == "raise" or "offsets" in changing
            if len(case.indices) == 1:
                break
        for k, x in original.items():
            assert k == case.in_place or np.array_equal(given[k], x), "an input has changed"
            given[k][...] = x
        assert np.array_equal(module(*inputs, out=out), before)
        fence.check()
    say(" ".join(sorted(rules)))


COOPERATIVE = {
    "bags",
    "fold-rows",
    "listed",
    "privatised",
    "segments",
    "sorted-elements",
}  # threads that wait for each other: run by tests/cuda, which copies indices before a kernel
SHORT = {  # what was a segmentation fault within a second, and what sorts
    "llvm": [
        "elements",
        "of 8 bits",
        "under a condition on the index",
        "bags",
        "rows among many threads",
        "short columns",
    ],
    "cuda": ["elements", "bags", "rows updated"],
}


@pytest.mark.parametrize("target", TARGETS)
def test_an_index_that_changes_leads_nowhere_else(target: str) -> None:
    end = in_child(race, target, "raise", SHORT[target], 0.1)
    assert end.code == 0, str(end)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("target", TARGETS)
def test_all_of_them(target: str, bounds: str, thorough: bool) -> None:
    """``raise``, on graphs that together take every rule that can be run here, and one other policy on each of them.

    With ``--thorough`` every policy but ``trust`` on every graph.
    """
    some = list(CASES)[BOUNDS.index(bounds) - 1 :: 3]
    end = in_child(race, target, bounds, list(CASES) if thorough or bounds == "raise" else some, 0.1)
    assert end.code == 0, str(end)
    known = {r.name for r in (llvm if target == "llvm" else cuda).RULES}
    assert bounds != "raise" or known - {"check", *COOPERATIVE} - set(end.said.split()) == set()


def test_a_bad_index_that_is_gone() -> None:
    """The record says that some index was bad, and not which; or names one that is good."""
    b = gs.Builder("gone")
    b.output(b.take(b.input("x", (4,), "float32"), b.input("i", (3,), "int64")) * 2)
    m = b.build()
    nothing = [1, status.NOWHERE, 0]
    assert len(nothing) == status.length(1)
    error = m._bounds_error(nothing, {})
    assert isinstance(error, gs.BoundsError) and "gone: an index was out of range while the call ran" in str(error)
    error = m._bounds_error([1, 2, -4], {})
    assert isinstance(error, gs.BoundsError) and "an index of i was out of range while the call ran" in str(error)
    assert (error.tensor, error.value, error.valid) == ("i", None, None)
    assert m._bounds_error([1, 2, -5], {}).value == -5
