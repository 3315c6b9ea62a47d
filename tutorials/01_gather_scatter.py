"""Tutorial 1: gather and scatter.

From one gather to a fused message-passing step on graphs of any size.  Run it with ``python tutorials/01_gather_scatter.py``;
every claim below is an assert.
"""

import numpy as np

import gscompile as gs

# 1. A gather
#
# A builder declares a graph: inputs, operators, outputs.  ``gather`` reads along one axis.  The result has the index's shape,
# and every other coordinate stays what it is:
#
#     out[i, j] = data[index[i, j], j]                                                            (dim=0)

b = gs.Builder("first")
data = b.input("data", (4, 3), "float32")
index = b.input("index", (2, 3), "int64")
b.output(b.gather(data, index, dim=0))

# ``build`` compiles it; the module is called with arrays.  NumPy comes in, so NumPy comes out.
m = b.build("llvm")
A = np.arange(12, dtype="float32").reshape(4, 3)
at = np.array([[0, 1, 1], [3, 2, 0]])
assert np.array_equal(m(A, at), [[0, 4, 5], [9, 7, 2]])
assert np.array_equal(m(A, at), np.take_along_axis(A, at, axis=0))
assert np.array_equal(m(index=at, data=A), m(A, at))  # inputs have names

# Shapes and dtypes are checked where the graph is built, and the message says what the rule is.
try:
    b.gather(data, b.input("floats", (2, 3), "float32"))
except gs.DTypeError as e:
    assert str(e) == "gather: index must have an integer dtype; got float32"
else:
    raise AssertionError

# 2. Indices out of range
#
# A negative index counts from the end, as in Python.  What any other index out of range means is said by ``bounds``:
# an error ("raise", the default), the nearest valid index ("clip"), the index modulo the extent ("wrap"), or a fill value.


def pick(indices: list[int], **options: object) -> list[float]:
    """Elements of [10, 20, 30] at some indices."""
    b = gs.Builder("pick")
    values = b.input("values", (3,), "float32")
    where = b.input("where", ("k",), "int64")
    b.output(b.take(values, where, **options))
    return b.build()(np.array([10, 20, 30], "float32"), np.array(indices)).tolist()


assert pick([0, 2, -1, -3]) == [10, 30, 30, 10]
assert pick([3, -4], bounds="clip") == [30, 10]
assert pick([3, -4], bounds="wrap") == [10, 30]
assert pick([3, -4], bounds="fill", fill=-1) == [-1, -1]
assert pick([3, -1], bounds="fill", negative=False) == [0, 0]  # -1 is out of range too, then
try:
    pick([1, 3, -4])
except gs.BoundsError as e:  # an IndexError as well
    assert isinstance(e, IndexError)
    assert (e.tensor, e.position, e.value, e.valid) == ("where", (1,), 3, (-3, 2))  # the first offender
else:
    raise AssertionError

# 3. A scatter, and duplicates
#
# A scatter is the mirror image: the index says where to write.  It returns a new tensor; data is what it starts from.  Where
# several points hit one cell, ``reduction`` says how they are combined, in row-major order of the source.


def spread(**options: object) -> list[float]:
    """[1, 2, 3, 4] scattered into [100, 100, 100] at 0, 2, 2, 2."""
    b = gs.Builder("spread")
    values = b.input("values", (3,), "float32")
    where = b.input("where", (4,), "int64")
    source = b.input("source", (4,), "float32")
    b.output(b.scatter(values, where, source, **options))
    arrays = np.full(3, 100, "float32"), np.array([0, 2, 2, 2]), np.array([1, 2, 3, 4], "float32")
    return b.build()(*arrays).tolist()


assert spread() == [1, 100, 4]  # update: the last one wins, on every target and any number of threads
assert spread(reduction="add") == [101, 100, 109]
assert spread(reduction="max") == [100, 100, 100]
assert spread(reduction="max", include_self=False) == [1, 100, 4]  # data only where nothing is written
assert spread(reduction="mean", include_self=False) == [1, 100, 3]

# 4. Rows, and sizes that are known later
#
# ``take`` gathers slices and ``put`` scatters them: rows of a table by default.  A dimension may be a name; one module then
# serves every size, and a name that occurs twice means the same size.

