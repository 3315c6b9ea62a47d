"""PyTorch, compiled by TorchInductor before anything is timed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gscompile.bench.peers.base import Run, UnavailableError
from gscompile.bench.peers.torch import REDUCE, array, load
from gscompile.bench.workload import Arrays, Workload


class TorchCompile:
    name = "torch.compile"
    packages = ("torch",)

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        compiler = os.environ.get("CXX", "g++")
        if shutil.which(compiler) is None:
            raise UnavailableError(f"torch.compile needs a C++ compiler, and {compiler} is not here")
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes beside those that are timed
        torch, t = load(arrays, threads)
        torch._dynamo.reset()  # it compiles one function only so often
        functions = _functions(torch, w.options).get(w.kind, [])
        return [run for f in functions for run in _ways(torch, f, t)]


def _ways(torch: Any, function: Callable[..., Any], t: Mapping[str, Any]) -> Sequence[Run]:
    """With a result of its own, and into storage of the caller."""
    given = tuple(t.values())
    fresh = torch.compile(function, dynamic=False, fullgraph=True)
    out = torch.empty_like(fresh(*given))

    def assign(out: Any, *given: Any) -> None:
        out.copy_(function(*given))

    into = torch.compile(assign, dynamic=False, fullgraph=True)

    def run() -> Any:
        into(out, *given)
        return array(torch, out)

    return [lambda: array(torch, fresh(*given)), run]


def _functions(torch: Any, o: Mapping[str, Any]) -> dict[str, list[Callable[..., Any]]]:
    axis, reduction = o.get("axis", 0), o.get("reduction")

    def take(x: Any, i: Any) -> Any:
        if o["batch_dims"]:
            return x[torch.arange(i.shape[0])[:, None], i]
        return x[(slice(None),) * axis + (i,)]

    def put(x: Any, i: Any, src: Any) -> Any:
        if reduction == "update":
            return x.index_copy(0, i, src)
        if reduction == "add":
            return x.index_add(0, i, src)
        expanded = i.view(-1, *[1] * (x.ndim - 1)).expand(src.shape)
        return x.scatter_reduce(0, expanded, src, REDUCE[str(reduction)])

    def scatter(x: Any, i: Any, src: Any) -> Any:
        if reduction == "add":
            return x.scatter_add(axis, i, src)
        return (
            x.scatter(axis, i, src) if reduction == "update" else x.scatter_reduce(axis, i, src, REDUCE[str(reduction)])
        )

    return {
        "take": [take],
        "gather": [lambda x, i: torch.gather(x, axis, i)],
        "gather_nd": [lambda x, i: x[i.unbind(1)]],
        "put": [put],
        "scatter": [scatter],
        "segment_sum": [lambda x, i, like: torch.zeros_like(like).index_add(0, i, x)],
        "chain": [lambda x, k, i, w, b: x[k[i]] * w + b],
        "message_passing": [
            lambda x, s, w, d: torch.zeros_like(x).index_add(0, d, x.index_select(0, s) * w[:, None]),
        ],
        "embedding_bag": [lambda x, i: x[i].sum(1)],
    }
