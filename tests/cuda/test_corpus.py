"""Kernels written by hand are right in any order of their threads; and a defect in any of them is noticed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cuda import CudaError, Program, cpu_compiler
from tests.cuda.corpus import KERNELS, Kernel

pytestmark = pytest.mark.skipif(cpu_compiler() is not None, reason=str(cpu_compiler()))
SEEDS = range(6)


def run(kernel: Kernel, program: Program, seed: int) -> None:
    grid, block, args, shared, check = kernel.case(np.random.default_rng(seed))
    for a in args[2 if kernel.name == "copy_rows" else len(args) :]:
        if isinstance(a, np.ndarray):
            a.flags.writeable = False
    program.launch(kernel.name, grid, block, *args, shared=shared, seed=seed)
    try:
        check()
    except AssertionError as e:
        raise AssertionError(f"wrong: {e}") from e


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_it_is_right(kernel: Kernel, tmp_path: Path) -> None:
    program = Program(kernel.source, tmp_path)
    for seed in SEEDS:
        run(kernel, program, seed)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_defects_are_noticed(kernel: Kernel, tmp_path: Path) -> None:
    for k, (old, new, message) in enumerate(kernel.mutations):
        assert kernel.source.count(old) == 1, old
        program = Program(kernel.source.replace(old, new), tmp_path, f"mutation{k}")
        with pytest.raises((CudaError, AssertionError), match=message):
            for seed in SEEDS:
                run(kernel, program, seed)
