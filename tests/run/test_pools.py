"""Whose threads share the work of a call: results, errors, nesting, forks, and what else the process sees of it."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te

import gscompile as gs
from gscompile.ir import machine
from gscompile.runtime import pools

needs_extension = pytest.mark.skipif(pools.extension is None, reason="the C extension is not built (pip install -e .)")
with contextlib.suppress(OSError):  # another one may be loaded
    ctypes.CDLL("libgomp.so.1")
needs_openmp = pytest.mark.skipif(
    pools._openmp() is None, reason="no OpenMP library here, or the C extension is not built"
)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    threads = gs.get_num_threads()
    yield
    gs.set_num_threads(threads)
    gs.set_thread_pool("auto")


def one_by_one(task: Callable[[int], None], n: int) -> None:
    for k in reversed(range(n)):
        task(k)


def none_of_them(task: Callable[[int], None], n: int) -> None:
    pass


def twice(task: Callable[[int], None], n: int) -> None:
    for k in [*range(n), *range(n)]:
        task(k)


def of_python(task: Callable[[int], None], n: int) -> None:
    with ThreadPoolExecutor(3) as executor:
        list(executor.map(task, range(n)))


def nested(task: Callable[[int], None], n: int) -> None:
    """A pool whose own work calls modules."""

    def inner(k: int) -> None:
        small = np.arange(3.0)
        assert (DOUBLE(small) == 2 * small).all()
        task(k)

    of_python(inner, n)


POOLS = {
    "own": "own",
    "openmp": pytest.param("openmp", marks=needs_openmp),
    "auto": "auto",
    **{f.__name__: f for f in (one_by_one, none_of_them, of_python, nested)},
}


def doubling() -> gs.Module:
    b = gs.Builder("double")
    b.output(b.input("x", (3,), "float64") * 2)
    return b.build()


DOUBLE = doubling()


def adding() -> gs.Module:
    b = gs.Builder("adding")
    x, i = b.input("x", ("n", 64), "float32"), b.input("i", ("k",), "int64")
    b.output(b.put(x, i, b.take(x, i), reduction="add"))
    return b.build()


ADD = adding()


def numbers(seed: int) -> tuple[Any, Any, Any]:
    """(x, i, what ADD gives), enough of them for several threads."""
    rng = np.random.default_rng(seed)
    x, i = rng.random((200, 64), np.float32), rng.integers(-200, 200, 3000)
    want = x.copy()
    np.add.at(want, i, x[i])
    return x, i, want


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 4096])
@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_results_are_the_same(pool: Any, threads: int) -> None:
    gs.set_thread_pool(pool)
    gs.set_num_threads(threads)
    x, i, want = numbers(0)
    for _ in range(3):
        assert ADD(x, i).tobytes() == want.tobytes()


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_several_threads_call_at_once(pool: Any) -> None:
    gs.set_thread_pool(pool)
    gs.set_num_threads(3)
    wrong = []

    def work(seed: int) -> None:
        x, i, want = numbers(seed)
        for _ in range(10):
            if ADD(x, i).tobytes() != want.tobytes():
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_pool_changes_while_calls_run() -> None:
    x, i, want = numbers(1)
    wrong, stop = [], threading.Event()

    def work() -> None:
        while not stop.is_set():
            if ADD(x, i).tobytes() != want.tobytes():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        for pool in ("own", one_by_one, "auto"):
            gs.set_thread_pool(pool)
            gs.set_num_threads(2 + (pool == "own"))
            time.sleep(0.002)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_which_pool_it_is() -> None:
    assert gs.get_thread_pool() == "auto"
    for pool in ("own", one_by_one, "auto"):
        gs.set_thread_pool(pool)
        assert gs.get_thread_pool() == pool


@pytest.mark.parametrize("pool", ["tvm", "", "OpenMP", None, 3, True])
def test_what_is_no_pool(pool: Any) -> None:
    before = gs.get_thread_pool()
    with pytest.raises(
        gs.ArgumentError, match=r'set_thread_pool: "auto", "own", "openmp" or a callable is needed; got'
    ):
        gs.set_thread_pool(pool)
    assert gs.get_thread_pool() == before


@needs_extension
def test_the_first_call_of_a_module_looks_for_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only the build: a library that is imported between the two is found."""
    double = doubling()
    assert double._function is not None  # loaded, as the build does with what is on disk
    asked: list[None] = []
    monkeypatch.setattr(pools, "_openmp", lambda: asked.append(None))
    for x in (np.arange(3.0), np.arange(3.0), [0.0, 1.0, 2.0]):
        assert (double(x) == [0.0, 2.0, 4.0]).all()
    assert len(asked) == 1


