"""Choices by estimated time: what is known when a graph is compiled, what a call decides, and how it is explained."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir import tir as T
from gscompile.ir.coords import Sizes
from gscompile.ir.dims import Dim, SymDim, dim_max, dim_min, evaluate, product
from gscompile.schedules.decisions import THREADS, Decision, first_of, in_code
from gscompile.schedules.llvm import costs
from gscompile.schedules.llvm.fitted import TIMES
from gscompile.schedules.llvm.numbers import SERIAL_WORK
from gscompile.schedules.rule import Context

N = SymDim.var("n")
SIZES = Sizes.of(["n"])
FACTS = {"points": 7}


def least(estimates: dict[str, object], way: str, counts: tuple[int, ...] = (1, 2, 4)) -> object:
    decision = Decision("nest", FACTS, estimates)  # type: ignore[arg-type]
    return decision.least(way, SIZES, T.var("threads"), counts)


def test_known_sizes_leave_one_way() -> None:
    assert [least({"a": 3, "b": 2, "c": 2}, way) for way in "abcd"] == [False, True, False, False]


def test_the_number_of_threads_matters_only_where_it_changes_the_choice() -> None:
    by_threads = {"alone": 100, "shared": 300 // THREADS}
    assert least(by_threads, "alone", (1, 2)) is True  # 100 against 300 and 150
    assert least(by_threads, "alone", (4, 8)) is False
    assert not isinstance(least(by_threads, "alone", (2, 4)), bool)
    assert not isinstance(least({"a": N, "b": 5}, "a"), bool)


def test_sizes_that_a_call_brings_choose_at_the_call() -> None:
    decision = Decision("nest", FACTS, {"a": N * 10, "b": 40 + N})
    assert [decision.at({"n": n}) for n in (1, 4, 5, 9)] == ["a", "a", "b", "b"]
    assert decision.text({}, 2).endswith("chosen at each call: a, b")
    assert decision.text({"n": 9}, 2).endswith("least: b")


def test_estimates_in_code_are_the_numbers_that_they_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(T, "hidden", lambda x: x)  # so that TVM's simplifier evaluates them
    rng, m = random.Random(5), SymDim.var("m")
    for _ in range(60):
        atoms = [N, m, THREADS, N * m // 64, dim_min(N // 7, 1), dim_max(m, 3 * N), 8 * N // THREADS]
        total: Dim = 0
        for _ in range(rng.randrange(1, 9)):
            total = total + rng.randrange(1, 99) * product(rng.choices(atoms, k=rng.randrange(3)))
        given = {"n": rng.randrange(300), "m": rng.randrange(1, 50), "(threads)": rng.randrange(1, 9)}
        sizes = Sizes({n: T.const(given[n]) for n in ("n", "m")})
        found = in_code(total, sizes, T.const(given["(threads)"]))
        assert T.constant_value(T.simplify(found)) == evaluate(total, given), total


def test_estimates_in_code_multiply_once_what_terms_share() -> None:
    long = sum((k * N * N * dim_min(N // k, 1) for k in range(2, 12)), start=SymDim.var("n"))
    products = str(in_code(long, SIZES, T.var("threads"))).count("*")
    assert products < 15  # 29 as a sum of products


def test_of_ways_that_never_apply_no_code_is_made() -> None:
    def never() -> T.Stmt:
        raise AssertionError

    stmt = T.nothing()
    assert first_of([(False, never), (True, lambda: stmt), (True, never)]) is stmt


@pytest.mark.parametrize("way", [w for w in TIMES if w != "launch"])
def test_fitted_numbers_are_complete(way: str) -> None:
    """And not negative; a table that is larger does not make a point cheaper."""
    assert len(TIMES[way]["waits"]) == len(costs.levels(costs.REFERENCE))
    if not way.startswith("copied"):
        assert len(TIMES[way]["source waits"]) == len(costs.source_levels(costs.REFERENCE))
    numbers = [n for x in TIMES[way].values() for n in (x if isinstance(x, list) else [x])]
    assert all(isinstance(n, int) and n >= 0 for n in numbers)


def scatter(n: object, m: object, width: int = 4, dtype: str = "float32") -> gs.Module:
    b = gs.Builder("rows")
    x, i, src = b.input("x", (n, width), dtype), b.input("i", (m,), "int64"), b.input("src", (m, width), dtype)
    b.output(b.put(x, i, src, reduction="add"))
    return b.build("llvm")


def test_explain() -> None:
    text = scatter(50, 900).explain()
    assert text.startswith("rows for llvm")
    assert "points 900, row bytes 16, table bytes 800, dtype float32, reduction add" in text
    assert "estimated: index scan" in text and "least: " in text


@pytest.mark.parametrize(
    ("deep", "wide", "rows", "way"),
    [(1024, 4096, 1024, "packed"), (1024, 64, 16, "in place"), (5, 40_277, 47, "in place")],
)
def test_explain_packed_columns(deep: int, wide: int, rows: int, way: str) -> None:
    """Elements of many columns that are far apart, few of a table that a cache holds, and of rows that are few lines."""
    for n in (deep, "n"):
        b = gs.Builder("columns")
        b.output(b.gather(b.input("x", (n, wide), "float32"), b.input("i", (rows, wide), "int64"), 0))
        text = b.build("llvm").explain(**({} if n == deep else {"n": deep}))
        assert ("least: " + way in text) or (way == "in place" and "packed-columns" not in text)


@pytest.mark.parametrize(
    ("rows", "cpu", "way"), [(10, "znver3", "in place"), (40, "znver3", "packed"), (10, "znver4", "packed")]
)
def test_explain_packed_columns_of_slabs(rows: int, cpu: str, way: str) -> None:
    """Few elements of a slab that a cache holds; where AVX-512 gathers them slabs were not measured."""
    b = gs.Builder("slabs")
    b.output(b.gather(b.input("x", (16185, 40, 37), "int8"), b.input("i", (16185, rows, 37), "int64"), 1))
    assert f"least: {way}" in b.build({"kind": "llvm", "mcpu": cpu}).explain()


@pytest.mark.parametrize(("dtype", "way"), [("float32", "one thread"), ("float16", "slabs"), ("bfloat16", "slabs")])
def test_explain_slabs(dtype: str, way: str) -> None:
    """What is combined has more to share out where it is also converted and rounded."""
    b = gs.Builder("slabs")
    base, src = b.input("x", (131, 16, 28), dtype), b.input("s", (153, 16, 28), dtype)
    b.output(b.scatter(base, b.input("i", (153, 16, 28), "int64"), src, 0, reduction="max"))
    assert f"least: {way}" in b.build({"kind": "llvm", "mcpu": "znver3", "num-cores": 2}).explain()


def test_explain_symbolic_sizes() -> None:
    m = scatter("n", "m")
    assert "chosen at each call" in m.explain() and "least: " not in m.explain()
    few, many = m.explain(n=10, m=10**6), m.explain(n=10**6, m=10)
    assert "table bytes 160," in few and "table bytes 16,000,000," in many and "least: chunked" in few
    assert m.explain(n=np.int64(10), m=10**6) == few  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", [{"q": 1}, {"n": -1}, {"n": 1.5}, {"n": True}, {"n": "7"}])
def test_explain_refuses_what_is_no_size(sizes: dict[str, int]) -> None:
    with pytest.raises(gs.ArgumentError, match="explain: "):
        scatter("n", "m").explain(**sizes)


def test_sizes_that_cannot_be_multiplied_take_one_way() -> None:
    """No estimate of such sizes fits int64; they build all the same."""
    assert scatter(1 << 36, "m", 1 << 20).stats.kernels == (("put_3", "owned-rows"),)


@pytest.mark.parametrize(("rows", "points"), [(1 << 50, 1 << 55), (1 << 20, 1 << 56), (1 << 40, 1 << 50)])
def test_estimates_past_int64(rows: int, points: int) -> None:
    """Fixed sizes whose picoseconds no int64 holds, and a choice that the number of threads makes."""
    b = gs.Builder("huge")
    x, i = b.input("x", (rows,), "int8"), b.input("i", (points,), "int8")
    b.output(b.put(x, i, b.input("src", (points,), "int8"), reduction="sub"))
    for target in ("llvm", {"kind": "llvm", "num-cores": 64}):
        assert b.build(target).stats.kernels == (("put_3", "owned-rows"),)


@pytest.mark.parametrize(("n", "least"), [(3, "one thread"), (10**6, "all threads")])
def test_sharing_is_explained(n: int, least: str) -> None:
    b = gs.Builder("plain")
    b.output(b.input("x", (n,), "float32") + 1)
    head, facts, estimated, chosen, numbers = b.build("llvm").explain().splitlines()[1:]
    assert numbers == f"  numbers: grain {SERIAL_WORK}"
    assert (head, facts[:13]) == ("add_2: rows", "  operations ")
    assert "one thread" in estimated and "all threads" in estimated
    assert gs.get_num_threads() == 1 or chosen == f"    least: {least}"


@pytest.mark.parametrize("work", [0, SERIAL_WORK - 1, SERIAL_WORK + 1, 10**9])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_the_estimates_of_sharing_say_what_is_done(work: int, threads: int) -> None:
    ctx = Context(costs.REFERENCE, SIZES, T.var("threads"), None, lambda *_: T.buffer("none", [1], "int8", align=1))
    assert costs.shared(ctx, work, "nest") is (work > SERIAL_WORK)
    [decision] = ctx.decisions["nest"]
    assert (decision.at({"(threads)": threads}) == "all threads") is (work > SERIAL_WORK)


@pytest.mark.parametrize(("width", "way"), [(2, "copied cells"), (12, "copied rows")])
def test_copies_of_short_rows_are_explained(width: int, way: str) -> None:
    b = gs.Builder("short")
    b.output(b.take(b.input("x", (900, width), "int8"), b.input("i", ("n",), "int64"), dim=0))
    m = b.build("llvm")
    assert f"least: {way}" in m.explain(n=10**5)
    assert m.stats.kernels[0][1] == ("copies" if way == "copied rows" else "rows")


@pytest.mark.parametrize(
    ("cpu", "way"), [("znver4", "copied rows"), ("skylake-avx512", "copied cells"), ("znver3", "copied cells")]
)
def test_rows_of_two_floats_are_gathered_where_that_is_fast(cpu: str, way: str) -> None:
    b = gs.Builder("pairs")
    b.output(b.take(b.input("x", (2000, 2), "float32"), b.input("i", (100_000,), "int64"), dim=0))
    assert f"least: {way}" in b.build({"kind": "llvm", "mcpu": cpu}).explain()


def test_rows_are_near_where_the_matrix_is_that_they_are_picked_from() -> None:
    """The first axis is not indexed: of 64 MB each index chooses among 16 KB."""
    b = gs.Builder("batches")
    b.output(b.take(b.input("x", (4096, 2048, 2), "float32"), b.input("i", (100,), "int64"), dim=1))
    assert "table bytes 16,384," in b.build("llvm").explain()


def test_few_rows_are_waited_for_only_from_memory() -> None:
    """The hardware prefetches them otherwise."""
    near, far = (costs.Facts(10**6, 4, nbytes, "float32") for nbytes in (8 << 20, 48 << 20))
    few, more = (costs.in_place(near, costs.REFERENCE, deep, 8 << 20, 2) for deep in (16, 17))
    assert few < more
    assert few < costs.in_place(far, costs.REFERENCE, 16, 48 << 20, 2)
