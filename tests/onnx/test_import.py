"""import_model: shapes, names, constants, functions; against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx.models import h, model, node, onnx, ort, run

F = "float32"
I64 = np.dtype("int64")


def ints(*values: int) -> Any:
    return np.array(values, "int64")


def agree(m: Any, *arrays: Any, rtol: float = 1e-6, **options: Any) -> gs.Builder:
    """The graph, which gives what ONNX Runtime gives."""
    b = gs.onnx.import_model(m, **options)
    got, want = b.build()(*arrays), ort(m, *arrays)
    for g, w in zip(
        got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True
    ):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=rtol)
    return b


def counted(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=F).reshape(shape)


# -- sizes known at the call ------------------------------------------------------------------------------------------


def heads() -> Any:
    """What exporters write for ``x.view(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)``."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "batch", axis=0),
        node("Gather", "s one", "length", axis=0),
        node("Unsqueeze", "batch axis0", "b1"),
        node("Unsqueeze", "length axis0", "l1"),
        node("Concat", "b1 l1 two minus", "target", axis=0),
        node("Reshape", "x target", "r"),
        node("Transpose", "r", "y", perm=[0, 2, 1, 3]),
    ]
    constants = {
        "zero": np.array(0),
        "one": np.array(1),
        "axis0": ints(0),
        "two": ints(2),
        "minus": ints(-1),
    }
    return model(nodes, {"x": (F, ["batch", "length", 6])}, {"y": F}, constants)


def test_a_chain_of_shapes_stays_symbolic() -> None:
    b = gs.onnx.import_model(heads())
    assert str(b.graph().outputs[0].shape) == "(batch, 2, length, 3)"
    m = b.build()
    for shape in ((2, 5, 6), (1, 1, 6), (3, 0, 6)):
        x = counted(*shape)
        np.testing.assert_array_equal(m(x), x.reshape(*shape[:2], 2, 3).transpose(0, 2, 1, 3))
    assert b.graph().constants == [], "all of them went into the shape"


def test_positions_are_cut_to_the_length() -> None:
    """``table[:, : x.shape[1]] + x``, and the sum of two sizes as a bound."""
    nodes = [
        node("Shape", "x", "n", start=1, end=2),
        node("Slice", "table zero n one", "p"),
        node("Add", "p x", "y"),
        node("Add", "n n", "n2"),
        node("Slice", "table n n2 one", "z"),
    ]
    constants = {"table": counted(1, 8, 3), "zero": ints(0), "one": ints(1)}
    m = model(nodes, {"x": (F, ["b", "n", 3])}, {"y": F, "z": F}, constants)
    for n in (1, 3, 4):
        agree(m, counted(2, n, 3))
    with pytest.raises(gs.ShapeError, match="operands on axis"):
        run(m, counted(2, 9, 3))


def test_expand_as_exporters_write_it() -> None:
    """``x.expand(-1, n, -1)``: a size is compared with -1, and Where takes it or 1."""
    nodes = [
        node("Shape", "t", "n", start=0, end=1),
        node("Concat", "minus n minus", "wanted", axis=0),
        node("Shape", "wanted", "three"),
        node("ConstantOfShape", "three", "ones", value=onnx.numpy_helper.from_array(ints(1))),
        node("Mul", "ones minus", "minuses"),
        node("Equal", "wanted minuses", "kept"),
        node("Where", "kept ones wanted", "target"),
        node("Expand", "x target", "y"),
    ]
    m = model(nodes, {"x": (F, ["a", 1, 4]), "t": (F, ["n"])}, {"y": F}, {"minus": ints(-1)})
    b = agree(m, counted(3, 1, 4), counted(5))
    assert str(b.graph().outputs[0].shape) == "(a, n, 4)"


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_range_over_a_size(dtype: str) -> None:
    to = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s one", "n"),
        node("Cast", "n", "limit", to=to),
        node("Range", "start limit step", "y"),
    ]
    constants = {"one": np.array(1), "start": np.array(1, dtype), "step": np.array(2, dtype)}
    m = model(nodes, {"x": (F, [2, "n"])}, {"y": dtype}, constants)
    for n in (0, 1, 2, 7, 8):
        agree(m, counted(2, n))


