"""A function's parallel loops in several modules, whose objects are linked to the same code."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from gscompile.build import objects
from gscompile.compiler.codegen_units import MOST, codegen_units, in_threads
from gscompile.compiler.lower import Lowered, lower
from gscompile.compiler.targets import resolve


def adds_of_rows() -> gs.Builder:
    b = gs.Builder("adds")
    x, i, s = b.input("x", ("n", "w"), "float32"), b.input("i", ("k",), "int64"), b.input("s", ("k", "w"), "float32")
    b.output(b.put(x, i, s, reduction="add"))
    return b


def lowered(b: gs.Builder) -> Lowered:
    return lower(b.graph(), resolve("llvm"), by_runner=True)


@pytest.mark.parametrize("cores", [1, 2, 3, 64])
def test_a_unit_for_each_core_up_to_a_few(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    found = lowered(adds_of_rows())
    units = codegen_units("adds", found.func)
    assert len(units) == min(cores, MOST)
    names = [v.name_hint for unit in units for v in unit.functions]
    assert len(set(names)) == len(names)
    assert (names[0], "adds_loop0" in names) == ("adds", cores > 1)


def test_a_short_function_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    b = gs.Builder("tiny")
    b.output(b.input("x", (4,), "float32") + 1.0)
    assert len(codegen_units("tiny", lowered(b).func)) == 1


@pytest.mark.parametrize(("dtype", "kept"), [("float32", False), ("float16", True)])
def test_conversions_of_float16_are_compiled_where_there_is_float16(dtype: str, kept: bool) -> None:
    b = gs.Builder("one")
    b.output(b.input("x", (400,), dtype) + b.input("y", (400,), dtype))
    (unit,) = codegen_units("one", lowered(b).func)
    assert ("__truncsfhf2" not in unit.script(show_meta=True)) == kept
    compiled = resolve("llvm").compile(unit).mod.inspect_source("ll")
    assert (" half @__truncsfhf2(" in compiled and " float @__extendhfsf2(" in compiled) == kept
    assert kept or "define weak hidden" not in compiled


def test_the_objects_are_linked_to_what_one_module_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, s = rng.standard_normal((50, 20)).astype("f4"), rng.standard_normal((3000, 20)).astype("f4")
    i = rng.integers(-50, 50, 3000)
    results = []
    for cores in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, n=cores: set(range(n)), raising=False)
        monkeypatch.setenv("GSCOMPILE_CACHE", str(tmp_path / str(cores)))
        written = objects(lowered(adds_of_rows()), resolve("llvm"), str(tmp_path))
        assert len(written) == cores and all(Path(path).stat().st_size for path in written)
        m = adds_of_rows().build()
        assert not m.from_cache
        results.append(m(x, i, s))
        with pytest.raises(gs.BoundsError, match=r"i\[7\] = 50 is out of range"):
            m(x, np.where(np.arange(3000) == 7, 50, i), s)
    assert results[0].tobytes() == results[1].tobytes()


def test_an_error_in_a_thread_is_raised_after_the_others_have_ended() -> None:
    done = []

    def work(k: int) -> None:
        if k == 0:
            raise gs.TargetError("no code for this")
        done.append(k)

    with pytest.raises(gs.TargetError, match="no code for this"):
        in_threads(work, range(4))
    assert sorted(done) == [1, 2, 3]
