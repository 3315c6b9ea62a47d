"""The operators as tensor expressions, compiled by plain TVM, against the oracle; and the reference lowering of graphs.

A tensor expression cannot raise: under ``bounds="raise"`` a gather clamps, a scatter drops the point, and ``first_invalid``
tells.  On an axis without a valid position a gather gives 0 whatever the policy, and a scatter drops the point.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import HealthCheck, given, settings
from tvm import te

import gscompile as gs
import gscompile.te as gte
from gscompile.compiler.linked import Linked
from gscompile.emulation import emulate
from gscompile.ir.ops.reductions import REDUCTIONS
from gscompile.runtime import arrays
from tests import oracle, paths
from tests.cases import (
    DTYPES,
    GATHERS,
    INDEX_DTYPES,
    SCATTERS,
    Case,
    cases,
    index_palette,
    numpy_dtype,
    random_data,
    to_gs_map,
)
from tests.oracle import Array, assert_same

NONE = (1 << 63) - 1  # first_invalid: every index is valid


class TeOps:
    """The part of a builder that :meth:`tests.cases.Case.build` uses, with placeholders for inputs."""

    def __init__(self) -> None:
        self.sizes: dict[str, Any] = {}
        self.inputs: dict[str, Any] = {}

    def input(self, name: str, shape: Sequence[int | str], dtype: str) -> Any:
        if name in self.inputs:
            return self.inputs[name]
        extents = [self.sizes.setdefault(d, te.var(d, "int64")) if isinstance(d, str) else d for d in shape]
        self.inputs[name] = te.placeholder(extents, dtype, name)
        return self.inputs[name]

    def __getattr__(self, op: str) -> Any:
        return getattr(gte, op)


def tensor(a: Array) -> Any:
    """A TVM tensor with an array's content, bfloat16 as TVM's own."""
    t = tvm.runtime.empty(a.shape, a.dtype.name)
    a = np.ascontiguousarray(a)
    ctypes.memmove(arrays.view(t).ptr, a.ctypes.data, a.nbytes)
    return t


def array(t: Any) -> Array:
    v = arrays.view(t)
    count = int(np.prod(v.shape))
    return np.frombuffer(ctypes.string_at(v.ptr, count * v.dtype.itemsize), v.dtype.numpy).reshape(v.shape)


def program(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[..., list[Array]]:
    """A TE program as TVM compiles it, but for LLVM's optimiser; called with the inputs and with the shapes of the outputs."""
    function = Linked(tvm.compile(te.create_prim_func([*inputs, *outputs]), target=paths.UNOPTIMISED))["main"]

    def call(given: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        tensors = [tensor(a) for a in given]
        results = [
            tensor(np.full(s, 77, numpy_dtype(str(o.dtype)))) for s, o in zip(shapes, outputs, strict=True)
        ]  # not zeros: every element must be written
        function(*tensors, *results)
        for a, t in zip(given, tensors, strict=True):
            assert array(t).tobytes() == a.tobytes(), "an input has changed"
        return [array(t) for t in results]

    return call


def expected(case: Case) -> Array:
    """The oracle's result where it has one, otherwise what the module's text says."""
    try:
        return case.expected()
    except oracle.OracleIndexError as error:
        if case.is_scatter:
            return replace(case, bounds="fill").expected()
        if error.valid is None:
            return np.zeros(case.map.points_shape(case.index.shape), case.data.dtype)
        return replace(case, bounds="clip").expected()


def first_bad(case: Case) -> int:
    """The row-major position of the first index out of range."""
    try:
        oracle.all_starts(case.data.shape, case.index, case.map, "raise", case.negative)
    except oracle.OracleIndexError as error:
        return int(np.ravel_multi_index(error.position, case.index.shape)) if case.index.ndim else 0
    return NONE


def check(*same_inputs: Case) -> None:
    """Calls of one operator that differ in policy, reduction, ... but not in inputs, in one function, and first_invalid."""
    case = same_inputs[0]
    ops = TeOps()
    try:
        outputs = [c.build(ops) for c in same_inputs]
    except gs.BoundsError:
        # refused at once: an axis that is empty by its declared shape
        assert any(case.shape("data")[a] == 0 for a, s in enumerate(case.map.sources) if s[0] == "indexed")
        return
    inputs = [ops.inputs[n] for n in ("data", "index", "src") if n in ops.inputs]
    whole = {w for w, a in case._whole().items() if ("data", a) in case.symbols}
    map = to_gs_map(case.map, frozenset(whole))
    outputs.append(gte.first_invalid(ops.inputs["data"], ops.inputs["index"], map, negative=case.negative))
    wanted = [*(expected(c) for c in same_inputs), np.asarray(first_bad(case))]
    got = program(inputs, outputs)(case.arrays, [w.shape for w in wanted])
    for g, w, c in zip(got, wanted, [*same_inputs, case], strict=True):
        assert_same(g, w, signed_zero=exact_zero(c))


def exact_zero(case: Case) -> bool:
    """Which of 0.0 and -0.0 is larger is nobody's business."""
    return case.reduction not in ("min", "max")


@pytest.mark.parametrize("op", [*GATHERS, *SCATTERS])
def test_random_calls(op: str) -> None:
    """Any shapes, symbolic or not, any dtypes, policies, reductions and indices."""

    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(cases(op))
    def run(case: Case) -> None:
        check(case)

    run()


# -- grids: what random draws may miss --------------------------------------------------------------------------------


def put_case(dtype: str = "float32", index: Any = None, **options: Any) -> Case:
    """Rows of src onto rows of data, with every row's place ugly or met twice; both sizes symbolic."""
    rng = np.random.default_rng(5)
    if index is None:
        good, bad = index_palette(5, 1, "int64", True)
        index = np.array([*good, *bad, *good])
    data = random_data(rng, (5, 3), dtype)
    return Case(
        op="put",
        args={"axis": 0, "batch_dims": 0},
        map=oracle.take_map(data.shape, index.shape, 0),
        data_dtype=dtype,
        index_dtype=index.dtype.name,
        data=data,
        index=index,
        src=random_data(rng, (len(index), 3), dtype),
        symbols=frozenset({("data", 0), ("index", 0)}),
        **options,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reduction_with_every_policy(dtype: str) -> None:
    reductions = oracle.reductions_of(dtype)
    for bounds in ("raise", "clip", "wrap", "fill"):
        if bounds != "fill" and dtype not in ("float32", "bfloat16"):
            continue  # how an index is read has nothing to do with data's dtype
        check(*(put_case(dtype, bounds=bounds, reduction=r, include_self=s) for r in reductions for s in (True, False)))
    promised = put_case(dtype, np.array([4, 0, -3]), bounds="trust")
    check(*(replace(promised, reduction=r, unique=True) for r in reductions))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gather_under_every_policy(dtype: str) -> None:
    scatter = put_case(dtype)
    case = replace(scatter, op="take", src=None)
    fill = True if dtype == "bool" else 7
    check(*(replace(case, bounds=b, negative=True, fill=fill) for b in ("raise", "clip", "wrap", "fill")))
    check(*(replace(case, bounds=b, negative=False, fill=fill) for b in ("raise", "clip", "wrap", "fill")))
    check(replace(case, index=np.array([4, 0, -5, 4]), bounds="trust"))


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_every_index_dtype(dtype: str) -> None:
    good, bad = index_palette(5, 1, dtype, True)
    index = np.array(good + bad + good, dtype)
    for negative in (True, False):
        puts = [
            put_case("int32", index, bounds=b, negative=negative, reduction="add") for b in ("raise", "clip", "wrap")
        ]
        check(*puts)
        check(*(replace(p, op="take", src=None) for p in puts))


@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap", "fill"])
def test_an_axis_that_turns_out_empty(bounds: str) -> None:
    """Nothing is read or written there: a gather gives 0 (fill: the fill value), a scatter leaves data, which is empty."""
    empty = replace(put_case("float32"), data=np.zeros((0, 3), np.float32), bounds=bounds)
    check(empty)
    check(replace(empty, op="take", src=None, fill=0))


def test_an_empty_axis_of_a_window() -> None:
    """XLA's: slices of three on an axis that has two."""
    map = oracle.Map((("indexed", 0, 0),), None, (3,), (("index", 0), ("window", 0)))
    index = np.array([0, -2, 5])
    case = Case("gather_map", {}, map, "int32", "int64", np.arange(8, dtype=np.int32), index)
    ops = TeOps()
    n = te.var("n", "int64")
    data, at = te.placeholder((n,), "int32", "data"), ops.input("index", ("k",), "int64")
    outs = [gte.gather_map(data, at, to_gs_map(map), bounds=b) for b in ("raise", "clip", "wrap", "fill")]
    call = program([data, at], outs)
    for got, bounds in zip(call([case.data, index], [(3, 3)] * 4), ("raise", "clip", "wrap", "fill"), strict=True):
        assert_same(got, expected(replace(case, bounds=bounds)))
    for got in call([np.array([5, 6], np.int32), index], [(3, 3)] * 4):
        assert_same(got, np.zeros((3, 3), np.int32))


def test_an_index_vector_of_no_components() -> None:
    ops = TeOps()
    x, i, s = ops.input("x", (3,), "float32"), ops.input("i", ("k", 0), "int64"), ops.input("s", ("k", 3), "float32")
    outs = [gte.gather_nd(x, i), gte.scatter_nd(x, i, s, reduction="add"), gte.first_invalid(x, i, gs.IndexMap(
        (gs.Window(0),), (("index", 0), ("window", 0)), vector_axis=1))]  # fmt: skip
    data, src = np.arange(3, dtype=np.float32), np.ones((2, 3), np.float32)
    gathered, added, bad = program([x, i, s], outs)([data, np.zeros((2, 0), np.int64), src], [(2, 3), (3,), ()])
    assert_same(gathered, np.stack([data, data]))
    assert_same(added, data + 2)
    assert bad == NONE


def test_rank_0() -> None:
    ops = TeOps()
    x, i = ops.input("x", (4,), "int32"), ops.input("i", (), "int64")
    outs = [gte.take(x, i), gte.put(x, i, 9), gte.first_invalid(x, i, gs.IndexMap((gs.Indexed(0),), ()))]
    call = program([x, i], outs)
    data = np.array([5, 6, 7, 8], np.int32)
    for index, value, after, bad in [(2, 7, [5, 6, 9, 8], NONE), (-4, 5, [9, 6, 7, 8], NONE), (4, 8, [5, 6, 7, 8], 0)]:
        got, put, first = call([data, np.array(index)], [(), (4,), ()])
        assert (int(got), put.tolist(), int(first)) == (value, after, bad)


# -- inside larger programs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_inside_a_program(dtype: str) -> None:
    """Computed data and index go in, the results go on; everything is one PrimFunc of TVM's own operators and these."""
    n, k = te.var("n", "int64"), te.var("k", "int64")
    X, W = te.placeholder((n, 4), dtype, "X"), te.placeholder((k,), dtype, "W")
    AT, J = te.placeholder((k,), "int32", "AT"), te.placeholder((k,), "uint8", "J")
    doubled = te.compute((n, 4), lambda r, c: X[r, c] + X[r, c], "doubled")
    shifted = te.compute((k,), lambda e: AT[e] - tvm.tirx.const(1, "int32"), "shifted")
    rows = gte.take(doubled, shifted)
    weighted = te.compute((k, 4), lambda e, c: rows[e, c] * W[e], "weighted")
    summed = gte.put(doubled, J, weighted, reduction="add", bounds="clip")
    negated = te.compute((n, 4), lambda r, c: -summed[r, c], "negated")
    again = gte.gather(
        negated, gte.gather(J2 := te.placeholder((2, 4), "int64", "J2"), J2, dim=0, bounds="wrap"), dim=0
    )
    r = te.reduce_axis((0, 4), "r")
    total = te.compute((n,), lambda i: te.sum(negated[i, r].astype("float32"), axis=r), "total")
    call = program([X, W, AT, J, J2], [summed, again, total])
    rng = np.random.default_rng(0)
    for nodes, edges in [(5, 9), (3, 1), (6, 0)]:
        x = rng.integers(-4, 5, (nodes, 4)).astype(numpy_dtype(dtype))  # exact in every dtype
        w = rng.integers(-2, 3, edges).astype(x.dtype)
        i, j = rng.integers(1 - nodes, nodes + 1, edges, np.int32), rng.integers(0, 2 * nodes, edges, np.uint8)
        j2 = np.array([[0, -1, 1, 1], [1, 2, -3, 0]])
        want = (x + x).astype(np.float64)
        np.add.at(want, np.minimum(j, nodes - 1), (x + x)[i - 1].astype(np.float64) * w[:, None].astype(np.float64))
        index = np.take_along_axis(j2, j2 % 2, 0)
        got = call([x, w, i, j, j2], [(nodes, 4), (2, 4), (nodes,)])
        assert_same(got[0], want.astype(x.dtype), signed_zero=False)
        assert_same(
            got[1], np.take_along_axis(-want, np.clip(index, -nodes, nodes - 1), 0).astype(x.dtype), signed_zero=False
        )
        assert_same(got[2], -want.sum(1).astype(np.float32), signed_zero=False)


def test_a_schedule_of_the_users_own() -> None:
    """A gather is a block like any other: TVM's schedule primitives apply."""
    X, AT = te.placeholder((50, 64), "float32", "X"), te.placeholder((33,), "int64", "AT")
    Y = gte.take(X, AT, bounds="clip", name="rows")
    sch = tvm.s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([X, AT, Y])}))
    block = sch.get_sblock("rows")
    i, j = sch.get_loops(block)
    sch.parallel(i)
    sch.vectorize(sch.split(j, [None, 8])[1])
    f = tvm.compile(sch.mod, target="llvm")["main"]
    x, index = random_data(np.random.default_rng(1), (50, 64), "float32"), np.arange(-16, 50, 2)
    out = tensor(np.zeros((33, 64), np.float32))
    f(tensor(x), tensor(index), out)
    assert_same(array(out), x[index])


