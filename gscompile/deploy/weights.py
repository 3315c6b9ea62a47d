"""Constants in a file beside the library, see :mod:`gscompile.runtime.weights`, and the C that maps it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from gscompile.deploy import text
from gscompile.runtime.weights import FORMAT, HEAD, MAGIC, PLACE, Weights

_PAGE, _LINE = 4096, 64

FIND = """    if (gs_find_weights(&gs_weights, error) != GS_OK)
        return GS_WEIGHTS;"""  # of a function that uses constants


def places(constants: Sequence[memoryview]) -> list[int]:
    """Where each of them begins in the file: those of a page and more at a page, smaller ones at 64 bytes."""
    found, at = [], HEAD.size + PLACE.size * len(constants)
    for data in constants:
        found.append(at := at + -at % (_PAGE if data.nbytes >= _PAGE else _LINE))
        at += data.nbytes
    return found


def pack(constants: Sequence[memoryview], digest: bytes = bytes(32)) -> Iterator[bytes | memoryview]:
    """The bytes of the file, with its hash in its place."""
    begins = places(constants)
    size = begins[-1] + constants[-1].nbytes
    head = HEAD.pack(MAGIC, FORMAT, len(constants), size, digest)
    at = len(head) + PLACE.size * len(constants)
    yield head + b"".join(PLACE.pack(place, c.nbytes) for place, c in zip(begins, constants, strict=True))
    for place, data in zip(begins, constants, strict=True):
        yield bytes(place - at)
        yield data
        at = place + data.nbytes


def summary(name: str, constants: Sequence[memoryview]) -> Weights:
    """What the file will be."""
    digest, size = hashlib.sha256(), 0
    for data in pack(constants):
        digest.update(data)
        size += memoryview(data).nbytes
    return Weights(name, size, len(constants), digest.digest())


def declaration(stem: str, weights: Weights) -> str:
    """What the library's header says of the file."""
    says = f"""Maps {weights.name}, a file of constants, from this path; GS_WEIGHTS where it is not found or is another one.
 * Without a call the first function that needs it maps it from the library's folder, or the program's that it is linked into."""
    plain = says.replace("*/", "* /").encode("ascii", "backslashreplace").decode()
    return f"/* {plain} */\nint {stem}_use_weights(const char *path, gs_error *error);\n"


def code(stem: str, weights: Weights) -> str:
    """The C that maps the file."""
    numbers = ", ".join(map(str, weights.digest))
    fields = f"{text.string(stem)}, {text.string(weights.name)}, {weights.nbytes}u, {weights.count}, {{{numbers}}}"
    return f"""{(Path(__file__).parent / "weights.h").read_text()}
static const GsWeights gs_weights = {{{fields}}};

GS_PUBLIC int {stem}_use_weights(const char *path, gs_error *error);
GS_PUBLIC int {stem}_use_weights(const char *path, gs_error *error) {{ return gs_use_weights(&gs_weights, path, error); }}
"""
