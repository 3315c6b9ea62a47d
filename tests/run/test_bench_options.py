"""Options of ``gscompile bench`` that make no sense are refused before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gscompile.bench import compare, sizes
from gscompile.commands.main import main


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(request: Any) -> None:
        raise AssertionError("measured")

    monkeypatch.setattr(compare, "measure", measure)
    monkeypatch.setattr(sizes, "measure", measure)


def is_refused(capsys: pytest.CaptureFixture[str], message: str, *arguments: str) -> None:
    assert main(["bench", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("gscompile: bench: ") and message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("value", ["0", "-1", "99999999", "9" * 400])
def test_threads_and_rounds(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    is_refused(capsys, "--threads at most the cores", "--threads", value)
    if int(value) < 1:
        is_refused(capsys, "--rounds is positive", "--rounds", value)


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1e400"])
def test_points(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    is_refused(capsys, "--max-points is from 1 to 1e12", "--measure", "sizes", "--max-points", value)


@pytest.mark.parametrize(
    "where", ["{tmp}", "{tmp}/gone/x.json", "{tmp}/file/x.json", "", "\0", "x" * 5000, "/proc/x.json"]
)
def test_files_that_cannot_be_written(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    is_refused(capsys, "--json: cannot write to", "--json", where.format(tmp=tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_file_is_as_it_was_until_there_are_results(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")
    for name in ("old.json", "new.json"):
        with pytest.raises(AssertionError, match="measured"):
            main(["bench", "--json", str(tmp_path / name)])
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("old.json", "old")]


def test_saved_results_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    is_refused(capsys, "holds no results of gscompile bench", "--show", str(tmp_path / "deep.json"))
