"""An experiment: the same gather under three distributions of its indices.

How long a gather takes depends on its indices: on where in memory they lead, and whether the hardware can foresee it.  So does
the best schedule.  This tutorial measures which choices of gscompile's rules win where, and says why.  ``gs.tune`` makes such a
search by itself: docs/tuning.md.

    python tutorials/07_experiment.py
"""

import gscompile as gs

# 1. A gather, and what its rule leaves open
#
# Rows of 64 bytes, picked out of a table that is larger than a core's caches.  The rule `copies` finds the places of 80 rows,
# then copies them, and prefetches a row 16 places ahead.

b = gs.Builder("rows")
x = b.input("x", ("n", 16), "float32")
i = b.input("i", ("k",), "int64")
b.output(b.take(x, i))
((nest, rule),) = b.build().stats.kernels
assert rule == "copies"

# A choice that a rule leaves open is given by name, for a nest.  What is no choice there is refused, so that a typing error
# does not look like a choice without effect.

m = b.build(choices={nest: {"prefetch": 32}})
assert m.choices == {nest: {"prefetch": 32}}
try:
    b.build(choices={nest: {"prefetch": 33}})
except gs.ArgumentError as e:
    print(e)

# 2. The experiment
#
# All choices take turns on the same arrays, so that what disturbs the machine disturbs all of them.  Each result is compared
# with the default's.

choices = {
    "no prefetch": {nest: {"prefetch": 0}},
    "twice as far": {nest: {"prefetch": 32}},
    "plain stores": {nest: {"stores": "plain"}},
    "cell by cell": {nest: {"rule": "rows"}},
}
sizes = {"n": 400_000, "k": 600_000}  # 26 MB are picked from, 38 MB are written
table = gs.experiment(b, choices=choices, indices=["uniform", "sorted", "constant"], sizes=[sizes], rounds=5)
print(table)
assert len(table) == 5 * 3
assert all(row["state"] == "ok" for row in table)
assert {row["rules"] for row in table} == {"copies", "rows"}

# 3. What won where this was written, and why
#
# Milliseconds, by two threads of a Xeon with 2 MB of L2 cache per core:
#
#                  uniform   sorted   constant
#     default         1.73     1.24       0.80
#     no prefetch     1.99     1.24       0.81
#     twice as far    1.65     1.22       0.80
#     plain stores    2.58     1.45       0.83
#     cell by cell    2.27     1.79       0.90
#
# With indices in no order each row waits for memory, unless it is asked for early: without a prefetch that takes 15 % longer, and
# to ask even earlier gains 5 %.  Sorted indices walk through the table, which the hardware foresees, and one row over and over
# stays in the L1 cache: a prefetch wins nothing there.  Plain stores bring the result through the caches, and push the table out:
# that costs half as much again where rows anywhere in the table are picked, and next to nothing where one row is.  So one
# distribution says little about another, and the default is right for none of them by more than a few percent.
#
# The rows of the table are dicts, for pandas (``table.pandas()``) or for whatever you like.

# 4. Counters
#
# Where Linux lets a process count what its CPU does, rows have that, too: more misses of the last cache and as many instructions
# are a slower memory, more instructions slower code.  What cannot be counted here, as in many virtual machines, is None, and the
# table's notes say why.  The least bytes that must move are always there.

for counter in ("instructions", "cache_misses"):
    print(table.text(counter))
print(*table.notes, sep="\n")
assert {row["written_bytes"] for row in table} == {600_000 * 64}

for row in table:
    print(f"{row['indices']:9} {row['choice']:13} {row['ms']:6.2f} ms {row['gb_per_s']:6.1f} GB/s {row['ratio']:5.2f}x")
print("fastest:", table.best())
