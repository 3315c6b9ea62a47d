"""JAX, jitted.  It has no int64 by default, so indices are narrowed to int32 beforehand, and no storage but its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gscompile.bench.peers.base import Run
from gscompile.bench.workload import Arrays, Workload


class Jax:
    name = "jax"
    packages = ("jax",)

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Sequence[Run]:
        import jax

        jax.config.update("jax_enable_x64", w.dtype == "float64")
        narrow = {k: v.astype(np.int32) if v.dtype == np.int64 else v for k, v in arrays.items()}
        given = {k: jax.numpy.asarray(v) for k, v in narrow.items()}
        function = functions(jax, w.options).get(w.kind)
        if function is None:
            return []
        compiled = jax.jit(function)
        return [lambda: compiled(**given).block_until_ready()]


def functions(jax: Any, o: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """What computes each kind of workload."""
    jnp = jax.numpy

    def take(x: Any, i: Any) -> Any:
        if o["batch_dims"]:
            return jax.vmap(lambda u, j: u[j])(x, i)
        return jnp.take(x, i, o["axis"], mode="clip")

    def put(x: Any, i: Any, src: Any) -> Any:
        return getattr(x.at[i], {"update": "set"}.get(o["reduction"], o["reduction"]))(src)

    def scatter(x: Any, i: Any, src: Any) -> Any:
        at = list(jnp.ogrid[tuple(slice(n) for n in i.shape)])
        at[o["axis"]] = i
        return put(x, tuple(at), src)

    def scatter_nd(x: Any, i: Any, src: Any) -> Any:
        return put(x, tuple(i.T), src)

    mean = o.get("reduction") == "mean"  # JAX has none
    some = {} if mean else {"put": put, "scatter": scatter, "scatter_nd": scatter_nd}
    return {
        **some,
        "take": take,
        "gather": lambda x, i: jnp.take_along_axis(x, i, o["axis"], mode="clip"),
        "gather_nd": lambda x, i: x[tuple(i.T)],
        "segment_sum": lambda x, i, like: jax.ops.segment_sum(x, i, len(like), indices_are_sorted=True),
        "chain": lambda x, k, i, w, b: x[k[i]] * w + b,
        "message_passing": lambda x, s, w, d: jax.ops.segment_sum(x[s] * w[:, None], d, x.shape[0]),
        "embedding_bag": lambda x, i: x[i].sum(1),
    }
