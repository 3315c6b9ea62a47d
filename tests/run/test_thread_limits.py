"""Numbers of threads that make no sense, systems that start no more of them, and threads that come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime.threads import MOST


@pytest.fixture(autouse=True)
def threads() -> Any:
    before = gs.get_num_threads()
    yield
    gs.set_num_threads(before)


@pytest.mark.parametrize(
    "n", [0, -1, 2**63 - 1, 2**63, 10**7, MOST + 1, True, 1.5, 2.0, "3", None, np.bool_(True), [2]]
)
def test_a_number_of_threads_that_is_none(n: Any) -> None:
    before = gs.get_num_threads()
    with pytest.raises(gs.ArgumentError, match=r"set_num_threads: a positive int of at most 4096 is needed; got"):
        gs.set_num_threads(n)
    assert gs.get_num_threads() == before


@pytest.mark.parametrize("n", [1, np.int64(3), np.uint8(2), MOST])
def test_results_with_any_number_that_is_one(n: Any) -> None:
    b = gs.Builder("sums")
    x, i, s = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64"), b.input("s", ("k", 3), "float32")
    b.output(b.put(x, i, s, reduction="add"))
    rng = np.random.default_rng(0)
    x, i, s = (
        np.zeros((50, 3), "float32"),
        rng.integers(0, 50, 20_000),
        rng.integers(0, 9, (20_000, 3)).astype("float32"),
    )
    want = np.zeros_like(x)
    np.add.at(want, i, s)
    gs.set_num_threads(n)
    assert gs.get_num_threads() == int(n)
    assert np.array_equal(b.build()(x, i, s), want)


ROWS = """
import os, sys, threading, time
import numpy as np
import gscompile as gs

b = gs.Builder("rows")
x, i = b.input("x", (1000, 1024), "float32"), b.input("i", (400,), "int64")
b.output(b.take(x, i))
m = b.build()
data, index = np.random.default_rng(0).random((1000, 1024), np.float32), np.arange(400)
out = np.empty((400, 1024), np.float32)
"""

REFUSED = """
import resource
gs.set_num_threads(1)
m(data, index)  # loads the code, which needs memory of its own
size = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + {room}, size + {room}))
try:
    for _ in range(6):
        threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()
    raise SystemExit("threads start")
except RuntimeError:
    time.sleep(0.3)  # those that were started are gone
gs.set_thread_pool({pool!r})
gs.set_num_threads(6)
for _ in range(3):  # the slow path, then the fast one
    out[:] = 0
    assert m(data, index, out=out) is out
    assert (out == data[:400]).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of a process's memory, and /proc")
@pytest.mark.parametrize("pool", ["own", "auto"])
@pytest.mark.parametrize("room", [1 << 20, 4 << 20, 20 << 20], ids=["none", "none of OpenMP's", "some"])
def test_a_system_that_starts_no_more_threads(room: int, pool: str) -> None:
    """The stack of a thread is what there is no room for; an OpenMP library ends the process when it gets some of its threads."""
    program = ROWS + REFUSED.format(room=room, pool=pool)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)


SHORT_LIVED = """
def tasks():
    return len(os.listdir("/proc/self/task"))

gs.set_thread_pool({pool!r})
m(data, index)
before = tasks()
for _ in range({count}):
    assert tasks() < before + 80  # nor do they pile up meanwhile
    thread = threading.Thread(target=m, args=(data, index))
    thread.start()
    thread.join()
end = time.monotonic() + 60
while tasks() > before and time.monotonic() < end:  # a pool's threads look for work a while before they see that it is over
    time.sleep(0.05)
assert tasks() <= before, (tasks(), before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list a process's threads")
@pytest.mark.parametrize("pool", ["own", "auto"])
@pytest.mark.parametrize("count", [100, 1000])
def test_short_lived_threads_leave_no_pools_behind(count: int, pool: str) -> None:
    program = ROWS + SHORT_LIVED.format(count=count, pool=pool)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
