"""The cores that a call uses, and those that it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gscompile.runtime.threads import available_cores

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system does not tell a thread's cores"
)

PARALLEL_CALL = """
import json, os
import numpy as np
import gscompile as gs
import tvm

b = gs.Builder("rows")
x, i = b.input("x", (1000, 1024), "float32"), b.input("i", (4000,), "int64")
b.output(b.take(x, i))
before = len(os.sched_getaffinity(0))
b.build()(np.ones((1000, 1024), np.float32), np.zeros(4000, np.int64))
print(json.dumps([tvm.get_global_func("runtime.NumThreads")(), before, len(os.sched_getaffinity(0))]))
"""


def fresh_process(**environment: str) -> Any:
    """(threads of the pool, the calling thread's cores before the first call, and after it)."""
    plain = {k: v for k, v in os.environ.items() if k not in ("TVM_NUM_THREADS", "TVM_BIND_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", PARALLEL_CALL], env={**plain, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_core_is_used_and_the_calling_thread_is_not_pinned() -> None:
    assert fresh_process() == [available_cores()] * 3
    assert fresh_process(OMP_NUM_THREADS="1") == [available_cores()] * 3


def test_what_the_user_says_of_tvms_pool_stands() -> None:
    assert fresh_process(TVM_NUM_THREADS="1")[0] == 1


FORK = """
import os, signal
import numpy as np
import gscompile as gs

b = gs.Builder("rows")
x, i = b.input("x", (1000, 1024), "float32"), b.input("i", (4000,), "int64")
b.output(b.take(x, i))
m = b.build()
data, index = np.random.default_rng(0).random((1000, 1024), np.float32), np.arange(-1000, 3000) % 1000
if {used}:
    m(data, index)
child = os.fork()
if child == 0:
    signal.alarm(60)  # it must not wait for threads that it does not have
    gs.set_num_threads({threads})
    os._exit(int(not (m(data, index) == data[index]).all()))
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("used", [True, False])
def test_a_forked_process_computes(threads: int, used: bool) -> None:
    code = FORK.format(threads=threads, used=used)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
