"""The tests for backends of the onnx package, run by gs.onnx.Backend: one for each case of a node, and models that PyTorch wrote.

``python -m tests.onnx.cases`` adds to ``passing.txt`` the cases that pass and are not in it yet, and takes none away.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.frameworks import need

PASSING = Path(__file__).with_name("passing.txt")


KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")


@functools.cache
def all_cases() -> dict[str, Any]:
    """Every test of the installed onnx package that brings its data, by name."""
    loader = need("onnx.backend.test.loader")
    found = {}
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # it computes infinities on purpose
        patch.setattr(need("onnx.reference.ops.op_pool_common"), "pool", unpooled)
        for kind in KINDS:
            for case in loader.load_model_tests(kind=kind):
                assert case.name not in found
                found[case.name] = with_model(case)
    return found


def unpooled(padded: Any, x_shape: Any, kernel: Any, strides: Any, out_shape: Any, *_: Any, **options: Any) -> Any:
    """A result that is wrong, of operators that are refused: loops of Python take 15 seconds for it, more than for all others."""
    return np.full([*x_shape[:2], *out_shape], np.nan).astype(padded.dtype)


def with_model(case: Any) -> Any:
    """A case whose model, and later its data, may have to be read from files."""
    if case.model is None:
        onnx = need("onnx")
        folder = Path(case.model_dir)
        sets = sorted(folder.glob("test_data_set_*"))
        data = [(tensors(s, "input"), tensors(s, "output")) for s in sets]
        return dataclasses.replace(case, model=onnx.load(folder / "model.onnx"), data_sets=data)
    return case


def tensors(folder: Path, what: str) -> list[Any]:
    files = sorted(folder.glob(f"{what}_*.pb"), key=lambda f: int(f.stem.rpartition("_")[2]))
    return [need("onnx").load_tensor(f) for f in files]


def passing() -> list[str]:
    """The cases that are known to pass."""
    return PASSING.read_text().split()


def run(case: Any) -> None:
    """Raises AssertionError where a result is wrong, and what the backend raises."""
    from gscompile.onnx import Backend

    rep = Backend.prepare(case.model)
    for inputs, wanted in case.data_sets:
        found = rep.run([as_array(x) for x in inputs])
        wanted = [as_array(x) for x in wanted]
        assert len(found) == len(wanted), f"{len(found)} outputs, expected {len(wanted)}"
        for f, w in zip(found, wanted, strict=True):
            same(np.asarray(f), np.asarray(w), tolerance(case), case.atol)


def tolerance(case: Any) -> float:
    """The case's own; but a product of matrices of bfloat16, which has 8 bits, is rounded there after every step, by us once."""
    of_many_steps = "attention" in case.name and "bf16" in case.name
    return 2**-6 if of_many_steps else float(case.rtol)


def as_array(x: Any) -> Any:
    """Some data is kept as TensorProtos, some as arrays."""
    return need("onnx").numpy_helper.to_array(x) if hasattr(x, "raw_data") else x


def same(found: Any, wanted: Any, rtol: float, atol: float) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), (
        f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    )
    if wanted.dtype.name == "bfloat16":
        found, wanted = found.astype("f4"), wanted.astype("f4")
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def outcome(case: Any) -> str:
    """``""`` for a case that passes, else what is wrong; a refusal begins with ``refused: ``."""
    try:
        run(case)
    except gs.GSError as e:
        return f"refused: {type(e).__name__}: {e}"
    except Exception as e:
        return f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
    return ""


def main() -> None:
    known = set(passing()) if PASSING.exists() else set()
    start = time.time()
    found = {name: outcome(case) for name, case in all_cases().items()}
    for name, why in sorted(found.items()):
        if why and (name in known or not why.startswith("refused: ") or "-v" in sys.argv):
            print(name, why, sep=": ")
    new = {name for name, why in found.items() if not why} - known
    PASSING.write_text("".join(f"{name}\n" for name in sorted(known | new)))
    print(f"{len(known | new)} of {len(found)} pass, {len(new)} of them newly; {time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