def test_shapes_as_outputs() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Size", "x", "k"),
        node("Cast", "s", "f", to=onnx.TensorProto.FLOAT),
        node("Mul", "s s", "squares"),
        node("Identity", "x", "same"),
        node("Identity", "c", "constant"),
    ]
    outputs = {"s": I64, "k": I64, "f": F, "squares": I64, "same": F, "constant": F}
    agree(model(nodes, {"x": (F, ["n", 4, "m"])}, outputs, {"c": counted(3)}), counted(2, 4, 5))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
def test_arithmetic_of_sizes(op: str) -> None:
    nodes = [node("Shape", "x", "s"), node(op, "s c", "t"), node("ReduceProd", "t", "p", keepdims=0)]
    m = model(nodes, {"x": (F, ["n", 7])}, {"t": I64, "p": I64}, {"c": ints(3, 2)})
    for n in (3, 8):
        agree(m, counted(n, 7))


def test_a_model_in_which_nothing_is_left_to_compute() -> None:
    m = model([node("Reshape", "c s", "y")], {}, {"y": F}, {"c": counted(6), "s": ints(2, 3)})
    np.testing.assert_array_equal(run(m), counted(2, 3))


def test_unnamed_axes_are_sizes_of_their_own_and_equal_names_are_tied() -> None:
    m = model([node("Concat", "x.1 y", "z", axis=0)], {"x.1": (F, [None, 3]), "y": (F, [None, 3])}, {"z": F})
    b = gs.onnx.import_model(m)
    assert [str(v.shape) for v in b.graph().inputs] == ["(x_1_0, 3)", "(y_0, 3)"]
    assert b.build()(counted(2, 3), counted(5, 3)).shape == (7, 3)
    odd = model([node("Add", "x y", "z")], {"x": (F, ["a.b", "a b"]), "y": (F, ["a.b", "a b"])}, {"z": F})
    b = gs.onnx.import_model(odd)
    assert [str(v.shape) for v in b.graph().inputs] == ["(a_b, a_b_1)"] * 2
    with pytest.raises(gs.ShapeError, match="size a_b is 2"):
        b.build()(counted(2, 4), counted(3, 4))


def test_shapes_may_be_given() -> None:
    m = model([node("Neg", "x", "y")], {"x": (F, None)}, {"y": F})
    with pytest.raises(gs.ShapeError, match=r"input 'x' has no shape in the model: pass shapes=\{'x': \(..\)\}"):
        gs.onnx.import_model(m)
    assert str(gs.onnx.import_model(m, shapes={"x": ("n", 2)}).graph().outputs[0].shape) == "(n, 2)"
    with pytest.raises(gs.ArgumentError, match="shapes: no input is called 'z'"):
        gs.onnx.import_model(m, shapes={"z": (1,)})


def test_known_inputs_become_constants() -> None:
    m = model([node("Reshape", "x s", "y")], {"x": (F, ["n", 6]), "s": (I64, [2])}, {"y": F})
    with pytest.raises(gs.onnx.NeedsValue, match=r"import_model\(.., known=\{'s': ..\}\)") as e:
        gs.onnx.import_model(m)
    assert e.value.inputs == ["s"]
    b = gs.onnx.import_model(m, known={"s": ints(-1, 3)})
    assert [v.name for v in b.graph().inputs] == ["x"]
    np.testing.assert_array_equal(b.build()(counted(2, 6)), counted(4, 3))
    with pytest.raises(gs.ArgumentError, match=r"known: 's' must be int64\(2,\); got int64\(3,\)"):
        gs.onnx.import_model(m, known={"s": ints(1, 2, 3)})


def test_a_shape_that_no_size_can_tell() -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Neg", "s", "t"),
        node("Abs", "t", "u"),
        node("ConstantOfShape", "u", "y"),
    ]
    with pytest.raises(gs.onnx.NeedsValue, match="depends on sizes that only a call tells") as e:
        gs.onnx.import_model(model(nodes, {"x": (F, ["n"])}, {"y": F}))
    assert e.value.inputs == []
    with pytest.raises(gs.onnx.NeedsValue):
        gs.onnx.Backend.run_model(model(nodes, {"x": (F, ["n"])}, {"y": F}), [counted(2)])


# -- operators that the node tests leave out, or have in one operator set ---------------------------------------------


