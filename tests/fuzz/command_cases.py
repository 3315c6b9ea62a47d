"""Command lines: an exit status, a line of error, and no traceback."""

from __future__ import annotations

import contextlib
import io

from gscompile.commands.main import main
from tests.fuzz.draw import Draw, shown

COMMANDS = ("compile", "bench", "demo", "ops", "--version", "--help", "compile", "compile")
WORDS = (
    *(
        "--target",
        "--shape",
        "--threads",
        "--json",
        "--output",
        "-o",
        "--emit",
        "--dtype",
        "--quiet",
        "--rows",
        "--help",
    ),
    *(
        "llvm",
        "cuda -arch=sm_9",
        "cuda",
        "x=2,3",
        "x=²,3",
        "x=",
        "=3",
        "x=-1",
        "x=9999999999999999999999",
        "x=n,m",
        "0",
        "-1",
    ),
    *(
        "llvm -mtriple=aarch64-linux-gnu",
        "llvm -mcpu=nothing",
        "/nope/x.json",
        "/",
        "/dev/null",
        "model.onnx",
        "",
        "\udcff",
    ),
    *("gather", "take", "nothing", "--nothing", "9" * 400, "1e9", "nan", "--", "-", "٣", "$(id)", "../../etc/passwd"),
)


def run(draw: Draw) -> None:
    argv = [draw.one_of(COMMANDS), *(draw.one_of(WORDS) for _ in range(draw.rng.randint(0, 5)))]
    if argv[0] in ("bench", "demo"):  # which would run for minutes
        argv.append("--nothing")
    draw.log(shown(argv))
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = main(argv)
    assert status in (0, 1, 2) and "Traceback" not in errors.getvalue(), errors.getvalue()
