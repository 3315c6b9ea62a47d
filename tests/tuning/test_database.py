"""The file of tuning records: whatever happens to it, what can be read is right, and builds go on."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler import tuned
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import TRIAL, WINNER, Database, Record, key_of, numbered
from tests.children import WITHOUT_TORCH
from tests.deploy.libraries import tool
from tests.tuning import graphs

CHOICES: dict[str, dict[str, int | str]] = {"take_2": {"prefetch": 4, "stores": "plain"}}


def record(b: gs.Builder | None = None, kind: str = WINNER, indices: str = "uniform", **choices: Any) -> Record:
    g = (b or graphs.rows(width=32)).graph()
    key = replace(key_of(g, resolve("llvm")), indices={"1": indices})
    return Record(
        kind, key, numbered(g, {"take_2": choices} if choices else CHOICES), "ok", 1.0, 1.5, 1.5, graph=str(g)
    )


def test_builds_use_the_winner_of_their_indices(tmp_path: Path) -> None:
    path, b = tmp_path / "db.jsonl", graphs.rows(width=32)
    assert b.build(database=path).choices == {}
    database = Database(path)
    database.append(record(kind=TRIAL, prefetch=32))
    assert b.build(database=path).choices == {}
    database.append(record(prefetch=8))
    database.append(record(indices="zipf:1.1", prefetch=0))
    for indices, prefetch in ((None, 8), ("uniform", 8), ("zipf:1.1", 0), ({"i": "zipf:1.1"}, 0)):
        assert b.build(database=path, indices=indices).choices == {"take_2": {"prefetch": prefetch}}  # type: ignore[arg-type]
    assert b.build(database=path, indices="sorted").choices == {}
    database.append(record(prefetch=4))  # the last one counts
    assert b.build(database=path).choices == {"take_2": {"prefetch": 4}}
    with pytest.raises(gs.ArgumentError, match="no input 'j'; there are x, i"):
        b.build(database=path, indices={"j": "uniform"})
    with pytest.raises(gs.ArgumentError, match="give one of them"):
        b.build(database=path, choices=CHOICES)


def test_names_do_not_matter_and_all_else_does(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    Database(path).append(record())
    other = gs.Builder("another")
    other.output(other.take(other.input("table", (3000, 32), "float32"), other.input("at", (5000,), "int64")))
    assert list(other.build(database=path).choices.values()) == [CHOICES["take_2"]]
    assert graphs.rows(width=16).build(database=path).choices == {}
    assert graphs.rows(width=32).build({"kind": "llvm", "mcpu": "x86-64-v3"}, database=path).choices == {}
    assert graphs.rows(width=32).build(deterministic=True, database=path).choices == {}
    threads = gs.get_num_threads()
    try:
        gs.set_num_threads(threads + 1)
        assert graphs.rows(width=32).build(database=path).choices == {}
    finally:
        gs.set_num_threads(threads)


def test_another_machine(tmp_path: Path) -> None:
    """Of a target that names its CPU its records count where this machine has none, of any other where ``machine`` says so."""
    path, there, b = tmp_path / "db.jsonl", "Cortex-A72, 4 cores, 4 threads", graphs.rows(width=32)
    named = {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72"}

    def add(target: Any, prefetch: int, machine: str | None = None) -> None:
        r = record(prefetch=prefetch)
        key = replace(key_of(b.graph(), resolve(target)), indices=r.key.indices)
        Database(path).append(replace(r, key=key if machine is None else replace(key, machine=machine)))

    def built(target: Any, **given: Any) -> Any:
        return b.build(target, database=path, **given).choices.get("take_2", {}).get("prefetch")

    add("llvm", 4, there)
    add(named, 8, there)
    assert built("llvm") is None and built({**named, "mcpu": "cortex-a53"}) is None
    assert built("llvm", machine="cortex-a7") == 4 and built("llvm", machine="Cortex-A53") is None
    assert built(named) == built(named, machine="") == built(named, machine="4 cores") == 8
    assert built(named, indices="sorted") is None
    add(named, 16, "Cortex-A76, 4 cores, 4 threads")
    assert built(named) == 16 and built(named, machine="A72") == 8
    add(named, 32)  # of this machine
    assert built(named) == 32 and built(named, machine="A72") == 8


def test_a_library_for_several_cpus(tmp_path: Path) -> None:
    """Each of them has its own record's choices, and the one that the module was built for the module's."""
    path, b, level = tmp_path / "db.jsonl", graphs.rows(width=32), {"kind": "llvm", "mcpu": "x86-64-v3"}
    for target, rule in (("llvm", "gather"), (level, "rows")):
        r, key = record(rule=rule), key_of(b.graph(), resolve(target))
        Database(path).append(replace(r, key=replace(key, indices=r.key.indices)))
    names = ["x86-64-v2", "x86-64-v3"]

    def rules(m: Any) -> list[str]:
        return [dict(c.summary.stats.kernels)["take_2"] for c in m._for_each(names, False)]

    with pytest.warns(UserWarning, match="rule 'gather' does not apply"):
        m = b.build(database=path)
    default = dict(m.stats.kernels)["take_2"]
    assert default != "rows" and rules(m) == rules(pickle.loads(pickle.dumps(m))) == [default, "rows"]
    assert rules(b.build()) == [default, default]
    assert rules(b.build(level, choices={"take_2": {"rule": "rows"}})) == [default, "rows"]
    assert [c.target.facts.arch for c in m._for_each(names, False)] == names
    tool("cc")
    m.export(tmp_path / "rows.so", cpu=["v2", "v3"])
    x, i = np.arange(96_000, dtype="float32").reshape(3000, 32), np.arange(-2500, 2500)
    assert np.array_equal(gs.load(tmp_path / "rows.so")(x, i), x[i])


def test_old_records_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(tmp_path / "db.jsonl").append(record())
    monkeypatch.setattr(tuned, "versions", lambda: "gscompile 9")
    assert graphs.rows(width=32).build(database=tmp_path / "db.jsonl").choices == {}


def test_the_default_database(tmp_path: Path) -> None:
    Database(tmp_path / "db.jsonl").append(record())
    gs.set_default_database(tmp_path / "db.jsonl")
    try:
        assert graphs.rows(width=32).build().choices == CHOICES
        x, i = np.ones((3000, 32), "float32"), np.zeros(5000, "int64")
        assert graphs.rows(width=32).build(choices={})(x, i).shape == (5000, 32)
    finally:
        gs.set_default_database(None)
    assert graphs.rows(width=32).build().choices == {}


def test_choices_that_rules_do_not_offer_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    Database(path).append(record(prefetch=5))
    with pytest.warns(UserWarning, match="prefetch is one of"):
        assert graphs.rows(width=32).build(database=path).choices == {}


def test_a_torn_last_line(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    database = Database(path)
    database.append(record(prefetch=8))
    with open(path, "ab") as file:
        file.write(record().line()[:100])
    assert len(database.records()) == 1
    assert database.problems == [f"{path}: line 2 is no JSON (the last one: whoever wrote it was ended)"]
    with pytest.warns(UserWarning, match="skipped: .*line 2"):
        assert graphs.rows(width=32).build(database=path).choices == {"take_2": {"prefetch": 8}}
    database.append(record(prefetch=16))
    assert [r.choices for r in database.records()] == [{"2": {"prefetch": 8}}, {"2": {"prefetch": 16}}]
    assert len(database.problems) == 1


def test_merging(tmp_path: Path) -> None:
    one, two = Database(tmp_path / "one"), Database(tmp_path / "two")
    one.append(record(prefetch=8))
    for n in (8, 4):
        two.append(record(prefetch=n))
    assert one.merge(tmp_path / "two") == 1
    assert one.merge(tmp_path / "two") == 0
    assert [r.choices["2"]["prefetch"] for r in one.records()] == [8, 4]
    with pytest.raises(gs.ArgumentError, match="no such file"):
        one.merge(tmp_path / "three")


def test_what_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(gs.ArgumentError, match="cannot be written"):
        Database(tmp_path / "none" / "db").append(record())
    with pytest.raises(gs.ArgumentError, match="cannot be read"):
        Database(tmp_path).records()


def mutated(line: bytes, rng: random.Random) -> bytes:
    """A line, damaged: bytes, or a field of the JSON, with or without a right checksum."""
    if rng.random() < 0.5:
        data = bytearray(line)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randint(1, 40)]
            elif kind == 2:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
            else:
                data[at:at] = data[rng.randrange(len(data)) :][: rng.randint(1, 50)]
            if not data:
                return b"{"
        return bytes(data)
    found = json.loads(line)
    junk: list[Any] = [None, -1, 1e300, "x", [], {}, True, {"take_2": 3}, {"2": {"prefetch": True}}, 2**70, "9" * 5000]
    places: list[tuple[Any, Any]] = [(found, k) for k in found] + [(found["key"], k) for k in found["key"]]
    places += [(c, k) for c in found["choices"].values() for k in c] + [(found["choices"], "2")]
    where, name = rng.choice(places)
    where[name] = rng.choice(junk)
    if rng.random() < 0.2:
        found[rng.choice(["more", "kind"])] = rng.choice(junk)
    if rng.random() < 0.7:
        found.pop("sum", None)
        found["sum"] = tuned._sum(found)
    return json.dumps(found).encode() + b"\n"


def test_mutated_databases(tmp_path: Path) -> None:
    """5,000 of them: each is read, and what a build takes from it is a choice that the rules offer."""
    rng, path = random.Random(0), tmp_path / "db.jsonl"
    lines = [record(kind=k, prefetch=p).line() for k, p in ((TRIAL, 8), (WINNER, 4))]
    g, key, read, refused, taken = graphs.rows(width=32).graph(), record().key, 0, 0, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5000):
            kept = [mutated(x, rng) if rng.random() < 0.8 else x for x in lines]
            path.write_bytes(b"".join(kept))
            database = Database(path)
            read += len(database.records())
            refused += len(database.problems)
            found = database.winner(key)
            if found is not None:
                taken.add(json.dumps(found.choices, sort_keys=True))
        assert read > 1000 and refused > 1000
        x, i = np.arange(96_000, dtype="float32").reshape(3000, 32), np.arange(5000) % 3000
        for text in sorted(taken)[::30]:
            path.unlink()
            Database(path).append(replace(record(), choices=json.loads(text)))
            m = graphs.rows(width=32).build(database=path)
            assert np.array_equal(m(x, i), x[i])
    assert len(taken) > 3
    assert g.name == "rows"


# Each line that it reads has names of writers, forked, as importing takes longer than their lives.
WRITERS = """
import os, sys
from dataclasses import replace
from tests.tuning.test_database import Database, record
database, one = Database(sys.argv[1]), record(prefetch=8)
for line in sys.stdin:
    for name in line.split():
        if os.fork() == 0:
            os.write(1, b"%d\\n" % os.getpid())
            for k in range(int(sys.argv[2])):
                database.append(replace(one, why=f"{name} {k}"))
                os.write(1, b"%d\\n" % k)
            os._exit(0)
    for name in line.split():
        os.wait()
    os.write(1, b"all\\n")
