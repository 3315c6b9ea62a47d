"""What only a GPU can show: real atomics, real streams, and a context that survives bad indices.

The results are those that the emulation and the CUDA text on the CPU are held to elsewhere, for the arrays of every library
that is here.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm

import gscompile as gs
from gscompile.runtime import arrays
from tests import graphs
from tests.cases import DTYPES, random_data
from tests.oracle import Array, assert_same
from tests.run.test_cuda_rules import CASES, NAMES, Case
from tests.tuning import graphs as tuned_graphs

pytestmark = pytest.mark.gpu


@dataclass(frozen=True)
class Library:
    """Arrays on the GPU.

    Attributes:
        put: a NumPy array's copy on the GPU.
        get: the reverse, once all work on the array is done.
        kind: the class of the library's arrays.
    """

    put: Callable[[Array], Any]
    get: Callable[[Any], Array]
    kind: type


def _torch() -> Library:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("torch has no cuda here")

    def put(a: Array) -> Any:
        if a.dtype.name == "bfloat16":
            return torch.from_numpy(a.view(np.int16).copy()).view(torch.bfloat16).cuda()
        return torch.from_numpy(a.copy()).cuda()

    def get(x: Any) -> Array:
        if x.dtype != torch.bfloat16:
            return np.asarray(x.cpu().numpy())
        import ml_dtypes

        return np.asarray(x.cpu().view(torch.int16).numpy().view(ml_dtypes.bfloat16))

    return Library(put, get, torch.Tensor)


def _cupy() -> Library:
    import cupy

    def put(a: Array) -> Any:
        if a.dtype.name == "bfloat16":
            pytest.skip("CuPy has no bfloat16")
        return cupy.asarray(a)

    return Library(put, cupy.asnumpy, cupy.ndarray)


def _tvm() -> Library:
    device = tvm.cuda(0)

    def get(x: Any) -> Array:
        device.sync()
        return np.asarray(x.numpy())

    return Library(lambda a: tvm.runtime.tensor(np.array(a, order="C"), device=device), get, tvm.runtime.Tensor)


LIBRARIES: dict[str, Callable[[], Library]] = {"torch": _torch, "cupy": _cupy, "tvm": _tvm}


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Library:
    """Each library in turn."""
    pytest.importorskip(request.param)
    return LIBRARIES[request.param]()


@pytest.fixture
def some_library() -> Library:
    """One library, for tests that are not about arrays."""
    return LIBRARIES["torch" if importlib.util.find_spec("torch") and _torch_has_cuda() else "tvm"]()


def _torch_has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())


@dataclass(frozen=True)
class OnGpu:
    """A module that takes and returns NumPy arrays, by way of a library's arrays on the GPU."""

    module: gs.Module
    library: Library

    @property
    def stats(self) -> Any:
        return self.module.stats

    def __call__(self, *given: Array, out: Array | None = None) -> Any:
        there = [self.library.put(a) for a in given]
        if out is None:
            found = self.module(*there)
        else:  # the caller's out is one of the inputs
            alias = next(x for a, x in zip(given, there, strict=True) if a is out)
            found = self.module(*there, out=alias)
            assert found is alias
            out[...] = self.library.get(alias)
            return out
        for a, x in zip(given, there, strict=True):
            a[...] = self.library.get(x)  # the caller looks whether an input has changed
        return tuple(map(self._got, found)) if isinstance(found, tuple) else self._got(found)

    def _got(self, x: Any) -> Array:
        """A result; TVM's where no input was an array of the library."""
        return (self.library if isinstance(x, self.library.kind) else _tvm()).get(x)


def compiled(b: gs.Builder, library: Library) -> OnGpu:
    return OnGpu(b.build("cuda"), library)


# -- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", CASES, ids=NAMES)
def test_rules(c: Case, some_library: Library) -> None:
    c.check(compiled(c.builder(), some_library))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype: str, library: Library) -> None:
    for sample in graphs.samples(dtype):
        for got, want in zip(compiled(sample.builder, library)(*sample.arrays), sample.want, strict=True):
            assert_same(got, want)


