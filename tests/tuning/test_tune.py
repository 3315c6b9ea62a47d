"""Tuning: what is found is right, better by more than noise or nothing, and survives crashes, hangs and interrupts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import TRIAL, WINNER, Database, key_of
from gscompile.ir import machine
from gscompile.tuning import tune as tuning
from gscompile.tuning.candidates import Space, text_of
from gscompile.tuning.indices import specs_of
from gscompile.tuning.processes import Process
from gscompile.tuning.progress import Progress
from gscompile.tuning.result import Trial, Tuned
from gscompile.tuning.search import search_of
from gscompile.tuning.tune import DRAWS, _Run
from gscompile.tuning.winner import chosen, gains
from gscompile.tuning.worker import Answer, Job, Measure, MeasureAgain, Prepare, WithoutGpu, differs
from tests.tuning import graphs
from tests.tuning.boards import without_torch
from tests.tuning.hostile import Hostile, Off

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
needs_optuna = "the extra [tune] is not installed"


def space_of(b: gs.Builder, rules: tuple[Any, ...] = ()) -> Space:
    g = b.graph()
    return Space.of(g, resolve("llvm"), rules, sizes={n: graphs.SIZES[n] for n in g.symbols}, threads=2)


# -- candidates


@pytest.mark.parametrize("name", graphs.ALL)
def test_all_candidates_are_distinct_and_known_by_their_suggestions(name: str) -> None:
    space = space_of(graphs.ALL[name]())
    some = [c for c, _ in zip(space, range(300), strict=False)]
    assert some[0] == {} and len({text_of(c) for c in some}) == len(some) == min(len(space), 300)
    for c in [*some, *space.first()]:
        given = space.suggestions(c)
        assert given is not None
        assert text_of(space.walk(lambda n, v, given=given: given[n])) == text_of(c)  # type: ignore[misc]
    assert space.suggestions({"nowhere": {"rule": "rows"}}) is None
    assert all(len(c) == 1 for c in space.first())


@pytest.mark.parametrize("name", graphs.ALL)
def test_candidates_are_valid_by_construction(name: str) -> None:
    """Whatever is chosen together: the rules offer it."""
    b, rng = graphs.ALL[name](), random.Random(0)
    space, drawn = space_of(b), {}
    for _ in range(60):
        c = space.drawn(rng)
        drawn[text_of(c)] = c
    for c in drawn.values():
        lower(b.graph(), resolve("llvm"), choices=c)
    assert len(drawn) > 10


@pytest.mark.parametrize("search", ["optuna", "random", "exhaustive"])
def test_searches_ask_for_each_candidate_once(search: str) -> None:
    if search == "optuna":
        pytest.importorskip("optuna", reason=needs_optuna)
    space = space_of(graphs.columns())
    found, s = [], search_of(search, space, 0)
    s.tell(space.first()[0], "ok", 0.5)  # of an earlier run
    while len(found) < 40 and (c := s.ask()) is not None:
        found.append(text_of(c))
        s.tell(c, "ok" if len(found) % 3 else "pruned", 1.0 + len(found))
    assert len(set(found)) == len(found) > min(len(space), 40) // 2
    assert text_of({}) not in found and text_of(space.first()[0]) not in found
    if search == "exhaustive":
        assert len(found) == len(space) - 2


def test_optuna_begins_with_the_branches_and_finds_what_is_best() -> None:
    pytest.importorskip("optuna", reason=needs_optuna)
    space = space_of(graphs.added())
    s, costs = search_of("optuna", space, 0), {}
    first = [text_of(c) for c in space.first()]
    for k in range(40):
        c = s.ask()
        assert c is not None
        if k < len(first):
            assert text_of(c) == first[k]
        given = c.get("put_3", {})
        costs[k] = 1.0 - 0.5 * (given.get("rule") == "privatised") - 0.3 * (given.get("chunks") == 16)
        s.tell(c, "ok", costs[k])
    assert min(costs.values()) < 0.25


def test_a_search_that_is_none() -> None:
    with pytest.raises(gs.ArgumentError, match="no search 'grid'; known: optuna, random, exhaustive"):
        gs.tune(graphs.rows(), search="grid")


# -- results


def test_floats_may_round_otherwise_and_integers_not() -> None:
    x = np.linspace(0, 1, 100, dtype="float32")
    assert differs([x * np.float32(1.00001)], [x]) is None
    assert differs([x * np.float32(1.01)], [x]) == "result 0: off by 1.0e-02 of the largest element"
    assert differs([x, x.astype(int) + 1], [x, x.astype(int)]) == "result 1: 100 of 100 elements differ"
    nan = np.where(x > 0.5, np.nan, x)
    assert (
        differs([nan], [nan]) is None and differs([x.astype("float64")], [nan]) == "result 0: other elements are finite"
    )


def draw(default: list[float], same: list[float], *candidates: list[float]) -> Answer:
    """What one draw of arrays gave."""
    times = {"default": default, "again": same, **{str(k): t for k, t in enumerate(candidates)}}
    return Answer("ok", times=times)


def test_gains_within_noise_are_none() -> None:
    none = Trial({}, "ok", 1.0, 1.0, 1.0)
    fast, faster = (Trial({"a": {"b": k}}, "ok", 1.0, 1.0, 1.5) for k in range(2))
    quiet = [1.0, 1.01, 1.0, 0.99, 1.0]
    loud = [1.0, 1.3, 0.7, 1.2, 0.8]
    both = {"0": fast, "1": faster}
    found, noise = chosen({"0": fast}, [draw(quiet, quiet, [t] * 5) for t in (0.9, 0.5, 0.8)], none)
    assert found.choices == fast.choices and noise < 0.02
    assert (found.ratio, found.ms, found.default_ms) == pytest.approx((1.25, 0.8, 1.0))  # of the draw in the middle
    assert chosen({"0": fast}, [draw(quiet, loud, [0.9] * 5)] * 3, none)[0] is none
    assert chosen({"0": fast}, [draw(quiet, loud, [0.5] * 5)] * 3, none)[0].choices == fast.choices
    assert chosen(both, [draw(quiet, quiet, [0.9] * 5, [0.8] * 5)] * 3, none)[0].choices == faster.choices
    assert chosen({}, [draw(quiet, quiet, [1.1] * 5)], none)[0] is none
    assert chosen({}, [Answer("crashed")], none) == (none, 0.0)


def test_who_does_not_gain_on_a_draw() -> None:
    quiet = [1.0, 1.01, 1.0, 0.99, 1.0]
    assert gains(draw(quiet, quiet, [0.9] * 5), "0")
    assert not gains(draw(quiet, quiet, [0.99] * 5), "0")  # by too little
    assert not gains(draw(quiet, quiet), "0")  # its result was wrong on these arrays
    assert not gains(Answer("crashed"), "0")


class Scripted:
    """A place that answers each request to measure again with the next of some draws."""

    def __init__(self, *draws: dict[str, list[float]]) -> None:
        self.draws, self.asked = list(draws), list[MeasureAgain]()

    def ask(self, request: MeasureAgain, patience_s: float) -> Answer:
        self.asked.append(request)
        times = {"default": [1.0] * 5, "again": [1.0] * 5, **self.draws.pop(0)}
        return Answer("ok", times={n: t for n, t in times.items() if n in ("default", "again", *request.candidates)})


def winner_of(*draws: dict[str, list[float]]) -> tuple[Tuned, list[MeasureAgain]]:
    """What is recorded of two candidates that look twice as fast, after so many draws."""
    g, place = graphs.added().graph(), Scripted(*draws)
    job = Job(g, resolve("llvm"), (), False, specs_of(g, None), {}, 1)
    trials = [Trial({"put_3": {"chunks": n}}, "ok", 0.5, 1.0, 2.0) for n in (8, 16)]
    run = _Run(job, cast(Any, place), "", key_of(g, resolve("llvm")), Space(()), cast(Any, None), None, 2, 0.0, None, 0)
    run.trials = trials
    return run.result(False), place.asked


def test_a_winner_gains_on_several_fresh_draws() -> None:
    """One that is faster on two of three draws is none: where its memory lay may have made it so."""
    good, bad = [0.8] * 5, [1.2] * 5
    found, asked = winner_of(*[{"0": good, "1": [0.9] * 5}] * 3)
    assert found.choices == {"put_3": {"chunks": 8}} and found.ratio == pytest.approx(1.25)
    assert len({a.seed for a in asked}) == len(asked) == DRAWS == 3 and all(len(a.candidates) == 2 for a in asked)
    found, asked = winner_of({"0": good, "1": good}, {"0": bad, "1": good}, {"1": good})
    assert found.choices == {"put_3": {"chunks": 16}}
    assert [list(a.candidates) for a in asked] == [["0", "1"], ["0", "1"], ["1"]]
    found, asked = winner_of({"0": good, "1": bad}, {"0": good}, {"0": bad})
    assert found.choices == {} and found.ratio == 1 and len(asked) == 3
    found, asked = winner_of({"0": bad, "1": bad})
    assert found.choices == {} and len(asked) == 1


def test_folders_of_killed_runs_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left, others = tmp_path / f"gscompile-tune-{process.pid}-a", tmp_path / f"gscompile-tune-{os.getpid()}-b"
    left.mkdir()
    others.mkdir()
    made = Path(tuning.new_cache())
    assert made.is_dir() and made.parent == tmp_path and others.is_dir() and not left.exists()


# -- whole


def test_tuning_and_what_is_kept(tmp_path: Path) -> None:
    """A run, its records, a second run that goes on from them, and a build that uses them."""
    path, seen = tmp_path / "db.jsonl", list[Progress]()
    b = graphs.added()
    r = gs.tune(b, indices="zipf:1.1", trials=6, search="random", database=path, progress=seen.append)
    assert [p.trials for p in seen] == list(range(1, 7)) and seen[-1].wanted == 6 and seen[-1].default_ms > 0
    assert len(r.trials) == 6 and not r.interrupted and r.indices == {"i": "zipf:1.1"}
    assert {t.state for t in r.trials} <= {"ok", "same", "pruned"} and any(t.state == "ok" for t in r.trials)
    records = Database(path).records()
    assert [x.kind for x in records] == [TRIAL] * 6 + [WINNER]
    assert records[0].key.indices == {"1": "zipf:1.1"}
    assert r.ratio >= 1 and (r.ratio == 1) == (not r.choices)
    assert b.build(database=path, indices="zipf:1.1").choices == r.choices == r.build().choices
    assert len(r.table()) == 6 and {"trial", "state", "ms", "ratio", "put_3.rule"} <= set(r.table()[0])
    assert f"{b.name}: 6 trials" in str(r)

    more = gs.tune(b, indices="zipf:1.1", trials=8, search="random", database=path, progress=False)
    assert [t.choices for t in more.trials[:6]] == [t.choices for t in r.trials]
    assert len({text_of(t.choices) for t in more.trials}) == len(more.trials) == 8
    assert "6 from the database" in str(more)
    assert Counter(x.kind for x in Database(path).records()) == {TRIAL: 8, WINNER: 2}

    path.write_bytes(b"torn\n{}\n" + path.read_bytes())
    with pytest.warns(UserWarning, match=r"skipped: .*line 1 is no JSON, and 1 more line$"):
        assert len(gs.tune(b, indices="zipf:1.1", trials=8, search="random", database=path, progress=False).trials) == 8


def test_candidates_that_are_wrong_or_crash_or_hang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Real ones: code that calls abort, that never ends, that computes something else; and a rule that raises."""
    monkeypatch.setattr(tuning, "PATIENCE_S", 2.0)
    monkeypatch.setattr("gscompile.tuning.processes.START_S", 20.0)
    b = gs.Builder("hostile")
    b.output(b.take(b.input("x", (5000,), "float32"), b.input("i", (20_000,), "int64")))
    r = gs.tune(b, rules=[Hostile()], trials=20, search="exhaustive", database=tmp_path / "db", progress=False)
    states = {t.choices.get("take_2", {}).get("mood"): t for t in r.trials}
    assert {m: t.state for m, t in states.items() if m is not None} == {
        "wrong": "wrong", "dead": "crashed", "slow": "pruned", "endless": "hung", "broken": "failed"
    }  # fmt: skip
    assert "20000 elements" in states["wrong"].why or "off by" in states["wrong"].why
    assert states["dead"].why == "SIGABRT" and "a mistake in a rule" in states["broken"].why
    assert sum(t.state == "ok" for t in r.trials) >= 1
    assert len(Database(tmp_path / "db").records()) == len(r.trials) + 1
    assert r.choices.get("take_2", {}).get("mood") is None


