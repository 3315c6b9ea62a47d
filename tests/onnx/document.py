"""docs/onnx.md, made from the importer's table, the operators' definitions and the list of tests that pass.

``python -m tests.onnx.document`` writes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gscompile.onnx.definitions import NEWEST
from gscompile.onnx.importer import MAX_EXPANDED
from gscompile.onnx.node import OPERATORS, TENSOR_TYPES, Operator
from tests.frameworks import need
from tests.onnx import cases

onnx = need("onnx")
PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
LEGACY = "consumed_inputs"  # a hint to the runtimes of 2016

TEXT = """# ONNX

`gs.onnx` compiles ONNX models. It needs the package onnx: `pip install '.[onnx]'`.

```python
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h
import gscompile as gs

x, i = h.make_tensor_value_info("x", T.FLOAT, ["rows", 3]), h.make_tensor_value_info("i", T.INT64, ["k"])
y = h.make_tensor_value_info("y", T.FLOAT, ["k", 3])
nodes = [h.make_node("Gather", ["x", "i"], ["r"]), h.make_node("Relu", ["r"], ["y"])]
onnx.save(h.make_model(h.make_graph(nodes, "net", [x, i], [y]), opset_imports=[h.make_opsetid("", 21)]), "net.onnx")

b = gs.onnx.import_model("net.onnx")  # a Builder: print it, add to it, compile it
m = b.build()
print(b, m(np.eye(3, dtype="float32"), np.array([2, 0])), sep="\\n")
```

