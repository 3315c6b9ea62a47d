"""Libraries for GPUs: a driver of the tests' own records what is launched, and runs the kernels on the CPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from gscompile.compiler import nvcc
from gscompile.deploy import cuda
from gscompile.ir import codegen
from tests.deploy.libraries import HERE, adding, run, tool
from tests.deploy.test_freestanding import strict

FLAGS = ["-Wall", "-Wextra", "-Werror", "-O1", "-g", "-D_GNU_SOURCE", "-pthread"]
SAID = """put_3: i[7] = -101 is out of range for axis 0 of data (100, 8): valid are -100 to 99
put_3: i[123] = 100 is out of range for axis 0 of data (100, 8): valid are -100 to 99
net: i is not aligned
net: put_3 overlaps s
net: size n is -1
"""

pytestmark = pytest.mark.skipif(nvcc.available() is None, reason="there is neither nvcc nor NVRTC")


def lookup() -> gs.Builder:
    b = gs.Builder("lookup")
    table = np.arange(24, dtype="float32").reshape(3, 8)
    b.output(b.take(b.constant(table), b.input("rows", ("k",), "int64")))
    return b


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """net.so, net.a, net.h, libcuda.so.1, and the kernels for the CPU."""
    folder = tmp_path_factory.mktemp("cuda")
    modules = [b.build({"kind": "cuda", "arch": "sm_90"}) for b in (adding(), lookup())]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "compile_cuda", cache(nvcc.compile_cuda))
        gs.export(modules, folder / "net.a", arch=["sm_80", "sm_90"], cc=strict("clang", folder))
        gs.export(modules, folder / "net.so", arch=["sm_80", "sm_90"], cc=strict("gcc", folder))
    fake = HERE / "fake_cuda"
    run(["gcc", *FLAGS, "-shared", "-fPIC", fake / "driver.c", "-o", folder / "libcuda.so.1", "-ldl"])
    (folder / "cuda.h").touch()
    objects = []
    for k, m in enumerate(modules):
        kernels = codegen.device_kernels(m._library)
        counts = "".join(f'extern "C" {{ int {name}_parameters = {len(kinds)}; }}\n' for name, kinds, _ in kernels)
        source = f'#include "{fake / "device.h"}"\n' if k == 0 else f'#include "{folder / "other.h"}"\n'
        (folder / f"kernels{k}.cc").write_text(source + m.source("cuda") + counts)
        objects.append(folder / f"kernels{k}.cc")
    header = (fake / "device.h").read_text()
    (folder / "other.h").write_text(header.replace("\nIndex blockIdx", "\nextern Index blockIdx"))
    run(["g++", "-O1", "-w", "-shared", "-fPIC", f"-I{folder}", *objects, "-o", folder / "kernels.so"])
    return folder


def environment(folder: Path, **extra: str) -> dict[str, str]:
    given = {"LD_LIBRARY_PATH": str(folder), "FAKE_CUDA_KERNELS": str(folder / "kernels.so")}
    return {**os.environ, **given, **extra}


def compiled(folder: Path, *flags: str) -> Path:
    program = folder / f"use{len(flags)}"
    found = [folder / "net.so", f"-Wl,-rpath,{folder}", "-o", program]
    run(["gcc", "-std=c11", *FLAGS, f"-I{folder}", HERE / "use_cuda.c", *flags, *found])
    return program


def test_a_program_runs(folder: Path) -> None:
    done = subprocess.run([compiled(folder)], capture_output=True, text=True, env=environment(folder))
    assert done.returncode == 0 and done.stdout == SAID, done.stderr[-3000:]
    calls = done.stderr.splitlines()
    first = calls[: calls.index("free stream (nil)") + 1]
    launches = [c for c in first if c.startswith("launch")]
    assert [c.split(":")[0] for c in launches] == [
        "launch net_kernel_1 grid 1 1 1 block 256 1 1 stream (nil)",
        "launch net_kernel_2 grid 1 1 1 block 256 1 1 stream (nil)",
    ]
    assert launches[1].endswith(" 300 100")  # k, n
    steps = ["retain", "load", "upload", "allocate", "clear", "launch", "launch", "read", "wait", "free"]
    assert [c.split(" ")[0] for c in first] == steps
    assert first[1] == "load cubin 90" and calls.count("load cubin 90") == 2  # once for each graph
    assert sum(c.startswith("retain") for c in calls) == 1 and calls.count("upload 96") == 1
    deferred = calls[calls.index("deferred") + 1 : calls.index("check")]
    assert [c.split(" ")[0] for c in deferred] == ["clear", "launch", "launch", "launch"] * 4
    given = [c for c in calls[: calls.index("deferred")] if "stream 0x5" in c]
    assert len(given) == 2 * 5 + 2 and not [
        c for c in given if re.match("allocate|free", c)
    ]  # in place nothing is copied


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"FAKE_CUDA_ARCH": "0"}, "7 net: there is no usable GPU: cuInit: CUDA_ERROR_NO_DEVICE"),
        ({"FAKE_CUDA_ARCH": "75"}, "7 net: the code for sm_90, sm_80, PTX of sm_80 cannot be loaded: find code: "),
        ({"FAKE_CUDA_FAILS": "cuModuleLoadData"}, "cannot be loaded: load_module: CUDA_ERROR_INVALID_VALUE"),
        ({"FAKE_CUDA_FAILS": "cuModuleGetFunction"}, "cannot be loaded: find_function: CUDA_ERROR_INVALID_VALUE"),
        ({"FAKE_CUDA_FAILS": "cuLaunchKernel"}, "7 net: a kernel cannot be launched: CUDA_ERROR_INVALID_VALUE"),
        ({"FAKE_CUDA_FAILS": "cuMemAllocAsync"}, "4 net: there is no room for 64 bytes of scratch memory: "),
        ({"FAKE_CUDA_FAILS": "cuStreamSynchronize"}, "7 net: kernels have failed: CUDA_ERROR_INVALID_VALUE"),
        ({"LD_LIBRARY_PATH": ""}, "7 net: there is no CUDA driver: libcuda.so.1: "),
    ],
)
def test_what_fails(folder: Path, settings: Mapping[str, str], says: str) -> None:
    done = subprocess.run(
        [compiled(folder), "fail"], capture_output=True, text=True, env=environment(folder, **settings)
    )
    assert done.returncode == 0 and says in done.stdout, (done.stdout, done.stderr[-3000:])
    if "find_function" in says:
        assert done.stderr.count("unload") == done.stderr.count("load cubin") == 2


def test_the_code_for_a_gpu(folder: Path) -> None:
    """Machine code of its generation that is not newer, else PTX."""
    for arch, loaded in [
        ("80", "cubin 80"),
        ("86", "cubin 80"),
        ("90", "cubin 90"),
        ("100", "ptx 80"),
        ("120", "ptx 80"),
    ]:
        env = environment(folder, FAKE_CUDA_ARCH=arch)
        done = subprocess.run([compiled(folder), "fail"], capture_output=True, text=True, env=env)
        assert re.findall("^load (.*)$", done.stderr, re.M) == [loaded], arch


def test_sanitizers(folder: Path) -> None:
    """The library is linked into the program."""
    program = folder / "use_static"
    link = [folder / "net.a", "-ldl", "-o", program]
    run(["gcc", "-std=c11", *FLAGS, "-fsanitize=address,undefined", f"-I{folder}", HERE / "use_cuda.c", *link])
    env = environment(folder, ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run([tool("setarch"), "-R", program], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and done.stdout == SAID, done.stderr[-3000:]


LOADED = """
import ctypes, sys
sys.modules.update({"tvm": None, "tvm_ffi": None})
import numpy as np, gscompile as gs
from gscompile.runtime.devices import stream_of_thread
f = gs.load(sys.argv[1], "net")
x, i, s = np.ones((100, 8), "float32"), np.arange(300) % 100, np.ones((300, 8), "float32")
room = np.zeros(800 + 16, "float32")
out = room[-room.ctypes.data % 16 // 4:][:800].reshape(100, 8)
status = (ctypes.c_int64 * 3)()
def call(threads=1):
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (x, i, s, out)]
    with stream_of_thread(("cuda", 0), 7):
        f._function(*arrays, ctypes.c_void_p(ctypes.addressof(status)), *[ctypes.c_void_p(0)] * 2, 300, 100, threads, 0)
