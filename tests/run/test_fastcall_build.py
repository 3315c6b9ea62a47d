"""The C extension is optional."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
