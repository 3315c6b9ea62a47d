"""WebAssembly's tools: clang and LLVM's linker, which has no objcopy beside it that changes symbols."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gscompile.deploy.toolchain import FREESTANDING, Toolchain
from gscompile.errors import ArgumentError, TargetError

TRIPLE = "wasm32-unknown-unknown"


@dataclass(frozen=True, slots=True)
class WebAssembly(Toolchain):
    """clang and wasm-ld.

    Attributes:
        ld: the linker's command.
    """

    ld: str

    @staticmethod
    def find(triple: str, given: str | None) -> WebAssembly:
        if given and not shutil.which(given):
            raise ArgumentError(f"export: no C compiler {given!r} is found")
        lacking = [tool for tool in missing() if not (given and tool == "clang")]
        if lacking:
            raise TargetError(f"export for {triple} needs {' and '.join(lacking)} of LLVM, which is not found")
        return WebAssembly(given or newest("clang"), "", newest("llvm-ar"), newest("wasm-ld"))

    def compile(self, source: str, to: str, folder: Path, freestanding: bool) -> None:
        flags = [f"--target={TRIPLE}", "-std=gnu11", "-O2", "-fvisibility=hidden", "-mbulk-memory", *FREESTANDING]
        self.run([self.cc, *flags, "-c", source, "-o", to], folder)

    def rename(self, file: str, names: dict[str, str], folder: Path) -> None:
        path = folder / file
        path.write_bytes(with_symbols(path.read_bytes(), names, None))

    def join(self, files: Sequence[str], to: str, public: Sequence[str], folder: Path) -> None:
        self.run([self.ld, "-r", "--strip-debug", "-o", to, *files], folder)
        path = folder / to
        path.write_bytes(with_symbols(path.read_bytes(), {}, public))

    def module(self, file: str, to: str, public: Sequence[str], folder: Path) -> None:
        """A module, whose memory and functions are exported; functions of libm are imports of ``env``.

        Its stack is below its data, so that one that is too small ends the call.  The manifest is kept, which no code refers to.
        """
        exports = [f"--export={name}" for name in (*public, "__heap_base")]
        flags = ["--no-entry", "--stack-first", "--allow-undefined", "--strip-all", "--no-gc-sections"]
        self.run([self.ld, *flags, *exports, "-o", to, file], folder)


def newest(tool: str) -> str:
    """A tool of LLVM's, by its name or by that of its newest version; empty where there is none."""
    names = (tool, *(f"{tool}-{version}" for version in range(40, 10, -1)))
    return next((found for name in names if (found := shutil.which(name))), "")


def missing() -> list[str]:
    """The tools that are not here."""
    return [tool for tool in ("clang", "wasm-ld", "llvm-ar") if not newest(tool)]


# -- symbols of an object file: the tool conventions' "linking" section ----------------------------------------------------------

_SYMBOL_TABLE = 8  # a part of that section
_FUNCTION, _DATA, _GLOBAL, _SECTION, _TAG, _TABLE = range(6)
_WEAK, _LOCAL, _UNDEFINED, _EXPLICIT_NAME = 1, 2, 0x10, 0x40


def with_symbols(data: bytes, names: Mapping[str, str], public: Collection[str] | None) -> bytes:
    """An object file, some of whose symbols have other names, and some none outside of it.

    Args:
        names: old -> new.
        public: defined symbols that others see; None for all of them.
    """
    out, at = bytearray(data[:8]), 8
    while at < len(data):
        begin, kind = at, data[at]
        size, at = _number(data, at + 1)
        body, at = data[at : at + size], at + size
        if kind == 0 and body.startswith(b"\x07linking"):
            body = _linking(body, names, public)
            out += bytes([0]) + _leb(len(body)) + body
        else:
            out += data[begin:at]
    return bytes(out)


def _linking(body: bytes, names: Mapping[str, str], public: Collection[str] | None) -> bytes:
    _, at = _number(body, len(b"\x07linking"))  # the version
    out = bytearray(body[:at])
    while at < len(body):
        kind = body[at]
        size, at = _number(body, at + 1)
        part, at = body[at : at + size], at + size
        if kind == _SYMBOL_TABLE:
            part = _symbol_table(part, names, public)
        out += bytes([kind]) + _leb(len(part)) + part
    return bytes(out)


def _symbol_table(part: bytes, names: Mapping[str, str], public: Collection[str] | None) -> bytes:
    count, at = _number(part, 0)
    out = bytearray(_leb(count))
    for _ in range(count):
        kind = part[at]
        flags, at = _number(part, at + 1)
        defined = not flags & _UNDEFINED
        index, name = b"", b""
        if kind != _DATA:
            index, at = _numbers(part, at, 1)
        if kind == _DATA or (kind != _SECTION and (defined or flags & _EXPLICIT_NAME)):
            length, at = _number(part, at)
            text, at = part[at : at + length].decode(), at + length
            if defined and public is not None and text not in public:
                flags = flags & ~_WEAK | _LOCAL
            new = names.get(text, text).encode()
            name = _leb(len(new)) + new
        place = b""
        if kind == _DATA and defined:
            place, at = _numbers(part, at, 3)  # segment, offset, size
        out += bytes([kind]) + _leb(flags) + index + name + place
    return bytes(out)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned number in LEB128, and where it ends."""
    found = shift = 0
    while True:
        byte, at = data[at], at + 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return found, at


def _numbers(data: bytes, at: int, count: int) -> tuple[bytes, int]:
    """The bytes of so many numbers, and where they end."""
    begin = at
    for _ in range(count):
        _, at = _number(data, at)
    return data[begin:at], at


def _leb(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
