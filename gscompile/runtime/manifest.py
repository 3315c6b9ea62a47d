"""What an exported library says of itself, read without running any of its code.

A manifest is JSON among the bytes of the library's data, after a magic number, the format's number, the JSON's length, and a hash
of the whole file in which the hash's own place is 0.  So it is found in shared and static libraries and in object files of any
system, and whoever reads it knows that nothing has changed since.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gscompile.errors import ArgumentError, GSError
from gscompile.ir.dims import Constraint, from_json, shape_str, to_json
from gscompile.ir.types import TensorType, dtype
from gscompile.runtime.interface import Argument, Interface
from gscompile.runtime.weights import Weights

FORMAT = 1
_MAGIC = b"".join((b"\x89gscompile", b"-library\r\n"))  # in two parts: this file is no library
_HEAD = struct.Struct("<20sIQ32s")
_HASH = slice(32, 64)


@dataclass(frozen=True, slots=True)
class Entry:
    """A graph in a library.

    Attributes:
        function: its name in C.
        constants: how many there are.
        kernels: (name, rule) of what computes.
        indexing: (operator, index tensor, bounds) of what is indexed and checked.
    """

    function: str
    interface: Interface
    constants: int
    kernels: tuple[tuple[str, str], ...]
    indexing: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a library.

    Attributes:
        name: the stem of its own functions in C.
        versions: of gscompile and of what made the code.
        target: attributes of TVM's target, as it was given or found.
        triple: the system that it is for.
        levels: names and features of CPUs, or architectures of GPUs and "PTX" of what others run, the best first.
        weights: the file of its constants; None where they are inside.
        digest: the hash of the library's bytes; empty before there are any.
    """

    name: str
    versions: Mapping[str, str]
    target: str
    triple: str
    levels: tuple[tuple[str, tuple[str, ...]], ...]
    entries: tuple[Entry, ...]
    weights: Weights | None = None
    digest: bytes = b""

    def to_bytes(self) -> bytes:
        """As it stands in a library before :func:`sealed`."""
        body = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode()
        return _HEAD.pack(_MAGIC, FORMAT, len(body), bytes(32)) + body

    def to_json(self) -> Any:
        """As JSON can hold it."""
        return {
            "name": self.name,
            "versions": dict(self.versions),
            "target": self.target,
            "triple": self.triple,
            "levels": self.levels,
            "graphs": [_entry_to_json(e) for e in self.entries],
            "weights": None if self.weights is None else self.weights.to_json(),
        }

    def text(self) -> str:
        """For people."""
        lines = [f"library {self.name} for {self.triple}, {self.target}"]
        lines.append("made by " + ", ".join(f"{name} {version}" for name, version in self.versions.items()))
        lines += self._levels_text()
        lines.append(f"sha256 {self.digest.hex()}: its bytes are as they were written")
        if self.weights is not None:
            lines.append(self.weights.text())
        for e in self.entries:
            lines += ["", *_entry_text(e)]
        return "\n".join(lines)

    def _levels_text(self) -> list[str]:
        if any(e.interface.device != "cpu" for e in self.entries):
            names = [name for name, _ in self.levels] + [
                f"{form} of {name}" for name, forms in self.levels for form in forms
            ]
            return [f"code for {', '.join(names)}"]
        return [
            f"needs{f' ({name})' if name else ''}: {', '.join(features) or 'nothing beyond the architecture'}"
            for name, features in self.levels
        ]


def sealed(data: bytes) -> bytes:
    """A library's bytes with their hash in its place.

    Raises:
        ArgumentError: there is no manifest in them.
    """
    at = _place(data) + _HASH.start
    return data[:at] + _digest(data, at) + data[at + 32 :]


