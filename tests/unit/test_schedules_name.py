"""``gscompile.schedules`` and its other name, ``schedules``, which a user's own file may have."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gscompile as gs
from tests.children import WITHOUT_TORCH

ROOT = Path(gs.__file__).parents[1]

BUILD = """
import gscompile as gs
b = gs.Builder()
b.output(b.take(b.input("x", (3,), "float32"), b.input("i", (2,), "int64")))
assert len(b.build("llvm").stats.kernels) == 1
"""
OWN = f"""
{WITHOUT_TORCH}{BUILD}
import multiprocessing, schedules

def worker():
{"    ".join(BUILD.splitlines(keepends=True))}
    import schedules
    assert schedules.OWN == 7

if __name__ == "__main__":
    assert schedules.OWN == 7 and not hasattr(schedules, "llvm")
    process = multiprocessing.get_context("spawn").Process(target=worker)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
"""
OTHER_NAME = """
import schedules.llvm.numbers as by_the_other
from schedules.rule import Rule
import gscompile.schedules.llvm.numbers as canonical
import gscompile.schedules.rule
import schedules
assert by_the_other is canonical is schedules.llvm.numbers
assert Rule is gscompile.schedules.rule.Rule is schedules.Rule
assert canonical.__name__ == canonical.__spec__.name == "gscompile.schedules.llvm.numbers"
"""


def run(*arguments: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_users_schedules_py_is_not_taken_for_the_package(tmp_path: Path) -> None:
    (tmp_path / "schedules.py").write_text("OWN = 7\n")
    (tmp_path / "script.py").write_text(OWN)
    run("script.py", folder=tmp_path)
    run("-c", f"{WITHOUT_TORCH}import schedules\n{BUILD}", folder=tmp_path)  # theirs is there first
    run("-m", "gscompile", "--version", folder=tmp_path)


@pytest.mark.parametrize("first", ["", "import gscompile\n"])
def test_the_other_name_is_the_same_modules(first: str, tmp_path: Path) -> None:
    run("-c", f"{WITHOUT_TORCH}{first}{OTHER_NAME}", folder=tmp_path)


def test_gscompile_never_imports_by_the_other_name() -> None:
    files = [*ROOT.glob("gscompile/**/*.py"), *ROOT.glob("schedules/**/*.py")]
    assert len(files) > 150
    by_it = [f.relative_to(ROOT) for f in files if re.search(r"^\s*(from|import) schedules\b", f.read_text(), re.M)]
    assert not by_it, "write gscompile.schedules"
