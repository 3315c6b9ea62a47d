"""What is copied and pickled: graphs and modules; and what says why it is not."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import jax as gj
from gscompile.ir.ops.reductions import REDUCTIONS, variant
from tests.graphs import everything


def through_pickle(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


COPIES = pytest.mark.parametrize("copied", [through_pickle, copy.copy, copy.deepcopy])


def shifted() -> gs.Module:
    """A gather with a constant, and sums over a size that the call tells."""
    b = gs.Builder("shifted")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")
    rows = b.take(x, i) + b.constant(np.arange(3, dtype="float32"))
    b.output(b.put(b.zeros(("n", 3), "float32"), i, rows, reduction="add"), rows)
    return b.build("llvm", deterministic=True)


X, INDEX = np.ones((4, 3), "float32"), np.array([3, 0, 3])


def test_every_graph_is_the_same_when_it_is_loaded() -> None:
    for builder in everything():
        graph = builder.graph()
        loaded = through_pickle(graph)
        assert str(loaded) == str(graph)
        assert loaded.constraints == graph.constraints
        assert [v.type for v in loaded.values] == [v.type for v in graph.values]
        for a, b in zip(loaded.values, graph.values, strict=True):
            assert a.op == b.op or b.op.name == "constant"
            assert a.dtype is b.dtype


@COPIES
def test_a_module(copied: Any) -> None:
    module = shifted()
    again = copied(module)
    assert repr(again) == repr(module)
    assert again.source("tir") == module.source("tir")
    for got, want in zip(again(X, INDEX), module(X, INDEX), strict=True):
        assert np.array_equal(got, want)
    with pytest.raises(gs.BoundsError) as e:
        again(X, INDEX + 1)
    assert e.value.tensor == "i" and e.value.position == (0,)


def test_an_update_computation() -> None:
    b = gs.Builder("halves")
    x, i = b.input("x", (2,), "float64"), b.input("i", (3,), "int64")
    b.output(gj.at(x)[i].apply(lambda old: old / 2 + 1))
    x, i = np.array([8.0, 1.0]), np.array([0, 0, 1])
    assert through_pickle(b.build())(x, i).tolist() == [3.5, 1.5]


def test_a_long_chain_needs_no_recursion() -> None:
    b = gs.Builder("chain")
    x = b.input("x", (3,), "float32")
    for _ in range(5000):
        x = b.neg(x)
    b.output(x)
    graph = b.graph()
    assert len(through_pickle(graph).values) == len(copy.deepcopy(graph).values) == 5001


def test_rows_of_tables_are_themselves() -> None:
    assert all(through_pickle(row) is row for row in REDUCTIONS.values())
    other = variant("min", zeros="sign")
    assert through_pickle(other) == other != REDUCTIONS["min"]
    assert through_pickle(gs.Float(32)) is gs.Float(32)


def call(module: gs.Module) -> Any:
    return [a.tolist() for a in module(X, INDEX)]


def test_another_process_gets_a_module() -> None:
    module = shifted()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(call, (module,)) == call(module)


@COPIES
def test_what_is_refused_says_why(copied: Any) -> None:
    b = gs.Builder("rows")
    x = b.input("x", (3,), "float32")
    b.output(x + 1)
    for thing, kind, words in [
        (b, gs.GraphError, "builder 'rows' is not copied or pickled"),
        (x, gs.GraphError, "x is a value of a builder"),
        (b.build().bind(np.ones(3, "float32")), gs.ArgumentError, "rows: a bound call holds addresses of arrays"),
    ]:
        with pytest.raises(kind, match=words):
            copied(thing)


def test_rules_that_cannot_be_pickled() -> None:
    class Local:
        name = "local"

        def apply(self, nest: Any, ctx: Any) -> None:
            return None

    b = gs.Builder("rows")
    b.output(b.input("x", (3,), "float32") + 1)
    with pytest.raises(gs.ArgumentError, match=r"rows: its schedule rules cannot be copied or pickled: .*Local"):
        pickle.dumps(b.build(rules=[Local()]))


def test_a_loaded_graph_takes_no_more_values() -> None:
    value = through_pickle(shifted()._recipe.graph).outputs[0]
    with pytest.raises(gs.GraphError, match="copied or loaded, and takes no more values"):
        value + 1


def test_errors_keep_what_they_know() -> None:
    with pytest.raises(gs.BoundsError) as e:
        shifted()(X, INDEX + 1)
    again = through_pickle(e.value)
    assert str(again) == str(e.value)
    assert vars(again) == vars(e.value)
