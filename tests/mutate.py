"""Plants one defect at a time in the core, and shows that the tests notice every one.

    python -m tests.mutate              all of them
    python -m tests.mutate clamp        those whose name has "clamp" in it

Works on a copy of the checkout; exit status 1 if a defect survives.  ``tests/unit/test_mutate.py`` keeps the list in step with
the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROPERTIES = "tests/run/test_properties.py"
SCATTER_PATHS = "tests/run/test_scatter_paths.py"


@dataclass(frozen=True)
class Defect:
    """A change of one place in one file, and the tests that are asked."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...] = (PROPERTIES,)


BOUNDS, GATHER, MAP = "gscompile/ir/bounds.py", "gscompile/ir/ops/gather.py", "gscompile/ir/index_map.py"
ADDRESSING, SCATTERING = "gscompile/ir/addressing.py", "gscompile/ir/ops/scattering.py"
COMPARE = "gscompile/ir/ops/elementwise/comparisons.py"
LLVM_SCATTER = "schedules/llvm/scatter.py"

DEFECTS = [
    Defect(
        "negatives not wrapped",
        BOUNDS,
        "    if not negative or T.dtype_of(value).startswith",
        "    if True or T.dtype_of(value).startswith",
    ),
    Defect(
        "clamp ignores the window",
        BOUNDS,
        "return Start(clamped(v, count), None)",
        "return Start(clamped(v, size), None)",
    ),
    Defect(
        "range ignores the window",
        ADDRESSING,
        "return sizes(data[axis] - self.map.slice_size(axis) + 1)",
        "return sizes(data[axis])",
    ),
    Defect(
        "wrap without its multiple",
        BOUNDS,
        'T.floormod(T.cast("int64", v), safe)',
        'T.truncmod(T.cast("int64", v), safe)',
    ),
    Defect(
        "fill value zero",
        GATHER,
        "T.if_then_else(ok, value(), made_of(self.fill, out.dtype, coords))",
        "T.if_then_else(ok, value(), made_of(0, out.dtype, coords))",
    ),
    Defect(
        "index cut to 8 bits",
        BOUNDS,
        '    v = T.cast("int64", value)\n',
        '    v = T.cast("int64", T.cast("int8", value))\n',
    ),
    Defect(
        "coordinates reversed",
        MAP,
        'order = {d: k for k, d in enumerate(_axes("dims", dims, rank))}',
        'order = {d: k for k, d in enumerate(_axes("dims", dims[::-1], rank))}',
    ),
    Defect(
        "batch axes flattened",
        MAP,
        "sources: list[Source] = [Shared(grid[a]) for a in range(batch_dims)]",
        "sources: list[Source] = [Shared(grid[0]) for a in range(batch_dims)]",
    ),
    Defect(
        "vector axis always last",
        MAP,
        '(vector,) = _axes("vector_axis", [vector_axis], index_rank)',
        '(vector,) = _axes("vector_axis", [-1], index_rank)',
        ("tests/dialects/test_topi.py",),
    ),
    Defect(
        "equal extents demanded",
        MAP,
        '                        "<=",\n                        index[s.axis],',
        '                        "==",\n                        index[s.axis],',
    ),
    Defect(
        "negative axis taken as positive",
        "gscompile/frontend/arguments.py",
        "    return a % rank\n",
        "    return abs(a) % rank\n",
    ),
    Defect(
        "first write wins",
        "gscompile/ir/ops/reductions.py",
        "        if self.function is None:\n            return new\n",
        "        if self.function is None:\n            return old\n",
    ),
    Defect(
        "include_self ignored",
        LLVM_SCATTER,
        "if not nest.op.include_self and hits is not None:",
        "if False and hits is not None:",
    ),
    Defect("integer mean truncates", SCATTERING, "quotient = T.floordiv(", "quotient = T.truncdiv("),
    Defect("mean counts self always", SCATTERING, "n = count + (1 if self.include_self else 0)", "n = count + 1"),
    Defect(
        "NaN dropped in max",
        COMPARE,
        "tirx.BitwiseOr(_FLOAT_COMPARISONS[name](x, y), isnan(x))",
        "_FLOAT_COMPARISONS[name](x, y)",
    ),
    Defect(
        "unsigned index taken as signed",
        BOUNDS,
        'value > T.const(FAR, "uint64")',
        'value > T.const(2**64 - 1, "uint64")',
    ),
    Defect(
        "16-bit sums in 16 bits",
        "gscompile/ir/ops/reductions.py",
        'return DTYPES["float32"] if dtype.is_float and dtype.bits == 16 and not self.idempotent else dtype.compute',
        "return dtype.compute",
    ),
    Defect(
        "the last failing index reported",
        "schedules/llvm/check.py",
        "T.all_of([T.not_(nest.valid(g, k)), flat < T.load(nest.status, at)])",
        "T.not_(nest.valid(g, k))",
    ),
    Defect(
        "a dropped point written",
        "schedules/llvm/scatter.py",
        "        conditions = [ok]\n",
        "        conditions = [None]\n",
    ),
    Defect(
        "counts never cleared",
        "schedules/llvm/scatter.py",
        'T.store(counts, storage(c), T.const(0, "int32")))',
        'T.store(counts, storage(c), T.const(1, "int32")))',
    ),
    Defect(
        "a tested index trusted",
        BOUNDS,
        "checked is When.BEFORE and not T.loads_of(v)",
        "checked is When.BEFORE",
        ("tests/run/test_races.py",),
    ),
    Defect(
        "a dropped pair listed",
        "schedules/llvm/index_scan.py",
        "taken = T.all_of([ok, self.lo <= r, r < self.hi])",
        "taken = T.all_of([self.lo <= r, r < self.hi])",
        (SCATTER_PATHS,),
    ),
    Defect(
        "copies begin at 0.0",
        "gscompile/ir/ops/reductions.py",
        "-0.0 if dtype.is_float",
        "0.0 if dtype.is_float",
        (SCATTER_PATHS,),
    ),
    Defect(
        "a dropped point on its owner's list",
        "schedules/llvm/partition.py",
        'length + T.cast("int64", taken)',
        "length + T.const(1)",
        (SCATTER_PATHS,),
    ),
    Defect(
        "an invalid index in the last lane",
        "schedules/llvm/check.py",
        "range(1, self.lanes)",
        "range(1, self.lanes - 1)",
        ("tests/run/test_listed_rows.py",),
    ),
    Defect(
        "a row's first point listed twice",
        "schedules/llvm/row_lists.py",
        "T.store(self.last, [r], p), T.store(self.count",
        "T.store(self.last, [r], T.load(self.last, r)), T.store(self.count",
        ("tests/run/test_scatter_ways.py",),
    ),
    Defect(
        "a dropped point combined in turns",
        "schedules/llvm/last_axis.py",
        "T.if_(ok, T.store(turns",
        "T.if_(None, T.store(turns",
        (SCATTER_PATHS,),
    ),
    Defect(
        "a dropped point of a list combined",
        "schedules/llvm/row_totals.py",
        "T.if_(None if s.nest.check is not None else row >= 0, T.store(",
        "T.if_(None, T.store(",
        ("tests/run/test_scatter_ways.py",),
    ),
    Defect(
        "a dropped point of a row's list combined",
        "schedules/llvm/last_axis.py",
        "T.if_(None if ok is None else inside, T.store(",
        "T.if_(None, T.store(",
        ("tests/run/test_scatter_ways.py",),
    ),
    Defect(
        "the values of a block's list those of the first block",
        "schedules/llvm/staged.py",
        "T.store(values, [k], value(begin + k))",
        "T.store(values, [k], value(k))",
        ("tests/run/test_scatter_ways.py",),
    ),
    Defect(
        "a choice of float16 the other way round",
        "gscompile/ir/float16.py",
        "(x.args[1], x.args[2])",
        "(x.args[2], x.args[1])",
        ("tests/run/test_operators.py",),
    ),
    Defect(
        "the points of a run that no other has left out",
        "schedules/llvm/privatised.py",
        "T.floordiv(points + (runs - 1), T.const(runs))",
        "T.floordiv(points, T.const(runs))",
        (SCATTER_PATHS,),
    ),
    Defect(
        "a share's list goes on with indices of the next one",
        "schedules/llvm/bags.py",
        "T.minimum(count + self.ahead, end * length - number)",
        "count + self.ahead",
        ("tests/run/test_folds.py",),
    ),
    Defect(
        "each part of a long bag starts anew",
        "schedules/llvm/bags.py",
        "T.if_(begin == 0, ",
        "T.if_(begin >= 0, ",
        ("tests/run/test_folds.py",),
    ),
    Defect(
        "the columns after the last whole vector left out",
        "schedules/llvm/vectors.py",
        "T.if_(whole * lanes < length, vector(length - lanes, lanes))",
        "T.if_(whole * lanes < 0, vector(length - lanes, lanes))",
        ("tests/run/test_listed_rows.py",),
    ),
    Defect(
        "a bad index in a copy not reported",
        "schedules/llvm/column_scatter.py",
        "self.flag.note(T.load(self.wrong.bad, T.const(0)))",
        "self.flag.note(T.const(0))",
        (SCATTER_PATHS,),
    ),
]


def survives(defect: Defect) -> bool:
    """Whether the tests pass all the same."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache"))
        path = copy / defect.file
        text = path.read_text()
        assert text.count(defect.right) == 1, f"{defect.name}: the place is not there once in {defect.file}"
        path.write_text(text.replace(defect.right, defect.wrong))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-o",
            "addopts=",
            "-q",
            "-p",
            "no:cacheprovider",
            *defect.tests,
        ]
        done = subprocess.run(
            command, cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True, text=True
        )
        if done.returncode > 1:  # below 0: a signal, such as a write outside a tensor gives, ended the tests
            raise RuntimeError(f"{defect.name}: the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode == 0


def main(words: list[str]) -> int:
    chosen = [d for d in DEFECTS if not words or any(w in d.name for w in words)]
    alive = []
    for d in chosen:
        lives = survives(d)
        print(f"{'SURVIVES' if lives else 'noticed '}  {d.name}", flush=True)
        alive += [d] if lives else []
    print(f"{len(chosen) - len(alive)} of {len(chosen)} defects noticed")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
