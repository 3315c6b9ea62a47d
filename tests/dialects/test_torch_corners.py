"""Corners of PyTorch's gathers and scatters that people meet: numbers as sources, empty indices, masks, NaN in bags, ``out=``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import torch as gt
from tests.frameworks import need

torch = need("torch")
functional = torch.nn.functional
NAN = float("nan")
I = torch.tensor([0, 2])  # noqa: E741
X = torch.arange(6.0).reshape(2, 3)


def agree(name: str, *arguments: Any, **options: Any) -> None:
    """Ours and PyTorch's function of that name give the same tensor, or both refuse."""
    what = (name, arguments, options)
    try:
        want = (getattr(torch, name) if name != "embedding_bag" else functional.embedding_bag)(*arguments, **options)
    except (RuntimeError, OverflowError, IndexError, NotImplementedError) as e:
        with pytest.raises(gs.GSError):
            pytest.fail(f"{what}: PyTorch refuses, {e}; ours gives {getattr(gt, name)(*arguments, **options)}")
        return
    got = getattr(gt, name)(*arguments, **options)
    assert got.dtype == want.dtype, what
    assert got.shape == want.shape, what
    assert torch.allclose(got.double(), want.double(), 0, 0, equal_nan=True), (what, got, want)


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "bool", "float16", "float32"])
def test_numbers_are_cast_as_pytorch_casts_them(name: str) -> None:
    x = torch.ones(3, dtype=getattr(torch, name))
    source = torch.ones(2, dtype=x.dtype)
    for v in (2.5, -3, 300, True, NAN, float("inf"), 1e40, -2.5, 70000, -255, -256, 127.5, 255.5):
        agree("index_fill", x, 0, I, v)
        agree("scatter", x, 0, I, v)
    for v in (2.5, -3):
        for how in ("add", "multiply"):
            agree("scatter", x, 0, I, v, reduce=how)
    for alpha in (2, 2.5, -1, True, 1.0, 0):
        agree("index_add", x, 0, I, source, alpha=alpha)


@pytest.mark.parametrize("name", ["float32", "bool", "int8", "int64"])
def test_an_empty_index_of_any_dtype(name: str) -> None:
    one, two = torch.empty(0, dtype=getattr(torch, name)), torch.empty((0, 3), dtype=getattr(torch, name))
    for i in (one, two):
        agree("gather", X, 0, i)
    agree("scatter", X, 0, two, X)
    agree("scatter", X, 0, two, 1.0)
    agree("scatter_add", X, 0, two, X)
    agree("take_along_dim", X, one)
    agree("take_along_dim", X, two, 0)
    agree("index_select", X, 0, one)


def test_take_along_dim_of_int32() -> None:
    for i in ([0, 5], [0, -1]):
        index = torch.tensor(i, dtype=torch.int32)
        agree("take_along_dim", X, index)
    index = torch.zeros((2, 1), dtype=torch.int32)
    agree("take_along_dim", X, index, 1)


def test_words_of_reductions() -> None:
    i, b = torch.zeros((1, 3), dtype=torch.int64), torch.tensor([True, False, True])
    for how in ("max", "min", "sum", "amax", "add"):
        agree("scatter_reduce", X, 0, i, X[1:], how)
    for how in ("prod", "mean", "amax", "max"):
        agree("index_reduce", b, 0, I[:1], b[:1], how)


