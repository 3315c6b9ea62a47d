"""Compiled code that is kept on disk: found by other processes, and never where anything differs."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.compiler import disk_cache
from gscompile.ir import machine
from tests.children import WITHOUT_TORCH

pytestmark = pytest.mark.skipif(disk_cache.linker() is None, reason="this system has no linker")

X, INDEX, S = np.arange(12, dtype="float32").reshape(4, 3), np.array([3, 0, 3]), np.ones((3, 3), "float32")
WANT = X + np.array([[1.0], [0.0], [0.0], [2.0]], "float32")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(disk_cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def rows(name: str = "rows", **options: Any) -> gs.Builder:
    b = gs.Builder(name)
    x, i, s = b.input("x", (4, 3), "float32"), b.input("i", (3,), "int64"), b.input("s", (3, 3), "float32")
    b.output(b.put(x, i, s, **{"reduction": "add", **options}))
    return b


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_a_second_build_finds_it(folder: Path) -> None:
    first, second = rows().build(), rows().build()
    assert not first.from_cache
    assert second.from_cache
    assert len(files(folder)) == 1
    for m in (first, second):
        assert np.array_equal(m(X, INDEX, S), WANT)
        out = X.copy()
        assert m(out, INDEX, S, out=out) is out
        assert np.array_equal(out, WANT)
    with pytest.raises(gs.BoundsError, match=r"i\[1\] = 4 is out of range for axis 0 of data \(4, 3\)"):
        second(X, np.array([0, 4, 0]), S)
    assert second.from_cache
    assert (repr(second), second.stats) == (repr(first), first.stats)
    assert second.source("tir") == first.source("tir")
    assert "__tvm_ffi_rows" in second.source("asm")


def test_symbolic_sizes_and_workspace(folder: Path) -> None:
    def made() -> gs.Module:
        b = gs.Builder("means")
        x, i, s = b.input("x", ("n", 3), "float16"), b.input("i", ("k",), "int32"), b.input("s", ("k", 3), "float16")
        b.output(b.tanh(b.put(x, i, s, reduction="mean", include_self=False)), b.take(x, i))
        return b.build()

    first, second = made(), made()
    assert second.from_cache
    args = X.astype("float16"), INDEX.astype("int32"), S.astype("float16")
    for a, b in zip(first(*args), second(*args), strict=True):
        assert np.array_equal(a, b)
    with pytest.raises(gs.ShapeError, match="size k is 2"):
        second(args[0], args[1][:2], args[2])


def test_constants_are_not_part_of_the_code(folder: Path) -> None:
    def made(table: Any) -> gs.Module:
        b = gs.Builder("table")
        b.output(b.take(b.constant(table), b.input("i", (3,), "int64")))
        return b.build()

    assert np.array_equal(made(X)(INDEX), X[INDEX])
    other = made(X + 1)
    assert other.from_cache
    assert np.array_equal(other(INDEX), X[INDEX] + 1)
    assert not made(X.astype("float64")).from_cache
    assert not made(np.concatenate([X, X])).from_cache


DIFFERENT: dict[str, Callable[[], gs.Module]] = {
    "name": lambda: rows("others").build(),
    "reduction": lambda: rows(reduction="max").build(),
    "bounds": lambda: rows(bounds="clip").build(),
    "include_self": lambda: rows(include_self=False).build(),
    "deterministic": lambda: rows().build(deterministic=True),
    "CPU": lambda: rows().build({"kind": "llvm", "mcpu": "x86-64-v3"}),
    "cores": lambda: rows().build({"kind": "llvm", "num-cores": 64}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_compiled(name: str, folder: Path) -> None:
    rows().build()
    assert not DIFFERENT[name]().from_cache
    assert len(files(folder)) == 2
    assert DIFFERENT[name]().from_cache
    assert rows().build().from_cache


def test_other_versions_are_other_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows().build()
    monkeypatch.setattr(disk_cache, "_versions", lambda: b"others")
    assert not rows().build().from_cache
    assert len(files(folder)) == 2


def test_versions_are_all_files_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    text = disk_cache._versions.__wrapped__().decode()
    for name in ("schedules/llvm/numbers.py", "ir/tir.py", "_launch", "libtvm_compiler"):
        assert name in text
    monkeypatch.setattr(machine, "library_files", list)
    assert disk_cache._versions.__wrapped__().decode() != text


def test_rules_of_a_user_and_other_targets_are_not_kept(folder: Path) -> None:
    class Nothing:
        name = "nothing"

        def apply(self, nest: Any, ctx: Any) -> None:
            return None

    rows().build(rules=[Nothing()])
    rows().build("cuda")
    rows().build({"kind": "llvm", "mtriple": "aarch64-linux-gnu"})
    assert not folder.exists() or files(folder) == []


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "other", "no summary"])
def test_a_damaged_file_is_replaced(damage: str, folder: Path) -> None:
    rows().build()
    [name] = files(folder)
    data = (folder / name).read_bytes()
    code = data[: disk_cache._TRAILER.unpack(data[-disk_cache._TRAILER.size :])[0]]
    (folder / name).unlink()  # another file: a change of one that is loaded would end the process
    (folder / name).write_bytes(
        {
            "empty": b"",
            "short": data[: len(data) // 2],
            "flipped": data[:3000] + bytes([data[3000] ^ 1]) + data[3001:],
            "other": b"something else that is long enough to have a trailer" * 9,
            "no summary": code + disk_cache._closing(code, {"sizes": ["?"]}),
        }[damage]
    )
    m = rows().build()
    assert not m.from_cache
    assert np.array_equal(m(X, INDEX, S), WANT)
    assert rows().build().from_cache


def test_a_file_that_goes_before_it_is_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows().build()
    load, tried = machine.load_library, list[str]()

    def gone(path: str) -> Any:
        Path(path).unlink()
        tried.append(path)
        return load(path)

    first = rows().build()
    monkeypatch.setattr(machine, "load_library", gone)
    second = rows().build()
    assert tried
    assert np.array_equal(second(X, INDEX, S), WANT)  # compiled again
    assert np.array_equal(first(X, INDEX, S), WANT)


@pytest.mark.parametrize("where", ["off", "0", "/proc/none", "/dev/null/x", "x" * 5000])
def test_folders_that_are_none(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.FOLDER, where)
    m = rows().build()
    assert m._shared_library is None
    assert np.array_equal(m(X, INDEX, S), WANT)


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert rows().build()._shared_library is None
    folder.chmod(0o700)
    assert rows().build()._shared_library is not None


def test_a_folder_that_is_removed_meanwhile(folder: Path) -> None:
    rows().build()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert not rows().build().from_cache
    assert rows().build().from_cache


@pytest.mark.parametrize("program", [None, "/bin/false", "/nowhere/ld"])
def test_without_a_linker_that_works(program: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "linker", lambda: program)
    m = rows().build()
    assert m._shared_library is None
    assert np.array_equal(m(X, INDEX, S), WANT)
    assert not folder.exists() or files(folder) == []


def test_old_files_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.MEGABYTES, "1")
    monkeypatch.setattr(disk_cache, "EVICTED_EVERY", 1)
    folder.mkdir(mode=0o700)
    for age in range(1, 8):
        path = folder / f"old{age}.so"
        path.write_bytes(b"\0" * 200_000)
        os.utime(path, (1e9 - age, 1e9 - age))
    left = folder / "new-left"
    left.mkdir()
    os.utime(left, (1e9, 1e9))
    m = rows().build()
    kept = files(folder)
    assert kept[-3:] == ["old1.so", "old2.so", "old3.so"]
    assert len(kept) == 4
    assert np.array_equal(m(X, INDEX, S), WANT)


def test_a_file_in_use_says_so(folder: Path) -> None:
    rows().build()
    [path] = folder.iterdir()
    os.utime(path, (1e9, 1e9))
    rows().build()
    assert path.stat().st_mtime > 1.5e9


def test_code_leaves_memory_with_its_module(folder: Path) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system does not list what is mapped")
    rows().build()
    [name] = files(folder)
    m = rows().build()
    m(X, INDEX, S)
    assert name in maps.read_text()
    del m
    gc.collect()
    assert name not in maps.read_text()


def test_threads_at_once(folder: Path) -> None:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(rows().build()(X, INDEX, S))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 8
    assert all(np.array_equal(r, WANT) for r in results)
    assert len(files(folder)) == 1


PROCESS = """
import numpy as np
from tests.run.test_disk_cache import INDEX, S, WANT, X, rows
m = rows().build()
assert np.array_equal(m(X, INDEX, S), WANT)
print(m.from_cache)
"""


def test_processes_at_once_and_later(folder: Path) -> None:
    def start() -> subprocess.Popen[str]:
        root = Path(__file__).parents[2]
        return subprocess.Popen(
            [sys.executable, "-c", WITHOUT_TORCH + PROCESS], stdout=subprocess.PIPE, text=True, cwd=root
        )

    together = [start() for _ in range(3)]
    assert [p.wait() for p in together] == [0, 0, 0]
    assert len(files(folder)) == 1
    later = start()
    assert later.communicate()[0].strip() == "True"