def test_axes_were_attributes() -> None:
    nodes = [
        node("Unsqueeze", "x", "a", axes=[0]),
        node("ReduceSum", "a", "b", axes=[1], keepdims=1),
        node("Squeeze", "b", "c", axes=[1]),
        node("Slice", "c", "d", starts=[1], ends=[1000], axes=[1]),
        node("Pad", "d", "e", pads=[1, 0, 0, 2], value=7.0),
        node("Clip", "e", "y", min=0.0, max=9.0),
    ]
    agree(model(nodes, {"x": (F, [2, 4])}, {"y": F}, opset=9), counted(2, 4))


@pytest.mark.parametrize("opset", [9, 12, 13, 21])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_summed_over_all_axes_from_there_on(op: str, opset: int) -> None:
    x = np.sin(counted(2, 3, 4))
    agree(model([node(op, "x", "y", axis=1)], {"x": (F, [2, 3, 4])}, {"y": F}, opset=opset), x, rtol=1e-5)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: str) -> None:
    nodes = [node("Pad", "x pads", "y", mode=mode)]
    m = model(nodes, {"x": (F, ["n", 4])}, {"y": F}, {"pads": ints(1, 3, 2, 2)})
    for n in (3, 5):
        agree(m, counted(n, 4))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integer_division_truncates(dtype: str) -> None:
    x = np.array([7, 8, 9, 100, 0, 7], dtype)
    y = np.array([2, 3, 5, 7, 3, 1], dtype)
    if dtype.startswith("i"):
        x, y = np.concatenate([x, -x, x, -x]), np.concatenate([y, y, -y, -y])
    inputs = {"x": (dtype, [None]), "y": (dtype, [None])}
    agree(model([node("Div", "x y", "z")], inputs, {"z": dtype}), x, y)
    for fmod in (0, 1):
        agree(model([node("Mod", "x y", "z", fmod=fmod)], inputs, {"z": dtype}), x, y)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers_divided_by_0_give_0(dtype: str) -> None:
    x, y = np.array([7, 0, 100], dtype), np.zeros(3, dtype)
    x = -x if dtype == "int32" else x
    inputs = {"x": (dtype, [3]), "y": (dtype, [3])}
    for n in (node("Div", "x y", "z"), node("Mod", "x y", "z"), node("Mod", "x y", "z", fmod=1)):
        assert run(model([n], inputs, {"z": dtype}), x, y).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fmod_is_exact(dtype: str) -> None:
    x = np.array([5.3, -5.3, 1e8, -1e8, 0.0, 7.0], dtype)
    y = np.array([2.1, 2.1, 0.3, -0.3, 2.0, np.inf], dtype)
    m = model([node("Mod", "x y", "z", fmod=1)], {"x": (dtype, [6]), "y": (dtype, [6])}, {"z": dtype})
    np.testing.assert_array_equal(run(m, x, y), np.fmod(x, y))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float32"])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceL2"])
def test_reductions_keep_the_dtype(op: str, dtype: str) -> None:
    m = model([node(op, "x axes", "y")], {"x": (dtype, [3, 4])}, {"y": dtype}, {"axes": ints(-1)}, opset=18)
    try:
        b = gs.onnx.import_model(m)
    except gs.DTypeError:
        assert dtype == "uint8" and op != "ReduceMax"
        return
    x = (counted(3, 4) % 5 + 1).astype(dtype)
    f = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMean": np.mean, "ReduceProd": np.prod}.get(op)
    wide = x.astype("f8")
    want = np.sqrt((wide**2).sum(1, keepdims=True)) if f is None else f(wide, 1, keepdims=True)
    np.testing.assert_allclose(b.build()(x), want.astype(dtype), rtol=1e-3)


def test_small_numbers_keep_their_digits_in_elu_and_sinh() -> None:
    x = np.array([-1e-3, -1e-6, -1e-9, 1e-6, -5.0], F)
    for op, f in (("Elu", np.expm1), ("Sinh", np.sinh)):
        want = np.where(x < 0, f(x), x) if op == "Elu" else f(x)
        np.testing.assert_allclose(run(model([node(op, "x", "y")], {"x": (F, [5])}, {"y": F}), x), want, rtol=2e-6)


def test_log_sum_exp_does_not_overflow() -> None:
    m = model([node("ReduceLogSumExp", "x axes", "y")], {"x": (F, [2, 3])}, {"y": F}, {"axes": ints(1)}, opset=18)
    x = np.array([[1000, 1000, 999], [-np.inf, -np.inf, -np.inf]], F)
    agree(m, x)


