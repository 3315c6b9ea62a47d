"""Functions of values or arrays, and the cache of what was compiled for arrays."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.frontend.eager import CACHED_CALLS, MAX_CACHED, MODULES, Invocation, Size, Tensor, eager
from gscompile.frontend.module_cache import MAX_MODULES, Kind, ModuleCache, generalised, matches
from gscompile.runtime import arrays
from tests.frameworks import need


@eager
def pick(data: Tensor, dim: int, index: Tensor, *, scale: Tensor | float = 1) -> gs.Value:
    """A gather, scaled."""
    return data.builder.gather(data, index, dim) * scale


@eager
def chain(tensors: Sequence[Tensor], axis: int = 0) -> gs.Value:
    return tensors[0].builder.concat(list(tensors), axis)


@eager(in_place="data")
def assign(data: Tensor, index: Tensor, src: Tensor | float) -> gs.Value:
    return data.builder.put(data, index, src)


@eager
def both(x: Tensor, y: Tensor | None = None) -> tuple[gs.Value, gs.Value]:
    return x + 1, x if y is None else y


@eager
def stretched(x: Tensor) -> gs.Value:
    """A function that needs to know its size."""
    n = x.shape[0]
    if not isinstance(n, int):
        raise gs.ShapeError("a fixed extent is needed")
    return x.builder.broadcast_to(x.builder.sum(x), (2 * n,))


@eager
def counts(index: Tensor, shape: Sequence[Size]) -> gs.Value:
    """How often each index comes."""
    b = index.builder
    return b.put(b.zeros(shape, "int64"), index, b.full(index.shape, 1, "int64"), reduction="add")


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    gs.cache_clear()
    yield
    gs.cache_clear()


def an_index(rows: int, columns: int, limit: int) -> Any:
    return np.random.default_rng(rows).integers(0, limit, (rows, columns))


def test_arrays_are_computed_with_at_once() -> None:
    x, i = np.random.default_rng(0).random((5, 3)), an_index(4, 3, 5)
    want = np.take_along_axis(x, i, 0)
    np.testing.assert_array_equal(pick(x, 0, i), want)
    np.testing.assert_array_equal(pick(x, dim=0, index=i, scale=2.0), want * 2)
    np.testing.assert_array_equal(pick(x, 0, i, scale=np.array(2.0)), want * 2)
    np.testing.assert_array_equal(pick([[1, 2], [3, 4]], 1, [[1], [0]]), [[2], [3]])


def test_values_add_to_their_graph_and_arrays_beside_them_are_constants() -> None:
    b = gs.Builder("net")
    x = b.input("x", (5, 3), "float64")
    i = an_index(4, 3, 5)
    y = pick(x, 0, i, scale=2.0)
    assert isinstance(y, gs.Value) and y.builder is b and y.shape == (4, 3)
    assert isinstance(chain([np.zeros((1, 3)), x]), gs.Value)
    data = np.random.default_rng(0).random((5, 3))
    got, joined = b.build()(data)
    np.testing.assert_array_equal(got, np.take_along_axis(data, i, 0) * 2)
    np.testing.assert_array_equal(joined, np.concatenate([np.zeros((1, 3)), data]))
    assert gs.cache_info().misses == 0


def test_sequences_options_and_several_results() -> None:
    rows = [np.full((n, 2), float(n)) for n in (1, 2, 3)]
    np.testing.assert_array_equal(chain(rows), np.concatenate(rows))
    first, second = both(np.arange(3))
    assert (first.tolist(), second.tolist()) == ([1, 2, 3], [0, 1, 2])
    assert [t.tolist() for t in both(np.arange(2), np.array([7]))] == [[1, 2], [7]]


def test_in_place() -> None:
    x = np.zeros(5, "int32")
    assert assign(x, np.array([1, -1]), 7) is None
    assert x.tolist() == [0, 7, 0, 0, 7]
    assign(x, np.array([0, 0]), np.array([3, 4], "int32"))
    assert x[0] == 4
    with pytest.raises(gs.BoundsError):
        assign(x, np.array([1, 5]), 9)
    assert x.tolist() == [4, 7, 0, 0, 7]
    with pytest.raises(gs.ArgumentError, match="data must be an array that can be written"):
        assign([1, 2], np.array([0]), 5)
    with pytest.raises(gs.ArgumentError, match="read-only"):
        x.flags.writeable = False
        assign(x, np.array([0]), 5)


def test_the_second_shape_of_a_kind_is_the_last_that_is_compiled() -> None:
    for n in range(2, 12):
        x, i = np.random.default_rng(n).random((n, n + 2)), an_index(n - 1 or 2, n + 2, n)
        np.testing.assert_array_equal(pick(x, 0, i), np.take_along_axis(x, i, 0))
    info = gs.cache_info()
    # rows of i: 1 is a kind of its own; then the sizes of n=3, those of n=4 and any others
    assert (info.kinds, info.misses, info.hits) == (2, 3, 7)
    x, i = np.random.default_rng(0).random((3, 7)), an_index(8, 7, 3)  # no two axes as they were
    np.testing.assert_array_equal(pick(x, 0, i), np.take_along_axis(x, i, 0))
    assert gs.cache_info().misses <= 4


def test_an_extent_of_one_is_never_a_size() -> None:
    for n in (3, 4, 1, 5, 0):
        np.testing.assert_array_equal(chain([np.ones((n, 2)), np.ones((1, 2))]), np.ones((n + 1, 2)))
    for scale in (np.full((4, 1), 2.0), np.full((4, 3), 2.0), np.full((1, 3), 2.0), np.full((1, 1), 2.0)):
        for rows in (4, 4):
            x, i = np.random.default_rng(0).random((5, 3)), an_index(rows, 3, 5)
            np.testing.assert_array_equal(pick(x, 0, i, scale=scale), np.take_along_axis(x, i, 0) * scale)


def test_attributes_of_equal_value_and_other_type_are_told_apart() -> None:
    x, i = np.arange(6).reshape(2, 3), np.zeros((1, 3), int)
    assert pick(x, 0, i, scale=1).dtype == np.int64
    assert pick(x, 0, i, scale=1.0).dtype == np.float64
    assert pick(x, 0, i, scale=True).dtype == np.int64
    y = x.astype(float)
    assert np.signbit(pick(y, 0, i, scale=-0.0)).any()
    assert not np.signbit(pick(y, 0, i, scale=0.0)).any()
    assert np.isnan(pick(y, 0, i, scale=float("nan"))).all()
    info = gs.cache_info()
    pick(y, 0, i, scale=float("nan"))
    assert gs.cache_info().hits == info.hits + 1


def test_a_function_that_needs_its_sizes_is_compiled_for_each() -> None:
    for n in (2, 3, 4, 3, 2):
        assert stretched(np.ones(n)).tolist() == [n] * (2 * n)
    assert gs.cache_info().misses == 3


def test_what_cannot_be_an_argument() -> None:
    x, i = np.zeros((3, 2)), np.zeros((1, 2), int)
    with pytest.raises(gs.ArgumentError, match="pick: missing a required argument: 'index'"):
        pick(x, 0)
    with pytest.raises(gs.ArgumentError, match="unexpected keyword argument 'axis'"):
        pick(x, 0, i, axis=1)
    with pytest.raises(gs.ArgumentError, match="dim is an attribute"):
        pick(x, np.zeros(2), i)
    with pytest.raises(gs.DTypeError, match="pick: index"):
        pick(x, 0, object())
    with pytest.raises(gs.DTypeError, match="integer"):
        pick(x, 0, i.astype(float))
    with pytest.raises(gs.ArgumentError, match="an array or a value"):
        chain([])
    with pytest.raises(gs.ArgumentError, match="in_place"):
        eager(lambda x: x, in_place="y")
    other = gs.Builder("other").input("x", (3,), "float32")
    with pytest.raises(gs.GraphError, match="belong"):
        chain([gs.Builder("net").input("x", (3,), "float32"), other])
    assert gs.cache_info().size == 0


def test_the_cache_is_bounded() -> None:
    cache, made = ModuleCache(maxkinds=2), []

    def compile(pattern: Any) -> Any:
        made.append(pattern)
        return object()

    for key in ("a", "b", "a", "c", "a", "b"):  # c pushes b out
        cache.module(key, ((2,),), compile)
    assert len(made) == 4
    assert cache.info() == (2, 4, 2, 2, 2)
    kind = Kind()
    for n in range(30):
        kind.add(((n, 2 * n % 7, 3),), compile)
    assert len(kind.modules) == MAX_MODULES
    cache.clear()
    assert cache.info() == (0, 0, 0, 0, 2)


def test_a_compile_that_fails_leaves_nothing() -> None:
    cache = ModuleCache()

    def fails(pattern: Any) -> Any:
        raise gs.ShapeError("no")

    for _ in range(2):
        with pytest.raises(gs.ShapeError):
            cache.module("key", ((2,),), fails)
    assert cache.info().size == 0
    assert cache.module("key", ((2,),), lambda pattern: "module") == "module"  # type: ignore[arg-type,return-value]


def test_patterns() -> None:
    first, second = ((3, 4), (3, 5)), ((6, 4), (6, 7))
    assert generalised(first, second, tied=True) == (("n0", 4), ("n0", "n1"))
    assert generalised(first, second, tied=False) == (("n0", 4), ("n1", "n2"))
    pattern = generalised(first, second, tied=True)
    assert matches(pattern, first) and matches(pattern, second) and matches(pattern, ((9, 4), (9, 9)))
    assert not matches(pattern, ((9, 4), (8, 9))) and not matches(pattern, ((9, 5), (9, 9)))


def test_many_threads_compile_once() -> None:
    x, i = np.random.default_rng(0).random((50, 3)), an_index(40, 3, 50)
    want = np.take_along_axis(x, i, 0)
    start, wrong = threading.Barrier(8), []

    def work() -> None:
        start.wait()
        for _ in range(20):
            if not np.array_equal(pick(x, 0, i), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    info = gs.cache_info()
    assert (info.misses, info.hits) == (1, 159)


def test_sizes_given_as_numbers_are_compiled_for_twice() -> None:
    """Extents of the result become symbolic as those of tensors do."""
    from gscompile.dialects import jax as gj
    from gscompile.dialects import paddle as gp
    from gscompile.dialects import tensorflow as gtf

    gs.cache_clear()
    ids = np.array([0, 1, 1])
    for n in (2, 3, 4, 7, 40, 41):
        got = gtf.unsorted_segment_sum(np.ones(3, "f4"), ids, n)
        assert got.tolist() == [1, 2, *[0] * (n - 2)]
    assert gs.cache_info().misses == 2
    for n in (0, 1):
        with pytest.raises(gs.BoundsError, match="unsorted_segment_sum"):
            gtf.unsorted_segment_sum(np.ones(3, "f4"), ids, n)
    gs.cache_clear()
    for n in (2, 5, 9):
        got = gtf.scatter_nd(np.array([[0, 1]]), np.ones((1, 4), "f4"), [n, n + 1, 4])
        assert got.shape == (n, n + 1, 4) and got.sum() == 4 == got[0, 1].sum()
        assert gp.scatter_nd(np.array([[1]]), np.ones(1, "f4"), (n,)).tolist() == [0, 1, *[0] * (n - 2)]
        assert gj.segment_sum(np.ones(3, "f4"), ids, n).tolist() == [1, 2, *[0] * (n - 2)]
    assert gs.cache_info().misses == 6
    gs.cache_clear()
    for rows in (3, 4, 6):  # as many rows as segments, and then not
        assert gtf.unsorted_segment_sum(np.ones((rows, 2), "f4"), np.zeros(rows, "i4"), rows)[0].tolist() == [rows] * 2
    assert gtf.unsorted_segment_sum(np.ones((5, 2), "f4"), np.zeros(5, "i4"), 8).shape == (8, 2)
    assert gs.cache_info().misses == 3


# -- cached calls -----------------------------------------------------------------------------------------------------


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions whose calls were looked at, not recognised."""
    looked: list[str] = []
    run = Invocation.run

    def spied(self: Invocation, *args: Any) -> Any:
        looked.append(self.op)
        return run(self, *args)

    monkeypatch.setattr(Invocation, "run", spied)
    return looked