@needs_extension
def test_no_openmp_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_openmp", lambda: None)
    with pytest.raises(gs.ArgumentError, match="no OpenMP library is loaded in this process"):
        gs.set_thread_pool("openmp")
    gs.set_thread_pool("auto")
    x, i, want = numbers(3)
    assert ADD(x, i).tobytes() == want.tobytes()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callable_that_raises(capfd: pytest.CaptureFixture[str]) -> None:
    """The call cannot be left in the middle: its tasks run all the same, and the error is shown as that of a callback is."""

    def fails(task: Callable[[int], None], n: int) -> None:
        raise ZeroDivisionError("no threads today")

    gs.set_num_threads(2)
    gs.set_thread_pool(fails)
    x, i, want = numbers(2)
    assert ADD(x, i).tobytes() == want.tobytes()


# -- the launcher itself, called as compiled code calls it

Body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(pools._Group), ctypes.c_void_p)


def launch(body: Callable[[int, int], int], announced: int | None, tasks: int = 0) -> int:
    """Launch ``body(task, tasks) -> code``."""
    function = pools._Launch(pools._launcher(machine.parallel_launch()))
    c_body = Body(lambda k, group, data: body(k, group.contents.tasks))
    if announced is not None:
        function(None, None, announced)
    return int(function(ctypes.cast(c_body, ctypes.c_void_p), None, tasks))


@pytest.mark.parametrize("pool", ["own", one_by_one, none_of_them, of_python])
@pytest.mark.parametrize(("announced", "tasks", "want"), [(7, 0, 7), (0, 0, 0), (1, 0, 1), (5, 2, 5)])
def test_every_task_runs_once(pool: Any, announced: int | None, tasks: int, want: int) -> None:
    gs.set_thread_pool(pool)
    gs.set_num_threads(3)
    seen: list[tuple[int, int]] = []
    assert launch(lambda k, n: seen.append((k, n)) or 0, announced, tasks) == 0
    assert sorted(seen) == [(k, want) for k in range(want)]


def test_code_that_is_not_ours_keeps_its_launcher() -> None:
    """It says no number of tasks before; TVM's launcher makes as many as it likes, with a barrier of its own."""
    gs.set_thread_pool(none_of_them)
    gs.set_num_threads(2)
    seen: list[tuple[int, int]] = []
    assert launch(lambda k, n: seen.append((k, n)) or 0, None) == 0
    assert sorted(k for k, _ in seen) == list(range(seen[0][1]))
    A = te.placeholder((1000,), "float32", name="A")
    B = te.compute((1000,), lambda k: A[k] * 2, name="B")
    schedule = tvm.s_tir.Schedule(te.create_prim_func([A, B]))
    schedule.parallel(schedule.get_loops(schedule.get_sblock("B"))[0])
    function = tvm.compile(schedule.mod, target="llvm")
    x, y = tvm.runtime.tensor(np.arange(1000, dtype="float32")), tvm.runtime.tensor(np.zeros(1000, "float32"))
    function(x, y)
    assert (y.numpy() == 2 * x.numpy()).all()


