"""Tuning spread over a Ray cluster: here one of two nodes, both of which are this machine."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.commands.main import main
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import TRIAL, WINNER, Database, Record, key_of, numbered
from gscompile.tuning.candidates import text_of
from gscompile.tuning.suite import Entry, tune_all
from tests.tuning import graphs
from tests.tuning.boards import until, without_torch
from tests.tuning.hostile import Deadly
from tests.tuning.test_tune import descendants_of, space_of

ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
GIVEN: dict[str, Any] = {"search": "random", "ray": ""}


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", without_torch(tmp_path_factory.mktemp("cluster")))
        yield from started(Cluster)


def started(Cluster: Any) -> Iterator[None]:
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.add_node(num_cpus=1)
    ray.init(found.address, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()
    found.shutdown()


def busy(pid: int) -> list[int]:
    """The processes that tune now, among those that a process has begun."""
    found = []
    for child in descendants_of(pid):
        with suppress(OSError):  # it has ended
            if b"Tuner.tune" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def meanwhile(do: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=do)
    thread.start()
    return thread


def test_graphs_are_spread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command: both nodes tune at once, and all records come to one database."""
    path, seen, ended = tmp_path / "db", set[int](), threading.Event()

    def look() -> None:
        while 2 not in seen and not ended.wait(0.05):
            seen.add(len(busy(os.getpid())))

    looking = meanwhile(look)
    (tmp_path / "two.py").write_text(
        "from tests.tuning import graphs\ndef two():\n    return [graphs.rows(), graphs.columns()]\n"
    )
    # the second node's process begins seconds after the first one's
    argv = ["tune", f"{tmp_path / 'two.py'}:two", "--trials", "12", "--search", "random", "--indices", "zipf:1.1"]
    assert main([*argv, "--database", str(path), "--ray"]) == 0
    ended.set()
    looking.join()
    said = capsys.readouterr().out
    assert 2 in seen and "rows: 12 trials" in said and "columns: 12 trials" in said
    records = Database(path).records()
    assert Counter(r.kind for r in records) == {TRIAL: 24, WINNER: 2} and len({r.key.graph for r in records}) == 2
    assert {r.key.indices["1"] for r in records} == {"zipf:1.1"}


def test_a_process_that_is_lost(tmp_path: Path) -> None:
    """Its graph is begun again, and no finished trial is lost or made twice; nor is one of an earlier run."""
    path, b = tmp_path / "db", graphs.added()
    graph, (known, *_) = b.graph(), space_of(b).first()
    key = replace(key_of(graph, resolve("llvm"), False, ()), indices={"1": "uniform"})
    Database(path).append(Record(TRIAL, key, numbered(graph, known), "ok", 1.0, 1.0, 1.0))

    def kill() -> None:
        until(lambda: len(Database(path).records()) >= 2)
        for pid in busy(os.getpid()):
            os.kill(pid, signal.SIGKILL)

    killing = meanwhile(kill)
    (r,) = tune_all([Entry(b)], trials=8, database=path, **GIVEN)
    killing.join()
    done = [x for x in Database(path).records() if x.kind == TRIAL]
    assert len(done) == len({text_of(x.choices) for x in done}) == len(r.trials) == 8
    earlier = [t.seconds == 0 for t in r.trials]
    assert earlier == sorted(earlier, reverse=True) and 2 <= sum(earlier) < 8
    assert r.trials[0].choices == known


def test_what_cannot_be_tuned(tmp_path: Path) -> None:
    """It is said when the others are done, all of it."""
    path, far = tmp_path / "db", gs.Builder("far")
    i = far.input("i", (30,), "int64")
    far.output(far.take(far.input("x", (100,), "float32"), i + 100))
    entries = [Entry(far), Entry(graphs.added()), Entry(graphs.rows())]
    results = tune_all(entries, trials=1, database=path, rules=[Deadly()], **GIVEN)
    assert next(results).job.graph.name == "rows"
    with pytest.raises(gs.GSError) as error:
        next(results)
    said = str(error.value)
    assert re.search("far: the default cannot be measured: failed: .*out of range", said)
    assert "tune: added: 2 processes of the cluster were lost with it" in said


def test_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as bound:  # where nobody listens
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(gs.DeviceError, match=f"there is no Ray cluster at '{place}'"):
            next(tune_all([Entry(graphs.rows())], ray=place))
