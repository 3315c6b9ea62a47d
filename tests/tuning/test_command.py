"""``gscompile tune``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gscompile as gs
from gscompile.commands.main import main
from gscompile.compiler.targets import resolve
from gscompile.compiler.tuned import WINNER, Database, Record, key_of
from gscompile.tuning import suite

SCRIPT = """
def rows(b):
    x, i = b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")
    return b.take(x, i)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "graph.py").write_text(SCRIPT)
    return f"{tmp_path / 'graph.py'}:rows"


def test_a_script_for_two_distributions(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db, page = tmp_path / "db.jsonl", tmp_path / "out.html"
    argv = [
        "tune",
        script,
        "--size",
        "n=2000",
        "--size",
        "k=3000",
        "--trials",
        "2",
        "--search",
        "random",
        "--report",
        str(page),
    ]
    assert main([*argv, "--database", str(db), "--indices", "uniform", "--indices", "zipf:1.1"]) == 0
    out, err = capsys.readouterr()
    assert out.count("rows: 2 trials") == 2 and out.endswith(f"wrote {page}\n") and err == ""
    winners = [r for r in Database(db).records() if r.kind == WINNER]
    assert [(r.key.indices, r.key.sizes) for r in winners] == [
        ({"1": d}, {"n": 2000, "k": 3000}) for d in ("uniform", "zipf:1.1")
    ]
    assert "zipf:1.1" in page.read_text()


def test_an_array_of_a_file(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "i.npy", np.arange(500) % 20)
    db = str(tmp_path / "db")
    argv = [
        "tune",
        script,
        "--indices",
        f"i={tmp_path / 'i.npy'}",
        "--size",
        "n=20",
        "--trials",
        "1",
        "--search",
        "random",
    ]
    assert main([*argv, "--database", db]) == 0
    assert Database(db).records()[-1].key.indices["1"].startswith("array:")
    assert main(["tune", "--merge", db, "--database", str(tmp_path / "other")]) == 0
    assert capsys.readouterr().out.endswith("other: 2 records added\n")
    assert main(["tune", "--merge", db, "--database", str(tmp_path / "i.npy")]) == 2
    assert "i.npy: is another kind of file" in capsys.readouterr().err


def test_a_build_with_what_was_tuned_elsewhere(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    b = gs.Builder("rows")
    b.output(b.take(b.input("x", ("n", 8), "float32"), b.input("i", ("k",), "int64")))
    key = replace(key_of(b.graph(), resolve("llvm")), indices={"1": "sorted"}, machine="Cortex-A72, 4 cores")
    Database(tmp_path / "db").append(Record(WINNER, key, {"2": {"rule": "rows"}}, "ok", 1.0, 2.0, 2.0))
    argv = ["compile", script, "--database", str(tmp_path / "db")]
    for more, rule in (
        ([], "copies"),
        (["--machine", "a72"], "rows"),
        (["--machine", "a72", "--indices", "uniform"], "copies"),
    ):
        assert main([*argv, *more]) == 0
        assert f"('take_2', '{rule}')" in capsys.readouterr().out
    assert main([*argv, "--machine=", "--indices", "i=sorted"]) == 0
    assert "('take_2', 'rows')" in capsys.readouterr().out
    assert main([*argv, "--indices", "i=sorted", "--indices", "uniform"]) == 1
    assert "one distribution for all inputs, or one for each by name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv,status,message",
    [
        ([], 2, "a model is needed, or --suite"),
        (["gone.py:f"], 1, "there is no such script"),
        (["SCRIPT", "--size", "n"], 2, "--size: NAME=N is needed; got 'n'"),
        (["SCRIPT", "--size", "n=3", "--database", "none/db"], 2, "needs a number for k"),
        (["SCRIPT", "--indices", "uniform", "--indices", "i=sorted"], 2, "for all inputs, or for some by name"),
        (["SCRIPT", "--indices", "normal"], 2, "no distribution 'normal'"),
        (["--merge", "gone"], 2, "no such file"),
        (
            ["SCRIPT", "--suite", "2"],
            2,
            "--suite draws graphs, their sizes and indices: a model cannot be given with it",
        ),
        (["--suite", "2", "--indices", "sorted"], 2, "--indices cannot be given with it"),
        (["--suite", "0"], 2, "--suite: a number of graphs is needed; got 0"),
        (["SCRIPT", "--time", "nan"], 2, "--time: seconds, not negative, are needed; got nan"),
        (["SCRIPT", "--size", "n=3"], 2, "a number for k, as --size k=1000, or in Python sizes={"),
        (["graph.py"], 1, "SCRIPT.py:FUNCTION is needed"),
        (["SCRIPT", "--report", "none/a.html"], 2, "cannot write none/a.html"),
        (["SCRIPT", "--tracker", "host:1"], 2, "key= which of them: both are needed"),
        (["SCRIPT", "--tracker", "host", "--key", "x"], 2, "tracker: HOST:PORT is needed; got 'host'"),
    ],
)
def test_mistakes(
    script: str, argv: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = [script if a == "SCRIPT" else a for a in argv]
    assert (
        main(["tune", *given, *(["--database", str(tmp_path / "db")] if "--database" not in given else [])]) == status
    )
    assert message in capsys.readouterr().err


def test_without_ray(script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["tune", script, "--size", "n=3", "--size", "k=3", "--ray"]) == 2
    assert capsys.readouterr().err == (
        "gscompile: tuning on a cluster needs ray, which is not installed: pip install '.[ray]'\n"
    )


def test_the_sample_can_be_tuned() -> None:
    entries = suite.sampled(12, 3)
    assert len(entries) == 12 and {e.indices for e in entries} <= {*suite.DISTRIBUTIONS.values(), None}


def test_the_most_promising_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a little of each, the rest of the time goes to what has won most milliseconds."""
    calls: list[tuple[str, int]] = []

    class Result:
        interrupted = False

        def __init__(self, won: float) -> None:
            self.default_ms, self.ms = 10.0, 10.0 - won

    def tune(*, source: str, trials: int, time: float, **rest: object) -> Result:
        calls.append((source, trials))
        assert 0 <= time <= 100
        return Result({"a": 1.0, "b": 5.0, "c": 0.0}[source])

    monkeypatch.setattr(suite, "tune", tune)
    entries = [suite.Entry(n) for n in "abc"]  # type: ignore[arg-type]
    assert len(list(suite.tune_all(entries, trials=50, time=100, database="x"))) == 3
    assert calls == [("a", 8), ("b", 8), ("c", 8), ("b", 50), ("a", 50), ("c", 50)]
