"""Float16 that is only moved, for llvm: by its code, an integer.

x86 loads a float16 into a part of a vector register and waits for what the rest of it held, and stores it by two instructions.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import tvm_ffi
from tvm import ir, tirx

FLOAT, CODE = "float16", "uint16"


def moved_by_codes(func: Any) -> Any:
    """A function whose own float16 tensors are of uint16, those with which nothing is computed."""
    tensors: list[Any] = []
    # how often something of a tensor is loaded, is stored or is at some address, and how often it is but moved there
    touched, moved = Counter[Any](), Counter[Any]()

    def declared(x: Any) -> None:
        if _is_float(x.buffer):
            tensors.append(x.buffer)

    def loaded(x: Any) -> None:
        touched[x.source] += 1

    def stored(x: Any) -> None:
        touched[x.buffer] += 1
        sources = _moved(x.value) if _is_float(x.buffer) else None
        if sources is not None:
            moved.update([x.buffer, *sources])

    def addressed(x: Any) -> None:
        if _calls(x, "address_of"):
            moved[x.args[0].source] += 1

    tvm_ffi.structural_walk(func.body, ((tirx.DeclBuffer, tirx.AllocBuffer), declared))
    if not tensors:
        return func
    looks = [(ir.TensorLoad, loaded), (tirx.BufferStore, stored), (ir.Call, addressed)]
    tvm_ffi.structural_walk(func.body, looks)
    codes = {t: _of_codes(t) for t in tensors if touched[t] == moved[t]}

    def declare(x: Any) -> Any:
        if x.buffer not in codes:
            return x
        new = codes[x.buffer]
        return (
            tirx.DeclBuffer(new, data=x.data)
            if isinstance(x, tirx.DeclBuffer)
            else tirx.AllocBuffer(new, x.annotations)
        )

    def load(x: Any) -> Any:
        if x.source not in codes:
            return x
        code = tirx.BufferLoad(codes[x.source], list(x.indices))
        return tirx.reinterpret(_named(code, FLOAT), code)

    def store(x: Any) -> Any:
        if x.buffer in codes:
            return tirx.BufferStore(codes[x.buffer], _code(x.value), list(x.indices))
        return x

    def address(x: Any) -> Any:
        """Of a load that was changed before it."""
        inside = x.args[0] if _calls(x, "address_of") else None
        return tirx.address_of(inside.args[0]) if inside is not None and _calls(inside, "reinterpret") else x

    if not codes:
        return func
    changes = [
        ((tirx.DeclBuffer, tirx.AllocBuffer), declare),
        (ir.TensorLoad, load),
        (tirx.BufferStore, store),
        (ir.Call, address),
    ]
    return func.with_body(tvm_ffi.structural_map(func.body, changes, order="post"))


def _moved(x: Any) -> list[Any] | None:
    """The tensors that a value is moved from; None where it is computed."""
    if isinstance(x, ir.TensorLoad):
        return [x.source]
    if (choice := _choice(x)) is None:
        loads = tvm_ffi.structural_walk(x, [(ir.TensorLoad, lambda _: tvm_ffi.VisitInterrupt())])
        return [] if loads is None else None
    a, b = map(_moved, choice)
    return None if a is None or b is None else [*a, *b]


def _code(x: Any) -> Any:
    """The code of a value that is moved, of loads that were changed."""
    if isinstance(x, tirx.FloatImm):
        return tirx.const(int(np.float16(x.value).view(CODE)), CODE)
    if (choice := _choice(x)) is not None:
        return tirx.if_then_else(x.args[0], *map(_code, choice))
    return x.args[0] if _calls(x, "reinterpret") else tirx.reinterpret(_named(x, CODE), x)


def _choice(x: Any) -> tuple[Any, Any] | None:
    """The two values of which one is read."""
    return (x.args[1], x.args[2]) if _calls(x, "if_then_else") else None


def _calls(x: Any, name: str) -> bool:
    return isinstance(x, ir.Call) and str(getattr(x.op, "name", "")).endswith(f".{name}")


def _is_float(tensor: Any) -> bool:
    return str(tensor.ty.dtype) == FLOAT


def _named(x: Any, dtype: str) -> str:
    """A dtype with as many lanes as a value has."""
    lanes = int(x.ty.dtype.lanes)
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


def _of_codes(tensor: Any) -> Any:
    of = tensor.ty
    return tirx.decl_buffer(
        list(of.shape),
        CODE,
        tensor.name,
        data_alignment=int(of.data_alignment),
        layout=None,
        scope=str(of.storage_scope),
    )
