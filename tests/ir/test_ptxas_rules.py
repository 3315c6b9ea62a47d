"""Registers, spills and shared memory of every rule's kernels, by dtype, reduction, policy and kind of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gscompile.compiler import nvcc
from gscompile.schedules.cuda import RULES
from tests.ir.ptxas import of_graphs, ptxas, version
from tests.ir.rules import ARCHS, SPILLING, Case, cases

TABLE = Path(__file__).with_name("ptxas_rules.txt")
CASES = list(cases())
FIRST = [c for k, c in enumerate(CASES) if c.rule not in {x.rule for x in CASES[:k]}]
pytestmark = pytest.mark.skipif(
    ptxas() is None or nvcc.available() is None,
    reason="needs ptxas and nvcc or NVRTC: a CUDA toolkit, or the extras cuda and ptxas",
)


def lines(some: Sequence[Case]) -> dict[str, str]:
    """The lines of the table: of a case's kernels the most registers, all stack and spilled bytes, the most shared memory."""
    table = {}
    for name, by_arch in sorted(of_graphs({c.name: c.source(ARCHS[0]) for c in some}, ARCHS).items()):
        cells = ""
        for each in by_arch.values():
            stack, spilled = sum(r.stack for r in each), sum(r.spilled for r in each)
            cells += f"{max(r.registers for r in each):>11}{stack:>7}{spilled:>9}{max(r.shared for r in each):>8}"
        table[name] = f"{name:<48}{cells}"
    return table


def head() -> str:
    columns = f"{'registers':>11}{'stack':>7}{'spilled':>9}{'shared':>8}"
    return (
        f"ptxas {version()}\n{'':<48}" + "".join(f"{a:>35}" for a in ARCHS) + f"\n{'case':<48}{columns * len(ARCHS)}\n"
    )


def compare(some: Sequence[Case], update: bool) -> None:
    """The lines of some cases, which use no stack and spill nothing, are those of the table."""
    now = lines(some)
    if update:
        was = dict(zip(names(), TABLE.read_text().splitlines()[3:], strict=True)) if TABLE.is_file() else {}
        merged = {c.name: {**was, **now}.get(c.name, "") for c in CASES}
        TABLE.write_text(head() + "".join(f"{merged[name]}\n" for name in sorted(merged) if merged[name]))
    assert {name for name, line in now.items() if spills(line)} <= SPILLING
    if not TABLE.read_text().startswith(f"ptxas {version()}\n"):
        pytest.skip(f"{TABLE.name} is of {TABLE.read_text().splitlines()[0]}, here is {version()}")
    known = dict(zip(names(), TABLE.read_text().splitlines()[3:], strict=True))
    assert now == {name: known.get(name) for name in now}


def spills(line: str) -> bool:
    """Whether a kernel has a stack or spills, on any architecture."""
    return any(number != "0" for k, number in enumerate(line[48:].split()) if k % 4 in (1, 2))


def names() -> list[str]:
    """The cases that are in the table."""
    return [line.split()[0] for line in TABLE.read_text().splitlines()[3:]]


def test_one_of_each_rule(request: pytest.FixtureRequest) -> None:
    assert {c.rule for c in FIRST} == {r.name for r in RULES} - {"check"}
    compare(FIRST, request.config.getoption("--update-golden"))


def test_every_case(request: pytest.FixtureRequest, thorough: bool) -> None:
    """Every third one; all of them with ``--thorough``, and where the table is written."""
    update = request.config.getoption("--update-golden")
    compare(CASES if thorough or update else CASES[::3], update)
    assert names() == sorted(c.name for c in CASES)
