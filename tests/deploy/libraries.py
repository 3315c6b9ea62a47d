"""Graphs, exported."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import gscompile as gs

HERE = Path(__file__).parent
OTHER_SYSTEMS = [
    ("aarch64", {"mcpu": "neoverse-n1"}),
    ("riscv64", {"mcpu": "generic-rv64", "mattr": ["+m", "+a", "+f", "+d", "+c"]}),
]
"""Architectures with a compiler and an emulator, and what their targets have beside the triple."""


def adding(name: str = "net") -> gs.Builder:
    """Rows added to rows: what use.c calls."""
    b = gs.Builder(name)
    x, i = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")
    b.output(b.put(x, i, b.input("s", ("k", 8), "float32"), reduction="add"))
    return b


def tool(name: str) -> str:
    """A program that some machines do not have."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(command: Sequence[Any], **options: Any) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, (done.returncode, done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


def sanitizing(folder: Path, sanitizer: str) -> tuple[list[str], str]:
    """Flags that compile a program under one of gcc's sanitizers, and a compiler for the library that it uses.

    What the library does between a program and its kernels is watched as well: a sanitizer of threads that does not see its
    atomics would take what they order for races.
    """
    flags = [f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-g"]
    cc = folder / "cc"
    cc.write_text(f'#!/bin/sh\ncase " $* " in *" -c "*) set -- {" ".join(flags)} "$@" ;; esac\nexec gcc "$@"\n')
    cc.chmod(0o755)
    return flags, str(cc)
