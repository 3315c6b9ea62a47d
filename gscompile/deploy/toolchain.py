"""The system's C compiler and its tools, or those of another system."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gscompile.errors import ArgumentError, TargetError

# nothing that distributions switch on and that calls a libc, or looks for a thread's storage
FREESTANDING = ["-ffreestanding", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-U_FORTIFY_SOURCE"]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler, in the manner of GCC, and the binutils beside it.

    Attributes:
        cc: its command.
        objcopy, ar: theirs.
    """

    cc: str
    objcopy: str
    ar: str

    @staticmethod
    def find(triple: str, given: str | None) -> Toolchain:
        """What compiles for a triple.

        Args:
            triple: empty for this system.
            given: the compiler's command; by default $CC or ``cc`` here, and ``TRIPLE-gcc`` for another system.

        Raises:
            ArgumentError: the one that is given is not there.  TargetError: none is found.
        """
        names = [given] if given else [f"{triple}-gcc"] if triple else [os.environ.get("CC", ""), "cc", "gcc", "clang"]
        cc = next((found for n in names if n and (found := shutil.which(n))), None)
        if cc is None and given:
            raise ArgumentError(f"export: no C compiler {given!r} is found")
        if cc is None:
            raise TargetError(
                f"export needs a C compiler{f' for {triple}' if triple else ''}, which is not found: "
                f"install {'one' if not triple else f'{triple}-gcc'}, or name it by cc="
            )
        prefix = next((p for p in (f"{triple}-", cc.removesuffix("gcc")) if triple and shutil.which(f"{p}objcopy")), "")
        tools = [shutil.which(f"{prefix}{tool}") or shutil.which(f"llvm-{tool}") for tool in ("objcopy", "ar")]
        if None in tools:
            raise TargetError("export needs objcopy and ar, of binutils or LLVM, which are not found")
        return Toolchain(cc, *(str(t) for t in tools))

    def run(self, command: Sequence[str], folder: Path) -> None:
        """Run a command in a folder.

        Raises:
            TargetError: it fails.
        """
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            says = (done.stderr or done.stdout).strip()[-2000:]
            raise TargetError(f"export: {Path(command[0]).name} failed ({done.returncode}): {says}")

    def compile(self, source: str, to: str, folder: Path, freestanding: bool) -> None:
        """An object file, which any library may contain."""
        flags = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffile-prefix-map=.="]
        flags += FREESTANDING if freestanding else ["-pthread"]
        self.run([self.cc, *flags, "-c", source, "-o", to], folder)

    def rename(self, file: str, names: dict[str, str], folder: Path) -> None:
        """Give symbols of an object file other names."""
        changes = [f"--redefine-sym={a}={b}" for a, b in names.items()]
        self.run([self.objcopy, *changes, "--strip-debug", file], folder)

    def join(self, files: Sequence[str], to: str, public: Sequence[str], folder: Path) -> None:
        """One object file of several, in which only ``public`` symbols have names outside."""
        self.run([self.cc, "-r", "-nostdlib", "-o", to, *files], folder)
        kept = [f"--keep-global-symbol={name}" for name in public]
        self.run([self.objcopy, *kept, "--strip-unneeded", to], folder)

    def shared(self, file: str, to: str, folder: Path) -> None:
        """A shared library, which stays loaded: threads of its pool may be asleep in it."""
        links = ["nodelete", "noexecstack", "relro", "now"]
        flags = ["-shared", "-pthread", f"-Wl,-soname,{to}", "-Wl,--build-id=none", "-Wl,--as-needed", "-s"]
        self.run([self.cc, *flags, *(f"-Wl,-z,{z}" for z in links), "-o", to, file, "-lm", "-ldl"], folder)

    def archive(self, file: str, to: str, folder: Path) -> None:
        """A static library."""
        self.run([self.ar, "rcsD", to, file], folder)