def test_loading_many_modules_registers_nothing_more() -> None:
    """tvm-ffi keeps each symbol that is registered, and looks for it in each library that is loaded."""
    seen: list[str] = []
    for k in range(4):
        b = gs.Builder(f"number{k}")
        b.output(b.input("x", (k + 1,), "float32") + 1)
        b.build()(np.zeros(k + 1, np.float32))
        registered = pools._register.cache_info()
        seen.append(f"{registered.misses}")
    assert set(seen) == {"1"}


@needs_extension
def test_a_pool_that_asks_for_more_tasks_than_there_are() -> None:
    gs.set_thread_pool(twice)
    gs.set_num_threads(2)
    seen: list[int] = []
    assert launch(lambda k, n: seen.append(k) or 0, 5) == 0
    assert sorted(seen) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("pool", ["own", of_python])
def test_a_task_that_fails(pool: Any) -> None:
    gs.set_thread_pool(pool)
    gs.set_num_threads(3)
    seen = []
    assert launch(lambda k, n: seen.append(k) or -(k == 2), 4) == -1
    assert sorted(seen) == [0, 1, 2, 3]
    error = ctypes.c_void_p()
    pools._ffi().TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    assert error.value  # for the caller of the kernel
    pools._ffi().TVMFFIObjectDecRef(error)


@needs_extension
def test_a_launch_inside_of_a_task_runs_there() -> None:
    gs.set_thread_pool("own")
    gs.set_num_threads(3)
    inside = []

    def outer(k: int, n: int) -> int:
        here = threading.get_ident()
        return launch(lambda k, n: inside.append(threading.get_ident() == here) or 0, 4)

    assert launch(outer, 3) == 0
    assert inside == [True] * 12


# -- processes

PROGRAM = """
import os, sys, threading
{before}
import numpy as np
import gscompile as gs

b = gs.Builder("rows")
x, i = b.input("x", (1000, 1024), "float32"), b.input("i", (4000,), "int64")
b.output(b.take(x, i))
m = b.build()
data, index = np.random.default_rng(0).random((1000, 1024), np.float32), np.arange(-1000, 3000) % 1000
"""


def runs(program: str, before: str = "") -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before) + program], capture_output=True, text=True
    )
    assert done.returncode == 0, (done.returncode, done.stderr)


LAUNCHES = """
import contextlib, ctypes, threading, time, zlib
import gscompile as gs
from gscompile.ir import machine
from gscompile.runtime import pools

tried, turn, pause = [], threading.Event(), 5e-4

def other(context, tasks, task, job):
    tried.append(tasks)
    for k in range(tasks):
        pools._Task(task)(job, k)

def task(k, group, data):  # both threads lose most of the time
    end = time.thread_time() + 5e-5
    while time.thread_time() < end:
        pass
    time.sleep(pause)
    return 0

def launches(n, before=lambda: None):
    for _ in range(n):
        before()
        function(None, None, 2)
        function(ctypes.cast(body, ctypes.c_void_p), None, 0)
        if tried:
            return

def running():  # threads but the main one
    for thread in set(os.listdir("/proc/self/task")) - {str(os.getpid())}:
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/self/task/{thread}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "R":
                    yield thread

def busy():
    while turn.wait():
        zlib.compress(bytes(size), 9)  # without the interpreter's lock

while any(running()):  # OpenBLAS's spin at first, and the one that built may not have ended, where other processes have the cores
    time.sleep(0.01)

gs.set_num_threads(2)
function = pools._Launch(pools._launcher(machine.parallel_launch()))
body = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(task)
pools.extension.limit(1)
pool = pools._Call(other)
pools.extension.use(pools._address(pool), 0, True)
"""
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says which threads run")


@needs_extension
@on_linux
def test_another_pool_is_tried_only_while_threads_of_others_run() -> None:
    """Threads that sleep cannot have kept ours from running; a launch on OpenMP's took 5 ms when they did."""
    runs(
        LAUNCHES
        + """
launches(300)
assert not tried, "no thread but ours runs"

size = 1 << 22
threading.Thread(target=busy, daemon=True).start()
turn.set()
launches(1000)
turn.clear()
assert tried, "a thread runs that is not ours"
"""
    )


