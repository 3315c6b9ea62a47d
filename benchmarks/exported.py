"""Exported libraries against builds in the process: ``python benchmarks/exported.py [--rounds 15]``.

Rows of the benchmark take turns, built and loaded, on the same arrays.  Then what the function in C costs over its kernel, and
what a library takes to load, in fresh processes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import gscompile as gs
from gscompile.bench.report import geometric_mean
from gscompile.bench.timing import Sample
from gscompile.bench.variants import turns
from gscompile.bench.workload import Workload
from gscompile.bench.workloads import TINY, WORKLOADS
from gscompile.runtime.threads import set_num_threads

# Turns of the kernel and of the function, by one thread; before them dlopen and the first call of the process
PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "net.h"

enum { CALLS = 100000, TURNS = 41 };

typedef struct { int32_t type; uint32_t padding; int64_t value; } Any;
typedef int (*Kernel)(void *, Any *, int32_t, Any *);
typedef int (*Function)(const float *, const int64_t *, float *, const gs_options *, gs_error *);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    static float x[1000], out[100];
    static int64_t i[100], status[64];
    double begin = now();
    void *library = dlopen("./net.so", RTLD_NOW);
    Function function = (Function)dlsym(library, "tiny_take");
    double loaded = now();
    int failed = function(x, i, out, NULL, NULL);
    double called = now();
    Kernel kernel = ((Kernel(*)(void))dlsym(library, "tiny_take_kernel"))();
    gs_options options;
    memset(&options, 0, sizeof options);
    options.threads = 1;
    int64_t given[] = {(int64_t)x, (int64_t)i, (int64_t)out, (int64_t)status, 0, 1, 0};
    Any args[7], result;
    memset(args, 0, sizeof args);
    for (int k = 0; k < 7; ++k)
        args[k].value = given[k];
    double alone[TURNS], whole[TURNS];
    for (int k = 0; k < TURNS; ++k) {
        double a = now();
        for (int n = 0; n < CALLS; ++n)
            failed |= kernel(NULL, args, 7, &result);
        double b = now();
        for (int n = 0; n < CALLS; ++n)
            failed |= function(x, i, out, &options, NULL);
        alone[k] = (b - a) / CALLS, whole[k] = (now() - b) / CALLS;
    }
    qsort(alone, TURNS, sizeof *alone, compare), qsort(whole, TURNS, sizeof *whole, compare);
    printf("%g %g %g %g\n", alone[TURNS / 2], whole[TURNS / 2], (loaded - begin) / 1e6, (called - loaded) / 1e6);
    return failed;
}
"""
LOAD = """
import time
import numpy
begin = time.perf_counter()
import gscompile as gs
gs.load
imported = time.perf_counter()
gs.load("net.so")
print((imported - begin) * 1e3, (time.perf_counter() - imported) * 1e3)
"""


def compared(w: Workload, folder: Path, rounds: int) -> tuple[float, float]:
    """Median milliseconds of a row as it was built, and the median of the rounds' loaded / built."""
    arrays = w.arrays()
    module = w.builder(arrays).build()
    out = module(*arrays.values())
    module.export(folder / f"{w.name}.so")
    loaded = gs.load(folder / f"{w.name}.so")
    times = turns(
        {"built": module.bind(*arrays.values(), out=out), "loaded": loaded.bind(*arrays.values(), out=out)}, rounds
    )
    return Sample.of(times["built"]).median, Sample.of(times["loaded"] / times["built"]).median


def in_processes(command: list[str], folder: Path, processes: int) -> list[float]:
    """Medians of the numbers that each process prints."""
    found = [subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True) for _ in range(processes)]
    return [median(numbers) for numbers in zip(*(map(float, done.stdout.split()) for done in found), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    parser.add_argument("--processes", type=int, default=15)
    options = parser.parse_args()
    if options.threads:
        set_num_threads(options.threads)
    ratios = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| row | built, ms | loaded / built |\n|---|---|---|")
        for w in WORKLOADS.values():
            ms, ratios[w.name] = compared(w, folder, options.rounds)
            print(f"| {w.name} | {ms:.3g} | {ratios[w.name]:.3f} |", flush=True)
        found = list(ratios.values())
        print(f"geometric mean {geometric_mean(found):.3f}, {min(found):.3f} to {max(found):.3f}")
        tiny = WORKLOADS[TINY]
        tiny.builder(tiny.arrays()).build().export(folder / "net.so")
        (folder / "net.c").write_text(PROGRAM)
        subprocess.run(["cc", "-O2", "net.c", "-o", "net", "-ldl"], cwd=folder, check=True)
        kernel, function, opened, first = in_processes(["./net"], folder, options.processes)
        print(f"C: kernel {kernel:.1f} ns, function {function:.1f} ns: {function - kernel:.1f} more")
        print(f"C: dlopen {opened:.2f} ms, first call {first:.2f} ms")
        imported, loaded = in_processes([sys.executable, "-c", LOAD], folder, options.processes)
        print(f"Python: import beside NumPy {imported:.1f} ms, gs.load {loaded:.2f} ms")


if __name__ == "__main__":
    main()
