"""Constants of an exported library in a file of their own.

The file begins with a magic number, the format's number, the number of constants, the file's size, a hash of the whole file in
which the hash's own place is 0, and where each constant begins and how many bytes it has.  All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gscompile.errors import ArgumentError

FORMAT = 1
MAGIC = b"\x89gscompile-weight\r\n"
HEAD = struct.Struct("<20sIQQ32s")
PLACE = struct.Struct("<QQ")
HASH = slice(40, 72)  # in the head
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Weights:
    """The file that a library's constants are in.

    Attributes:
        name: without a folder.
        nbytes: its size.
        count: of the constants in it.
        digest: its hash.
    """

    name: str
    nbytes: int
    count: int
    digest: bytes

    def to_json(self) -> Any:
        return {"name": self.name, "bytes": self.nbytes, "count": self.count, "sha256": self.digest.hex()}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Weights:
        return Weights(str(found["name"]), int(found["bytes"]), int(found["count"]), bytes.fromhex(found["sha256"]))

    def text(self) -> str:
        """For people."""
        return f"{self.count} constants in {self.name}: {self.nbytes} bytes, sha256 {self.digest.hex()}"

    def verify(self, path: Path) -> None:
        """Read a file from its beginning to its end, to see whether it is this one.

        Raises:
            ArgumentError: it cannot be read, or is not.
        """
        try:
            same = path.stat().st_size == self.nbytes and digest(path) == self.digest
        except (OSError, ValueError) as e:
            raise ArgumentError(f"{path}: cannot be read: {getattr(e, 'strerror', None) or e}") from None
        if not same:
            raise ArgumentError(f"{path}: its bytes are not those of the constants that the library was exported with")


def digest(path: Path) -> bytes:
    """The hash that a file's head should have."""
    made = hashlib.sha256()
    with open(path, "rb") as file:
        head = file.read(HEAD.size)
        made.update(head[: HASH.start] + bytes(len(head[HASH])) + head[HASH.stop :])
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.digest()
