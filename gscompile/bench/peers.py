"""What users would call instead: one adapter per library.

An adapter turns a workload and its arrays into a function without arguments that computes the result, into storage that is
allocated beforehand where the library can do that.  What a library has no single call for is written the way its own
documentation does it.  ``None``: it cannot do this workload.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from gscompile.bench.workloads import Arrays, Workload
from gscompile.errors import missing_extra

Run = Callable[[], Any]


class Peer(Protocol):
    """A library."""

    @property
    def name(self) -> str: ...

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Run | None:
        """What computes the workload; the result is something that ``np.asarray`` reads."""


def _library(name: str) -> Any:
    """A library of the extra ``[bench]``."""
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise missing_extra(name, "bench", f"comparing with {name}") from e


class NumPy:
    """NumPy, on one thread as always."""

    name = "numpy"

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Run | None:
        a, o = arrays, w.options
        if w.kind == "take" and not o["batch_dims"]:
            out = np.empty(w.expected(**a).shape, np.float32)
            # mode="raise" with out goes through a buffer
            return lambda: np.take(a["x"], a["i"], o["axis"], out=out, mode="clip")
        if w.kind == "gather":
            return lambda: np.take_along_axis(a["x"], a["i"], o["axis"])
        if w.kind == "gather_nd":
            index = tuple(np.ascontiguousarray(c) for c in a["i"].T)
            return lambda: a["x"][index]
        if w.kind == "put" and o["reduction"] == "update":
            out = np.empty_like(a["x"])

            def assign() -> Any:
                np.copyto(out, a["x"])
                out[a["i"]] = a["src"]
                return out

            return assign
        if w.name == "histogram_add":
            return lambda: (a["x"] + np.bincount(a["i"], a["src"], len(a["x"]))).astype(np.float32)
        return None


class Torch:
    """PyTorch, eager."""

    name = "torch"

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Run | None:
        torch = _library("torch")
        torch.set_num_threads(threads)
        t = {k: torch.from_numpy(v) for k, v in arrays.items()}
        run = _TORCH.get(w.kind)
        return None if run is None else run(torch, t, w.options)


def _torch_take(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    x, i, axis = t["x"], t["i"], o["axis"]
    if o["batch_dims"]:  # rows of all batches as one table
        rows, flat = x.shape[1], x.reshape(-1, x.shape[2])
        index = (i + rows * torch.arange(len(i))[:, None]).reshape(-1)
        out = torch.empty(len(index), x.shape[2])
        return lambda: torch.index_select(flat, 0, index, out=out).reshape(*i.shape, x.shape[2])
    shape = list(x.shape)
    shape[axis] = len(i)
    out = torch.empty(shape)
    return lambda: torch.index_select(x, axis, i, out=out)


def _torch_gather(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    out = torch.empty(t["i"].shape)
    return lambda: torch.gather(t["x"], o["axis"], t["i"], out=out)


def _torch_gather_nd(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    index = tuple(c.contiguous() for c in t["i"].T)
    return lambda: t["x"][index]


def _torch_put(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    x, i, src = t["x"], t["i"], t["src"]
    out = torch.empty_like(x)
    changes: dict[str, Run] = {
        "update": lambda: out.index_copy_(0, i, src),
        "add": lambda: out.index_add_(0, i, src),
        "max": lambda: out.index_reduce_(0, i, src, "amax"),
    }
    change = changes[o["reduction"]]

    def run() -> Any:
        out.copy_(x)
        return change()

    return run


def _torch_scatter(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    out = torch.empty_like(t["x"])

    def run() -> Any:
        out.copy_(t["x"])
        return out.scatter_add_(o["axis"], t["i"], t["src"])

    return run


def _torch_message_passing(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    out = torch.empty_like(t["x"])

    def run() -> Any:
        out.zero_()
        return out.index_add_(0, t["d"], t["x"].index_select(0, t["s"]) * t["w"][:, None])

    return run


def _torch_embedding_bag(torch: Any, t: Mapping[str, Any], o: Mapping[str, Any]) -> Run:
    return lambda: torch.nn.functional.embedding_bag(t["i"], t["x"], mode="sum")


_TORCH: dict[str, Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Run]] = {
    "take": _torch_take,
    "gather": _torch_gather,
    "gather_nd": _torch_gather_nd,
    "put": _torch_put,
    "scatter": _torch_scatter,
    "message_passing": _torch_message_passing,
    "embedding_bag": _torch_embedding_bag,
}


class Jax:
    """JAX, jitted."""

    name = "jax"

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Run | None:
        jax = _library("jax")
        jnp = jax.numpy
        a = {k: jnp.asarray(v.astype(np.int32) if v.dtype == np.int64 else v) for k, v in arrays.items()}
        o = w.options
        functions: dict[str, Callable[..., Any]] = {
            "gather": lambda x, i: jnp.take_along_axis(x, i, o["axis"], mode="clip"),
            "gather_nd": lambda x, i: x[tuple(i.T)],
            "scatter": lambda x, i, src: x.at[i, jnp.arange(x.shape[1])[None]].add(src),
            "message_passing": lambda x, s, w, d: jax.ops.segment_sum(x[s] * w[:, None], d, x.shape[0]),
            "embedding_bag": lambda x, i: x[i].sum(1),
        }
        if w.kind == "take":
            function: Callable[..., Any] = lambda x, i: jnp.take(x, i, o["axis"], mode="clip")  # noqa: E731
            if o["batch_dims"]:
                function = jax.vmap(lambda x, i: x[i])
        elif w.kind == "put":
            method = {"update": "set", "add": "add", "max": "max"}[o["reduction"]]
            function = lambda x, i, src: getattr(x.at[i], method)(src)  # noqa: E731
        else:
            function = functions[w.kind]
        compiled = jax.jit(function)
        return lambda: compiled(**a).block_until_ready()


class OnnxRuntime:
    """ONNX Runtime, with bound inputs and outputs."""

    name = "ort"

    def prepare(self, w: Workload, arrays: Arrays, threads: int) -> Run | None:
        o = w.options
        node: tuple[str, dict[str, Any]] | None = None
        opset = 18
        if w.kind == "take":
            node = ("GatherND", {"batch_dims": 1}) if o["batch_dims"] else ("Gather", {"axis": o["axis"]})
        elif w.kind == "gather":
            node = ("GatherElements", {"axis": o["axis"]})
        elif w.kind == "gather_nd":
            node = ("GatherND", {})
        elif w.kind == "put":
            # with several threads, sums of duplicates have come out wrong: the check finds that
            node = ("ScatterND", {"reduction": {"update": "none"}.get(o["reduction"], o["reduction"])})
        elif w.kind == "scatter":
            node = ("ScatterElements", {"axis": o["axis"], "reduction": o["reduction"]})
        if node is None:
            return None
        given = dict(arrays)
        if w.kind == "put" or o.get("batch_dims"):
            given["i"] = given["i"][..., None]
        return self._session(node, given, w.expected(**arrays), opset, threads)

    def _session(self, node: tuple[str, dict[str, Any]], given: Arrays, result: Any, opset: int, threads: int) -> Run:
        h, runtime = _library("onnx").helper, _library("onnxruntime")
        infos = [h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in given.items()]
        out = h.make_tensor_value_info("y", h.np_dtype_to_tensor_dtype(result.dtype), result.shape)
        graph = h.make_graph([h.make_node(node[0], list(given), ["y"], **node[1])], "workload", infos, [out])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        y = np.empty(result.shape, result.dtype)
        values = {k: runtime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(v)) for k, v in given.items()}
        for k, v in values.items():
            binding.bind_ortvalue_input(k, v)
        binding.bind_output("y", "cpu", 0, y.dtype, y.shape, y.ctypes.data)

        def run() -> Any:
            session.run_with_iobinding(binding)
            return y

        return run


PEERS: dict[str, Peer] = {p.name: p for p in (NumPy(), Torch(), Jax(), OnnxRuntime())}