"""


def writers(path: Path, count: int) -> subprocess.Popen[str]:
    """A process that forks writers of so many records."""
    command = [sys.executable, "-c", WITHOUT_TORCH + WRITERS, str(path), str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


def test_several_writers(tmp_path: Path) -> None:
    database = Database(tmp_path / "db.jsonl")
    with writers(database.path, 20) as process:
        process.communicate("a b c\n")
    assert sorted(r.why for r in database.records()) == sorted(f"{n} {k}" for n in "abc" for k in range(20))
    assert not database.problems


def test_killed_writers_lose_no_record(tmp_path: Path) -> None:
    """Ended at any moment, several times: what was written before is there, in its order, and more can be added."""
    database, rng, told = Database(tmp_path / "db.jsonl"), random.Random(0), 0
    with writers(database.path, 100_000) as process:
        assert process.stdin is not None and process.stdout is not None
        for n in range(KILLS):
            before = len(database.records())
            process.stdin.write(f"{n}\n")
            process.stdin.flush()
            pid, enough = int(process.stdout.readline()), rng.randrange(30)
            last = next(k for k in map(int, process.stdout) if k >= enough)
            os.kill(pid, signal.SIGKILL)
            last = max([last, *map(int, iter(process.stdout.readline, "all\n"))])
            told += last + 1
            found = [r.why for r in database.records()][before:]
            assert found[: last + 1] == [f"{n} {k}" for k in range(last + 1)] and len(found) <= last + 2
        process.stdin.close()
    assert process.returncode == 0 and len(database.records()) >= told > KILLS


KILLS = int(os.environ.get("GSCOMPILE_KILLS", 20))