`gscompile compile net.onnx --out code` prints the graph and what was made of it, and saves the code of every stage.
On a terminal it shows what it does meanwhile; `--quiet` does not. With `pip install '.[completion]'` and
`eval "$(register-python-argcomplete gscompile)"` a shell completes the command line.
`gs.onnx.Backend` is the same behind the interface of `onnx.backend.base`. `gs.onnx.replace` leaves a model to ONNX Runtime,
but for its gathers and scatters and what is between them: see [Deploy](deploy.md#onnx-runtime).

## What becomes of a model

- **Names** stay where they are identifiers of Python; any other character becomes `_`. A module takes the inputs in the model's
  order, or by name, and gives the outputs in the model's order.
- **Axes without a number** become sizes known only at a call: axes with one `dim_param` are one size, unnamed ones one each.
  Such a size never broadcasts, so an axis that may be 1 beside a longer one needs a shape of its own:
  `import_model(.., shapes={{"name": (..)}})`; only a slice of at most one row (`x[:1]`) does.
- **Arithmetic on shapes** (Shape, Gather, Concat, Reshape, ..) is done while the graph is built, with sizes as they are. What a
  shape depends on must be known then: shapes, axes, pads, repeats, starts, ends, steps, OneHot's depth, all of Range. Where it
  is computed from the elements of an input, `NeedsValue` names the input, and `import_model(.., known={{"name": array}})` makes
  that a constant. `Backend` does so by itself, and compiles once for each value.
- **Initialisers** become constants that refer to the model's bytes. External data is mapped; it must lie in the model's
  directory.
- **Functions** of the model, and operators that ONNX defines by others, are expanded: to any depth, and to
  {expanded_nodes:,} nodes.
- **Indices**: a negative one counts from the end, one out of range raises `BoundsError`, in every operator set; duplicates of a
  scatter are combined in row-major order. See `gscompile.dialects.onnx`.
- **Products of matrices** (MatMul, Gemm, Einsum) are plain sums of products: exact as others are, slower than a library's.
- **Numbers**: integers wrap; an integer divided by 0 gives 0; floats cast to integers truncate and saturate; min and max give
  NaN where any is; sums of 16-bit floats are made in float32.

- **If** is its branch where the condition is known while the graph is built, as that on a rank or an extent is.
- **Reductions** give what ONNX Runtime gives: of no elements 0, 1, the infinities, and of a mean 0; ArgMax and ArgMin skip NaN
  unless it is first, and refuse no elements. Max and Min give NaN where any is, which it does for some shapes.
- **Exported networks** of PyTorch import, by either exporter, in operator sets 17 to 24: graph networks (sums, means and maxima
  over edges, attention), and of vision networks what tokens need: patches by reshaping, attention, LayerNormalization, GELU. A
  convolution (Conv, MaxPool, Resize) is refused. PyTorch's older exporter leaves out the sum of `index_add` and of an
  accumulating `index_put` where indices are equal, and so does its model here.

Not supported, and refused with an error that names the node or the input: operators and domains that are not listed here, nodes
that hold other graphs (Loop, Scan), sequences, optionals and sparse tensors, strings, and numbers of less than 8 bits. Element
types that are: {types}.

## Tests of the onnx package

Of its {total} tests for backends (onnx {version}: single nodes, and models that PyTorch wrote), {passing} pass ([the
list](../tests/onnx/passing.txt)), those of all gathers and scatters among them; every other one is refused.

## Operators

Operator sets 1 to {newest}. "From" is the first that is supported, "changed at" where the operator's definition changed later.
An attribute with `=` has that default; with `!` it must be given; a range says in which operator sets that is so, where these
are not all.

| operator | from | changed at | attributes | not supported |
|---|---|---|---|---|
{rows}

## Operators that ONNX defines by these

These are expanded: {expanded}.
"""


def versions(name: str) -> list[Any]:
    """The definitions of an operator, the oldest first."""
    found = [s for s in onnx.defs.get_all_schemas_with_history() if (s.name, s.domain) == (name, "")]
    return sorted(found, key=lambda s: int(s.since_version))


def row(operator: Operator) -> str:
    definitions = [s for s in versions(operator.name) if s.since_version <= NEWEST]
    used = [
        s
        for s, following in zip(definitions, [*definitions[1:], None], strict=True)
        if (following is None or following.since_version > operator.since) and not s.deprecated
    ]
    first = max(operator.since, used[0].since_version)
    removed = [s.since_version for s in definitions if s.deprecated]
    changes = ", ".join(str(s.since_version) for s in used if s.since_version > first)
    changes += "".join(f"{', ' if changes else ''}removed at {v}" for v in removed)
    note = operator.note.replace("|", "\\|")
    return f"| {operator.name} | {first} | {changes} | {attributes(used, first)} | {note} |"


def attributes(used: list[Any], first: int) -> str:
    """Every attribute as it may be written, and the operator sets for which that holds where these are not all."""
    ends = [s.since_version - 1 for s in used[1:]] + [None]
    found = []
    for name in sorted({a for s in used for a in s.attributes} - {LEGACY}):
        written = [f"`{name}{default(s.attributes[name])}`" if name in s.attributes else "" for s in used]
        at = 0
        for text, group in itertools.groupby(written):
            count = len(list(group))
            start, end = max(used[at].since_version, first), ends[at + count - 1]
            at += count
            if text:
                found.append(text + span(start, end, first))
    return ", ".join(found)


def span(start: int, end: int | None, first: int) -> str:
    if end is None:
        return "" if start == first else f" ({start} on)"
    return f" ({start})" if start == end else f" ({start} to {end})"


def default(attribute: Any) -> str:
    if attribute.required:
        return "!"
    if not attribute.default_value.type:
        return ""
    x = onnx.helper.get_attribute_value(attribute.default_value)
    return f"={x.decode() if isinstance(x, bytes) else f'{x:.6g}' if isinstance(x, float) else x}"


def expanded() -> Iterable[str]:
    """Operators without a row whose tests pass."""
    passing = set(cases.passing())
    found = {
        case.model.graph.node[0].op_type
        for name, case in cases.all_cases().items()
        if name in passing and len(case.model.graph.node) == 1
    }
    return sorted(found - set(OPERATORS) - {"If"})  # which is its branch


def page() -> str:
    rows = "\n".join(row(OPERATORS[name]) for name in sorted(OPERATORS))
    return TEXT.format(
        types=", ".join(d.name for d in TENSOR_TYPES.values()),
        total=len(cases.all_cases()),
        passing=len(cases.passing()),
        version=onnx.__version__,
        newest=NEWEST,
        rows=rows,
        expanded=", ".join(expanded()),
        expanded_nodes=MAX_EXPANDED,
    )


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
