"""Exported libraries in C and C++: compiled without a warning, run, and watched by sanitizers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.deploy import source
from tests.deploy.libraries import HERE, OTHER_SYSTEMS, adding, run, sanitizing, tool

FLAGS = ["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-D_GNU_SOURCE", "-pthread"]
SAID = """put_3: i[777] = 1000 is out of range for axis 0 of data (1000, 8): valid are -1000 to 999
net: x is NULL
net: x is not aligned
net: put_3 overlaps s
net: size n is -3
net: sizes are too large
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net.so, libnet.a, net.o for three CPUs, and net.h."""
    folder = tmp_path_factory.mktemp("net")
    module = adding().build()
    for name in ("libnet.a", "net.o", "net.so"):
        module.export(folder / name, cpu=["v2", "v3", "v4"])
    return folder


def compiled(folder: Path, cc: str, *flags: Any, link: str = "net.so") -> Path:
    program = folder / f"use_{cc}_{link}{len(flags)}"
    language = ["-x", "c++", "-std=c++11"] if "++" in cc else ["-x", "c", "-std=c11", "-pedantic"]
    found = [folder / link, f"-Wl,-rpath,{folder}", "-lm"]
    run([tool(cc), *language, *FLAGS, f"-I{folder}", HERE / "use.c", "-x", "none", *flags, *found, "-o", program])
    return program


@pytest.mark.parametrize("link", ["net.so", "libnet.a", "net.o"])
@pytest.mark.parametrize("cc", ["gcc", "g++", "clang"])
def test_a_program_runs(folder: Path, cc: str, link: str) -> None:
    assert run([compiled(folder, cc, link=link)]) == SAID


def watched(folder: Path, sanitizer: str) -> list[str]:
    """The command of a program that is watched, and the library in it."""
    tool("gcc")
    flags, cc = sanitizing(folder, sanitizer)
    adding().build().export(folder / "net.a", cc=cc)
    return [tool("setarch"), "-R", str(compiled(folder, "gcc", *flags, link="net.a"))]


@pytest.mark.parametrize("sanitizer", ["address", "undefined", "thread"])
def test_sanitizers(tmp_path: Path, sanitizer: str) -> None:
    assert run(watched(tmp_path, sanitizer)) == SAID


def test_a_race_in_the_library_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of scratch memory that is kept is taken and given back in two steps instead of one."""
    text, torn = source.SCRATCH.read_text(), "({ GsScratch *had = *(slot); *(slot) = (block); had; })"
    changed = tmp_path / "_scratch.h"
    changed.write_text(
        f"#define torn(slot, block) {torn}\n"
        + text.replace("_Atomic(GsScratch *)", "GsScratch *").replace("atomic_exchange(", "torn(")
    )
    monkeypatch.setattr(source, "SCRATCH", changed)
    done = subprocess.run(watched(tmp_path, "thread"), capture_output=True, text=True)
    assert done.returncode != 0 and "WARNING: ThreadSanitizer: data race" in done.stderr, done
    assert " in net\n" in done.stderr


def test_valgrind(folder: Path) -> None:
    """It knows no AVX-512: the library takes its code for AVX2."""
    program = compiled(folder, "gcc", link="libnet.a")
    assert run([tool("valgrind"), "-q", "--error-exitcode=3", program]) == SAID


def test_what_it_needs_and_has(folder: Path) -> None:
    needs = re.findall(r"NEEDED.*\[(.*)\]", run([tool("readelf"), "-d", folder / "net.so"]))
    # ld-linux finds variables of threads, and is always there
    assert needs and {re.split(r"[.-]", n)[0] for n in needs} <= {"libc", "libm", "libpthread", "ld"}
    names = set(re.findall(r" [A-TV-Z] (\S+)$", run([tool("nm"), "-D", "--defined-only", folder / "net.so"]), re.M))
    assert names == {f"net{end}" for end in ("", "_workspace", "_kernel", "_explain", "_lacks", "_use_launcher")}
    undefined = run([tool("nm"), "-u", folder / "net.o"])
    assert not re.search("tvm|Py|_ZN", undefined, re.I), undefined


def test_several_libraries_in_one_program(tmp_path: Path) -> None:
    """Each has names of its own by its prefix, and one of them several graphs."""
    gs.export([adding("a").build(), adding("b").build()], tmp_path / "one.a", prefix="acme_")
    gs.export([adding("a").build()], tmp_path / "two.a", prefix="other_")
    (tmp_path / "main.c").write_text(
        '#include "one.h"\n#include "two.h"\n'
        "int main(void) {\n"
        "    float x[8] = {0}, s[8] = {1, 2, 3, 4, 5, 6, 7, 8}, o[8];\n    int64_t i[1] = {0};\n"
        "    if (acme_a(x, i, s, o, 1, 1, 0, 0) || acme_b(o, i, s, o, 1, 1, 0, 0) || other_a(o, i, s, o, 1, 1, 0, 0)) return 1;\n"
        "    return o[7] == 24 ? 0 : 2;\n}\n"
    )
    program = tmp_path / "main"
    run(["gcc", *FLAGS, tmp_path / "main.c", tmp_path / "one.a", tmp_path / "two.a", "-lm", "-o", program])
    run([program])


@pytest.mark.parametrize(("architecture", "attributes"), OTHER_SYSTEMS)
def test_other_systems(tmp_path: Path, architecture: str, attributes: dict[str, Any]) -> None:
    triple = f"{architecture}-linux-gnu"
    cc, qemu = tool(f"{triple}-gcc"), tool(f"qemu-{architecture}")
    adding().build({"kind": "llvm", "mtriple": triple, **attributes}).export(tmp_path / "net.a")
    program = tmp_path / "use"
    run([cc, *FLAGS, f"-I{tmp_path}", HERE / "use.c", tmp_path / "net.a", "-static", "-lm", "-o", program])
    assert run([qemu, program]) == SAID
    adding().build({"kind": "llvm", "mtriple": triple, **attributes}).export(tmp_path / "net.so")
    with pytest.raises(gs.DeviceError, match=f"it is for {triple}, and this process runs on"):
        gs.load(tmp_path / "net.so")


def test_the_same_graph_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        found.append([p.read_bytes() for p in adding().build().export(tmp_path / str(k) / "net.so")])
    assert found[0] == found[1]


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    module = adding().build()
    for path, options, says in [
        ("net.dll", {}, r"a path that ends in .so, .a, .o, .wasm is needed"),
        ("nowhere/net.so", {}, "cannot write"),
        ("net.so", {"cc": "no-such-compiler"}, "no C compiler 'no-such-compiler'"),
    ]:
        with pytest.raises(gs.ArgumentError, match=says):
            module.export(tmp_path / path, **options)  # type: ignore[arg-type]
    with pytest.raises(gs.ArgumentError, match="each graph needs a name of its own"):
        gs.export([module, module], tmp_path / "net.so")
    with pytest.raises(gs.ArgumentError, match="a module is needed"):
        gs.export([], tmp_path / "net.so")
    with pytest.raises(gs.TargetError, match="LLVM knows no CPU 'v9'"):
        module.export(tmp_path / "net.so", cpu=["v9"])
    assert not list(tmp_path.iterdir())
