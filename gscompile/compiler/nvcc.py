"""From the CUDA C++ that TVM writes to PTX or machine code: by NVRTC, in this process, or else by nvcc, which takes seconds.

No ``--use_fast_math``, which TVM's own call passes: it would flush denormals to zero and approximate division and ``sqrt``.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Literal

from gscompile.errors import DeviceError, MissingExtraError, TargetError, installation, missing_extra
from gscompile.ir import machine

TOOLKIT = "/usr/local/cuda"  # where NVIDIA's installers put it

# C++17 is what TVM's code needs; warnings would drown the errors in a log, and tell nothing to who did not write the code
OPTIONS = ("-std=c++17", "-w")

# The headers that the code may include if NVRTC is to get the two below: none of these needs more of libcu++ than they have.
_PLAIN_HEADERS = frozenset({"cstdint", "type_traits", "cuda.h", "cuda/std/cstdint", "cuda/std/type_traits"})
_PLAIN_HEADERS |= {"cuda_fp16.h", "cuda_bf16.h", "math_constants.h", "sm_61_intrinsics.h"}

# What TVM's code uses of libcu++, whose own headers take NVRTC seconds to read, where a kernel takes 50 ms.  64-bit integers
# are ``long``, as they are for nvcc (libcu++ has ``long long`` here), so that both compilers accept the same code.
_CSTDINT = """
#pragma once
namespace cuda { namespace std {
using int8_t = signed char;  using int16_t = short;  using int32_t = int;  using int64_t = long;
using uint8_t = unsigned char;  using uint16_t = unsigned short;  using uint32_t = unsigned;  using uint64_t = unsigned long;
static_assert(sizeof(int64_t) == 8, "");
} }
"""
_TYPE_TRAITS = """
#pragma once
namespace cuda { namespace std {
template <bool V> struct bool_constant { enum : bool { value = V }; };  // a static member would be a GPU variable
template <class A, class B> struct is_same : bool_constant<false> {};
template <class A> struct is_same<A, A> : bool_constant<true> {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <class T> struct is_integral : bool_constant<false> {};
template <class T> struct is_floating_point : bool_constant<false> {};
#define GS_INTEGRAL(T) template <> struct is_integral<T> : bool_constant<true> {};
GS_INTEGRAL(bool) GS_INTEGRAL(char) GS_INTEGRAL(signed char) GS_INTEGRAL(unsigned char) GS_INTEGRAL(short)
GS_INTEGRAL(unsigned short) GS_INTEGRAL(int) GS_INTEGRAL(unsigned) GS_INTEGRAL(long) GS_INTEGRAL(unsigned long)
GS_INTEGRAL(long long) GS_INTEGRAL(unsigned long long)
#undef GS_INTEGRAL
template <> struct is_floating_point<float> : bool_constant<true> {};
template <> struct is_floating_point<double> : bool_constant<true> {};
template <class T> struct is_integral<const T> : is_integral<T> {};
template <class T> struct is_integral<volatile T> : is_integral<T> {};
template <class T> struct is_floating_point<const T> : is_floating_point<T> {};
template <class T> struct is_floating_point<volatile T> : is_floating_point<T> {};
template <class T, bool = is_integral<T>::value> struct is_unsigned : bool_constant<(T(0) < T(-1))> {};
template <class T> struct is_unsigned<T, false> : bool_constant<false> {};
template <class T> struct is_signed
    : bool_constant<is_floating_point<T>::value || (is_integral<T>::value && !is_unsigned<T>::value)> {};
} }
"""


def available() -> str | None:
    """What :func:`compile_cuda` uses here: ``"nvrtc"``, ``"nvcc"``, or None if there is neither."""
    return "nvrtc" if _nvrtc() else "nvcc" if _nvcc() else None


def compile_cuda(source: str, arch: str, format: Literal["ptx", "cubin"]) -> bytes:
    """Compile CUDA C++ for one GPU architecture.

    Args:
        source: code without host functions, as TVM writes it.
        arch: ``sm_80``, ``sm_90a``, ...
        format: ``"ptx"``: assembly for this and any later architecture; ``"cubin"``: machine code.

