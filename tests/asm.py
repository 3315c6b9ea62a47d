"""Loops of assembly, and what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LABEL = re.compile(r"^(\.?L[\w$.]+):")
_JUMP = re.compile(r"^\t(j[a-z]+|b[a-z.]*|cbn?z|tbn?z)\t.*?(\.?L[\w$.]+)\s*$")


@dataclass(frozen=True)
class Loop:
    """The instructions from a label to a jump back to it, with no such loop inside."""

    instructions: tuple[str, ...]

    def count(self, pattern: str) -> int:
        """How many instructions match."""
        return sum(re.search(pattern, i) is not None for i in self.instructions)


def loops(asm: str) -> Iterator[Loop]:
    """The innermost loops of a function's assembly, of x86-64 or aarch64."""
    began: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    code: list[str] = []
    for line in asm.splitlines():
        line = re.sub(r"\s*(#|//).*$", "", line)
        if label := _LABEL.match(line):
            began[label[1]] = len(code)
        elif re.match(r"^\t[a-z]", line):
            code.append(line.strip())
            if (jump := _JUMP.match(line)) and jump[2] in began:
                found.append((began[jump[2]], len(code)))
    for lo, hi in found:
        if not any((a, b) != (lo, hi) and lo <= a and b <= hi for a, b in found):
            yield Loop(tuple(code[lo:hi]))


def hottest(asm: str, pattern: str) -> Loop:
    """The innermost loop in which most instructions match."""
    return max(loops(asm), key=lambda loop: loop.count(pattern))
