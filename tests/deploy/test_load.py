"""``gs.load``: what a library gives back is what was exported."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from gscompile.dialects import numpy as gnp
from gscompile.dialects import torch as gtorch
from gscompile.runtime import manifest
from tests import graphs
from tests.deploy.libraries import adding
from tests.oracle import assert_same


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """Arrays, or what an error says."""
    try:
        found = f(*args)
    except gs.GSError as e:
        return type(e), str(e), vars(e)
    return found if isinstance(found, tuple) else (found,)


def assert_alike(module: gs.Module, loaded: Any, *args: Any) -> None:
    want, got = outcome(module, *args), outcome(loaded, *args)
    if isinstance(want[0], type):
        assert got == want
    else:
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_every_operator(dtype: str, tmp_path: Path) -> None:
    samples = list(graphs.samples(dtype))
    gs.export([s.builder.build() for s in samples], tmp_path / "all.so")
    for sample in samples:
        loaded = gs.load(tmp_path / "all.so", sample.builder.name)
        for got, want in zip(loaded(*sample.arrays), sample.want, strict=True):
            assert_same(got, want)


SIZES = {"n": 9, "m": 8, "k": 7}


def test_every_operators_errors(tmp_path: Path) -> None:
    """They are the build's own, word for word, of any dtype of indices; how fast the code is does not matter."""
    modules = [b.build({"kind": "llvm", "opt-level": 0}) for b in graphs.operators()]
    gs.export(modules, tmp_path / "all.so")
    rng = np.random.default_rng(0)
    failed = 0
    for module in modules:
        loaded = gs.load(tmp_path / "all.so", module.name)
        x, i, v = (np.ones([SIZES.get(str(d), d) for d in a.shape], a.dtype.numpy) for a in module.inputs)  # type: ignore[arg-type]
        assert_alike(module, loaded, x, i, v)
        ends = np.iinfo(i.dtype)
        for bad in (ends.min, ends.max, 9, 20, 100):
            wrong = i.copy()
            wrong.flat[rng.integers(wrong.size)] = bad
            failed += isinstance(outcome(module, x, wrong, v)[0], type)
            assert_alike(module, loaded, x, wrong, v)
    assert failed > 2 * len(modules)


def composed() -> dict[str, Callable[[gs.Builder], gs.Value]]:
    """Graphs whose indices are computed from what the caller passes."""
    x: Callable[[gs.Builder], gs.Value] = lambda b: b.input("x", (5, 6), "float32")  # noqa: E731
    i: Callable[..., gs.Value] = lambda b, *shape: b.input("i", shape, "int64")  # noqa: E731
    return {
        "reshaped": lambda b: b.take(x(b), b.reshape(i(b, 3, 4), (2, 6))),
        "shifted": lambda b: b.take(x(b), i(b, 3, 4) + 1),
        "transposed": lambda b: b.take(x(b), b.transpose(i(b, 3, 4), (1, 0))),
        "cast": lambda b: b.take(x(b), b.cast(b.input("i", (3, 4), "uint8"), "int64")),
        "unsigned": lambda b: b.take(x(b), b.input("i", (3, 4), "uint64")),
        "two": lambda b: b.take(x(b), b.where(b.input("c", (3, 4), "bool"), i(b, 3, 4), b.input("j", (3, 4), "int64"))),
        "vectors": lambda b: b.gather_nd(x(b), i(b, 6, 2)),
        "numpy": lambda b: gnp.take(x(b), i(b, 3, 4), axis=1),
        "torch": lambda b: gtorch.index_select(x(b), 1, i(b, 12)),
        "scatter": lambda b: b.scatter(x(b), i(b, 3, 6), b.input("s", (3, 6), "float32"), 0, reduction="add"),
    }


