"""Tuning that is killed at any moment: what was told to be done is in the database."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from gscompile.compiler.tuned import TRIAL, Database
from gscompile.tuning.candidates import text_of
from tests.children import WITHOUT_TORCH

KILLS = 50

# Each line that it reads is a seed: another process tunes then, forked, as importing takes longer than its life.  What builds and
# measures answers at once; the search, the order of what is noted, and the file are the real ones.
SCRIPT = """
import itertools, os, sys
import gscompile as gs
from gscompile.tuning import places, tune
from gscompile.tuning.worker import Answer, Build
from tests.tuning import graphs

class Quick:
    running, codes = True, itertools.count()
    def __init__(self, *given): pass
    def start(self): pass
    stop = start
    def ask(self, request, patience_s):
        return Answer("ok", code=str(next(self.codes)) if isinstance(request, Build) else "", ms=1.0, default_ms=1.0, ratio=1.0)

places.Process = tune.Process = Quick
graph = graphs.chain().graph()
gs.tune(graph, trials=1, search="random", progress=False)
print("ready", flush=True)
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        os.write(1, b"pid %d\\n" % os.getpid())
        tell = lambda p: os.write(1, b"%d\\n" % p.trials)
        gs.tune(graph, trials=10**6, search="random", seed=int(line), database=sys.argv[1], progress=tell)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    os.write(1, b"status %d\\n" % status)
"""


def test_fifty_kills_lose_no_trial(tmp_path: Path) -> None:
    rng, database = random.Random(0), Database(tmp_path / "db")
    command = [sys.executable, "-c", WITHOUT_TORCH + SCRIPT, str(database.path)]
    environment = dict(os.environ, TMPDIR=str(tmp_path))
    done, moments, torn = list[str](), set[int](), 0
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        trial_s = 0.0
        for k in range(KILLS):
            process.stdin.write(f"{k}\n")
            process.stdin.flush()
            _, pid = process.stdout.readline().split()
            # after some trials, however long they take here, at some moment of those after them
            count, begun = 10 if k == 0 else rng.randrange(10), time.monotonic()
            told = [int(process.stdout.readline()) for _ in range(count)]
            if k == 0:
                trial_s = (time.monotonic() - begun) / count
            time.sleep(rng.uniform(0, 3 * trial_s))
            os.kill(int(pid), signal.SIGKILL)
            told += map(int, iter(process.stdout.readline, f"status {signal.SIGKILL.value}\n"))
            trials = [text_of(r.choices) for r in database.records() if r.kind == TRIAL]
            assert trials[: len(done)] == done and len(set(trials)) == len(trials)
            # a write across two pages of the file may end between them: of a trial that was not told yet
            more, torn = database.problems[torn:], len(database.problems)
            assert len(trials) >= max(told, default=0) and len(more) <= 1, (k, told, database.problems)
            assert all(p.endswith("(the last one: whoever wrote it was ended)") for p in more), more
            moments.add(len(trials) - len(done))
            done = trials
        process.stdin.close()
    assert process.returncode == 0 and len(moments) > 5 and len(done) > KILLS
