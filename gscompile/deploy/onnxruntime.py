"""The C by which the graphs of a library are custom operators of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from gscompile.deploy import text
from gscompile.deploy.source import HERE, Function
from gscompile.errors import DTypeError
from gscompile.ir.dims import Shape, SymDim, shape_str, symbols
from gscompile.runtime.interface import Argument

REGISTER = "RegisterCustomOps"  # what ONNX Runtime looks for in a library

# onnx.TensorProto.DataType of the types that ONNX Runtime has tensors of
NUMBERS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}


def source(functions: Sequence[Function], domain: str) -> str:
    """What follows the functions themselves in the library's C file: they are operators of this domain."""
    rows = "".join(f"\n    {_row(f, number)}," for number, f in enumerate(functions))
    return "\n".join(
        [
            (HERE / "onnxruntime.h").read_text(),
            *(_operator(f, number) for number, f in enumerate(functions)),
            f"static const GsOperator gs_operators[] = {{{rows}\n}};\n",
            f"GS_PUBLIC OrtStatus *{REGISTER}(OrtSessionOptions *options, const OrtApiBase *base);",
            f"GS_PUBLIC OrtStatus *{REGISTER}(OrtSessionOptions *options, const OrtApiBase *base) {{",
            f"    return gs_register({text.string(domain)}, gs_operators, {len(functions)}, options, base);\n}}\n",
        ]
    )


def _axes(f: Function) -> dict[str, tuple[int, int]]:
    """Of each size the axis that tells it: an input's number and the axis's."""
    found: dict[str, tuple[int, int]] = {}
    for k, v in enumerate(f.interface.inputs):
        for axis, d in enumerate(v.shape):
            if isinstance(d, SymDim) and symbols(d) == {str(d)}:
                found.setdefault(str(d), (k, axis))
    return found


def _operator(f: Function, number: int) -> str:
    face, axes = f.interface, _axes(f)
    position = {name: k for k, name in enumerate(axes)}
    tensors = [*face.inputs, *face.outputs]
    names = [*f.inputs, *f.outputs]
    shapes = [
        f"extents[{k}] = {text.size(d, lambda name: f'size[{position[name]}]')};"
        for k, d in enumerate(d for v in tensors for d in v.shape)
    ]
    arguments = [f"{'const ' if k < len(face.inputs) else ''}{text.element(v.dtype)} *" for k, v in enumerate(tensors)]
    passed = [f"({kind})data[{k}]" for k, kind in enumerate(arguments)]
    passed += [f"size[{position[name]}]" for name in face.symbols]
    rows = ", ".join(_tensor(name, v) for (name, _), v in zip(names, tensors, strict=True))
    pairs = list(face.in_place.items())
    return dedent(
        """
        static const GsTensor gs_tensors_{number}[] = {{{rows}}};
        static const GsAxis gs_axes_{number}[] = {{{axes}}};

        static int gs_shapes_{number}(const int64_t *size, int64_t *extents) {{
            int bad = 0;
            (void)size, (void)extents;
            {shapes}
            return bad;
        }}

        static int gs_call_{number}(void *const *data, const int64_t *size, const gs_options *options, gs_error *error) {{
            (void)size;
            return {name}({passed}, options, error);
        }}

        static size_t gs_in_place_{number}(int **inputs, int **outputs) {{
            static int in[] = {{{overwritten}}}, out[] = {{{written}}};
            *inputs = in;
            *outputs = out;
            return {pairs};
        }}
        """
    ).format(
        number=number,
        rows=rows,
        axes=", ".join(f"{{{k}, {axis}}}" for k, axis in axes.values()) or "{0, 0}",
        shapes="\n    ".join(shapes),
        name=f.name,
        passed=", ".join(passed),
        overwritten=", ".join(str(k) for _, k in pairs) or "0",
        written=", ".join(str(k) for k, _ in pairs) or "0",
        pairs=len(pairs),
    )


def _row(f: Function, number: int) -> str:
    face = f.interface
    extents = sum(len(v.shape) for v in (*face.inputs, *face.outputs))
    counts = f"{len(face.inputs)}, {len(face.outputs)}, {len(_axes(f))}, {extents}"
    own = ", ".join(f"gs_{what}_{number}" for what in ("tensors", "axes", "shapes", "call"))
    return f"{{GS_OPERATOR(gs_in_place_{number}), {text.string(f.name)}, {counts}, {own}}}"


def _tensor(name: str, v: Argument) -> str:
    if v.dtype.name not in NUMBERS:
        raise DTypeError(f"export: ONNX Runtime has no tensors of {v.dtype}, the type of {name}")
    shape: Shape = v.shape
    return f"{{{text.string(name)}, {text.string(shape_str(shape))}, {NUMBERS[v.dtype.name]}, {len(shape)}}}"
