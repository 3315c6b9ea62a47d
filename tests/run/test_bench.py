"""``gscompile bench`` measures what it says, of results that are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gscompile.bench import measure as timing
from gscompile.bench.peers import PEERS
from gscompile.bench.report import geometric_mean, table
from gscompile.bench.workloads import WORKLOADS, Workload, zipf
from gscompile.cli import main

SMALL = ["tiny_take", "beam_reorder"]


def shrunk(w: Workload) -> dict[str, Any]:
    """A workload's arrays cut down, the indices to what is left."""
    arrays = w.make(np.random.default_rng(0))
    data = tuple(min(n, 40) for n in arrays["x"].shape)
    axis = w.options.get("axis", 0)
    small = {"x": arrays["x"][tuple(slice(n) for n in data)]}
    for name, x in arrays.items():
        if name == "x":
            continue
        lead = {"beam_reorder": data[:1]}.get(w.name, (min(len(x), 50),))
        if w.kind in ("gather", "scatter"):
            lead = (50, data[1]) if axis == 0 else (data[0], 50)
        part = x[tuple(slice(n) for n in lead)]
        if x.dtype.kind == "i":
            part = part % (np.array(data[: x.shape[-1]]) if w.kind == "gather_nd" else data[axis])
        elif part.ndim > 1:
            part = part[:, : data[-1]]
        small[name] = np.ascontiguousarray(part)
    return {k: np.ascontiguousarray(v) for k, v in small.items()}


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_computes_what_numpy_does(name: str, symbolic: bool) -> None:
    w = WORKLOADS[name]
    arrays = shrunk(w)
    want = w.expected(**arrays)
    got = w.builder(arrays, symbolic).build()(*arrays.values())
    assert timing._differs(got, want, w.exact) is None
    assert timing._differs(got + 1, want, w.exact) is not None
    assert timing._differs(got[:-1], want, w.exact) is not None


@pytest.mark.parametrize("peer", PEERS)
def test_every_peer_computes_the_same(peer: str) -> None:
    pytest.importorskip({"ort": "onnxruntime"}.get(peer, peer), reason=f"needs {peer}: pip install 'gscompile[bench]'")
    done = 0
    for w in WORKLOADS.values():
        arrays = shrunk(w)
        run = PEERS[peer].prepare(w, arrays, 1)
        if run is not None:
            done += 1
            assert timing._differs(np.asarray(run()), w.expected(**arrays), w.exact) is None, w.name
    assert done >= 8


def test_a_wrong_peer_is_found_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        name = "wrong"

        def prepare(self, w: Any, arrays: Any, threads: int) -> Any:
            return lambda: np.zeros(100, "float32")

    monkeypatch.setitem(PEERS, "wrong", Wrong())
    row = timing.measure(WORKLOADS["tiny_take"], ["numpy", "wrong"], rounds=1)
    assert set(row.ms) == {"gscompile", "numpy"}
    assert "elements differ" in row.wrong["wrong"]
    assert "the result of wrong is wrong" in table([row])
    assert row.ratio == pytest.approx(row.ms["numpy"] / row.ms["gscompile"])


def test_the_copy_copies() -> None:
    copy = timing.Copy(1001, 3)
    copy()
    assert copy.target.all() and len(copy.target) == 1001


def test_draws_and_means() -> None:
    drawn = np.bincount(zipf(np.random.default_rng(0), 1.1, 100, 10000), minlength=100)
    assert len(drawn) == 100 and drawn.max() > 10 * np.median(drawn)
    assert geometric_mean([1, 4]) == pytest.approx(2)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "numbers.json"
    assert main(["bench", *SMALL, "--peers", "numpy", "--rounds", "1", "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "| beam_reorder |" in printed and "| tiny_take" in printed
    found = json.loads(out.read_text())
    assert {r["workload"] for r in found["rows"]} == set(SMALL)
    assert all(r["floor_ms"] > 0 and r["ms"]["gscompile"] > 0 and r["moved_bytes"] > 0 for r in found["rows"])
    assert found["machine"]["cores"] >= 1 and "gscompile bench tiny_take" in found["command"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing_like_it"], "no workload is called so"),
        (["tiny", "--peers", "fortran"], "unknown peer 'fortran'"),
        (["tiny", "--rounds", "0"], "positive"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'gscompile[plot]'")
    path = tmp_path / "bars.svg"
    assert main(["bench", "tiny", "--peers", "none", "--rounds", "1", "--plot", str(path)]) == 0
    assert "<svg" in path.read_text()
