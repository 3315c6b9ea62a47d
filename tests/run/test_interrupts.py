"""Ctrl-C during what takes long, and leaving the process while it still goes on."""

from __future__ import annotations

import signal
import subprocess
import sys

# The signal comes from outside the main thread, as a terminal's does; what took less than it says was not long enough to tell.
HEAD = """
import os, signal, sys, threading, time
import numpy as np
import gscompile as gs

signal.signal(signal.SIGINT, signal.default_int_handler)  # what is started in the background ignores it
sent = []

def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(work, after):
    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        work()
    except KeyboardInterrupt:
        late = time.monotonic() - sent[-1]
        assert late < 1, late
        return
    timer.cancel()
    raise SystemExit("it ended before the signal came")
"""
CALL = """
b = gs.Builder("bags")
x, i = b.input("x", (100_000, 64), "float32"), b.input("i", ("k",), "int64")
b.output(b.sum(b.take(x, i)))
m = b.build()
data, index = np.ones((100_000, 64), np.float32), np.random.default_rng(0).integers(0, 100_000, {points})
few = index[:1000].copy()
for call in (lambda: m(data, index), m.bind(data, index)):
    interrupted(call, 0.1)
del data, index, call  # the kernels go on
again = np.ones((100_000, 64), np.float32)
assert m(again, few) == 64_000
"""
BUILD = """
b = gs.Builder("deep")
x = b.input("x", (1000, 1000), "float32")
for k in range(800):
    x = b.tanh(x + b.sin(x * (k + 2.5)))  # no two nests are alike
b.output(x)
os.environ["GSCOMPILE_CACHE"] = "off"
interrupted(b.build, 0.5)
b = gs.Builder("small")
b.output(b.input("x", (2,), "float32") + 1)
assert b.build()(np.ones(2, np.float32)).tolist() == [2, 2]
"""


def run(program: str, code: int = 7) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert not done.stderr


def test_a_call() -> None:
    run(f"{HEAD}{CALL.format(points=20_000_000)}\nsys.exit(7)")


def test_a_build() -> None:
    run(f"{HEAD}{BUILD}\nsys.exit(7)")


def test_other_threads_wait_as_before() -> None:
    """Only the main thread gets signals: elsewhere work stays where it is."""
    run(f"""{HEAD}
from gscompile.runtime.background import interruptible
seen = []
thread = threading.Thread(target=lambda: seen.append(interruptible(threading.get_ident)))
thread.start()
thread.join()
assert seen == [thread.ident]
assert interruptible(threading.get_ident) != threading.get_ident()
kept = [interruptible(threading.get_ident, keep=True) for _ in range(3)]
assert len(set(kept)) == 1
try:
    interruptible(lambda: 1 / 0, keep=True)
except ZeroDivisionError:
    assert interruptible(threading.get_ident, keep=True) == kept[0]
sys.exit(7)
""")


def test_exit_while_another_thread_is_inside_a_kernel() -> None:
    inside = CALL.partition("few =")[0].format(points=5_000_000)
    run(f"""{HEAD}{inside}
for _ in range(2):
    threading.Thread(target=m, args=(data, index), daemon=True).start()
time.sleep(0.3)
sys.exit(7)
""")


def test_exit_while_other_threads_call_again_and_again() -> None:
    inside = CALL.partition("few =")[0].format(points=200_000)
    run(f"""{HEAD}{inside}
bound = m.bind(data, index)
def again():
    while True:
        bound()
for _ in range(3):
    threading.Thread(target=again, daemon=True).start()
time.sleep(0.3)
sys.exit(7)
""")


def test_destructors_run_at_exit_where_threads_are_outside_of_kernels() -> None:
    inside = CALL.partition("few =")[0].format(points=1000)
    run(
        f"""{HEAD}{inside}
import atexit, ctypes
def call():
    m(data, index)
    time.sleep(100)
threading.Thread(target=call, daemon=True).start()
atexit.register(lambda: m(data, index))  # this thread goes on
time.sleep(0.3)
libc = ctypes.CDLL(None)
libc.on_exit(libc.abort, None)  # stands for what other libraries registered
sys.exit(7)
""",
        -signal.SIGABRT,
    )