def test_a_call_that_comes_again_is_recognised(repeats: list[str]) -> None:
    x, i = np.arange(30.0).reshape(10, 3), an_index(4, 3, 10)
    for k in range(4):
        np.testing.assert_array_equal(pick(x + k, 0, i[::-1].copy()), np.take_along_axis(x + k, i[::-1], 0))
        np.testing.assert_array_equal(pick(index=i, data=x + k, dim=0), np.take_along_axis(x + k, i, 0))
        np.testing.assert_array_equal(pick(x + k, index=i, dim=0), np.take_along_axis(x + k, i, 0))
    assert repeats == ["pick"] * 3  # one for each way to write it
    assert gs.cache_info().hits == 11 and gs.cache_info().misses == 1


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries_arrays_are_recognised(repeats: list[str], library: str) -> None:
    module = need(library)
    array = module.from_numpy if library == "torch" else module.numpy.asarray
    x, i = np.arange(30, dtype=np.float32).reshape(10, 3), an_index(4, 3, 10).astype(np.int32)
    arrays.view(array(x))  # from now on the library is known
    for k in range(3):
        a, b = array(x + k), array(i)
        result = pick(a, 0, b)
        assert type(result) is type(a)
        np.testing.assert_array_equal(np.asarray(result), np.take_along_axis(x + k, i, 0))
        np.testing.assert_array_equal(pick(x + k, 0, i), np.take_along_axis(x + k, i, 0))
    assert repeats == ["pick"] * 2 and gs.cache_info().misses == 1


