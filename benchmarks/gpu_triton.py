"""Rows taken, and rows added, in Triton: a program for a block of elements of a few rows, as its tutorials do such things."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import triton
import triton.language as tl

from gscompile.bench.workload import Workload

ROWS = 16  # that a program takes


@triton.jit
def take_kernel(x, i, out, count, width: tl.constexpr, rows: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.program_id(1) * block + tl.arange(0, block)
    index = tl.load(i + row, mask=row < count, other=0).to(tl.int64)
    inside = (row < count)[:, None] & (column < width)[None, :]
    values = tl.load(x + index[:, None] * width + column[None, :], mask=inside)
    tl.store(out + row.to(tl.int64)[:, None] * width + column[None, :], values, mask=inside)


@triton.jit
def add_kernel(out, i, src, count, width: tl.constexpr, rows: tl.constexpr, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    column = tl.program_id(1) * block + tl.arange(0, block)
    index = tl.load(i + row, mask=row < count, other=0).to(tl.int64)
    inside = (row < count)[:, None] & (column < width)[None, :]
    values = tl.load(src + row.to(tl.int64)[:, None] * width + column[None, :], mask=inside)
    tl.atomic_add(out + index[:, None] * width + column[None, :], values, mask=inside)


def ways(t: Mapping[str, Any], w: Workload) -> Sequence[Callable[[], Any]]:
    """What can be computed so: nothing for other kinds of workloads."""
    x, i = t["x"], t["i"]
    if i.ndim != 1 or w.kind not in ("take", "put") or x.dtype not in (torch.float32, torch.float16):
        return []
    width = x[0].numel()
    block = min(1024, triton.next_power_of_2(width))
    grid = (triton.cdiv(len(i), ROWS), triton.cdiv(width, block))
    if w.kind == "take" and w.options["axis"] == 0:
        out = x.new_empty(len(i), *x.shape[1:])

        def take() -> Any:
            take_kernel[grid](x, i, out, len(i), width, ROWS, block)
            return out

        return [take]
    if w.kind == "put" and w.options["reduction"] == "add" and x.dtype == torch.float32:
        total = torch.empty_like(x)

        def add() -> Any:
            total.copy_(x)
            add_kernel[grid](total, i, t["src"], len(i), width, ROWS, block)
            return total

        return [add]
    return []
