"""What is in a model's file: the proto, tensors as arrays, inputs as shapes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from gscompile.errors import ArgumentError, DTypeError, GraphError, ShapeError
from gscompile.ir.dims import Dim, SymDim, as_shape
from gscompile.ir.types import DType, TensorType
from gscompile.onnx.node import Array, dtype_of, quoted, shortened

MAX_NAME = 200  # characters of an identifier; a model's name may be of any length


def load(model: Any) -> tuple[Any, Path | None]:
    """The ModelProto of a path, of bytes or of itself, and the directory of its external data where that is known."""
    proto, directory = _parsed(model)
    _check_text(proto)
    return proto, directory


def _check_text(proto: Any) -> None:
    """Raises GraphError for a name that is not UTF-8, which protobuf gives as bytes."""
    rest = [proto]  # messages may be nested to any depth
    while rest:
        for field, x in rest.pop().ListFields():
            values = [x] if isinstance(x, (str, bytes)) or hasattr(x, "ListFields") else x
            if field.type == field.TYPE_MESSAGE:
                rest.extend(values)
            elif field.type == field.TYPE_STRING and any(isinstance(y, bytes) for y in values):
                raise GraphError(f"import_model: {field.full_name} is no text: {shortened(repr(x))}")


def _parsed(model: Any) -> tuple[Any, Path | None]:
    if isinstance(model, onnx.ModelProto):
        return model, None
    try:
        if isinstance(model, bytes):
            return onnx.load_model_from_string(model), None
        path = Path(model)
    except TypeError:
        raise ArgumentError(f"import_model: a path, bytes or an onnx.ModelProto is needed; got {model!r}") from None
    except Exception as e:
        raise GraphError(f"import_model: these bytes are no ONNX model: {e}") from e
    try:
        return onnx.load(path, load_external_data=False), path.resolve().parent
    except OSError as e:
        raise ArgumentError(f"import_model: cannot read {path}: {e.strerror}") from e
    except Exception as e:  # protobuf, its text and JSON parsers have no common class
        raise GraphError(f"import_model: {path} is no ONNX model: {e}") from e


# -- tensors ----------------------------------------------------------------------------------------------------------


def array_of(proto: Any, directory: Path | None, what: str) -> tuple[Array, DType]:
    """A TensorProto's elements: a view of its bytes or of its file where they need no conversion.

    Raises:
        DTypeError: gscompile has no such type.  GraphError: too few or too many bytes, or a file that is not to be read.
    """
    d = dtype_of(proto.data_type, what)
    shape = tuple(proto.dims)
    if any(n < 0 for n in shape):
        raise ShapeError(f"{what}: negative extent in shape {shape}")
    count = math.prod(shape)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        return shaped(_external(proto, d, count * d.itemsize, directory, what), shape, what), d
    if proto.HasField("raw_data"):
        raw = proto.raw_data
        if len(raw) != count * d.itemsize:
            raise GraphError(f"{what}: {d}{shape} needs {count * d.itemsize} bytes; got {len(raw)}")
        return shaped(np.frombuffer(raw, d.numpy), shape, what), d
    try:
        array = onnx.numpy_helper.to_array(proto)
    except Exception as e:
        raise GraphError(f"{what}: its data cannot be read: {e}") from e
    return np.asarray(array, d.numpy), d


def shaped(elements: Array, shape: tuple[int, ...], what: str) -> Array:
    """As many elements as the shape has, in it.  Raises ShapeError where NumPy has no such shape: (0, 2**62), or 65 axes."""
    try:
        return elements.reshape(shape)
    except (ValueError, OverflowError) as e:
        raise ShapeError(f"{what}: no array can have the shape {shortened(str(shape))}: {e}") from None


def _external(proto: Any, d: DType, nbytes: int, directory: Path | None, what: str) -> Array:
    """A file's bytes, mapped; the file must lie in the model's directory."""
    entries = {e.key: e.value for e in proto.external_data}
    location = entries.get("location", "")
    said = quoted(location)
    if directory is None:
        raise GraphError(f"{what}: its data is in the file {said}; pass the model's path, or directory=")
    counts = [entries.get("offset", "0"), entries.get("length", str(nbytes))]
    if not all(re.fullmatch(r"-?[0-9]{1,30}", x) for x in counts):
        listed = ", ".join(map(quoted, counts))
        raise GraphError(f"{what}: offset and length of external data must be numbers; got {listed}")
    offset, length = map(int, counts)
    try:
        base = directory.resolve()
        path = (base / location).resolve()  # where symbolic links lead
        inside = bool(location) and not os.path.isabs(location) and path.is_relative_to(base)
        size = path.stat().st_size if inside and path.is_file() else None
    except (OSError, ValueError, RuntimeError) as e:  # too long, no permission; NUL; a loop of links
        raise GraphError(f"{what}: external data cannot be at {said}: {shortened(str(e))}") from None
    if not inside:
        raise GraphError(f"{what}: external data must lie in the model's directory {base}; got {said}")
    if size is None:
        raise GraphError(f"{what}: its data is missing: there is no file {path}")
    if length != nbytes:
        raise GraphError(f"{what}: {d}{tuple(proto.dims)} needs {nbytes} bytes; external data has length {length}")
    if offset < 0 or offset + nbytes > size:
        raise GraphError(f"{what}: bytes {offset} to {offset + nbytes} are not all in {path}, which has {size}")
    if not nbytes:
        return np.empty(0, d.numpy)
    try:
        return np.memmap(path, d.numpy, "r", offset, (nbytes // d.itemsize,))
    except (OSError, ValueError) as e:  # not readable, or changed since
        raise GraphError(f"{what}: its data cannot be read from {path}: {e}") from e


# -- types and names --------------------------------------------------------------------------------------------------


def tensor_type(info: Any, shape: Iterable[Any] | None, size: Callable[[str], str]) -> TensorType:
    """The type of a graph's input.

    Args:
        shape: stands for the shape in the file.
        size: the name of a size, by what the model calls it; an axis without a name is called after the input.
    """
    what = f"input {quoted(info.name)}"
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise DTypeError(f"{what} must be a tensor; it is {'of no type' if kind is None else 'a ' + kind[:-5]}")
    proto = info.type.tensor_type
    d = dtype_of(proto.elem_type, what)
    if shape is not None:
        return TensorType(as_shape(shape), d)
    if not proto.HasField("shape"):
        raise ShapeError(f"{what} has no shape in the model: pass shapes={{{quoted(info.name)}: (..)}}")
    dims: list[Dim] = []
    for k, dim in enumerate(proto.shape.dim):
        if dim.HasField("dim_value") and dim.dim_value >= 0:  # some exporters write -1 for a size that they do not know
            dims.append(int(dim.dim_value))
        else:
            dims.append(SymDim.var(size(dim.dim_param or f"{info.name}_{k}")))
    declared = TensorType(tuple(dims), d)
    declared.check_size(what)
    return declared


class Names:
    """Identifiers of Python for names of ONNX, which may hold anything: always the same for one name, never for two."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._found: dict[str, str] = {}
        self._next: dict[str, int] = {}  # the number to try for the next name that becomes the same

    def __call__(self, name: str) -> str:
        if name not in self._found:
            base = re.sub(r"\W", "_", name[:MAX_NAME], flags=re.ASCII)
            base = base if base[:1].isalpha() or base[:1] == "_" else f"_{base}"
            found, k = base, self._next.get(base, 1)
            while found in self._taken:
                found, k = f"{base}_{k}", k + 1
            self._next[base] = k
            self._taken.add(found)
            self._found[name] = found
        return self._found[name]

    def found(self) -> Iterable[tuple[str, str]]:
        """Names of ONNX that were asked for, and their identifiers."""
        return self._found.items()
