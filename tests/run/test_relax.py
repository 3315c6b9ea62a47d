"""``gscompile.relax``: programs of Relax give the same with our kernels as without."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from gscompile.compiler.targets import resolve
from gscompile.relax import LegalizeGatherScatter
from tests.oracle import Array

TARGET = resolve("llvm").tvm
RNG = np.random.default_rng(0)


def program(types: list[tuple[Any, str]], body: Callable[..., Any]) -> Any:
    """A module whose ``main`` takes tensors; sizes that are strings are symbolic."""
    sizes: dict[str, Any] = {}
    bb = relax.BlockBuilder()

    def dim(d: Any) -> Any:
        return sizes.setdefault(d, tvm.tirx.Var(d, "int64")) if isinstance(d, str) else d

    given = [relax.Var(f"x{k}", relax.TensorType([dim(d) for d in shape], t)) for k, (shape, t) in enumerate(types)]
    with bb.function("main", given):
        with bb.dataflow():
            result = bb.emit_output(body(bb, *given))
        bb.emit_func_output(result)
    return bb.get()


def run(module: Any, arrays: list[Array], name: str = "main") -> list[Array]:
    vm = relax.VirtualMachine(tvm.compile(module, target=TARGET), tvm.cpu())
    found = vm[name](*map(tvm.runtime.tensor, arrays))
    return [found.numpy()] if hasattr(found, "numpy") else [t.numpy() for t in found]


def kernels(module: Any) -> list[str]:
    return sorted(v.name_hint for v, f in module.functions.items() if v.name_hint.startswith("gs_"))


def operators(module: Any) -> list[str]:
    """The Relax operators of ``main``, and ``call_tir``."""
    values = [b.value for block in module["main"].body.blocks for b in block.bindings]
    return [v.op.name.removeprefix("relax.") for v in values if isinstance(v, tvm.ir.Call)]


def check(module: Any, arrays: list[Array], *names: str) -> Any:
    """A program gives the same with the kernels of these names."""
    ours = tvm.ir.transform.Sequential([LegalizeGatherScatter(TARGET)])(module)
    assert kernels(ours) == sorted(names)
    for a, b in zip(run(ours, arrays), run(module, arrays), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    return ours


X = RNG.standard_normal((9, 8), "float32")
I = np.array([0, 8, 3, 3, 5])  # noqa: E741
V = RNG.standard_normal((5, 8), "float32")
WILD = np.array([-1, 9, -20, 3, 100])


@pytest.mark.parametrize(
    ("mode", "axis", "symbolic"), [("fast", 0, 1), ("clip", 0, 0), ("wrap", 1, 1), ("nan", 0, 1), ("clip", 1, 1)]
)
def test_take(mode: str, axis: int, symbolic: bool) -> None:
    types = [(("n", 8) if symbolic else (9, 8), "float32"), (("k",) if symbolic else (5,), "int64")]
    module = program(types, lambda bb, x, i: relax.op.take(x, i, axis, mode))
    check(module, [X, I if mode == "fast" else WILD], "gs_take")


def test_gathers() -> None:
    elements = np.tile(I[:, None], (1, 8))
    types = [(("n", 8), "float32"), (("k", 8), "int64")]
    check(program(types, lambda bb, x, i: relax.op.gather_elements(x, i, 0)), [X, elements], "gs_gather_elements")
    pairs = np.stack([I, I % 8], 1).reshape(5, 2)
    types = [(("n", 8), "float32"), (("k", 2), "int64")]
    check(program(types, lambda bb, x, i: relax.op.gather_nd(x, i)), [X, pairs], "gs_gather_nd")
    types = [((5, 9, 8), "float32"), ((5, 4, 1), "int64")]
    data, index = RNG.standard_normal((5, 9, 8), "float32"), RNG.integers(0, 9, (5, 4, 1))
    check(program(types, lambda bb, x, i: relax.op.gather_nd(x, i, 1)), [data, index], "gs_gather_nd")


@pytest.mark.parametrize("reduction", ["update", "add", "min"])
def test_scatters(reduction: str) -> None:
    elements = np.tile(np.array([0, -1, 3, 3, 5])[:, None], (1, 8))
    types = [(("n", 8), "float32"), (("k", 8), "int64"), (("k", 8), "float32")]
    body = lambda bb, x, i, v: relax.op.scatter_elements(x, i, v, 0, reduction)  # noqa: E731
    check(program(types, body), [X, elements, V], "gs_scatter_elements")
    types = [(("n", 8), "float32"), (("k", 1), "int64"), (("k", 8), "float32")]
    body = lambda bb, x, i, v: relax.op.scatter_nd(x, i, v, reduction)  # noqa: E731
    check(program(types, body), [X, I[:, None], V], "gs_scatter_nd")


def test_index_put() -> None:
    types = [((9, 8), "float32"), ((5,), "int64"), ((5,), "int64"), ((5,), "float32")]
    body = lambda bb, x, i, j, v: relax.op.index_put(x, relax.Tuple([i, j]), v, accumulate=False)  # noqa: E731
    check(program(types, body), [X, I, np.array([0, -1, 2, 3, 4]), V[:, 0]], "gs_index_put")


def test_message_passing_is_one_kernel() -> None:
    """Gather, broadcast product, cast, scatter, and what follows; the index's own arithmetic stays Relax's."""

    def body(bb: Any, x: Any, i: Any, w: Any) -> Any:
        rows = bb.emit(relax.op.take(x, i, 0))
        weighted = bb.emit(relax.op.multiply(rows, relax.op.astype(w, "float32")))
        index = bb.emit(relax.op.expand_dims(i, 1))
        summed = bb.emit(relax.op.scatter_nd(x, index, weighted, "add"))
        return relax.op.nn.relu(summed)

    module = program([(("n", 8), "float32"), (("k",), "int64"), (("k", 1), "float64")], body)
    ours = check(module, [X, I, V[:, :1].astype("float64")], "gs_take_multiply_scatter_nd_relu")
    assert operators(ours) == ["astype", "expand_dims", "call_tir"]


def test_bag_with_two_readers() -> None:
    """A sum over a gather is one kernel, and what two others read is a result of its own."""

    def body(bb: Any, x: Any, i: Any) -> Any:
        bags = bb.emit(relax.op.sum(bb.emit(relax.op.take(x, i, 0)), 1))
        return relax.op.multiply(bb.emit(relax.op.exp(bags)), bb.emit(relax.op.negative(bags)))

    module = program([(("n", 8), "float32"), (("k", 3), "int32")], body)
    ours = check(module, [X, RNG.integers(0, 9, (6, 3)).astype("int32")], "gs_take_sum")
    assert operators(ours)[:1] == ["call_tir"] and "exp" in operators(ours)


def test_two_kernels_in_one_module() -> None:
    """Each brings LLVM functions of the same names."""

    def body(bb: Any, x: Any, i: Any, y: Any) -> Any:
        index = relax.op.expand_dims(i, 1)
        one = bb.emit(relax.op.scatter_nd(x, bb.emit(index), bb.emit(relax.op.take(x, i, 0)), "add"))
        other = bb.emit(relax.op.take(y, i, 0))
        return relax.Tuple([one, other])

    module = program([(("n", 64), "float32"), (("k",), "int64"), (("n", 512), "float32")], body)
    x, y = RNG.standard_normal((9, 64), "float32"), RNG.standard_normal((9, 512), "float32")
    check(module, [x, I, y], "gs_take", "gs_take_scatter_nd")


def test_left_as_it_is() -> None:
    half = program([(("n", 8), "bfloat16"), (("k",), "int64")], lambda bb, x, i: relax.op.take(x, i, 0))
    assert operators(LegalizeGatherScatter(TARGET)(half)) == ["take"]
    module = program([(("n", 8), "float32"), (("k",), "int64")], lambda bb, x, i: relax.op.take(x, i, 0))
    assert operators(LegalizeGatherScatter({"kind": "cuda", "arch": "sm_90"})(module)) == ["take"]
    with tvm.target.Target({"kind": "cuda", "arch": "sm_90"}):
        assert operators(LegalizeGatherScatter()(module)) == ["take"]


def test_nan_is_compared_as_relax_does() -> None:
    x = X.copy()
    x[3, ::2] = np.nan
    for f, g in itertools.product((relax.op.maximum, relax.op.minimum), (False, True)):
        pair = (lambda a, b: (b, a)) if g else (lambda a, b: (a, b))
        body = lambda bb, t, i, v, f=f, pair=pair: f(*pair(bb.emit(relax.op.take(t, i, 0)), v))  # noqa: E731
        module = program([(("n", 8), "float32"), ((5,), "int64"), ((5, 8), "float32")], body)
        check(module, [x, I, V], f"gs_take_{f.__name__}")


def test_a_model_of_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    from tvm.relax.frontend.onnx import from_onnx

    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[n, 8] x, int64[e] src, int64[e, 1] dst, float[e, 1] w, float[n, 8] zero) => (float[n, 8] y)
        {
            rows = Gather <axis = 0> (x, src)
            messages = Mul (rows, w)
            summed = ScatterND <reduction = "add"> (zero, dst, messages)
            y = Relu (summed)
        }
        """
    )
    module = from_onnx(model, keep_params_in_input=False)
    edges = RNG.integers(0, 9, 5)
    inputs = [X, I, edges[:, None], V[:, :1], np.zeros_like(X)]
    ours = LegalizeGatherScatter(TARGET)(module)
    assert kernels(ours)
    (got,), (want,) = run(ours, inputs), run(module, inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5)
    expected = np.zeros_like(X)
    np.add.at(expected, edges, X[I] * V[:, :1])
    np.testing.assert_allclose(got, np.maximum(expected, 0), rtol=1e-5)


