"""NumPy, on one thread as always; and what has its functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload

Options = Mapping[str, Any]
UFUNCS = {"add": "add", "max": "maximum", "min": "minimum", "mul": "multiply"}


class NumPy:
    name = "numpy"
    packages = ("numpy",)

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        return WAYS[w.kind](np, arrays, w.options) if w.kind in WAYS else []


def _take(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, i, axis = a["x"], a["i"], o["axis"]
    if o["batch_dims"]:
        batches = xp.arange(len(i))[:, None]
        return [lambda: x[batches, i]]
    out = xp.empty((*x.shape[:axis], *i.shape, *x.shape[axis + 1 :]), x.dtype)
    if xp is not np:
        return [lambda: xp.take(x, i, axis, out=out)]
    # mode="raise" with out goes through a buffer
    ways: list[Run] = [lambda: np.take(x, i, axis, out, "clip"), lambda: x.take(i, axis, out, "clip")]
    return [*ways, lambda: x[i]] if axis == 0 else ways


def _gather(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    return [lambda: xp.take_along_axis(a["x"], a["i"], o["axis"])]


def _gather_nd(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, i = a["x"], a["i"]
    depth = i.shape[1]
    rows = x.reshape(-1, *x.shape[depth:])
    strides = xp.asarray([len(rows) // int(np.prod(x.shape[: k + 1])) for k in range(depth)])
    return [lambda: x[tuple(i.T)], lambda: xp.take(rows, (i * strides).sum(1), 0)]


def _put(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, i, src = a["x"], a["i"], a["src"]
    out = xp.empty_like(x)

    def assign() -> Any:
        out[...] = x
        out[i] = src
        return out

    if o["reduction"] == "update":
        return [assign]
    ways = [*_combine(xp, out, x, i, src, o)]
    if x.ndim == 1 and o["reduction"] == "add" and not isinstance(i, tuple):
        ways.append(lambda: (x + xp.bincount(i, src, len(x))).astype(x.dtype))
    return ways


def _scatter(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, i, src = a["x"], a["i"], a["src"]
    at = list(xp.ogrid[tuple(slice(n) for n in i.shape)])
    at[o["axis"]] = i
    return _combine(xp, xp.empty_like(x), x, tuple(at), src, o)


def _scatter_nd(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    return _put(xp, {**a, "i": tuple(a["i"].T)}, o)


def _combine(xp: Any, out: Any, x: Any, at: Any, src: Any, o: Options) -> Sequence[Run]:
    if o["reduction"] not in UFUNCS and o["reduction"] != "update":
        return []
    ufunc = getattr(xp, UFUNCS.get(o["reduction"], ""), None)

    def run() -> Any:
        out[...] = x
        if ufunc is None:
            out[at] = src
        else:
            ufunc.at(out, at, src)
        return out

    return [run]


def _segment_sum(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, i, like = a.values()
    out = xp.empty_like(like)

    def at() -> Any:
        out.fill(0)
        xp.add.at(out, i, x)
        return out

    def runs() -> Any:
        out.fill(0)
        heads = xp.flatnonzero(xp.diff(i, prepend=-1))
        out[i[heads]] = xp.add.reduceat(x, heads)
        return out

    return [at, runs] if xp is np else [at]


def _chain(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, k, i, w, b = a.values()
    return [lambda: x[k[i]] * w + b]


def _message_passing(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    x, s, w, d = a.values()
    out = xp.empty_like(x)

    def run() -> Any:
        out.fill(0)
        xp.add.at(out, d, x[s] * w[:, None])
        return out

    return [run]


def _embedding_bag(xp: Any, a: Arrays, o: Options) -> Sequence[Run]:
    return [lambda: a["x"][a["i"]].sum(1)]


WAYS: dict[str, Callable[[Any, Arrays, Options], Sequence[Run]]] = {
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
