"""What rules leave open: every value of every choice gives the default's result, and nothing else is taken."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler import disk_cache
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.ir import tir as T
from gscompile.ir.nests import MapNest
from gscompile.schedules import Choice, Context, Explorer, NestSpace
from gscompile.schedules.choices import AUTO, RULE, WAY
from tests.tuning import graphs


def space(b: gs.Builder, target: Any = "llvm", rules: tuple[Any, ...] = ()) -> list[NestSpace]:
    explorer = Explorer(graphs.SIZES, 2)
    lower(b.graph(), resolve(target), rules, explorer=explorer)
    return explorer.found


def each_value(spaces: list[NestSpace]) -> Iterator[tuple[str, dict[str, int | str]]]:
    """Every branch of every nest, and every value of each of its choices, one at a time."""
    for nest in spaces:
        for branch in nest.branches:
            yield nest.nest, dict(branch.given)
            for name, choice in branch.free.items():
                for value in choice.values:
                    yield nest.nest, {**branch.given, name: value}


def arrays(b: gs.Builder) -> list[Any]:
    rng, found = np.random.default_rng(0), []
    for v in b.graph().inputs:
        shape = [d if isinstance(d, int) else graphs.SIZES[str(d)] for d in v.shape]
        found.append(rng.integers(0, 48, shape).astype(v.dtype.name))
    return found


def test_every_value_gives_the_same_result() -> None:
    same_results("columns")


@pytest.mark.parametrize("name", [n for n in graphs.ALL if n != "columns"])
def test_every_value_of_larger_graphs(name: str) -> None:
    same_results(name)


def same_results(name: str) -> None:
    b = graphs.ALL[name]()
    given, want = arrays(b), b.build()(*arrays(b))
    tried = 0
    every = 3 if name == "symbolic" else 1  # which compiles three ways each time
    for nest, choices in itertools.islice(each_value(space(b)), 0, None, every):
        m = b.build(choices={nest: choices})
        assert m.choices == ({nest: choices} if choices else {})
        if RULE in choices:
            assert dict(m.stats.kernels)[nest] == choices[RULE]
        np.testing.assert_array_equal(m(*given), want)
        tried += 1
    assert tried > 10


def test_the_space_has_rules_ways_and_numbers() -> None:
    (found,) = space(graphs.added(width=16))
    assert [b.name for b in found.branches] == [
        AUTO, "chunked", "owned-rows: index scan", "owned-rows: in order", "owner-computes"
    ]  # fmt: skip
    assert found.branches[2].estimate and found.branches[3].estimate
    assert set(found.branches[2].free) == {"prefetch", "runs"}
    assert all(WAY not in b.free and RULE not in b.free for b in found.branches)
    (wide,) = space(graphs.added(width=64))  # which fit no registers
    assert set(wide.branches[2].free) == {"prefetch"}


def test_values_change_the_code_and_defaults_do_not() -> None:
    b = graphs.rows(width=32)
    code = b.build().source("tir")
    (found,) = space(b)
    for name, choice in found.branches[0].free.items():
        codes = {v: b.build(choices={"take_2": {name: v}}).source("tir") for v in choice.values}
        assert codes[choice.default] == code
        assert any(c != code for c in codes.values()), name


@pytest.mark.parametrize(
    "choices,message",
    [
        ({"nowhere": {"prefetch": 4}}, "no nest 'nowhere'; there are take_2"),
        ({"take_2": {"edge": 4}}, "take_2 has no choice 'edge' here; it has rule, "),
        ({"take_2": {"prefetch": 5}}, "prefetch is one of 0, 4, 8, 16, 32; got 5"),
        ({"take_2": {"prefetch": "4"}}, "got '4'"),
        ({"take_2": {"prefetch": "9" * 5000}}, "prefetch is one of 0, 4, 8, 16, 32; got '99"),
        ({"take_2": {"rule": "folds"}}, "rule 'folds' does not apply to it on llvm"),
        ({"take_2": {"rule": "none"}}, "rule 'none' does not apply"),
        ({"take_2": {"rule": "rows", "prefetch": 4}}, "take_2 has no choice 'prefetch' here"),
        ({"take_2": {"prefetch": True}}, "choices are"),
        ({"take_2": 3}, "choices are"),
        (7, "choices are"),
    ],
)
def test_what_is_no_choice_is_refused(choices: Any, message: str) -> None:
    with pytest.raises(gs.ArgumentError, match=message):
        graphs.rows(width=32).build(choices=choices)


def test_a_way_alone_chooses_among_all() -> None:
    b = graphs.added()
    assert dict(b.build().stats.kernels) == {"put_3": "privatised"}
    for way, rule in (("in order", "owned-rows"), ("index scan", "owned-rows"), ("privatised", "privatised")):
        assert dict(b.build(choices={"put_3": {"way": way}}).stats.kernels) == {"put_3": rule}


class Squares:
    """A user's rule with a choice."""

    name = "squares"
    edge = Choice("edge", (8, 32), default=32, when=lambda nest, target: len(nest.shape) == 2)  # type: ignore[attr-defined]

    def apply(self, nest: Any, ctx: Context) -> Any:
        if not isinstance(nest, MapNest) or not nest.shape:
            return None
        edge = ctx.choose(self.edge)
        n, rest = ctx.sizes(nest.shape[0]), ctx.sizes.shape(nest.shape[1:])

        def row(i: Any) -> Any:
            return T.for_(rest[0], lambda j: T.store(nest.out, [i, j], nest.element([i, j])), "j")

        blocks = T.quotient(n + (edge - 1), T.const(edge))
        return T.for_(blocks, lambda k: T.for_range(k * edge, T.minimum(k * edge + edge, n), row, "i"), "block")