def test_a_model_of_torch() -> None:
    torch = pytest.importorskip("torch")
    from tvm.relax.frontend.torch import from_exported_program

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(9, 8)
            self.out = torch.nn.Linear(8, 4)

        def forward(self, ids: Any, dst: Any) -> Any:
            pooled = (self.table(ids) * 2.0).sum(1)
            return self.out(torch.zeros(9, 8).scatter(0, dst, pooled))

    net = Net().eval()
    ids, dst = torch.randint(0, 9, (5, 3)), torch.stack([torch.randperm(9)[:5] for _ in range(8)], 1)
    with torch.no_grad():
        module = from_exported_program(torch.export.export(net, (ids, dst)))
        want = net(ids, dst).numpy()
    ours = LegalizeGatherScatter(TARGET)(module)
    assert kernels(ours)
    arrays = [ids.numpy(), dst.numpy()]
    for got in (run(ours, arrays)[0], run(module, arrays)[0]):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def of_torch(net: Any, arrays: list[Any], sizes: Any) -> tuple[Any, list[Array]]:
    """A module of PyTorch's exported program, and what PyTorch computes."""
    torch = pytest.importorskip("torch")
    from tvm.relax.frontend.torch import from_exported_program

    tensors = tuple(map(torch.from_numpy, arrays))
    with torch.no_grad():
        exported = torch.export.export(net.eval(), tensors, dynamic_shapes=sizes)
        want = net(*tensors)
    return from_exported_program(exported), [want.numpy()]


