"""The C of a library for GPUs, and the code for GPUs inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from gscompile.compiler.nvcc import compile_cuda
from gscompile.deploy import text
from gscompile.deploy.source import HERE, Function, arguments, constant_name, function, kernel_symbol
from gscompile.errors import TargetError
from gscompile.ir import codegen

_EXTENTS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")


@dataclass(frozen=True, slots=True)
class Image:
    """A graph's kernels for an architecture.

    Attributes:
        arch: ``sm_90``.
        kernels: names, numbers of parameters, and what the numbers after these are extents of.
        cubin: machine code.
        ptx: for later architectures; empty for none.
    """

    arch: str
    kernels: Sequence[tuple[str, int, Sequence[int]]]
    cubin: bytes
    ptx: bytes

    @staticmethod
    def of(library: Any, arch: str, later: bool) -> Image:
        """What TVM's module holds.

        Args:
            later: with PTX.

        Raises:
            TargetError: the compiler does not know the architecture, or rejects the code.  MissingExtraError: there is none.
        """
        kernels = []
        for name, kinds, tags in codegen.device_kernels(library):
            if strange := [x for x in kinds if not x.startswith(("handle", "int", "uint"))] + [
                x for x in tags if x not in _EXTENTS
            ]:
                raise TargetError(f"export: kernel {name} takes {strange[0]}, which libraries cannot pass")
            kernels.append((name, len(kinds), [_EXTENTS.index(x) for x in tags]))
        code = codegen.device_source(library)
        ptx = compile_cuda(code, arch, "ptx") if later else b""
        return Image(arch, kernels, compile_cuda(code, arch, "cubin"), ptx)


def generation(arch: str) -> tuple[int, int, bool]:
    """Major and minor number, and whether code for it is for no later one."""
    number = re.sub(r"\D", "", arch)
    return int(number[:-1]), int(number[-1]), arch[-1] in "af"


def symbol(kind: str, number: int, level: int) -> str:
    """Of an image, its cubin or its PTX."""
    return f"gs_{kind}_{number}_{level}"


def source(functions: Sequence[Function], images: Sequence[Sequence[Image]], stem: str, manifest: bytes) -> str:
    """The library's own C file.

    Args:
        images: of each function, the best first.
    """
    parts = [
        "#define _GNU_SOURCE\n",
        *((HERE / file).read_text() for file in ("public.h", "libc.h", "run.h", "cuda.h")),
        f"__attribute__((used)) static const unsigned char gs_manifest[] = {{{text.bytes_of(manifest)}}};\n",
    ]
    for number, (f, each) in enumerate(zip(functions, images, strict=True)):
        run = (
            f"    return gs_run(&gs_graph_{number}, &gs_device_{number}, arrays, size, workspace, {f.status_bytes},\n"
            "                  options, args, status, error);"
        )
        parts += [function(f, number, _device(f, number, each), run), _check(f, number)]
    parts.append(_for_loaders(functions, stem))
    return "\n".join(parts)


def _device(f: Function, number: int, images: Sequence[Image]) -> str:
    """The table of a graph's images."""
    lines, rows = [], []
    for level, image in enumerate(images):
        host, cubin, ptx = kernel_symbol(f.name, level), symbol("cubin", number, level), symbol("ptx", number, level)
        lines.append(f"int {host}(void *, GsAny *, int32_t, GsAny *);\nextern const unsigned char {cubin}[];")
        if image.ptx:
            lines.append(f"extern const unsigned char {ptx}[];")
        kernels = []
        for k, (name, parameters, extents) in enumerate(image.kernels):
            own = symbol("extents", number, level) + f"_{k}"
            lines.append(f"static const unsigned char {own}[] = {{{', '.join(map(str, extents)) or '0'}}};")
            kernels.append(f"{{{text.string(name)}, {parameters}, {len(extents)}, {own}}}")
        table = symbol("kernels", number, level)
        lines.append(f"static const GsDeviceKernel {table}[] = {{{', '.join(kernels) or '{NULL, 0, 0, NULL}'}}};")
        major, minor, exact = generation(image.arch)
        later = ptx if image.ptx else "NULL"
        rows.append(f"    {{{major}, {minor}, {int(exact)}, {cubin}, {later}, {table}, {len(image.kernels)}, {host}}},")
    constants = [(constant_name(number, k), len(data)) for k, data in enumerate(f.constants)]
    lines += [f"extern const unsigned char {name}[];" for name, _ in constants]
    filled = ", ".join(f"{{{name}, {size}}}" for name, size in constants) or "{NULL, 0}"
    names = ", ".join(i.arch for i in images) + "".join(f", PTX of {i.arch}" for i in images if i.ptx)
    lines.append(f"static const GsImage gs_images_{number}[] = {{\n" + "\n".join(rows) + "\n};")
    for level in range(len(images)):  # where TVM's host code looks for its kernels
        lines.append(f"const GsImage *{symbol('image', number, level)} = &gs_images_{number}[{level}];")
    lines.append(f"static const GsConstant gs_constants_{number}[] = {{{filled}}};")
    lines.append(
        f"static GsDevice gs_device_{number} = {{gs_images_{number}, {len(images)}, {text.string(names)},\n"
        f"                              gs_constants_{number}, {len(constants)}, NULL}};"
    )
    return "\n".join(lines)


def _check(f: Function, number: int) -> str:
    """The function that says what calls have found that did not wait."""
    return dedent(
        f"""
        GS_PUBLIC int {f.name}_check(void *stream, gs_error *error);
        GS_PUBLIC int {f.name}_check(void *stream, gs_error *error) {{
            int64_t record[{f.interface.kept_length}];
            return gs_check_kept(&gs_graph_{number}, &gs_device_{number}, record, stream, error);
        }}
        """
    )


def public(functions: Sequence[Function], stem: str) -> list[str]:
    """The library's symbols."""
    return [
        f"{stem}_lacks",
        *(f"{f.name}{end}" for f in functions for end in ("", "_workspace", "_check", "_launch", "_explain")),
    ]


def _for_loaders(functions: Sequence[Function], stem: str) -> str:
    """What a process calls that loads the library and has status and scratch memory of its own."""
    parts = [
        f"""
        /* What is lacking here, NULL for nothing. */
        GS_PUBLIC const char *{stem}_lacks(void);
        GS_PUBLIC const char *{stem}_lacks(void) {{ return gs_device_lacks(&gs_device_0); }}
        """
    ]
    parts += [
        f"""
        GS_PUBLIC int {f.name}_launch(void *stream, const GsAny *args, int32_t count, gs_error *error);
        GS_PUBLIC int {f.name}_launch(void *stream, const GsAny *args, int32_t count, gs_error *error) {{
            if (count != {arguments(f)})
                return GS_ARGUMENT;
            return gs_launch_all(&gs_graph_{number}, &gs_device_{number}, stream, args, count, error);
        }}

        GS_PUBLIC void {f.name}_explain(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *error);
        GS_PUBLIC void {f.name}_explain(int32_t check, int64_t at, int64_t number, const int64_t *size, gs_error *error) {{
            gs_explain_{number}(check, at, number, size, error);
        }}
        """
        for number, f in enumerate(functions)
    ]
    return "\n".join(map(dedent, parts))
