"""Models that somebody broke on purpose: a GSError each, in little time and memory."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.onnx.models import corpus, model, node, onnx

F, I64 = "float32", "int64"


def of(op: str, inputs: str, constants: dict[str, Any], dtype: str = I64, **attributes: Any) -> Any:
    return model([node(op, inputs, "y", **attributes)], {"x": (F, [2, 3])}, {"y": dtype}, constants)


def array(*values: int) -> Any:
    return np.array(values, "int64")


ONE = onnx.numpy_helper.from_array(array(1))
MANY = 1 << 60
RANGE = {"a": np.array(0), "b": np.array(1 << 40), "c": np.array(1)}


# -- elements that would be computed while the graph is built ---------------------------------------------------------


@pytest.mark.parametrize(
    "m",
    [
        of("Range", "a b c", RANGE),
        of("Sum", "a b c", {n: np.ones(s, F) for n, s in (("a", (999, 1, 1)), ("b", (999, 1)), ("c", 999))}, F),
        of("Where", "a b c", {"a": np.ones((999, 1, 1), bool), "b": np.ones((999, 1), I64), "c": np.ones(999, I64)}),
        of("ConstantOfShape", "s", {"s": array(1 << 20, 1 << 20)}, value=ONE),
        of("Expand", "a s", {"a": array(1), "s": array(1 << 50)}),
        of("Gather", "a i", {"a": np.ones((1, 1024), I64), "i": np.zeros(1024, I64)}),
    ],
    ids=lambda m: m.graph.node[0].op_type,
)
def test_large_results_are_left_to_the_graph(m: Any) -> None:
    assert gs.onnx.import_model(m).graph().constants or m.graph.node[0].op_type in ("Range", "ConstantOfShape")


PAST = r"(extents must be less than 2\^63|the limit is 2\^63 - 1$)"


@pytest.mark.parametrize(
    ("m", "message"),
    [
        (of("ConstantOfShape", "s", {"s": array(1 << 32, 1 << 32)}, value=ONE), PAST),
        (of("ConstantOfShape", "s", {"s": array(*[(1 << 63) - 1] * 8)}, value=ONE), PAST),
        (of("Expand", "a s", {"a": array(1), "s": array(MANY)}), PAST),
        (of("Tile", "a s", {"a": array(1, 2), "s": array(MANY)}), PAST),
        (of("Pad", "a s", {"a": array(1), "s": array(0, MANY)}), PAST),
        (
            of("OneHot", "a d v", {"a": array(1), "d": np.array(MANY), "v": array(0, 1)}),
            PAST,
        ),
        (of("Split", "a s", {"a": array(1, 2, 3), "s": array(-1)}), "split must not hold a negative extent"),
        (of("Range", "a b c", {n: np.array(v, F) for n, v in zip("abc", (0, np.nan, 1), strict=True)}, F), "finite"),
        (of("Range", "a b c", {n: np.array(v, F) for n, v in zip("abc", (0, np.inf, 1), strict=True)}, F), "finite"),
        (
            of("Range", "a b c", {n: np.array(v, F) for n, v in zip("abc", (0, 3e38, 1e-30), strict=True)}, F),
            PAST,
        ),
    ],
)
def test_what_no_machine_holds(m: Any, message: str) -> None:
    with pytest.raises((gs.ShapeError, gs.ArgumentError), match=rf"^node 0 \({m.graph.node[0].op_type}\): .*{message}"):
        gs.onnx.import_model(m)


def test_sizes_of_a_call_times_numbers() -> None:
    tiled = node("Tile", "x r", "y")
    m = model([tiled], {"x": (F, ["n", 3])}, {"y": F}, {"r": array(1 << 40, 1 << 30)})
    with pytest.raises(gs.ShapeError, match=r"^node 0 \(Tile\): .*the limit is 2\^63 - 1$"):
        gs.onnx.import_model(m)


def test_inputs_that_no_machine_holds() -> None:
    m = model([node("Neg", "x", "y")], {"x": (F, [1 << 62, 2])}, {"y": F})
    with pytest.raises(
        gs.ShapeError, match=r"input 'x' would be float32\(4611686018427387904, 2\), .*the limit is 2\^63 - 1$"
    ):
        gs.onnx.import_model(m)


# -- external data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("\0", r"external data cannot be at '\\x00': embedded null byte"),
        ("a\0b", r"external data cannot be at"),
        ("x" * 5000, "external data cannot be at 'x{50}..x{25}': .*File name too long"),
        ("a/" * 4000, "external data cannot be at"),
        ("loop", "external data cannot be at 'loop'"),
        ("outside", "external data must lie in the model's directory"),
        ("folder/secret", "external data must lie in the model's directory"),
        ("../secret", "external data must lie in the model's directory"),
        ("in/../../secret", "external data must lie in the model's directory"),
        ("pipe", "there is no file"),
        ("in", "there is no file"),
        ("/dev/zero", "external data must lie in the model's directory"),
    ],
)
def test_places_of_external_data(location: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret" * 9)
    folder = tmp_path / "model"
    (folder / "in").mkdir(parents=True)
    (folder / "outside").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    with pytest.raises(gs.GraphError, match=f"^initialiser 'c': .*{message}") as e:
        gs.onnx.import_model(outside_data(location=location), directory=folder)
    assert len(str(e.value)) < 500


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize("value", ["-1", "1", "9" * 30, "9" * 5000, "0x0", "1_2", "\u0660", "nan", "", " 0", "1e1"])
def test_numbers_of_external_data(key: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(12))
    gs.onnx.import_model(outside_data(), directory=tmp_path)
    with pytest.raises(gs.GraphError, match=r"^initialiser 'c': "):
        gs.onnx.import_model(outside_data(**{key: value}), directory=tmp_path)


def test_a_directory_that_is_none() -> None:
    with pytest.raises(gs.GraphError, match="external data cannot be at"):
        gs.onnx.import_model(outside_data(), directory="a\0b")


def outside_data(**entries: str) -> Any:
    (m,) = (m for m in corpus() if any(t.external_data for t in m.graph.initializer))
    for e in m.graph.initializer[0].external_data:
        e.value = entries.get(e.key, e.value)
    return m


# -- names and depth --------------------------------------------------------------------------------------------------


def test_names_of_any_length_make_short_messages() -> None:
    long = "q" * 1_000_000
    missing = model([node("Neg", long, "y")], {"x": (F, [2])}, {"y": F})
    unknown = model([onnx.NodeProto(op_type=long, name=long, input=["x"], output=["y"])], {"x": (F, [2])}, {"y": F})
    equation = model([node("Einsum", "x", "y", equation=long)], {"x": (F, [2])}, {"y": F})
    for m in (missing, unknown, equation):
        with pytest.raises(gs.GSError) as e:
            gs.onnx.import_model(m)
        assert len(str(e.value)) < 2500
    b = gs.onnx.import_model(model([node("Neg", long, "y")], {long: (F, [long])}, {"y": F}))
    assert len(str(b)) < 2000


def test_many_names_that_become_one_identifier() -> None:
    """5,000 of them take no time that grows with the square."""
    names = [chr(0x4E00 + k) for k in range(5000)]
    m = model([node("Neg", names[0], "y")], {n: (F, [2]) for n in names}, {"y": F})
    found = [v.name for v in gs.onnx.import_model(m).graph().inputs]
    assert len(set(found)) == len(names) and all(re.fullmatch(r"_\w*", n, re.ASCII) for n in found)


def test_names_that_are_given_twice() -> None:
    m = model([node("Add", "x c", "y")], {"x": (F, [3])}, {"y": F}, {"c": np.ones(3, F)})
    m.graph.initializer.append(m.graph.initializer[0])
    with pytest.raises(gs.GraphError, match="two initialisers are called 'c'"):
        gs.onnx.import_model(m)
    m = model([node("Neg", "x", "y")], {"x": (F, [3])}, {"y": F})
    m.graph.node[0].attribute.extend([onnx.helper.make_attribute("a", 1)] * 2)
    with pytest.raises(gs.GraphError, match="the attribute 'a' is given twice"):
        gs.onnx.import_model(m)


def test_graphs_nested_to_any_depth() -> None:
    m = model([node("If", "x", "y")], {"x": ("bool", [])}, {"y": F})
    inner = m.graph.node[0]
    for _ in range(3000):
        inner = inner.attribute.add(name="then_branch", type=5).g.node.add(op_type="If", input=["x"], output=["y"])
    with pytest.raises(gs.GSError, match=r"^node 0 \(If\)"):
        gs.onnx.import_model(m)


# -- anything ---------------------------------------------------------------------------------------------------------


def test_the_corpus_imports() -> None:
    for m in corpus():
        ops = {n.op_type for n in m.graph.node}
        if "If" in ops or (m.graph.initializer and m.graph.initializer[0].external_data):
            with pytest.raises(gs.GraphError):
                gs.onnx.import_model(m)
        else:
            gs.onnx.import_model(m).graph()


def test_nothing_reads_code_from_a_file() -> None:
    """No pickles, which run what they hold, and no text that is evaluated."""
    root = Path(gs.__file__).parents[1]
    for path in [*root.glob("gscompile/**/*.py"), *root.glob("schedules/**/*.py")]:
        for line in path.read_text().splitlines():
            found = re.search(
                r"\bpickle\.loads?\(|torch\.load\(|marshal\.loads?|\b(?<!\.)(eval|exec)\(|allow_pickle=True", line
            )
            assert not found, f"{path}: {line}"
            assert "np.load(" not in line or "allow_pickle=False" in line, f"{path}: {line}"
