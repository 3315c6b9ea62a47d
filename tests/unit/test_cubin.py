"""What machine code for a GPU says of its kernels, and what follows for a multiprocessor."""

from __future__ import annotations

import pytest

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.compiler.cubin import occupancy, resources
from gscompile.ir.dims import evaluate


@pytest.mark.parametrize(
    ("capability", "registers", "shared", "threads", "blocks", "part"),
    [
        (80, 32, 0, 256, 8, 1.0),
        (80, 33, 0, 256, 6, 0.75),  # 40 registers, of which a partition has room for 12 warps
        (80, 40, 0, 256, 6, 0.75),
        (90, 64, 0, 256, 4, 0.5),
        (90, 255, 0, 256, 1, 0.125),
        (80, 32, 48 << 10, 256, 3, 0.375),  # 49 KB of 164
        (90, 16, 227 << 10, 1024, 1, 0.5),
        (90, 16, 0, 32, 32, 0.5),  # no more than 32 blocks
        (90, 8, 0, 1, 32, 0.5),  # a warp all the same
        (75, 32, 0, 256, 4, 1.0),
        (70, 32, 33 << 10, 64, 2, 0.0625),
        (86, 32, 0, 1024, 1, 2 / 3),
        (89, 32, 0, 256, 6, 1.0),
        (100, 32, 0, 256, 8, 1.0),
        (103, 32, 0, 256, 8, 1.0),  # like 100
        (120, 32, 0, 64, 24, 1.0),
    ],
)
def test_occupancy(capability: int, registers: int, shared: int, threads: int, blocks: int, part: float) -> None:
    assert occupancy(capability, registers, shared, threads) == (blocks, pytest.approx(part))


def rows(target: object) -> gs.Module:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")))
    return b.build(target)


GPU = {"kind": "cuda", "arch": "sm_90"}


def test_launches_and_bytes() -> None:
    s = rows(GPU).stats
    assert s.launches == 1
    sizes = {"n": 100, "k": 7}
    assert [evaluate(d, sizes) for d in (s.read_bytes, s.written_bytes, s.min_bytes)] == [7 * 8 + 7 * 16, 7 * 16, 280]
    assert rows("llvm").stats.launches == 0
    b = gs.Builder("two")  # copies its data, or looks at the indices first; then adds
    x, i, v = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", 4), "float32")
    b.output(b.put(x, i, v))
    assert b.build(GPU).stats.launches >= 2


@pytest.mark.skipif(nvcc.available() is None, reason="there is neither nvcc nor NVRTC")
def test_explain() -> None:
    m = rows(GPU)
    said = m.explain(n=100, k=7)
    assert "launches: at most 1; bytes: at least 168 read, 112 written" in said
    found = m.resources()
    # one reports indices of an empty axis, one copies rows
    assert [(name, r.threads) for name, r in found.items()] == [("rows_kernel", 256), ("rows_kernel_1", 256)]
    assert all(f"{name}: {r}" in said for name, r in found.items())
    assert "at least 8*k" in m.explain()
    assert "launches" not in rows("llvm").explain()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    m = rows(GPU)
    monkeypatch.setattr(nvcc, "_nvcc", lambda: None)
    monkeypatch.setattr(nvcc, "_nvrtc", lambda: None)
    assert m.explain().splitlines()[-1].startswith("launches")
    with pytest.raises(gs.MissingExtraError):
        m.resources()
    with pytest.raises(gs.TargetError, match="no cuda code"):
        rows("llvm").resources()


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x01\x01" + bytes(60), bytes(100)])
def test_what_is_no_machine_code(data: bytes) -> None:
    with pytest.raises(gs.TargetError, match="cannot be read"):
        resources(data, "sm_90")
