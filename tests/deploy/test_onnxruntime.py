"""Replaced models in real sessions of ONNX Runtime: the same results, errors instead of crashes, the session's threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from tests.deploy.onnx_sessions import Pair, model, onnx, onnx_models, session

DTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "float16",
    "int64": "int64",
    "int32": "int32",
    "uint8": "uint8",
    "bool": "bool",
}


def filled(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


# -- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes", "replaced"),
    [
        ("gnn_layer", [(10, 30), (1, 0), (500, 9000), (3, 4)], 1),
        ("embedding_bag", [(3, 5), (0, 4), (2, 0), (300, 17)], 1),
        ("beam_step", [(1, 5), (2, 7)], 1),
    ],
)
def test_models(name: str, sizes: list[tuple[int, ...]], replaced: int, tmp_path: Path) -> None:
    """All sizes of their dynamic axes in one session, on one thread and on the session's."""
    workload = getattr(onnx_models, name)()
    pair = Pair(workload.model, tmp_path)
    single = session(pair.path, pair.library, threads=1)
    assert len(pair.parts) == replaced
    for size in sizes:
        feed = workload.feed(*size)
        got = pair.agree(feed, 1e-4)
        for a, b in zip(single.run(None, feed), got, strict=True):
            np.testing.assert_array_equal(a, b)


FIVE = """
  gathered = Gather<axis = 1>(x, i)
  elements = GatherElements<axis = 0>(x, e)
  points = GatherND(x, p)
  put = ScatterElements<axis = 1>(x, e, s)
  written = ScatterND(x, p, rows)
"""


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_operators_and_dtypes(dtype: str, tmp_path: Path) -> None:
    """Each of the five is a node of its own, whose axes are dynamic; indices of both dtypes, negative ones too."""
    t = DTYPES[dtype]
    pair = Pair(
        model(
            f"{t}[n, m] x, int32[a, b] i, int64[c, d] e, int64[k, 1] p, {t}[c, d] s, {t}[k, m] rows",
            f"{t}[n, a, b] gathered, {t}[c, d] elements, {t}[k, m] points, {t}[n, m] put, {t}[n, m] written",
            FIVE,
        ),
        tmp_path,
    )
    assert [p.operators for p in pair.parts] == [
        ["Gather"],
        ["GatherElements"],
        ["GatherND"],
        ["ScatterElements"],
        ["ScatterND"],
    ]
    for n, m, a, b, c in ((7, 5, 2, 3, 4), (1, 1, 1, 1, 1), (70, 50, 4, 9, 33)):
        rng = np.random.default_rng(n)
        feed = {
            "x": filled((n, m), dtype),
            "i": rng.integers(-m, m, (a, b), dtype="int32"),
            "e": np.stack([rng.permutation(min(n, m))[: min(c, n, m)] for _ in range(min(c, n))]),
            "p": rng.permutation(n)[: n // 2 + 1, None] - n,
        }
        feed["s"], feed["rows"] = filled(feed["e"].shape, dtype, 1), filled((len(feed["p"]), m), dtype, 2)
        pair.agree(feed)


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
def test_reductions(reduction: str, tmp_path: Path) -> None:
    """Equal indices; a scatter may write over a tensor that nothing else reads, and only over that."""
    pair = Pair(
        model(
            "float[n, 3] x, int64[k] i, float[k, 3] s",
            "float[n, 3] doubled, float[n, 3] over, float[n, 3] apart",
            f"""one = Constant<value_ints = [1]>()
            column = Unsqueeze(i, one)
            product = MatMul(x, square)
            over = ScatterND<reduction = "{reduction}">(product, column, s)
            second = MatMul(x, square)
            doubled = Softmax(second)
            apart = ScatterND<reduction = "{reduction}">(second, column, s)""",
            square=np.eye(3, dtype="float32") * 2,
        ),
        tmp_path,
    )
    rng = np.random.default_rng(0)
    for n, k in ((4, 9), (1, 0), (300, 5000)):
        s = rng.choice(np.array([-1, 1, 2], "float32"), (k, 3)) if reduction != "mul" else np.ones((k, 3), "float32")
        pair.agree({"x": rng.integers(0, 9, (n, 3)).astype("float32"), "i": rng.integers(-n, n, k), "s": s})


# -- errors -----------------------------------------------------------------------------------------------------------


def test_bad_calls(tmp_path: Path) -> None:
    """They are errors of the session's, which goes on."""
    workload = onnx_models.gnn_layer(8)
    pair = Pair(workload.model, tmp_path)
    good = workload.feed(10, 20)
    for name, value, says in [
        (
            "source",
            10,
            r"\(Gather\): source\[3\] = 10 is out of range for axis 0 of data \(10, 8\): valid are -10 to 9",
        ),
        ("source", -11, r"\(Gather\): source\[3\] = -11 is out of range"),
        ("target", 10, r"\(ScatterND\): target\[3\] = 10 is out of range"),
        ("target", np.iinfo("int64").min, r"\(ScatterND\): target\[3\] = -9223372036854775808 is out of range"),
    ]:
        bad = {**good, name: good[name].copy()}
        bad[name][3] = value
        with pytest.raises(Exception, match=says):
            pair.replaced.run(None, bad)
        pair.agree(good, 1e-5)
    with pytest.raises(Exception, match=r"fast_0: input weight must have shape \(e,\); got \(19,\)"):
        pair.replaced.run(None, {**good, "weight": good["weight"][:-1]})


@pytest.mark.parametrize(
    ("nodes", "options", "says"),
    [
        ("y = Abs(x)", {}, "the model has no gather or scatter of data that gscompile supports"),
        ("y = Gather(x, i)", {"kinds": ["scatter"]}, "the model has no scatter of data"),
        ("y = Gather(x, i)", {"kinds": ["pool"]}, "one or more of gather, scatter are needed; got pool"),
        ("y = Gather(x, i)", {"kinds": []}, "got none"),
        ("y = Gather(x, i)", {"path": "fast.so"}, "a path that ends in .onnx is needed"),
        ("y = Gather(x, i)", {"path": "nowhere/fast.onnx"}, "cannot write"),
        ("y = Gather(x, i)", {"cc": "no-such-compiler"}, "no C compiler 'no-such-compiler'"),
        ("y = Gather(x, i)", {"target": {"kind": "cuda", "arch": "sm_90"}}, "not made yet"),
    ],
)
def test_what_cannot_be_replaced(nodes: str, options: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / options.pop("path", "fast.onnx")
    with pytest.raises(gs.GSError, match=says):
        gs.onnx.replace(model("float[n] x, int64[k] i", "float[r] y", nodes), path, **options)
    assert not list(tmp_path.iterdir())


def test_complex_numbers_stay(tmp_path: Path) -> None:
    """ONNX Runtime has no tensors of them."""
    with pytest.raises(gs.GraphError, match="has no gather"):
        gs.onnx.replace(model("complex64[n] x, int64[k] i", "complex64[k] y", "y = Gather(x, i)"), tmp_path / "f.onnx")


def test_a_library_that_is_not_registered(tmp_path: Path) -> None:
    pair = Pair(onnx_models.gnn_layer(8).model, tmp_path)
    with pytest.raises(Exception, match="gscompile"):
        session(pair.path)


# -- threads ----------------------------------------------------------------------------------------------------------


def test_many_threads_call_one_session(tmp_path: Path) -> None:
    workload = onnx_models.gnn_layer(8)
    pair = Pair(workload.model, tmp_path, threads=2)
    feeds = [workload.feed(50 + k, 2000 + 100 * k) for k in range(8)]
    want = [pair.original.run(None, f)[0] for f in feeds]
    bad = {**feeds[0], "source": feeds[0]["source"] + 1000}

    def work(k: int) -> None:
        for j in range(20):
            f = (j + k) % 8
            np.testing.assert_allclose(pair.replaced.run(None, feeds[f])[0], want[f], 1e-4, 1e-4)
            if j % 5 == 0:
                with pytest.raises(Exception, match="out of range"):
                    pair.replaced.run(None, bad)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))


