"""Whether neighbouring points go to the same row is told from a sample: of many points a larger one."""

from __future__ import annotations

import numpy as np
import pytest
import tvm

from gscompile.ir import tir as T
from gscompile.schedules.llvm.numbers import LEAST_RUNS, MANY_POINTS, MANY_SAMPLES, RUN_SAMPLES
from gscompile.schedules.llvm.row_runs import in_runs


def found(rows: np.ndarray, symbolic: bool) -> bool:
    """What :func:`in_runs` says of points with these rows."""
    extent = T.var("n") if symbolic else T.const(len(rows))
    given = T.buffer("rows", [extent], "int64", align=8)
    told = T.buffer("told", [T.const(1)], "int64", align=8)

    def alike(p: T.Expr, then: T.Stmt) -> T.Stmt:
        return T.if_(T.load(given, p) == T.load(given, p + 1), then)

    def body(runs: T.Expr) -> T.Stmt:
        return T.store(told, [T.const(0)], T.cast("int64", runs))

    func = T.buffer_func("sampled", [given, told], in_runs(extent, alike, body))
    out = tvm.runtime.tensor(np.full(1, -1))
    tvm.compile(tvm.IRModule({"sampled": func}), "llvm")["sampled"](tvm.runtime.tensor(rows), out)
    (answer,) = out.numpy()
    assert answer in (0, 1)
    return bool(answer)


def alone(points: int, looked_at: int, count: int) -> np.ndarray:
    """Rows that are all alike, but for that of so many of the points that a sample of ``looked_at`` looks at."""
    rows = np.zeros(points, np.int64)
    rows[np.arange(count) * (points // (looked_at + 1))] = 1
    return rows


@pytest.mark.parametrize("symbolic", [False, True])
def test_nearly_all_points_of_a_sample_have_their_neighbours_row(symbolic: bool) -> None:
    for points, times in (MANY_POINTS - 1, 1), (MANY_POINTS, MANY_SAMPLES):
        allowed = times * (RUN_SAMPLES - LEAST_RUNS)
        assert found(alone(points, times * RUN_SAMPLES, allowed), symbolic)
        assert not found(alone(points, times * RUN_SAMPLES, allowed + 1), symbolic)
