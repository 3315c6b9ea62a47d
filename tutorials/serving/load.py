"""``python load.py FOLDER cpp|python``: a load test of a server: every answer is verified, and latencies and memory are recorded.

Clients, each a process with one connection, send one request after the other: a random number of random indices, and now and then
something wrong, whose answer must say so.  The server is started here, and must run at the end, with the memory of the beginning.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import re
import socket
import subprocess
import sys
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from table import ROW_BYTES, WIDTH, rows

HERE = Path(__file__).parent
MOST_INDICES = 64
BAD = 0.03  # of the requests
LEAK_KB = 8192  # of anonymous memory, beyond what the server had after a tenth of the time


def client(port: int, count: int, seconds: float, seed: int, results: Any) -> None:
    """Requests until the time is over; puts latencies in seconds, and how many answers were rows and how many errors."""
    rng = np.random.default_rng(seed)
    connection = connect(port)
    latencies = array("d")
    answered = {200: 0, 400: 0, 404: 0, 413: 0, "closed": 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        indices = rng.integers(-count, count, rng.integers(1, MOST_INDICES + 1))
        want = 200
        if rng.random() < BAD:
            indices, want = broken(connection, indices, count, rng)
            if want == "closed":  # in the middle of a request
                connection.close()
                connection = connect(port)
                answered[want] += 1
                continue
        begin = time.perf_counter()
        if want == 413:  # a body that is too long is not sent once the head has said so
            connection.putrequest("POST", "/lookup")
            connection.putheader("Content-Length", str(10**8))
            connection.endheaders()
        else:
            connection.request("POST", "/nowhere" if want == 404 else "/lookup", indices.tobytes())
        response = connection.getresponse()
        body = response.read()
        latencies.append(time.perf_counter() - begin)
        verify(response.status, body, want, indices, count)
        answered[want] += 1
        if want == 413:
            connection.close()
            connection = connect(port)
    results.put((np.frombuffer(latencies), answered))


def connect(port: int) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def broken(connection: http.client.HTTPConnection, indices: Any, count: int, rng: Any) -> tuple[Any, Any]:
    """A wrong request, and the status that its answer must have."""
    kind = rng.integers(20)
    if kind == 0:
        return indices, 404
    if kind == 1:
        return indices, 413
    if kind == 2:
        return indices.view(np.uint8)[:-3], 400
    if kind == 3:
        connection.sock.sendall(b"POST /lookup HTTP/1.1\r\nContent-Length: 800\r\n\r\n" + bytes(99))
        return indices, "closed"
    ends = np.iinfo(np.int64)
    for _ in range(rng.integers(1, 4)):
        indices[rng.integers(len(indices))] = rng.choice([count, -count - 1, ends.min, ends.max, 1 << 32])
    return indices, 400


def verify(status: int, body: bytes, want: int, indices: Any, count: int) -> None:
    """Whether an answer is right, to the last bit and the last word."""
    assert status == want, (status, want, body[:200])
    if status == 200:
        got = np.frombuffer(body, np.float32).reshape(len(indices), WIDTH)
        assert np.array_equal(got, rows(np.where(indices < 0, indices + count, indices))), indices
    elif status == 400 and indices.dtype == np.int64:
        at = int(np.flatnonzero((indices < -count) | (indices >= count))[0])
        says = f"i[{at}] = {indices[at]} is out of range for axis 0 of data ({count}, {WIDTH}): valid are {-count} to {count - 1}"
        assert body.decode().rstrip().endswith(says), (body, says)


def memory(pid: int) -> dict[str, int]:
    """Kilobytes of a process: RssAnon, its own, and RssFile, of what is mapped."""
    found = re.findall(r"(Rss\w+|VmRSS):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return {name: int(number) for name, number in found}


def start(folder: Path, kind: str) -> tuple[subprocess.Popen[bytes], int]:
    """A server that answers, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [folder / "server"] if kind == "cpp" else [sys.executable, HERE / "server.py"]
    server = subprocess.Popen([*map(str, command), str(folder), str(port)])
    for _ in range(200):
        time.sleep(0.05)
        try:
            connection = connect(port)
            connection.request("GET", "/health")
            assert connection.getresponse().read() == b"ok\n"
            return server, port
        except ConnectionError:
            assert server.poll() is None, "the server has ended"
    raise TimeoutError("the server does not answer")


def main(folder: Path, kind: str, seconds: float, clients: int) -> None:
    count = (folder / "table.bin").stat().st_size // ROW_BYTES
    server, port = start(folder, kind)
    results: Any = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=client, args=(port, count, seconds, seed, results)) for seed in range(clients)
    ]
    try:
        for p in processes:
            p.start()
        seen = []
        for k in range(11):
            seen.append(memory(server.pid))
            print(f"{k * seconds / 10:6.1f} s: {seen[-1]}", flush=True)
            if k < 10:
                time.sleep(seconds / 10)
            assert all(p.exitcode in (None, 0) for p in processes), "a client has found something wrong"
        found = [results.get(timeout=60) for _ in processes]
        for p in processes:
            p.join()
            assert p.exitcode == 0, "a client has found something wrong"
        assert server.poll() is None, "the server has ended"
    finally:
        server.terminate()
        for p in processes:
            p.terminate()
    latencies = np.concatenate([f[0] for f in found]) * 1e6
    p50, p99, p999 = np.percentile(latencies, [50, 99, 99.9])
    print(
        f"{kind}: {len(latencies)} requests in {seconds:g} s, {len(latencies) / seconds:.0f} a second, {clients} clients"
    )
    print("answers, all verified: " + ", ".join(f"{k}: {sum(f[1][k] for f in found)}" for k in found[0][1]))
    print(f"p50 {p50:.0f} us, p99 {p99:.0f} us, p99.9 {p999:.0f} us, most {latencies.max():.0f} us")
    grown = seen[-1]["RssAnon"] - seen[1]["RssAnon"]
    print(f"anonymous memory: {seen[0]['RssAnon']} kB, {seen[1]['RssAnon']} kB, at the end {seen[-1]['RssAnon']} kB")
    assert grown < LEAK_KB, f"the server has grown by {grown} kB"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where table.py has written to")
    parser.add_argument("kind", choices=["cpp", "python"])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    main(options.folder, options.kind, options.seconds, options.clients)
