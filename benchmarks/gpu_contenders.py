"""What ``benchmarks/gpu.py`` times: gscompile and its peers on a CUDA device, and a rehearsal of that on the CPU.

A contender makes its calls for several sets of arrays, larger together than the device's cache, which :func:`rotating` takes in
turn, so that no call finds what the last one has left there.
"""

from __future__ import annotations

import importlib.util
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from gscompile.bench import compare
from gscompile.bench.peers import jax as jax_peer
from gscompile.bench.peers import numpy as numpy_peer
from gscompile.bench.peers import torch as torch_peer
from gscompile.bench.peers import torch_compile
from gscompile.bench.timing import Timer, time_calls
from gscompile.bench.workload import Arrays, Workload, numpy_dtype
from gscompile.build import Module
from gscompile.frontend.builder import Builder

MOST_SETS = 8  # of arrays
EMULATED_MOST = 40
EMULATED_ARCH = "sm_90"
TRUST, SYNC = "trust", "sync"

Run = Callable[[], Any]


class Device(Protocol):
    """Where the workloads run.

    Attributes:
        most: cut the workloads' axes to about that many elements.
        cache_bytes: of the cache that all its multiprocessors share.
        inductor: the backend of ``torch.compile``.
    """

    cache_bytes: int
    inductor: str

    @property
    def name(self) -> str: ...

    @property
    def most(self) -> int | None: ...

    def compile(self, b: Builder, check: str = "sync") -> Module: ...

    def put(self, x: Any) -> Any:
        """A NumPy array as a PyTorch tensor there."""

    def timer(self, run: Run) -> Timer:
        """Times calls of PyTorch's, CuPy's and gscompile's kind, which are queued."""

    def copy(self, nbytes: int) -> Run:
        """Copies bytes there."""

    def kernels(self, run: Run, calls: int) -> Mapping[str, float]:
        """Microseconds of what a call has the device do, by the names of kernels: medians over calls."""

    def wait(self) -> None:
        """For all that was queued."""

    def facts(self) -> Mapping[str, Any]:
        """For the description of the machine."""


class Gpu:
    """The first CUDA device."""

    most = None
    inductor = "inductor"

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.name = torch.cuda.get_device_name(0)
        self.cache_bytes = int(torch.cuda.get_device_properties(0).L2_cache_size)

    def compile(self, b: Builder, check: str = "sync") -> Module:
        return b.build("cuda", check=check)

    def put(self, x: Any) -> Any:
        return torch_peer.tensor(self.torch, x).cuda()

    def timer(self, run: Run) -> Timer:
        """By CUDA's events around the calls, on PyTorch's stream, on which all of them work."""
        event = self.torch.cuda.Event

        def timed(calls: int) -> float:
            run()
            begin, end = event(enable_timing=True), event(enable_timing=True)
            begin.record()
            for _ in range(calls):
                run()
            end.record()
            end.synchronize()
            return float(begin.elapsed_time(end)) / calls

        return timed

    def copy(self, nbytes: int) -> Run:
        source = self.torch.ones(nbytes, dtype=self.torch.uint8, device="cuda")
        target = self.torch.empty_like(source)
        return lambda: target.copy_(source)

    def kernels(self, run: Run, calls: int) -> Mapping[str, float]:
        profiler = self.torch.profiler
        run()
        self.wait()
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
            for _ in range(calls):
                run()
            self.wait()
        times: dict[str, list[float]] = {}
        for e in profile.events():
            if e.device_type == self.torch.autograd.DeviceType.CUDA:
                times.setdefault(e.name, []).append(e.time_range.elapsed_us())
        # one that runs twice a call has twice the time of one
        return {k: round(statistics.median(v) * max(1, round(len(v) / calls)), 2) for k, v in times.items()}

    def wait(self) -> None:
        self.torch.cuda.synchronize()

    def facts(self) -> Mapping[str, Any]:
        found = self.torch.cuda.get_device_properties(0)
        return {
            "gpu": self.name,
            "gpu_memory_gb": round(found.total_memory / 2**30),
            "multiprocessors": found.multi_processor_count,
            "cuda": self.torch.version.cuda,
        }


class Emulated:
    """The CPU, running the loop nests of the cuda schedule."""

    name = "emulated"
    most = EMULATED_MOST
    cache_bytes = 1 << 10
    inductor = "eager"

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def compile(self, b: Builder, check: str = "sync") -> Module:
        from gscompile.emulation import emulate

        return emulate(b, EMULATED_ARCH, check=check)

    def put(self, x: Any) -> Any:
        return torch_peer.tensor(self.torch, x)

    def timer(self, run: Run) -> Timer:
        return lambda calls: time_calls(run, calls)

    def copy(self, nbytes: int) -> Run:
        source = self.torch.ones(nbytes, dtype=self.torch.uint8)
        target = self.torch.empty_like(source)
        return lambda: target.copy_(source)

    def kernels(self, run: Run, calls: int) -> Mapping[str, float]:
        return {}

    def wait(self) -> None:
        pass

    def facts(self) -> Mapping[str, Any]:
        return {"gpu": f"none: {EMULATED_ARCH} emulated on the CPU"}


# -- contenders -------------------------------------------------------------------------------------------------------

Contender = tuple[Sequence[Run], Callable[[Any], Any], Callable[[Run], Timer]]
"""(computes the result, of each set of arrays, brings it to the CPU as a NumPy array, makes a timer)."""


