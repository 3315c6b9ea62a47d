"""Arrays to measure on: of the distribution that was asked for, and in range whatever the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.tuning.indices import arrays, index_inputs, sizes_of, specs_of
from tests.tuning import graphs

ROWS = 97


def drawn(spec: Any, points: int = 5000, dtype: str = "int64") -> Any:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", (ROWS, 2), "float32"), b.input("i", (points,), dtype)))
    g = b.graph()
    x, i = arrays(g, specs_of(g, spec), {})
    assert x.shape == (ROWS, 2) and i.shape == (points,) and i.dtype == dtype
    assert i.min() >= 0 and i.max() < ROWS
    return i


def test_distributions() -> None:
    assert len(set(drawn("uniform"))) == ROWS
    counts = np.sort(np.bincount(drawn("zipf:1.5"), minlength=ROWS))[::-1]
    assert counts[0] > 10 * max(counts[40], 1)
    assert (np.diff(drawn("sorted")) >= 0).all()
    assert np.bincount(drawn("permutation", ROWS)).tolist() == [1] * ROWS
    assert len(set(drawn("constant"))) == 1
    steps = np.diff(drawn("blocked:8"))
    assert (steps[[k for k in range(len(steps)) if k % 8 != 7]] == 1).all() and len(set(steps[7::8])) > 20
    runs = drawn("runs:32")
    assert all(len(set(runs[k : k + 32])) == 1 for k in range(0, 4096, 32)) and len(set(runs)) > 40


@pytest.mark.parametrize("name", graphs.ALL)
@pytest.mark.parametrize("spec", ["uniform", "zipf:1.1", "sorted", "permutation", "blocked:64", "constant", "runs:32"])
def test_every_graph_can_be_called(name: str, spec: str) -> None:
    g = graphs.ALL[name]().graph()
    sizes = {n: graphs.SIZES[n] for n in g.symbols}
    given = dict(zip([v.name for v in g.inputs], arrays(g, specs_of(g, spec), sizes), strict=True))
    known = index_inputs(g)
    assert known
    for input_name, index in known.items():
        (limit,) = index.limits
        at = given[input_name]
        assert at.min() >= 0 and at.max() < (limit if isinstance(limit, int) else sizes[str(limit)])


def test_offsets_of_rows_that_are_expanded() -> None:
    b = gs.Builder("expanded")
    b.output(b.segment_expand(b.input("x", (8,), "float32"), b.input("o", (9,), "int64"), 50))
    g = b.graph()
    given = dict(zip([v.name for v in g.inputs], arrays(g, specs_of(g, "uniform"), {}), strict=True))
    assert b.build()(**given).shape == (50,)


def test_index_vectors_moved_indices_and_offsets() -> None:
    b = gs.Builder("many")
    x = b.input("x", (5, 70, 3), "float32")
    i = b.input("i", (400, 2), "int32")  # of axes of 5 and 70
    j = b.input("j", (20, 6), "int64")  # transposed, and of two tables
    o = b.input("o", (9,), "int64")
    t = b.transpose(j, [1, 0])
    picked = b.take(b.input("y", (11, 2), "float32"), t)
    b.output(b.gather_nd(x, i), picked, b.take(b.input("z", (7, 2), "float32"), t))
    b.output(b.segment_reduce(b.input("s", (50, 2), "float32"), o))
    g = b.graph()
    assert list(index_inputs(g)) == ["i", "j", "o"]
    for seed in range(3):
        given = dict(zip([v.name for v in g.inputs], arrays(g, specs_of(g, "uniform"), {}, seed), strict=True))
        assert given["i"].max(0).tolist() == [4, 69] and given["i"].min() == 0
        assert given["j"].max() == 6
        assert given["o"][0] == 0 and given["o"][-1] == 50 and (np.diff(given["o"]) >= 0).all()
        b.build()(**given)
    vectors = dict(zip([v.name for v in g.inputs], arrays(g, specs_of(g, "sorted"), {}), strict=True))["i"]
    assert (np.diff(vectors[:, 0] * 70 + vectors[:, 1]) >= 0).all()


def test_given_arrays_and_files(tmp_path: Path) -> None:
    own = np.arange(50) % ROWS
    np.save(tmp_path / "i.npy", own)
    np.savez(tmp_path / "i.npz", other=own * 0, mine=own)
    for spec in (own, tmp_path / "i.npy", str(tmp_path / "i.npy"), f"{tmp_path / 'i.npz'}:mine"):
        assert np.array_equal(drawn({"i": spec}, 50), own)
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads .parquet files")
    import pyarrow

    parquet.write_table(pyarrow.table({"a": own * 0, "b": own}), tmp_path / "i.parquet")
    assert np.array_equal(drawn({"i": f"{tmp_path / 'i.parquet'}:b"}, 50), own)
    gaps = pyarrow.array([None, *own[1:].tolist()])
    parquet.write_table(pyarrow.table({"g": gaps}), tmp_path / "gaps.parquet")
    for spec, message in (
        ("i.npz", r"has the arrays other, mine: FILE:ARRAY says which"),
        ("i.npz:b", r"has the arrays other, mine"),
        ("i.parquet:c", r"has the columns a, b: FILE:COLUMN says which$"),
        ("gaps.parquet", r"1 of 50 rows have no value"),
        ("torn.npz", r"cannot be read: "),
        ("gone.npy", r"cannot be read: No such file or directory$"),
    ):
        (tmp_path / "torn.npz").write_bytes((tmp_path / "i.npz").read_bytes()[:300])
        with pytest.raises(gs.ArgumentError, match=message):
            drawn({"i": str(tmp_path / spec)}, 50)


def test_sizes_come_from_arrays_too() -> None:
    g = graphs.symbolic().graph()
    specs = specs_of(g, {"i": np.arange(77)})
    assert sizes_of(g, {"n": 100}, specs) == {"e": 77, "n": 100}
    with pytest.raises(gs.ArgumentError, match="needs a number for n"):
        sizes_of(g, None, specs)
    with pytest.raises(gs.ArgumentError, match="has no size 'k'; it has"):
        sizes_of(g, {"k": 3}, specs)
    with pytest.raises(gs.ArgumentError, match="not negative; got -1"):
        sizes_of(g, {"n": -1}, specs)


@pytest.mark.parametrize(
    "spec,message",
    [
        ("zipf", "no distribution 'zipf'; known: uniform"),
        ("zipf:0", "no distribution"),
        ("blocked:x", "no distribution"),
        ("uniform:2", "no distribution"),
        (3, "a distribution, or a dict"),
        ({"x": "uniform"}, "no input 'x' of rows indexes another; there are i"),
        ({"i": "gone.npy"}, "gone.npy: cannot be read"),
        ({"i": np.zeros(5000)}, "integers or a distribution is needed; got float64"),
        ({"i": np.zeros(3, int)}, r"has the shape \(5000,\); got an array of \(3,\)"),
        ({"i": np.full(5000, ROWS)}, "values from 97 to 97, for an axis of 97"),
        ({"i": np.full(5000, -ROWS - 1)}, "values from -98"),
    ],
)
def test_mistakes(spec: Any, message: str) -> None:
    with pytest.raises(gs.ArgumentError, match=message):
        drawn(spec)
