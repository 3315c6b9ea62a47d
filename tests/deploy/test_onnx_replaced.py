"""Which nodes of a model are replaced together, what becomes of its tensors, and that the rest gives what it gave."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.deploy.onnx_sessions import Pair, model, onnx, onnx_models, session


def test_nothing_outside_is_between_nodes_of_one(tmp_path: Path) -> None:
    """The sum needs the product, which needs the gather: two nodes.  What is read outside is an output of the first."""
    pair = Pair(
        model(
            "float[n, 4] x, int64[k] i, float[4, 4] w",
            "float[k, 4] y, float[k, 4] taken",
            """taken = Gather(x, i)
            half = Mul(taken, scale)
            product = MatMul(half, w)
            moved = Add(half, product)
            again = Gather(moved, i)
            y = Relu(again)""",
            scale=np.float32(0.5),
        ),
        tmp_path,
    )
    assert pair.operators == [["Gather", "Mul"], ["Add", "Gather", "Relu"]]
    assert pair.parts[0].outputs == ["taken", "half"]
    rng = np.random.default_rng(0)
    x, w = rng.random((2, 6, 4), "float32")
    pair.agree({"x": x, "w": w[:4], "i": np.array([0, 3, -4, 2])}, 1e-5)


def test_kinds(tmp_path: Path) -> None:
    found = model(
        "float[n] x, int64[k] i, float[k] s",
        "float[n] y, float[k] z",
        "a = ScatterElements(x, i, s)  y = Abs(a)  z = Gather(x, i)",
    )
    feed = {"x": np.arange(5, dtype="float32"), "i": np.array([1, 3]), "s": np.array([-7, 8], "float32")}
    for kind, operators in (("gather", [["Gather"]]), ("scatter", [["ScatterElements", "Abs"]])):
        pair = Pair(found, tmp_path, kind, name=kind)
        assert pair.operators == operators
        pair.agree(feed)


def test_two_libraries_in_one_session(tmp_path: Path) -> None:
    """A replaced model is replaced again; its own operators stay as they are."""
    workload = onnx_models.gnn_layer(8)
    first = Pair(workload.model, tmp_path, "gather", name="one")
    gs.onnx.replace(first.path, tmp_path / "two.onnx", ["scatter"])
    both = session(tmp_path / "two.onnx", first.library, tmp_path / "two.so")
    used = {n.domain for n in onnx.load(tmp_path / "two.onnx").graph.node}
    feed = workload.feed(20, 50)
    np.testing.assert_allclose(both.run(None, feed)[0], first.original.run(None, feed)[0], 1e-5, 1e-5)
    assert {d.rpartition(".")[0] for d in used} == {"", "gscompile.one", "gscompile.two"}


def test_a_library_that_replaced_another_one(tmp_path: Path) -> None:
    """This process has the first one loaded: a session of the second model refuses it, and does not run the first one's code."""
    add, sub = (
        model("float[n] x, int64[k] i, float[k] s", "float[k] y", f"a = Gather(x, i)  y = {op}(a, s)")
        for op in ("Add", "Sub")
    )
    Pair(add, tmp_path)
    with pytest.raises(Exception, match=r"gscompile\.fast\."):
        Pair(sub, tmp_path)


def test_sizes_that_may_be_1_stay_as_they_are(tmp_path: Path) -> None:
    """``k`` and ``m`` may differ where one is 1, which compiled code does not know: the sum stays ONNX Runtime's."""
    pair = Pair(
        model("float[n] x, int64[k] i, float[m] y", "float[r] z", "taken = Gather(x, i)  z = Add(taken, y)"), tmp_path
    )
    assert pair.operators == [["Gather"]]
    for k, m in ((3, 1), (1, 3), (3, 3)):
        pair.agree({"x": np.arange(5, dtype="float32"), "i": np.arange(k), "y": np.ones(m, "float32")})


