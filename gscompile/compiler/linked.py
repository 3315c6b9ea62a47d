"""Compiled code as shared libraries, by way of the system's linker."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gscompile.ir import machine


@cache
def linker() -> str | None:
    """The system's linker, where it makes libraries that this process can load."""
    return shutil.which("ld") if sys.platform == "linux" else None


def link(command: str, objects: Sequence[str], library: str) -> None:
    """Make a shared library of object files.

    Raises:
        OSError, subprocess.SubprocessError: the linker does not run, or fails.
    """
    options = ["-shared", "-Bsymbolic", "-s", "-z", "noexecstack"]
    subprocess.run(
        [command, *options, "-o", library, *objects], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )


class Linked:
    """What TVM compiled without optimising; its functions are those of an object file that is linked and loaded.

    TVM's own way from LLVM's instructions to machine code always optimises: 38 ms for a gather of rows. An object file takes
    8 ms, its linking 5.

    Attributes:
        mod: TVM's module.
    """

    def __init__(self, library: Any):
        self._library = library
        self.mod = library.mod

    def __getitem__(self, name: str) -> Any:
        command = linker()
        if command is not None:
            try:
                with tempfile.TemporaryDirectory(prefix="gscompile-") as folder:
                    unit, library = (str(Path(folder, file)) for file in ("code.o", "code.so"))
                    self.mod.write_to_file(unit, "o")
                    link(command, [unit], library)
                    return machine.load_library(library)[name]
            except (OSError, subprocess.SubprocessError, RuntimeError):
                pass  # no folder that can be written to, or none that code may be executed from
        return self._library[name]