def test_mistakes(tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason=needs_optuna)  # the default search
    with pytest.raises(gs.ArgumentError, match="needs a number for"):
        gs.tune(graphs.symbolic())
    with pytest.raises(gs.ArgumentError, match="no distribution 'normal'"):
        gs.tune(graphs.rows(), indices="normal")
    with pytest.raises(gs.ArgumentError, match="a builder, a graph or a module is needed; got int"):
        gs.tune(3)  # type: ignore[arg-type]
    with pytest.raises(gs.ArgumentError, match="trials is an int"):
        gs.tune(graphs.rows(), trials=-1)
    for seconds in (-1.0, float("nan")):
        with pytest.raises(gs.ArgumentError, match="time is a number of seconds"):
            gs.tune(graphs.rows(), time=seconds)
    other = tmp_path / "other.npy"
    np.save(other, np.arange(3))
    before = other.read_bytes()
    with pytest.raises(gs.ArgumentError, match=r"other.npy: is another kind of file, with no record in it"):
        gs.tune(graphs.rows(), database=other)
    assert other.read_bytes() == before
    with pytest.raises(gs.ArgumentError, match=r"report: cannot write nowhere/a.html: a file in a folder that exists"):
        gs.tune(graphs.rows(), report="nowhere/a.html")  # before anything is built


