"""The command line: the demo, its data, and how errors leave."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands import demo, demo_parts
from gscompile.commands.main import main


def test_demo_succeeds_and_shows_its_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for piece in (
        "1. The example of CINN's design document",
        "B_1 = [[0.0000, 4.0000, 5.0000],\n            [9.0000, 7.0000, 2.0000]]",
        "[9.0000, 0.0000, 0.0000]]\n   ok: B_3 is what the document prints",
        "one kernel, means by rule",
        "with the instructor:    0 1 2 3 4 5 6 7 10 11 12 13 16 17 19 21\n",
        "Zachary saw 33 of 34 go that way.  The other way went: 8.",
        "scratch memory: 0 bytes; the messages are never stored",
        "20,000 nodes, 400,000 edges, 64 features: NumPy's float64 sums, rtol 1e-05",
        "NumPy, np.add.at",
        "__global__ void",
        "one kernel takes a message from x to the sums",
    ):
        assert piece in out, piece
    assert out.endswith("Everything is as expected.\n")
    assert "WRONG" not in out
    assert out.isascii() and "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize("part", [demo_parts.design_document, demo_parts.karate_club, demo_parts.random_graph])
def test_a_part_notices_a_wrong_result(
    part: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = gs.Module._call

    def wrong(self: gs.Module, *args: Any, out: Any = None) -> Any:
        result = call(self, *args, out=out)
        for array in result if isinstance(result, tuple) else (result,):
            array.reshape(-1)[-1] += 0.001
        return result

    monkeypatch.setattr(gs.Module, "_call", wrong)
    monkeypatch.setattr(gs.Module, "_remember", lambda *_: None)  # so that every call comes there
    monkeypatch.setattr(demo_parts, "PARTS", (("This part", part),))
    assert main(["demo"]) == 1
    out, err = capsys.readouterr()
    assert "   WRONG: " in out and "Everything" not in out
    assert err == "gscompile: demo: wrong in part 1 (This part); see the lines that begin with WRONG\n"


def test_the_cuda_part_notices_a_missing_kernel(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gs.Module, "source", lambda self, kind="tir": "// nothing")
    assert not demo_parts.cuda_kernel()
    assert "   WRONG: one kernel takes a message from x to the sums: 0 kernels do" in capsys.readouterr().out


def test_a_part_notices_a_second_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    b = gs.Builder()
    x = b.input("x", (5,), "float32")
    b.output(b.exp(x), b.neg(x))
    assert not demo_parts.check_kernels(b.build())
    assert "WRONG" in capsys.readouterr().out


def test_check_equal_names_the_first_difference(capsys: pytest.CaptureFixture[str]) -> None:
    want = np.zeros((2, 3))
    got = want.copy()
    got[1, 2] = 7
    assert demo_parts.check_equal("same", want, want)
    assert not demo_parts.check_equal("cells", got, want)
    assert not demo_parts.check_equal("nan", want * np.nan, want)
    assert not demo_parts.check_equal("shape", got[:1], want)
    assert capsys.readouterr().out.splitlines() == [
        "   ok: same",
        "   WRONG: cells: 1 of 6 cells differ; at [1, 2] 7.0 instead of 0.0",
        "   WRONG: nan: 6 of 6 cells differ; at [0, 0] nan instead of 0.0",
        "   WRONG: shape: shape (1, 3) instead of (2, 3)",
    ]


def test_long_code_is_folded_and_cut() -> None:
    code = "void f(float* __restrict__ p) {\n" + "  p[((int64_t)threadIdx.x)] = (p[0] + (int64_t)1);\n" * 60 + "}"
    lines = demo_parts.excerpt(code).splitlines()
    assert lines[:2] == ["void f(float* __restrict__ p) {", "  p[threadIdx.x] = (p[0] + 1);"]
    assert len(lines) == demo_parts.CUDA_LINES + 1
    assert lines[-1] == "... (22 more lines)"
    folded = demo_parts.excerpt(
        "  void g(" + ", ".join(f"float* __restrict__ p{k}" for k in range(9)) + ")"
    ).splitlines()
    assert len(folded) > 1
    assert all(len(line) <= demo_parts.WIDTH and not line.endswith("*") for line in folded)
    assert all(line.startswith("      float*") for line in folded[1:])


def test_karate_club() -> None:
    edges = demo_parts.karate_edges()
    assert edges.shape == (78, 2)
    assert edges.dtype == np.int64
    pairs = {(int(a), int(b)) for a, b in edges}
    assert len(pairs) == 78
    assert all(a < b for a, b in pairs)
    degree = Counter(edges.ravel().tolist())
    # the degrees in order of nodes; Zachary's matrix, as in networkx's karate_club_graph()
    want = [16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2, 2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17]
    assert [degree[v] for v in range(34)] == want
    assert sum(degree.values()) == 156


def test_version_and_module() -> None:
    done = subprocess.run([sys.executable, "-m", "gscompile", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"gscompile {gs.__version__}\n", "")


@pytest.mark.parametrize("argv", [[], ["no-such-command"], ["demo", "--no-such-option"]])
def test_a_wrong_command_line_is_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: gscompile") and "error: " in err


def test_help_is_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert demo.HELP in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (gs.ShapeError("gather: no"), 2, "gscompile: gather: no\n"),
        (gs.BoundsError("take: no"), 2, "gscompile: take: no\n"),
        (KeyboardInterrupt(), 130, "gscompile: interrupted\n"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_errors_become_exit_statuses(
    error: BaseException,
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> bool:
        raise error

    monkeypatch.setattr(demo_parts, "PARTS", (("This part", fail),))
    assert main(["demo"]) == status
    assert capsys.readouterr().err == message


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(demo_parts, "PARTS", (("This part", fail),))
    with pytest.raises(ZeroDivisionError):
        main(["demo"])


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = (
        "from gscompile.commands import demo_parts, main; demo_parts.PARTS = (('Nothing', lambda: True),); "
        "raise SystemExit(main.main(['demo']))"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


def test_a_shell_that_asks_is_answered_by_argcomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    answers = SimpleNamespace(autocomplete=lambda parser: asked.append(parser.prog))
    monkeypatch.setitem(sys.modules, "argcomplete", answers)
    assert main(["--version"]) == 0 and not asked
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    assert main(["--version"]) == 0 and asked == ["gscompile"]
    monkeypatch.setitem(sys.modules, "argcomplete", None)  # not installed
    assert main(["--version"]) == 0
