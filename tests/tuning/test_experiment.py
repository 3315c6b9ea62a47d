"""``gs.experiment``: a row for each choice, distribution and size, each compared with the default."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.tuning.experiment import Table
from tests.tuning import graphs
from tests.tuning.hostile import Hostile


def test_rules_and_ways_by_distribution_and_size() -> None:
    table = gs.experiment(
        graphs.symbolic(),
        indices=["uniform", {"i": "sorted"}],
        sizes=[{"n": 20, "e": 300}, {"n": 30, "e": 90}],
        rounds=1,
    )
    choices = {row["choice"] for row in table}
    assert "default" in choices and "owned-rows: in order" in choices
    assert len(table) == len(choices) * 4
    assert {(r["indices"], r["n"], r["e"]) for r in table} == {
        (i, n, e) for i in ("uniform", "sorted") for n, e in ((20, 300), (30, 90))
    }
    for row in table:
        assert row["state"] == "ok" and 0 < row["low"] <= row["ms"] <= row["high"] and row["gb_per_s"] > 0
        assert row["choice"] == "default" or row["rules"] == row["choice"].partition(":")[0]
    assert set(table.best()) == {f"{i} n={n}, e={e}" for i in ("uniform", "sorted") for n, e in ((20, 300), (30, 90))}
    assert "| owned-rows: in order" in str(table) and "uniform n=20, e=300" in str(table)


def test_wrong_results_are_told() -> None:
    b = gs.Builder("picked")
    b.output(b.take(b.input("x", (50,), "float32"), b.input("i", (70,), "int64")))
    choices: Any = {"wrong": {"take_2": {"mood": "wrong"}}, "fine": {"take_2": {"mood": "fine"}}}
    table = gs.experiment(b, choices=choices, rules=[Hostile()], rounds=1)
    assert {r["choice"]: r["state"] for r in table} == {"default": "ok", "wrong": "wrong", "fine": "ok"}
    assert "wrong" not in table.best().values()
    assert table.best().keys() == {"uniform"}


def row(choice: str, indices: str, ms: float) -> dict[str, Any]:
    return {"graph": "g", "choice": choice, "rules": "rows", "indices": indices, "ms": ms, "low": ms, "high": ms,
            "ratio": 1.0, "gb_per_s": 1.0, "state": "ok"}  # fmt: skip


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(
        [row("a", "uniform", 1.0), row("b", "uniform", 2.0), row("a", "sorted", 4.0), row("b", "sorted", 3.0)]
    )
    assert table.best() == {"uniform": "a", "sorted": "b"}
    assert str(table).splitlines()[2].split() == ["|", "a", "|", "1", "|", "4", "|"]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gs.MissingExtraError, match="pip install pandas"):
        table.pandas()
    pytest.importorskip("matplotlib", reason="the extra [plot] is not installed")
    assert table.plot(tmp_path / "out.svg").read_text().count("<svg") == 1


def test_mistakes() -> None:
    with pytest.raises(gs.ArgumentError, match="indices are a list"):
        gs.experiment(graphs.rows(), indices="uniform")
    with pytest.raises(gs.ArgumentError, match="has no choice 'edge' here"):
        gs.experiment(graphs.rows(), choices={"a": {"take_2": {"edge": 3}}})
    with pytest.raises(gs.ArgumentError, match="a builder or a graph is needed"):
        gs.experiment(3)  # type: ignore[arg-type]
    with pytest.raises(gs.TargetError, match="not measured yet"):
        gs.experiment(graphs.rows(), {"kind": "cuda", "arch": "sm_80"})
