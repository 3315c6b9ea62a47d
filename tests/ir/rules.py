"""Graphs for every rule for cuda: each dtype, reduction, policy and kind of sizes with each other, two by two.

All of them together would be some thousand graphs; what differs in one kernel differs by what two of these say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import gscompile as gs
from tests.oracle import BOUNDS

ARCHS = ("sm_80", "sm_90")
SPILLING: set[str] = set()  # names of cases that use a stack or spill, with the reason; none does
DTYPES = ("float32", "float16", "int64", "int8", "float64")


@dataclass(frozen=True)
class Case:
    """A graph that a rule carries out.

    Attributes:
        what: reduction or nothing; dtype, policy or nothing; static or symbolic.
    """

    rule: str
    what: tuple[str, ...]
    declare: Callable[[gs.Builder], gs.Value]

    @property
    def name(self) -> str:
        return "_".join((self.rule.replace("-", "_"), *self.what))

    def source(self, arch: str) -> str:
        """Its CUDA source.  Raises AssertionError: another rule has taken it."""
        b = gs.Builder(self.name)
        b.output(self.declare(b))
        module = b.build({"kind": "cuda", "arch": arch}, deterministic=self.rule == "fold-parts")
        assert self.rule in {rule for _, rule in module.stats.kernels}, (self.name, module.stats.kernels)
        return str(module.source("cuda"))


def _sizes(kind: str) -> dict[str, Any]:
    return {"n": "n", "k": "k"} if kind == "symbolic" else {"n": 3000, "k": 5000}


def _take(axis: int, width: int, *index: Any, scalar: bool = False) -> Callable[..., gs.Value]:
    def declare(b: gs.Builder, dtype: str, bounds: str, n: Any, k: Any) -> gs.Value:
        x = b.input("x", (n,) if scalar else (n, width), dtype)
        return b.take(x, b.input("i", (k, *index), "int64"), axis, bounds=bounds)

    return declare


def _elements(b: gs.Builder, dtype: str, bounds: str, n: Any, k: Any) -> gs.Value:
    return b.gather(b.input("x", (n, 5), dtype), b.input("i", (k, 5), "int64"), 0, bounds=bounds)


GATHERS = {"copies": _take(0, 64), "elements": _take(0, 1, scalar=True), "cells": _elements}


def _put(width: int | None, **options: Any) -> Callable[..., gs.Value]:
    def declare(b: gs.Builder, dtype: str, reduction: str, bounds: str, n: Any, k: Any) -> gs.Value:
        row = () if width is None else (width,)
        x, i, v = b.input("x", (n, *row), dtype), b.input("i", (k,), "int64"), b.input("v", (k, *row), dtype)
        return b.put(x, i, v, reduction=reduction, bounds=bounds, **options)

    return declare


def _few(width: int, **options: Any) -> Callable[..., gs.Value]:
    """Of few points."""
    put = _put(width, **options)
    return lambda b, dtype, reduction, bounds, n, k: put(b, dtype, reduction, bounds, n, 200)


# rule -> reductions, dtypes, what declares it
SCATTERS: dict[str, tuple[Sequence[str], Sequence[str], Callable[..., gs.Value]]] = {
    "direct": (("update", "add", "mean"), DTYPES, _put(8, unique=True)),
    "last-writer": (("update",), DTYPES, _put(8)),
    "listed": (("add", "mean", "mul"), ("float32", "float16", "float64"), _put(8, deterministic=True)),
    "ordered": (("add", "mean", "mul"), ("float32", "float16", "float64"), _few(8, deterministic=True)),
    "privatised": (("add", "max", "mean"), DTYPES, _put(None)),
    "atomics": (("add", "max", "mean", "sub", "mul"), DTYPES, _put(8)),
    "sorted-elements": (("add", "max", "mean", "mul"), DTYPES, _put(None, sorted=True)),
    "sorted-rows": (("add", "max", "mean", "mul"), DTYPES, _put(32, sorted=True)),
}


def _fold(axis: int, shape: Callable[[Any, Any], tuple[Any, ...]]) -> Callable[..., gs.Value]:
    def declare(b: gs.Builder, dtype: str, reduction: str, n: Any, k: Any) -> gs.Value:
        value: gs.Value = getattr(b, reduction)(b.input("x", shape(n, k), dtype), axis)
        return value

    return declare


def _bags(b: gs.Builder, dtype: str, reduction: str, n: Any, k: Any, bounds: str = "raise") -> gs.Value:
    rows = b.take(b.input("x", (n, 64), dtype), b.input("i", (k, 20), "int64"), bounds=bounds)
    value: gs.Value = getattr(b, reduction)(rows, 1)
    return value


FOLDS: dict[str, tuple[Sequence[str], Callable[..., gs.Value]]] = {
    "fold-rows": (("sum", "max", "mean", "argmax"), _fold(1, lambda n, k: (n, k))),
    "fold-columns": (("sum", "max", "mean"), _fold(0, lambda n, k: (k, n))),
    "bags": (("sum", "max", "mean"), _bags),
    "folds": (("sum", "max", "mean"), _fold(1, lambda n, k: (n, 20, 5))),
    "fold-parts": (("sum", "prod", "mean"), _fold(1, lambda n, k: (n, k))),
    "scans": (("cumsum", "cumprod"), _fold(0, lambda n, k: (k, n))),
}


def _normalised(*row: int) -> Callable[..., gs.Value]:
    """Points without the total of their segment."""

    def declare(b: gs.Builder, dtype: str, reduction: str, bounds: str, n: Any, k: Any) -> gs.Value:
        x, i = b.input("x", (k, *row), dtype), b.input("i", (k,), "int64")
        total = b.put(b.zeros((3000, *row), dtype), i, x, reduction=reduction, bounds=bounds, sorted=True)
        return x - b.take(total, i, bounds=bounds)

    return declare


OFFSETS = "offsets"
"""Stands where others have a policy for indices."""
SEGMENTS: tuple[tuple[str, Callable[..., gs.Value]], ...] = (
    ("add", _normalised()),
    ("max", _normalised(8)),
    ("mean", _normalised(20)),
)


def without_totals(b: gs.Builder, dtype: str, reduction: str, bounds: str, n: Any, k: Any) -> gs.Value:
    """Points without the total of their segment, which offsets say."""
    x, o = b.input("x", (k, 8), dtype), b.input("o", (n,), "int64")
    return x - b.cast(b.segment_expand(b.segment_reduce(x, o, reduction), o, k), dtype)


def cases() -> Iterator[Case]:
    """The cases."""
    kinds, turn = ("symbolic", "static"), count()
    for rule, declare in GATHERS.items():
        for d, dtype in enumerate(DTYPES):
            for p, bounds in enumerate(BOUNDS):
                if (d + p) % 2 == 0 or dtype == "float32":
                    # what wraps around an unknown size is left to cells
                    kind = "static" if (rule, bounds) == ("elements", "wrap") else kinds[next(turn) % 2]
                    yield _case(rule, (dtype, bounds), kind, declare)
    for rule, (reductions, dtypes, declare) in SCATTERS.items():
        for r, reduction in enumerate(reductions):
            for d, dtype in enumerate(dtypes):
                kind = "symbolic" if rule == "privatised" else kinds[(r + d) % 2]
                yield _case(rule, (dtype, reduction, BOUNDS[(r + 2 * d) % len(BOUNDS)]), kind, declare)
    for r, (reduction, declare) in enumerate(SEGMENTS):
        for d, dtype in enumerate(("float32", "float16", "float64", "int64", "int8")):
            bounds = [p for p in BOUNDS if p != "fill"][(r + d) % 4]
            yield _case("segments", (dtype, reduction, bounds), kinds[(r + d) % 2], declare)
    for r, reduction in enumerate(("sum", "max", "mean")):
        for d, dtype in enumerate(("float32", "bfloat16", "float64", "int32")):
            yield _case("segments", (dtype, reduction, OFFSETS), kinds[(r + d) % 2], without_totals)
    for rule, (reductions, declare) in FOLDS.items():
        for r, reduction in enumerate(reductions):
            for d, dtype in enumerate(("float32", "float16", "int64")):
                if rule == "fold-parts" and dtype == "int64":  # integers are the same in any order
                    continue
                if (
                    rule not in ("fold-rows", "bags") or dtype != "float16" or reduction not in ("max", "argmax")
                ):  # 16 bits are not shuffled
                    yield _case(rule, (dtype, reduction), kinds[(r + d) % 2], declare)
    yield _case(
        "serial-rows", ("complex64",), "symbolic", lambda b, dtype, n, k: b.cumprod(b.input("x", (n, k), dtype), 1)
    )


def _case(rule: str, what: tuple[str, ...], kind: str, declare: Callable[..., gs.Value]) -> Case:
    return Case(rule, (*what, kind), lambda b: declare(b, *what, **_sizes(kind)))
