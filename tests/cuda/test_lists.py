"""Scatters in row-major order by lists of points on cuda: bit for bit those of plain loops, whatever the order of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.dialects import xla
from gscompile.ir.ops.reductions import variant
from gscompile.schedules.cuda import lists
from tests.cuda import cpu_compiler, on_cpu
from tests.cuda.counters import counted
from tests.oracle import Array

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))

SEEDS = 3
RNG = np.random.default_rng(7)


def floats(dtype: str, *shape: int) -> Array:
    """Of different sizes, so that another order gives another sum."""
    return (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-2, 3, shape)).astype(dtype)


def put(*row: int, axis: int = 0, sizes: tuple[Any, Any] = ("n", "k"), dtype: str = "float32", **options: Any) -> Any:
    n, k = sizes
    given = {"reduction": "add", "deterministic": True} | options

    def declare(b: gs.Builder) -> gs.Value:
        x = b.input("x", (*row[:axis], n, *row[axis:]), dtype)
        v = b.input("v", (*row[:axis], k, *row[axis:]), dtype)
        return b.put(x, b.input("i", (k,), "int64"), v, axis, **given)

    def arrays(n: int = 50, k: int = 3000) -> dict[str, Array]:
        return {
            "x": floats(dtype, *row[:axis], n, *row[axis:]),
            "i": RNG.zipf(1.3, k) % n - n // 2 * RNG.integers(0, 2, k),
            "v": floats(dtype, *row[:axis], k, *row[axis:]),
        }

    return declare, arrays


def elements(axis: int, *shape: int) -> Any:
    """Each point has a position of its own on the other axis."""

    def declare(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", ("n", "m"), "float64"), b.input("i", shape, "int64")
        return b.scatter(x, i, b.input("v", shape, "float64"), axis, reduction="add", deterministic=True)

    def arrays() -> dict[str, Array]:
        extents = [30 if a == axis else d for a, d in enumerate(shape)]
        return {"x": floats("float64", *extents), "i": RNG.integers(-30, 30, shape), "v": floats("float64", *shape)}

    return declare, arrays


def blocks() -> Any:
    def declare(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", ("n", 5, 8), "float16"), b.input("i", ("k", 2), "int64")
        v = b.input("v", ("k", 8), "float16")
        return b.scatter_nd(x, i, v, reduction="mean", deterministic=True, include_self=False)

    def arrays() -> dict[str, Array]:
        i = np.stack([RNG.integers(-40, 40, 900), RNG.integers(-5, 5, 900)], 1)
        return {"x": floats("float16", 40, 5, 8), "i": i, "v": floats("float16", 900, 8)}

    return declare, arrays


def positions() -> Any:
    def declare(b: gs.Builder) -> tuple[gs.Value, ...]:
        x, i = b.input("x", ("n", 5), "float32"), b.input("i", ("k",), "int64")
        return b.put(x, i, b.input("v", ("k", 5), "float32"), reduction="argmax", include_self=False)

    def arrays() -> dict[str, Array]:
        given = put(5)[1]()
        return given | {"v": RNG.integers(-3, 4, given["v"].shape).astype("float32")}

    return declare, arrays


def products() -> Any:
    """Of complex numbers, which are pairs of tensors."""

    def declare(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", ("n",), "complex64"), b.input("i", ("k",), "int64")
        return b.put(x, i, b.input("v", ("k",), "complex64"), reduction="mul")

    def arrays() -> dict[str, Array]:
        v = 1j ** RNG.integers(0, 4, 3000)  # nothing is rounded: LLVM may contract a * b - c * d
        return {"x": np.ones(50, "complex64"), "i": RNG.zipf(1.3, 3000) % 50, "v": v.astype("complex64")}

    return declare, arrays


def scalars() -> Any:
    """All points hit the one cell of a tensor without axes."""

    def declare(b: gs.Builder) -> gs.Value:
        x, i = b.input("x", (), "float32"), b.input("i", ("k", 0), "int64")
        return b.scatter_nd(x, i, b.input("v", ("k",), "float32"), reduction="add", deterministic=True)

    def arrays() -> dict[str, Array]:
        return {"x": floats("float32"), "i": np.zeros((700, 0), "int64"), "v": floats("float32", 700)}

    return declare, arrays


def several(dtypes: list[str]) -> Any:
    """By a function of one's own, of tensors of some dtypes."""
    rows = {"update_window_dims": [], "inserted_window_dims": [0], "input_batching_dims": []}
    rows |= {"scatter_indices_batching_dims": [], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1}  # type: ignore[dict-item]

    def function(*values: gs.Value) -> list[gs.Value]:
        old, new = values[: len(dtypes)], values[len(dtypes) :]
        differ = old[0] != new[0]
        return [differ, *(a * 3 + c + differ for a, c in zip(old[1:], new[1:], strict=True))]

    def declare(b: gs.Builder) -> Any:
        x = [b.input(f"x{k}", ("n",), d) for k, d in enumerate(dtypes)]
        v = [b.input(f"v{k}", ("k",), d) for k, d in enumerate(dtypes)]
        return xla.scatter(x, b.input("i", ("k", 1), "int64"), v, **rows, update_computation=function)

    def arrays() -> dict[str, Array]:
        given = {"i": RNG.integers(0, 40, (900, 1))}
        for k, d in enumerate(dtypes):
            given |= {f"x{k}": RNG.integers(0, 2, 40).astype(d), f"v{k}": RNG.integers(0, 2, 900).astype(d)}
        return given

    return declare, arrays