def test_sizes_of_tensors_elsewhere(tmp_path: Path) -> None:
    """A size that none of a node's tensors has comes with a tensor that is passed for its shape, inferred ones too."""
    pair = Pair(
        model(
            "float[b, n] x, float[rows, 3] data, int64[k] i, float[b, 2] logits",
            "float[rows2, 3] y, float[b, 4, 3] z",
            """shape = Shape(x)
            two = Constant<value_int = 1>()
            zero = Constant<value_ints = [0]>()
            last = Constant<value_ints = [-1]>()
            n = Gather<axis = 0>(shape, two)
            long = Unsqueeze(n, zero)
            wide = Concat<axis = 0>(long, three)
            zeros = ConstantOfShape(wide)
            taken = Gather(data, i)
            column = Unsqueeze(i, last)
            y = ScatterND<reduction = "add">(zeros, column, taken)
            best, ids = TopK(logits, one)
            b = Shape<end = 1>(ids)
            four = Concat<axis = 0>(b, more)
            many = Expand(zero, four)
            z = Gather(data, many)""",
            three=np.array([3]),
            one=np.array([1]),
            more=np.array([4]),
        ),
        tmp_path,
    )
    assert [p.operators for p in pair.parts] == [
        ["ConstantOfShape", "Gather", "Unsqueeze", "ScatterND"],
        ["Expand", "Gather"],
    ]
    rng = np.random.default_rng(0)
    for b, n, k in ((2, 5, 7), (1, 3, 0)):
        x, logits = np.zeros((b, n), "float32"), rng.random((b, 2), "float32")
        pair.agree({"x": x, "data": rng.random((3, 3), "float32"), "i": rng.integers(0, 3, k), "logits": logits}, 1e-6)


def test_initialisers(tmp_path: Path) -> None:
    """Tables stay in the model, also where a call may bring others; small constants become code, and are left out."""
    table = np.arange(6000, dtype="float32").reshape(2000, 3)
    found = model(
        "int64[k] i, float[1] bias",
        "float[k, 3] y",
        "a = Gather(table, i)  b = Mul(a, scale)  y = Add(b, bias)",
        table=table,
        scale=np.float32(2),
        bias=np.ones(1, "float32"),
    )
    pair = Pair(found, tmp_path)
    assert pair.parts[0].inputs == ["table", "i", "bias"]
    assert {t.name for t in onnx.load(pair.path).graph.initializer} == {"table", "bias"}
    assert pair.library.stat().st_size < 100_000
    pair.agree({"i": np.array([1, -1])})
    pair.agree({"i": np.array([1, -1]), "bias": np.array([5], "float32")})


def test_external_data(tmp_path: Path) -> None:
    found = model("int64[k] i", "float[k, 3] y", "y = Gather(table, i)", table=np.ones((2000, 3), "float32"))
    (tmp_path / "there").mkdir()
    kept = onnx.ModelProto()
    kept.CopyFrom(found)
    onnx.save(kept, tmp_path / "net.onnx", save_as_external_data=True, location="net.data")
    for to in (tmp_path / "fast.onnx", tmp_path / "there" / "fast.onnx"):
        gs.onnx.replace(tmp_path / "net.onnx", to)
        got = session(to, to.with_suffix(".so")).run(None, {"i": np.array([7])})
        assert (got[0] == 1).all()


def test_graphs_within_nodes_and_functions(tmp_path: Path) -> None:
    """What a branch reads is an output; a model's functions are expanded; nodes without names are called by their number."""
    text = """<ir_version: 10, opset_import: ["": 18, "own": 1]>
    net (float[n] x, int64[k] i, bool c) => (float[k] y) {
      taken = Gather(x, i)
      small = own.half(taken)
      y = If (c) <
        then_branch = g1 () => (float[k] a) { a = Identity(small) },
        else_branch = g2 () => (float[k] b) { b = Neg(taken) }>
    }
    <domain: "own", opset_import: ["": 18]> half (v) => (w) {
      s = Constant<value_float = 0.5>()
      w = Mul(v, s)
    }"""
    pair = Pair(onnx.parser.parse_model(text), tmp_path)
    assert pair.operators == [["Gather", "Mul"]]
    for c in (True, False):
        pair.agree({"x": np.arange(5, dtype="float32"), "i": np.array([4, -5]), "c": np.array(c)})


