"""Elements that are moved and nothing else: dates, text, records, long and swapped floats."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.emulation import emulate
from gscompile.ir.types import dtype
from tests import oracle
from tests.oracle import Array

PADDED = np.dtype({"names": ["a", "b"], "formats": ["i1", "i4"], "offsets": [0, 4], "itemsize": 12})
RECORD = np.dtype([("x", "f4"), ("y", "S5")])
DTYPES: tuple[Any, ...] = (
    "M8[ns]",
    "m8[s]",
    "S3",
    "S12",
    "S16",
    "U5",
    "V7",
    ">f4",
    ">i8",
    "longdouble",
    PADDED,
    RECORD,
)
INDEX = np.array([4, 0, 4, -1, 2, 0, 4, -7, 6])  # duplicates, first, last, negative
UGLY = np.array([4, 0, 7, -8, 2**40, -1, -(2**63), 6, 4])


def elements(dt: Any, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Random bytes, those between the fields of a record too."""
    dt = np.dtype(dt)
    count = int(np.prod(shape)) * dt.itemsize
    raw = np.random.default_rng(seed).integers(0, 256, count, dtype="u1")
    return raw.view(dt).reshape(shape)


def plain(x: Array) -> Array:
    """As bytes that NumPy moves as they are."""
    return x.view(f"V{x.dtype.itemsize}")


@pytest.mark.parametrize("path", ["llvm", "cuda"])
@pytest.mark.parametrize("dt", DTYPES, ids=str)
def test_movement(dt: Any, path: str) -> None:
    """Bit for bit what NumPy moves."""
    dt = np.dtype(dt)
    x, v = elements(dt, (7, 3)), elements(dt, (9, 3), 1)
    keep = np.array([True, False, True])
    b = gs.Builder("net")
    X, V = b.input("x", ("n", 3), dt), b.input("v", v.shape, dt)
    i, c = b.input("i", INDEX.shape, "int64"), b.input("c", (3,), "bool")
    taken = b.take(X, i)
    outputs = [taken, b.put(X, i, V), b.transpose(V), b.concat([X, V]), b.flip(V), b.reshape(V, (27,)), V[::2, 1:]]
    outputs += [b.where(c, V, b.broadcast_to(taken[0:1], (9, 3))), b.where(c, V, 0), b.zeros((2, 3), dt)]
    b.output(*outputs, b.gather_nd(X, b.stack([i, i * 0 + 2], 1)), b.put(X, i, 0))
    got = (b.build() if path == "llvm" else emulate(b))(x, v, INDEX, keep)
    p, q = plain(x), plain(v)
    put, zero, cleared = p.copy(), np.zeros((), p.dtype), p.copy()
    for k, at in enumerate(INDEX):
        put[at] = q[k]
    cleared[INDEX] = zero
    want = [p[INDEX], put, q.T, np.concatenate([p, q]), q[::-1, ::-1], q.reshape(27), q[::2, 1:]]
    want += [np.where(keep, q, p[INDEX][0:1]), np.where(keep, q, zero), np.zeros((2, 3), p.dtype), p[INDEX, 2], cleared]
    for k, (a, w) in enumerate(zip(got, want, strict=True)):
        assert a.dtype == dt and a.shape == w.shape
        assert a.tobytes() == w.tobytes(), k


