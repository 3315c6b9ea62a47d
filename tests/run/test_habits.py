"""What people are used to write, from NumPy and PyTorch, means here what it means there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gscompile as gs

X = np.arange(4 * 5 * 3, dtype="int32").reshape(4, 5, 3)
AT, J = np.array([[1, 0, -1], [3, 2, 2]]), np.array([0, -2, 1], "int8")
MASK = np.array([True, False, True, True])
FLAT = X % 7 == 3

# one graph for all keys: what is compared is every result with NumPy's
KEYS: list[Any] = [
    [0, 1],
    ([0, -1],),
    AT,
    (AT, 0),
    (AT, 0, J),
    (0, slice(None), J),
    (slice(None), J, J),
    (J, slice(None), J),
    (J, slice(1, None, 2), 0),
    (slice(None), 1, J),
    (J, None, J),
    (None, J, J, None),
    (..., J),
    (..., J, None, slice(None, None, -2)),
    (J, ..., J),
    (np.array(2), slice(None), [0, 1]),
    (np.int64(-1), np.uint8(2)),
    MASK,
    [True, False, False, True],
    (MASK, 0),
    (MASK, [0, 1, 2]),
    (MASK, slice(1, 3), J),
    FLAT,
    (FLAT[:, :, 0], 1),
    (slice(None), FLAT[0]),
    [],
    (slice(None), []),
    np.zeros(4, bool),
    (np.array([1, 2], "uint64"), np.array([0, 4], "uint16")),
]


def test_brackets_index_as_numpy_does() -> None:
    b = gs.Builder("keys")
    x, y = b.input("x", X.shape, X.dtype), b.input("y", ("n", 5, "m"), X.dtype)
    b.output(*(x[key] for key in KEYS), *(y[key] for key in KEYS))
    results = b.build()(X, X)
    for key, of_x, of_y in zip(KEYS, results[: len(KEYS)], results[len(KEYS) :], strict=True):
        assert np.array_equal(of_x, X[key]) and of_x.shape == X[key].shape, key
        assert np.array_equal(of_y, X[key]), key


def test_brackets_take_values_and_check_them() -> None:
    b = gs.Builder("rows")
    x, i = b.input("x", ("n", 5, 3), "int32"), b.input("i", ("k",), "int64")
    b.output(x[i, 0], x[:, i, ::2], x[i, None, i])
    m = b.build()
    at = np.array([0, -1, 2])
    for got, want in zip(m(X, at), [X[at, 0], X[:, at, ::2], X[at, None, at]], strict=True):
        assert np.array_equal(got, want)
    with pytest.raises(gs.BoundsError, match=r"getitem_\d+: i\[1\] = 4 is out of range"):
        m(X, np.array([0, 4, 1]))
    with pytest.raises(gs.ShapeError, match="getitem: a mask"):
        x[np.zeros((4, 4), bool)]


@pytest.mark.parametrize(
    ("key", "error", "says"),
    [
        (lambda x, f: x[f], gs.ArgumentError, "getitem: how many elements a bool mask picks .* where"),
        (lambda x, f: x[True], gs.ArgumentError, "getitem: an int, slice"),
        (lambda x, f: x[np.bool_(True)], gs.ArgumentError, "getitem: an int, slice"),
        (lambda x, f: x[[0.5]], gs.DTypeError, "getitem: index must have an integer dtype"),
        (lambda x, f: x[["a"]], gs.ArgumentError, "getitem: a list of ints"),
        (lambda x, f: x[[[1], [1, 2]]], gs.ArgumentError, "getitem: a list of ints"),
        (lambda x, f: x[np.zeros(3, bool)], gs.ShapeError, r"getitem: a mask \(3,\) for \(4, 5, 3\) on axis 0"),
        (lambda x, f: x[[0], [0], [0], [0]], gs.ShapeError, "getitem: too many indices"),
        (lambda x, f: x[[0, 1], [0, 1, 2]], gs.ShapeError, "getitem: shapes"),
    ],
)
def test_brackets_refuse(key: Any, error: type[gs.GSError], says: str) -> None:
    b = gs.Builder("refused")
    with pytest.raises(error, match=says):
        key(b.input("x", X.shape, X.dtype), b.input("f", (4,), "bool"))


def test_src_is_a_number_or_broadcasts() -> None:
    b = gs.Builder("sources")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", (2,), "int64")
    row, column, one = (
        b.input("row", (3,), "float32"),
        b.input("column", (2, 1), "float32"),
        b.input("one", (), "float32"),
    )
    at = b.unsqueeze(i, 1)
    numbers = [np.float32(1), np.int64(1), np.float64(1), np.float16(1), True, 1]
    b.output(
        *(b.put(x, i, n) for n in numbers),
        b.put(x, i, row),
        b.put(x, i, column, reduction="add"),
        b.scatter_nd(x, at, one),
        b.scatter(x, b.broadcast_to(at, (2, 3)), row),
        b.scatter_map(x, i, np.array(2, "float32"), _rows()),
    )
    data, index = np.zeros((4, 3), "float32"), np.array([0, 2])
    given = np.array([5, 6, 7], "float32"), np.array([[8], [9]], "float32"), np.array(4, "float32")
    *ones, rows, columns, filled, same, twos = b.build()(data, index, *given)
    for got, src in [
        *((y, 1) for y in ones),
        (rows, given[0]),
        (columns, given[1]),
        (filled, 4),
        (same, given[0]),
        (twos, 2),
    ]:
        want = data.copy()
        want[index] = src
        assert np.array_equal(got, want)


def _rows() -> gs.IndexMap:
    return gs.IndexMap((gs.Indexed(0), gs.Window(0)), (("index", 0), ("window", 0)))


def test_dim_and_axis_are_one_argument() -> None:
    b = gs.Builder("axes")
    x, i, j = b.input("x", (3, 4), "float32"), b.input("i", (3, 2), "int64"), b.input("j", (2,), "int64")
    assert b.gather(x, i, axis=1).shape == b.gather(x, i, dim=1).shape == b.gather(x, i, 1).shape == (3, 2)
    assert b.take(x, j, dim=1).shape == b.take(x, j, axis=1).shape == b.take(x, j, 1).shape == (3, 2)
    assert [b.scatter(x, i, 0, **{k: 1}).op for k in ("dim", "axis")] == [b.scatter(x, i, 0, 1).op] * 2
    assert [b.put(x, j, 0, **{k: -1}).op for k in ("dim", "axis")] == [b.put(x, j, 0, 1).op] * 2
    for call in (b.gather, b.take):
        with pytest.raises(gs.ArgumentError, match=f"{call.__name__}: dim and axis are two names of one argument"):
            call(x, j, dim=0, axis=0)
    for write in (b.scatter, b.put):
        with pytest.raises(gs.ArgumentError, match=f"{write.__name__}: dim and axis are two names of one argument"):
            write(x, j, 0, dim=0, axis=1)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("sum", "add"),
        ("prod", "mul"),
        ("amax", "max"),
        ("amin", "min"),
        ("any", "or"),
        ("all", "and"),
        ("mean", "mean"),
    ],
)
def test_one_set_of_words_for_reductions(word: str, ours: str) -> None:
    b = gs.Builder("words")
    x, i = b.input("x", (4,), "int64"), b.input("i", (3,), "int64")
    assert b.put(x, i, 1, reduction=word).op == b.put(x, i, 1, reduction=ours).op
    o = b.input("o", (3,), "int64")
    assert b.segment_reduce(x, o, word).op == b.segment_reduce(x, o, ours).op
    with pytest.raises(gs.DTypeError, match=f"put: reduction '{'mean' if word == 'mean' else 'sub'}' is not defined"):
        b.put(b.cast(x, "bool"), i, True, reduction="mean" if word == "mean" else "sub")


@pytest.mark.parametrize("one", [np.int64(1), np.uint8(1), np.array(1)], ids=["int64", "uint8", "0-d"])
def test_numpy_integers_are_ints(one: Any) -> None:
    b = gs.Builder("ints")
    x, i = b.input("x", (np.int64(3), 2, one), "float32"), b.input("i", (one,), "int64")
    assert b.take(x, i, one).shape == (3, 1, 1)
    assert b.gather_nd(x, b.zeros((3, one), "int64"), batch_dims=one).shape == (3, 1)
    assert b.sum(x, one).shape == (3, 1) and b.unsqueeze(x, one).shape == (3, 1, 2, 1)
    assert b.zeros(one).shape == (1,) and b.reshape(x, (one, -1)).shape == (1, 6)
    assert x[one, :one].shape == (1, 1) and b.slice(x, [one], [np.int64(3)], axes=[one]).shape == (3, 1, 1)
    assert gs.dialects.numpy.take(np.arange(6).reshape(2, 3), np.array([1]), axis=one).tolist() == [[1], [4]]


@pytest.mark.parametrize("flag", [True, np.True_, np.array(True)], ids=["bool", "bool_", "0-d"])
def test_bools_are_no_ints(flag: Any) -> None:
    b = gs.Builder("bools")
    x = b.input("x", (3, 2), "float32")
    for call in (
        lambda: b.sum(x, flag),
        lambda: b.take(x, x, flag),
        lambda: b.zeros((flag, 2)),
        lambda: b.iota((2,), flag),
    ):
        with pytest.raises(gs.GSError, match="must"):
            call()


def test_wrap_moves_a_slice_and_sub_starts_with_the_first_value() -> None:
    """As docs/bounds.md and docs/duplicates.md have it."""
    b = gs.Builder("corners")
    x, i = b.input("x", (5,), "int64"), b.input("i", (4,), "int64")
    pairs = gs.IndexMap((gs.Indexed(0, 0),), (("index", 0), ("window", 0)), window_sizes=(2,))
    cells = b.put(x, b.constant([1, 1, 1, 4]), np.array([10, 3, 2, 7]), reduction="sub", include_self=False)
    b.output(b.gather_map(x, i, pairs, bounds="wrap"), cells)
    found, cells = b.build()(np.arange(5), np.array([3, 4, 5, -1]))
    assert found.tolist() == [[3, 4], [0, 1], [1, 2], [3, 4]]  # modulo 4, the number of places for a slice of 2
    assert cells.tolist() == [0, 10 - 3 - 2, 2, 3, 7]


def test_dialects_load_when_they_are_used() -> None:
    code = """
import sys
import gscompile as gs
assert "torch" in dir(gs.dialects) and "gscompile.dialects.torch" not in sys.modules
assert gs.dialects.numpy.take([5, 6], [1]).tolist() == [6]
assert "gscompile.dialects.xla" not in sys.modules
try:
    gs.dialects.thrust
except AttributeError as e:
    assert "numpy" in str(e)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
