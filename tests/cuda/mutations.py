"""Defects to plant in kernels, so that a test can show that they are noticed: a barrier is gone, an atomic is plain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# the statement of a barrier, and a call of an atomic whose result is not used
_BARRIER = re.compile(r"\b__sync(?:threads|warp)\([^;()]*\);")
_ATOMIC = re.compile(r"\batomic(Add|Sub|Min|Max|And|Or|Xor)\(")
_SHUFFLE = re.compile(r"\b__shfl(?:_up|_down)?_sync\(")
_MASK = re.compile(r"\b(?:4294967295(?=,)|0xffffffffu(?=,))")
_PLAIN = {
    "Add": "{p} = {p} + {v}",
    "Sub": "{p} = {p} - {v}",
    "Min": "{p} = min({p}, {v})",
    "Max": "{p} = max({p}, {v})",
    "And": "{p} = {p} & {v}",
    "Or": "{p} = {p} | {v}",
    "Xor": "{p} = {p} ^ {v}",
}


@dataclass(frozen=True)
class Mutation:
    """One change of a text, and of no other text: for ``edits`` of ``on_cpu``."""

    what: str
    old: str
    new: str

    def __call__(self, text: str) -> str:
        return text.replace(self.old, self.new)


def mutations(text: str) -> Iterator[Mutation]:
    """A change for each barrier and each atomic of a kernel, or of a device function, that a GPU of the newest kind runs."""
    for m in _BARRIER.finditer(text):
        yield Mutation(f"without {m[0]}", text, text[: m.start()] + text[m.end() :])
    for m in _ATOMIC.finditer(text):
        if text.rfind("#else", 0, m.start()) > text.rfind("#endif", 0, m.start()):
            continue  # for older ones
        pointer, value, end = _arguments(text, m.end())
        vector = re.match(r"\(float([24])\*\)", pointer)
        if vector is None:
            plain = _PLAIN[m[1]].format(p=f"*({pointer})", v=f"({value})")
        else:  # CUDA adds no vectors but by atomics
            parts = "xyzw"[: int(vector[1])]
            plain = ", ".join(_PLAIN[m[1]].format(p=f"({pointer})->{c}", v=f"({value}).{c}") for c in parts)
        yield Mutation(f"a plain atomic{m[1]}", text, f"{text[: m.start()]}({plain}){text[end:]}")


def of_warps(text: str) -> Iterator[Mutation]:
    """A change for each shuffle, after which a lane has its own value, and for each mask of all lanes, which lacks the last."""
    for m in _SHUFFLE.finditer(text):
        _, rest, end = _arguments(text, m.end())
        value, _, _ = _arguments(f"{rest})", 0)
        yield Mutation(f"no shuffle: {text[m.start() : end]}", text, f"{text[: m.start()]}({value}){text[end:]}")
    for m in _MASK.finditer(text):
        yield Mutation(
            f"a lane is left out: {text[m.start() :][:60]}", text, f"{text[: m.start()]}0x7fffffffu{text[m.end() :]}"
        )


def _arguments(text: str, at: int) -> tuple[str, str, int]:
    """The two arguments of a call whose parenthesis was opened before ``at``, and where the call ends."""
    depth, comma, end = 1, None, at
    while depth:
        c = text[end]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        if c == "," and depth == 1 and comma is None:
            comma = end
        end += 1
    assert comma is not None, "an atomic has two arguments"
    return text[at:comma].strip(), text[comma + 1 : end - 1].strip(), end
