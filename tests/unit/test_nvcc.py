"""Compiling CUDA C++ with what is here: nvcc, or NVRTC from NVIDIA's wheels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gscompile as gs
from gscompile.compiler import nvcc
from gscompile.ir import machine

# each way of compiling, where it is there
RUN = {
    "nvcc": lambda *args: nvcc._run_nvcc(nvcc._nvcc(), *args),
    "nvrtc": lambda *args: nvcc._run_nvrtc(*nvcc._nvrtc(), *args),
}
HERE = {"nvcc": nvcc._nvcc() is not None, "nvrtc": nvcc._nvrtc() is not None}
with_compiler = pytest.mark.skipif(nvcc.available() is None, reason="needs nvcc, or the extra cuda")
with_each = pytest.mark.parametrize(
    "compiler",
    [
        pytest.param(name, marks=pytest.mark.skipif(not here, reason=f"{name} is not installed"))
        for name, here in HERE.items()
    ],
)

KERNEL = """
extern "C" __global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2.0f;
}
"""


def check(result: bytes, format: str, arch: str, name: str) -> None:
    assert name.encode() in result
    if format == "ptx":
        assert f".target {arch}\n" in result.decode()
        assert f".entry {name}(" in result.decode()
        assert b"\0" not in result
    else:
        assert result.startswith(b"\x7fELF")


@with_each
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("format", ["ptx", "cubin"])
def test_compiles(compiler: str, arch: str, format: str) -> None:
    check(RUN[compiler](KERNEL, arch, format), format, arch, "twice")


@with_each
def test_an_architecture_with_a_suffix(compiler: str) -> None:
    check(RUN[compiler](KERNEL, "sm_90a", "ptx"), "ptx", "sm_90a", "twice")


@with_each
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_compiles_what_tvm_writes(compiler: str, dtype: str) -> None:
    b = gs.Builder("rows")
    x, i = b.input("x", ("n", 64), dtype), b.input("i", ("m",), "int32")
    y = b.take(x, i)
    b.output(y, b.add(y, y), b.scatter(y, b.input("at", ("m", 64), "int64"), y, 0, reduction="max"))
    source = b.build(target={"kind": "cuda", "arch": "sm_80"}).source("cuda")
    assert "rows_kernel" in source
    check(RUN[compiler](source, "sm_80", "cubin"), "cubin", "sm_80", "rows_kernel")


TRAITS = """
static_assert(std::is_same_v<int64_t, long> && !std::is_same_v<int, long>, "");
static_assert(std::is_integral<const bool>::value && std::is_integral<uint8_t>::value, "");
static_assert(!std::is_integral<float>::value && std::is_floating_point<const double>::value, "");
static_assert(std::is_signed<int8_t>::value && std::is_signed<float>::value && !std::is_signed<uint64_t>::value, "");
static_assert(std::is_unsigned<bool>::value && std::is_unsigned<uint16_t>::value && !std::is_unsigned<long>::value, "");
static_assert(!std::is_unsigned<double>::value && !std::is_integral<void*>::value, "");
static_assert(std::is_same<std::conditional<true, int, float>::type, int>::value, "");
static_assert(std::is_same<std::conditional<false, int, float>::type, float>::value, "");
static_assert(std::is_same<std::enable_if<true, int>::type, int>::value, "");
"""


@with_each
def test_tvm_header_means_the_same_to_both(compiler: str) -> None:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", 64), "float32"), b.input("i", ("m",), "int32")))
    source = b.build(target={"kind": "cuda", "arch": "sm_80"}).source("cuda")
    RUN[compiler](source + TRAITS, "sm_80", "ptx")


@pytest.mark.skipif(not HERE["nvrtc"], reason="nvrtc is not installed")
def test_code_that_needs_more_of_libcu_gets_its_own_headers() -> None:
    source = "#include <cuda/std/limits>\n#include <cuda/std/type_traits>\n" + KERNEL.replace(
        "2.0f", "cuda::std::numeric_limits<cuda::std::decay_t<const float&>>::infinity()"
    )
    check(RUN["nvrtc"](source, "sm_80", "ptx"), "ptx", "sm_80", "twice")


@with_each
def test_no_fast_math(compiler: str) -> None:
    kernel = 'extern "C" __global__ void k(float* x) { x[0] = sqrtf(x[0]) / x[1]; }'
    ptx = RUN[compiler](kernel, "sm_80", "ptx").decode()
    assert "sqrt.rn.f32" in ptx
    assert "div.rn.f32" in ptx


@with_each
def test_the_log_is_in_the_error(compiler: str) -> None:
    with pytest.raises(gs.TargetError, match="cannot compile this for sm_80") as e:
        RUN[compiler]('extern "C" __global__ void k(float* x) { *x = no_such_name; }', "sm_80", "ptx")
    assert '"no_such_name" is undefined' in str(e.value)


@with_each
def test_an_architecture_that_the_compiler_does_not_know(compiler: str) -> None:
    with pytest.raises(gs.TargetError, match="sm_99"):
        RUN[compiler](KERNEL, "sm_99", "ptx")


@pytest.mark.parametrize("arch", ["", "90", "compute_90", "sm_90 -v", "sm_", "sm_9"])
def test_what_is_no_architecture(arch: str) -> None:
    with pytest.raises(gs.TargetError, match="looks like sm_80"):
        nvcc.compile_cuda(KERNEL, arch, "ptx")


@with_compiler
def test_compile_cuda_uses_what_is_available() -> None:
    assert nvcc.available() == ("nvrtc" if HERE["nvrtc"] else "nvcc")
    check(nvcc.compile_cuda(KERNEL, "sm_90", "ptx"), "ptx", "sm_90", "twice")


@with_compiler
def test_ptx_of_a_module() -> None:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", 64), "bfloat16"), b.input("i", ("m",), "int32")))
    ptx = b.build(target={"kind": "cuda", "arch": "sm_90"}).source("ptx")
    assert ".target sm_90" in ptx
    assert "rows_kernel" in ptx


# -- what is there


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Neither compiler: PATH, CUDA_PATH and the path of Python packages lead to empty folders."""
    for name in ("bin", "packages"):
        tmp_path.joinpath(name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setattr(nvcc, "TOOLKIT", str(tmp_path / "toolkit"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    for name in [n for n in sys.modules if n.partition(".")[0] == "nvidia"]:
        monkeypatch.delitem(sys.modules, name)
    nvcc._nvrtc.cache_clear()
    yield tmp_path
    nvcc._nvrtc.cache_clear()


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(0o755)


def test_neither_names_the_extra(empty: Path) -> None:
    assert nvcc.available() is None
    with pytest.raises(gs.MissingExtraError, match=r"pip install '\.\[cuda\]', or put nvcc on PATH"):
        nvcc.compile_cuda(KERNEL, "sm_80", "ptx")


@pytest.mark.parametrize("place", ["bin", "cuda/bin", "toolkit/bin"])
def test_nvcc_is_found(empty: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_PATH", str(empty / "cuda"))
    assert nvcc.available() is None
    touch(empty, f"{place}/nvcc")
    assert nvcc.available() == "nvcc"
    assert nvcc._nvcc() == str(empty / place / "nvcc")


def test_the_wheels_of_cuda_13(empty: Path) -> None:
    root = empty / "packages/nvidia/cu13"
    touch(root, "lib/libnvrtc.so.13", "lib/libnvrtc-builtins.so.13.5", "lib/libnvrtc.alt.so.13", "include/cuda_fp16.h")
    assert nvcc.available() is None  # no nv/target, which cuda_fp16.h includes
    touch(root, "include/nv/target", "include/cccl/cuda/std/cstdint")
    nvcc._nvrtc.cache_clear()
    assert nvcc.available() == "nvrtc"
    assert nvcc._nvrtc() == (root / "lib/libnvrtc.so.13", (root / "include", root / "include/cccl"))


def test_the_newest_of_two_versions_with_its_own_headers_first(empty: Path) -> None:
    root = empty / "packages/nvidia"
    touch(root, "cuda_nvrtc/lib/libnvrtc.so.12", "cuda_runtime/include/cuda_fp16.h", "cuda_cccl/include/nv/target")
    assert nvcc._nvrtc() is not None
    assert nvcc._nvrtc()[0].name == "libnvrtc.so.12"
    touch(root, "cu13/lib/libnvrtc.so.13", "cu13/include/cuda_fp16.h", "cu13/include/nv/target")
    nvcc._nvrtc.cache_clear()
    library, folders = nvcc._nvrtc()
    assert library == root / "cu13/lib/libnvrtc.so.13"
    assert folders[0] == root / "cu13/include"


@pytest.mark.parametrize("place", ["cuda", "toolkit"])
def test_headers_that_the_wheels_lack_are_a_toolkits(empty: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_PATH", str(empty / "cuda"))
    wheel, toolkit = empty / "packages/nvidia/cu13", empty / place
    touch(wheel, "lib/libnvrtc.so.13", "include/cuda_fp16.h")
    assert nvcc._nvrtc() is None
    touch(toolkit, "bin/nvcc", "lib64/libnvrtc.so.13", "include/cuda_fp16.h", "include/cccl/nv/target")
    nvcc._nvrtc.cache_clear()
    assert nvcc.available() == "nvrtc"
    library, folders = nvcc._nvrtc()
    assert library == wheel / "lib/libnvrtc.so.13"
    assert folders == (wheel / "include", toolkit / "include", toolkit / "include/cccl")
    (wheel / "lib/libnvrtc.so.13").unlink()
    nvcc._nvrtc.cache_clear()
    library, folders = nvcc._nvrtc()
    assert library == toolkit / "lib64/libnvrtc.so.13"
    assert folders[0] == toolkit / "include"


# -- TVM


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What compile_cuda is asked for, in place of compiling."""
    seen: list[tuple[str, str]] = []

    def compile(source: str, arch: str, format: str) -> bytes:
        seen.append((arch, format))
        return b"code"

    monkeypatch.setattr(nvcc, "compile_cuda", compile)
    return seen


@pytest.mark.parametrize(
    ("here", "arch", "want"),
    [
        (None, "sm_90", ("sm_90", "cubin")),
        ("sm_86", "sm_80", ("sm_80", "cubin")),
        ("sm_80", "sm_90", ("sm_90", "cubin")),
        ("sm_120", "sm_90", ("sm_90", "ptx")),
        ("sm_90", None, ("sm_90", "cubin")),
    ],
)
def test_what_tvm_is_given(
    here: str | None, arch: str | None, want: tuple[str, str], calls: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cuda_arch", lambda device: here)
    monkeypatch.setattr(machine, "current_cuda_arch", lambda: arch)
    assert nvcc._compile_for_tvm("source") == b"code"
    assert calls == [want]


def test_source_without_a_gpu_to_compile_it_for(calls: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cuda_arch", lambda device: None)
    with pytest.raises(gs.DeviceError, match="there is none"):
        nvcc._compile_for_tvm("source")
    assert not calls


def test_tvm_calls_back_with_the_target_and_lets_errors_through(
    calls: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    import tvm_ffi

    nvcc.configure_tvm()
    nvcc.configure_tvm()
    callback = tvm_ffi.get_global_func("tvm_callback_cuda_compile")
    monkeypatch.setattr(machine, "cuda_arch", lambda device: None)
    with machine.target({"kind": "cuda", "arch": "sm_90"}):
        assert callback("source") == b"code"
    assert calls == [("sm_90", "cubin")]
    with pytest.raises(gs.DeviceError):  # no target
        callback("source")
    with machine.target({"kind": "llvm"}), pytest.raises(gs.DeviceError):
        callback("source")
    for error in (gs.TargetError, gs.MissingExtraError):

        def fail(*args: object, error: type[Exception] = error) -> bytes:
            raise error("why")

        monkeypatch.setattr(nvcc, "compile_cuda", fail)
        with machine.target({"kind": "cuda", "arch": "sm_90"}), pytest.raises(error, match="why"):
            callback("source")


def test_nvcc_without_a_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only file system: NVRTC needs none, and nvcc alone says what is missing."""

    def refuse(**_: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(nvcc.tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(nvcc, "_nvcc", lambda: "/usr/bin/nvcc")
    monkeypatch.setattr(nvcc, "_nvrtc", lambda: None)
    assert nvcc.temporary_folder() is None
    with pytest.raises(gs.TargetError, match=r"needs a folder for temporary files, and there is none: set TMPDIR"):
        nvcc.compile_cuda("", "sm_80", "ptx")
    monkeypatch.setattr(nvcc, "_nvrtc", lambda: ("library", ()))
    monkeypatch.setattr(nvcc, "_run_nvrtc", lambda library, include, source, arch, format: b"by NVRTC")
    assert nvcc.compile_cuda("", "sm_80", "ptx") == b"by NVRTC"


ONLY_A_DRIVER = """
import ctypes, sys
ctypes.CDLL(sys.argv[1])  # the driver
from gscompile.compiler import nvcc
nvcc._nvcc = lambda: None
import gscompile as gs, tvm_ffi
b = gs.Builder("net")
b.output(b.take(b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")))
for arch in ("sm_80", "sm_90", "sm_100"):
    m = b.build({"kind": "cuda", "arch": arch})
    assert f".target {arch}" in m.source("ptx") and m.resources()
b.build({"kind": "cuda", "arch": "sm_80"}).export(sys.argv[2], arch=["sm_80", "sm_90"])
print(tvm_ffi.get_global_func("device_api.cuda", allow_missing=True) is not None)
"""


@pytest.mark.skipif(
    nvcc._nvrtc() is None or not nvcc._find("lib*/libcudart.so.*"), reason="NVIDIA's wheels are not here: '.[cuda]'"
)
def test_the_wheels_suffice_where_there_is_only_a_driver(tmp_path: Path) -> None:
    """No nvcc, and nothing in the environment: NVRTC compiles, and TVM's CUDA runtime finds its libcudart."""
    wanted = "cuDeviceGetName cuFuncSetAttribute cuGetErrorName cuGetErrorString cuLaunchKernelEx cuModuleGetFunction "
    wanted += "cuModuleLoadData cuModuleUnload cuTensorMapEncodeTiled"
    source, driver = tmp_path / "driver.c", tmp_path / "libcuda.so.1"
    source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in wanted.split()))
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source, "-o", driver], check=True)
    env = {k: v for k, v in os.environ.items() if k in ("HOME", "PYTHONPATH", "TMPDIR")} | {"PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", ONLY_A_DRIVER, str(driver), str(tmp_path / "net.so")]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "True" and (tmp_path / "net.so").exists()
