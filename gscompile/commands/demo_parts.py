"""The parts of ``gscompile demo``.

Every part compiles something, runs it, compares the result with an independent computation, prints what there is to see, and
returns whether all of it was right.  Times are printed, never judged.
"""

from __future__ import annotations

import re
import statistics
import textwrap
import time
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gscompile.build import Module
from gscompile.frontend.builder import Builder
from gscompile.runtime.threads import get_num_threads

Array: TypeAlias = npt.NDArray[Any]
WIDTH = 95


def say(text: str = "") -> None:
    """A paragraph, wrapped and indented; lines of code and tables are for :func:`show`."""
    print(textwrap.fill(text, WIDTH, initial_indent="   ", subsequent_indent="   "))


def show(text: str) -> None:
    """Lines as they are, indented."""
    print(textwrap.indent(text, "     "))


def check(what: str, ok: bool, otherwise: str) -> bool:
    """One line that says whether something holds."""
    print(f"   ok: {what}" if ok else f"   WRONG: {what}: {otherwise}")
    return ok


def check_equal(what: str, got: Array, want: Array, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """One line that says whether an array is what it should be, and where it is not."""
    if got.shape != want.shape:
        return check(what, False, f"shape {got.shape} instead of {want.shape}")
    bad = np.argwhere(~np.isclose(got, want, rtol=rtol, atol=atol))
    if not len(bad):
        return check(what, True, "")
    at = tuple(int(k) for k in bad[0])
    return check(what, False, f"{len(bad)} of {got.size} cells differ; at {list(at)} {got[at]} instead of {want[at]}")


def check_kernels(module: Module) -> bool:
    """One line that says whether a graph became one kernel."""
    kernels = module.stats.kernels
    names = ", ".join(f"{name} by rule {rule!r}" for name, rule in kernels)
    return check(f"one kernel, {names}", len(kernels) == 1, f"there are {len(kernels)}")


# -- 1: the design document

CINN_A = np.arange(12, dtype="float32").reshape(4, 3)
CINN_INDEX = np.array([[0, 1, 1], [3, 2, 0]])
CINN_PRINTED = {
    "B_1": np.array([[0, 4, 5], [9, 7, 2]], "float32"),
    "B_2": np.array([[0, 1, 1], [0, 5, 3]], "float32"),
    "B_3": np.array([[0, 0, 2], [0, 4, 5], [0, 7, 0], [9, 0, 0]], "float32"),
}


def design_document() -> bool:
    """The example of CINN's design document for gather and scatter (2022), with the numbers printed there."""
    b = Builder("cinn_example")
    a = b.input("A", (4, 3), "float32")
    index = b.input("index", (2, 3), "int64")
    b_1 = b.gather(a, index, dim=0, name="B_1")
    b_2 = b.gather(a, index, dim=1, bounds="fill", name="B_2")
    b_3 = b.scatter(b.zeros((4, 3)), index, b_1, dim=0, name="B_3")
    b.output(b_1, b_2, b_3)
    show(str(b))
    results = b.build("llvm")(CINN_A, CINN_INDEX)
    print()
    show(f"A = {printed(CINN_A, 4)}")
    show(f"index = {CINN_INDEX.tolist()}")
    ok = True
    for (name, want), got in zip(CINN_PRINTED.items(), results, strict=True):
        show(f"{name} = {printed(got, len(name) + 3)}")
        ok &= check_equal(f"{name} is what the document prints", got, want)
    say("B_2 reads index 3 on an axis of extent 3; the document prints 0 there, which is bounds='fill'.")
    return ok


def printed(array: Array, indent: int) -> str:
    """An array as the document prints it; ``indent`` is how far its first line is from the margin."""
    width = max(len(f"{x:.4f}") for x in array.flat)
    text = np.array2string(array, separator=", ", formatter={"float_kind": lambda x: f"{x:{width}.4f}"})
    return text.replace("\n", "\n" + " " * indent)


# -- 2: the karate club

INSTRUCTOR, ADMINISTRATOR = 0, 33
# who went with the instructor when the club split, as in networkx's karate_club_graph(); the others stayed
JOINED_INSTRUCTOR = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21}
ROUNDS = 30


def karate_edges() -> Array:
    """The 78 friendships of Zachary's karate club, shape (78, 2), int64."""
    text = resources.files("gscompile.commands").joinpath("data/karate_club.txt").read_text(encoding="ascii")
    return np.array([line.split() for line in text.splitlines() if not line.startswith("#")], "int64")