def test_wild_indices(some_library: Library) -> None:
    """No kernel leaves its tensors: a stray access would end the context, and every test after this one."""
    for sample in graphs.samples("float32", wild=True):
        for got, want in zip(compiled(sample.builder, some_library)(*sample.arrays), sample.want, strict=True):
            assert_same(got, want)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ordered_sums_are_those_of_the_cpu(dtype: str, some_library: Library) -> None:
    """Many duplicates of many magnitudes: bit for bit the same, every time."""

    def graph() -> gs.Builder:
        b = gs.Builder("ordered")
        x, i, v = b.input("x", ("n", 16), dtype), b.input("i", ("k",), "int32"), b.input("v", ("k", 16), dtype)
        b.output(b.put(x, i, v, reduction="add", deterministic=True))
        return b

    rng = np.random.default_rng(2)
    given = random_data(rng, (50, 16), dtype), rng.integers(0, 50, 20000, "int32"), random_data(rng, (20000, 16), dtype)
    want = graph().build()(*given)
    m = compiled(graph(), some_library)
    for _ in range(3):
        assert_same(m(*given), want)


def test_the_last_writer_wins_every_time(some_library: Library) -> None:
    b = gs.Builder("update")
    x, i, v = b.input("x", ("n", 4), "int32"), b.input("i", ("k",), "int64"), b.input("v", ("k", 4), "int32")
    b.output(b.put(x, i, v))
    m = compiled(b, some_library)
    rng = np.random.default_rng(3)
    data, index = np.zeros((7, 4), np.int32), rng.integers(0, 7, 100_000)
    src = np.repeat(np.arange(100_000, dtype=np.int32)[:, None], 4, 1)
    want = data.copy()
    for row in range(7):
        want[row] = np.flatnonzero(index == row)[-1]
    for _ in range(5):
        assert_same(m(data, index, src), want)


def test_more_than_2_to_the_31_elements(some_library: Library) -> None:
    """Rows at both ends of a table of 3 GB, read and written."""
    rows = 3 << 20
    b = gs.Builder("large")
    x, i = b.input("x", ("n", 1024), "uint8"), b.input("i", ("k",), "int32")
    v = b.input("v", ("k", 1024), "uint8")
    b.output(b.take(b.put(x, i, v), i))
    m = b.build("cuda")
    index = np.array([0, rows - 1, 2_200_000, -1], np.int32)
    src = np.random.default_rng(4).integers(0, 256, (4, 1024), np.uint8)
    table = some_library.put(np.zeros((rows, 1024), np.uint8))
    got = some_library.get(m(table, some_library.put(index), some_library.put(src)))
    assert_same(got, src[[0, 3, 2, 3]])


# -- arrays -----------------------------------------------------------------------------------------------------------


def message_passing() -> gs.Builder:
    b = gs.Builder("message_passing")
    x, w = b.input("x", ("n", 8), "float32"), b.input("w", ("e", 1), "float32")
    src, dst = b.input("src", ("e",), "int64"), b.input("dst", ("e",), "int64")
    b.output(b.put(b.zeros(("n", 8)), dst, b.take(x, src) * w, reduction="add"))
    return b


def edges(seed: int) -> tuple[tuple[Array, ...], Array]:
    """Inputs of :func:`message_passing`, in small integers so that any order of sums gives the same, and its result."""
    rng = np.random.default_rng(seed)
    x, w = rng.integers(-9, 9, (300, 8)).astype("f4"), rng.integers(-9, 9, (5000, 1)).astype("f4")
    src, dst = rng.integers(0, 300, (2, 5000))
    want = np.zeros((300, 8), "f4")
    np.add.at(want, dst, x[src] * w)
    return (x, w, src, dst), want


def test_results_are_the_callers_kind_on_the_same_device(library: Library) -> None:
    given, want = edges(0)
    there = [library.put(a) for a in given]
    found = message_passing().build("cuda")(*there)
    assert isinstance(found, library.kind)
    assert arrays.view(found).device == arrays.view(there[0]).device == ("cuda", 0)
    assert_same(library.get(found), want)