def fetched(x: Any) -> Any:
    """A tensor of the device's as a NumPy array."""
    import torch

    found = torch_peer.array(torch, x.cpu())
    return found.view(numpy_dtype("bfloat16")) if x.dtype == torch.bfloat16 else found


def ours(
    device: Device, w: Workload, arrays: Arrays, count: int, check: str = "deferred", **options: Any
) -> list[Contender]:
    """As the peers' operators are called: nothing waits, and an index out of range is reported later."""
    module = device.compile(w.builder(arrays, symbolic=w.symbolic, **options), check)
    return [([module.bind(**given) for given in _on(device, arrays, count)], fetched, device.timer)]


def _on(device: Device, arrays: Arrays, count: int) -> list[Arrays]:
    """Sets of the arrays on a device."""
    return [{k: device.put(x) for k, x in arrays.items()} for _ in range(count)]


def torch_ways(device: Device, w: Workload, arrays: Arrays, count: int) -> list[Contender]:
    import torch

    torch.set_grad_enabled(False)
    if w.kind not in torch_peer.WAYS:
        return []
    ways = [torch_peer.WAYS[w.kind](torch, given, w.options) for given in _on(device, arrays, count)]
    return [(runs, fetched, device.timer) for runs in zip(*ways, strict=True)]


def compiled_ways(device: Device, w: Workload, arrays: Arrays, count: int) -> list[Contender]:
    """PyTorch, compiled."""
    import torch

    torch._dynamo.reset()  # it compiles one function only so often
    functions = torch_compile._functions(torch, w.options).get(w.kind, [])
    compiled = [torch.compile(f, dynamic=False, fullgraph=True, backend=device.inductor) for f in functions]
    given = _on(device, arrays, count) if compiled else []
    return [([lambda f=f, g=g: f(*g.values()) for g in given], fetched, device.timer) for f in compiled]  # type: ignore[misc]


def triton_ways(device: Device, w: Workload, arrays: Arrays, count: int) -> list[Contender]:
    """Kernels as one would write them by hand in Triton, for rows that are taken or added to."""
    from gpu_triton import ways

    found = [ways(given, w) for given in _on(device, arrays, count)]
    return [(runs, fetched, device.timer) for runs in zip(*found, strict=True)]


def rotating(runs: Sequence[Run]) -> Run:
    """Calls each of them in turn."""
    turns = itertools.cycle(runs)
    return lambda: next(turns)()


def sets(device: Device, moved: int) -> int:
    """How many sets of arrays are twice as large as the cache."""
    return min(MOST_SETS, max(1, -(-2 * device.cache_bytes // max(moved, 1))))


def absent(name: str, emulated: bool) -> str | None:
    """Why a contender is not here."""
    if name in (compare.OURS, TRUST, SYNC):
        return None
    package = PACKAGES.get(name, name)
    if importlib.util.find_spec(package) is None:
        return f"{package} is not installed"
    return "it runs on a GPU only" if emulated and name in ("cupy", "triton") else None


def cupy_ways(device: Device, w: Workload, arrays: Arrays, count: int) -> list[Contender]:
    """On CuPy's stream made PyTorch's, so that the events see it."""
    import cupy
    import torch

    if w.kind not in numpy_peer.WAYS:
        return []
    sets = [{k: cupy.asarray(x) for k, x in arrays.items()} for _ in range(count)]
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def on_stream(run: Run) -> Run:
        def queued() -> Any:
            with stream:
                return run()

        return queued

    ways = [map(on_stream, numpy_peer.WAYS[w.kind](cupy, given, w.options)) for given in sets]
    return [(runs, cupy.asnumpy, device.timer) for runs in zip(*ways, strict=True)]


def jax_ways(device: Device, w: Workload, arrays: Arrays, count: int) -> list[Contender]:
    """On a stream of JAX's own, which CUDA's events do not see: by the clock, over calls that are queued and then awaited."""
    import jax

    jax.config.update("jax_enable_x64", w.dtype in ("float64", "int64"))
    functions = jax_peer.functions(jax, w.options)
    if w.kind not in functions:
        return []
    narrow = {k: x.astype(np.int32) if x.dtype == np.int64 != w.dtype else x for k, x in arrays.items()}
    sets = [{k: jax.numpy.asarray(x) for k, x in narrow.items()} for _ in range(count)]
    compiled = jax.jit(functions[w.kind])

    def timer(run: Run) -> Timer:
        def timed(calls: int) -> float:
            run().block_until_ready()
            begin = time.perf_counter()
            for _ in range(calls):
                last = run()
            last.block_until_ready()
            return (time.perf_counter() - begin) * 1e3 / calls

        return timed

    return [([lambda g=g: compiled(**g) for g in sets], np.asarray, timer)]  # type: ignore[misc]


CONTENDERS: Mapping[str, Callable[[Device, Workload, Arrays, int], list[Contender]]] = {
    compare.OURS: ours,
    TRUST: lambda *args: ours(*args, bounds="trust"),
    SYNC: lambda *args: ours(*args, check="sync"),
    "torch": torch_ways,
    "torch.compile": compiled_ways,
    "jax": jax_ways,
    "cupy": cupy_ways,
    "triton": triton_ways,
}
PACKAGES = {"torch.compile": "torch"}