@pytest.mark.parametrize("name", composed())
def test_errors_of_computed_indices(name: str, tmp_path: Path) -> None:
    b = gs.Builder(name)
    b.output(composed()[name](b))
    module = b.build()
    module.export(tmp_path / "net.so")
    loaded = gs.load(tmp_path / "net.so")
    arrays = [np.ones(v.shape, v.dtype.numpy) for v in module.inputs]  # type: ignore[arg-type]
    assert_alike(module, loaded, *arrays)
    failed = 0
    for at, v in enumerate(module.inputs):
        if not v.dtype.is_integer:
            continue
        for place in (0, arrays[at].size // 2, arrays[at].size - 1):
            for bad in (5, 6, 200, np.iinfo(arrays[at].dtype).max, np.iinfo(arrays[at].dtype).min):
                wrong = arrays[at].copy()
                wrong.flat[place] = bad
                args = [*arrays[:at], wrong, *arrays[at + 1 :]]
                failed += isinstance(outcome(module, *args)[0], type)
                assert_alike(module, loaded, *args)
    assert failed > 5


def test_it_is_the_same_callable(tmp_path: Path) -> None:
    module = adding().build()
    module.export(tmp_path / "net.so")
    loaded = gs.load(tmp_path / "net.so")
    x, i, s = np.ones((9, 8), "float32"), np.arange(5), np.ones((5, 8), "float32")
    want = module(x, i, s)
    out = np.empty_like(x)
    bound = loaded.bind(x, i, s, out=out)
    for found in (loaded(x, i, s), loaded(x=x, i=i, s=s), loaded(x, i, s, out=out), bound(), loaded(x, i, s)):
        assert_same(found, want)
    for again in (pickle.loads(pickle.dumps(loaded)), copy.copy(loaded), copy.deepcopy(loaded)):
        assert_same(again(x, i, s), want)
    for n in (1, 2, 5):
        gs.set_num_threads(n)
        assert_same(loaded(x, i, s), want)
    with pytest.raises(gs.ShapeError, match="input s must have shape"):
        loaded(x, i, s[:, 1:])
    assert repr(loaded).startswith("<gscompile function net(x: float32(n, 8), ") and loaded.inputs == module.inputs


def test_constants_are_inside(tmp_path: Path) -> None:
    table, weights = np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0, dtype="float32").reshape(3, 4))
    b = gs.Builder("net")
    i = b.input("i", ("k",), "int64")
    b.output(
        b.take(b.constant(table), i), b.take(b.constant(weights), i), b.take(b.constant(table[:0]), i, bounds="fill")
    )
    b.build().export(tmp_path / "net.so")
    for _ in range(2):
        first, second, third = gs.load(tmp_path / "net.so")(np.array([2, 0]))
        assert_same(first, table[[2, 0]])
        assert_same(second, np.ascontiguousarray(weights[[2, 0]]))
        assert third.shape == (2, 4)


def test_several_graphs(tmp_path: Path) -> None:
    gs.export([adding("a").build(), adding("b").build()], tmp_path / "two.so")
    assert gs.load(tmp_path / "two.so", "b").name == "b"
    with pytest.raises(gs.ArgumentError, match="name one of its graphs: a, b"):
        gs.load(tmp_path / "two.so")
    with pytest.raises(gs.ArgumentError, match="it has no graph 'c'; its graphs: a, b"):
        gs.load(tmp_path / "two.so", "c")


def test_another_library_at_the_same_path(tmp_path: Path) -> None:
    """Each function keeps the library that it was loaded from."""
    loaded = []
    for factor in (1.0, 2.0, 3.0):
        b = gs.Builder("net")
        b.output(b.take(b.input("x", (4,), "float32"), b.input("i", ("k",), "int64")) * factor)
        b.build().export(tmp_path / "net.so")
        loaded.append(gs.load(tmp_path / "net.so"))
    x, i = np.ones(4, "float32"), np.array([1])
    assert [float(f(x, i)[0]) for f in loaded] == [1.0, 2.0, 3.0]
    with pytest.raises(gs.BoundsError, match=r"i\[0\] = 4"):
        loaded[-1](x, i + 3)