GPU = {"kind": "cuda", "arch": "sm_80"}
without_gpu = pytest.mark.skipif(machine.cuda_exists(), reason="there is a GPU: candidates are measured")


@without_gpu
def test_a_gpu_that_is_not_here(tmp_path: Path) -> None:
    """Candidates are compiled and compared; those whose threads share memory are compiled.  Nothing is measured or kept."""
    r = gs.tune(graphs.added(points=3000), GPU, trials=5, search="random", database=tmp_path / "db", progress=False)
    assert len(r.trials) == 5 and "nothing was measured: that needs a GPU" in str(r)
    states = Counter(t.state for t in r.trials)
    assert states["right"] >= 1 and states["built"] >= 1 and set(states) <= {"right", "built", "same"}, r.trials
    assert all(t.ms == 0 for t in r.trials if t.state == "right") and r.ms == r.default_ms == 0
    built = next(t for t in r.trials if t.state == "built")
    assert built.choices["put_3"]["rule"] == "privatised" and "not compared" in built.why
    assert r.choices == {} and r.ratio == 1 and not Database(tmp_path / "db").records()
    assert r.build().stats.kernels


@without_gpu
def test_wrong_candidates_for_a_gpu_that_is_not_here() -> None:
    r = gs.tune(graphs.rows(), GPU, rules=(Off(),), trials=9, search="exhaustive", progress=False)
    states = {(t.choices["take_2"].get("off", 0), t.state) for t in r.trials}
    assert states == {(0, "right"), (1, "wrong")}, r.trials


