"""The cores that a call uses, and those that it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from gscompile.threads import available_cores

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