def test_one_array_for_two_arguments_and_then_two(repeats: list[str]) -> None:
    x, y = np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) * 10
    for _ in range(2):
        for a, b in ((x, x), (x, y), (y, x), (y, y)):
            first, second = both(a, b)
            np.testing.assert_array_equal(first, a + 1)
            np.testing.assert_array_equal(second, b)
    assert repeats == ["both"]


@pytest.mark.parametrize(
    ("data", "dim", "index", "scale"),
    [
        (np.zeros((10, 3), np.float32), 0, np.zeros((4, 3), np.int64), 1),
        (np.zeros((10, 3)), 1, np.zeros((4, 3), np.int64), 1),
        (np.zeros((10, 3)), 0, np.zeros((4, 3), np.int32), 1),
        (np.zeros((10, 4)), 0, np.zeros((4, 3), np.int64), 1),
        (np.zeros((10, 3)), 0, np.zeros((4, 3), np.int64), 2),
        (np.zeros((10, 3)), 0, np.zeros((4, 3), np.int64), True),
        (np.zeros((10, 3)), 0, np.zeros((4, 3), np.int64), 1.0),
        (np.zeros((10, 3)).tolist(), 0, np.zeros((4, 3), np.int64), 1),
        (np.zeros((10, 3)), 0, np.zeros((4, 3), np.int64).tolist(), 1),
        (np.zeros((10, 3)), np.int64(0), np.zeros((4, 3), np.int64), 1),
        (np.zeros((10, 3)).view(type("Own", (np.ndarray,), {})), 0, np.zeros((4, 3), np.int64), 1),
    ],
)
def test_another_call_is_not_taken_for_it(repeats: list[str], data: Any, dim: Any, index: Any, scale: Any) -> None:
    for _ in range(2):
        pick(np.zeros((10, 3)), 0, np.zeros((4, 3), np.int64), scale=1)
    del repeats[:]
    pick(data, dim, index, scale=scale)
    assert repeats == ["pick"]