def test_the_model_that_is_given_stays_as_it_is(tmp_path: Path) -> None:
    found = onnx_models.gnn_layer(8).model
    before = found.SerializeToString()
    gs.onnx.replace(found, tmp_path / "fast.onnx")
    assert found.SerializeToString() == before


@pytest.mark.parametrize("name", ["GCN", "GAT", "EdgeConv", "Mixer"])
def test_networks_of_pytorch(name: str, tmp_path: Path) -> None:
    from tests.onnx.nets import NETS, exported, torch

    torch.manual_seed(0)
    net = NETS[name]
    pair = Pair(exported(net.make().eval(), net.draw(0), net.axes, 18, False), tmp_path)
    names = [i.name for i in pair.original.get_inputs()]
    for more in (0, 3, 1):
        pair.agree({n: x.numpy() for n, x in zip(names, net.draw(more), strict=True)}, 1e-4)


def drawn(rng: random.Random) -> Any:
    """A model of rows by nodes (n) and by edges (k), and of indices, in an order that nobody would write."""
    values: dict[str, list[str]] = {"n": ["x"], "k": ["s"], "index": ["i", "j"]}
    lines = ["one = Constant<value_ints = [1]>()"]

    def line(kind: str, text: str) -> str:
        name = f"v{len(lines)}"
        lines.append(f"{name} = {text}")
        values.setdefault(kind, []).append(name)
        return name

    def pick(kind: str) -> str:
        return rng.choice(values[kind][-4:])

    for _ in range(rng.randint(5, 25)):
        kind = rng.choice("nk")
        column = f"Unsqueeze({pick('index')}, one)"
        pick_zeros = rng.random() < 0.5
        match rng.randrange(8):
            case 0 | 1:
                line("k", f"Gather({pick('n')}, {pick('index')})")
            case 2:
                line(kind, f"MatMul({pick(kind)}, w)")
            case 3:
                line(kind, f"Mul({pick(kind)}, {pick(kind)})")
            case 4:
                line(kind, f"Relu({pick(kind)})")
            case 5:
                shape = line("shape", f"Shape({pick('n')})")
                to = line("n", f"ConstantOfShape({shape})") if pick_zeros else pick("n")
                line("n", f'ScatterND<reduction = "add">({to}, {line("column", column)}, {pick("k")})')
            case 6:
                shape = line("shape", f"Shape({pick('k')})")
                at = line("column", column)
                line("k", f"GatherElements({pick('n')}, {line('k_by_index', f'Expand({at}, {shape})')})")
            case 7:
                rows = line("rows", f"Shape<end = 1>({pick('n')})")
                line("index", f"Min({pick('index')}, {line('rows', f'Sub({rows}, one)')})")
    results = [*values["n"][1:][-2:], *values["k"][1:][-2:]]
    named = ", ".join(f"float[{'n' if r in values['n'] else 'k'}, 4] {r}" for r in results)
    return model("float[n, 4] x, float[k, 4] s, int64[k] i, int64[k] j, float[4, 4] w", named, "  ".join(lines))


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_drawn_models(seed: int) -> None:
    """What groups read, other nodes give before, and nobody's results are lost."""
    from gscompile.onnx.partition import partition  # here: they need onnx
    from gscompile.onnx.rewrite import _outlined, _remaining
    from gscompile.onnx.survey import Survey, uses_of

    rng = random.Random(seed)
    grouped = 0
    for _ in range(40):
        survey = Survey(drawn(rng), None)
        groups = partition(survey, ["gather", "scatter"])
        numbers = [k for g in groups for k in g]
        assert len(numbers) == len(set(numbers))
        grouped += len(groups)
        known = {i.name for i in survey.graph.input}
        for proto in _remaining(survey, _outlined(survey, groups, "net", "")):
            assert uses_of(proto) <= known, proto
            known |= set(proto.output)
        assert {o.name for o in survey.graph.output} <= known
    assert grouped > 40