@without_gpu
@pytest.mark.parametrize("name", ["rows", "added", "chain", "bags", "columns"])
def test_every_candidate_for_cuda_is_right(name: str) -> None:
    """Each branch of each nest, and each value of what it leaves open, by itself."""
    b = graphs.ALL[name]()
    space = Space.of(b.graph(), resolve(GPU))
    job = Job(b.graph(), resolve(GPU), (), False, specs_of(b.graph(), None), {}, 1)
    worker = WithoutGpu(job)
    assert worker.answer(Prepare(0)).state == "ok"
    tried = 0
    for nest in space.nests:
        for branch in nest.branches:
            for choice in branch.free.values():
                for value in choice.values:
                    given = {nest.nest: {**branch.given, choice.name: value}}
                    lower(b.graph(), resolve(GPU), choices=given)
                    answer = worker.answer(Measure(given))
                    tried += 1
                    together = any(rule in answer.why for rule in ("'bags'", "'privatised'", "'in_flight'"))
                    assert answer.state == "right" or together, (given, answer)
    assert tried >= 5


def test_a_graph_that_cannot_be_called() -> None:
    b = gs.Builder("far")
    i = b.input("i", (30,), "int64")
    b.output(b.take(b.input("x", (100,), "float32"), i + 100))
    with pytest.raises(gs.ArgumentError, match=r"the default cannot be measured: failed: .*out of range"):
        gs.tune(b, trials=1, search="random")


