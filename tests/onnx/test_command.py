"""``gscompile compile model.onnx``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gscompile as gs
from gscompile.commands.main import main
from tests.onnx.models import model, node, onnx


def saved(folder: Path, *nodes: Any, shape: Any = ("n", 3)) -> str:
    path = folder / "model.onnx"
    onnx.save(model(list(nodes), {"x": ("float32", shape), "i": ("int64", ["k"])}, {"y": "float32"}), path)
    return str(path)


def test_prints_and_saves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, node("Gather", "x i", "r"), node("Exp", "r", "y"))
    assert main(["compile", path, "--out", str(tmp_path / "code" / "deep")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for piece in (
        "m(x: float32(n, 3), i: int64(k,))\n",
        "float32(k, 3) = take(x, i, bounds=raise)",
        "<gscompile module m(x: float32(n, 3), i: int64(k,)) -> float32(k, 3) for llvm",
        "1 kernel>\n",
        "workspace",
    ):
        assert piece in out, piece
    for ending in ("py", "ll", "s"):
        file = tmp_path / "code" / "deep" / f"m.{ending}"
        assert file.stat().st_size > 0
        assert f"wrote {file}\n" in out


def test_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, node("Gather", "x i", "y"), shape=None)
    assert main(["compile", path]) == 1
    assert "input 'x' has no shape in the model" in capsys.readouterr().err
    target = '{"kind": "cuda", "arch": "sm_90"}'
    assert main(["compile", path, "--shape", "x=rows, 4", "--target", target, "--name", "rows"]) == 0
    out = capsys.readouterr().out
    assert "rows(x: float32(rows, 4), i: int64(k,)) -> float32(k, 4) for cuda (sm_90)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{tmp}/gone.onnx"], "cannot read"),
        (["{tmp}"], "Is a directory"),
        (["{model}", "--shape", "z=1"], "shapes: no input is called 'z'"),
        (["{wrong}"], "node 0 (TopK): the operator TopK is not supported"),
    ],
)
def test_mistakes_are_messages(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    names = {
        "tmp": str(tmp_path),
        "model": saved(tmp_path, node("Gather", "x i", "y")),
        "wrong": saved(wrong, node("TopK", "x i", "y z")),
    }
    argv = [a.format(**names) for a in arguments]
    assert main(["compile", *argv]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"gscompile: compile: {argv[0]}: ") and message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--target", "vulkan", "target 'vulkan' is not supported"),
        ("--target", "{", "compile: --target: this is no JSON"),
        ("--target", '{"a":' * 9000, "compile: --target: this is no JSON"),
        ("--target", '{"kind": "cuda", "arch": "sm_9"}', "a CUDA architecture looks like"),
        *(
            ("--shape", text, "compile: --shape: INPUT=N,M,.. is needed")
            for text in (
                "x",
                "x=²,3",
                "x=٣,3",
                "x=-1,2",
                "x=--3",
                "x=1.5",
                "x=a b",
                "x=\0",
                "x=+3",
                f"x={10**18}",
                "x=" + "9" * 5000,
            )
        ),
        ("--name", "a b", "a Python identifier"),
        ("--name", "", "a Python identifier"),
        ("--out", __file__, "compile: --out: cannot write to"),
        ("--out", "\0", "compile: --out: cannot write to"),
        ("--out", "x" * 5000, "compile: --out: cannot write to"),
    ],
)
def test_options_that_make_no_sense(
    option: str, value: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", saved(tmp_path, node("Gather", "x i", "y")), option, value]) == 2
    err = capsys.readouterr().err
    assert err.startswith("gscompile: ") and message in err
    assert err.count("\n") == 1 and len(err) < 500


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    for name in [n for n in sys.modules if n == "onnx" or n.startswith(("onnx.", "gscompile.onnx"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(gs), "onnx", raising=False)  # an attribute asked for would be imported
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["compile", "m.onnx"]) == 1
    assert "pip install '.[onnx]'" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, node("Gather", "x i", "y"))
    assert main(["compile", path]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["compile", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["compile", path]) == 0
    err = capsys.readouterr().err
    assert "reading the model" in err and "compiling 3 values for llvm" in err and err.endswith("\r\x1b[K")
    assert main(["compile", str(tmp_path / "gone.onnx")]) == 1
    assert "\r\x1b[Kgscompile: compile: " in capsys.readouterr().err