def test_what_is_wrong_is_said_again(repeats: list[str]) -> None:
    x, good, bad = np.arange(30.0).reshape(10, 3), an_index(4, 3, 10), np.full((4, 3), 10)
    for _ in range(3):
        pick(x, 0, good)
        with pytest.raises(gs.BoundsError, match=r"index\[0, 0\] = 10"):
            pick(x, 0, bad)
        for arguments in ((x,), (x, 0, good, good), (x, 0, good.astype(float))):
            with pytest.raises(gs.GSError):
                pick(*arguments)


def test_layouts_and_results_of_calls_that_come_again(repeats: list[str]) -> None:
    x, i = np.arange(30.0).reshape(10, 3), an_index(4, 3, 10)
    results = [pick(a, 0, i) for a in (x, np.asfortranarray(x), x[::-1], x.copy())]
    for result, a in zip(results, (x, x, x[::-1], x), strict=True):
        np.testing.assert_array_equal(result, np.take_along_axis(a, i, 0))
    assert repeats == ["pick"]
    assert all(not np.shares_memory(a, b) for a, b in itertools.pairwise(results))


def test_a_call_that_comes_again_after_the_cache_has_dropped_it(
    monkeypatch: pytest.MonkeyPatch, repeats: list[str]
) -> None:
    monkeypatch.setattr(MODULES, "maxkinds", 1)
    x, i = np.arange(30.0).reshape(10, 3), an_index(4, 3, 10)
    for _ in range(2):
        pick(x, 0, i)
        both(x)
    assert repeats == ["pick", "both"] * 2
    gs.cache_clear()
    both(x)
    assert gs.cache_info().misses == 1


def test_few_calls_are_remembered(repeats: list[str]) -> None:
    x = np.arange(6.0)
    for n in range(2, 2 * MAX_CACHED):
        for _ in range(2):
            first, _ = both(np.resize(x, n))
            np.testing.assert_array_equal(first, np.resize(x, n) + 1)
    assert all(len(r) <= MAX_CACHED for r in CACHED_CALLS)


def test_sizes_of_calls_that_come_again(repeats: list[str]) -> None:
    i = np.array([0, 2, 1, 2])
    for n in (3, 5, 3, 5, 1, 1):
        for shape in ([n], (n,)):
            np.testing.assert_array_equal(counts(i % n, shape), np.bincount(i % n, minlength=n))
    assert repeats == ["counts"] * 6


def test_calls_that_come_again_from_many_threads() -> None:
    x = np.arange(300.0).reshape(100, 3)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for k in range(200):
            i = an_index(2 + (seed + k) % 5, 3, 100)
            if not np.array_equal(pick(x, 0, i), np.take_along_axis(x, i, 0)):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
