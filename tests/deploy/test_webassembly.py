"""Modules of WebAssembly, run by wasmtime."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.deploy import webassembly
from gscompile.runtime import arrays, manifest
from tests import graphs
from tests.deploy.libraries import adding, run
from tests.deploy.test_freestanding import half
from tests.oracle import Array, assert_same

TARGET = {"kind": "llvm", "mtriple": "wasm32-unknown-unknown"}


class Error(ctypes.Structure):
    """gs_error where addresses have 32 bits."""

    _fields_ = (
        ("code", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("position", ctypes.c_int64 * 16),
        ("numbers", ctypes.c_int64 * 4),
        ("op", ctypes.c_uint32),
        ("tensor", ctypes.c_uint32),
        ("text", ctypes.c_char * 512),
    )


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    """Without them there is nothing to test."""
    found = webassembly.missing()
    if found:
        pytest.skip(f"{', '.join(found)} of LLVM are not installed")


class Instance:
    """A module that runs, and its memory."""

    def __init__(self, path: Path) -> None:
        wasmtime = pytest.importorskip("wasmtime", reason="wasmtime, which runs WebAssembly, is not installed")
        self.store = wasmtime.Store()
        module = wasmtime.Module.from_file(self.store.engine, str(path))
        assert not module.imports, [i.name for i in module.imports]
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]
        self.free = int(self.exports["__heap_base"].value(self.store))

    def room(self, size: int) -> int:
        """The address of so many bytes."""
        self.free = (self.free + 63) // 64 * 64
        at, self.free = self.free, self.free + size
        pages = -(-(self.free - self.memory.data_len(self.store)) // 65536)
        if pages > 0:
            self.memory.grow(self.store, pages)
        return at

    def given(self, array: Array) -> int:
        """The address of an array's elements."""
        at = self.room(array.nbytes)
        self.memory.write(self.store, np.ascontiguousarray(array).tobytes(), at)
        return at

    def read(self, at: int, size: int) -> bytes:
        return bytes(self.memory.read(self.store, at, at + size))

    def call(self, name: str, *args: int) -> int:
        return int(self.exports[name](self.store, *args))

    def error(self, at: int) -> str:
        return bytes(Error.from_buffer_copy(self.read(at, ctypes.sizeof(Error))).text).decode()


def test_every_operator(tmp_path: Path) -> None:
    """Of 16 bits, whose sums need scratch memory."""
    samples = list(graphs.samples("bfloat16"))
    gs.export([s.builder.build(TARGET) for s in samples], tmp_path / "all.wasm")
    instance = Instance(tmp_path / "all.wasm")
    for entry, sample in zip(manifest.read(tmp_path / "all.wasm").entries, samples, strict=True):
        face = entry.interface
        sizes = list(face.extents([arrays.view(a) for a in sample.arrays]).numbers)
        room = instance.call(f"{entry.function}_workspace", *sizes)
        options = instance.given(np.array([0, 0, 0, 0, instance.room(room), 0], "uint32"))
        inputs = [instance.given(a) for a in sample.arrays]
        outs = [instance.room(w.nbytes) for w in sample.want]
        assert instance.call(entry.function, *inputs, *outs, *sizes, options, 0) == 0
        for at, want in zip(outs, sample.want, strict=True):
            assert_same(np.frombuffer(instance.read(at, want.nbytes), want.dtype).reshape(want.shape), want)


def test_errors_and_constants(tmp_path: Path) -> None:
    b = gs.Builder("lookup")
    table = np.arange(12.0, dtype="float32").reshape(3, 4)
    b.output(b.exp(b.take(b.constant(table), b.input("i", ("k",), "int64"))))
    gs.export([b.build(TARGET), adding().build(TARGET)], tmp_path / "net.wasm")
    instance = Instance(tmp_path / "net.wasm")
    i, out, error = instance.given(np.array([2, -3])), instance.room(32), instance.room(ctypes.sizeof(Error))
    assert instance.call("lookup", i, out, 2, 0, error) == 0
    found = np.frombuffer(instance.read(out, 32), "float32").reshape(2, 4)
    np.testing.assert_allclose(found, np.exp(table[[2, 0]]), rtol=1e-6)
    i = instance.given(np.array([2, 3]))
    assert instance.call("lookup", i, out, 2, 0, error) == 1
    assert instance.error(error) == "take_2: i[1] = 3 is out of range for axis 0 of data (3, 4): valid are -3 to 2"
    x = instance.given(np.zeros((4, 8), "float32"))
    assert instance.call("net", x, i, x, x + 32, 2, 4, 0, error) == 3
    assert instance.error(error) == "net: put_3 overlaps x"
    assert instance.call("net", x, i, x + 1, x, 2, 1 << 40, 0, error) == 3


def test_functions_of_libm_are_imports(tmp_path: Path) -> None:
    wasmtime = pytest.importorskip("wasmtime", reason="wasmtime, which runs WebAssembly, is not installed")
    b = gs.Builder("sines")
    b.output(b.sin(b.take(b.input("x", ("n",), "float32"), b.input("i", ("k",), "int64"))))
    b.build(TARGET).export(tmp_path / "net.wasm")
    module = wasmtime.Module.from_file(wasmtime.Engine(), str(tmp_path / "net.wasm"))
    assert [(i.module, i.name) for i in module.imports] == [("env", "sinf")]


def test_objects(tmp_path: Path) -> None:
    """They need nothing, and show only their functions; two can be linked together."""
    nm = webassembly.newest("llvm-nm")
    for name, prefix in (("one.o", "one_"), ("two.a", "two_")):
        gs.export([adding().build(TARGET), half().build(TARGET)], tmp_path / name, prefix=prefix)
        listed = run([nm, tmp_path / name])
        names = {f"{prefix}{f}{end}" for f in ("net", "half") for end in ("", "_workspace")}
        assert set(re.findall(r" [A-TV-Z] (\S+)$", listed, re.M)) == names
        # of every module: its stack, and the table of its functions
        assert set(re.findall(r" U (\S+)$", listed, re.M)) <= {"__stack_pointer", "__indirect_function_table"}
    ld = webassembly.newest("wasm-ld")
    flags = ["--no-entry", "--export=one_net", "--export=two_net", "--fatal-warnings"]
    run([ld, *flags, "--whole-archive", tmp_path / "one.o", tmp_path / "two.a", "-o", tmp_path / "both.wasm"])
    assert manifest.read(tmp_path / "one.o").triple == TARGET["mtriple"]


def test_what_it_refuses(tmp_path: Path) -> None:
    module: Any = adding().build(TARGET)
    with pytest.raises(gs.ArgumentError, match=r"is no shared one: its path ends in .a or .o or .wasm"):
        module.export(tmp_path / "net.so")
    with pytest.raises(gs.ArgumentError, match=r".wasm is for modules built for"):
        adding().build().export(tmp_path / "net.wasm")
    with pytest.raises(gs.TargetError, match="are for wasm32; got wasm64"):
        adding().build({"kind": "llvm", "mtriple": "wasm64-unknown-unknown"}).export(tmp_path / "net.wasm")
    module.export(tmp_path / "net.wasm")
    with pytest.raises(gs.DeviceError, match="it is for wasm32-unknown-unknown, and this process runs on"):
        gs.load(tmp_path / "net.wasm")