@pytest.mark.parametrize("time_axis", [0, 1])
def test_reverse_sequence(time_axis: int) -> None:
    nodes = [node("ReverseSequence", "x n", "y", time_axis=time_axis, batch_axis=1 - time_axis)]
    x = counted(4, 3, 2) if time_axis == 0 else counted(3, 4, 2)
    agree(model(nodes, {"x": (F, x.shape), "n": (I64, [3])}, {"y": F}), x, ints(1, 4, 2))


def test_one_hot_of_indices_out_of_range_is_off_everywhere() -> None:
    nodes = [node("OneHot", "i depth values", "y", axis=0)]
    m = model(nodes, {"i": (I64, [6]), "values": (F, [2])}, {"y": F}, {"depth": np.array(3)})
    agree(m, ints(0, 2, -1, -3, 3, -4), np.array([5, 8], F))


def test_split_in_unequal_parts() -> None:
    agree(
        model([node("Split", "x", "a b c", num_outputs=3)], {"x": (F, [7, 2])}, {"a": F, "b": F, "c": F}), counted(7, 2)
    )
    nodes = [node("Split", "x sizes", "a b", axis=1)]
    m = model(nodes, {"x": (F, [2, "n"])}, {"a": F, "b": F}, {"sizes": ints(2, 3)})
    agree(m, counted(2, 5))
    with pytest.raises(gs.ShapeError, match="the sum of split, and the axis: must be equal to n = 6; got 5 = 5"):
        run(m, counted(2, 6))


def test_a_fused_model() -> None:
    """Embedding, arithmetic and a scatter-add: one kernel, nothing stored between."""
    nodes = [
        node("Gather", "table i", "rows"),
        node("Mul", "rows w", "weighted"),
        node("ScatterND", "zeros at weighted", "y", reduction="add"),
    ]
    inputs = {"i": (I64, ["k"]), "w": (F, ["k", 1]), "at": (I64, ["k", 1])}
    constants = {"table": counted(10, 4), "zeros": np.zeros((5, 4), F)}
    rng = np.random.default_rng(0)
    i, at = rng.integers(0, 10, 30), rng.integers(0, 5, (30, 1))
    b = agree(model(nodes, inputs, {"y": F}, constants), i, rng.random((30, 1), F), at, rtol=1e-5)
    assert b.build().stats.workspace_bytes == 0


# -- names ------------------------------------------------------------------------------------------------------------


def test_names_become_identifiers() -> None:
    names = ["x.1", "x:1", "/a/b", "1st", "out", "ä"]
    nodes = [h.make_node("Sum", names, ["y"])]
    b = gs.onnx.import_model(model(nodes, {n: (F, [2]) for n in names}, {"y": F}))
    assert [v.name for v in b.graph().inputs] == ["x_1", "x_1_1", "_a_b", "_1st", "out_1", "_"]
    assert gs.onnx.import_model(model(nodes, {n: (F, [2]) for n in names}, {"y": F}), name="net").name == "net"


# -- constants --------------------------------------------------------------------------------------------------------


def weights(count: int = 4) -> tuple[Any, Any]:
    w = counted(count, 3)
    return model([node("Gather", "w i", "y")], {"i": (I64, ["k"])}, {"y": F}, {"w": w}), w


def test_initialisers_are_referenced(tmp_path: Path) -> None:
    m, w = weights()
    (constant,) = gs.onnx.import_model(m).graph().constants
    array = constant.op.array  # type: ignore[attr-defined]
    assert constant.name == "w" and not array.flags.owndata
    np.testing.assert_array_equal(array, w)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "uint64", "bool", "bfloat16"])
@pytest.mark.parametrize("raw", [True, False])
def test_initialisers_of_every_dtype(dtype: str, raw: bool) -> None:
    from tests.cases import numpy_dtype

    w = np.array([[0, 1, 2], [3, 5, 1]]).astype(numpy_dtype(dtype))
    kind = h.np_dtype_to_tensor_dtype(w.dtype)
    t = h.make_tensor("w", kind, w.shape, w.tobytes() if raw else w.ravel().tolist(), raw=raw)
    m = model([node("Gather", "w i", "y")], {"i": (I64, [1])}, {"y": w.dtype})
    m.graph.initializer.append(t)
    got = run(m, ints(1))
    assert got.dtype == w.dtype
    np.testing.assert_array_equal(got, w[[1]])