def test_a_users_rule_declares_choices() -> None:
    b = graphs.rows()
    (found,) = space(b, rules=(Squares(),))
    assert [x.name for x in found.branches][:3] == [AUTO, "squares", "copies"]
    assert found.branches[1].free["edge"].values == (8, 32)
    given = arrays(b)
    m = b.build(rules=[Squares()], choices={"take_2": {"edge": 8}})
    assert "k * 8" in m.source("tir") or "* T.int64(8)" in m.source("tir")
    np.testing.assert_array_equal(m(*given), b.build()(*given))
    other = b.build(rules=[Squares()], choices={"take_2": {"rule": "copies"}})
    assert dict(other.stats.kernels) == {"take_2": "copies"}


def test_a_choice_that_is_none_there_keeps_its_default() -> None:
    b = gs.Builder("deep")
    b.output(b.exp(b.input("x", (3, 4, 5), "float32")))

    class Deep(Squares):
        def apply(self, nest: Any, ctx: Context) -> Any:
            assert ctx.choose(self.edge) == 32
            return None

    (found,) = space(b, rules=(Deep(),))
    assert all("edge" not in x.free for x in found.branches)


def test_cuda_has_a_space() -> None:
    found = space(graphs.chain(), {"kind": "cuda", "arch": "sm_80"})
    assert len(found) == 2
    names = {(x.name, n) for s in found for x in s.branches for n in x.free}
    assert {("copies", n) for n in ("access", "units", "cache", "block")} < names and ("atomics", "block") in names
    m = graphs.chain().build({"kind": "cuda", "arch": "sm_80"}, choices={found[1].nest: {"block": 64}})
    assert 'thread_binding(64, thread="threadIdx.x")' in m.source("tir") or "64" in m.source("tir")


@pytest.mark.skipif(disk_cache.linker() is None, reason="this system has no linker")
def test_choices_are_part_of_the_key_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.FOLDER, str(tmp_path))
    b, target = graphs.rows(width=32), resolve("llvm")
    slots = [disk_cache.slot(b.graph(), target, False, c) for c in (None, {}, {"take_2": {"prefetch": 4}})]
    assert slots[0] == slots[1] != slots[2]
    m = b.build(choices={"take_2": {"prefetch": 4}})
    found = b.build(choices={"take_2": {"prefetch": 4}})
    assert (m.from_cache, found.from_cache) == (False, True)
    assert found.source("tir") == m.source("tir") != b.build().source("tir")


def test_choices_are_pickled_and_explained() -> None:
    m = graphs.rows(width=32).build(choices={"take_2": {"prefetch": 4}})
    assert pickle.loads(pickle.dumps(m)).choices == m.choices == {"take_2": {"prefetch": 4}}
    assert "take_2: copies (given: prefetch 4)" in m.explain()
