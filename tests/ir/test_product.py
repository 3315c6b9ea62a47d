"""Source, registers and shared memory of every rule for cuda with every dtype, reduction, policy and kind of sizes; no spills."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from gscompile.compiler import nvcc
from tests.ir.product import ABSENT, DTYPES, product
from tests.ir.ptxas import of_graphs, ptxas, version
from tests.ir.rules import ARCHS, SPILLING, Case

TABLES = Path(__file__).with_name("product")
AT_ONCE = 64  # graphs of a program


def head() -> str:
    columns = "".join(f"{a + ' registers':>17}{'shared':>8}" for a in ARCHS)
    return f"ptxas {version()}\n{'case':<50}{'source':>10}{columns}\n"


def lines(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Of a case's source the first digits of its SHA-256, of its kernels the most registers and the most shared memory.

    Returns:
        the lines, and the names of those that use a stack or spill.
    """
    table, spilling = [], []
    for k in range(0, len(cases), AT_ONCE):
        sources = {c.name: c.source(ARCHS[0]) for c in cases[k : k + AT_ONCE]}
        for name, by_arch in of_graphs(sources, ARCHS).items():
            if any(r.stack or r.spilled for each in by_arch.values() for r in each):
                spilling.append(name)
            most = [(max(r.registers for r in each), max(r.shared for r in each)) for each in by_arch.values()]
            numbers = "".join(f"{registers:>17}{shared:>8}" for registers, shared in most)
            table.append(f"{name:<50}{hashlib.sha256(sources[name].encode()).hexdigest()[:8]:>10}{numbers}")
    return sorted(table), spilling


@pytest.mark.skipif(
    ptxas() is None or nvcc.available() is None,
    reason="needs ptxas and nvcc or NVRTC: a CUDA toolkit, or the extras cuda and ptxas",
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_of_a_dtype(dtype: str, request: pytest.FixtureRequest) -> None:
    table, spilling = lines([c.case() for c in product(dtype) if c.absent is None])
    path = TABLES / f"{dtype}.txt"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(head() + "".join(f"{line}\n" for line in table))
    assert {*spilling} <= SPILLING
    if not path.is_file():
        pytest.skip(f"product/{path.name} is not there yet: --update-golden writes it")
    first, _, *known = path.read_text().splitlines()
    if first != f"ptxas {version()}":
        pytest.skip(f"{path.name} is of {first}, here is ptxas {version()}")
    assert table == known


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_absent(dtype: str) -> None:
    """A graph is said to be absent just where it is."""
    wrong = [c for c in product(dtype) if c.exists() != (c.absent is None)]
    assert not wrong


def test_each_reason_is_needed() -> None:
    assert {c.absent for dtype in DTYPES for c in product(dtype)} == {None, *ABSENT}