    Raises:
        TargetError: the compiler rejects the source or does not know the architecture; its log is in the message.  Or nvcc is
        all there is, and no folder for temporary files can be written.
        MissingExtraError: there is neither nvcc nor NVRTC.
    """
    require_arch(arch)
    if nvrtc := _nvrtc():
        return _run_nvrtc(*nvrtc, source, arch, format)
    if nvcc := _nvcc():
        if folder := temporary_folder():
            return _run_nvcc(nvcc, source, arch, format, folder)
        hint = f"set TMPDIR to a folder that can be written, or install NVRTC, which needs none: {installation('cuda')}"
        raise TargetError(f"nvcc ({nvcc}) needs a folder for temporary files, and there is none: {hint}")
    error = missing_extra("NVRTC or a CUDA toolkit's nvcc", "cuda", "compiling CUDA C++")
    raise MissingExtraError(f"{error}, or put nvcc on PATH")


def require_arch(arch: str) -> None:
    """Raises TargetError unless this is how architectures are called."""
    if not re.fullmatch(r"sm_[1-9][0-9]{1,2}[af]?", arch):
        raise TargetError(f"a CUDA architecture looks like sm_80 or sm_90a; got {arch!r}")


@lru_cache(maxsize=1)
def configure_tvm() -> None:
    """Make TVM use what is here, from its next module for cuda on.

    TVM's CUDA runtime is loaded with the libcudart of NVIDIA's wheels where the system has none, and TVM calls
    :func:`compile_cuda` where it builds or loads a module while that runtime is there (without it, modules stay source);
    what that raises comes out of TVM.
    """
    machine.load_cuda_runtime(_find("lib*/libcudart.so.*"))
    machine.set_cuda_compiler(_compile_for_tvm, TargetError, DeviceError, MissingExtraError)


def _compile_for_tvm(source: str) -> bytes:
    """The code of a module, for the target that it is being built for, or for the GPU here if it was loaded as source.

    Raises:
        DeviceError: a module was loaded as source, and there is no GPU to compile it for.
    """
    here = machine.cuda_arch(0)
    arch = machine.current_cuda_arch() or here
    if arch is None:
        raise DeviceError("this module holds CUDA source, to be compiled for the GPU here, and there is none")
    # machine code is for one generation; PTX also runs on later ones
    return compile_cuda(source, arch, "ptx" if here is not None and _generation(here) > _generation(arch) else "cubin")


def _generation(arch: str) -> int:
    """9 for ``sm_90a``; 12 for ``sm_120``."""
    return int(re.sub(r"\D", "", arch)[:-1])


# -- nvcc -------------------------------------------------------------------------------------------------------------


def _nvcc() -> str | None:
    """The path of nvcc."""
    if found := shutil.which("nvcc"):
        return found
    return shutil.which("nvcc", path=os.pathsep.join(os.path.join(root, "bin") for root in _toolkits()))


def _toolkits() -> list[str]:
    """Where a CUDA toolkit may be."""
    return [root for root in (os.environ.get("CUDA_PATH"), TOOLKIT) if root]


def temporary_folder() -> str | None:
    """Where temporary files go; None where nothing can be written."""
    for folder in (None, "/dev/shm"):
        try:
            with tempfile.TemporaryFile(dir=folder):
                return folder or tempfile.gettempdir()
        except OSError:
            continue
    return None


def _run_nvcc(nvcc: str, source: str, arch: str, format: str, parent: str | None = None) -> bytes:
    with tempfile.TemporaryDirectory(prefix="gscompile-", dir=parent) as folder:
        code, result = Path(folder, "kernels.cu"), Path(folder, f"kernels.{format}")
        code.write_text(source, encoding="utf-8")
        command = [nvcc, f"--{format}", f"-arch={arch}", *OPTIONS, "-o", str(result), str(code)]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "TMPDIR": folder},
        )
        if done.returncode:
            raise TargetError(f"nvcc ({nvcc}) cannot compile this for {arch}:\n{done.stdout.strip()}")
        return result.read_bytes()


# -- NVRTC ------------------------------------------------------------------------------------------------------------


def _find(pattern: str) -> list[Path]:
    """Files and folders of NVIDIA's wheels, then of a toolkit; of each the newest version first.

