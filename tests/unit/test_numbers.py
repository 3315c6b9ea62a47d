"""Numbers of the schedules that follow the machine."""

from __future__ import annotations

import pytest

import gscompile as gs
from gscompile.compiler.lower import lower
from gscompile.compiler.targets import llvm, resolve
from gscompile.compiler.targets.llvm import Llvm, cache_bytes
from gscompile.schedules import Target
from gscompile.schedules.llvm.numbers import last_level_bytes, packed_bytes, resident_bytes


@pytest.mark.parametrize(
    ("l2", "packed", "resident"),
    [(None, 512, 256), (2048, 512, 256), (1024, 512, 256), (512, 256, 128), (256, 128, 64)],
)
def test_a_smaller_cache_holds_less(l2: int | None, packed: int, resident: int) -> None:
    """In KB; more than was measured is not used."""
    target = Target("llvm", 32, "x86-64-v3", None if l2 is None else l2 << 10)
    assert packed_bytes(target) == packed << 10
    assert resident_bytes(target) == resident << 10


@pytest.mark.parametrize(("l3", "held"), [(None, 16), (260, 32), (32, 32), (4, 4)])
def test_the_last_level(l3: int | None, held: int) -> None:
    """In MB."""
    target = Target("llvm", 32, "x86-64-v3", 1 << 20, None if l3 is None else l3 << 20)
    assert last_level_bytes(target) == held << 20


def test_whose_cache_is_known() -> None:
    here = resolve("llvm").facts
    assert (here.l2_bytes, here.l3_bytes) == (cache_bytes(2), cache_bytes(3))
    there = resolve({"kind": "llvm", "mcpu": "x86-64-v3"}).facts
    assert there.l2_bytes is there.l3_bytes is None


def test_features_of_this_machine_give_way_to_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "host_features", lambda: ("+avx512fp16",))
    named = Llvm.of({"kind": "llvm", "mattr": ["-avx512fp16"]})
    assert [str(x) for x in named.tvm.attrs["mattr"]] == ["+avx512fp16", "-avx512fp16"]
    elsewhere = Llvm.of({"kind": "llvm", "mcpu": "x86-64-v3"})
    assert "mattr" not in elsewhere.tvm.attrs


@pytest.mark.parametrize(("l2", "columns"), [(1024, 32), (512, 16)])
def test_packed_blocks_fit(l2: int, columns: int) -> None:
    """4,096 rows of 32 columns are 512 KB."""
    b = gs.Builder("packed")
    b.output(b.gather(b.input("x", (4096, 1024), "float32"), b.input("i", (4096, 1024), "int64"), 0))
    text = lower(b.graph(), Llvm(Target("llvm", 32, "x86-64-v3", l2 << 10), None)).func.script()
    assert f"packed = T.alloc_buffer((T.int64({l2 << 7}),)" in text
    assert f"begin + T.int64({columns}) <= T.int64(1024)" in text
