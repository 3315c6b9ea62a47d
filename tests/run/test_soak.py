"""A few seconds of :mod:`tests.soak`, which has a command for hours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def soak(*options: str) -> None:
    command = [sys.executable, "-m", "tests.soak", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_threads_that_build_and_call() -> None:
    soak("--minutes", "0.03", "--no-processes")


def test_forks_and_spawned_workers_meanwhile() -> None:
    soak("--minutes", "0.2")