def test_a_dimension_may_be_any_expression() -> None:
    n = te.var("n", "int32")  # int32, as many TVM programs have it
    X, AT = te.placeholder((2 * n + 1, n), "float32", "X"), te.placeholder((n + n + 1, n), "int32", "AT")
    S = te.placeholder((n, 2, n), "float32", "S")
    J = te.placeholder((n, 2), "int16", "J")
    Y, Z = gte.gather(X, AT, dim=0), gte.put(X, J, S, reduction="max")
    rng = np.random.default_rng(2)
    x, s = rng.random((7, 3), np.float32), rng.random((3, 2, 3), np.float32)
    i, j = rng.integers(0, 7, (7, 3), np.int32), rng.integers(-7, 7, (3, 2), np.int16)
    y, z = program([X, AT, S, J], [Y, Z])([x, i, s, j], [(7, 3), (7, 3)])
    assert_same(y, np.take_along_axis(x, i.astype(np.int64), 0))
    assert_same(z, oracle.scatter_ref(x, j, s, oracle.take_map(x.shape, j.shape, 0), "max"))


def test_names() -> None:
    """A result carries the name it is given, which may be that of an argument."""
    X, AT = te.placeholder((5, 2), "float32", "X"), te.placeholder((3,), "int64", "AT")
    for name in ("rows", "data", "index", "src"):
        assert gte.take(X, AT, name=name).op.name == name
        assert gte.put(X, AT, te.placeholder((3, 2), "float32", "S"), name=name).op.name == name


