"""Tutorial 3: a kernel leaves home.

A graph is compiled here and used where there is no TVM and no compiler: in a program of C, and in a Python that has only NumPy.
Here it is the lookup of a recommender: a bag of rows for each user, weighted and added up.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gscompile as gs

# 1. The graph, with sizes that are known only at a call

b = gs.Builder("lookup")
table = b.input("table", ("items", 16), "float32")
bags = b.input("bags", ("users", 8), "int32")
weights = b.input("weights", ("users", 8, 1), "float32")
b.output(b.sum(b.take(table, bags) * weights, 1))
module = b.build()

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
arrays = rng.random((1000, 16), np.float32), rng.integers(0, 1000, (50, 8), np.int32), np.ones((50, 8, 1), np.float32)
want = module(*arrays)

# 2. A library, and a header that says how its function is called

library, header = module.export(folder / "lookup.so")
print(header.read_text().rpartition("/* Bytes of")[0].rpartition("/* lookup")[2])

# 3. In C.  What fails says what was wrong.

PROGRAM = r"""
#include <stdio.h>
#include "lookup.h"

int main(void) {
    static float table[1000 * 16], weights[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[16];
    int32_t bags[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    gs_error error;
    for (int k = 0; k < 8 * 16; ++k)
        table[k] = 1;
    if (lookup(table, bags, weights, out, 1000, 1, NULL, &error) != GS_OK || out[0] != 8)
        return 1;
    bags[3] = 1000;
    if (lookup(table, bags, weights, out, 1000, 1, NULL, &error) != GS_INDEX)
        return 2;
    puts(error.text);
    return 0;
}
"""
(folder / "main.c").write_text(PROGRAM)
cc = next(c for c in ("cc", "gcc", "clang") if shutil.which(c))
subprocess.run(
    [cc, "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c", "./lookup.so", "-Wl,-rpath,$ORIGIN"],
    cwd=folder,
    check=True,
)
said = subprocess.run([folder / "main"], check=True, capture_output=True, text=True).stdout
print(said)
assert "bags[0, 3] = 1000 is out of range for axis 0 of data (1000, 16): valid are -1000 to 999" in said

# 4. In Python, without TVM: the same callable as the module

loaded = gs.load(library)
assert np.array_equal(loaded(*arrays), want)

ELSEWHERE = """
import sys
sys.modules.update({"tvm": None, "tvm_ffi": None})  # a Python that has them not
import numpy as np, gscompile as gs
lookup = gs.load(sys.argv[1])
print(lookup, lookup(np.ones((9, 16), "float32"), np.zeros((1, 8), "int32"), np.ones((1, 8, 1), "float32"))[0, 0])
"""
subprocess.run([sys.executable, "-c", ELSEWHERE, str(library)], check=True)

# 5. What it is, for whoever finds the file: nothing of it runs

subprocess.run([sys.executable, "-m", "gscompile", "inspect", str(library)], check=True)
shutil.rmtree(folder)