def test_an_input_with_an_initialiser_is_a_constant() -> None:
    m, w = weights()
    m.graph.input.append(h.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4, 3]))
    np.testing.assert_array_equal(run(m, ints(2)), w[[2]])


def external(tmp_path: Path, **entries: str) -> tuple[Path, Any]:
    """A model whose weights are in a file, with these entries instead of the right ones."""
    m, w = weights()
    (tmp_path / "w.bin").write_bytes(b"head" * 4 + w.tobytes())
    t = m.graph.initializer[0]
    t.ClearField("raw_data")
    t.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "w.bin", "offset": "16", "length": str(w.nbytes), **entries}.items():
        t.external_data.add(key=key, value=value)
    path = tmp_path / "m.onnx"
    path.write_bytes(m.SerializeToString())
    return path, w


def test_external_data_is_mapped(tmp_path: Path) -> None:
    path, w = external(tmp_path)
    b = gs.onnx.import_model(path)
    (constant,) = b.graph().constants
    assert isinstance(constant.op.array, np.memmap)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(b.build()(ints(3, 0)), w[[3, 0]])
    proto = onnx.load(path, load_external_data=False)
    np.testing.assert_array_equal(run(proto, ints(1), directory=tmp_path), w[[1]])
    with pytest.raises(gs.GraphError, match=r"initialiser 'w': its data is in the file 'w.bin'; pass the model's path"):
        gs.onnx.import_model(proto)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../w.bin"}, "external data must lie in the model's directory"),
        ({"location": "/etc/passwd"}, "external data must lie in the model's directory"),
        ({"location": "link"}, "external data must lie in the model's directory"),
        ({"location": ""}, "external data must lie in the model's directory"),
        ({"location": "gone.bin"}, "there is no file"),
        ({"location": "."}, "there is no file"),
        ({"offset": "20"}, "bytes 20 to 68 are not all in"),
        ({"offset": "-4"}, "bytes -4 to 44 are not all in"),
        ({"offset": "x"}, "offset and length of external data must be numbers"),
        ({"length": "44"}, "needs 48 bytes; external data has length 44"),
    ],
)
def test_external_data_that_is_not_read(tmp_path: Path, entries: dict[str, str], message: str) -> None:
    inner = tmp_path / "models"
    inner.mkdir()
    (tmp_path / "w.bin").write_bytes(b"secret" * 100)
    (inner / "link").symlink_to(tmp_path / "w.bin")
    path, _ = external(inner, **entries)
    with pytest.raises(gs.GraphError, match=f"initialiser 'w': .*{message}"):
        gs.onnx.import_model(path)


# -- functions --------------------------------------------------------------------------------------------------------


def with_function(body: Any, *nodes: Any) -> Any:
    return model(
        list(nodes), {"x": (F, ["n"])}, {"y": F}, functions=[body], opsets=[h.make_opsetid("mine", 1)], opset=17
    )


def test_functions_of_the_model() -> None:
    scaled = h.make_node("LeakyRelu", ["a"], ["b"])
    reference = onnx.AttributeProto()
    reference.name, reference.ref_attr_name, reference.type = "alpha", "slope", onnx.AttributeProto.FLOAT
    scaled.attribute.append(reference)
    body = h.make_function(
        "mine", "F", ["a"], ["c"], [scaled, node("Neg", "b", "c")], [h.make_opsetid("", 16)], ["slope"]
    )
    m = with_function(body, h.make_node("F", ["x"], ["y"], domain="mine", slope=0.5))
    agree(m, np.array([-2, 4], F))
    with pytest.raises(gs.ArgumentError, match="the function 'F' needs the attribute 'slope'"):
        gs.onnx.import_model(with_function(body, h.make_node("F", ["x"], ["y"], domain="mine")))
    with pytest.raises(gs.GraphError, match="the function 'F' takes 1 inputs; got 2"):
        gs.onnx.import_model(with_function(body, h.make_node("F", ["x", "x"], ["y"], domain="mine", slope=0.5)))


