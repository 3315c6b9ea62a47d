"""Tutorial 8: from a tensor expression to a schedule by hand, and to ours.

``gscompile.te`` gives gathers and scatters as tensor expressions, and ``b.prim_func`` gives TVM's PrimFunc of a graph: without a
schedule, for TVM's own tools, or with the loops that gscompile compiles.  Here one gather,

    out[i, f] = table[index[i], f] * 2

goes all three ways, for a CPU and for cuda.
"""

import numpy as np
import tvm
from tvm import te
from tvm.s_tir import Schedule, dlight

import gscompile as gs
import gscompile.te as gte

ROWS, WIDTH, PICKED = 1000, 64, 500
rng = np.random.default_rng(0)
table = rng.random((ROWS, WIDTH), dtype="float32")
index = rng.integers(0, ROWS, PICKED)
want = table[index] * 2


def run(func: tvm.tirx.PrimFunc) -> np.ndarray:
    """What a function gives, compiled by TVM's default pipeline."""
    program = tvm.compile(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}), target="llvm")
    out = tvm.runtime.tensor(np.zeros_like(want))
    program["main"](tvm.runtime.tensor(table), tvm.runtime.tensor(index), out)
    return out.numpy()


# 1. A tensor expression: a block for the gather, and one for the product

A = te.placeholder((ROWS, WIDTH), "float32", "A")
I = te.placeholder((PICKED,), "int64", "I")  # noqa: E741
rows = gte.take(A, I, name="rows")
doubled = te.compute(rows.shape, lambda i, f: rows[i, f] * 2.0, name="doubled")
plain = te.create_prim_func([A, I, doubled])
assert np.array_equal(run(plain), want)

# The same from a graph, with no schedule

b = gs.Builder("doubled_rows")
x, i = b.input("table", (ROWS, WIDTH), "float32"), b.input("index", (PICKED,), "int64")
b.output(b.take(x, i, name="rows") * 2.0)
assert np.array_equal(run(b.prim_func(schedule=False)), want)

# 2. A schedule by hand, for a CPU: the gather is computed where it is read; rows are shared by the threads, and each row is
# moved in vectors of 16

sch = Schedule(tvm.IRModule({"main": plain}))
sch.compute_inline(sch.get_sblock("rows", "main"))
row, cell = sch.get_loops(sch.get_sblock("doubled", "main"))
_, lanes = sch.split(cell, [None, 16])
sch.parallel(row)
sch.vectorize(lanes)
by_hand = sch.mod["main"]
print(by_hand.script())
assert "T.parallel" in by_hand.script() and "T.vectorized" in by_hand.script()
assert np.array_equal(run(by_hand), want)

# 3. For cuda: a block for each row, a thread for each of its cells.  It is compiled without a GPU; DLight finds a schedule of
# its own

cuda = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
sch = Schedule(tvm.IRModule({"main": plain}))
sch.compute_inline(sch.get_sblock("rows", "main"))
row, cell = sch.get_loops(sch.get_sblock("doubled", "main"))
sch.bind(row, "blockIdx.x")
sch.bind(cell, "threadIdx.x")
bound = sch.mod["main"].script()
print(bound)
assert "blockIdx.x" in bound and "threadIdx.x" in bound
with cuda:
    found = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(tvm.IRModule({"main": plain}))
assert "threadIdx.x" in found.script()

# 4. Our rule for the same nest: it also decides by the call's sizes whether threads are worth it, prefetches rows, and checks
# the index.  ``explain`` says which rule it is; ``prim_func`` gives its loops to TVM

print(b.build("llvm").explain())
ours = b.prim_func("llvm", checks="clamp")
assert np.array_equal(run(ours), want)

# With checks="status" the last parameter says what was out of range: whether there was one, the place, and the value

index[7] = ROWS + 5
program = tvm.compile(tvm.IRModule({"main": b.prim_func("llvm")}), target="llvm")
status = tvm.runtime.tensor(np.zeros(3, "int64"))
out = tvm.runtime.tensor(np.zeros_like(want))
program["doubled_rows"](tvm.runtime.tensor(table), tvm.runtime.tensor(index), out, status)
failed, position, value = status.numpy()
assert failed and (position, value) == (7, ROWS + 5)
