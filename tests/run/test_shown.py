"""What builders and modules show of themselves: listings, tables for notebooks, call signatures."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import gscompile as gs
from gscompile.ir.listing import MOST


def builder() -> gs.Builder:
    b = gs.Builder("rows")
    x, i = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")
    b.output(b.take(x, i, name="found") * 2)
    return b


def test_a_builder_lists_its_values() -> None:
    assert repr(gs.Builder("empty")) == "<builder empty\n  return what nothing else uses>"
    assert repr(builder()).splitlines() == [
        "<builder rows",
        "  x: float32(n, 4) = input",
        "  i: int64(k,) = input",
        "  found: float32(k, 4) = take(x, i, bounds=raise)",
        "  full_3: float32() = full(2.0)",
        "  mul_4: float32(k, 4) = mul(found, full_3)",
        "  return mul_4>",
    ]


def test_a_long_graph_is_listed_in_part() -> None:
    b = gs.Builder("long")
    x = b.input("x", (2,), "float32")
    for _ in range(MOST + 20):
        x = -x
    assert len(repr(b).splitlines()) == MOST + 3
    assert "  .. 21 more .." in repr(b)
    assert b._repr_html_().count("<tr>") == MOST + 2


def test_tables_are_escaped() -> None:
    b = builder()
    b.output(b.cast(b.draft.values[-1] < 1, "int8"))
    html = b._repr_html_()
    assert html.startswith("<table><caption>builder rows</caption>")
    assert "<b>mul_4</b>" in html
    assert "<td>float32</td><td>(k, 4)</td>" in html
    m = b.build()
    assert m._repr_html_().startswith("<table><caption>module rows for ")
    import gscompile.ir.listing as listing

    assert "&lt;script&gt;" in listing.table("<script>", [], [])


def test_a_module_has_its_inputs_as_parameters() -> None:
    m = builder().build()
    assert str(inspect.signature(m)) == "(x, i, *, out=None)"
    x, i = np.ones((3, 4), "float32"), np.array([1])
    bound = inspect.signature(m).bind(x, i=i)
    assert np.array_equal(m(*bound.args, **bound.kwargs), m(x, i))
    with pytest.raises(TypeError):
        inspect.signature(m).bind(x, i, i)
    assert str(inspect.signature(m.bind(x, i))) == "()"
    assert {"bind", "inputs", "source", "stats"} <= set(dir(m))


def test_an_input_that_is_called_as_a_keyword() -> None:
    b = gs.Builder("keyword")
    b.output(b.input("lambda", (2,), "float32") + 1)
    m = b.build()
    assert str(inspect.signature(m)) == "(*args, out=None, **kwargs)"
    assert m(**{"lambda": np.zeros(2, "float32")}).tolist() == [1, 1]