def computed() -> Any:
    """By a function of one's own, of two tensors."""
    rows = {
        "update_window_dims": [1],
        "inserted_window_dims": [0],
        "input_batching_dims": [],
        "scatter_indices_batching_dims": [],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
    }

    def declare(b: gs.Builder) -> Any:
        x, m = b.input("x", ("n", 3), "float16"), b.input("m", ("n", 3), "int32")
        v, w = b.input("v", ("k", 3), "float16"), b.input("w", ("k", 3), "int32")
        i = b.input("i", ("k", 1), "int64")
        return xla.scatter(
            [x, m], i, [v, w], **rows, update_computation=lambda a, c, b, d: (a * 0.5 + b, c * 3 + d + (a > b))
        )

    def arrays() -> dict[str, Array]:
        given = put(3, dtype="float16")[1]()
        m, w = (RNG.integers(0, 9, given[name].shape).astype("int32") for name in ("x", "v"))
        return given | {"m": m, "w": w, "i": given["i"][:, None]}

    return declare, arrays


CASES: dict[str, tuple[Callable[[gs.Builder], Any], Callable[[], dict[str, Array]]]] = {
    "rows": put(64),
    "rows of known sizes": put(64, sizes=(50, 3000)),
    "wide rows": put(5, 52),
    "odd rows": put(3),
    "rows of any width": put("w"),  # type: ignore[arg-type]
    "elements": put(dtype="float16", bounds="fill", reduction="mul"),
    "rounded at every step": put(64, dtype="float16", reduction=variant("add", stepwise=True)),
    "means": put(12, reduction="mean", include_self=False),
    "differences": put(4, reduction="sub", include_self=False),
    "columns": put(6, axis=1),
    "along the first axis": elements(0, 700, 6),
    "along the last axis": elements(1, 30, 50),
    "blocks": blocks(),
    "positions": positions(),
    "products": products(),
    "by a function": computed(),
    "narrow": several(["bool", "int8"]),
    "as many as there is room for": several(["bool", *["int64"] * 5]),
    "a tensor without axes": scalars(),
}


def given_to(name: str) -> dict[str, Array]:
    if name == "rows of any width":
        return put(37)[1]()  # type: ignore[no-any-return]
    return CASES[name][1]()


def modules(name: str, folder: Path) -> tuple[Any, gs.Module]:
    """The kernels, on the CPU, and what the CPU's own schedule makes."""
    both = []
    for label in ("listed", "wanted"):
        b = gs.Builder(label)
        results = CASES[name][0](b)
        b.output(*(results if isinstance(results, tuple | list) else (results,)))
        both.append(b)
    ((m, _),) = on_cpu([both[0]], folder)
    assert "listed" in {rule for _, rule in m.stats.kernels}
    return m, both[1].build("llvm")


# lists that a block makes and folds; that a point finds its place in and a thread folds; or as many as a block folds
LENGTHS = [*((name, long, ranked) for name in CASES for long, ranked in [(3, 3), (256, 1024)])]
LENGTHS += [(name, 3, 50) for name in ("rows", "columns", "positions")]


