"""PyTorch's autograd: a call that it would have recorded is refused, and what is written is counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import numpy as gn
from gscompile.dialects import torch as gt
from tests.frameworks import need
from tests.run.calls import INDEX, X, made, put

torch = need("torch")


pytestmark = pytest.mark.usefixtures("call_path")


def tensors() -> tuple[Any, Any, Any]:
    return torch.from_numpy(X.copy()), torch.from_numpy(INDEX), torch.empty(4, 3)


REFUSED = r"requires grad.*x\.detach\(\).*torch\.no_grad\(\)"


def test_an_input_that_would_lose_its_gradient_is_refused() -> None:
    x, i, out = tensors()
    m = made()
    m(x, i), m(x, i, out=out)
    run, p = m.bind(x, i, out=out), torch.nn.Parameter(x)
    for table in (p, x.clone().requires_grad_(), p * 2, p[:]):
        for call in (m, partial(m, out=out), lambda x, i: m(x=x, i=i), m.bind):
            with pytest.raises(gs.ArgumentError, match="take: input x: .*" + REFUSED):
                call(table, i)
        with torch.no_grad():
            assert torch.equal(m(table, i), table[i])
        with torch.inference_mode():
            assert torch.equal(m(table, i), table[i])
        assert torch.equal(m(table.detach(), i), table.detach()[i])
    x.requires_grad_()
    with pytest.raises(gs.ArgumentError, match=REFUSED):
        run()
    with torch.no_grad():
        assert torch.equal(run(), x[i])


def test_an_output_that_requires_grad_is_refused() -> None:
    x, i, out = tensors()
    m = made()
    run = m.bind(x, i, out=out)
    m(x, i, out=out)
    out.requires_grad_()
    for call in (lambda: m(x, i, out=out), lambda: m.bind(x, i, out=out), run):
        with pytest.raises(gs.ArgumentError, match="out for .*" + REFUSED):
            call()
    with torch.no_grad():
        assert m(x, i, out=out) is out is run()


def test_what_is_written_is_counted() -> None:
    x, i, out = tensors()
    m = made()
    run = m.bind(x, i, out=out)
    w = torch.ones(4, 3, requires_grad=True)
    for call in (lambda: m(x, i, out=out), lambda: m(x, i, out=out), run, run, lambda: m(x, i=i, out=out)):
        loss, before = (w * out).sum(), out._version
        call()
        assert out._version > before
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    assert x._version == i._version == 0
    made_by_bind = m.bind(x, i)
    loss = (w * made_by_bind()).sum()
    made_by_bind()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_is_written_by_way_of_a_copy_or_in_place_is_counted() -> None:
    x, i, _ = tensors()
    strided = torch.empty(3, 4).t()
    made()(x, i, out=strided)
    assert strided._version > 0
    m = put()
    for _ in range(3):
        before = x._version
        assert m(x, i, torch.ones(4, 3), out=x) is x and x._version > before
    view = x[1:]  # shares the counter
    before = x._version
    made()(torch.from_numpy(X), i, out=view[:4])
    assert x._version > before


def test_a_call_that_fails_may_have_written() -> None:
    x, _, out = tensors()
    for _ in range(2):
        before = out._version
        with pytest.raises(gs.BoundsError):
            made()(x, torch.tensor([0, 1, 2, 8]), out=out)
        assert out._version > before


def test_tensors_of_inference_have_no_counter() -> None:
    x, i, _ = tensors()
    m = made()
    with torch.inference_mode():
        out = torch.empty(4, 3)
        run = m.bind(x, i, out=out)
        for _ in range(3):
            assert torch.equal(m(x, i, out=out), x[i]) and torch.equal(run(), x[i])
    for _ in range(3):
        assert torch.equal(m(x, i, out=out), x[i]) and torch.equal(run(), x[i])


def test_functions_of_dialects() -> None:
    x, i, _ = tensors()
    p = torch.nn.Parameter(x)
    index = torch.zeros(2, 3, dtype=torch.int64)
    for _ in range(3):
        assert torch.equal(gt.gather(x, 0, index), torch.gather(x, 0, index))
        for call in (
            lambda: gt.gather(p, 0, index),
            lambda: gt.scatter_add(x, 0, index, p[:2]),
            lambda: gn.take(p, i, 0),
        ):
            with pytest.raises(gs.ArgumentError, match=REFUSED):
                call()
        with torch.no_grad():
            assert torch.equal(gt.gather(p, 0, index), torch.gather(p, 0, index))
        before = x._version
        gn.put(x, i.clamp(0), torch.ones(4))
        assert x._version > before
    with pytest.raises(gs.ArgumentError, match=REFUSED):
        gn.put(p, i.clamp(0), torch.ones(4))


def test_constants() -> None:
    b, p = gs.Builder("constant"), torch.nn.Parameter(torch.from_numpy(X.copy()))
    i = b.input("i", ("k",), "int64")
    with pytest.raises(gs.ArgumentError, match=REFUSED):
        b.take(p, i)
    with torch.no_grad():
        b.output(b.take(p, i))
    np.testing.assert_array_equal(b.build()(INDEX), X[INDEX])


def test_other_derivatives_are_refused() -> None:
    x, i, out = tensors()
    m = made()
    m(x, i), m(x, i, out=out)
    for derive in (
        lambda: torch.func.grad(lambda x: m(x, i).sum())(x),
        lambda: torch.func.jvp(lambda x: m(x, i), (x,), (x,)),
        lambda: torch.func.vmap(lambda x: m(x, i))(x[None]),
    ):
        with pytest.raises(gs.DeviceError, match="strided storage"):
            derive()
