"""What is sent to boards, called here; and what is said where no board can be had."""

from __future__ import annotations

import ctypes
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.build import export_measured
from gscompile.compiler.tuned import cpu
from gscompile.deploy.measure import CRASHED, HUNG
from gscompile.runtime.load import TEXT_BYTES
from gscompile.runtime.threads import available_cores
from gscompile.tuning import remote
from gscompile.tuning.remote import tracker_of
from tests.deploy.libraries import run, tool
from tests.tuning import graphs
from tests.tuning.hostile import Hostile


class Argument(ctypes.Structure):  # TVMFFIAny
    _fields_ = (("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_int64))


class Tensor(ctypes.Structure):  # DLTensor: no more of it than a library looks at
    _fields_ = (("data", ctypes.c_void_p), ("others", ctypes.c_int64 * 4), ("offset", ctypes.c_uint64))


class Sent:
    """The library that a board would get, called as a server of TVM's calls it; each array begins behind an offset."""

    def __init__(self, module: gs.Module, folder: Path) -> None:
        export_measured(module, folder / "sent.so")
        self._library = ctypes.CDLL(str(folder / "sent.so"))

    def __call__(self, name: str, *given: Any) -> int:
        tensors = [Tensor(x.ctypes.data - 8, (0, 0, 0, 0), 8) if isinstance(x, np.ndarray) else x for x in given]
        arguments = (Argument * len(given))()
        for k, x in enumerate(tensors):
            is_tensor = isinstance(x, Tensor)
            arguments[k] = Argument(7, 0, ctypes.addressof(x)) if is_tensor else Argument(1, 0, x)
        result = Argument()
        function = getattr(self._library, f"__tvm_ffi_gs_{name}")
        assert function(None, arguments, len(given), ctypes.byref(result)) == 0 and result.type == 1
        return int(result.value)


def room() -> np.ndarray:
    """For a sentence."""
    return np.zeros(TEXT_BYTES, "uint8")


def text(x: np.ndarray) -> str:
    return x.tobytes().partition(b"\0")[0].decode()


def test_a_call_and_its_time(tmp_path: Path) -> None:
    """Sizes follow the arrays; the ugly indices are counted, and one that is out of range is said."""
    m = graphs.symbolic().build()
    sent = Sent(m, tmp_path)
    x, s = np.arange(3 * 8, dtype="int32").reshape(3, 8), np.ones((5, 8), "int32")
    i, out, why = np.array([0, 2, -1, -3, 2]), np.zeros((3, 8), "int32"), room()
    arrays = (x, i, s, out, 5, 3)
    assert sent("survives", 20, *arrays) == 0 and not out.any()  # in another process
    assert sent("call", why, *arrays) == 0 and text(why) == ""
    assert np.array_equal(out, m(x, i, s)) and out.any()
    assert 0 < sent("time", 10, *arrays) < 10e9
    for far in (3, -4, np.iinfo("int64").max, np.iinfo("int64").min):
        i[1] = far
        assert sent("survives", 20, *arrays) == 0 and sent("call", why, *arrays) != 0
        with pytest.raises(gs.BoundsError) as error:
            m(x, i, s)
        assert text(why) == str(error.value)


def test_nothing_to_do(tmp_path: Path) -> None:
    sent, none = Sent(graphs.symbolic().build(), tmp_path), np.zeros((0, 8), "int32")
    arrays = (none, np.zeros(0, "int64"), none, none, 0, 0)
    assert sent("call", room(), *arrays) == 0 and sent("survives", 20, *arrays) == 0


def test_same_bytes(tmp_path: Path) -> None:
    sent, a, b = Sent(graphs.rows().build(), tmp_path), np.array([1, 2, 3], "uint8"), np.array([1, 2, 4], "uint8")
    assert [sent("same", a, b, n) for n in (0, 2, 3)] == [1, 1, 0]


def test_the_machine(tmp_path: Path) -> None:
    name = room()
    assert Sent(graphs.rows().build(), tmp_path)("machine", name) == available_cores()
    assert text(name) == cpu()


@pytest.mark.parametrize("mood, want", [("fine", 0), ("dead", CRASHED + signal.SIGABRT), ("endless", HUNG)])
def test_who_survives(mood: str, want: int, tmp_path: Path) -> None:
    b = gs.Builder("hostile")
    b.output(b.take(b.input("x", (5000,), "float32"), b.input("i", (20_000,), "int64")))
    sent = Sent(b.build(rules=[Hostile()], choices={"take_2": {"mood": mood}}), tmp_path)
    arrays = [np.zeros(n, t) for n, t in ((5000, "float32"), (20_000, "int64"), (20_000, "float32"))]
    seconds = 1 if mood == "endless" else 60  # a crash may write its memory first
    assert sent("survives", seconds, *arrays) == want


DRIVER = """
#include <stdint.h>
#include <stdio.h>
typedef struct { int32_t type; uint32_t padding; int64_t value; } Argument;
typedef struct { void *data; int64_t others[4]; uint64_t offset; } Tensor;
int __tvm_ffi_gs_survives(void *, Argument *, int32_t, Argument *);
int __tvm_ffi_gs_call(void *, Argument *, int32_t, Argument *);
int main(void) {
    float x[6] = {0, 1, 2, 3, 4, 5}, out[4] = {0};
    int64_t i[2] = {-1, 0};
    char why[512];
    Tensor t[4] = {{.data = why}, {.data = x}, {.data = i}, {.data = out}};
    Argument a[4], result, seconds = {1, 0, 20};
    for (int k = 0; k < 4; ++k)
        a[k] = (Argument){7, 0, (int64_t)(intptr_t)&t[k]};
    __tvm_ffi_gs_call(0, a, 4, &result);
    printf("%d %g %g %g %g\\n", (int)result.value, out[0], out[1], out[2], out[3]);
    i[0] = 3;
    __tvm_ffi_gs_call(0, a, 4, &result);
    puts(result.value != 0 ? why : "no error");
    a[0] = seconds;
    __tvm_ffi_gs_survives(0, a, 4, &result);
    printf("%d\\n", (int)result.value);
}
"""


def test_a_board_of_another_architecture(tmp_path: Path) -> None:
    b, triple = gs.Builder("rows"), "aarch64-linux-gnu"
    b.output(b.take(b.input("x", (3, 2), "float32"), b.input("i", (2,), "int64")))
    cc, qemu = tool(f"{triple}-gcc"), tool("qemu-aarch64")
    export_measured(b.build({"kind": "llvm", "mtriple": triple}), tmp_path / "sent.so")
    (tmp_path / "main.c").write_text(DRIVER)
    run([cc, tmp_path / "main.c", tmp_path / "sent.so", "-o", tmp_path / "main"])
    said = run([qemu, "-L", f"/usr/{triple}", "-E", f"LD_LIBRARY_PATH={tmp_path}", tmp_path / "main"])
    assert said == "0 4 5 0 1\ntake_2: i[0] = 3 is out of range for axis 0 of data (3, 2): valid are -3 to 2\n0\n"


# -- mistakes


@pytest.mark.parametrize("given", ["", "host", ":9190", "host:", "host:0", "host:65536", "host:x", "host:-1"])
def test_trackers_that_are_none(given: str) -> None:
    with pytest.raises(gs.ArgumentError, match="tune: tracker: HOST:PORT is needed"):
        gs.tune(graphs.rows(), search="random", tracker=given, key="k")


def test_places() -> None:
    assert tracker_of("10.0.0.1:9190") == ("10.0.0.1", 9190)
    assert tracker_of("[::1]:65535") == ("::1", 65535)


def test_what_does_not_go_together() -> None:
    with pytest.raises(gs.ArgumentError, match="key= which of them: both are needed"):
        gs.tune(graphs.rows(), tracker="host:1")
    with pytest.raises(gs.ArgumentError, match="both are needed"):
        gs.tune(graphs.rows(), key="k")
    with pytest.raises(gs.TargetError, match="boards are CPUs; got cuda"):
        gs.tune(graphs.rows(), {"kind": "cuda", "arch": "sm_80"}, tracker="host:1", key="k")


@pytest.mark.parametrize(
    "says, want",
    [
        (None, "no tracker of TVM's RPC answers at"),  # nobody is there
        (b"", "no tracker of TVM's RPC answers at"),
        (b"HTTP/1.1 400 Bad Request", "is no tracker of TVM's RPC"),
        (b"\x71\xf2\x02\x00" + b"\x02\x00\x00\x00{]", "no tracker of TVM's RPC answers at"),
    ],
)
def test_who_is_no_tracker(says: bytes | None, want: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "TRACKER_S", 5.0)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))

        def answer() -> None:
            connection, _ = listening.accept()
            with connection, suppress(OSError):  # they may have left
                connection.recv(4)
                connection.sendall(says or b"")
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(100):
                    pass

        if says is not None:
            listening.listen()
            threading.Thread(target=answer, daemon=True).start()
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(gs.DeviceError, match=want) as error:
            gs.tune(graphs.rows(), search="random", tracker=place, key="k")
        assert place in str(error.value)
