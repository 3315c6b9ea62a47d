"""Scratch memory of calls: kept for the next one, had by one call alone, and given back to the system where it is too large."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from gscompile.runtime.extension import extension

HEADER = Path(gs.__file__).parent / "runtime" / "_scratch.h"
PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include "_scratch.h"

static void *client(void *given) {
    char own = (char)(uintptr_t)given;
    for (size_t k = 0; k < 2000; ++k) {
        size_t bytes = k % 7 == 0 ? 100 : KEPT_LEAST + (k * 977 + (size_t)own * 31) % 300000;
        char *p = gs_take_scratch(bytes);
        assert(p != NULL && (uintptr_t)p % SCRATCH_ALIGNMENT == 0);
        memset(p, own, bytes);
        for (size_t at = 0; at < bytes; at += 511)
            assert(p[at] == own);
        gs_give_scratch(p);
    }
    return NULL;
}

int main(void) {
    char *first = gs_take_scratch(1 << 20);
    memset(first, 1, 1 << 20);
    gs_give_scratch(first);
    assert(gs_take_scratch(1 << 19) == first); /* kept */
    char *other = gs_take_scratch(KEPT_LEAST);
    assert(other != first); /* in use */
    gs_give_scratch(first);
    gs_give_scratch(other);
    assert(atomic_load(&gs_kept)->bytes >= 1 << 20); /* the larger one */
    gs_give_scratch(gs_take_scratch(3 << 20));
    assert(atomic_load(&gs_kept)->bytes >= 3 << 20); /* the smaller one has gone */
    gs_give_scratch(gs_take_scratch(5 << 20));
    assert((uintptr_t)atomic_load(&gs_kept) % HUGE_PAGE == 0);
    char *huge = gs_take_scratch((size_t)KEPT_MOST + 1);
    gs_give_scratch(huge);
    assert(atomic_load(&gs_kept) == NULL); /* too large to keep, and what was kept was too small */
    assert(gs_take_scratch(SIZE_MAX - 5) == NULL);
    gs_give_scratch(NULL);
    pthread_t clients[4];
    for (uintptr_t k = 0; k < 4; ++k)
        assert(pthread_create(&clients[k], NULL, client, (void *)(k + 1)) == 0);
    for (int k = 0; k < 4; ++k)
        pthread_join(clients[k], NULL);
    free(atomic_exchange(&gs_kept, NULL));
    return 0;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are started as on Linux")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, with its sanitizers")
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_a_block_is_had_by_one_call(sanitizer: str, tmp_path: Path) -> None:
    source, program = tmp_path / "scratch.c", tmp_path / "scratch"
    source.write_text(PROGRAM)
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-fsanitize={sanitizer}"]
    built = subprocess.run(["gcc", *flags, f"-I{HEADER.parent}", source, "-o", program], capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("gcc comes without this sanitizer")
    assert built.returncode == 0, built.stderr
    command = ["setarch", "-R", program] if shutil.which("setarch") else [program]
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1", "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-4000:])


@pytest.mark.skipif(sys.platform != "linux", reason="faults are counted as on Linux")
@pytest.mark.skipif(extension is None, reason="the C extension is not built (pip install -e .)")
def test_calls_touch_no_new_pages() -> None:
    """48 MB of totals in float32: 12,000 pages of 4 KB, which took 10 ms of a call of 14."""
    b = gs.Builder("rows")
    x, i, u = b.input("x", ("n", 128), "float16"), b.input("i", ("k",), "int64"), b.input("u", ("k", 128), "float16")
    b.output(b.put(x, i, u, reduction="add"))
    m = b.build()
    rng = np.random.default_rng(0)
    index = rng.permutation(100_000)[:20_000]
    args = rng.random((100_000, 128)).astype("float16"), index, rng.random((20_000, 128)).astype("float16")
    out = np.empty_like(args[0])
    for _ in range(3):
        m(*args, out=out)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        m(*args, out=out)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1000
    want = args[0].astype("float32")
    want[index] += args[2]
    assert (out == want.astype("float16")).all()
