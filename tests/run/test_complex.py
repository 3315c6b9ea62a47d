"""Complex numbers: movement, arithmetic, folds, scatters and calls, against NumPy and the oracle.

Parts are whole numbers, infinities, NaN and zeros of both signs, so that results are exact and compared to the bit.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.pairs import without_complex
from tests import cuda, oracle
from tests.frameworks import need
from tests.oracle import Array, assert_same
from tests.paths import Sheet

COMPLEX = ("complex64", "complex128")
TARGETS: dict[str, Callable[[gs.Builder], Any]] = {"llvm": lambda b: b.build(), "cuda": emulate}
USUAL = np.array([0.0, -0.0, 1, -1, 2, 3, -4])
UGLY = np.array([*USUAL, np.inf, -np.inf, np.nan])


def numbers(shape: Any, dtype: str, seed: int = 0, pool: Array = UGLY) -> Array:
    rng = np.random.default_rng(seed)
    out = np.empty(shape, dtype)
    out.real, out.imag = rng.choice(pool, shape), rng.choice(pool, shape)
    return out


def every_pair(dtype: str) -> tuple[Array, Array]:
    pool = [complex(a, b) for a in (0.0, -0.0, 1, -2, np.inf, np.nan) for b in (0.0, -0.0, 3, -np.inf, np.nan)]
    x, y = np.meshgrid(np.array(pool, dtype), np.array([*pool, 1e18 - 1e17j], dtype))
    return x.ravel(), y.ravel()


# -- arithmetic and movement ------------------------------------------------------------------------------------------


def test_functions_are_numpys() -> None:
    functions_are_numpys("complex64")


def test_functions_of_complex128_are_numpys() -> None:
    functions_are_numpys("complex128")


def functions_are_numpys(dtype: str) -> None:
    sheet = Sheet()
    sheet.input("x", ("n",), dtype)
    sheet.input("y", ("n",), dtype)
    sheet.input("r", ("n",), "float32")
    for name in ("add", "sub", "mul", "minimum", "maximum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and"):
        sheet.check(name, lambda b, v, name=name: getattr(b, name)(v.x, v.y))  # type: ignore[misc]
    for name in ("neg", "conj", "real", "imag", "isnan", "isinf", "isfinite", "logical_not", "square"):
        sheet.check(name, lambda b, v, name=name: getattr(b, name)(v.x))  # type: ignore[misc]
    sheet.check("real operand", lambda b, v: v.x * v.r + v.r)
    sheet.check("number", lambda b, v: v.x * (2 - 1j) - 3)
    sheet.check("where", lambda b, v: b.where(v.r > 0, v.x, v.y))
    sheet.check("to real", lambda b, v: b.cast(v.x, "float32"))
    sheet.check("to bool", lambda b, v: b.cast(v.x, "bool"))
    sheet.check("wider", lambda b, v: b.cast(v.x, "complex128"))
    sheet.check("from real", lambda b, v: b.cast(v.r, dtype))
    x, y = every_pair(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        sheet.run(x=x, y=y, r=np.random.default_rng(0).choice(UGLY, x.shape).astype("float32"))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_that_round(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.normal(size=(2, 50)) + 1j * rng.normal(size=(2, 50))).astype(dtype)
    x[:4] = [0, complex(3, -0.0), complex(-1, 0.0), complex(np.inf, 1)]
    b = gs.Builder("rounded")
    v, w = b.input("v", ("n",), dtype), b.input("w", ("n",), dtype)
    b.output(v / w, b.abs(v), b.angle(v), b.exp(w), b.log(w), b.reciprocal(w), w**v)
    with np.errstate(all="ignore"):
        wanted = [x / y, abs(x), np.angle(x), np.exp(y), np.log(y), 1 / y, y**x]
    for target in TARGETS.values():
        for got, want in zip(target(b)(x, y), wanted, strict=True):
            assert got.dtype == want.dtype
            finite = np.isfinite(x)
            np.testing.assert_allclose(got[finite], want[finite], rtol=2e-5 if dtype == "complex64" else 1e-12, atol=0)
            np.testing.assert_array_equal(np.isnan(got[:3]), np.isnan(want[:3]))


def test_a_quotient_is_numpys_also_of_infinities() -> None:
    x, y = every_pair("complex128")
    b = gs.Builder("quotient")
    b.output(b.input("x", ("n",), "complex128") / b.input("y", ("n",), "complex128"))
    with np.errstate(all="ignore"):
        want = x / y
    got = b.build()(x, y)
    # where products cancel, a fused multiply-add leaves less than the last bit of them
    for g, w in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(g, w, rtol=1e-15, atol=1e-16)


def test_movement() -> None:
    move("complex64", False)


@pytest.mark.parametrize(("dtype", "arithmetic"), [("complex64", True), ("complex128", False), ("complex128", True)])
def test_other_movement(dtype: str, arithmetic: bool) -> None:
    move(dtype, arithmetic)


def move(dtype: str, arithmetic: bool) -> None:
    """As units and as pairs: a product reads what is moved, or nothing does."""
    sheet = Sheet()
    sheet.input("x", ("n", 4, 3), dtype)
    sheet.input("y", ("n", 4, 3), dtype)
    scaled: Callable[[Any], Any] = (lambda x: x * 1j) if arithmetic else lambda x: x
    sheet.check("transpose", lambda b, v: b.transpose(scaled(v.x), [2, 0, 1]))
    sheet.check("slice", lambda b, v: scaled(v.x)[1:, ::-2, 1])
    sheet.check("reshape", lambda b, v: b.reshape(scaled(v.x), (-1, 6)))
    sheet.check("pad", lambda b, v: b.pad(scaled(v.x), [1, 0, 2], [0, 1, 0], 2 - 3j))
    sheet.check("concat", lambda b, v: b.concat([scaled(v.x), v.y], 1))
    sheet.check("stack", lambda b, v: b.stack([scaled(v.x), v.y], 3))
    sheet.check("broadcast", lambda b, v: b.broadcast_to(b.unsqueeze(scaled(v.x), 0), (2, v.n, 4, 3)))
    sheet.check("full", lambda b, v: b.full((2, 3), 1 - 1j, dtype))
    sheet.run(x=numbers((5, 4, 3), dtype), y=numbers((5, 4, 3), dtype, 1))


def test_folds() -> None:
    sheet = Sheet()
    sheet.input("x", ("n", 4, "m"), "complex64")
    for name, axis in (("sum", 0), ("sum", None), ("prod", 2), ("prod", None), ("any", 0), ("all", 2)):
        sheet.check(f"{name} {axis}", lambda b, v, name=name, axis=axis: getattr(b, name)(v.x, axis=axis))  # type: ignore[misc]
    sheet.check("max", lambda b, v: b.max(v.x, axis=1))
    sheet.check("min", lambda b, v: b.min(v.x, axis=(0, 1), keepdims=True))
    sheet.check("mean", lambda b, v: b.mean(v.x, axis=1))
    sheet.check("cumsum", lambda b, v: b.cumsum(v.x, 2))
    sheet.check("cumprod", lambda b, v: b.cumprod(v.x, 1))
    sheet.run(x=numbers((3, 4, 5), "complex64", pool=np.array([1, -1])))


def test_running_products_begin_at_either_end() -> None:
    x = numbers((3, 40), "complex128", pool=np.array([0.0, -0.0, 1, -1]))
    x[0, 0] = complex(np.inf, 1)  # the first is taken as it is: times 1 it would be NaN
    b = gs.Builder("running")
    v = b.input("v", ("n", "m"), "complex128")
    b.output(*(b.cumprod(v, 1, exclusive=e, reverse=r) for e in (False, True) for r in (False, True)))
    for target in TARGETS.values():
        wanted = (oracle.scan_ref(x, 1, "mul", None, e, r) for e in (False, True) for r in (False, True))
        for got, want in zip(target(b)(x), wanted, strict=True):
            assert_same(got, want)


def test_runs_of_rows() -> None:
    x = numbers((7, 2), "complex64", pool=USUAL[2:])
    b = gs.Builder("runs")
    v, ends = b.input("v", ("n", 2), "complex64"), b.input("ends", (4,), "int64")
    for how in ("sum", "prod", "max"):
        b.output(b.segment_reduce(v, ends, how, empty=1 - 2j))
    cuts = [0, 3, 3, 7]
    for how, got in zip(("sum", "prod", "max"), b.build()(x, cuts), strict=True):
        want = np.full((3, 2), 1 - 2j, "complex64")
        for k in (0, 2):
            want[k] = getattr(np, how)(x[cuts[k] : cuts[k + 1]], 0)
        assert_same(got, want)


# -- gathers and scatters ---------------------------------------------------------------------------------------------

GATHERS: dict[str, tuple[Any, ...]] = {  # builder's method -> arguments, the oracle's map, extents of the index
    "take": ((1,), functools.partial(oracle.take_map, axis=1), (6,)),
    "gather": ((0,), functools.partial(oracle.element_map, dim=0), (6, 3)),
    "gather_nd": ((), oracle.nd_map, (6, 2)),
}
SCATTERS = {"take": "put", "gather": "scatter", "gather_nd": "scatter_nd"}


def test_gathers() -> None:
    gather("complex64", "llvm")


@pytest.mark.parametrize(("dtype", "target"), [("complex64", "cuda"), ("complex128", "llvm"), ("complex128", "cuda")])
def test_other_gathers(dtype: str, target: str) -> None:
    gather(dtype, target)


def gather(dtype: str, target: str) -> None:
    x, rng = numbers((4, 3), dtype), np.random.default_rng(1)
    b = gs.Builder("gathers")
    v, wanted, indices = b.input("v", ("n", 3), dtype), [], []
    for method, (args, through, shape) in GATHERS.items():
        for bounds in ("raise", "clip", "wrap", "fill"):
            for scaled in (False, True):
                low, high = (-3, 3) if bounds == "raise" else (-6, 6)
                index = rng.integers(low, high, shape)
                i = b.input(f"i{len(indices)}", shape, "int64")
                found = getattr(b, method)(v * 1j if scaled else v, i, *args, bounds=bounds, fill=complex(-1, np.inf))
                b.output(found)
                indices.append(index)
                with np.errstate(all="ignore"):
                    data = x * np.asarray(1j, dtype) if scaled else x
                wanted.append(oracle.gather_ref(data, index, through(x.shape, shape), bounds, fill=complex(-1, np.inf)))
    for got, want in zip(TARGETS[target](b)(x, *indices), wanted, strict=True):
        assert_same(got, want)


SOME_SCATTERS = [("complex64", "llvm", True), ("complex64", "cuda", False)]
OTHER_SCATTERS = {(d, t, s) for d in COMPLEX for t in TARGETS for s in (True, False)} - {*SOME_SCATTERS}


@pytest.mark.parametrize(("dtype", "target", "include_self"), SOME_SCATTERS)
def test_scatters(dtype: str, target: str, include_self: bool) -> None:
    scatter(dtype, target, include_self)


@pytest.mark.parametrize(("dtype", "target", "include_self"), sorted(OTHER_SCATTERS))
def test_other_scatters(dtype: str, target: str, include_self: bool) -> None:
    scatter(dtype, target, include_self)


def scatter(dtype: str, target: str, include_self: bool) -> None:
    x, rng = numbers((4, 3), dtype), np.random.default_rng(2)
    b = gs.Builder("scatters")
    v, wanted, arrays = b.input("v", ("n", 3), dtype), [], []
    policies = ["raise", "clip", "wrap", "fill"]
    for m, (method, (args, through, shape)) in enumerate(GATHERS.items()):
        for r, reduction in enumerate(oracle.reductions_of(dtype)):
            bounds = policies[(m + r) % 4]
            low, high = (-3, 3) if bounds == "raise" else (-6, 6)
            index = rng.integers(low, high, shape)
            map = through(x.shape, shape)
            src = numbers(map.points_shape(shape), dtype, m + r)
            i, s = b.input(f"i{len(arrays)}", shape, "int64"), b.input(f"s{len(arrays)}", src.shape, dtype)
            options = {"reduction": reduction, "include_self": include_self, "bounds": bounds}
            b.output(getattr(b, SCATTERS[method])(v, i, s, *args, **options))
            arrays += [index, src]
            wanted.append(oracle.scatter_ref(x, index, src, map, **options))
    for got, want in zip(TARGETS[target](b)(x, *arrays), wanted, strict=True):
        assert_same(got, want)


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_the_same_for_any_number_of_threads(reduction: str) -> None:
    rng = np.random.default_rng(0)
    x, s = ((rng.normal(size=(n, 8)) + 1j * rng.normal(size=(n, 8))).astype("complex64") for n in (50, 20000))
    i = rng.integers(0, 50, 20000)
    b = gs.Builder("many")
    v, at, src = (
        b.input("v", ("n", 8), "complex64"),
        b.input("at", ("k",), "int64"),
        b.input("src", ("k", 8), "complex64"),
    )
    b.output(b.put(v, at, src / b.cast(b.abs(src), "complex64"), reduction=reduction))
    m, before = b.build(), gs.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            gs.set_num_threads(threads)
            results.append(m(x, i, s).tobytes())
    finally:
        gs.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("reduction", ["update", "add", "mul"])
def test_in_place(reduction: str) -> None:
    x, s, i = numbers((6, 5), "complex64"), numbers((4, 5), "complex64", 1), np.array([3, 0, 3, -1])
    b = gs.Builder("place")
    v, at, src = (
        b.input("v", ("n", 5), "complex64"),
        b.input("at", ("k",), "int64"),
        b.input("src", ("k", 5), "complex64"),
    )
    b.output(b.put(v, at, src, reduction=reduction))
    want = oracle.scatter_ref(x, i, s, oracle.take_map(x.shape, i.shape, 0), reduction)
    m = b.build()
    for _ in range(3):
        data = x.copy()
        assert m(data, i, s, out=data) is data
        assert_same(data, want)


def test_an_index_out_of_range() -> None:
    b = gs.Builder("rows")
    v, at = b.input("v", ("n", 5), "complex128"), b.input("at", ("k",), "int64")
    b.output(b.take(v, at) * 1j)
    with pytest.raises(gs.BoundsError, match=r"at\[1\] = 7 is out of range for axis 0 of data \(6, 5\)"):
        b.build()(numbers((6, 5), "complex128"), [0, 7])


# -- what is computed -------------------------------------------------------------------------------------------------


def test_complex64_that_is_only_moved_is_an_integer() -> None:
    b = gs.Builder("moved")
    v, i = b.input("v", ("n",), "complex64"), b.input("i", ("k",), "int64")
    moved, other = b.take(v, i), b.input("other", ("n",), "complex64")
    b.output(b.pad(moved, [1], [0], 1j), other * 2)
    real = {v.name: v.dtype.name for v in without_complex(b.graph()).graph.values}
    assert real["v"] == real[moved.name] == "uint64"
    assert real["other"] == "float32"


def test_a_graph_without_complex_values_stays_as_it_is() -> None:
    b = gs.Builder("real")
    b.output(b.input("x", (3,), "float32") + 1)
    graph = b.graph()
    assert without_complex(graph).graph is graph


@pytest.mark.parametrize("name", ["floor", "sign", "tanh", "relu", "floordiv", "mod", "bitwise_and"])
def test_what_is_not_defined_says_so(name: str) -> None:
    b = gs.Builder("refused")
    x = b.input("x", (3,), "complex64")
    with pytest.raises(gs.DTypeError, match=f"{name} is not defined for .*complex64"):
        b.pointwise(name, *([x] if name in ("floor", "sign", "tanh", "relu") else [x, x]))
    with pytest.raises(gs.DTypeError, match="argmax"):
        b.argmax(x)
    with pytest.raises(gs.DTypeError, match="'xor' is not defined for complex64"):
        b.put(x, [0], [1j], reduction="xor")
    with pytest.raises(gs.DTypeError, match=r"1j does not fit float32"):
        b.full((2,), 1j, "float32")


# -- arrays -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows() -> Any:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", 5), "complex64"), b.input("i", ("k",), "int64")))
    return b.build()


def test_numpy_arrays(rows: Any) -> None:
    x, i = numbers((7, 5), "complex64"), np.array([0, -1, 3])
    apart = np.empty(7 * 5 * 8 + 4, np.uint8)[4:].view("complex64").reshape(7, 5)  # aligned as two floats only
    apart[...] = x
    for given in (x, x, apart, np.asfortranarray(x), x, apart):
        assert_same(rows(given, i), x[i])
    assert_same(rows([[1 + 2j, 2, 3, 4.5, True]], [0]), np.array([[1 + 2j, 2, 3, 4.5, 1]], "complex64"))


def test_torch_tensors_that_are_lazily_conjugated(rows: Any) -> None:
    torch = need("torch")
    x, i = torch.from_numpy(numbers((7, 5), "complex64")), torch.tensor([0, -1, 3])
    for given in (x, x, x.conj(), x, x.conj(), x.conj().resolve_conj()):
        got = rows(given, i)
        assert got.dtype == torch.complex64
        assert_same(got.resolve_conj().numpy(), given.resolve_conj().numpy()[[0, -1, 3]])
    out = torch.empty(3, 5, dtype=torch.complex64).conj()
    assert rows(x, i, out=out) is out
    assert_same(out.resolve_conj().numpy(), x.numpy()[[0, -1, 3]])
    with pytest.raises(gs.ArgumentError, match="x would be copied"):
        rows.bind(x.conj(), i)


def test_jax_arrays(rows: Any) -> None:
    jax = need("jax")
    x = numbers((7, 5), "complex64")
    for _ in range(3):
        got = rows(jax.numpy.asarray(x), np.array([0, -1, 3]))
        assert isinstance(got, jax.Array)
        assert_same(np.asarray(got), x[[0, -1, 3]])


@pytest.mark.skipif(cuda.cpu_compiler() is not None, reason=str(cuda.cpu_compiler()))
def test_the_cuda_text(tmp_path: Path) -> None:
    """What nvcc is given, compiled for this CPU."""
    builders = []
    for dtype in COMPLEX:
        b = gs.Builder(f"text_of_{dtype}")
        v, at, s = b.input("v", ("n", 3), dtype), b.input("at", ("k",), "int64"), b.input("s", ("k", 3), dtype)
        b.output(*(b.put(v, at, s, reduction=r) for r in oracle.reductions_of(dtype)))
        b.output(b.put(v, at, s, reduction="mul", include_self=False))
        b.output(b.take(v, at), b.take(v * 1j, at, bounds="fill", fill=1 - 2j))
        b.output(
            b.exp(v), v / s[0], b.sum(v, 1), b.prod(v, 0), b.cumprod(v, 0), b.cumsum(v, 1), b.abs(v), v**2, v == s[1]
        )
        builders.append(b)
    for dtype, b, (m, _) in zip(COMPLEX, builders, cuda.on_cpu(builders, tmp_path), strict=True):
        arrays = numbers((5, 3), dtype, pool=USUAL), np.array([0, 1, -1, 4, 4, 0, 2]), numbers((7, 3), dtype, 1, USUAL)
        for got, want in zip(m(*arrays), b.build()(*arrays), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)