    The wheels share the namespace package ``nvidia``: they lie in ``nvidia/cu13`` for CUDA 13, in ``nvidia/cuda_nvrtc``,
    ``nvidia/cuda_runtime`` and so on for CUDA 12.
    """
    spec = importlib.util.find_spec("nvidia")
    wheels = [
        path for root in (spec.submodule_search_locations if spec else None) or () for path in Path(root).glob("*")
    ]
    found = [
        sorted((p for root in roots for p in root.glob(pattern)), key=_version, reverse=True)
        for roots in (wheels, map(Path, _toolkits()))
    ]
    return [path for paths in found for path in paths]


def _version(library: Path) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", library.name)]


@lru_cache(maxsize=1)
def _nvrtc() -> tuple[Path, tuple[Path, ...]] | None:
    """The NVRTC library and the folders of its headers; None if there is not all of it.

    NVIDIA's wheel of the library comes without ``nv/target``, which a toolkit has, too.
    """
    libraries = _find("lib*/libnvrtc.so.*")
    if not libraries:
        return None
    # two CUDA versions may be installed at once: the library's own headers come first
    own = libraries[0].parent.parent
    folders = sorted([*_find("include"), *_find("include/cccl")], key=lambda p: not p.is_relative_to(own))
    complete = all(any(Path(f, name).is_file() for f in folders) for name in ("cuda_fp16.h", "nv/target"))
    return (libraries[0], tuple(folders)) if complete else None


@lru_cache(maxsize=1)
def _load(library: Path) -> ctypes.CDLL:
    """NVRTC, by ctypes: the package cuda-bindings would bring 30 MB for these few calls, and no longer runs on Python 3.10."""
    lib = ctypes.CDLL(str(library))
    string, size, program = ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p
    strings = ctypes.POINTER(string)
    created = ctypes.POINTER(program)
    lib.nvrtcGetErrorString.argtypes, lib.nvrtcGetErrorString.restype = [ctypes.c_int], string
    lib.nvrtcCreateProgram.argtypes = [created, string, string, ctypes.c_int, strings, strings]
    lib.nvrtcDestroyProgram.argtypes = [created]
    lib.nvrtcCompileProgram.argtypes = [program, ctypes.c_int, strings]
    for what in ("ProgramLog", "PTX", "CUBIN"):
        getattr(lib, f"nvrtcGet{what}Size").argtypes = [program, size]
        getattr(lib, f"nvrtcGet{what}").argtypes = [program, string]
    return lib


def _run_nvrtc(library: Path, include: tuple[Path, ...], source: str, arch: str, format: str) -> bytes:
    lib = _load(library)

    def check(status: int) -> None:
        if status:
            raise TargetError(f"NVRTC ({library}) fails for {arch}: {lib.nvrtcGetErrorString(status).decode()}")

    def get(what: str) -> bytes:
        size = ctypes.c_size_t()
        check(getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        check(getattr(lib, f"nvrtcGet{what}")(program, text))
        return text.raw

    def array(items: list[str]) -> ctypes.Array[ctypes.c_char_p]:
        return (ctypes.c_char_p * len(items))(*(x.encode() for x in items))

    headers = {}
    if set(re.findall(r"#\s*include\s*[<\"]([^>\"]+)", source)) <= _PLAIN_HEADERS:
        headers = {"cuda/std/cstdint": _CSTDINT, "cuda/std/type_traits": _TYPE_TRAITS}
    options = [
        f"--gpu-architecture={arch if format == 'cubin' else arch.replace('sm_', 'compute_')}",
        *OPTIONS,
        "--device-int128",  # 64 bit integers wrap in 128, of which the machine code keeps 64
        "-default-device",  # some helpers that TVM writes have no __device__
        "-DINFINITY=__int_as_float(0x7f800000)",  # TVM's warp reductions use it; NVRTC has no math.h
        *(f"-I{folder}" for folder in include),
    ]
    program = ctypes.c_void_p()
    arguments = (source.encode(), b"kernels.cu", len(headers), array([*headers.values()]), array([*headers]))
    check(lib.nvrtcCreateProgram(ctypes.byref(program), *arguments))
    try:
        if lib.nvrtcCompileProgram(program, len(options), array(options)):
            log = get("ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
            raise TargetError(f"NVRTC ({library}) cannot compile this for {arch}:\n{log}")
        # PTX comes as a C string
        return get("CUBIN") if format == "cubin" else get("PTX").rstrip(b"\0")
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))
