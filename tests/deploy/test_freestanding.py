"""Libraries for firmware: what they need, and programs without a libc that use them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.compiler.targets.freestanding import Freestanding
from tests import graphs
from tests.deploy.libraries import HERE, adding, run, tool
from tests.oracle import assert_same

FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-ffreestanding", "-fno-stack-protector"]
SAID = """put_3: i[123] = 100 is out of range for axis 0 of data (100, 8): valid are -100 to 99
put_3: i[123] = -9223372036854775808 is out of range for axis 0 of data (100, 8): valid are -100 to 99
net: x is NULL
net: size n is -3
half: there is no room for 832 bytes of scratch memory
"""
TARGETS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "x86_64": ("gcc", [], {"mcpu": "x86-64-v2"}),
    "aarch64": (
        "aarch64-linux-gnu-gcc",
        ["qemu-aarch64"],
        {"mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a53"},
    ),
    "riscv64": (
        "riscv64-linux-gnu-gcc",
        ["qemu-riscv64"],
        {"mtriple": "riscv64-linux-gnu", "mcpu": "generic-rv64", "mattr": ["+m", "+a", "+f", "+d", "+c"]},
    ),
}
MEMORY = {"memcpy", "memmove", "memset", "memcmp"}


def half() -> gs.Builder:
    """Sums of 16 bits, of fixed sizes: they need scratch memory."""
    b = gs.Builder("half")
    x, i, s = b.input("x", (50, 4), "bfloat16"), b.input("i", (7,), "int32"), b.input("s", (7, 4), "bfloat16")
    b.output(b.put(x, i, s, reduction="add"))
    return b


def undefined(library: Path, nm: str = "nm") -> set[str]:
    """What a library leaves to others."""
    return set(re.findall(r"^ +U (\S+)", run([tool(nm), "-u", library]), re.M))


@pytest.mark.parametrize("name", TARGETS)
def test_a_program_without_libc(name: str, tmp_path: Path) -> None:
    cc, emulator, attributes = TARGETS[name]
    tool(cc), *map(tool, emulator)
    modules = [b.build({"kind": "llvm", **attributes}) for b in (adding(), half())]
    library, _ = gs.export(modules, tmp_path / "firmware.a", prefix="fw_", freestanding=True)
    program = tmp_path / "firmware"
    link = ["-nostdlib", "-static", "-Wl,--no-relax", HERE / "firmware.c", library, "-o", program]
    run([cc, *FLAGS, f"-I{tmp_path}", *link])
    assert run([*emulator, program]) == SAID
    assert undefined(library) <= MEMORY
    names = run(["readelf", "--sections", "--syms", "--wide", library])
    assert ".tbss" not in names and ".tdata" not in names and " TLS " not in names


def test_what_operators_need(tmp_path: Path) -> None:
    """Of every gather and scatter, and of functions of libm; scratch memory is the caller's."""
    modules = [b.build() for b in graphs.operators() if b.name.endswith("symbolic")]
    library, _ = gs.export(modules, tmp_path / "all.o", freestanding=True)
    assert undefined(library) <= MEMORY
    b = gs.Builder("exponentials")
    b.output(b.exp(b.take(b.input("x", ("n",), "float64"), b.input("i", ("k",), "int64"))))
    library, _ = b.build().export(tmp_path / "exp.o", freestanding=True)
    assert undefined(library) <= {*MEMORY, "exp"}


def test_its_kernels_compute_the_same() -> None:
    """On this machine they can be called as any other build."""
    for sample in graphs.samples("bfloat16"):
        for got, want in zip(
            sample.builder.build(Freestanding.of({"kind": "llvm"}))(*sample.arrays), sample.want, strict=True
        ):
            assert_same(got, want)


def strict(cc: str, folder: Path) -> str:
    """A C compiler that takes no warning."""
    wrapper = folder / f"strict-{cc}"
    wrapper.write_text(f'#!/bin/sh\nexec {tool(cc)} "$@" -Wall -Wextra -Werror\n')
    wrapper.chmod(0o755)
    return str(wrapper)


@pytest.mark.parametrize("freestanding", [False, True])
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_its_own_code_has_no_warnings(cc: str, freestanding: bool, tmp_path: Path) -> None:
    unchecked = gs.Builder("unchecked")
    unchecked.output(
        unchecked.take(unchecked.input("x", (9,), "int8"), unchecked.input("i", (4,), "int64"), bounds="clip")
    )
    modules = [adding().build(), half().build()]
    gs.export([unchecked.build()], tmp_path / "unchecked.o", cc=strict(cc, tmp_path), freestanding=freestanding)
    gs.export(modules, tmp_path / "net.o", cc=strict(cc, tmp_path), freestanding=freestanding)


def test_what_cannot_be_freestanding(tmp_path: Path) -> None:
    with pytest.raises(gs.ArgumentError, match=r"a freestanding library is no shared one: its path ends in .a or .o"):
        adding().build().export(tmp_path / "net.so", freestanding=True)
    arm = adding().build({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a53"})
    with pytest.raises(gs.ArgumentError, match="only x86's CPUs say what they have"):
        arm.export(tmp_path / "net.a", cpu=["cortex-a53", "neoverse-n1"], freestanding=True)
    assert not list(tmp_path.iterdir())