@pytest.mark.parametrize(("name", "long", "ranked"), LENGTHS)
def test_points_are_taken_in_order(
    name: str, long: int, ranked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "LONG_LIST", long)
    monkeypatch.setattr(lists, "RANKED_LIST", ranked)
    m, reference = modules(name, tmp_path)
    for seed in range(SEEDS):
        given = given_to(name)
        m.seed = seed
        got, want = m(**given), reference(**given)
        for x, y in zip(got, want, strict=True) if isinstance(got, tuple | list) else [(got, want)]:
            np.testing.assert_array_equal(x, y)


def by_loops(x: Array, i: Array, v: Array) -> Array:
    out = x.copy()
    for p, row in enumerate(i):
        out[row] += v[p]
    return out


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return modules("rows", tmp_path_factory.mktemp("sums"))[0]


def sized(n: int, k: int, index: Array | None = None) -> dict[str, Array]:
    given = put(64)[1](n, k)
    return given if index is None else given | {"i": index}


ROWS = {
    "none": sized(5, 0),
    "one": sized(1, 1),
    "a few": sized(700, 40),
    "no row of the table": sized(3000, 2000),
    "all in one": sized(9, 10_000, np.full(10_000, -1)),
    "long and short lists": sized(40, 20_000, np.minimum(RNG.integers(-40, 40, 20_000), -30)),
    "few of many slices": sized(2000, 7),
    "in order": sized(300, 2000, np.sort(RNG.integers(0, 300, 2000))),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_plain_loops(name: str, sums: Any) -> None:
    given = ROWS[name]
    for seed in range(SEEDS):
        sums.seed = seed
        np.testing.assert_array_equal(sums(**given), by_loops(**given))


def test_it_works_in_place(tmp_path: Path) -> None:
    declare, arrays = put(64)
    b = gs.Builder("inplace")
    b.output(declare(b))
    ((m, _),) = on_cpu([b], tmp_path)
    given = arrays(300, 2000)
    want = by_loops(**given)
    m(**given, out=given["x"])
    np.testing.assert_array_equal(given["x"], want)


@pytest.mark.parametrize("value", [50, -51, np.iinfo("int64").min, np.iinfo("int64").max])
def test_the_first_bad_index_is_named(value: int, sums: Any) -> None:
    given = sized(50, 3000)
    given["i"][[17, 2000]] = value, 50
    with pytest.raises(gs.BoundsError) as e:
        sums(**given)
    assert (e.value.tensor, e.value.position, e.value.value) == ("i", (17,), value)


def test_more_tensors_than_there_is_room_for_are_taken_one_by_one() -> None:
    b = gs.Builder("more")
    b.output(*several(["bool", *["int64"] * 6])[0](b))
    assert {rule for _, rule in b.build("cuda").stats.kernels} == {"ordered"}


def test_few_points_are_looked_at_by_each_thread(tmp_path: Path) -> None:
    declare, _ = put(8, sizes=(50, 200))
    b = gs.Builder("few")
    b.output(declare(b))
    ((m, _),) = on_cpu([b], tmp_path)
    assert {rule for _, rule in m.stats.kernels} == {"ordered"}


def test_each_row_is_read_once(sums: Any) -> None:
    """By 16 bytes, of short lists and of long ones."""
    given = sized(900, 8000)
    given["i"] = RNG.permutation(np.r_[np.arange(6000) % 900, np.full(2000, 7)])
    sums.seed = 0
    with counted() as found:
        sums(**given)
    reads = [s for a in found for s in a.sites if s.buffer == "v_ptr" and s.access == "read" and s.lanes]
    assert {s.size for s in reads} == {16} and sum(s.lanes for s in reads) * 16 == given["v"].nbytes
    assert all(s.used > 0.99 for s in reads)


def test_one_kernel_reads_indices(sums: Any) -> None:
    """So what kernels go by does not change between them, even if indices do."""
    given = sized(900, 8000)
    sums.seed = 0
    with counted() as found:
        sums(**given)
    assert len(found) > 5 and sum(any(s.buffer == "i_ptr" for s in a.sites) for a in found) == 1