def test_a_model_of_torch_with_dynamic_shapes() -> None:
    """Its embedding reads indices of as many rows as a product of sizes: the kernel takes them in their own shape."""
    torch = pytest.importorskip("torch")

    class Bags(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(50, 8)

        def forward(self, ids: Any) -> Any:
            return (self.table(ids) * 2).sum(1)

    batch, length = torch.export.Dim("batch", min=2, max=512), torch.export.Dim("length", min=2, max=512)
    ids = RNG.integers(0, 50, (7, 3))
    module, want = of_torch(Bags(), [ids], ({0: batch, 1: length},))
    ours = check(module, [ids], "gs_take_reshape_multiply_sum")
    np.testing.assert_allclose(run(ours, [ids])[0], want[0], rtol=1e-5)
    assert operators(ours) == ["call_tir"]
    assert run(ours, [RNG.integers(0, 50, (12, 5))])[0].shape == (12, 8)


def test_index_put_of_torch() -> None:
    """With dynamic shapes, whose indices Relax's own legalisation does not broadcast; and what feeds and follows it."""
    torch = pytest.importorskip("torch")

    class Put(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, i: Any, j: Any, v: Any) -> Any:
            return torch.relu(x.index_put((i, j), v[i] * 2 - 1, accumulate=True))

    n, k = torch.export.Dim("n", min=2), torch.export.Dim("k", min=2)
    arrays = [X, np.array([0, 8, 8, 3]), np.array([7, 1, 1, 0]), X[:, 0].copy()]
    for sizes in (None, ({0: n}, {0: k}, {0: k}, {0: n})):
        module, want = of_torch(Put(), arrays, sizes)
        ours = LegalizeGatherScatter(TARGET)(module)
        assert kernels(ours) == ["gs_take_multiply_subtract_index_put"]
        for got in [run(ours, arrays)[0], *([] if sizes else [run(module, arrays)[0]])]:
            np.testing.assert_allclose(got, want[0], rtol=1e-5)


def test_views_that_others_use_stay() -> None:
    """They are computed twice; what only kernels use is not there any more."""

    def body(bb: Any, x: Any, i: Any) -> Any:
        n, k = i.ty.shape.values
        cast = bb.emit(relax.op.astype(i, "int32"))
        flat = bb.emit(relax.op.reshape(cast, relax.ShapeExpr([n * k])))
        rows = bb.emit(relax.op.take(x, flat, 0))
        bags = bb.emit(relax.op.sum(bb.emit(relax.op.reshape(rows, relax.ShapeExpr([n, k, 8]))), 1))
        return relax.Tuple([bags, flat] if shared else [bags])

    for shared in (False, True):
        module = program([(("n", 8), "float32"), (("m", "k"), "int64")], body)
        ours = check(module, [X, RNG.integers(0, 9, (4, 3))], "gs_take_reshape_sum")
        assert operators(ours) == (["astype", "reshape", "call_tir"] if shared else ["call_tir"])


def test_a_model_of_onnx_with_dynamic_axes() -> None:
    onnx = pytest.importorskip("onnx")
    from tvm.relax.frontend.onnx import from_onnx

    model = onnx.parser.parse_model(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        net (float[n, 8] x, int64[batch, length] ids) => (float[batch, 8] y)
        <int64[1] one = {1}>
        {
            rows = Gather <axis = 0> (x, ids)
            scaled = Mul (rows, rows)
            y = ReduceSum <keepdims = 0> (scaled, one)
        }
        """
    )
    module = from_onnx(model, keep_params_in_input=False)
    ids = RNG.integers(0, 9, (4, 3))
    ours = check(module, [X, ids], *kernels(LegalizeGatherScatter(TARGET)(module)))
    assert kernels(ours)
    for shape in ((4, 3), (7, 1), (1, 11)):
        ids = RNG.integers(0, 9, shape)
        np.testing.assert_allclose(run(ours, [X, ids])[0], np.square(X[ids]).sum(1), rtol=1e-4)