def test_the_threads_are_the_sessions(tmp_path: Path) -> None:
    """The library starts none, as a process that counts its own can tell."""
    workload = onnx_models.gnn_layer()
    Pair(workload.model, tmp_path)
    script = f"""
import os
import numpy as np
from tests.deploy.onnx_sessions import session
from benchmarks.onnx_models import gnn_layer
from pathlib import Path
fast = session(Path({str(tmp_path / "fast.onnx")!r}), Path({str(tmp_path / "fast.so")!r}), threads=2)
before = len(os.listdir("/proc/self/task"))
feed = gnn_layer().feed(2000, 50000)
for _ in range(5):
    fast.run(None, feed)
assert len(os.listdir("/proc/self/task")) == before
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=100)


def test_parallel_execution(tmp_path: Path) -> None:
    workload = onnx_models.beam_step()
    pair = Pair(workload.model, tmp_path)
    feed = workload.feed(2, 6)
    for a, b in zip(
        session(pair.path, pair.library, parallel=True).run(None, feed), pair.agree(feed, 1e-5), strict=True
    ):
        np.testing.assert_array_equal(a, b)


# -- the command line -------------------------------------------------------------------------------------------------


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, to = tmp_path / "net.onnx", tmp_path / "net fast.onnx"
    onnx.save(onnx_models.gnn_layer(8).model, path)
    given = ["compile", str(path), "--replace", "gather,scatter"]
    assert main([*given, "-o", str(to), "--prefix", "acme_"]) == 0
    said = capsys.readouterr().out
    assert "acme_net_fast_0(h, source, weight, target) -> y: Gather, Unsqueeze, Mul, ConstantOfShape" in said
    assert f"wrote {to}\nwrote {to.with_suffix('.so')}" in said
    assert session(to, to.with_suffix(".so")).get_inputs()[0].name == "x"
    loaded = gs.load(to.with_suffix(".so"))
    x = np.eye(3, 8, dtype="float32")
    got = loaded(x, np.array([0]), np.ones(1, "float32"), np.array([2]))
    assert got.shape == (3, 8)
    for more, says in ((["--name", "x"], "takes no --shape, --name, --out or --database"), ([], "--replace needs -o")):
        assert main([*given, *more, *(["-o", str(to)] if more else [])]) == 1
        assert says in capsys.readouterr().err
