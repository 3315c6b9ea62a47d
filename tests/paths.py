"""One graph on every path that computes it, beside what NumPy says.

A :class:`Sheet` is a builder whose outputs each come with a NumPy formula.  ``run`` compiles the graph for llvm, for the
emulated cuda schedule and as the reference lowering, and compares every output of each with the formula.  A compile costs
tens of milliseconds and every output a few more, hence many outputs in one sheet, and several runs of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm

import gscompile as gs
import gscompile.te as gte
from gscompile.dims import evaluate
from gscompile.emulation import emulate
from tests.oracle import Array, assert_same

Call = Callable[..., Any]


@dataclass(frozen=True)
class Output:
    """One output of a sheet: its NumPy formula, and how far it may be off."""

    label: str
    value: gs.Value
    formula: Callable[[Any], Any]
    rtol: float
    signed_zero: bool


class Inputs:
    """The arrays of a run as attributes: ``a.x`` is the array of the input ``x``."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.__dict__.update(arrays)


class Sheet:
    """A builder, and what its outputs should be."""

    def __init__(self) -> None:
        self.b = gs.Builder("sheet")
        self.outputs: list[Output] = []
        self._paths: dict[str, Call] | None = None

    def input(self, name: str, shape: Any, dtype: str = "float32") -> gs.Value:
        return self.b.input(name, shape, dtype)

    def case(
        self, label: str, value: gs.Value, formula: Callable[[Any], Any], *, rtol: float = 0, signed_zero: bool = True
    ) -> None:
        """``value`` must equal ``formula(inputs)``: to the bit, unless a relative tolerance is given."""
        self.outputs.append(Output(label, value, formula, rtol, signed_zero))

    @property
    def paths(self) -> dict[str, Call]:
        """A callable per path, from the inputs in order to the outputs."""
        if self._paths is None:
            self.b.output(*(o.value for o in self.outputs))
            self._paths = {"llvm": self.b.build(), "cuda": emulate(self.b), "reference": reference(self.b.graph())}
        return self._paths

    def run(self, **arrays: Array) -> None:
        """Compare all outputs on all paths, for one set of inputs; every difference is reported."""
        ordered = [arrays[v.name] for v in self.b.graph().inputs]
        before = [a.copy() for a in ordered]
        wrong = []
        with np.errstate(all="ignore"):
            wanted = [np.asarray(o.formula(Inputs(arrays))) for o in self.outputs]
        for path, call in self.paths.items():
            got = call(*ordered)
            for o, g, w in zip(self.outputs, got if isinstance(got, tuple) else (got,), wanted, strict=True):
                try:
                    same(g, w, o.rtol, o.signed_zero)
                except AssertionError as error:
                    wrong.append(f"{o.label} ({path}): {error}")
        for a, was in zip(ordered, before, strict=True):
            assert a.tobytes() == was.tobytes(), "an input has changed"
        shapes = {k: a.shape for k, a in arrays.items()}
        assert not wrong, f"{len(wrong)} wrong for {shapes}:\n" + "\n".join(wrong[:40])


def same(got: Any, want: Array, rtol: float = 0, signed_zero: bool = True) -> None:
    """Equal to the bit, or within a relative tolerance (of the largest finite number, for what cancels)."""
    if not rtol:
        assert_same(got, want, signed_zero=signed_zero)
        return
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=rtol, atol=0)


def reference(graph: Any) -> Call:
    """The reference lowering of a graph, compiled without a schedule, as a callable on NumPy arrays."""
    function = tvm.compile(tvm.IRModule({"main": gte.reference(graph)}), target="llvm")["main"]
    constants = [stored(np.asarray(v.op.array)) for v in graph.constants]

    def call(*arrays: Array) -> tuple[Array, ...]:
        sizes: dict[str, int] = {}
        for v, a in zip(graph.inputs, arrays, strict=True):
            sizes |= {str(d): n for d, n in zip(v.shape, a.shape, strict=True) if not isinstance(d, int)}
        shapes = [tuple(evaluate(d, sizes) for d in v.shape) for v in graph.outputs]
        outputs = [stored(np.zeros(s, v.dtype.numpy)) for s, v in zip(shapes, graph.outputs, strict=True)]
        function(*map(stored, arrays), *constants, *outputs)
        return tuple(t.numpy().view(v.dtype.numpy) for t, v in zip(outputs, graph.outputs, strict=True))

    return call


def stored(a: Array) -> Any:
    """An array as the tensor that a function of gscompile takes: aligned, bfloat16 as its bits."""
    return tvm.runtime.tensor(np.ascontiguousarray(a).reshape(a.shape).view(gs.types.dtype(a.dtype).tir))


def compiled_te(tensors: Sequence[Any]) -> Call:
    """``te.create_prim_func`` of tensors, compiled; the callable takes NumPy arrays for all, and returns them filled."""
    from tvm import te

    function = tvm.compile(tvm.IRModule({"main": te.create_prim_func(list(tensors))}), target="llvm")["main"]

    def call(*arrays: Array) -> list[Array]:
        given = [stored(a) for a in arrays]
        function(*given)
        return [t.numpy().view(a.dtype) for t, a in zip(given, arrays, strict=True)]

    return call