SCRIPT = """
import signal, sys
import gscompile as gs
signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores it
from tests.tuning import graphs
def tell(p):
    print(p.trials, flush=True)
r = gs.tune(graphs.added(), trials=500, search="random", database=sys.argv[1], progress=tell, seed=int(sys.argv[2]))
print("interrupted", r.interrupted, len(r.trials), flush=True)
"""


def started(path: Path, seed: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(path), str(seed)]
    environment = {**os.environ, "PYTHONPATH": without_torch(path.parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    process = started(tmp_path / "db")
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 3:
            break
    process.send_signal(signal.SIGINT)
    *_, last = process.stdout.read().splitlines()
    assert process.wait(60) == 0
    assert last.startswith("interrupted True")
    records = Database(tmp_path / "db").records()
    assert [r.kind for r in records[-2:]] == [TRIAL, WINNER] and len(records) == int(last.split()[-1]) + 1 >= 4


def test_killed_runs_lose_no_trial_and_leave_no_process(tmp_path: Path) -> None:
    database, path = Database(tmp_path / "db"), tmp_path / "db"
    for k in range(2):
        before = len(database.records())
        process = started(path, k)
        assert process.stdout is not None
        done = next(int(line) for line in process.stdout if int(line) >= before + 2)
        children = descendants_of(process.pid)
        process.kill()
        process.wait()
        assert len(database.records()) >= done and not database.problems
        assert len(children) >= 3  # that builds, that measures, and that they are forked of
        end = time.monotonic() + 20
        while any(map(alive, children)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not any(map(alive, children))


def children_of(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(folder.name))
    return found


def descendants_of(pid: int) -> list[int]:
    return [found for child in children_of(pid) for found in (child, *descendants_of(child))]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next() -> None:
    class Waiting:
        closed = 0

        def send(self, request: Any) -> None: ...

        def poll(self, patience_s: float) -> bool:
            raise KeyboardInterrupt

        def close(self) -> None:
            self.closed += 1

    process: Any = Process(cast(Any, None), "")
    process._ended, told = os.pipe()
    os.close(told)
    waiting = Waiting()
    process._ready, process._connection = True, waiting
    with pytest.raises(KeyboardInterrupt):
        process.ask(cast(Any, None), 1.0)
    assert waiting.closed == 1 and not process.running and not process._ready
