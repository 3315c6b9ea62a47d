"""No kernel touches memory outside a tensor, whatever the indices.

Every tensor, in and out, ends exactly where an unreadable page begins, or begins exactly where one ends, and the index holds
the worst values of its type.  A kernel that strays is killed by the processor, so each job runs in a process of its own,
which says what it is about to do before it does it.  ``llvm`` compiles and runs; ``cuda`` runs the cuda schedules' loops on
the CPU (:mod:`gscompile.emulation`).
"""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
import tvm_ffi

import gscompile as gs
from gscompile.runtime import devices as device
from tests.forks import FORKS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="protects pages with Linux's mprotect")

Array = np.ndarray[Any, Any]
TARGETS = ("llvm", "cuda")
KINDS = ("gather", "scatter")
ROWS = (1, 3, 7, 16, 17, 64)  # elements of a row: around the widths of vectors
DTYPES = ("uint8", "float32", "float64")
INDEX_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint64")
REDUCTIONS = ("update", "add", "sub", "mul", "min", "max", "mean")
THREADS = 5  # more than the pieces of any small problem
LARGE = {"llvm": 40_000, "cuda": 5_000}  # points: above what is done on one thread, and by a few blocks of them

# -- memory -----------------------------------------------------------------------------------------------------------

PAGE = mmap.PAGESIZE
CANARY = 0xA5
PROT_NONE = 0  # <sys/mman.h>
_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Fence:
    """Allocates arrays between two unreadable pages.

    Args:
        at_end: whether arrays end at the second page rather than begin after the first.
        align: addresses are multiples of this; what is left between array and page is filled with a pattern that
            :meth:`check` looks at, so that writes there are seen too.
    """

    def __init__(self, at_end: bool, align: int = 1) -> None:
        self.at_end = at_end
        self.align = align
        self.slack: list[Array] = []

    def array(self, shape: Sequence[int], dtype: Any) -> Array:
        """Fenced storage, zeroed."""
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        room = -(-nbytes // PAGE) * PAGE
        region = mmap.mmap(-1, room + 2 * PAGE)
        everything = np.frombuffer(region, np.uint8)
        offset = PAGE + ((room - nbytes) // self.align * self.align if self.at_end else 0)
        everything[:] = CANARY
        for page in (0, PAGE + room):
            if _mprotect(everything.ctypes.data + page, PAGE, PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.slack += [everything[PAGE:offset], everything[offset + nbytes : PAGE + room]]
        array: Array = np.ndarray(shape, dtype, region, offset)
        array[...] = 0
        return array

    def copy(self, x: Array) -> Array:
        """A fenced copy."""
        array = self.array(x.shape, x.dtype)
        array[...] = x
        return array

    def check(self) -> None:
        """Nothing was written beside an array."""
        for slack in self.slack:
            assert (slack == CANARY).all(), "memory beside a tensor was written"


# -- a process of its own ---------------------------------------------------------------------------------------------

MEMORY = 16 << 30  # bytes of addresses, so that a runaway child ends by itself

Say = Callable[[str], None]


@dataclass(frozen=True)
class End:
    """How a child process ended: exit code (negative: a signal), what it last said, and the traceback if it raised."""

    code: int | None
    said: str
    error: str

    def __str__(self) -> str:
        how = self.error or (
            f"killed by {signal.Signals(-self.code).name}" if self.code and self.code < 0 else self.code
        )
        return f"in {self.said}: {how}"


def _child(pipe: Connection, job: Callable[..., None], args: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        job(lambda text: pipe.send(("said", text)), *args)
    except BaseException:
        pipe.send(("error", traceback.format_exc()))
        raise SystemExit(1) from None


def in_child(job: Callable[..., None], *args: Any, timeout: float = 300) -> End:
    """Run ``job(say, *args)`` in a process of its own."""
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=_child, args=(theirs, job, args))
    process.start()
    theirs.close()
    heard = {"said": "nothing", "error": ""}
    try:
        while ours.poll(timeout):
            kind, text = ours.recv()
            heard[kind] = text
        heard["error"] = f"silent for {timeout} s"
        process.kill()
    except EOFError:
        pass
    process.join()
    return End(process.exitcode, heard["said"], heard["error"])


# -- operators --------------------------------------------------------------------------------------------------------

Dim = int | str
Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Form:
    """One way to place indices.

    Attributes:
        gather, scatter: the builder's methods.
        data, index: shapes, of the numbers of rows, of elements in a row and of points; of ints or of names.
        axes: the axis of data that each component of the index indexes.
        args: what else the methods take.
        vector_axis: of index; None where there is one component and no such axis.
        slices: elements that a point takes along each indexed axis.
    """

    gather: str
    scatter: str
    data: Callable[[Any, Any, Any], Shape]
    index: Callable[[Any, Any, Any], Shape]
    axes: tuple[int, ...]
    args: dict[str, Any]
    vector_axis: int | None = None
    slices: tuple[int, ...] = (1, 1)


def slices_of(*sizes: int) -> gs.IndexMap:
    """XLA's gather of slices: the index vector gives where each begins."""
    layout = (("index", 0), *(("window", w) for w in range(len(sizes))))
    return gs.IndexMap(tuple(gs.Indexed(k, k) for k in range(len(sizes))), layout, 1, sizes)


MIXED = gs.IndexMap(  # data (r, 4, w): rows shared, the axis of 4 fixed, the last indexed; points laid out backwards
    (gs.Shared(0), gs.Fixed(), gs.Indexed(0)), (("index", 1), ("index", 0))
)
WHOLE = gs.IndexMap(  # data (r, w): two rows at a time, whole
    (gs.Indexed(0, 0), gs.Window(1)), (("window", 0), ("index", 0), ("window", 1)), None, (2, None)
)

FORMS = {
    "gather dim=0": Form("gather", "scatter", lambda r, w, k: (r, w), lambda r, w, k: (k, w), (0,), {"dim": 0}),
    "gather dim=1": Form("gather", "scatter", lambda r, w, k: (r, w), lambda r, w, k: (r, k), (1,), {"dim": 1}),
    "nd rows": Form("gather_nd", "scatter_nd", lambda r, w, k: (r, w), lambda r, w, k: (k, 1), (0,), {}, 1),
    "nd cells": Form("gather_nd", "scatter_nd", lambda r, w, k: (r, w), lambda r, w, k: (k, 2), (0, 1), {}, 1),
    "nd batch": Form(
        "gather_nd", "scatter_nd", lambda r, w, k: (r, w, 3), lambda r, w, k: (r, k, 1), (1,), {"batch_dims": 1}, 2
    ),
    "nd dims=[1]": Form(
        "gather_nd", "scatter_nd", lambda r, w, k: (r, w), lambda r, w, k: (r, k, 1), (1,), {"dims": [1]}, 2
    ),
    "nd dims=[1, 0]": Form(
        "gather_nd", "scatter_nd", lambda r, w, k: (r, w), lambda r, w, k: (k, 3, 2), (1, 0), {"dims": [1, 0]}, 2
    ),
    "take axis=0": Form("take", "put", lambda r, w, k: (r, w), lambda r, w, k: (k,), (0,), {}),
    "take axis=1": Form("take", "put", lambda r, w, k: (r, w), lambda r, w, k: (k,), (1,), {"axis": 1}),
    "take batch": Form(
        "take", "put", lambda r, w, k: (r, 2, w), lambda r, w, k: (r, k), (2,), {"axis": 2, "batch_dims": 1}
    ),
    "map slices": Form(
        "gather_map", "scatter_map", lambda r, w, k: (r, w), lambda r, w, k: (k, 2), (0, 1), {"map": slices_of(2, 1)}, 1, (2, 1)
    ),
    "map rows": Form(
        "gather_map", "scatter_map", lambda r, w, k: (r, w), lambda r, w, k: (k,), (0,), {"map": WHOLE}, None, (2,)
    ),
    "map mixed": Form("gather_map", "scatter_map", lambda r, w, k: (r, 4, w), lambda r, w, k: (r, k), (2,), {"map": MIXED}),
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """What a form is compiled for: one of a few per form, which together see every pair of choices."""

    row: int
    dtype: str
    index_dtype: str
    symbolic: bool
    large: bool
    negative: bool
    deterministic: bool
    number: int

    def sizes(self, form: Form, target: str) -> Iterator[tuple[int, int, int]]:
        """Rows, elements in a row and points of the problems to run."""
        small = (5, self.row, 17)
        rows = 37
        per_point = math.prod(points_shape(form, (rows, self.row, 1)))
        large = (rows, self.row, -(-LARGE[target] // per_point))
        if self.symbolic or not self.large:
            yield small
        if self.symbolic or self.large:
            yield large
        if self.symbolic:  # nothing to point with, nothing to point at, and nothing to move
            yield (5, self.row, 0)
            if max(form.slices) == 1:
                yield from [(0, self.row, 9), (5, 0, 9)]


def variants(form: str, target: str, kind: str, thorough: bool = False) -> list[Variant]:
    """Three on llvm, two on cuda, whose schedules look less at sizes; those of gathers are not those of scatters.

    Args:
        thorough: all six, and all four, for both.
    """
    f = list(FORMS).index(form)
    found = [
        Variant(
            row,
            DTYPES[(v + f // 2) % 3],
            INDEX_DTYPES[(v + f) % 6],
            symbolic=(v + f // 3) % 2 == 0,
            large=(v // 2 + f) % 2 == 0,
            negative=(v // 3 + f // 4) % 2 == 0,
            deterministic=(v // 2 + f // 3) % 2 == 0,
            number=6 * f + v,
        )
        for v, row in enumerate(ROWS)
        if target == "llvm" or (v + f + f // 6) % 3
    ]
    turn = KINDS.index(kind)
    return [v for k, v in enumerate(found) if thorough or (k + k // 2 + f + f // 2) % 2 == turn]


def points_shape(form: Form, sizes: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    b = gs.Builder()
    data, index = b.input("data", form.data(*sizes), "int8"), b.input("index", form.index(*sizes), "int8")
    return tuple(getattr(b, form.gather)(data, index, bounds="fill", **form.args).shape)


def declared(form: Form, v: Variant, sizes: tuple[int, int, int]) -> tuple[gs.Builder, list[gs.Value]]:
    """A builder with the inputs data, index and src."""
    dims: tuple[Any, Any, Any] = ("r", "w", "k") if v.symbolic else sizes
    b = gs.Builder("fenced")
    data = b.input("data", form.data(*dims), v.dtype)
    index = b.input("index", form.index(*dims), v.index_dtype)
    return b, [data, index, b.input("src", points_shape(form, dims), v.dtype)]


def arrays(form: Form, v: Variant, sizes: tuple[int, int, int], index: Array) -> list[Array]:
    rng = np.random.default_rng(1)
    data, src = form.data(*sizes), points_shape(form, sizes)
    return [rng.integers(0, 9, data).astype(v.dtype), index, rng.integers(0, 9, src).astype(v.dtype)]  # type: ignore[arg-type]


def palette(
    form: Form, v: Variant, sizes: tuple[int, int, int], component: int
) -> tuple[list[int], list[int], list[int]]:
    """Index values: valid counted from the start, valid from the end, and invalid either way."""
    size = int(form.data(*sizes)[form.axes[component]])
    info = np.iinfo(v.index_dtype)
    values = [info.min, info.max, -size - 1, size, -size, size - 1, 0, -1, info.min + 1, info.max - 1]
    values += [1 << 31, -(1 << 31) - 1, 1 << 32, -(1 << 32), (1 << 32) + 1, 1 << 63]
    values = [x for x in dict.fromkeys(values) if info.min <= x <= info.max]
    count = size - form.slices[component] + 1
    fits = [x for x in values if 0 <= x < count]
    from_end = [x for x in values if x < 0 and 0 <= x + size < count]
    return fits, from_end, [x for x in values if x not in fits and x not in from_end]


def index_array(
    form: Form, v: Variant, sizes: tuple[int, int, int], choices: Sequence[Sequence[int]], seed: int
) -> Array:
    """An index whose components each take all of their choices, in random order."""
    shape = list(form.index(*sizes))
    rng = np.random.default_rng(seed)
    if form.vector_axis is not None:
        del shape[form.vector_axis]
    parts = []
    for values in choices:
        flat = np.resize(np.array(values, v.index_dtype), math.prod(shape))
        rng.shuffle(flat)
        parts.append(flat.reshape(shape))
    return parts[0] if form.vector_axis is None else np.stack(parts, form.vector_axis)


# -- jobs, run in children --------------------------------------------------------------------------------------------

handed: list[list[int]] = []  # the pointers that each call of a compiled function got


fences: list[Fence] = []  # the one in use is the last


def watch() -> None:
    """Record the pointers that compiled functions get, and give them fenced scratch memory."""
    original = gs.Module._entry
    watched: set[Any] = set()

    def entry(self: Any) -> Any:
        function = original(self)
        if self in watched:
            return function
        watched.add(self)

        def recording(*args: Any) -> Any:
            handed.append([a.value for a in args if isinstance(a, ctypes.c_void_p)])
            return function(*args)

        return tvm_ffi.convert(recording)

    gs.Module._entry = entry  # type: ignore[method-assign]
    assert callable(device.host_scratch), "the function that allocates scratch memory"
    device.host_scratch = lambda nbytes: fences[-1].array((nbytes,), np.uint8)


MANY_CORES = {"kind": "llvm", "num-cores": 64}  # as which more rules' parts are compiled


def build(b: gs.Builder, target: str | dict[str, Any], deterministic: bool) -> Any:
    if target == "cuda":
        from gscompile.emulation import emulate

        return emulate(b, deterministic=deterministic)
    return b.build(target=target, deterministic=deterministic)


def call(module: Any, inputs: Sequence[Array], outs: Sequence[Array]) -> None:
    """Run a kernel on exactly these arrays."""
    before = [x.tobytes() if not any(x is o for o in outs) else None for x in inputs]
    handed.clear()
    try:
        module(*inputs, out=tuple(outs))
    finally:
        for was, x in zip(before, inputs, strict=True):
            assert was is None or was == x.tobytes(), "an input has changed"
        want = [x.ctypes.data for x in (*inputs, *outs)]
        assert all(got[: len(want)] == want for got in handed), "the kernel got a copy"
    assert len(handed) == 1


def drive(say: Say, target: str, form_name: str, kind: str, thorough: bool) -> None:
    """The variants of a form: the policies that go on under the worst indices, then ``raise``."""
    gs.set_num_threads(THREADS)
    watch()
    form, scatters = FORMS[form_name], kind == "scatter"
    for v in variants(form_name, target, kind, thorough):
        todo = list(v.sizes(form, target))
        for job in (unchecked, checked):
            say(f"{form_name}, {v}: compiling")
            module, check = job(form, v, todo[0], target, scatters)
            for sizes, at_end in itertools.product(todo, (True, False)):
                where = f"{kind}, {form_name}, {v}, {sizes}, fence at end {at_end}"
                fence = Fence(at_end, 16 if target == "cuda" else np.dtype(v.dtype).itemsize)
                fences[:] = [fence]
                check(module, sizes, fence, lambda text, where=where: say(f"{where}: {text}"))
                fence.check()


Check = Callable[[Any, tuple[int, int, int], Fence, Say], None]


def operator(b: gs.Builder, form: Form, values: Sequence[gs.Value], scatters: bool, n: int, **options: Any) -> gs.Value:
    """The form's gather, or its scatter with one of the reductions."""
    data, index, src = values
    if not scatters:
        return getattr(b, form.gather)(data, index, **form.args, **options)
    options |= {"reduction": REDUCTIONS[n % len(REDUCTIONS)], "include_self": n % 3 != 0}
    return getattr(b, form.scatter)(data, index, src, **form.args, **options)


def unchecked(form: Form, v: Variant, sizes: tuple[int, int, int], target: str, scatters: bool) -> tuple[Any, Check]:
    """``clip``, ``wrap`` and ``fill`` of one graph, with every index value."""
    b, values = declared(form, v, sizes)
    for n, bounds in enumerate(("clip", "wrap", "fill", "clip" if v.deterministic else "fill")):
        if n < 3 or scatters:
            b.output(
                operator(b, form, values, scatters, 4 * v.number + n, bounds=bounds, negative=v.negative ^ (n == 3))
            )
    module = build(b, target, v.deterministic)

    def check(module: Any, sizes: tuple[int, int, int], fence: Fence, say: Say) -> None:
        choices = [list(itertools.chain(*palette(form, v, sizes, c))) for c in range(len(form.axes))]
        for seed in (0, 1):
            index = index_array(form, v, sizes, choices, seed)
            inputs = [fence.copy(x) for x in arrays(form, v, sizes, index)]
            shape = inputs[0].shape if scatters else inputs[2].shape
            outs = [fence.array(shape, v.dtype) for _ in module.outputs]
            say(f"clip, wrap and fill, values {choices}, seed {seed}")
            try:
                call(module, inputs, outs)
            except (gs.BoundsError, gs.ShapeError):
                assert 0 in sizes, "only an empty axis may be refused"

    return module, check


def checked(form: Form, v: Variant, sizes: tuple[int, int, int], target: str, scatters: bool) -> tuple[Any, Check]:
    """``raise``: valid indices, then one invalid value at a time; scatters in place too."""
    b, values = declared(form, v, sizes)
    b.output(operator(b, form, values, scatters, v.number, bounds="raise", negative=v.negative))
    module = build(b, target, v.deterministic)

    def check(module: Any, sizes: tuple[int, int, int], fence: Fence, say: Say) -> None:
        if sizes[0] == 0 or sizes[1] == 0:
            return
        good, bad = [], []
        for c in range(len(form.axes)):
            fits, from_end, wrong = palette(form, v, sizes, c)
            good.append(fits + from_end if v.negative else fits)
            bad.append(wrong if v.negative else wrong + from_end)
        fine = index_array(form, v, sizes, good, 0)
        inputs = [fence.copy(x) for x in arrays(form, v, sizes, fine)]
        data, index, _ = inputs
        original = data.copy()
        out = fence.array(data.shape if scatters else inputs[2].shape, v.dtype)
        for target_array in (out, data) if scatters else (out,):
            say(f"raise, in place {target_array is data}, values {good}")
            call(module, inputs, [target_array])
            data[...] = original
        if index.size == 0:
            return
        places = itertools.cycle((0, -1, index.size // len(form.axes) // 2))
        for component, values in enumerate(bad):
            for value in values:
                index[...] = fine
                column = index if form.vector_axis is None else index.take(component, form.vector_axis)
                at = np.unravel_index(next(places) % column.size, column.shape)
                position = list(map(int, at))
                if form.vector_axis is not None:
                    position.insert(form.vector_axis, component)
                index[tuple(position)] = value
                for target_array in (out, data) if scatters else (out,):
                    say(f"raise, in place {target_array is data}, value {value} at {position}")
                    try:
                        call(module, inputs, [target_array])
                    except gs.BoundsError as e:
                        assert (e.value, e.position) == (value, tuple(position))
                    else:
                        raise AssertionError("no BoundsError")
                    assert data.tobytes() == original.tobytes(), "a call that raised has changed data"

    return module, check


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_index_leads_outside(kind: str, form: str, target: str, thorough: bool) -> None:
    end = in_child(drive, target, form, kind, thorough)
    assert end.code == 0, str(end)
    assert "raise" in end.said


@pytest.mark.parametrize("target", TARGETS)
def test_the_variants_see_every_pair_of_choices(target: str) -> None:
    """Gathers and scatters each on llvm; together on cuda."""
    choices: dict[str, Sequence[Any]] = {"row": ROWS, "dtype": DTYPES, "index_dtype": INDEX_DTYPES}
    choices |= dict.fromkeys(("symbolic", "large", "negative", "deterministic"), (True, False))
    for kinds in [[kind] for kind in KINDS] if target == "llvm" else [KINDS]:
        seen = [v for form in FORMS for kind in kinds for v in variants(form, target, kind)]
        for one, other in itertools.combinations(choices, 2):
            got = {(getattr(v, one), getattr(v, other)) for v in seen}
            assert got == set(itertools.product(choices[one], choices[other])), (kinds, one, other)
    for form in FORMS if target == "llvm" else ():
        numbers = {(4 * v.number + n) % len(REDUCTIONS) for v in variants(form, target, "scatter") for n in range(4)}
        assert len(numbers) == len(REDUCTIONS), form


# -- the harness must be able to fail ---------------------------------------------------------------------------------

FATAL = (-signal.SIGSEGV, -signal.SIGBUS)


def stray(say: Say, target: str, scatters: bool, at_end: bool, value: int) -> None:
    """Break the promise that ``trust`` is."""
    watch()
    b = gs.Builder("stray")
    data, index = b.input("data", (80, 16), "float32"), b.input("index", (80, 4), "int64")
    options = {"dim": 1, "bounds": "trust", "negative": False}
    # an update for cuda looks first who wins, in scratch memory, where whatever stands beside it may keep it from writing
    added = b.scatter(data, index, 1, reduction="add", **options)
    b.output(added if scatters else b.gather(data, index, **options))
    module = build(b, target, False)
    fence = Fence(at_end, 16)
    fences.append(fence)
    inputs = [fence.array((80, 16), np.float32), fence.array((80, 4), np.int64)]
    out = fence.array((80, 16) if scatters else (80, 4), np.float32)
    say("valid")
    call(module, inputs, [out])
    fence.check()
    inputs[1][-1 if at_end else 0] = value
    say("invalid")
    call(module, inputs, [out])
    say("survived")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scatters", [False, True])
@pytest.mark.parametrize(("at_end", "value"), [(True, 16), (False, -1)])
def test_a_broken_promise_is_fatal(scatters: bool, at_end: bool, value: int, target: str) -> None:
    end = in_child(stray, target, scatters, at_end, value)
    assert end.code in FATAL and end.said == "invalid", str(end)


def touch(say: Say, at_end: bool, offset: int, write: bool) -> None:
    """One byte at an offset from an array of 100 bytes."""
    fence = Fence(at_end)
    x = fence.array((100,), np.uint8)
    say("touching")
    if write:
        ctypes.memset(x.ctypes.data + offset, 1, 1)
    else:
        ctypes.string_at(x.ctypes.data + offset, 1)
    fence.check()
    say("touched")


@pytest.mark.parametrize(
    ("at_end", "offset", "write", "ending"),
    [
        (True, 99, True, "touched"),
        (True, 100, False, "fatal"),
        (True, 100, True, "fatal"),
        (True, -1, True, "seen"),
        (False, 0, True, "touched"),
        (False, -1, False, "fatal"),
        (False, -1, True, "fatal"),
        (False, 100, True, "seen"),
    ],
)
def test_a_fence_stops_one_byte(at_end: bool, offset: int, write: bool, ending: str) -> None:
    end = in_child(touch, at_end, offset, write)
    if ending == "touched":
        assert (end.code, end.said) == (0, "touched"), str(end)
    elif ending == "seen":
        assert end.code == 1 and "memory beside a tensor was written" in end.error
    else:
        assert end.code in FATAL and end.said == "touching", str(end)