def mean_of_neighbours() -> Module:
    """``out[v] = mean of x[u] over the edges u -> v``, for graphs of any size."""
    b = Builder("mean_of_neighbours")
    x = b.input("x", ("n", "features"), "float32")
    src = b.input("src", ("e",), "int64")
    dst = b.input("dst", ("e",), "int64")
    b.output(b.put(b.zeros(("n", "features")), dst, b.take(x, src), reduction="mean", include_self=False, name="means"))
    return b.build("llvm")


def karate_club() -> bool:
    """Who follows whom when a club splits: message passing by means of neighbours."""
    edges = karate_edges()
    src, dst = np.concatenate([edges, edges[:, ::-1]]).T.copy()
    nodes = int(edges.max()) + 1
    say(
        f"{nodes} members of a karate club, {len(edges)} friendships, so {len(src)} directed edges; the club split over a "
        "quarrel between its instructor (member 0) and its administrator (member 33).  Both send a signal, and every "
        "member takes the mean of what its friends say: take(x, src), then put(zeros, dst, reduction='mean')."
    )
    step = mean_of_neighbours()
    ok = check_kernels(step)

    adjacency = np.zeros((nodes, nodes))
    adjacency[dst, src] = 1
    averaging = adjacency / adjacency.sum(axis=1, keepdims=True)
    one_hot = np.eye(nodes, dtype="float32")
    what = "the mean over friends of one-hot features is the normalised adjacency matrix"
    ok &= check_equal(what, step(one_hot, src, dst), averaging, rtol=1e-6)

    leaders = [INSTRUCTOR, ADMINISTRATOR]
    signal = np.zeros((nodes, 2), "float32")
    signal[leaders] = np.eye(2)
    x, want = signal, signal.astype("float64")
    for _ in range(ROUNDS):
        x, want = step(x, src, dst), averaging @ want
        x[leaders] = want[leaders] = signal[leaders]  # the two do not change their minds
    ok &= check_equal(f"after {ROUNDS} rounds as NumPy's matrix product in float64, rtol 1e-5", x, want, rtol=1e-5)

    follow = x[:, 0] > x[:, 1]
    show("member        0     1     2     8     9    31    32    33")
    for name, column in (("instructor", 0), ("administr.", 1)):
        show(f"{name} " + " ".join(f"{x[v, column]:5.2f}" for v in (0, 1, 2, 8, 9, 31, 32, 33)))
    show(f"with the instructor:    {' '.join(str(v) for v in np.flatnonzero(follow))}")
    show(f"with the administrator: {' '.join(str(v) for v in np.flatnonzero(~follow))}")
    others = [str(v) for v in range(nodes) if bool(follow[v]) != (v in JOINED_INSTRUCTOR)]
    say(
        f"Zachary saw {nodes - len(others)} of {nodes} go that way.  The other way went: {', '.join(others) or 'nobody'}."
    )
    return ok


# -- 3: a larger graph

NODES, EDGES, FEATURES = 20_000, 400_000, 64
RTOL = 1e-5


def weighted_sum() -> Builder:
    """``out[v] = sum of weight[e] * x[u] over the edges e: u -> v``; the numbers of nodes and edges are left open."""
    b = Builder("weighted_sum")
    x = b.input("x", ("n", FEATURES), "float32")
    src = b.input("src", ("e",), "int64")
    dst = b.input("dst", ("e",), "int64")
    weight = b.input("weight", ("e",), "float32")
    messages = b.take(x, src) * b.unsqueeze(weight, 1)
    b.output(b.put(b.zeros(("n", FEATURES)), dst, messages, reduction="add", name="sums"))
    return b