# -- misuse -----------------------------------------------------------------------------------------------------------

X = te.placeholder((5, 3), "float32", "X")
AT = te.placeholder((4,), "int64", "AT")
S = te.placeholder((4, 3), "float32", "S")
E = te.placeholder((0, 3), "float32", "E")
ROWS = gs.IndexMap((gs.Indexed(0), gs.Window(0)), (("index", 0), ("window", 0)))
MISUSE: list[tuple[type[gs.GSError], str, Callable[[], Any]]] = [
    (gs.ArgumentError, "take: data must be a te.Tensor", lambda: gte.take(np.zeros((5, 3)), AT)),
    (gs.ArgumentError, "take: index must be a te.Tensor", lambda: gte.take(X, [0, 1])),
    (gs.ArgumentError, "put: src must be a te.Tensor", lambda: gte.put(X, AT, np.zeros((4, 3)))),
    (gs.ArgumentError, "put: src must be a te.Tensor", lambda: gte.put(X, AT, "1")),
    (
        gs.ArgumentError,
        "gather: data must be a te.Tensor",
        lambda: gte.gather(gs.Builder().input("x", (3,), "int32"), AT),
    ),
    (gs.DTypeError, "take: index must have an integer dtype", lambda: gte.take(X, te.placeholder((4,), "float32"))),
    (gs.DTypeError, "take: index must have an integer dtype", lambda: gte.take(X, te.placeholder((4,), "bool"))),
    (gs.DTypeError, "float8_e4m3fn", lambda: gte.take(te.placeholder((5,), "float8_e4m3fn"), AT)),
    (gs.DTypeError, "put: src must have data's dtype", lambda: gte.put(X, AT, te.placeholder((4, 3), "float64"))),
    (gs.DTypeError, "does not fit", lambda: gte.put(te.placeholder((5,), "uint8"), AT, 256)),
    (gs.DTypeError, "not defined for bool", lambda: gte.put(te.placeholder((5,), "bool"), AT, True, reduction="mean")),
    (gs.ShapeError, r"put: src \(3, 3\) on axis 0", lambda: gte.put(X, AT, te.placeholder((3, 3), "float32"))),
    (gs.ShapeError, r"put: src \(4,\) on axis 1", lambda: gte.put(X, AT, te.placeholder((4,), "float32"))),
    (gs.ShapeError, "gather: index must have rank 2", lambda: gte.gather(X, AT)),
    (gs.ShapeError, "gather: dim", lambda: gte.gather(X, te.placeholder((5, 3), "int32"), dim=2)),
    (gs.ShapeError, "shared with data", lambda: gte.gather(X, te.placeholder((5, 4), "int32"), dim=0)),
    (gs.ShapeError, "take: axis", lambda: gte.take(X, AT, axis=-3)),
    (gs.ShapeError, "batch_dims", lambda: gte.take(X, AT, axis=0, batch_dims=1)),
    (gs.ShapeError, "index vectors of length 3", lambda: gte.gather_nd(X, te.placeholder((4, 3), "int32"))),
    (gs.ShapeError, "fixed extent", lambda: gte.gather_nd(X, te.placeholder((4, te.var("m", "int64")), "int32"))),
    (gs.ShapeError, "names an axis twice", lambda: gte.gather_nd(X, te.placeholder((5, 3, 2), "int32"), dims=[0, 0])),
    (gs.ArgumentError, "unknown bounds", lambda: gte.take(X, AT, bounds="reflect")),
    (gs.ArgumentError, "unknown reduction", lambda: gte.put(X, AT, S, reduction="nand")),
    (gs.ArgumentError, "negative must be", lambda: gte.take(X, AT, negative="no")),
    (gs.ArgumentError, "map must be a gs.IndexMap", lambda: gte.gather_map(X, AT, "rows")),
    (gs.ArgumentError, "map must be a gs.IndexMap", lambda: gte.scatter_map(X, AT, S, None)),
    (gs.BoundsError, "is empty", lambda: gte.take(E, AT)),
    (gs.BoundsError, "is empty", lambda: gte.put(E, AT, S, bounds="clip")),
    (gs.GraphError, "Python identifier", lambda: gte.take(X, AT, name="my rows")),
    (gs.ArgumentError, "first_invalid: data must be a te.Tensor", lambda: gte.first_invalid(None, AT, ROWS)),
    (gs.ArgumentError, "first_invalid: index must be a te.Tensor", lambda: gte.first_invalid(X, 3, ROWS)),
    (gs.ArgumentError, "first_invalid: map must be", lambda: gte.first_invalid(X, AT, None)),
    (gs.ArgumentError, "first_invalid: negative must be", lambda: gte.first_invalid(X, AT, ROWS, negative=1)),
    (gs.DTypeError, "first_invalid: index must have", lambda: gte.first_invalid(X, S, ROWS)),
    (gs.ShapeError, "first_invalid: data must have rank 2", lambda: gte.first_invalid(AT, AT, ROWS)),
]


