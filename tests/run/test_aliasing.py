"""Which output may share memory with which input: one table, for every kind of call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime.aliasing import Aliasing, aliasing, span
from gscompile.runtime.arrays import view
from tests.frameworks import need

ROWS, COLUMNS, POINTS = 6, 4, 3
CELLS = ROWS * COLUMNS


@dataclass(frozen=True)
class Case:
    """Where the arrays of ``put(data, index, src)`` begin in one storage, in elements; ``out`` is as large as data."""

    name: str
    out: int
    data: int
    src: int
    want: Aliasing


CASES = [
    Case("apart", 0, CELLS, 2 * CELLS, Aliasing.NONE),
    Case("they touch", CELLS, 0, 2 * CELLS, Aliasing.NONE),
    Case("data itself", CELLS, CELLS, 0, Aliasing.IN_PLACE),
    Case("data, one row later", CELLS + COLUMNS, CELLS, 0, Aliasing.CONFLICT),
    Case("data, one row earlier", CELLS - COLUMNS, CELLS, 3 * CELLS, Aliasing.CONFLICT),
    Case("data, one element later", CELLS + 1, CELLS, 0, Aliasing.CONFLICT),
    Case("begins where src does", 0, CELLS, 0, Aliasing.CONFLICT),
    Case("ends in src", 0, 2 * CELLS, CELLS - 1, Aliasing.CONFLICT),
    Case("data itself, and ends in src", 0, 0, CELLS - COLUMNS, Aliasing.CONFLICT),
]


def carved(storage: Any, case: Case) -> tuple[Any, Any, Any]:
    """data, src and out."""

    def at(begin: int, rows: int) -> Any:
        return storage[begin : begin + rows * COLUMNS].reshape(rows, COLUMNS)

    return at(case.data, ROWS), at(case.src, POINTS), at(case.out, ROWS)


@functools.cache
def put() -> gs.Module:
    b = gs.Builder("net")
    data, index = b.input("data", ("n", COLUMNS), "float32"), b.input("index", ("k",), "int64")
    b.output(b.put(data, index, b.input("src", ("k", COLUMNS), "float32"), reduction="add"))
    return b.build()


def positional(m: gs.Module, data: Any, index: Any, src: Any, out: Any) -> None:
    assert m(data, index, src, out=out) is out


def by_name(m: gs.Module, data: Any, index: Any, src: Any, out: Any) -> None:
    assert m(src=src, index=index, data=data, out=out) is out


def after_another(m: gs.Module, data: Any, index: Any, src: Any, out: Any) -> None:
    """A call like one that was found good."""
    like = type(index)
    apart = [np.zeros((ROWS, COLUMNS), np.float32), np.zeros(POINTS, np.int64), np.zeros((POINTS, COLUMNS), np.float32)]
    x, i, s = apart if like is np.ndarray else map(need("torch").from_numpy, apart)
    for _ in range(3):
        m(x, i, s, out=x.copy() if like is np.ndarray else x.clone())
    positional(m, data, index, src, out)


def bound(m: gs.Module, data: Any, index: Any, src: Any, out: Any) -> None:
    assert m.bind(data, index, src, out=out)() is out


CALLS: list[Callable[..., None]] = [positional, by_name, after_another, bound]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_calls(case: Case, call: Callable[..., None], library: str) -> None:
    m = put()
    numbers = np.arange(5 * CELLS, dtype=np.float32)
    storage = numbers if library == "numpy" else need("torch").from_numpy(numbers)
    data, src, out = carved(storage, case)
    index = np.array([5, 0, 5])
    given, added, received = carved(numbers, case)
    want = given.copy()
    np.add.at(want, index, added.copy())
    before = numbers.copy()
    i = index if library == "numpy" else need("torch").from_numpy(index)
    if call is bound and case.want is Aliasing.CONFLICT:
        with pytest.raises(gs.ArgumentError, match="out would be copied"):
            call(m, data, i, src, out)
        assert (numbers == before).all()
        return
    call(m, data, i, src, out)
    np.testing.assert_array_equal(received, want)
    untouched = np.ones(numbers.shape, bool)
    untouched[case.out : case.out + CELLS] = False
    np.testing.assert_array_equal(numbers[untouched], before[untouched])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_rule(case: Case) -> None:
    storage = np.zeros(5 * CELLS, np.float32)
    data, src, out = carved(storage, case)
    index = np.zeros(POINTS, np.int64)
    spans = [span(view(x)) for x in (data, index, src)]
    assert aliasing(span(view(out)), spans, 0) is case.want
    # nothing may be taken over: what was in place is a conflict
    alone = Aliasing.CONFLICT if case.want is Aliasing.IN_PLACE else case.want
    assert aliasing(span(view(out)), spans, None) is alone
    assert aliasing(span(view(out)), spans, 2) in (alone, Aliasing.IN_PLACE if case.out == case.src else alone)


def test_arrays_without_elements_share_nothing() -> None:
    storage = np.zeros(8, np.float32)
    assert aliasing(span(view(storage[4:4])), [span(view(storage))], None) is Aliasing.NONE
    assert aliasing(span(view(storage)), [span(view(storage[4:4]))], None) is Aliasing.NONE


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_dialects_call_in_place(case: Case) -> None:
    """NumPy's own ``add.at`` on the same storage gives the same, whatever it shares."""
    from gscompile.dialects import numpy as gn

    ours, theirs = (np.arange(5 * CELLS, dtype=np.float32) for _ in range(2))
    index = np.array([5, 0, 5])
    data, src, _ = carved(ours, case)
    gn.ufunc_at("add", data, index, src)
    data, src, _ = carved(theirs, case)
    np.add.at(data, index, src.copy())
    np.testing.assert_array_equal(ours, theirs)
