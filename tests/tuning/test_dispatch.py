"""A call takes the module for the distribution that its indices look like, and is right whatever it takes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import WINNER, Database, Record, key_of, numbered
from gscompile.tuning import dispatch
from gscompile.tuning.indices import draw_of
from tests.tuning import graphs

KNOWN = ["uniform", "sorted", "constant", "zipf:1.5", "blocked:16", "runs:32"]


def database(path: Path, b: gs.Builder) -> Path:
    g = b.graph()
    for k, name in enumerate(KNOWN[:3]):
        key = replace(key_of(g, resolve("llvm")), indices={"1": name})
        choices: Any = numbered(g, {"take_2": {"prefetch": (0, 4, 8)[k]}})
        Database(path).append(Record(WINNER, key, choices, "ok", 1.0, 2.0, 2.0))
    return path


@pytest.mark.parametrize("limit,points", [(3000, 5000), (40, 20_000), (1_000_000, 3000)])
def test_distributions_are_recognised(limit: int, points: int, tmp_path: Path) -> None:
    b = graphs.rows(limit, points)
    d = gs.dispatch(b, database=tmp_path / "none", indices=KNOWN)
    x = np.zeros((limit, 4), "float32")
    for seed in range(5):
        for name in KNOWN:
            assert d.choose(x, draw_of(name)(np.random.default_rng(seed), limit, (points,))) == name


def test_calls_are_right_and_use_winners(tmp_path: Path) -> None:
    b = graphs.rows(width=32)
    d = gs.dispatch(b.build(), database=database(tmp_path / "db", b), indices=KNOWN[:4])
    assert [m.choices.get("take_2", {}).get("prefetch") for m in d.modules.values()] == [0, 4, 8, None]
    x = np.arange(96_000, dtype="float32").reshape(3000, 32)
    for name in KNOWN:
        i = draw_of(name)(np.random.default_rng(1), 3000, (5000,))
        assert np.array_equal(d(x, i), x[i]) and np.array_equal(d(i=i, x=x), x[i])
    with pytest.raises(gs.BoundsError):
        d(x, np.full(5000, 3000))
    with pytest.raises(gs.GSError):
        d(x)


def test_a_module_has_its_own_target(tmp_path: Path) -> None:
    target = {"kind": "llvm", "mcpu": "x86-64-v2"}
    m = graphs.rows().build(target)
    found = [gs.dispatch(m, *given, database=tmp_path / "none", indices=["uniform"]) for given in ((), ("llvm",))]
    assert [repr(d.modules["uniform"]) for d in found] == [repr(m), repr(graphs.rows().build())]


def test_sizes_that_a_call_tells(tmp_path: Path) -> None:
    b = graphs.symbolic()
    d = gs.dispatch(b, database=tmp_path / "none", indices=["uniform", "sorted"])
    rng = np.random.default_rng(0)
    for n, e in ((50, 4000), (7, 300), (3, 1), (1, 0)):
        x, i, s = rng.integers(0, 9, (n, 8), "int32"), rng.integers(0, n, e), rng.integers(0, 9, (e, 8), "int32")
        want = x.copy()
        np.add.at(want, i, s)
        assert np.array_equal(d(x, i, s), want)
        if e > 1000:
            assert (d.choose(x, i, s), d.choose(x, np.sort(i), s)) == ("uniform", "sorted")


def test_looking_takes_two_percent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: a call takes 1 ms, a look 0.1 ms."""
    now, looked = [0.0], [0]
    d = gs.dispatch(graphs.rows(), database=tmp_path / "none", indices=["uniform", "sorted"])

    def choose(*arrays: Any) -> str:
        now[0] += 1e-4
        looked[0] += 1
        return "sorted"

    def call(*arrays: Any) -> int:
        now[0] += 1e-3
        return 1

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(dispatch.Dispatched, "choose", lambda self, *arrays: choose(*arrays))
    d.modules = {"uniform": lambda *_: 0, "sorted": call}  # type: ignore[dict-item]
    assert [d(1, 2) for _ in range(1000)] == [1] * 1000
    assert 150 < looked[0] <= 201  # the first one knows the sizes, and is not counted


def test_mistakes(tmp_path: Path) -> None:
    for indices, message in (("uniform", "a list"), ([], "a list"), (["gone"], "no distribution")):
        with pytest.raises(gs.ArgumentError, match=message):
            gs.dispatch(graphs.rows(), database=tmp_path / "none", indices=indices)
    with pytest.raises(gs.ArgumentError, match="dispatch: a builder, a graph or a module is needed; got int"):
        gs.dispatch(3, database=tmp_path / "none", indices=["uniform"])  # type: ignore[arg-type]
    b = gs.Builder("plain")
    b.output(b.exp(b.input("x", (3,), "float32")))
    with pytest.raises(gs.ArgumentError, match="no input of plain indexes another"):
        gs.dispatch(b, database=tmp_path / "none", indices=["uniform"])