def test_out_in_place(library: Library) -> None:
    b = gs.Builder("in_place")
    x, i, v = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", 4), "float32")
    b.output(b.put(x, i, v, reduction="add"))
    m = b.build("cuda")
    data, index, src = np.ones((6, 4), "f4"), np.array([1, 4, 1]), np.full((3, 4), 2, "f4")
    x_there = library.put(data)
    address = arrays.view(x_there).ptr
    assert m(x_there, library.put(index), library.put(src), out=x_there) is x_there
    assert arrays.view(x_there).ptr == address
    want = np.ones((6, 4), "f4")
    want[1], want[4] = 5, 3
    assert_same(library.get(x_there), want)


def test_misaligned_and_strided_inputs(library: Library) -> None:
    """A row of four floats is moved at once, which an address that is no multiple of 16 bytes does not allow."""
    if library.kind is tvm.runtime.Tensor:
        pytest.skip("TVM's tensors cannot be sliced")
    b = gs.Builder("strided")
    x, i = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")
    b.output(b.take(x, i))
    m = b.build("cuda")
    rng = np.random.default_rng(5)
    flat, wide, index = rng.random(41, np.float32), rng.random((10, 9), np.float32), rng.integers(0, 10, 70)
    i_there = library.put(index)
    misaligned, strided = library.put(flat)[1:].reshape(10, 4), library.put(wide)[:, 1:9:2]
    assert_same(library.get(m(misaligned, i_there)), flat[1:].reshape(10, 4)[index])
    assert_same(library.get(m(strided, i_there)), wide[:, 1:9:2][index])


def test_arrays_on_the_cpu_are_refused(some_library: Library) -> None:
    given, _ = edges(0)
    with pytest.raises(gs.DeviceError, match="must be on cuda"):
        message_passing().build("cuda")(*given)
    with pytest.raises(gs.DeviceError, match="must be on cpu"):
        message_passing().build("llvm")(*(some_library.put(a) for a in given))


# -- bad indices ------------------------------------------------------------------------------------------------------


def test_a_bad_index_raises_and_the_context_lives(library: Library) -> None:
    b = gs.Builder("checked")
    x, i, v = b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64"), b.input("v", ("k", 4), "float32")
    b.output(b.put(x, i, v, reduction="add"))
    m = b.build("cuda")
    data, src = np.ones((6, 4), "f4"), np.ones((3000, 4), "f4")
    index = np.arange(3000) % 6
    x_there, v_there = library.put(data), library.put(src)
    for bad in (6, -7, 2**63 - 1, -(2**63)):
        wrong = index.copy()
        wrong[[2999, 1234, 1500]] = 99, bad, -99
        with pytest.raises(gs.BoundsError) as e:
            m(x_there, library.put(wrong), v_there, out=x_there)
        assert (e.value.tensor, e.value.position, e.value.value, e.value.valid) == ("i", (1234,), bad, (-6, 5))
        assert_same(library.get(x_there), data)  # unchanged, and the device still copies
    assert_same(library.get(m(x_there, library.put(index), v_there)), data + 500)


def test_tuning_measures() -> None:
    r = gs.tune(tuned_graphs.rows(), "cuda", trials=4, search="random", progress=False)
    assert {t.state for t in r.trials} <= {"ok", "same", "pruned"} and r.default_ms > 0
    assert r.job.measured


# -- calls that do not wait -------------------------------------------------------------------------------------------


def deferred_rows() -> gs.Module:
    b = gs.Builder("deferred")
    b.output(b.take(b.input("x", ("n", 4), "float32"), b.input("i", ("k",), "int64")))
    return b.build("cuda", check="deferred")


