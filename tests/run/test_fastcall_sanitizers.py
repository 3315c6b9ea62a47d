"""The C extension's tests under the address, undefined behaviour and thread sanitizers, and Python's debug allocator."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from gscompile.runtime.extension import extension

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "gscompile" / "runtime" / "_fastcall.c"
FLAGS = ("-g", "-O1", "-fPIC", "-shared", "-Wall", "-Werror", "-fno-sanitize-recover=all")
OPTIONS = {
    # Python and the libraries that it loads keep memory to the end, and were built without the sanitizers
    "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0:alloc_dealloc_mismatch=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # what Python, NumPy and TVM do among themselves is seen where they lock, not where they read and write
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1 halt_on_error=1 second_deadlock_stack=1",
    "PYTHONMALLOC": "malloc",  # so that Python's objects are watched, too
}
# Loads the instrumented extension in the place of the installed one.
LOAD = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
name, path, *arguments = sys.argv[1:]
spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
sys.modules[name] = module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
from gscompile.runtime.extension import extension
assert extension is sys.modules[name]
"""
PYTEST = """
import pytest
sys.exit(pytest.main(arguments))
"""
# Threads that share a module, its signatures and an input, each with outputs of its own, while kernels run without the GIL.
THREADS = """
import gc
import threading
import numpy as np
import gscompile as gs

b = gs.Builder("take")
b.output(b.take(b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")))
m, x = b.build(), np.arange(150, dtype="float32").reshape(50, 3)
wrong = []

def work(seed):
    rng = np.random.default_rng(seed)
    for step in range(300):
        index = rng.integers(-50, 50, (rng.integers(12), 9000)[step % 8 == 0])
        out = np.empty((len(index), 3), "float32")
        bound = m.bind(x, index, out=out) if step % 5 == 0 else None
        for result in (m(x, index), m(x, index, out=out), bound() if bound else out):
            if not np.array_equal(result, x[index]):
                wrong.append(step)
        try:
            m(x, np.array([0, 50]))
            wrong.append(step)
        except gs.BoundsError:
            pass
        if step % 100 == 0:
            gc.collect()

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong
print("passed")
"""

# The same on a GPU that is none, where a launch lets the others run.
GPU_THREADS = """
import threading
from tests.run.fake_gpu import Machine, Owner, Tensor, fast_call, finds
import numpy as np

machine, wrong, lock, inside = Machine(), [], threading.Lock(), {}

def kernel(arguments):
    status, kept = arguments[3:5]
    with lock:
        inside[status] = inside.get(status, 0) + 1
    if inside[status] != 1:
        wrong.append("two in one place")
    if len(machine.calls) % 7 == 0:
        finds(kept)
    with lock:
        inside[status] -= 1
    return 0

machine.kernel = kernel

def work(waits):
    x, i, out = Tensor(np.ones((8, 3), "f4")), Tensor(np.arange(4)), Tensor(np.ones((4, 3), "f4"))
    for step in range(300):
        if fast(x, i, out=out) == "slow" and step % 50 == 0:
            fast.add((x, i), out, (8, 4), 64, 0, True, None, None, Owner().there(waits=waits))

fast = fast_call(machine, lambda *args, **kwargs: "slow")
threads = [threading.Thread(target=work, args=(k % 2,)) for k in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong and len(machine.calls) > 100
print("passed")
"""


# Of the tests that run on both paths, those that say something about memory and threads.
CHANGES = "threads or freed or moved or in_place or ranks or dtypes or jax_arrays"
TESTS = f"test_fastcall.py or test_fastcall_gpu.py or (extension and ({CHANGES}))"


pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="preloads the sanitizer as on Linux"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, with its sanitizers"),
    pytest.mark.skipif(
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="free-threaded Python has no fast path"
    ),
]


def preloaded(*names: str) -> str:
    """The sanitizer, and what it hooks; a skip where gcc has none."""
    found = []
    for name in names:
        answer = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        found.append(answer.stdout.strip())
    if not all(Path(file).exists() for file in found):
        pytest.skip(f"gcc comes without {names[0]}")
    return " ".join(found)


def run(command: list[str | Path], **environment: str) -> None:
    """Run Python in the checkout; its output must say that what it did passed."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout[-8000:] + done.stderr[-8000:]


def built(folder: Path, sanitizer: str) -> list[str | Path]:
    """Compile the extension; what Python's ``-c`` takes after a program that begins with ``LOAD``."""
    to = folder / "_fastcall.so"
    include = (sysconfig.get_path("include"), np.get_include())
    flags = [*FLAGS, f"-fsanitize={sanitizer}", *(f"-I{folder}" for folder in include)]
    subprocess.run(["gcc", *flags, SOURCE, "-o", to], check=True)
    return ["gscompile.runtime._fastcall", to]


NAMES = "test_fastcall", "test_fastcall_gpu", "test_repeated_calls", "test_changed_arrays"
FILES = [f"tests/run/{name}.py" for name in NAMES]
OF_PYTEST = ["-n", "0", "-p", "no:cacheprovider", "-k", TESTS, *FILES]


def test_memory_and_undefined_behaviour(tmp_path: Path) -> None:
    libraries = preloaded("libasan.so", "libstdc++.so")  # C++ throws through it
    arguments = [*built(tmp_path, "address,undefined"), *OF_PYTEST]
    run([sys.executable, "-c", LOAD + PYTEST, *arguments], LD_PRELOAD=libraries, **OPTIONS)


@pytest.mark.parametrize("program", [THREADS, GPU_THREADS], ids=["cpu", "gpu"])
def test_threads(tmp_path: Path, program: str) -> None:
    libraries = preloaded("libtsan.so")
    arguments = built(tmp_path, "thread")
    if shutil.which("setarch") is None:
        pytest.skip("needs setarch: the sanitizer wants memory where it always is")
    run(["setarch", "-R", sys.executable, "-c", LOAD + program, *arguments], LD_PRELOAD=libraries, **OPTIONS)


@pytest.mark.skipif(extension is None, reason="the C extension is not built (pip install -e .), or switched off")
def test_pythons_debug_allocator() -> None:
    """Python's own memory, with bytes before and after each block that are looked at when it is freed."""
    run([sys.executable, "-X", "dev", "-m", "pytest", *OF_PYTEST], PYTHONMALLOC="debug")
