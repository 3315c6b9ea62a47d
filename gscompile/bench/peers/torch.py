"""PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload

Tensors = Mapping[str, Any]
Options = Mapping[str, Any]


def load(arrays: Arrays, threads: int) -> tuple[Any, dict[str, Any]]:
    """The module, told how many threads to use, and tensors that share the arrays' memory."""
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return torch, {k: tensor(torch, v) for k, v in arrays.items()}


def tensor(torch: Any, x: Any) -> Any:
    """An array as a tensor; NumPy has no bfloat16 of its own."""
    return (
        torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype.name == "bfloat16" else torch.from_numpy(x)
    )


def array(torch: Any, x: Any) -> Any:
    """The reverse; a bfloat16 as its bits."""
    return x.view(torch.int16).numpy() if x.dtype == torch.bfloat16 else x.numpy()


class Torch:
    name = "torch"
    packages = ("torch",)

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        torch, t = load(arrays, threads)
        ways = WAYS.get(w.kind)
        return [] if ways is None else [_as_array(torch, way) for way in ways(torch, t, w.options)]


def _as_array(torch: Any, way: Run) -> Run:
    return lambda: array(torch, way())


def _take(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i, axis = t["x"], t["i"], o["axis"]
    if o["batch_dims"]:
        batches = torch.arange(len(i), device=i.device)[:, None]
        rows = x.flatten(0, 1)
        out = x.new_empty(i.numel(), *x.shape[2:])
        expanded = i[:, :, None].expand(-1, -1, x.shape[2])
        grid = x.new_empty(expanded.shape)
        return [
            lambda: x[batches, i],
            lambda: torch.gather(x, 1, expanded, out=grid),
            lambda: torch.index_select(rows, 0, (i + batches * x.shape[1]).flatten(), out=out).view(*i.shape, -1),
        ]
    shape = (*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])
    out = x.new_empty((*x.shape[:axis], i.numel(), *x.shape[axis + 1 :]))
    ways: list[Run] = [lambda: torch.index_select(x, axis, i.flatten(), out=out).view(shape)]
    if axis == 0 and x.ndim == 2:
        ways.append(lambda: torch.nn.functional.embedding(i, x))
    if i.ndim == 1:
        ways.append(lambda: torch.index_select(x, axis, i, out=out))
    return ways


def _gather(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    out = t["x"].new_empty(t["i"].shape)
    return [lambda: torch.gather(t["x"], o["axis"], t["i"], out=out)]


def _gather_nd(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i = t["x"], t["i"]
    depth = i.shape[1]
    rows = x.flatten(0, depth - 1)
    strides = i.new_tensor([rows.shape[0] // int(np.prod(x.shape[: k + 1])) for k in range(depth)])
    out = x.new_empty(len(i), *x.shape[depth:])
    return [
        lambda: x[i.unbind(1)],
        lambda: torch.index_select(rows, 0, (i * strides).sum(1), out=out),
    ]


def _put(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i, src = t["x"], t["i"], t["src"]
    out = torch.empty_like(x)
    expanded = i.view(-1, *[1] * (x.ndim - 1)).expand(src.shape)
    reduce = REDUCE.get(o["reduction"], "")
    changes: dict[str, list[Run]] = {
        "update": [
            lambda: out.index_copy_(0, i, src),
            lambda: out.scatter_(0, expanded, src),
            lambda: out.index_put_((i,), src),
        ],
        "add": [
            lambda: out.index_add_(0, i, src),
            lambda: out.scatter_add_(0, expanded, src),
            lambda: out.index_put_((i,), src, accumulate=True),
        ],
    }
    reduced: list[Run] = [
        lambda: out.index_reduce_(0, i, src, reduce),
        lambda: out.scatter_reduce_(0, expanded, src, reduce),
    ]
    ways = [_after_copy(out, x, change) for change in changes.get(o["reduction"], reduced)]
    if x.ndim == 1 and o["reduction"] == "add" and x.dtype in (torch.float32, torch.float64):
        ways.append(lambda: x + torch.bincount(i, src, len(x)))
    return ways


def _scatter(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i, src = t["x"], t["i"], t["src"]
    out, axis, reduction = torch.empty_like(x), o["axis"], o["reduction"]
    if reduction == "add":
        return [_after_copy(out, x, lambda: out.scatter_add_(axis, i, src))]
    if reduction == "update":
        return [_after_copy(out, x, lambda: out.scatter_(axis, i, src))]
    return [_after_copy(out, x, lambda: out.scatter_reduce_(axis, i, src, REDUCE[reduction]))]


def _scatter_nd(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    """By index_put, and as rows of the axes taken together, whose numbers are computed in the time taken."""
    x, i, src = t["x"], t["i"], t["src"]
    depth, out = i.shape[1], torch.empty_like(x)
    at, reduction = i.unbind(1), o["reduction"]
    if reduction in ("update", "add"):
        ways = [_after_copy(out, x, lambda: out.index_put_(at, src, accumulate=reduction == "add"))]
    else:
        ways = []
    rows = out.flatten(0, depth - 1)
    strides = i.new_tensor([rows.shape[0] // int(np.prod(x.shape[: k + 1])) for k in range(depth)])
    expanded = [-1, *[1] * (rows.ndim - 1)]

    def flat() -> Any:
        number = (i * strides).sum(1)
        if reduction == "update":
            rows.index_copy_(0, number, src)
        elif reduction == "add":
            rows.index_add_(0, number, src)
        else:
            rows.scatter_reduce_(0, number.view(expanded).expand(src.shape), src, REDUCE[reduction])
        return out

    return [*ways, _after_copy(out, x, flat)]


def _segment_sum(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i, like = t.values()
    out = torch.empty_like(like)

    def add() -> Any:
        out.zero_()
        return out.index_add_(0, i, x)

    lengths = torch.bincount(i, minlength=len(like))
    return [add, lambda: torch.segment_reduce(x, "sum", lengths=lengths, axis=0, unsafe=True)]


def _chain(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, k, i, w, b = t.values()
    out = x.new_empty(len(i), *x.shape[1:])

    def stored() -> Any:
        torch.index_select(x, 0, k.index_select(0, i), out=out)
        return out.mul_(w).add_(b)

    return [stored, lambda: x[k[i]] * w + b]


def _after_copy(out: Any, x: Any, change: Run) -> Run:
    def run() -> Any:
        out.copy_(x)
        return change()

    return run


def _message_passing(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, s, w, d = t.values()
    out, rows = torch.empty_like(x), x.new_empty(len(s), *x.shape[1:])

    def stored() -> Any:
        out.zero_()
        torch.index_select(x, 0, s, out=rows)
        return out.index_add_(0, d, rows.mul_(w[:, None]))

    def fresh() -> Any:
        out.zero_()
        return out.index_add_(0, d, x.index_select(0, s) * w[:, None])

    return [stored, fresh]


def _embedding_bag(torch: Any, t: Tensors, o: Options) -> Sequence[Run]:
    x, i = t["x"], t["i"]
    return [lambda: torch.nn.functional.embedding_bag(i, x, mode="sum"), lambda: x[i].sum(1)]


REDUCE = {"add": "sum", "max": "amax", "min": "amin", "mul": "prod", "mean": "mean"}
WAYS: dict[str, Callable[[Any, Tensors, Options], Sequence[Run]]] = {
    "take": _take,
    "gather": _gather,
    "gather_nd": _gather_nd,
    "put": _put,
    "scatter": _scatter,
    "scatter_nd": _scatter_nd,
    "segment_sum": _segment_sum,
    "chain": _chain,
    "message_passing": _message_passing,
    "embedding_bag": _embedding_bag,
}
