"""The C extension's tests under the address and undefined behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "gscompile" / "runtime" / "_fastcall.c"
FLAGS = (
    "-g",
    "-O1",
    "-fPIC",
    "-shared",
    "-Wall",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)
OPTIONS = {
    # Python and the libraries that it loads keep memory to the end, and were built without the sanitizers
    "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0:alloc_dealloc_mismatch=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # so that Python's objects are watched, too
}
# Loads the instrumented extension in the place of the installed one, then runs pytest.
RUN = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
name, path, *arguments = sys.argv[1:]
spec = spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))
sys.modules[name] = module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
import pytest
status = pytest.main(arguments)
from gscompile.runtime.extension import extension
assert extension is sys.modules[name]
sys.exit(status)
"""


# Of the tests that run on both paths, those that say something about memory and threads.
TESTS = "test_fastcall.py or (extension and (threads or freed or moved or in_place or ranks or dtypes or jax_arrays))"


def preloaded() -> str:
    """The sanitizer, and the C++ library whose exceptions it hooks; "" where gcc has none."""
    found = []
    for name in ("libasan.so", "libstdc++.so"):
        answer = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        found.append(answer.stdout.strip())
    return " ".join(found) if all(Path(file).exists() for file in found) else ""


@pytest.mark.skipif(sys.platform != "linux", reason="preloads the sanitizer as on Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, with its sanitizers")
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="free-threaded Python has no fast path")
def test_the_extension_under_the_sanitizers(tmp_path: Path) -> None:
    libraries = preloaded()
    if not libraries:
        pytest.skip("gcc comes without libasan")
    built = tmp_path / "_fastcall.so"
    include = (sysconfig.get_path("include"), np.get_include())
    subprocess.run(["gcc", *FLAGS, *(f"-I{folder}" for folder in include), SOURCE, "-o", built], check=True)
    files = ["tests/run/test_fastcall.py", "tests/run/test_repeated_calls.py"]
    options = ["-n", "0", "-p", "no:cacheprovider", "-k", TESTS, *files]
    run = subprocess.run(
        [sys.executable, "-c", RUN, "gscompile.runtime._fastcall", built, *options],
        cwd=ROOT,
        env={**os.environ, **OPTIONS, "LD_PRELOAD": libraries, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0 and "passed" in run.stdout, run.stdout[-8000:] + run.stderr[-8000:]
