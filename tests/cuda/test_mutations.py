"""Defects in the kernels of compiled graphs are noticed: an atomic made plain, a barrier or a shuffle left out, a block that does
not run, a stretch of sorted points that begins or ends one too early."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.cuda import Mutation, Text, cpu_compiler, device, mutations, of_warps, on_cpu
from tests.cuda.counters import counted

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

N, K, F = 251, 450, 8
SECONDS = 5  # a kernel that takes longer waits for what never comes
SEGMENTED = 5300  # two steps find the end of the last segment, and blocks share it
RUNS = 2600
SCANNED = 512 * 1100 + 3  # more parts than the block has threads
LISTED = 9000  # more than a block looks at at once
LONG = 1281  # the last one is alone in its stretch of 128


def scatter(b: gs.Builder, dtype: str, reduction: Any) -> gs.Value:
    x, i, v = b.input("x", (N, F), dtype), b.input("i", ("k",), "int64"), b.input("v", ("k", F), dtype)
    return b.put(x, i, v, reduction=reduction)


def histogram(b: gs.Builder) -> gs.Value:
    i, v = b.input("i", ("k",), "int64"), b.input("v", ("k",), "int32")
    return b.put(b.zeros((N // 4,), "int32"), i, v, reduction="add", bounds="fill")


def update(b: gs.Builder) -> gs.Value:
    return scatter(b, "int32", "update")


def total(b: gs.Builder) -> gs.Value:
    return b.sum(b.input("x", ("n", 64), "float32"))


def rows(b: gs.Builder) -> gs.Value:
    return b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("k",), "int64"))


def sorted_elements(b: gs.Builder) -> gs.Value:
    x, i, v = b.input("x", ("n",), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k",), "float32")
    return b.put(x, i, v, reduction="add", bounds="fill", sorted=True)


def sorted_rows(b: gs.Builder) -> gs.Value:
    x, i, v = b.input("x", ("n", F), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", F), "float32")
    return b.put(x, i, v, reduction="add", sorted=True)


def segments(b: gs.Builder) -> gs.Value:
    """What is left of the points of segments without their mean: many short ones, two that a block takes whole, another of which
    it looks for the end, and one that blocks share."""
    x, i = b.input("x", (SEGMENTED, F), "float32"), b.input("i", (SEGMENTED,), "int64")
    return x - b.take(b.put(b.zeros((N, F)), i, x, reduction="mean", sorted=True), i)


def runs(b: gs.Builder) -> gs.Value:
    """The same, of runs that offsets give."""
    x, o = b.input("x", (SEGMENTED, F), "float32"), b.input("o", (N + 1,), "int64")
    return x - b.segment_expand(b.segment_reduce(x, o, "mean"), o, SEGMENTED)


def long_runs(b: gs.Builder) -> gs.Value:
    """Sums of runs, of which blocks share eight."""
    return b.segment_reduce(b.input("x", (RUNS, 3), "float32"), b.input("o", (N + 1,), "int64"))


def listed(b: gs.Builder) -> gs.Value:
    """Sums in order, of two long lists and many short ones, for which several blocks take places."""
    x, i, v = b.input("x", (9 * N, F), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", F), "float32")
    return b.put(x, i, v, reduction="add", deterministic=True)


def scan(b: gs.Builder) -> gs.Value:
    """Of one long row, for which a block adds up."""
    return b.cumsum(b.input("x", (SCANNED,), "int32"), 0, exclusive=True)


def bags(b: gs.Builder) -> gs.Value:
    return b.sum(b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("c", 50), "int64")), 1)


# what stretches of sorted points depend on, once for each of them
SORTED = [
    ("ended_ptr[0] = (uint)0;", "ended_ptr[0] = (uint)4294967295;"),  # the first run is the warp's alone
    ("run_ptr[1] = (int64_t)0;", "run_ptr[1] = (int64_t)1;"),  # or the thread's
    ("(k + (int64_t)127)", "(k + (int64_t)126)"),
    ("lane < 1 && !mine", "lane < 2 && !mine"),
    ("step < 32;", "step < 16;"),
    ("* (int64_t)16)", "* (int64_t)15)"),
    ("(int64_t)31) == (int64_t)31)", "(int64_t)31) == (int64_t)30)"),
]

# barriers, at @, whose lack shows on a GPU alone, by graph
WAITS = r"__threadfence\(\);\s*}\s*@__syncthreads\(\);\s*}\s*$"
LOOKS = r"@__syncthreads\(\);\s*gs_turn\(.*, 1, 1, "
UNSEEN = {
    # blocks run one after the other here, so that what others have done is seen where a ticket is taken, before the wait
    "segments": [WAITS],
    # and what the lanes of the first warp have stored is seen with what its first lane says; there are no marks for another warp
    "runs": [WAITS, LOOKS],
}


def place(m: Mutation) -> str:
    """What is around a change."""
    at = next(k for k, (a, b) in enumerate(zip(m.old, m.new, strict=False)) if a != b)
    return f"{m.old[max(at - 60, 0) : at]}@{m.old[at : at + 120]}"


GRAPHS: dict[str, Callable[[gs.Builder], gs.Value]] = {
    "add_float32": lambda b: scatter(b, "float32", "add"),
    "add_int64": lambda b: scatter(b, "int64", "add"),
    "max_int32": lambda b: scatter(b, "int32", "max"),
    "max_float32": lambda b: scatter(b, "float32", "max"),
    "histogram": histogram,
    "update": update,
    "total": total,
    "rows": rows,
    "sorted_elements": sorted_elements,
    "sorted_rows": sorted_rows,
    "segments": segments,
    "runs": runs,
    "long_runs": long_runs,
    "listed": listed,
    "scan": scan,
    "bags": bags,
}


def arrays(name: str, inputs: Any) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    sizes = {"k": {"sorted_elements": LONG, "listed": LISTED}.get(name, K), "n": N, "c": 5}
    found = {}
    for a in inputs:
        shape = [sizes.get(str(n), n) for n in a.type.shape]
        found[a.name] = rng.integers(0, N, [int(n) for n in shape]).astype(a.type.dtype.name)
    if name == "max_float32":  # both ways of telling which is larger
        found["x"], found["v"] = (a - N // 2 for a in (found["x"], found["v"]))
        found["x"][: N // 2] = -N
    if name.startswith("sorted"):
        found["i"][K // 3 : K] = found["i"][0]  # many in one cell
        found["i"].sort()
    lengths = np.r_[np.full(N - 4, 2), 150, 604, 1350, SEGMENTED - 2 * (N - 4) - 2104]
    if name == "segments":
        found["i"] = np.repeat(np.arange(N), lengths)
    if name == "runs":
        found["o"] = np.r_[0, np.cumsum(lengths)]
    if name == "long_runs":
        # more pieces than blocks that take them: six runs are shorter than a piece
        found["o"] = np.r_[0, np.cumsum([1100, *[100] * 6, *[1] * (N - 8)]), RUNS]
    if name == "listed":
        found["i"] = rng.integers(0, 9 * N, LISTED)
        found["i"][rng.random(LISTED) < 0.6] = 7
        found["i"][rng.random(LISTED) < 0.3] = 9
    if name == "sorted_elements":
        found["i"][:-1][rng.random(LONG - 1) < 0.2] = N  # dropped
        found["v"][-1] = 1
    return found


def builder(name: str) -> gs.Builder:
    b = gs.Builder(name)
    b.output(GRAPHS[name](b))
    return b


def apart(is_right: Callable[[], bool]) -> bool:
    """``is_right()`` in a fork: with a defect a kernel may end the process, or wait for what never comes."""
    child = os.fork()
    if not child:
        faulthandler.disable()
        signal.alarm(SECONDS)
        wrong = True
        try:
            wrong = not is_right()
        finally:
            os._exit(wrong)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_defects_are_noticed(name: str, tmp_path: Path) -> None:
    ((m, source),) = on_cpu([builder(name)], tmp_path)
    given = arrays(name, m.inputs)
    want = builder(name).build("llvm")(**given)

    def right(module: Any) -> bool:
        """With every one of a few orders."""
        try:
            for seed in range(4):
                module.seed = seed
                np.testing.assert_allclose(module(**given), want, rtol=1e-4)
        except AssertionError:  # or CudaError
            return False
        return True

    assert right(m)
    with counted() as launches:
        m(**given)
    if any(launch.blocks > 1 for launch in launches):
        with device.losing_blocks(1):
            assert not apart(lambda: right(m)), "a block was lost"
    text = Text.of(source)
    # the atomics of index checks act on bad indices only, of which there are none; of kernels for other sizes none ran
    ran = {launch.kernel for launch in launches}
    kernels = [code for f, code in text.kernels.items() if f in ran]
    called = [f for f in text.functions if "max_int64" not in f and any(f"{f}(" in code for code in kernels)]
    places = [*(text.functions[f] for f in called), *kernels]
    edits = [Mutation(new, code, code.replace(old, new)) for code in places for old, new in SORTED if old in code]
    if name not in ("sorted_elements", "sorted_rows"):
        edits = []
    found = [change for code in places for change in (*mutations(code), *of_warps(code))]
    unseen = [m for m in found if any(re.search(x, place(m)) for x in UNSEEN.get(name, []))]
    assert len(unseen) == len(UNSEEN.get(name, []))
    defects = [*(m for m in found if m not in unseen), *edits]
    folder = tmp_path / "defects"
    folder.mkdir()
    ((broken, _),) = on_cpu([builder(name)], folder, edits=defects)
    assert right(broken)
    for broken.edit, mutation in enumerate(defects, 1):
        assert not apart(lambda: right(broken)), mutation.what
