"""One body for gscompile and for NumPy, on every path that computes a graph.

A body such as ``lambda b, v: b.pad(v.x + 1, [1, 0], [0, 2])`` is called twice: with a builder and its values, and with
:class:`NumpyOps` and the arrays.  A :class:`Sheet` collects bodies into one graph, compiles it for llvm, for the emulated
cuda schedule and as the reference lowering, and compares every output of every path.  A compile costs tens of milliseconds
and every output a few more, hence many outputs in one sheet, and several runs of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import tvm

import gscompile as gs
import gscompile.te as gte
from gscompile.compiler.linked import Linked
from gscompile.emulation import emulate
from gscompile.ir.dims import evaluate
from gscompile.ir.types import dtype as as_dtype
from tests.cases import numpy_dtype
from tests.oracle import Array, assert_same

Call = Callable[..., Any]
PATHS = ("llvm", "cuda", "reference")
UNOPTIMISED = {"kind": "llvm", "opt-level": 0}
"""What TVM compiles tests' own functions for: LLVM would take longer to make them faster than they run."""


class NumpyOps:
    """The builder's methods, as NumPy computes them; a symbolic size is an int here."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, _NAMES.get(name, name))

    # -- made from nothing

    def zeros(self, shape: Any, dtype: str = "float32") -> Array:
        return np.zeros(shape, numpy_dtype(dtype))

    def full(self, shape: Any, value: Any, dtype: str = "float32") -> Array:
        return np.full(shape, value, numpy_dtype(dtype))

    def constant(self, x: Any, dtype: str | None = None) -> Array:
        array = np.asarray(x)
        return array if dtype is None else self.cast(array, dtype)

    def iota(self, shape: Any, axis: int = 0, dtype: str = "int64") -> Array:
        along = np.arange(shape[axis]).reshape([-1 if a == axis % len(shape) else 1 for a in range(len(shape))])
        return self.cast(np.broadcast_to(along, shape), dtype)

    def size(self, dim: int, dtype: str = "int64") -> Array:
        return self.cast(np.asarray(dim), dtype)

    # -- moved

    def unsqueeze(self, x: Array, axis: Any) -> Array:
        return np.expand_dims(x, axis)

    def squeeze(self, x: Array, axis: Any = None) -> Array:
        return np.squeeze(x, tuple(axis) if isinstance(axis, Iterable) else axis)

    def flatten(self, x: Array, axis: int = 0) -> Array:
        lead = math.prod(x.shape[:axis])
        return x.reshape(-1) if axis in (0, -x.ndim) else x.reshape(lead, math.prod(x.shape[axis:]))

    def slice(self, x: Array, starts: Any, stops: Any, axes: Any = None, steps: Any = None) -> Array:
        key = [slice(None)] * x.ndim
        axes = range(len(starts)) if axes is None else axes
        for a, start, stop, step in zip(axes, starts, stops, steps or [1] * len(starts), strict=True):
            key[a] = slice(start, stop, step)
        return x[tuple(key)]

    def getitem(self, x: Array, key: Any) -> Array:
        return x[key]

    def pad(self, x: Array, low: Sequence[int], high: Sequence[int], value: Any = 0) -> Array:
        out = np.full([d + a + b for d, a, b in zip(x.shape, low, high, strict=True)], value, x.dtype)
        for position in np.ndindex(out.shape):
            source = tuple(p - a for p, a in zip(position, low, strict=True))
            if all(0 <= s < d for s, d in zip(source, x.shape, strict=True)):
                out[position] = x[source]
        return out

    # -- arithmetic

    def cast(self, x: Array, dtype: str) -> Array:
        """Truncates, saturates and takes NaN to 0 from float to integer; bfloat16 and float16 by way of float32."""
        to = numpy_dtype(dtype)
        integer = np.dtype(to).kind in "iu"
        if integer and x.dtype.kind not in "iub":
            info = np.iinfo(to)

            def one(value: float) -> int:
                if math.isnan(value):
                    return 0
                return (
                    max(info.min, min(info.max, int(value)))
                    if math.isfinite(value)
                    else (info.min, info.max)[value > 0]
                )

            return np.array([one(float(v)) for v in x.ravel()], to).reshape(x.shape)
        by_float32 = as_dtype(to).is_float and as_dtype(to).bits == 16 and x.dtype != np.float64
        if dtype == "bfloat16" or by_float32:
            x = x.astype(np.float32)
        return x.astype(to)

    def relu(self, x: Array) -> Array:
        return np.maximum(x, x.dtype.type(0))

    def rsqrt(self, x: Array) -> Array:
        return x.dtype.type(1) / np.sqrt(x)

    def sigmoid(self, x: Array) -> Array:
        return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))

    def erf(self, x: Array) -> Array:
        return np.asarray(np.vectorize(math.erf, otypes=[x.dtype])(x))

    def gelu(self, x: Array, approximate: str = "none") -> Array:
        wide = x.astype(np.float64)
        if approximate == "tanh":
            phi = (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))) / 2
        else:
            phi = np.vectorize(lambda v: math.erfc(-v / math.sqrt(2)) / 2, otypes=[float])(wide)
        return np.asarray((wide * phi).astype(x.dtype))

    def clip(self, x: Array, low: Any = None, high: Any = None) -> Array:
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    # -- reductions: sums of 16-bit floats in float32

    def _fold(self, name: str, x: Array, axis: Any, keepdims: bool) -> Array:
        narrow = as_dtype(x.dtype).is_float and x.dtype.itemsize == 2 and name in ("sum", "prod", "mean")
        axis = tuple(axis) if isinstance(axis, Iterable) else axis
        result = getattr(np, name)(x.astype(np.float32) if narrow else x, axis=axis, keepdims=keepdims)
        return np.asarray(result).astype(x.dtype) if narrow else np.asarray(result)

    def sum(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("sum", x, axis, keepdims)

    def prod(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("prod", x, axis, keepdims)

    def mean(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("mean", x, axis, keepdims)

    def max(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("max", x, axis, keepdims)

    def min(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("min", x, axis, keepdims)

    def any(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("any", x, axis, keepdims)

    def all(self, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self._fold("all", x, axis, keepdims)

    def _arg(self, name: str, x: Array, axis: int | None, keepdims: bool, select_last: bool) -> Array:
        if not select_last:
            return np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        last = x.size if axis is None else x.shape[axis]
        turned = np.flip(x.ravel() if axis is None else x, axis)
        found = last - 1 - np.asarray(getattr(np, name)(turned, axis=axis, keepdims=keepdims))
        return found.reshape((1,) * x.ndim) if axis is None and keepdims else found

    def argmax(self, x: Array, axis: Any = None, keepdims: bool = False, select_last: bool = False) -> Array:
        return self._arg("argmax", x, axis, keepdims, select_last)

    def argmin(self, x: Array, axis: Any = None, keepdims: bool = False, select_last: bool = False) -> Array:
        return self._arg("argmin", x, axis, keepdims, select_last)


_NAMES = {"sub": "subtract", "mul": "multiply", "div": "true_divide", "floordiv": "floor_divide", "neg": "negative"}
_NAMES |= {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_NAMES |= {"bitwise_not": "invert", "pow": "power", "concat": "concatenate", "round": "rint"}
NUMPY = NumpyOps()


@dataclass(frozen=True)
class Output:
    """One output of a sheet."""

    label: str
    body: Callable[[Any, Any], Any]
    rtol: float
    signed_zero: bool


GROUP = 16  # TVM's passes take time more than in proportion to the number of outputs


class Sheet:
    """Inputs, and what is to be computed from them."""

    def __init__(self, paths: Sequence[str] = PATHS) -> None:
        self.b, self.values = gs.Builder("sheet"), SimpleNamespace()
        self.inputs: dict[str, tuple[Any, str]] = {}
        self.outputs: list[Output] = []
        self.paths = paths
        self._calls: dict[str, list[Call]] = {}

    def input(self, name: str, shape: Any, dtype: str = "float32") -> None:
        """An input, which bodies find as ``v.name``; a symbolic size ``"n"`` as ``v.n``."""
        self.inputs[name] = (shape, dtype)
        self._declare(self.b, self.values, name)

    def _declare(self, b: gs.Builder, values: SimpleNamespace, name: str) -> None:
        shape, dtype = self.inputs[name]
        setattr(values, name, b.input(name, shape, dtype))
        for d in shape:
            if isinstance(d, str):
                setattr(values, d, d)

    def check(
        self, label: str, body: Callable[[Any, Any], Any], *, rtol: float = 0, signed_zero: bool = True
    ) -> gs.Value:
        """Both readings of ``body`` must agree: to the bit, unless a relative tolerance is given."""
        value = body(self.b, self.values)
        self.outputs.append(Output(label, body, rtol, signed_zero))
        assert isinstance(value, gs.Value)
        return value

    def calls(self, path: str) -> list[Call]:
        """One callable per group of outputs, from all inputs to a tuple."""
        if path not in self._calls:
            self._calls[path] = []
            for k in range(0, len(self.outputs), GROUP):
                b, values = gs.Builder("sheet"), SimpleNamespace()
                for name in self.inputs:
                    self._declare(b, values, name)
                b.output(*(o.body(b, values) for o in self.outputs[k : k + GROUP]))
                call = b.build() if path == "llvm" else emulate(b) if path == "cuda" else reference(b.graph())
                self._calls[path].append(call)
        return self._calls[path]

    def compute(self, path: str, **arrays: Array) -> list[Any]:
        """The outputs on one path."""
        results: list[Any] = []
        for call in self.calls(path):
            got = call(*(arrays[name] for name in self.inputs))
            results += got if isinstance(got, tuple) else [got]
        return results

    def run(self, **arrays: Array) -> None:
        """Compare all outputs on all paths, for one set of inputs; every difference is reported."""
        given = SimpleNamespace(**arrays)
        for name, (shape, _) in self.inputs.items():
            for d, n in zip(shape, arrays[name].shape, strict=True):
                setattr(given, str(d), n)
        with np.errstate(all="ignore"):
            wanted = [np.asarray(o.body(NUMPY, given)) for o in self.outputs]
        before = {name: a.copy() for name, a in arrays.items()}
        wrong = []
        for path in self.paths:
            for o, got, want in zip(self.outputs, self.compute(path, **arrays), wanted, strict=True):
                try:
                    same(got, want, o.rtol, o.signed_zero)
                except AssertionError as error:
                    wrong.append(f"{o.label} ({path}): {error}")
        assert all(a.tobytes() == before[name].tobytes() for name, a in arrays.items()), "an input has changed"
        shapes = {name: a.shape for name, a in arrays.items()}
        assert not wrong, f"{len(wrong)} wrong for {shapes}:\n" + "\n".join(wrong[:40])


def same(got: Any, want: Array, rtol: float = 0, signed_zero: bool = True) -> None:
    """Equal to the bit, or within a relative tolerance."""
    got = np.asarray(got)
    if not rtol:
        assert_same(got, want, signed_zero=signed_zero)
        return
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=rtol, atol=0)


def reference(graph: Any) -> Call:
    """The reference lowering of a graph, compiled without a schedule, as a callable on NumPy arrays."""
    function = compiled(gte.reference(graph))
    constants = [stored(np.asarray(v.op.array)) for v in graph.constants]

    def call(*arrays: Array) -> tuple[Array, ...]:
        sizes: dict[str, int] = {}
        for v, a in zip(graph.inputs, arrays, strict=True):
            sizes |= {str(d): n for d, n in zip(v.shape, a.shape, strict=True) if not isinstance(d, int)}
        shapes = [tuple(evaluate(d, sizes) for d in v.shape) for v in graph.outputs]
        types = [v.dtype.numpy for v in graph.outputs]
        outputs = [stored(np.zeros(s, t)) for s, t in zip(shapes, types, strict=True)]
        function(*map(stored, arrays), *constants, *outputs)
        return tuple(x.numpy().view(t).reshape(s) for x, t, s in zip(outputs, types, shapes, strict=True))

    return call


def compiled(function: Any) -> Any:
    """A PrimFunc compiled by TVM as it comes; its CSE fails on equal constants in several nests."""
    with tvm.transform.PassContext(config={"tirx.disable_cse_tir": True}):
        return Linked(tvm.compile(tvm.IRModule({"main": function}), target=UNOPTIMISED))["main"]


def stored(a: Array) -> Any:
    """An array as the tensor that a function of gscompile takes: aligned, bfloat16 as its bits, complex numbers as pairs."""
    if a.dtype.kind == "c":
        a = np.stack([a.real, a.imag], -1)
    return tvm.runtime.tensor(np.ascontiguousarray(a).reshape(a.shape).view(as_dtype(a.dtype).tir))


def compiled_te(tensors: Sequence[Any]) -> Call:
    """``te.create_prim_func`` of tensors, compiled; the callable takes NumPy arrays for all, and returns them filled."""
    from tvm import te

    return on_arrays(compiled(te.create_prim_func(list(tensors))))


def on_arrays(function: Any) -> Call:
    """A compiled function as a callable on copies of NumPy arrays, which it returns."""

    def call(*arrays: Array) -> list[Array]:
        given = [stored(a) for a in arrays]
        function(*given)
        return [t.numpy().view(a.dtype) for t, a in zip(given, arrays, strict=True)]

    return call