def read(path: str | Path) -> Manifest:
    """The manifest of a library, whose bytes are as they were made.

    Raises:
        ArgumentError: the file cannot be read, is no library, has changed, or is of a newer format.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as e:
        raise ArgumentError(f"{path}: cannot be read: {getattr(e, 'strerror', None) or e}") from None
    try:
        return _read(data)
    except GSError as e:
        raise ArgumentError(f"{path}: {e}") from None


def _read(data: bytes) -> Manifest:
    at = _place(data)
    _, form, length, digest = _HEAD.unpack_from(data, at)
    if _digest(data, at + _HASH.start) != digest:
        raise ArgumentError("its bytes are not those that gscompile wrote: it was changed, cut off or damaged")
    if form != FORMAT:
        raise ArgumentError(f"it is of format {form}, and this gscompile reads format {FORMAT}: install a newer one")
    try:
        found = json.loads(data[at + _HEAD.size : at + _HEAD.size + length])
        return Manifest(
            str(found["name"]),
            {str(k): str(v) for k, v in found["versions"].items()},
            str(found["target"]),
            str(found["triple"]),
            tuple((str(name), tuple(map(str, features))) for name, features in found["levels"]),
            tuple(map(_entry_from_json, found["graphs"])),
            None if found["weights"] is None else Weights.from_json(found["weights"]),
            digest,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise ArgumentError(f"its manifest makes no sense: {type(e).__name__}: {e}") from None


def _place(data: bytes) -> int:
    at = data.find(_MAGIC)
    if at < 0 or len(data) < at + _HEAD.size:
        raise ArgumentError("this is no library that gscompile exported")
    return at


def _digest(data: bytes, at: int) -> bytes:
    digest = hashlib.sha256(memoryview(data)[:at])
    digest.update(bytes(32))
    digest.update(memoryview(data)[at + 32 :])
    return digest.digest()


def _entry_to_json(e: Entry) -> Any:
    f = e.interface
    return {
        "function": e.function,
        "name": f.name,
        "device": f.device,
        "alignment": f.alignment,
        "inputs": _arguments_to_json(f.inputs),
        "outputs": _arguments_to_json(f.outputs),
        "symbols": f.symbols,
        "constraints": [[c.relation, to_json(c.lhs), to_json(c.rhs), c.message] for c in f.constraints],
        "workspace": to_json(f.workspace),
        "work": to_json(f.work),
        "in_place": sorted(f.in_place.items()),
        "checks": f.checks,
        "constants": e.constants,
        "kernels": e.kernels,
        "indexing": e.indexing,
    }


def _entry_from_json(found: Any) -> Entry:
    face = Interface(
        name=str(found["name"]),
        device=str(found["device"]),
        alignment=int(found["alignment"]),
        inputs=_arguments_from_json(found["inputs"]),
        outputs=_arguments_from_json(found["outputs"]),
        symbols=tuple(map(str, found["symbols"])),
        constraints=tuple(
            Constraint(str(r), from_json(a), from_json(b), str(m)) for r, a, b, m in found["constraints"]
        ),
        workspace=from_json(found["workspace"]),
        work=from_json(found["work"]),
        in_place={int(k): int(v) for k, v in found["in_place"]},
        checks=int(found["checks"]),
    )
    kernels = tuple((str(name), str(rule)) for name, rule in found["kernels"])
    indexing = tuple((str(op), str(index), str(bounds)) for op, index, bounds in found["indexing"])
    return Entry(str(found["function"]), face, int(found["constants"]), kernels, indexing)


def _arguments_to_json(arguments: Sequence[Argument]) -> Any:
    return [[v.name, v.dtype.name, [to_json(d) for d in v.shape]] for v in arguments]


def _arguments_from_json(found: Any) -> tuple[Argument, ...]:
    return tuple(
        Argument(str(name), TensorType(tuple(map(from_json, shape)), dtype(str(kind)))) for name, kind, shape in found
    )


def _entry_text(e: Entry) -> list[str]:
    f = e.interface
    lines = [f"graph {f.name}, in C {e.function}, on {f.device}"]
    lines += [f"  in   {v.name}: {v.dtype} {shape_str(v.shape)}" for v in f.inputs]
    lines += [f"  out  {v.name}: {v.dtype} {shape_str(v.shape)}" for v in f.outputs]
    for k, over in sorted(f.in_place.items()):
        lines.append(f"  {f.outputs[k].name} may be in the storage of {f.inputs[over].name}")
    if f.symbols:
        lines.append(f"  sizes: {', '.join(f.symbols)}")
    lines += [f"  where {c.lhs} {c.relation} {c.rhs}: {c.message}" for c in f.constraints]
    lines += [f'  {op} by {index}, bounds="{bounds}"' for op, index, bounds in e.indexing]
    lines.append(f"  workspace: {f.workspace} bytes; constants: {e.constants}")
    lines += [f"  {name}: {rule}" for name, rule in e.kernels]
    return lines
