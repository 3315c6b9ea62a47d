"""Constants in a file beside the library: mapped, shared, and never mistaken for another library's."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from tests.deploy.libraries import HERE, OTHER_SYSTEMS, run, sanitizing, tool
from tests.deploy.test_c import FLAGS
from tests.oracle import assert_same

TABLE = np.arange(3 * 1024, dtype="float32").reshape(3, 1024)
FEW = np.array([5, 6, 7], "float32")
ROWS = np.array([2, -1])
CPUS = ["v2", "v3", "v4"]
SAID = "2048 3071 7 7\n"
REASONS = {
    "missing": "No such file or directory",
    "folder": "this is no file of constants that gscompile wrote",
    "empty": "this is no file of constants that gscompile wrote",
    "text": "this is no file of constants that gscompile wrote",
    "short": "it was cut off, or something was added to it",
    "long": "it was cut off, or something was added to it",
    "swapped": "these are not the constants that this library was exported with",
    "newer": "it is of another format than this library reads",
}


def lookup(factor: float = 1, name: str = "net") -> gs.Builder:
    b = gs.Builder(name)
    i = b.input("i", ("k",), "int64")
    b.output(b.take(b.constant(TABLE * np.float32(factor)), i), b.take(b.constant(FEW), i))
    return b


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net.so and net.a for three CPUs, with net.weights, and files that are not theirs."""
    folder = tmp_path_factory.mktemp("net")
    module = lookup().build()
    for name in ("net.a", "net.so"):
        module.export(folder / name, weights=folder / "net.weights", cpu=CPUS)
    lookup(2).build().export(folder / "other.so", weights=folder / "swapped")
    data = (folder / "net.weights").read_bytes()
    (folder / "folder").mkdir()
    for name, wrong in {
        "empty": b"",
        "text": b"constants" * 1000,
        "short": data[:-1],
        "long": data + b"\0",
        "newer": data[:20] + b"\2" + data[21:],
        "corrupt": data[:-1] + b"\1",
    }.items():
        (folder / name).write_bytes(wrong)
    return folder


def program(folder: Path, cc: str, link: str, *flags: str) -> Path:
    """A program in a folder of its own, with the library that it is linked to."""
    to = folder / f"{cc}_{link}{''.join(flags)}"
    to.mkdir()
    library = Path(shutil.copy(folder / link, to))
    language = ["-x", "c++", "-std=c++11"] if "++" in cc else ["-x", "c", "-std=c11", "-pedantic"]
    command = [tool(cc), *language, *FLAGS, f"-I{folder}", HERE / "weights.c", "-x", "none", *flags, library]
    run([*command, f"-Wl,-rpath,{to}", "-lm", "-o", to / "program"])
    return to / "program"


@pytest.mark.parametrize("link", ["net.so", "net.a"])
@pytest.mark.parametrize("cc", ["gcc", "g++", "clang"])
def test_a_program_finds_them(folder: Path, cc: str, link: str) -> None:
    made = program(folder, cc, link)
    head = f"net: its constants cannot be mapped from {made.parent}/net.weights: "
    assert run([made, "-", folder / "net.weights", "-"]) == f"{head}{REASONS['missing']}\nmapped\n{SAID}"
    (made.parent / "net.weights").write_bytes((folder / "swapped").read_bytes())
    assert run([made, "-"]) == f"{head}{REASONS['swapped']}\n"
    shutil.copy(folder / "net.weights", made.parent)
    assert run([made, "-", "-"], cwd="/") == SAID * 2
    names = {"net_use_weights", "net_lacks", "net"}
    if link == "net.so":
        assert names <= set(run([tool("nm"), "-D", "--defined-only", "-j", folder / link]).split())


def test_what_is_not_theirs(folder: Path) -> None:
    made = program(folder, "gcc", "net.so", "-O2")
    for name, reason in REASONS.items():
        path = folder / name
        says = f"net: its constants cannot be mapped from {path}: {reason}"
        # whether other constants are mapped already or not
        assert run([made, path, folder / "net.weights", path, "-"]) == f"{says}\nmapped\n{says}\n{SAID}"
        with pytest.raises(gs.ArgumentError, match=re.escape(says)):
            gs.load(folder / "net.so", weights=path)


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_sanitizers(folder: Path, tmp_path: Path, sanitizer: str) -> None:
    tool("gcc")
    flags, cc = sanitizing(tmp_path, sanitizer)
    lookup().build().export(tmp_path / "net.a", weights=tmp_path / "net.weights", cc=cc)
    made = program(tmp_path, "gcc", "net.a", *flags)
    shutil.copy(tmp_path / "net.weights", made.parent)
    assert run([tool("setarch"), "-R", made, "-", folder / "short", "-"]).startswith(SAID)


@pytest.mark.parametrize("link", ["net.so", "net.a"])
def test_valgrind(folder: Path, link: str) -> None:
    """The library takes its code for AVX2, as in test_c.py."""
    made = program(folder, "gcc", link, "-O0")
    shutil.copy(folder / "net.weights", made.parent)
    said = run([tool("valgrind"), "-q", "--error-exitcode=3", made, "-", folder / "short", "-"])
    assert said.startswith(f"{SAID}net: ") and said.endswith(f"{REASONS['short']}\n{SAID}")


