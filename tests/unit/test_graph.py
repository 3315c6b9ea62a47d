"""What a builder keeps: of methods that raised nothing, and for a graph only what its outputs need."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gscompile as gs


def rules(b: gs.Builder) -> list[str]:
    """The rules about sizes that a call of the graph checks."""
    return [f"{c.lhs} {c.relation} {c.rhs}" for c in b.graph().constraints]


def test_rules_about_sizes_belong_to_the_values_that_need_them() -> None:
    b = gs.Builder("net")
    x, y = b.input("x", ("n",), "float32"), b.input("y", ("m",), "float32")
    unused = x + y
    used = x * 2
    b.output(used)
    assert rules(b) == []
    b.output(unused)
    assert rules(b) == ["m == n"]


# Every operator that has something to check at the call, on x (n, 3), y (m, 3) and i (k,).
RULES: list[tuple[str, list[str], Callable[[gs.Builder, Any, Any, Any], gs.Value]]] = [
    ("broadcast", ["m == n"], lambda b, x, y, i: b.where(x > 0, 1.0, y)),
    ("broadcast_to", ["n == m"], lambda b, x, y, i: b.broadcast_to(x, ("m", 3))),
    ("squeeze", ["n == 1"], lambda b, x, y, i: b.squeeze(x, 0)),
    ("getitem", ["5 <= n", "2 <= n"], lambda b, x, y, i: x[4] + x[-2]),
    ("pad", ["2 <= n"], lambda b, x, y, i: b.pad(x, [-1, 0], [-1, 0])),
    ("concat", ["m == n"], lambda b, x, y, i: b.concat([x, b.cast(y, "float64")], 1)),
    ("stack", ["m == n"], lambda b, x, y, i: b.stack([x, y])),
    ("reshape", ["3*m == 3*n"], lambda b, x, y, i: b.reshape(x, ("m", 3))),
    ("gather", ["m <= n"], lambda b, x, y, i: b.gather(x, b.cast(y, "int32"), dim=1)),
    ("take", ["k == n", "k <= n"], lambda b, x, y, i: b.take(x, i, axis=1, batch_dims=1)),
    ("put", ["m == k"], lambda b, x, y, i: b.put(x, i, y)),
    ("put of a scalar", ["k == n", "k <= n"], lambda b, x, y, i: b.put(x, i, 1, axis=1, batch_dims=1)),
]


@pytest.mark.parametrize("label,wanted,declare", RULES, ids=[r[0] for r in RULES])
def test_a_rule_holds_where_its_value_is_needed(label: str, wanted: list[str], declare: Any) -> None:
    b = gs.Builder("net")
    x, y, i = b.input("x", ("n", 3), "float32"), b.input("y", ("m", 3), "float32"), b.input("i", ("k",), "int64")
    value = declare(b, x, y, i)
    b.output(b.sum(x))
    assert rules(b) == []
    b.output(b.exp(b.cast(value, "float32")))
    assert rules(b) == wanted


def test_a_call_is_not_refused_for_what_nothing_needs() -> None:
    b = gs.Builder("net")
    x, y = b.input("x", ("n",), "float32"), b.input("y", ("m",), "float32")
    product = x * y
    b.output(x + 1)
    given = np.zeros(3, np.float32), np.zeros(4, np.float32)
    assert b.build()(*given).tolist() == [1, 1, 1]
    b.output(product)
    with pytest.raises(gs.ShapeError, match=r"mul: operands on axis -1: must be equal to n = 3; got m = 4"):
        b.build()(*given)


def test_a_size_that_only_an_unused_value_has_need_not_be_known() -> None:
    b = gs.Builder("net")
    x = b.input("x", ("n",), "float32")
    b.zeros(("elsewhere",))
    b.broadcast_to(x, ("nowhere",))
    with pytest.raises(gs.ShapeError, match="'elsewhere'"):
        b.graph()
    b.output(x + 1)
    assert b.graph().symbols == ["n"]


FAILING: list[Callable[[gs.Builder, Any, Any, Any], Any]] = [
    lambda b, x, y, i: b.put(x, i, y, unique="yes"),  # the last thing that is looked at
    lambda b, x, y, i: b.put(x, i, 1.0, include_self=1),
    lambda b, x, y, i: b.take(x, i, axis=1, batch_dims=1, name="x"),  # the name is taken
    lambda b, x, y, i: b.take(x, i, axis=1, batch_dims=1, bounds="fill", fill="0"),
    lambda b, x, y, i: x + np.ones((2, 2), np.float32),
    lambda b, x, y, i: b.where(x, 1, "2"),
    lambda b, x, y, i: b.concat([x, y, np.ones(4, np.float32)], 1),
    lambda b, x, y, i: b.pad(x, [-1, 0], [-1, 0], value="0"),
    lambda b, x, y, i: b.output(x, y, 3),
    lambda b, x, y, i: b.argmax(np.zeros((0, 3)), None),
]


@pytest.mark.parametrize("fail", FAILING, ids=range(len(FAILING)))
def test_a_method_that_raises_leaves_nothing_behind(fail: Callable[..., Any]) -> None:
    b = gs.Builder("net")
    x, y, i = b.input("x", ("n", 3), "float32"), b.input("y", ("m", 3), "float32"), b.input("i", ("k",), "int64")
    before = [list(b.draft.values), set(b.draft.names), list(b.draft.constraints), list(b.draft.outputs)]
    with pytest.raises(gs.GSError):
        fail(b, x, y, i)
    assert [list(b.draft.values), set(b.draft.names), list(b.draft.constraints), list(b.draft.outputs)] == before
    b.output(b.sum(x))
    assert rules(b) == []


def test_a_failure_adds_no_output() -> None:
    """Without output() every value that nothing consumes is one."""
    b = gs.Builder("net")
    x = b.input("x", (3,), "float32")
    with pytest.raises(gs.ShapeError):
        x + np.ones(4, np.float32)
    y = x + 1
    assert b.graph().outputs == (y,)


def test_methods_are_still_themselves() -> None:
    assert gs.Builder.take.__name__ == "take" and gs.Builder.take.__doc__
    assert list(inspect.signature(gs.Builder.take).parameters)[:5] == ["self", "data", "index", "axis", "batch_dims"]
