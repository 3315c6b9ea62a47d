"""What is built of the package: its C extension, which is optional, and a wheel, which is small."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

from tests.deploy.libraries import adding
from tests.frameworks import need

ROOT = Path(__file__).parents[2]


def test_without_a_compiler_the_build_goes_on_without_it(tmp_path: Path) -> None:
    need("setuptools")
    built, scratch = tmp_path / "lib", tmp_path / "temp"
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", built, "--build-temp", scratch, "--force"]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CC": "/bin/false"}, capture_output=True, text=True, check=True
    )
    assert "building extension" in run.stderr and "failed" in run.stderr
    assert not list(built.rglob("_fastcall*"))


USE = """
import sys
sys.path[:0] = [sys.argv[1]]
import numpy as np, gscompile as gs
x, i, s = np.zeros((4, 8), "float32"), np.array([1, -1, 1]), np.ones((3, 8), "float32")
print(gs.load(sys.argv[2])(x, i, s)[:, 0].tolist(), gs.__file__.startswith(sys.argv[1]))
try:
    gs.Builder
except ImportError as e:
    print(e.name)
"""


def test_a_wheel_beside_numpy_alone_runs_exported_libraries(tmp_path: Path) -> None:
    """It has less than 1 MB; -I and -S leave out all packages but those in a folder."""
    need("setuptools"), need("wheel")
    source, packages = tmp_path / "source", tmp_path / "packages"
    source.mkdir()
    for name in ("gscompile", "schedules"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "-w", tmp_path, source]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 1_000_000
    zipfile.ZipFile(wheel).extractall(packages)
    for folder in Path(np.__file__).parents[1].glob("numpy*"):
        (packages / folder.name).symlink_to(folder)
    adding().build().export(tmp_path / "net.so")
    command = [sys.executable, "-I", "-S", "-c", USE, packages, tmp_path / "net.so"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[0.0, 2.0, 0.0, 1.0] True\ntvm\n", "")