b = gs.Builder("lookup")
table = b.input("table", ("rows", 8), "float32")
wanted = b.input("wanted", ("k",), "int32")
looked_up = b.take(table, wanted)
assert str(looked_up.type) == "float32(k, 8)"
b.output(looked_up)
lookup = b.build()
rng = np.random.default_rng(0)
for rows, k in ((1, 5), (1000, 3), (17, 0)):
    T, W = rng.random((rows, 8), "float32"), rng.integers(0, rows, k, "int32")
    assert np.array_equal(lookup(T, W), T[W])

# 5. Message passing, as one kernel
#
# On a graph with edges src -> dst, every edge takes its source's row, weights it, and adds it to its destination's row.  In
# NumPy that is ``np.add.at(out, dst, x[src] * weight[:, None])``, which stores x[src] and the product.  Here it is written
# the same way, but nothing of the size of all messages is ever stored: reading, weighting and adding are one loop nest.

b = gs.Builder("messages")
x = b.input("x", ("nodes", 16), "float32")
src = b.input("src", ("edges",), "int64")
dst = b.input("dst", ("edges",), "int64")
weight = b.input("weight", ("edges",), "float32")
messages = b.take(x, src) * b.unsqueeze(weight, 1)
b.output(b.put(b.zeros(("nodes", 16)), dst, messages, reduction="add", name="sums"))
m = b.build()
assert len(m.stats.kernels) == 1
assert m.stats.workspace_bytes == 0

N, E = 1000, 7000
X, W = rng.random((N, 16), "float32"), rng.random(E, "float32")
S, D = rng.integers(0, N, E), rng.integers(0, N, E)
want = np.zeros((N, 16))
np.add.at(want, D, X[S].astype("float64") * W[:, None])
sums = m(X, S, D, W)
assert np.allclose(sums, want, rtol=1e-5, atol=0)

# The order of additions is fixed, so the bits do not depend on the number of threads.
threads = gs.get_num_threads()
for n in (1, 2, 5):
    gs.set_num_threads(n)
    assert np.array_equal(m(X, S, D, W), sums)
gs.set_num_threads(threads)

# The sizes must agree with each other, and the error says which do not.
try:
    m(X, S, D[:-1], W)
except gs.ShapeError as e:
    assert str(e) == f"messages: size edges is {E} by axis 0 of src, but {E - 1} by axis 0 of dst"
else:
    raise AssertionError

# 6. Results in given memory, and in place
#
# ``out=`` names the array that receives the result.

out = np.empty((N, 16), "float32")
assert m(X, S, D, W, out=out) is out
assert np.array_equal(out, sums)

# Where a scatter starts from an input, that input may be ``out``: nothing is copied then.  Otherwise no input changes.
b = gs.Builder("accumulate")
total = b.input("total", ("n", 4), "float32")
where = b.input("where", ("k",), "int64")
rows_in = b.input("rows", ("k", 4), "float32")
b.output(b.put(total, where, rows_in, reduction="add"))
accumulate = b.build()

start = np.ones((3, 4), "float32")
ones = np.ones((2, 4), "float32")
fresh = accumulate(start, np.array([2, 2]), ones)
assert fresh[:, 0].tolist() == [1, 1, 3]
assert start[:, 0].tolist() == [1, 1, 1]
assert accumulate(start, np.array([2, 2]), ones, out=start) is start
assert start[:, 0].tolist() == [1, 1, 3]

# Indices are checked before the first write, so a call that raises has changed nothing.
try:
    accumulate(start, np.array([0, 3]), ones, out=start)
except gs.BoundsError as e:
    assert str(e) == "put_3: where[1] = 3 is out of range for axis 0 of data (3, 4): valid are -3 to 2"
else:
    raise AssertionError
assert start[:, 0].tolist() == [1, 1, 3]

# 7. Looking at what was made
#
# The graph prints itself; the module shows its code at every stage.

print(m)
print(m.source("tir"))
assert "def messages(" in m.source("tir")  # the loop nests
assert "define" in m.source("llvm")  # LLVM's input
assert "messages" in m.source("asm")  # what the CPU runs

# The same graph compiles for a GPU, whether one is here or not.
cuda = b.build({"kind": "cuda", "arch": "sm_90"}).source("cuda")
assert "__global__" in cuda
assert "atomicAdd" in cuda  # duplicates meet in atomics there, unless deterministic=True