def test_deferred_checks(library: Library) -> None:
    m, data = deferred_rows(), np.arange(40, dtype="f4").reshape(10, 4)
    x = library.put(data)
    m.check()
    for bad in (10, -11, 2**62):
        m(x, library.put(np.array([0, 3, bad])))
        m(x, library.put(np.array([99])))
        assert_same(library.get(m(x, library.put(np.array([1, -1])))), data[[1, -1]])
        with pytest.raises(gs.BoundsError) as e:
            m.check()
        assert (e.value.position, e.value.value, e.value.valid) == ((2,), bad, (-10, 9))
        m.check()


@pytest.mark.parametrize("bound", [True, False])
def test_a_captured_cuda_graph(bound: bool) -> None:
    torch = pytest.importorskip("torch")
    library = LIBRARIES["torch"]()
    m, data = deferred_rows(), np.arange(40, dtype="f4").reshape(10, 4)
    x, i = library.put(data), library.put(np.array([1, 2, 3]))
    m(x, i)
    run = m.bind(x, i) if bound else lambda: m(x, i)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
    for index in ([4, 5, -1], [0, 10, 11], [9, 0, 9]):
        i.copy_(torch.tensor(index))
        graph.replay()
        if max(index) < 10:
            assert_same(library.get(out), data[index])
    with pytest.raises(gs.BoundsError) as e:
        m.check()
    assert (e.value.position, e.value.value) == ((1,), 10)
    m.check()


def test_the_first_call_is_not_captured() -> None:
    torch = pytest.importorskip("torch")
    library = LIBRARIES["torch"]()
    m, x, i = deferred_rows(), library.put(np.ones((3, 4), "f4")), library.put(np.array([1]))
    with pytest.raises(gs.DeviceError, match="call it once before"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        m(x, i)


# -- streams and threads ----------------------------------------------------------------------------------------------


def test_torchs_current_stream() -> None:
    """Inputs that are still being computed on a side stream, and a result that is used on it at once."""
    torch = pytest.importorskip("torch")
    library = LIBRARIES["torch"]()
    given, want = edges(1)
    m = message_passing().build("cuda")
    x, w, src, dst = (library.put(a) for a in given)
    m(x, w, src, dst)  # whatever is done once is done
    side = torch.cuda.Stream()
    for _ in range(5):
        late = torch.zeros_like(x)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # about 10 ms
            late.copy_(x)
            doubled = m(late, w, src, dst) * 2
        side.synchronize()
        assert_same(library.get(doubled), want * 2)


def test_cupys_current_stream() -> None:
    cupy = pytest.importorskip("cupy")
    library = LIBRARIES["cupy"]()
    given, want = edges(2)
    m = message_passing().build("cuda")
    x, w, src, dst = (library.put(a) for a in given)
    m(x, w, src, dst)
    busy = cupy.ones((4096, 4096), "f4")
    side = cupy.cuda.Stream(non_blocking=True)
    for _ in range(5):
        late = cupy.zeros_like(x)
        cupy.cuda.Device().synchronize()
        with side:
            for _ in range(8):
                _ = busy @ busy  # keeps the stream busy
            late[...] = x
            doubled = m(late, w, src, dst) * 2
        side.synchronize()
        assert_same(library.get(doubled), want * 2)


def test_many_threads_at_once(some_library: Library) -> None:
    m = message_passing().build("cuda")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            given, want = edges(seed)
            for _ in range(20):
                assert_same(some_library.get(m(*(some_library.put(a) for a in given))), want)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_exported(library: Library, tmp_path: Path) -> None:
    """A library's results and errors are the build's own, on the stream of whose arrays they are."""
    given, want = edges(1)
    m = message_passing().build("cuda")
    m.export(tmp_path / "net.so")
    loaded = gs.load(tmp_path / "net.so")
    for _ in range(3):
        assert_same(library.get(loaded(*(library.put(a) for a in given))), want)
    wrong = [a.copy() for a in given]
    wrong[2][5] = 1 << 30
    said = []
    for f in (m, loaded):
        with pytest.raises(gs.BoundsError) as e:
            f(*(library.put(a) for a in wrong))
        said.append(str(e.value))
    assert said[0] == said[1]