def test_it_needs_no_compiler(tmp_path: Path) -> None:
    """Neither TVM nor what compiles is imported; what this test's process has imported does not count."""
    adding().build().export(tmp_path / "net.so")
    code = (
        "import sys; sys.modules.update({'tvm': None, 'tvm_ffi': None})\n"
        "import numpy as np, gscompile as gs\n"
        f"f = gs.load({str(tmp_path / 'net.so')!r})\n"
        "x, i, s = np.ones((70, 8), 'float32'), np.arange(50000) % 70, np.ones((50000, 8), 'float32')\n"
        "w = x.copy(); np.add.at(w, i, s)\n"
        "for k in range(3): assert np.array_equal(f(x, i, s), w)\n"
        "try: f(x, i + 70, s)\n"
        "except gs.BoundsError as e: print(e)\n"
        "print([m for m in sys.modules if m.startswith('gscompile.') and m.split('.')[1] not in "
        "('runtime', 'ir', 'errors', 'alias')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    says = "put_3: i[0] = 70 is out of range for axis 0 of data (70, 8): valid are -70 to 69"
    assert done.stdout.splitlines() == [says, "[]"]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A library that something has happened to."""
    way, at = rng.randrange(5), rng.randrange(len(data))
    if way == 0:
        return data[:at]
    if way == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if way == 2:
        return data[:at] + rng.randbytes(rng.randrange(1, 64)) + data[at:]
    if way == 3:
        return data[:at] + data[at + rng.randrange(1, 64) :]
    return data[:at] + bytes(min(64, len(data) - at)) + data[at + 64 :]


def test_damaged_libraries(tmp_path: Path) -> None:
    """5,000 of them, each refused before anything is loaded; most are damaged where their manifest is."""
    adding().build().export(tmp_path / "net.so")
    data = (tmp_path / "net.so").read_bytes()
    begin = data.index(b"\x89gscompile")
    head = slice(begin, begin + 3000)
    rng, wrong = random.Random(1), tmp_path / "wrong.so"
    for k in range(5000):
        broken = mutated(data, rng) if k % 2 else data[:begin] + mutated(data[head], rng) + data[head.stop :]
        if broken == data:
            continue
        wrong.write_bytes(broken)
        with pytest.raises(gs.ArgumentError):
            gs.load(wrong)


def test_other_formats(tmp_path: Path) -> None:
    """A newer format is told from damage, and a manifest that makes no sense though its hash is right."""
    adding().build().export(tmp_path / "net.so")
    data = (tmp_path / "net.so").read_bytes()
    at = data.index(b"\x89gscompile") + 20
    for now, says in [
        (
            data[:at] + (2).to_bytes(4, "little") + data[at + 4 :],
            "it is of format 2, and this gscompile reads format 1",
        ),
        (data.replace(b'"graphs":[{', b'"graphs":[[[', 1), "its manifest makes no sense"),
        (data.replace(b'"outputs":', b'"outputz":', 1), "its manifest makes no sense"),
    ]:
        assert now != data
        (tmp_path / "other.so").write_bytes(manifest.sealed(now))
        with pytest.raises(gs.ArgumentError, match=says):
            gs.load(tmp_path / "other.so")
    with pytest.raises(gs.ArgumentError, match="this is no library that gscompile exported"):
        gs.load(__file__)
    with pytest.raises(gs.ArgumentError, match="cannot be read: No such file"):
        gs.load(tmp_path / "nowhere.so")
    adding().build().export(tmp_path / "net.o")
    with pytest.raises(gs.ArgumentError, match="it is no shared library"):
        gs.load(tmp_path / "net.o")


SCRIPT = """
import gscompile as gs

def lookup(b):
    return b.take(b.input("table", ("n", 64), "float32"), b.input("i", ("k",), "int64"))

def several():
    found = [gs.Builder("a"), gs.Builder("b")]
    for b in found:
        b.output(lookup(b))
    return found

def wrong():
    return 3
"""


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, library = tmp_path / "model.py", tmp_path / "lookup.so"
    script.write_text(SCRIPT)
    assert main(["compile", f"{script}:lookup", "-o", str(library), "--cpu", "v2,v3"]) == 0
    assert f"wrote {library}" in capsys.readouterr().out
    table = np.random.default_rng(0).random((9, 64), dtype="float32")
    assert_same(gs.load(library)(table, np.array([3, -1])), table[[3, -1]])
    assert main(["inspect", str(library)]) == 0
    said = capsys.readouterr().out
    for line in [
        "graph lookup, in C lookup, on cpu",
        "  in   table: float32 (n, 64)",
        '  take_2 by i, bounds="raise"',
        "needs (x86-64-v3): ",
        f"sha256 {manifest.read(library).digest.hex()}: ",
    ]:
        assert line in said
    assert main(["inspect", "--json", str(library)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["graphs"][0]["function"] == "lookup" and printed["sha256"] == manifest.read(library).digest.hex()
    assert main(["compile", f"{script}:several", "-o", str(tmp_path / "two.a"), "--prefix", "acme_"]) == 0
    assert "int acme_b(" in (tmp_path / "two.h").read_text()
    assert main(["compile", f"{script}:lookup", "-o", str(tmp_path / "firmware.o"), "--freestanding"]) == 0
    assert main(["inspect", str(tmp_path / "firmware.o")]) == 0
    assert ", freestanding llvm (" in capsys.readouterr().out
    capsys.readouterr()
    for what, says in [
        (f"{script}:wrong", "wrong must return a Builder, or several; got int"),
        (f"{script}:nothing", "model.py has no function 'nothing'"),
        (f"{tmp_path}/none.py:f", "there is no such script"),
    ]:
        assert main(["compile", what, "-o", str(library)]) == 1
        assert says in capsys.readouterr().err
    assert main(["inspect", str(script)]) == 2
    assert "this is no library that gscompile exported" in capsys.readouterr().err