def random_graph() -> bool:
    """Message passing on a random graph, timed."""
    rng = np.random.default_rng(0)
    x = rng.random((NODES, FEATURES), "float32")
    src, dst = rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES)
    weight = rng.random(EDGES, "float32")
    b = weighted_sum()
    show(str(b))
    began = time.perf_counter()
    m = b.build("llvm")
    print()
    say(f"Compiled in {time.perf_counter() - began:.1f} s for any number n of nodes and e of edges.")
    ok = check_kernels(m)
    scratch = m.stats.workspace_bytes
    ok &= check(f"scratch memory: {scratch} bytes; the messages are never stored", scratch == 0, "0 was expected")

    out = np.empty_like(x)
    m(x, src, dst, weight, out=out)
    want = np.stack([np.bincount(dst, x[src, f].astype("float64") * weight, NODES) for f in range(FEATURES)], axis=1)
    what = f"{NODES:,} nodes, {EDGES:,} edges, {FEATURES} features: NumPy's float64 sums, rtol {RTOL:g}"
    ok &= check_equal(what, out, want, rtol=RTOL)

    other = np.empty_like(x)

    def add_at() -> None:
        other[:] = 0
        np.add.at(other, dst, x[src] * weight[:, None])

    def bincounts() -> None:
        columns, sums = np.ascontiguousarray(x.T), np.empty((FEATURES, NODES), "float32")
        for f in range(FEATURES):
            sums[f] = np.bincount(dst, columns[f].take(src) * weight, NODES)
        other[:] = sums.T

    threads = get_num_threads()
    ours = milliseconds(lambda: m(x, src, dst, weight, out=out), 9)
    print()
    show(f"{f'gscompile, {threads} thread' + 's' * (threads > 1):<40}{ours:7.1f} ms, median of 9 calls")
    for name, call in (("NumPy, np.add.at", add_at), ("NumPy, np.bincount feature by feature", bincounts)):
        theirs = milliseconds(call, 3)
        ok &= bool(np.allclose(other, want, rtol=RTOL, atol=0)) or check(name, False, "the baseline itself is wrong")
        show(f"{name:<40}{theirs:7.1f} ms, median of 3 calls: {theirs / ours:.0f} times as long")
    print()
    say(
        "Each call does everything from unsorted edges to sums in a given array: gathering, weighting, zeroing, adding; "
        "gscompile also checks every index.  NumPy runs on one thread; np.add.at is what one would write first, and stores "
        f"{EDGES * FEATURES * 4 // 10**6} MB of messages in between; the other is the fastest of several ways tried."
    )
    return ok


def milliseconds(call: Callable[[], Any], rounds: int) -> float:
    """Median time of a call."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


# -- 4: the same for a GPU

CUDA_LINES = 40
GLUE = "\N{NO-BREAK SPACE}"  # where a folded line must not break


def cuda_kernel() -> bool:
    """The same graph compiled for a GPU, which need not be here."""
    m = weighted_sum().build({"kind": "cuda", "arch": "sm_90"})
    kernels = cuda_functions(m.source("cuda"))
    needed = [r"\bx_ptr\b", r"\bweight_ptr\b", r"\bsrc_ptr\b", r"\bdst_ptr\b", r"\bout0_\w*ptr\b"]
    fused = [k for k in kernels if all(re.search(p, k.partition("{")[2]) for p in needed)]
    say(
        f"The graph of part 3 for an H100 (sm_90), made without a GPU: {len(kernels)} kernels with those that check the "
        "indices and clear the result.  The one that gathers, multiplies and scatters, its casts to int64_t left out:"
    )
    print()
    show(excerpt(fused[-1] if fused else "(none)"))
    print()
    ok = check("one kernel takes a message from x to the sums", len(fused) == 1, f"{len(fused)} kernels do")
    scratch = m.stats.workspace_bytes
    return check(f"scratch memory: {scratch} bytes", scratch == 0, "0 was expected") and ok


def cuda_functions(source: str) -> Sequence[str]:
    """The kernels in CUDA code, declarations and helpers left out."""
    return re.findall(r'^extern "C" __global__ void [^;{]*\{\n.*?^\}', source, re.MULTILINE | re.DOTALL)


def excerpt(code: str) -> str:
    """Code for reading: without casts to int64_t, long lines folded, the end cut off."""
    code = re.sub(r"\((\w+\.\w)\)", r"\1", code.replace("(int64_t)", ""))
    lines: list[str] = []
    for line in code.replace("* __restrict__ ", f"*{GLUE}__restrict__{GLUE}").splitlines():
        indent = line[: len(line) - len(line.lstrip())] + "    "
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    rest = len(lines) - CUDA_LINES
    shown = lines if rest <= 0 else [*lines[:CUDA_LINES], f"... ({rest} more lines)"]
    return "\n".join(shown).replace(GLUE, " ")


PARTS: tuple[tuple[str, Callable[[], bool]], ...] = (
    ("The example of CINN's design document", design_document),
    ("A message-passing step: Zachary's karate club", karate_club),
    ("The same on a larger graph, with weights", random_graph),
    ("The generated CUDA kernel", cuda_kernel),
)