@needs_extension
@on_linux
def test_threads_of_others_that_sleep_when_a_long_launch_ends() -> None:
    """They are looked for before the next ones: those of another library spin for some milliseconds after its work."""
    runs(
        LAUNCHES
        + """
size, pause = 1 << 14, 0.02
threading.Thread(target=busy, daemon=True).start()

def spinning():
    turn.set()
    end = time.monotonic() + 5
    while not any(running()) and time.monotonic() < end:
        pass
    threading.Timer(0.005, turn.clear).start()

launches(60, spinning)
assert tried
"""
    )


def test_nothing_of_the_process_is_changed() -> None:
    """No environment variables are set, and no thread is pinned, the library's own included."""
    runs(
        """
assert {k: v for k, v in os.environ.items() if "TVM" in k or "OMP" in k or "THREAD" in k} == environment
m(data, index)
gs.set_thread_pool("own")
m(data, index)
affinities = {frozenset(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")}
assert affinities == {frozenset(os.sched_getaffinity(0))} == {cores}, affinities
assert {k: v for k, v in os.environ.items() if "TVM" in k or "OMP" in k or "THREAD" in k} == environment
""",
        """
environment = {k: v for k, v in os.environ.items() if "TVM" in k or "OMP" in k or "THREAD" in k}
cores = frozenset(os.sched_getaffinity(0))
""",
    )


def test_a_process_whose_affinity_changes() -> None:
    runs(
        """
m(data, index)
for cores in ({min(os.sched_getaffinity(0))}, os.sched_getaffinity(0)):
    os.sched_setaffinity(0, cores)
    for pool in ("own", "auto"):
        gs.set_thread_pool(pool)
        for threads in (1, 2, 5):
            gs.set_num_threads(threads)
            assert (m(data, index) == data[index]).all()
"""
    )


FORK = """
import signal
gs.set_thread_pool({pool!r})
if {used}:
    m(data, index)
child = os.fork()
if child == 0:
    signal.alarm(60)  # it must not wait for threads that it does not have
    gs.set_num_threads(3)
    good = all((m(data, index) == data[index]).all() for _ in range(3)) and gs.get_thread_pool() == "own"
    os._exit(not good)
assert (m(data, index) == data[index]).all()
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("pool", ["own", "auto"])
def test_a_forked_process_has_a_pool_of_its_own(pool: str, used: bool) -> None:
    runs(FORK.format(pool=pool, used=used))


def test_forks_of_a_process_whose_threads_are_inside_calls() -> None:
    """The lock of the pool is held by somebody at the time of the fork, now and then."""
    runs(
        """
import signal
stop = threading.Event()
def work():
    while not stop.is_set():
        m(data, index)
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for t in threads: t.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(not (m(data, index) == data[index]).all())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for t in threads: t.join()
"""
    )


CHOSEN = {
    "own": "'own'",
    "auto": "'auto'",
    "callable": "lambda task, n: [task(k) for k in range(n)]",
    "twice": "lambda task, n: [task(k % n) for k in range(2 * n)]",
    "none of them": "lambda task, n: None",
    "raises": "lambda task, n: 1 / 0",
    "raises later": "lambda task, n: task(0) or 1 / 0",
}


@pytest.mark.parametrize("pool", CHOSEN)
def test_without_the_extension(pool: str) -> None:
    chosen = CHOSEN[pool]
    runs(
        f"""
assert gs.get_thread_pool() == "auto"
gs.set_thread_pool({chosen})
for threads in (1, 2, 5):
    gs.set_num_threads(threads)
    assert (m(data, index) == data[index]).all()
try:
    gs.set_thread_pool("openmp")
    raise SystemExit("no error")
except gs.ArgumentError as e:
    assert "needs the C extension" in str(e)
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        os._exit(not (m(data, index) == data[index]).all())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""",
        "sys.modules['gscompile.runtime._launch'] = None",
    )