@pytest.mark.parametrize(("architecture", "attributes"), OTHER_SYSTEMS)
def test_other_systems(folder: Path, tmp_path: Path, architecture: str, attributes: dict[str, Any]) -> None:
    triple = f"{architecture}-linux-gnu"
    cc, qemu = tool(f"{triple}-gcc"), tool(f"qemu-{architecture}")
    target = {"kind": "llvm", "mtriple": triple, **attributes}
    lookup().build(target).export(tmp_path / "net.a", weights=tmp_path / "net.weights")
    assert (tmp_path / "net.weights").read_bytes() == (folder / "net.weights").read_bytes()
    made = tmp_path / "program"
    run([cc, *FLAGS, f"-I{tmp_path}", HERE / "weights.c", tmp_path / "net.a", "-static", "-lm", "-o", made])
    assert run([qemu, made, "-"]) == SAID
    (tmp_path / "net.weights").rename(tmp_path / "elsewhere")
    said = run([qemu, made, "-", tmp_path / "elsewhere", "-"])
    assert said.endswith(f"{tmp_path}/net.weights: {REASONS['missing']}\nmapped\n{SAID}")


def test_loaded(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = gs.load(folder / "net.so", verify=True)
    for f in (loaded, pickle.loads(pickle.dumps(loaded)), loaded):
        for got, want in zip(f(ROWS), (TABLE[ROWS], FEW[ROWS]), strict=True):
            assert_same(got, want)
    library = Path(shutil.copy(folder / "net.so", tmp_path))
    with pytest.raises(gs.ArgumentError, match=f"{tmp_path}/net.weights: {REASONS['missing']}"):
        gs.load(library)
    assert main(["inspect", str(library)]) == 0
    assert f"{tmp_path / 'net.weights'}: it is not there" in capsys.readouterr().out
    elsewhere = gs.load(library, weights=folder / "net.weights")
    assert_same(pickle.loads(pickle.dumps(elsewhere))(ROWS)[1], FEW[ROWS])
    # what reads all of the file sees what its head does not say
    changed = folder / "corrupt"
    gs.load(library, weights=changed)
    with pytest.raises(gs.ArgumentError, match="its bytes are not those of the constants"):
        gs.load(library, weights=changed, verify=True)
    assert main(["inspect", str(library), "--weights", str(changed)]) == 2
    assert "its bytes are not those of the constants" in capsys.readouterr().err
    assert main(["inspect", str(library), "--weights", str(folder / "net.weights")]) == 0
    said = capsys.readouterr().out
    assert "2 constants in net.weights: 16" in said and "net.weights: its hash is right" in said


def test_several_graphs_and_the_command_line(tmp_path: Path) -> None:
    modules = [lookup(2, "a").build(), lookup(3, "b").build()]
    gs.export(modules, tmp_path / "two.so", weights=tmp_path / "two.weights", cpu=["v2", "v3"])
    for name, factor in (("a", 2), ("b", 3)):
        assert_same(gs.load(tmp_path / "two.so", name)(ROWS)[0], TABLE[ROWS] * np.float32(factor))
    script = tmp_path / "model.py"
    script.write_text(
        "import numpy as np\ndef f(b):\n    return b.take(b.constant(np.arange(9.0)), b.input('i', ('k',), 'int64'))\n"
    )
    options = [f"{script}:f", "-o", str(tmp_path / "f.so"), "--weights", str(tmp_path / "f.weights")]
    assert main(["compile", *options]) == 0
    assert_same(gs.load(tmp_path / "f.so")(ROWS), np.array([2.0, 8.0]))


def test_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    made = lookup().build().export(tmp_path / "net.so", weights=tmp_path / "net.weights", cpu=CPUS)
    assert [p.name for p in made] == ["net.so", "net.h", "net.weights"]
    for path in made:
        assert path.read_bytes() == (folder / path.name).read_bytes()
    data = made[2].read_bytes()
    assert TABLE.tobytes() == data[4096 : 4096 + TABLE.nbytes]  # from a page on
    assert FEW.tobytes() == data[-FEW.nbytes :]


def test_processes_share_them(tmp_path: Path) -> None:
    """The pages are the file's own: clean, and of two processes."""
    table = np.ones((4096, 256), "float32")
    b = gs.Builder("net")
    b.output(b.take(b.constant(table), b.input("i", ("k",), "int64")))
    b.build().export(tmp_path / "net.so", weights=tmp_path / "net.weights")
    with open(tmp_path / "net.weights", "rb") as file:
        os.fsync(file)  # pages that are not on the disk yet count as dirty
    code = (
        "import sys, numpy as np, gscompile as gs\n"
        f"f = gs.load({str(tmp_path / 'net.so')!r})\n"
        "assert f(np.arange(4096)).all()\nprint('ready', flush=True)\nsys.stdin.read()\n"
    )
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    processes = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(2)]
    try:
        for p in processes:
            assert p.stdout is not None and p.stdout.readline() == b"ready\n"
        for p in processes:
            smaps = Path(f"/proc/{p.pid}/smaps").read_text()
            (found,) = re.findall(rf"r--s .*{tmp_path}/net.weights\n((?:\w+: .*\n)+)", smaps)
            kilobytes = {name: int(n) for name, n in re.findall(r"(\w+): +(\d+) kB", found)}
            assert kilobytes["Shared_Clean"] >= table.nbytes // 1024
            assert kilobytes["Private_Dirty"] == kilobytes["Shared_Dirty"] == 0
    finally:
        for p in processes:
            p.communicate(b"")


def test_what_makes_no_sense(tmp_path: Path) -> None:
    b = gs.Builder("net")
    b.output(b.take(b.input("x", (4,), "float32"), b.input("i", ("k",), "int64")))
    module = b.build()
    with pytest.raises(gs.ArgumentError, match="the graphs have no constants"):
        module.export(tmp_path / "net.so", weights=tmp_path / "net.weights")
    with pytest.raises(gs.ArgumentError, match="cannot write"):
        lookup().build().export(tmp_path / "net.so", weights=tmp_path / "nowhere" / "net.weights")
    module.export(tmp_path / "net.so")
    with pytest.raises(gs.ArgumentError, match="its constants are inside"):
        gs.load(tmp_path / "net.so", weights=tmp_path / "net.weights")
