"""Candidates are measured on boards that a tracker of TVM's RPC knows: here two servers, and a tracker, on the loopback."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from gscompile.compiler import tuned
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import TRIAL, WINNER, Database, cpu, named
from gscompile.runtime.threads import available_cores
from gscompile.tuning import places
from gscompile.tuning import tune as tuning
from gscompile.tuning.progress import Progress
from tests.tuning import graphs
from tests.tuning.boards import Fleet, until
from tests.tuning.hostile import Hostile

for needed in ("tornado", "cloudpickle", "psutil"):
    pytest.importorskip(needed, reason=f"the extra [fleet] is not installed: TVM's tracker needs {needed}")
MACHINE = f"{cpu()}, {available_cores()} cores, {available_cores()} threads"
DONE = {"ok", "same", "pruned"}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    found = Fleet(tmp_path_factory.mktemp("fleet"))
    yield found
    found.kill()


@pytest.fixture
def fleet(started: Fleet) -> Fleet:
    """Two boards that nobody uses."""
    while len(started.alive) < 2:
        started.join()
    until(lambda: started.free() == 2)
    return started


def test_the_command(fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "graph.py").write_text(
        'def rows(b):\n    return b.take(b.input("x", (99, 8), "float32"), b.input("i", (50,), "int64"))\n'
    )
    argv = ["tune", f"{tmp_path / 'graph.py'}:rows", "--trials", "1", "--search", "random", "--quiet"]
    options = [f"--{name}={value}" for name, value in fleet.given.items()]
    assert main([*argv, *options, "--database", str(tmp_path / "db")]) == 0
    assert capsys.readouterr().out.startswith("rows: 1 trial ")
    assert {x.key.machine for x in Database(tmp_path / "db").records()} == {MACHINE}


def test_two_boards(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are used; results are right; the records are for the boards' processor, and found by another machine's builds."""
    b, path, seen = graphs.long_rows(), tmp_path / "db", list[Progress]()
    target = {"kind": "llvm", "mcpu": resolve("llvm").facts.arch}
    served = {board: board.sessions for board in fleet.alive}
    given = {"search": "random", "indices": "zipf:1.1", "database": path, "progress": seen.append, **fleet.given}
    r = gs.tune(b, target, trials=6, **given)
    assert [p.trials for p in seen] == list(range(1, 7)) and seen[-1].default_ms > 0
    assert len(r.trials) == 6 and {t.state for t in r.trials} <= DONE, r.trials
    assert {board.sessions > before for board, before in served.items()} == {True}
    until(lambda: fleet.free() == 2)
    records = Database(path).records()
    assert Counter(x.kind for x in records) == {TRIAL: 6, WINNER: 1}
    assert {x.key.machine for x in records} == {MACHINE}
    x, i, s = np.ones((5000, 64), "int32"), np.full(40_000, 4999), np.full((40_000, 64), 2, "int32")
    want = x.copy()
    np.add.at(want, i, s)
    assert np.array_equal(r.build()(x, i, s), want)

    tried = next(x for x in records if x.kind == TRIAL and x.state == "ok")
    Database(path).append(replace(records[-1], choices=tried.choices))  # the default may have won
    monkeypatch.setattr(tuned, "machine", lambda: "another")
    m = b.build(target, database=path)
    assert m.choices == named(b.graph(), tried.choices) and np.array_equal(m(x, i, s), want)
    assert b.build(database=path).choices == b.build(target, database=path, machine="another").choices == {}
    m.export(tmp_path / "sent.so")
    assert np.array_equal(gs.load(tmp_path / "sent.so")(x, i, s), want)


def test_candidates_that_are_wrong_or_crash_or_hang_there(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are noted, and boards are used on."""
    monkeypatch.setattr(tuning, "PATIENCE_S", 2.0)
    b = gs.Builder("hostile")
    b.output(b.take(b.input("x", (5000,), "float32"), b.input("i", (20_000,), "int64")))
    r = gs.tune(b, rules=[Hostile()], trials=20, search="exhaustive", progress=False, **fleet.given)
    states = {t.choices.get("take_2", {}).get("mood"): t for t in r.trials}
    assert {m: t.state for m, t in states.items() if m is not None} == {
        "wrong": "wrong", "dead": "crashed", "slow": "pruned", "endless": "hung", "broken": "failed"
    }  # fmt: skip
    assert "20000 elements" in states["wrong"].why or "off by" in states["wrong"].why
    assert states["dead"].why == signal.SIGABRT.name and "a mistake in a rule" in states["broken"].why
    assert sum(t.state == "ok" for t in r.trials) >= 1
    until(lambda: fleet.free() == 2)


def test_boards_that_are_lost(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What one was busy with goes to the other; without any, tuning ends, what is finished is kept, and another run goes on."""
    monkeypatch.setattr(places, "WAIT_S", 1.0)
    seen = list[Progress]()

    def tell(p: Progress) -> None:
        seen.append(p)
        if p.trials == 2:
            fleet.busy()[0].kill()
        elif p.trials == 5:
            for board in fleet.alive:
                board.kill()

    b, path = graphs.long_rows(), tmp_path / "db"
    with pytest.raises(gs.DeviceError, match=r"the tracker at .* has no board of the key 'board'; it has none at all"):
        gs.tune(b, trials=20, search="random", database=path, progress=tell, **fleet.given)
    done = [p.last.state for p in seen]
    assert 5 <= len(done) < 20 and set(done) <= DONE, done
    assert [x.state for x in Database(path).records() if x.kind == TRIAL] == done
    fleet.join()
    r = gs.tune(b, trials=len(done) + 1, search="random", database=path, progress=False, **fleet.given)
    assert [t.seconds > 0 for t in r.trials] == [False] * len(done) + [True]


def test_what_does_not_answer(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAIT_S", 1.0)
    b, place = graphs.rows(), fleet.given["tracker"]
    with pytest.raises(
        gs.DeviceError, match=rf"the tracker at {place} has no board of the key 'x'; it has 'board' \(2\)"
    ):
        gs.tune(b, tracker=place, key="x")
    with pytest.raises(gs.DeviceError, match="no tracker of TVM's RPC answers at"):
        gs.tune(b, tracker=f"127.0.0.1:{fleet.alive[0].port}", key="board")
    tracker = fleet.connected()
    sessions = [tracker.request("board") for _ in fleet.alive]
    with pytest.raises(gs.DeviceError, match="all boards of the key 'board' are in use"):
        gs.tune(b, search="random", **fleet.given)
    del sessions