call()
assert status[0] == 0 and (out == 4).all()
i[5] = -101
call()
call(0)
print(f._bounds_error(status, {"k": 300, "n": 100}))
try: f(x, i, s)
except gs.DeviceError as e: print(e)
"""


def test_loaded(folder: Path) -> None:
    command = [sys.executable, "-c", LOADED, folder / "net.so"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [
        "put_3: i[5] = -101 is out of range for axis 0 of data (100, 8): valid are -100 to 99",
        "net: input x must be on cuda; got cpu:0",
    ]
    assert len(re.findall("^launch .* stream 0x7:", done.stderr, re.M)) == 5


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"LD_LIBRARY_PATH": ""}, "there is no CUDA driver: libcuda.so.1"),
        ({"FAKE_CUDA_ARCH": "0"}, "there is no usable GPU: cuInit: CUDA_ERROR_NO_DEVICE"),
        ({"FAKE_CUDA_ARCH": "75"}, "it has code for sm_90, sm_80, PTX of sm_80, and this GPU is sm_75"),
    ],
)
def test_not_loaded(folder: Path, settings: Mapping[str, str], says: str) -> None:
    code = "import sys, gscompile as gs\ntry: gs.load(sys.argv[1], 'net')\nexcept gs.DeviceError as e: print(e)\n"
    command = [sys.executable, "-c", code, str(folder / "net.so")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(folder, **settings))
    assert done.returncode == 0 and says in done.stdout, (done.stdout, done.stderr[-3000:])


def test_what_it_needs_and_has(folder: Path) -> None:
    needs = re.findall(r"NEEDED.*\[(.*)\]", run([tool("readelf"), "-d", folder / "net.so"]))
    assert needs and {re.split(r"[.-]", n)[0] for n in needs} <= {"libc", "libm", "libdl", "libpthread", "ld"}
    names = set(re.findall(r" [A-TV-Z] (\S+)$", run([tool("nm"), "-D", "--defined-only", folder / "net.so"]), re.M))
    ends = ("", "_workspace", "_check", "_launch", "_explain")
    assert names == {"net_lacks", *(f"{f}{end}" for f in ("net", "lookup") for end in ends)}


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text(
        "def lookup(b):\n    return b.take(b.input('table', ('n', 64), 'float32'), b.input('i', ('k',), 'int64'))\n"
    )
    library = str(tmp_path / "lookup.so")
    options = ["--target", '{"kind": "cuda", "arch": "sm_80"}', "--arch", "sm_80,sm_90a", "-o", library]
    assert main(["compile", f"{tmp_path / 'model.py'}:lookup", *options]) == 0
    assert main(["inspect", library]) == 0
    assert "code for sm_90a, sm_80, PTX of sm_80" in capsys.readouterr().out


def test_what_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = adding().build({"kind": "cuda", "arch": "sm_80"})
    with pytest.raises(gs.ArgumentError, match="cpu= is not for cuda"):
        module.export(tmp_path / "net.so", cpu=["v2"])
    with pytest.raises(gs.ArgumentError, match=r"a library is for one system; got cuda \(sm_80\), llvm"):
        gs.export([module, adding("other").build()], tmp_path / "net.so")
    with pytest.raises(gs.ArgumentError, match="arch= is not for llvm"):
        adding().build().export(tmp_path / "net.so", arch=["sm_80"])
    with pytest.raises(gs.TargetError, match="needs a system with CUDA's driver"):
        module.export(tmp_path / "net.o", freestanding=True)
    with pytest.raises(gs.TargetError, match="a CUDA architecture looks like"):
        module.export(tmp_path / "net.so", arch=["80"])
    monkeypatch.setattr(nvcc, "_nvcc", lambda: None)
    monkeypatch.setattr(nvcc, "_nvrtc", lambda: None)
    with pytest.raises(gs.MissingExtraError, match="compiling CUDA C"):
        module.export(tmp_path / "net.so")
    assert not list(tmp_path.iterdir())
