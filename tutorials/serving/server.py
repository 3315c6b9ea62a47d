"""``python server.py FOLDER PORT``: the same server in Python.  It needs NumPy and gscompile's runtime, and no TVM."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

import gscompile as gs

WIDTH, MOST_BYTES = 64, 8 << 16


class Handler(BaseHTTPRequestHandler):
    """POST /lookup: int64 indices, little-endian; the answer is their rows, float32, or why there are none."""

    protocol_version = "HTTP/1.1"  # connections stay open
    wbufsize = -1  # an answer is sent at once, not its head and then its body
    disable_nagle_algorithm = True
    timeout = 60  # seconds that a connection may be idle
    lookup: Any
    table: Any

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200, b"ok\n")
        else:
            self.answer(404, b"GET /health or POST /lookup\n")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
            self.close_connection = True  # the body is not read
            self.answer(413, b"a body of at most %d bytes is needed\n" % MOST_BYTES)
            return
        body = self.rfile.read(int(length))
        if self.path != "/lookup":
            self.answer(404, b"GET /health or POST /lookup\n")
        elif len(body) % 8 != 0:
            self.answer(400, b"the body must be int64 indices: a multiple of 8 bytes\n")
        else:
            try:
                found = self.lookup(self.table, np.frombuffer(body, "<i8"))
            except gs.GSError as e:
                self.answer(400, f"{e}\n".encode())
            else:
                self.answer(200, memoryview(found).cast("B"), "application/octet-stream")

    def answer(self, code: int, body: bytes | memoryview, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged of each request."""


def main(folder: Path, port: int) -> None:
    gs.set_num_threads(1)  # a lookup is small, and other requests use the other cores
    Handler.lookup = gs.load(folder / "lookup.so")
    Handler.table = np.memmap(folder / "table.bin", np.float32, "r").reshape(-1, WIDTH)
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
