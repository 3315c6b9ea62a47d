"""``gs.experiment``: a row for each choice, distribution and size, each compared with the default."""

from __future__ import annotations

import mmap
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.compiler.targets import resolve
from gscompile.ir import machine
from gscompile.tuning import counters
from gscompile.tuning.counters import EVENTS, counted, missing
from gscompile.tuning.experiment import Table, notes
from tests.tuning import graphs
from tests.tuning.hostile import Hostile, Off


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
    assert table.text("page_faults").splitlines()[3].split()[3] == "wrong"
    assert table.best().keys() == {"uniform"}


def test_what_is_counted_of_a_cpu() -> None:
    """Bytes by hand: a float32 of 8 for each point is written, and its index and what it picks are read."""
    table = gs.experiment(graphs.rows(3000, 5000, 8), rounds=1)
    assert {(r["written_bytes"], r["workspace_bytes"]) for r in table} == {(5000 * 32, 0)}
    assert {r["read_bytes"] for r in table} == {5000 * 8 + 3000 * 32}
    for name in EVENTS:
        assert {r[name] is None for r in table} == {missing(name) is not None}, name
        assert any(name in note for note in table.notes) == (missing(name) is not None)
    assert not any("launches" in r for r in table)


@pytest.mark.skipif(missing("page_faults") is not None, reason=f"perf_event_open: {missing('page_faults')}")
def test_page_faults_of_all_threads_are_counted() -> None:
    """One for each page of fresh memory that is written, by this thread and by one that was there before."""
    pages, page = 70, mmap.PAGESIZE

    def touch() -> None:
        with mmap.mmap(-1, pages * page) as memory:
            if hasattr(mmap, "MADV_NOHUGEPAGE"):
                memory.madvise(mmap.MADV_NOHUGEPAGE)
            for k in range(pages):
                memory[k * page] = 1

    def both() -> None:
        touch()
        pool.submit(touch).result()

    with ThreadPoolExecutor(1) as pool:
        both()
        alone, found = counted(touch, 4)["page_faults"], counted(both, 4)["page_faults"]
    assert alone is not None and found is not None
    assert pages <= alone < 1.5 * pages and 2 * pages <= found < 3 * pages


@pytest.mark.skipif(missing("instructions") is not None, reason=f"perf_event_open: {missing('instructions')}")
def test_instructions_are_counted() -> None:
    few, many = np.ones(1000), np.ones(1_000_000)
    less, more = (counted(lambda x=x: np.sort(x), 5)["instructions"] for x in (few, many))  # type: ignore[misc]
    assert less is not None and more is not None and more > 100 * less > 0


def test_what_cannot_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "_CALL", None)
    assert "not on" in str(missing("cycles"))
    assert set(counted(lambda: None, 1).values()) == {None}
    assert "perf_event_open: not on" in next(notes(resolve("llvm")))


@pytest.mark.skipif(machine.cuda_exists(), reason="there is a GPU: calls are timed")
def test_a_gpu_that_is_not_here() -> None:
    """No times, and what its kernels take: a base that is copied and points that are added are two launches."""
    b = graphs.added(points=3000)
    table = gs.experiment(b, {"kind": "cuda", "arch": "sm_80"})
    assert {r["choice"]: r["state"] for r in table} == {"default": "built", "privatised": "built", "atomics": "right"}
    for r in table:
        assert r["launches"] == 2 and r["written_bytes"] == 1200 and r["read_bytes"] == 3000 * 12 + 1200
        assert (r["ms"], r["ratio"], r["gb_per_s"]) == (None, None, None) and not EVENTS.keys() & r.keys()
    assert table.best() == {} and "not timed here: that needs a GPU" in table.notes
    text = str(table)
    assert text.splitlines()[0].split()[1:6:2] == ["choice", "indices", "state"] and "not timed here" in text
    if nvcc.available() is None:
        assert {r["registers"] for r in table} == {None} and "not known here: registers" in text
    else:
        by_name = {r["choice"]: r for r in table}
        assert all(16 <= r["registers"] <= 255 and 0 < r["occupancy"] <= 1 for r in table)
        assert by_name["privatised"]["shared_bytes"] == 1200 and by_name["atomics"]["shared_bytes"] == 0


def test_a_gpu_that_is_not_here_and_a_wrong_rule() -> None:
    choices: Any = {"off": {"take_2": {"off": 1}}}
    table = gs.experiment(graphs.rows(), {"kind": "cuda", "arch": "sm_80"}, choices=choices, rules=[Off()], rounds=1)
    assert {r["choice"]: r["state"] for r in table}["off"] == "wrong"


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
    with pytest.raises(gs.ArgumentError, match="no row has launches"):
        table.plot(tmp_path / "out.svg", "launches")
    counted = Table(
        [{**row("a", "uniform", 1.0), "instructions": 12345.6}, {**row("b", "uniform", 2.0), "instructions": None}]
    )
    assert [line.split()[3] for line in counted.text("instructions").splitlines()[2:]] == ["12,346", "-"]
    assert "instructions" in counted.plot(tmp_path / "more.svg", "instructions").read_text()


def test_mistakes() -> None:
    with pytest.raises(gs.ArgumentError, match="indices are a list"):
        gs.experiment(graphs.rows(), indices="uniform")
    with pytest.raises(gs.ArgumentError, match="has no choice 'edge' here"):
        gs.experiment(graphs.rows(), choices={"a": {"take_2": {"edge": 3}}})
    with pytest.raises(gs.ArgumentError, match="a builder, a graph or a module is needed"):
        gs.experiment(3)  # type: ignore[arg-type]
    with pytest.raises(gs.DeviceError):
        gs.experiment(graphs.rows(), {"kind": "llvm", "mtriple": "aarch64-linux-gnu"})
    with pytest.raises(gs.ArgumentError, match="no column 'flops'; there are ms, low"):
        Table([row("a", "uniform", 1.0)]).text("flops")