def test_a_function_that_calls_itself() -> None:
    imports = [h.make_opsetid("", 16), h.make_opsetid("mine", 1)]
    body = h.make_function("mine", "F", ["a"], ["b"], [h.make_node("F", ["a"], ["b"], domain="mine")], imports)
    with pytest.raises(gs.GraphError, match=r"node 0 \(F\): node 0 \(F\): the function 'F' calls itself"):
        gs.onnx.import_model(with_function(body, h.make_node("F", ["x"], ["y"], domain="mine")))


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_and_bytes(tmp_path: Path) -> None:
    m, w = weights()
    for name in ("m.onnx", "m.json", "m.textproto", "m.onnxtxt"):
        onnx.save(m, tmp_path / name)
        np.testing.assert_array_equal(run(str(tmp_path / name), ints(1)), w[[1]])
    np.testing.assert_array_equal(run(m.SerializeToString(), ints(1)), w[[1]])


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [n for n in sys.modules if n == "onnx" or n.startswith(("onnx.", "gscompile.onnx"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(gs, "onnx", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(gs.MissingExtraError, match=r"pip install '\.\[onnx\]'"):
        gs.onnx.import_model("m.onnx")


# -- before opset 7 ---------------------------------------------------------------------------------------------------


def test_broadcast_was_an_attribute() -> None:
    inputs = {"x": (F, [2, 3, 4]), "y": (F, [3])}
    x, y = counted(2, 3, 4), counted(3) + 1
    for op, f in (("Add", np.add), ("Div", np.divide), ("Pow", np.power)):
        m = model([node(op, "x y", "z", broadcast=1, axis=1)], inputs, {"z": F}, opset=6)
        np.testing.assert_allclose(run(m, x, y), f(x, y[:, None]), rtol=1e-6)
    last = model([node("Mul", "x y", "z", broadcast=1)], {**inputs, "y": (F, [4])}, {"z": F}, opset=6)
    np.testing.assert_array_equal(run(last, x, counted(4)), x * counted(4))
    for n in (node("Add", "x y", "z"), node("Sum", "x y", "z")):
        with pytest.raises(gs.ShapeError, match="shapes must be equal"):
            run(model([n], inputs, {"z": F}, opset=6), x, y)
    with pytest.raises(gs.ShapeError, match=r"\(3,\) does not fit into \(2, 3, 4\) from axis 3 on|axis must be in"):
        run(model([node("Add", "x y", "z", broadcast=1, axis=3)], inputs, {"z": F}, opset=6), x, y)


# -- products ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 1, 2, 3), (4, 3, 6)), ((2, 0), (0, 3))],
)
def test_matmul(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    m = model([node("MatMul", "x y", "z")], {"x": (F, x), "y": (F, y)}, {"z": F})
    a, b = np.sin(counted(*x)), np.cos(counted(*y))
    np.testing.assert_allclose(run(m, a, b), a @ b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "equation",
    ["ij,jk->ik", "ij,jk", "bij,bjk->kbi", "ii->i", "ii", "iij->j", "i,j->ji", "...ij,...jk->...ik", "...i->...", "ba"],
)
def test_einsum(equation: str) -> None:
    extents = {"i": 3, "j": 4, "k": 2, "b": 5, "a": 3}
    terms = equation.partition("->")[0].split(",")
    arrays = []
    for k, t in enumerate(terms):
        shape = ([2, 3][k:] if "..." in t else []) + [extents[c] for c in t if c.isalpha()]
        arrays.append(np.sin(counted(*shape)).astype(F))
    inputs = {f"x{k}": (F, list(a.shape)) for k, a in enumerate(arrays)}
    m = model([h.make_node("Einsum", list(inputs), ["y"], equation=equation)], inputs, {"y": F})
    np.testing.assert_allclose(run(m, *arrays), np.einsum(equation, *arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ij,j", "has 2 terms for 1 inputs"),
        ("i1->i", "may hold letters"),
        ("ijk", r"input 0 must have rank 3; got \(2, 2\)"),
        ("ij->k", "one that no input has"),
        ("ij->ii", "names a letter twice"),
    ],
)
def test_equations_that_are_refused(equation: str, message: str) -> None:
    m = model([node("Einsum", "x", "y", equation=equation)], {"x": (F, [2, 2])}, {"y": F})
    with pytest.raises(gs.GSError, match=message):
        run(m, counted(2, 2))