ROW, BOTH = torch.tensor([True, False]), torch.tensor([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    ("indices", "values"),
    [
        ((ROW,), [7.0, 8.0, 9.0]),
        ((BOTH,), [7.0, 8.0, 9.0]),
        ((BOTH,), [7.0, 8.0]),
        ((BOTH,), [7.0]),
        ((ROW, torch.tensor([1, 2])), 9.0),
        ((torch.tensor([0]), BOTH[0]), [5.0, 6.0]),
        ((ROW, BOTH[0]), [5.0, 6.0]),
        ((torch.tensor([True, True, False]),), [1.0, 2.0, 3.0]),
        ((BOTH[0], ROW), 1.0),
        ((torch.tensor([False, False]),), [7.0, 8.0, 9.0]),
    ],
)
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_with_masks(indices: Any, values: Any, accumulate: bool) -> None:
    v = torch.tensor(values)
    agree("index_put", X, indices, v, accumulate)


def test_index_put_in_a_graph_needs_known_masks() -> None:
    b = gs.Builder("masks")
    x, m = b.input("x", (2, 3), "float32"), b.input("m", (2, 3), "bool")
    b.output(gt.index_put(x, (BOTH.numpy(),), np.array([7, 8, 9], "float32")))
    assert b.build()(X, BOTH).tolist() == torch.index_put(X, (BOTH,), torch.tensor([7.0, 8.0, 9.0])).tolist()
    with pytest.raises(gs.ArgumentError, match=r"index_put: how many elements a bool mask picks .* where"):
        gt.index_put(x, (m,), b.input("v", ("k",), "float32"))


@pytest.mark.parametrize("padding", [None, 0, 1, 2, -1])
def test_the_largest_of_a_bag_with_nan(padding: int | None) -> None:
    w = torch.tensor([[1.0, NAN, -0.0], [NAN, 2.0, 0.0], [3.0, 0.0, NAN]])
    options: Any = {"mode": "max", "padding_idx": padding}
    bags = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 2, 1], [1, 1, 1]])
    flat, offsets = torch.tensor([0, 1, 2, 1, 0, 2, 1]), torch.tensor([0, 3, 3, 6])
    agree("embedding_bag", bags, w, **options)
    agree("embedding_bag", flat, w, offsets, **options)
    agree("embedding_bag", flat, w, torch.tensor([0, 7, 7]), **options)


def test_out_receives_the_result() -> None:
    i, j = torch.tensor([[0, 1, 0]]), torch.tensor([1])
    calls: dict[str, tuple[Any, ...]] = {
        "gather": (X, 0, i),
        "take_along_dim": (X, i, 0),
        "scatter": (X, 0, i, X),
        "scatter_add": (X, 0, i, X),
        "scatter_reduce": (X, 0, i, X, "amax"),
        "index_select": (X, 0, j),
        "index_add": (X, 0, j, X[:1]),
        "index_copy": (X, 0, j, X[:1]),
        "index_reduce": (X, 0, j, X[:1], "prod"),
        "take": (X, j),
        "cumsum": (X, 1),
        "cumprod": (X, 1),
    }
    for name, arguments in calls.items():
        want = getattr(torch, name)(*arguments)
        out = torch.full_like(want, -1)
        assert getattr(gt, name)(*arguments, out=out) is out
        assert torch.equal(out, want), name
        assert torch.equal(getattr(gt, name)(*arguments), want), name
    x = X.clone()
    gt.scatter_add(x, 0, i, X, out=x)  # in place
    assert torch.equal(x, torch.scatter_add(X, 0, i, X))
    with pytest.raises(gs.ShapeError, match="out"):
        gt.gather(X, 0, i, out=torch.zeros(4))
    b = gs.Builder("out")
    with pytest.raises(gs.ArgumentError, match="gather: out goes with arrays"):
        gt.gather(b.input("x", (2, 3), "float32"), 0, b.input("i", (1, 3), "int64"), out=torch.zeros(1, 3))


def test_out_of_numpy() -> None:
    gn = gs.dialects.numpy
    x = np.arange(6.0).reshape(2, 3)
    for ours, theirs, arguments in [
        (gn.take, np.take, (x, [1, 0], 1)),
        (gn.cumsum, np.cumsum, (x, 1)),
        (gn.choose, np.choose, (np.array([1, 0, 1]), x)),
    ]:
        arguments = tuple(np.asarray(a) if isinstance(a, list) else a for a in arguments)
        want = theirs(*arguments)
        out = np.zeros_like(want)
        assert ours(*arguments, out=out) is out
        assert np.array_equal(out, want)