@pytest.mark.parametrize("dt", ["M8[ns]", "S12", "S16", "V5", PADDED], ids=str)
@pytest.mark.parametrize("bounds", ["raise", "clip", "wrap", "fill"])
def test_bounds(bounds: str, dt: Any) -> None:
    """Ugly indices do as in the oracle's loops, of a gather and of a scatter in place."""
    x, v = elements(dt, (7, 3)), elements(dt, (9, 3), 1)
    m = oracle.take_map(x.shape, UGLY.shape, 0)
    b = gs.Builder("net")
    X, V, i = b.input("x", x.shape, dt), b.input("v", v.shape, dt), b.input("i", UGLY.shape, "int64")
    b.output(b.take(X, i, bounds=bounds), b.put(X, i, V, bounds=bounds))
    for path in ("llvm", "cuda"):
        module = b.build() if path == "llvm" else emulate(b)
        if bounds == "raise":
            with pytest.raises(gs.BoundsError, match=r"i\[2\] = 7 is out of range for axis 0 of data \(7, 3\)"):
                module(x, v, UGLY)
            continue
        taken, put = module(x, v, UGLY)
        numbers = np.arange(x.size).reshape(x.shape)
        points = numbers.size + np.arange(v.size).reshape(v.shape)
        pool = np.concatenate([plain(x).ravel(), plain(v).ravel(), np.zeros(1, f"V{x.dtype.itemsize}")])
        want = pool[oracle.gather_ref(numbers, UGLY, m, bounds, fill=len(pool) - 1)]
        assert taken.tobytes() == want.tobytes(), path
        want = pool[oracle.scatter_ref(numbers, UGLY, points, m, "update", True, bounds)]
        assert put.tobytes() == want.tobytes(), path


def test_fill_and_scalars() -> None:
    """What stands for nothing is an element of the dtype, whatever NumPy makes one of."""
    days = np.array(["2020-01-01", "2021-02-03", "2022-03-04"], "M8[D]")
    missing = np.datetime64("NaT", "D")
    b = gs.Builder("net")
    x, i = b.input("x", (3,), "M8[D]"), b.input("i", (3,), "int64")
    b.output(
        b.take(x, i, bounds="fill", fill=missing), b.pad(x, [1], [0], "1999-12-31"), b.put(x, i, missing, bounds="fill")
    )
    taken, padded, put = b.build()(days, np.array([2, 5, 0]))
    np.testing.assert_array_equal(taken, np.array([days[2], missing, days[0]]))
    np.testing.assert_array_equal(padded, np.array(["1999-12-31", *days], "M8[D]"))
    np.testing.assert_array_equal(put, np.array([missing, days[1], missing]))
    words = np.array([b"abcdefghijkl", b"x"], "S12")
    b = gs.Builder("net")
    x = b.input("x", (2,), "S12")
    b.output(b.pad(x, [0], [2], b"middle words"), b.full((1, 2), b"ab", "S12"))
    padded, full = b.build()(words)
    assert padded.tolist() == [b"abcdefghijkl", b"x", b"middle words", b"middle words"]
    assert full.tolist() == [[b"ab", b"ab"]]
    with pytest.raises(gs.DTypeError, match=r"pad: value: .* is no element of datetime64\[D\]"):
        b.pad(b.constant(days), [0], [1], "yesterday")


def test_what_is_not_movement_is_refused() -> None:
    b = gs.Builder("net")
    x, y, i = b.input("x", (4,), "M8[s]"), b.input("y", (4,), "M8[ns]"), b.input("i", (4,), "int64")
    swapped = b.input("z", (4,), ">f4")
    calls = {
        "add": lambda: x + x,
        "lt": lambda: x < x,
        "neg": lambda: -swapped,
        "sum": lambda: b.sum(swapped),
        "max": lambda: b.max(x),
        "argmin": lambda: b.argmin(x),
        "cumsum": lambda: b.cumsum(swapped),
        "cast": lambda: b.cast(swapped, "float32"),
        "iota": lambda: b.iota((3,), dtype="m8[s]"),
        "put": lambda: b.put(x, i, x, reduction="add"),
        "concat": lambda: b.concat([x, y]),
        "where": lambda: b.where(i, x, y),
        "take": lambda: b.take(i, b.input("j", (2,), ">i8")),
    }
    for name, call in calls.items():
        with pytest.raises(gs.DTypeError, match=rf"^{name}: .*(datetime64|timedelta64|>f4|>i8)"):
            call()


@pytest.mark.parametrize("dt", [object, "S0", "V0", "M8", str, "O", [("a", "O")]], ids=str)
def test_dtypes_without_bytes_of_their_own_are_refused(dt: Any) -> None:
    with pytest.raises(gs.DTypeError, match=r"not supported|unknown dtype"):
        dtype(np.dtype(dt))
    if np.dtype(dt).hasobject:
        with pytest.raises(gs.DTypeError, match="Python objects"):
            gs.Builder("net").constant(np.zeros(3, dt))


