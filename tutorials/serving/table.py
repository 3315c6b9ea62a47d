"""The table that the servers answer from: rows that can be computed one by one, so that answers are verified without the file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

WIDTH = 64
ROW_BYTES = 4 * WIDTH
_ROWS_AT_ONCE = 1 << 16


def rows(indices: Any) -> Any:
    """float32 (k, WIDTH): the rows of these indices, each element a hash of its place, from 0 to 1."""
    x = np.asarray(indices).astype(np.uint64)[:, None] * np.uint64(WIDTH) + np.arange(WIDTH, dtype=np.uint64)
    x = (x ^ (x >> np.uint64(17))) * np.uint64(0x9E3779B97F4A7C15)
    return (x >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)


def write(path: Path, gigabytes: float) -> None:
    """A table of that size, unless it is there."""
    count = round(gigabytes * (1 << 30)) // ROW_BYTES
    if path.exists() and path.stat().st_size == count * ROW_BYTES:
        return
    with open(path, "wb") as file:
        for begin in range(0, count, _ROWS_AT_ONCE):
            rows(np.arange(begin, min(begin + _ROWS_AT_ONCE, count))).tofile(file)


def export(path: Path) -> None:
    """The library, and its header beside it: rows of a table."""
    import gscompile as gs

    b = gs.Builder("lookup")
    b.output(b.take(b.input("table", ("n", WIDTH), "float32"), b.input("i", ("k",), "int64")))
    b.build().export(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where table.bin, lookup.so and lookup.h are written")
    parser.add_argument("--table-gb", type=float, default=4)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    export(options.folder / "lookup.so")
    write(options.folder / "table.bin", options.table_gb)