@pytest.mark.parametrize("error,message,call", MISUSE, ids=[f"{e.__name__}-{k}" for k, (e, _, _) in enumerate(MISUSE)])
def test_misuse(error: type[gs.GSError], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert type(caught.value) is error


def test_every_operator_is_here() -> None:
    ours = {n for n in dir(gs.Builder) if n.startswith(("gather", "scatter"))} | {"take", "put"}
    assert {n.removesuffix("_dims") for n in (*GATHERS, *SCATTERS)} == ours
    assert set(gte.__all__) == ours | {"declare", "reference", "first_invalid"}


# -- the reference lowering -------------------------------------------------------------------------------------------


def passing(b: Any) -> None:
    """Messages along edges, their mean at each node, and what remains of the nodes' own."""
    x, src, dst = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    y = b.put(b.zeros(("n", 5)), dst, b.take(x, src) * w, reduction="mean", include_self=False)
    b.output(y, b.relu(y - x))


def twice(b: Any) -> None:
    """A gather of a gather, and of a scatter whose result feeds a scatter."""
    x, i, j = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    first = b.put(x, j, b.broadcast_to(w, ("e", 5)), reduction="max")
    second = b.put(first * 2, i, b.take(first, j), reduction="add")
    b.output(b.take(b.take(second, i), b.iota(("e",)) // 2), second, first)


def leaves(b: Any) -> None:
    """An input, a constant and a value named twice as outputs; sizes as values."""
    x, i, j = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    c = b.constant(np.arange(6, dtype=np.int32).reshape(2, 3))
    picked = b.take(c, i % 2)
    b.output(x, c, picked, picked, b.size("n") * 3 + b.size("e"), b.cast(j, "uint8"), w)


def folds(b: Any) -> None:
    """Reductions, of what is gathered too, and over nothing."""
    x, i, j = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    rows = b.take(x, i) - w
    b.output(b.max(x, 1), b.argmin(x, 1), b.any(rows > 1, 0), b.sum(i), b.prod(j), b.argmax(rows, 1, select_last=True))


def moved(b: Any) -> None:
    """Concatenated, padded, cut, turned, and gathered from."""
    x, i, j = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    table = b.concat([b.pad(x, [1, 0], [0, 2], -1), b.flip(b.concat([x, x[:, :2]], 1), 0)])
    turned = b.transpose(b.take(table, i)[:, ::2])
    b.output(turned, b.where(b.unsqueeze(j > 1, 1), w, 0), b.stack([i, b.cast(j, "int64")], 1), b.gather(x, b.reshape(
        i[:5] % 2, (1, 5)), dim=0))  # fmt: skip


def narrow(b: Any) -> None:
    """16-bit floats, integers that wrap, bool."""
    x, i, j = b.input("x", ("n", 5), "float32"), b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int32")
    w = b.input("w", ("e", 1), "float32")
    for d in ("float16", "bfloat16", "int8", "uint16", "bool"):
        rows = b.take(b.cast(x * 100, d), j)
        b.output(b.put(b.cast(x, d), i, rows, reduction="mul", include_self=False), b.cast(w, d))


GRAPHS = [passing, twice, leaves, folds, moved, narrow]


@pytest.mark.parametrize("declare", GRAPHS, ids=lambda f: f.__name__)
def test_the_reference_lowering_gives_what_the_schedules_give(declare: Callable[[Any], None]) -> None:
    b = gs.Builder("graph")
    declare(b)
    reference, llvm, cuda = paths.reference(b.graph()), b.build(), emulate(b, deterministic=True)
    rng = np.random.default_rng(7)
    for nodes, edges in [(7, 30), (2, 5), (300, 700)]:
        # eighths, whose sums and products are exact: a CPU with fused multiply-add rounds once where others round twice
        x, w = (rng.integers(-40, 40, shape).astype(np.float32) / 8 for shape in ((nodes, 5), (edges, 1)))
        i, j = rng.integers(-nodes, nodes, edges), rng.integers(0, nodes, edges, np.int32)
        given = [{"x": x, "src": i, "dst": j, "w": w}[v.name] for v in b.graph().inputs]
        want = reference(*given)
        for module in (llvm, cuda):
            for got, w_ in zip(module(*given), want, strict=True):
                assert_same(got, w_)


@pytest.mark.parametrize("op", [*GATHERS, *SCATTERS])
def test_the_reference_of_random_calls(op: str) -> None:
    @settings(max_examples=4, deadline=None, derandomize=True, database=None, report_multiple_bugs=False)
    @given(cases(op))
    def run(case: Case) -> None:
        b = gs.Builder("case")
        try:
            b.output(case.build(b))
        except gs.BoundsError:
            return
        want = expected(case)
        (got,) = paths.reference(b.graph())(*case.arrays)
        assert_same(got, want, signed_zero=exact_zero(case))

    run()


def test_the_reference_is_a_plain_function_of_its_tensors() -> None:
    """Inputs, constants, outputs: nothing else is passed."""
    b = gs.Builder("graph")
    x, i = b.input("x", ("n", 3), "float32"), b.input("i", ("k",), "int64")
    b.output(b.take(x, i), b.take(b.constant(np.eye(4, dtype=np.float32)), i, bounds="wrap"))
    f = gte.reference(b.graph())
    assert isinstance(f, tvm.tirx.PrimFunc)
    assert len(f.params) == 5


def test_the_policies_are_all_covered() -> None:
    assert {b.value for b in gs.Bounds} == set(oracle.BOUNDS)
    assert {*oracle.REDUCTIONS, "logaddexp"} == set(REDUCTIONS)