def test_units_and_layouts_are_not_confused() -> None:
    """Nor by calls that were seen before: NumPy gives all dates, all text and all records one type number."""
    for one, other in (("M8[s]", "M8[ns]"), ("S8", "S4"), ("V8", np.dtype("i4,i4")), (">f4", "f4")):
        b = gs.Builder("net")
        b.output(b.take(b.input("x", (5,), one), b.input("i", (2,), "int64")))
        m, at = b.build(), np.array([4, 1])
        x = elements(one, (5,))
        for _ in range(3):
            assert m(x, at).tobytes() == plain(x)[at].tobytes()
            with pytest.raises(gs.DTypeError):
                m(elements(other, (5,)), at)


def test_metadata_and_padding_stay() -> None:
    from gscompile.dialects import numpy as gn

    at = np.array([2, 0])
    for note in ("one", "two"):
        x = np.zeros(3, np.dtype("S6", metadata={"note": note}))
        assert dict(gn.take(x, at).dtype.metadata or {}) == {"note": note}
    assert gn.take(elements(PADDED, (3,)), at).dtype == PADDED


def test_unaligned_and_strided_arrays() -> None:
    """Read through a copy; results are aligned."""
    from gscompile.dialects import numpy as gn

    raw = np.random.default_rng(0).integers(0, 256, 12 * 9 + 1, dtype="u1")
    for x in (np.ndarray((9,), "S12", raw, 1), np.ndarray((9,), "S12", raw)[::-2], np.ndarray((9,), "S12", raw)[1:]):
        at = np.array([3, 0, -1])
        assert gn.take(x, at).tobytes() == x[at].tobytes()


@pytest.mark.parametrize("dt", DTYPES, ids=str)
def test_numpys_functions(dt: Any) -> None:
    """By both, on dates as on records; put writes in place."""
    from gscompile.dialects import numpy as gn

    x, at = elements(dt, (5, 4)), np.array([3, 0, 3, -1])
    by = np.array([[3, 0], [1, 1], [2, -1], [0, 0], [1, 3]])
    for mode in ("raise", "wrap", "clip"):
        assert gn.take(x, at, axis=1, mode=mode).tobytes() == np.take(plain(x), at, axis=1, mode=mode).tobytes()
    assert gn.take_along_axis(x, by, 1).tobytes() == np.take_along_axis(plain(x), by, 1).tobytes()
    got, want = plain(x).copy().view(x.dtype), plain(x).copy()
    gn.put(got, at, x[0])
    np.put(want, at, plain(x)[0])
    assert got.tobytes() == want.tobytes()
    for mode in ("wrap", "clip"):
        picked = gn.choose(at % 5, [x[:4, k] for k in range(4)] + [x[:4, 0]], mode=mode)
        want = np.choose(at % 5, [plain(x)[:4, k] for k in range(4)] + [plain(x)[:4, 0]], mode=mode)
        if x.dtype.isnative:
            assert picked.tobytes() == want.tobytes()
        else:  # NumPy's choose, alone of these, gives the machine's order
            assert picked.dtype.isnative and picked.astype(x.dtype).tobytes() == want.tobytes()


@pytest.mark.skipif(sys.byteorder != "little", reason="the words are little-endian")
def test_vector_moves() -> None:
    """Rows of 64 elements of 12 bytes are the very code of rows of 192 float32; one of 16 bytes is moved at once."""
    found = {}
    for dt, shape in (("S12", ("n", 64)), ("f4", ("n", 192)), ("S16", ("n",)), ("S12", ("n",))):
        b = gs.Builder("net")
        b.output(b.take(b.input("x", shape, dt), b.input("i", ("k",), "int64")))
        module = b.build({"kind": "llvm", "mcpu": "skylake-avx512"})
        found[dt, len(shape)] = (
            module.stats.kernels[0][1],
            re.findall(r"^\s+(\w*mov\w+)\s.*", module.source("asm"), re.M),
        )
    assert found["S12", 2] == found["f4", 2]
    assert sum(m in ("vmovups", "vmovdqu", "vmovaps") for m in found["S16", 1][1]) >= 8
