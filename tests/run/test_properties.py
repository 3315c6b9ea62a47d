"""Every gather and scatter against the oracle: random calls, and a grid over dtypes.

``llvm`` compiles and runs; ``cuda`` runs the cuda schedules' IR with its threads one after the other
(:mod:`gscompile.emulation`), which needs no GPU.  Results are compared bit for bit, but for sums, means and products of floats on
cuda, which are folded in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import gscompile as gs
from tests import oracle
from tests.cases import DTYPES, GATHERS, INDEX_DTYPES, SCATTERS, Case, cases, index_palette, random_data, scalars
from tests.oracle import OracleIndexError, assert_same, assert_same_folds

EXAMPLES = {"llvm": 50, "cuda": 25}
THOROUGH = {"llvm": 100, "cuda": 40}
TARGETS = tuple(EXAMPLES)
FOLDED = ("add", "mean", "mul")


def compiled(declare: Callable[[Any], Any], target: str) -> Any:
    """A module for what ``declare`` adds to a builder."""
    builder = gs.Builder("case")
    builder.output(declare(builder))
    if target == "cuda":
        from gscompile.emulation import emulate

        return emulate(builder)
    return builder.build(target=target)


def compare(case: Case, target: str, got: Any, want: Any) -> None:
    """Equal, as far as the order in which points are folded is promised."""
    if target == "cuda" and case.is_scatter and case.reduction in FOLDED and want.dtype.kind not in "biuc":
        data, src = (np.asarray(np.abs(x), "f8") for x in (case.data, case.src))
        src = src if isinstance(case.src, np.ndarray) else float(src)
        assert_same_folds(got, want, replace(case, data=data, src=src, data_dtype="float64").expected())
    else:  # which of 0.0 and -0.0 is larger is nobody's business
        assert_same(got, want, signed_zero=case.reduction not in ("min", "max"))


def check(case: Case, target: str) -> None:
    """The call gives what the oracle gives, or raises what the oracle raises, and leaves its inputs alone."""
    before = [a.copy() for a in case.arrays]
    try:
        want = case.expected()
    except OracleIndexError as error:
        check_raises(case, target, error)
    else:
        module = compiled(case.build, target)
        compare(case, target, module(*case.arrays), want)
        if case.is_scatter:
            in_place = case.data.copy()
            result = module(in_place, *case.arrays[1:], out=in_place)
            assert result is in_place
            compare(case, target, in_place, want)
        else:
            out = random_data(np.random.default_rng(7), want.shape, case.data_dtype)
            assert module(*case.arrays, out=out) is out
            assert_same(out, want)
    for was, now in zip(before, case.arrays, strict=True):
        assert was.tobytes() == now.tobytes(), "an input has changed"


def check_raises(case: Case, target: str, error: OracleIndexError) -> None:
    """The call raises BoundsError for the same element; out, where it is data, is as it was."""
    try:
        module = compiled(case.build, target)
    except gs.BoundsError:
        # Only an axis that is empty by its declared shape may be refused that early.
        assert any(case.shape("data")[a] == 0 for a, s in enumerate(case.map.sources) if s[0] == "indexed")
        return
    with pytest.raises(gs.BoundsError) as caught:
        module(*case.arrays)
    got = caught.value
    assert isinstance(got, IndexError)
    assert (got.position, got.value, got.valid) == (error.position, error.value, error.valid)
    assert got.tensor == "index" and got.op
    if case.is_scatter:
        in_place = case.data.copy()
        with pytest.raises(gs.BoundsError) as caught:
            module(in_place, *case.arrays[1:], out=in_place)
        assert (caught.value.position, caught.value.value) == (error.position, error.value)
        assert in_place.tobytes() == case.data.tobytes(), "a call that raised has changed data"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", [*GATHERS, *SCATTERS])
def test_random_calls(op: str, target: str, thorough: bool) -> None:
    @settings(
        max_examples=(THOROUGH if thorough else EXAMPLES)[target],
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(cases(op))
    def run(case: Case) -> None:
        check(case, target)

    run()


# -- grids: what random draws may miss --------------------------------------------------------------------------------


def element_case(op: str, index: Any, data_dtype: str, dim: int = 1, **options: Any) -> Case:
    """A gather or scatter of data (4, 5, 3) along ``dim``, with random values."""
    rng = np.random.default_rng(11)
    data = random_data(rng, (4, 5, 3), data_dtype)
    if op == "scatter":
        options.setdefault("src", random_data(rng, index.shape, data_dtype))
    return Case(
        op=op,
        args={"dim": dim},
        map=oracle.element_map(data.shape, index.shape, dim),
        data_dtype=data_dtype,
        index_dtype=index.dtype.name,
        data=data,
        index=index,
        **options,
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_with_every_reduction(dtype: str, target: str, thorough: bool) -> None:
    """With ``include_self`` or without, by turns; both with ``--thorough``."""
    index = np.random.default_rng(3).integers(-5, 5, (4, 7, 2))  # duplicates for certain, shorter on axis 2
    check(element_case("gather", index, dtype), target)
    turn = DTYPES.index(dtype) + TARGETS.index(target)
    for k, reduction in enumerate(oracle.reductions_of(dtype)):
        for include_self in (True, False) if thorough else ((k + turn) % 2 == 0,):
            check(element_case("scatter", index, dtype, reduction=reduction, include_self=include_self), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype_with_every_policy(dtype: str, target: str) -> None:
    for bounds, negative in itertools.product(oracle.BOUNDS, (True, False)):
        good, bad = index_palette(5, 1, dtype, negative)
        values = good if bounds in ("raise", "trust") else good + bad
        index = np.resize(np.array(values, dtype), (3, len(values), 2))
        check(element_case("gather", index, "int32", bounds=bounds, negative=negative, fill=-7), target)
        check(element_case("scatter", index, "int32", bounds=bounds, negative=negative, reduction="add"), target)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_each_index_out_of_range_is_found(dtype: str) -> None:
    """One module, one bad value at a time, deep inside an index of valid ones."""
    for negative in (True, False):
        good, bad = index_palette(5, 1, dtype, negative)
        index = np.resize(np.array(good, dtype), (4, 6, 3))
        for op in ("gather", "scatter"):
            module = compiled(element_case(op, index, "float32", negative=negative).build, "llvm")
            for value in bad:
                spoiled = index.copy()
                spoiled[2, 3, 1] = spoiled[3, 5, 2] = value
                case = element_case(op, spoiled, "float32", negative=negative)
                with pytest.raises(gs.BoundsError) as caught:
                    module(*case.arrays)
                with pytest.raises(OracleIndexError) as wanted:
                    case.expected()
                assert (caught.value.position, caught.value.value, caught.value.valid) == (
                    (2, 3, 1),
                    value,
                    wanted.value.valid,
                )
            assert_same(
                module(*element_case(op, index, "float32").arrays), element_case(op, index, "float32").expected()
            )


@pytest.mark.parametrize("target", TARGETS)
def test_every_length_of_a_row(target: str) -> None:
    """Rows of 0 to 67 elements: every remainder of a vector's length, static and symbolic."""
    for n in (*range(20), 31, 32, 33, 64, 67):
        data = random_data(np.random.default_rng(n), (5, n), "float32")
        index = np.array([4, 0, -5, 2, 2, -1])
        src = random_data(np.random.default_rng(n + 1), (6, n), "float32")
        common = {
            "args": {"axis": 0, "batch_dims": 0},
            "map": oracle.take_map(data.shape, index.shape, 0),
            "data_dtype": "float32",
            "index_dtype": "int64",
            "data": data,
            "index": index,
            "symbols": frozenset({("data", 1)} if n % 2 else ()),
        }
        check(Case(op="take", **common), target)
        check(Case(op="put", src=src, reduction="add", **common), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction", ["update", "add", "mean", "max"])
def test_large_enough_for_several_threads(reduction: str, target: str) -> None:
    """Many duplicates: on llvm the result is the oracle's for any number of threads."""
    rng = np.random.default_rng(2)
    data = random_data(rng, (37, 8), "float32")
    index, src = rng.integers(-37, 37, 2500), random_data(rng, (2500, 8), "float32")
    case = Case(
        op="put",
        args={"axis": 0, "batch_dims": 0},
        map=oracle.take_map(data.shape, index.shape, 0),
        data_dtype="float32",
        index_dtype="int64",
        data=data,
        index=index,
        src=src,
        reduction=reduction,
    )
    was = gs.get_num_threads()
    try:
        for threads in (1, 2, 5):
            gs.set_num_threads(threads)
            check(case, target)
    finally:
        gs.set_num_threads(was)


# -- corners ----------------------------------------------------------------------------------------------------------


def test_int8_reaches_the_end_of_a_long_axis_by_counting_back() -> None:
    def declare(b: Any) -> Any:
        return b.take(b.input("data", (300,), "int32"), b.input("index", (5,), "int8"))

    module = compiled(declare, "llvm")
    index = np.array([-128, -1, 0, 127, -44], np.int8)
    assert module(np.arange(300, dtype=np.int32), index).tolist() == [172, 299, 0, 127, 256]


def test_uint64_above_int64_is_out_of_range_and_said_so() -> None:
    def declare(b: Any) -> Any:
        return b.take(b.input("data", (6,), "int32"), b.input("index", ("n",), "uint64"))

    module = compiled(declare, "llvm")
    data = np.arange(6, dtype=np.int32)
    for value in (6, 2**32, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1):
        with pytest.raises(gs.BoundsError) as caught:
            module(data, np.array([5, value], np.uint64))
        assert (caught.value.position, caught.value.value, caught.value.valid) == ((1,), value, (0, 5))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap"])
@pytest.mark.parametrize("op", ["take", "put"])
def test_an_empty_axis_has_nowhere_to_point_to(op: str, bounds: str, target: str) -> None:
    def declare(b: Any) -> Any:
        data, index = b.input("data", ("n", 2), "float32"), b.input("index", ("k",), "int32")
        return getattr(b, op)(data, index, *((1.0,) if op == "put" else ()), bounds=bounds)

    module = compiled(declare, target)
    with pytest.raises(gs.BoundsError) as caught:
        module(np.zeros((0, 2), "float32"), np.zeros(3, "int32"))
    assert (caught.value.position, caught.value.value, caught.value.valid) == ((0,), 0, None)
    assert module(np.zeros((0, 2), "float32"), np.zeros(0, "int32")).shape == (0, 2)


@pytest.mark.parametrize("op", ["take", "put"])
def test_an_index_that_no_point_reads_is_checked_too(op: str) -> None:
    """As NumPy, torch.index_select and ONNX Runtime's Gather do."""

    def declare(b: Any) -> Any:
        data, index = b.input("data", (3, "n"), "float32"), b.input("index", ("k",), "int64")
        return getattr(b, op)(data, index, *((1.0,) if op == "put" else ()))

    module = compiled(declare, "llvm")
    with pytest.raises(gs.BoundsError) as caught:
        module(np.zeros((3, 0), "float32"), np.array([0, 5]))
    assert (caught.value.position, caught.value.value) == ((1,), 5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reduction,include_self", [("mean", True), ("mean", False), ("max", False)])
@pytest.mark.parametrize("window", [3, 4])
@pytest.mark.parametrize("layout", list(itertools.permutations([("index", 0), ("window", 0), ("window", 1)])))
def test_counts_belong_to_cells(layout: Any, window: int, reduction: str, include_self: bool, target: str) -> None:
    """Wherever the windows stand among the points, and where a window leaves the end of its axis alone."""
    rng = np.random.default_rng(21)
    map = oracle.Map((("window", 0), ("indexed", 0, None), ("window", 1)), None, (window, 2), layout)
    index = np.array([1, -1, 1, 0, 1])
    case = Case(
        op="scatter_map",
        args={},
        map=map,
        data_dtype="int16",
        index_dtype="int64",
        data=random_data(rng, (4, 5, 2), "int16"),
        index=index,
        src=random_data(rng, map.points_shape(index.shape), "int16"),
        reduction=reduction,
        include_self=include_self,
    )
    check(case, target)


@pytest.mark.parametrize("op", ["gather", "scatter"])
def test_an_index_longer_than_data_on_a_shared_axis_is_refused(op: str) -> None:
    def declare(shape: tuple[Any, ...]) -> Callable[[Any], Any]:
        def add(b: Any) -> Any:
            data, index = b.input("data", (4, 5, 3), "float32"), b.input("index", shape, "int64")
            return getattr(b, op)(data, index, *((1.0,) if op == "scatter" else ()), dim=1)

        return add

    for shape in [(5, 2, 3), (4, 2, 4)]:
        with pytest.raises(gs.ShapeError):
            compiled(declare(shape), "llvm")
    module = compiled(declare(("n", 2, "m")), "llvm")
    data = np.ones((4, 5, 3), "float32")
    assert module(data, np.zeros((4, 2, 3), int)).ndim == 3
    for shape in [(5, 2, 3), (4, 2, 4)]:
        with pytest.raises(gs.ShapeError):
            module(data, np.zeros(shape, int))


def test_inputs_by_name_and_default_outputs() -> None:
    b = gs.Builder("net")
    a, i = b.input("a", (8, 24), "float32"), b.input("i", (3, 24), "int64")
    y = b.gather(data=a, index=i, dim=0)
    b.scatter(b.zeros((8, 24), "float32"), index=i, src=y, dim=0, reduction="add")
    b.gather(a, index=i)
    module = b.build(target="llvm")
    data, index = (
        random_data(np.random.default_rng(0), (8, 24), "float32"),
        np.random.default_rng(1).integers(0, 8, (3, 24)),
    )
    total, rows = module(i=index, a=data)  # what nothing consumes, in order
    map = oracle.element_map(data.shape, index.shape, 0)
    assert_same(rows, oracle.gather_ref(data, index, map))
    assert_same(total, oracle.scatter_ref(np.zeros_like(data), index, rows, map, "add"))


@pytest.mark.parametrize("reduction", ["sub", "mean", "median", "none", ""])
def test_a_reduction_that_bool_does_not_have_or_nobody_has(reduction: str) -> None:
    b = gs.Builder("net")
    data, index = b.input("data", (4,), "bool"), b.input("index", (3,), "int64")
    with pytest.raises(gs.DTypeError if reduction in ("sub", "mean") else gs.ArgumentError):
        b.scatter(data, index, True, reduction=reduction)


@pytest.mark.parametrize("bounds", ["error", "mod", "", "Raise"])
def test_unknown_bounds(bounds: str) -> None:
    b = gs.Builder("net")
    data, index = b.input("data", (4,), "float32"), b.input("index", (3,), "int64")
    for op in (lambda: b.gather(data, index, bounds=bounds), lambda: b.put(data, index, 1.0, bounds=bounds)):
        with pytest.raises(gs.ArgumentError):
            op()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_scalar_src_and_a_fill_keep_their_value(dtype: str) -> None:
    index = np.array([[[5], [-5], [1]]])
    for scalar in scalars(dtype):
        check(element_case("gather", index, dtype, bounds="fill", fill=scalar), "llvm")
        check(element_case("scatter", index, dtype, bounds="fill", src=scalar), "llvm")
