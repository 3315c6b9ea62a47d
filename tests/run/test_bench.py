"""``gscompile bench`` measures what it says, of results that are right."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gscompile.bench import compare, contender, costs, dtypes, plots, sample, scaling, sizes, timing, variants
from gscompile.bench.contender import Absent, Contender, Ready
from gscompile.bench.neighbours import NEIGHBOURS
from gscompile.bench.peers import PEERS, missing
from gscompile.bench.peers.ours import Floor, Ours, copy
from gscompile.bench.report import geometric_mean, header, load
from gscompile.bench.workload import Workload, zipf
from gscompile.bench.workloads import ALL, WORKLOADS
from gscompile.commands.main import main
from tests.forks import FORKS

ROOT = Path(__file__).resolve().parent.parent.parent
MOST = 40  # elements per axis of a workload that is cut down
TWO = ["tiny_take", "beam_reorder"]
SOME = ["embed_rows_zipf", "nd_points", "index_add_rows", "message_passing"]


@pytest.fixture(autouse=True)
def spawned(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What begins the processes of users' contenders; tests that do not ask for it have theirs forked."""
    users = contender.PROCESSES
    monkeypatch.setattr(contender, "PROCESSES", FORKS)
    return users


# -- workloads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_workload_computes_what_numpy_does(name: str) -> None:
    w = ALL[name]
    arrays = w.arrays(most=MOST)
    want = w.expected(**arrays)
    for symbolic in (False, True) if name in WORKLOADS else (False,):
        got = w.builder(arrays, symbolic).build()(*arrays.values())
        assert w.differs(got, want) is None
    assert w.moved(arrays) >= want.nbytes


@pytest.mark.parametrize("dtype", dtypes.DTYPES)
@pytest.mark.parametrize("name", SOME)
def test_workloads_in_other_dtypes(name: str, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    w = WORKLOADS[name].of(dtype=dtype)
    arrays = w.arrays(most=MOST)
    want = w.expected(**arrays)
    assert want.dtype.name == dtype
    got = w.builder(arrays).build()(*arrays.values())
    assert w.differs(got, want) is None
    worse = got.copy()
    worse[0] += np.abs(want).max()
    for wrong in (worse, got[:-1], got.astype("int64")):
        assert w.differs(wrong, want) is not None


def test_a_lost_duplicate_is_noticed() -> None:
    """The smallest mistake that a scatter with a race makes: one of many contributions is missing."""
    w = WORKLOADS["histogram_add"]
    arrays = w.arrays()
    want = w.expected(**arrays)
    lost = want.copy()
    lost[int(arrays["i"][np.argmax(np.abs(arrays["src"]))])] -= np.abs(arrays["src"]).max()
    assert w.differs(want, want) is None and w.differs(lost, want) is not None


def test_arrays_are_the_same_again_and_have_the_sizes_they_are_said_to_have() -> None:
    w = WORKLOADS["nd_points"]
    a, again, small = w.arrays(), w.arrays(), w.arrays(most=MOST)
    assert all(np.array_equal(a[k], again[k]) for k in a)
    assert a["x"].shape == (1024, 1024) and a["i"].shape == (1_000_000, 2) and a["i"].dtype == np.int64
    assert all(n <= MOST + 6 for x in small.values() for n in x.shape)
    assert len(np.unique(a["x"][:500].round(6))) > 100_000
    drawn = np.bincount(zipf(1.1)(np.random.default_rng(0), 100, (10000,)), minlength=100)
    assert len(drawn) == 100 and drawn.max() > 10 * np.median(drawn)


# -- contenders -------------------------------------------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[Any]:
    """Makes contenders, and ends their processes."""
    made = []

    def make(peer: Any, **options: Any) -> Contender:
        made.append(Contender(peer, 1, most=MOST, **options))
        return made[-1]

    yield make
    for c in made:
        c.stop()


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_computes_the_same(name: str, process: Any) -> None:
    if lacking := missing(PEERS[name]):
        pytest.skip(f"needs {', '.join(lacking)}: pip install '.[bench]'")
    c = process(PEERS[name])
    # a compiler takes seconds for each
    chosen = SOME[:2] if name == "torch.compile" else WORKLOADS
    answers = {n: c.prepare(WORKLOADS[n]) for n in chosen}
    if name == "torch.compile" and all("needs a C++ compiler" in getattr(a, "why", "") for a in answers.values()):
        pytest.skip(answers[SOME[0]].why)
    assert answers == dict.fromkeys(chosen, Ready())
    assert c.time(2) > 0


def test_ours_and_the_floor(process: Any) -> None:
    ours, floor = process(Ours()), process(Floor(), check=False)
    for w in WORKLOADS.values():
        assert ours.prepare(w) == floor.prepare(w) == Ready()
    assert ours.time(3) > 0 and floor.time(3) > 0


def test_torch_compile_says_that_it_needs_a_compiler(
    process: Any, spawned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contender, "PROCESSES", spawned)
    monkeypatch.setenv("CXX", "no-such-compiler")
    answer = process(PEERS["torch.compile"]).prepare(WORKLOADS["tiny_take"])
    assert answer == Absent("torch.compile needs a C++ compiler, and no-such-compiler is not here")


class Misbehaves:
    """A peer that does another thing wrong for each workload."""

    name = "misbehaves"
    packages = ()

    def prepare(self, w: Workload, arrays: Any, threads: int) -> Any:
        x, i = arrays["x"], arrays["i"]
        calls = iter(range(5))
        return {
            "tiny_take": lambda: [lambda: x[i], lambda: x[i] + 1],
            "embed_rows_zipf": lambda: os.kill(os.getpid(), signal.SIGSEGV),
            "embed_rows_wide": lambda: [lambda: x[i] + 1],
            "embed_rows_thin": lambda: [lambda: 1 // 0],
            "select_columns": list,
            "nd_points": lambda: signal.pause(),
            "nd_slices": lambda: [lambda: x[tuple(i.T)] if next(calls) < 2 else os._exit(3)],
        }[w.name]()


def test_what_a_peer_does_wrong_stays_its_own(process: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    c = process(Misbehaves())
    said = {
        n: c.prepare(WORKLOADS[n]) for n in ("embed_rows_zipf", "embed_rows_wide", "embed_rows_thin", "select_columns")
    }
    assert said["embed_rows_zipf"] == Absent("ended its process (SIGSEGV)")
    assert said["embed_rows_wide"].wrong and "elements differ" in said["embed_rows_wide"].why
    assert said["embed_rows_thin"] == Absent("ZeroDivisionError: integer division or modulo by zero")
    assert said["select_columns"] == Absent()
    assert c.prepare(WORKLOADS["tiny_take"]) == Ready() and c.time(1) > 0  # of two ways the right one
    monkeypatch.setattr(contender, "PATIENCE_S", 0.5)
    assert c.prepare(WORKLOADS["nd_points"]).why.startswith("gave no answer")


def test_a_table_with_a_peer_that_misbehaves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PEERS, "misbehaves", Misbehaves())
    words = ["nd_slices", "embed_rows_wide", "tiny"]
    assert main(["bench", *words, "--peers", "numpy,misbehaves", "--rounds", "2", "--most", str(MOST)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^\| nd_slices +\|( [\d.e-]+ +\|){2} - ", printed, re.MULTILINE)
    assert re.search(r"^\| embed_rows_wide +\|( [\d.e-]+ +\|){2} wrong ", printed, re.MULTILINE)
    assert "- nd_slices, misbehaves: ended its process (exit status 3)" in printed
    assert "- embed_rows_wide, misbehaves: wrong, " in printed
    assert re.search(r"^\| tiny_take +\|( [\d.e-]+ +\|){4} [\d.]+ (numpy|misbehaves) ", printed, re.MULTILINE)
    assert "over 2 rows, tiny_take apart" in printed


# -- other libraries' processes and arrays ------------------------------------------------------------------------------


@pytest.mark.parametrize("process", ["torch", "jax", "ort"])
def test_in_the_process_of_another_library(process: str, tmp_path: Path) -> None:
    pytest.importorskip(NEIGHBOURS[process][0])
    file = tmp_path / "found.json"
    options = ["--process", process, "--rounds", "1", "--most", "40", "--json", str(file)]
    if process == "torch":  # whose compiler takes minutes
        options += ["--peers", "torch"]
    assert main(["bench", "embed_rows_thin", "tiny_take", *options]) == 0
    document = json.loads(file.read_text())
    assert f"--process {process}" in document["command"]
    own = {name for name, peer in PEERS.items() if NEIGHBOURS[process][0] in peer.packages}
    for row in document["rows"]:
        assert row["ms"]["gscompile"] and set(row["ms"]) - {"gscompile", "floor"} <= own and own & set(row["ms"])


@pytest.mark.parametrize("given", ["torch", "jax"])
def test_arrays_of_another_library(given: str, process: Any) -> None:
    pytest.importorskip(given)
    ours = process(Ours(given))
    for name in ("embed_rows_thin", "index_add_rows", "tiny_take"):
        assert ours.prepare(ALL[name]) == Ready()
        assert ours.time(1) > 0


def test_a_neighbour_runs_before_each_call() -> None:
    seen: list[str] = []
    assert timing.time_calls(lambda: seen.append("call"), 2, lambda: seen.append("neighbour")) >= 0
    assert seen == ["call", "neighbour", "call", "neighbour", "call"]


def test_clients_call_at_once(process: Any) -> None:
    both = threading.Barrier(2, timeout=60)  # which one thread alone does not get past
    assert timing.time_clients([both.wait, both.wait], 3) >= 0
    with pytest.raises(ZeroDivisionError):
        timing.time_clients([lambda: None, lambda: 1 / 0], 1)
    once = iter([None])
    with pytest.raises(StopIteration):  # not in the first call, but later
        timing.time_clients([lambda: next(once), lambda: None], 2)
    for peer in (Ours(), PEERS["numpy"]):
        c = process(peer, clients=3)
        assert c.prepare(WORKLOADS["index_add_rows"]) == Ready() and c.time(2) > 0


@pytest.mark.parametrize(
    "options", [["--clients", "0"], ["--clients", "2", "--measure", "calls"], ["--clients", "2", "--process", "torch"]]
)
def test_clients_that_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["bench", *options]) == 2
    assert "--clients is positive, and goes with" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--process", "torch"], ["--arrays", "jax"]])
def test_what_only_peers_are_measured_with(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--measure", "costs", *options]) == 2
    assert "--process and --arrays are for --measure peers" in capsys.readouterr().err


# -- drawn workloads ---------------------------------------------------------------------------------------------------


def test_what_a_seed_draws_is_the_same_whatever_the_count() -> None:
    drawn = sample.draw(60, 3)
    assert sample.draw(7, 3) == drawn[:7] and sample.draw(7, 4) != drawn[:7]
    assert {d["kind"] for d in drawn} == set(sample.SHAPES) and {d["draw"] for d in drawn} == set(sample.DRAWS)
    assert {d["symbolic"] for d in drawn} == {True, False} and len({d["name"] for d in drawn}) == 60


@pytest.mark.parametrize("seed", range(4))
def test_drawn_workloads_compute_what_numpy_does(seed: int) -> None:
    pytest.importorskip("ml_dtypes")
    for d in sample.draw(10, seed):
        w = sample.workload(json.loads(json.dumps(d)))
        arrays = w.arrays(most=MOST)
        want = w.expected(**arrays)
        got = w.builder(arrays, w.symbolic).build()(*arrays.values())
        assert w.differs(got, want) is None, d["name"]
        assert w.moved(arrays) >= want.nbytes


def test_drawn_tables_fit() -> None:
    for d in sample.draw(300, 5):
        a, itemsize = d["arguments"], 2 if d["dtype"] == "bfloat16" else np.dtype(d["dtype"]).itemsize
        data = a.get("data", (a.get("rows", a.get("nodes")), a.get("width")))
        assert 0 < np.prod(data, dtype=float) * itemsize <= 2 * sample.MOST_BYTES, d["name"]


def test_the_floor_counts_whole_cache_lines() -> None:
    d = sample.draw(1, 0)[0]
    arguments = {"data": (1000, 16), "index": (3,), "axis": 0}
    d = {**d, "kind": "take", "arguments": arguments, "draw": "constant", "dtype": "float32", "index_dtype": "int64"}
    w = sample.workload(d)
    arrays = w.arrays()
    assert w.moved(arrays) == 64 * (1 + 3 + 1)  # one row read, three written, one line of indices
    thin = sample.workload({**d, "arguments": {**arguments, "data": (1000, 1)}, "draw": "uniform"})
    arrays = thin.arrays()
    assert thin.moved(arrays) == 64 * (len(set(arrays["i"] // 16)) + 1 + 1)


@pytest.mark.parametrize("peer", [p for p in PEERS if p != "torch.compile"])
def test_peers_of_drawn_workloads(peer: str, process: Any) -> None:
    if missing(PEERS[peer]):
        pytest.skip(f"{peer} is not installed")
    contender = process(PEERS[peer])
    answers = {}
    for kind in sample.SHAPES:
        d = next(d for d in sample.draw(200, 11) if d["kind"] == kind and d["dtype"] == "float32")
        answers[kind] = contender.prepare(sample.workload(d))
    assert not [a for a in answers.values() if isinstance(a, Absent) and a.wrong], answers
    assert sum(a == Ready() for a in answers.values()) >= 8, answers


def test_saved_rows_are_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, again = tmp_path / "drawn.json", tmp_path / "again.json"
    rest = ["--peers", "numpy", "--rounds", "1", "--most", "40"]
    assert main(["bench", "--sample", "3", "--seed", "8", "--json", str(file), *rest]) == 0
    assert "Best peer / ours over" in capsys.readouterr().out
    assert main(["bench", "--rows", str(file), "--json", str(again), *rest]) == 0
    assert main(["bench", "--show", str(again)]) == 0
    assert "The worst:" in capsys.readouterr().out
    one, two = (json.loads(f.read_text()) for f in (file, again))
    assert (
        [r["drawn"] for r in one["rows"]]
        == [r["drawn"] for r in two["rows"]]
        == json.loads(json.dumps(sample.draw(3, 8)))
    )
    assert "--sample 3 --seed 8" in one["command"]


@pytest.mark.parametrize(
    "options",
    [
        ["--sample", "0"],
        ["--sample", "2", "--seed", "-1"],
        ["--sample", "2", "tiny"],
        ["--sample", "2", "--all"],
        ["--sample", "2", "--measure", "costs"],
        ["--sample", "2", "--rows", "x.json"],
        ["--rows", "/nope/x.json"],
    ],
)
def test_samples_that_are_none(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *options]) == 2
    assert "bench: --" in capsys.readouterr().err


@pytest.mark.parametrize(
    "rows", ["{}", "[]", '{"rows": [{}]}', '{"rows": [{"drawn": {"kind": "print"}}]}', '{"rows": 3}']
)
def test_files_that_hold_no_drawn_workloads(rows: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    file.write_text(rows)
    assert main(["bench", "--rows", str(file)]) == 2
    assert "bench: --rows:" in capsys.readouterr().err


# -- timing -----------------------------------------------------------------------------------------------------------


def test_contenders_take_turns_and_lost_ones_are_left_out() -> None:
    turns = []

    def timer(name: str) -> timing.Timer:
        def time(calls: int) -> float:
            turns.append((name, calls))
            if name == "b" and len(turns) > 5:
                raise timing.LostError("gone")
            return {"a": 1.0, "b": 50.0, "c": 0.1}[name]

        return time

    times, lost = timing.interleaved({n: timer(n) for n in "abc"}, 3, slice_ms=10)
    assert times == {"a": [1.0] * 3, "c": [0.1] * 3} and lost == {"b": "gone"}
    assert {calls for name, calls in turns[3:]} == {10, 1, 100}
    first = [turns[3][0], turns[6][0]]
    assert first[0] != first[1]  # nobody is always first


def test_samples_and_means() -> None:
    assert timing.Sample.of([4, 1, 3, 2, 5]).as_json() == [2, 3, 4]
    assert timing.time_calls(lambda: None, 10) < 1
    assert geometric_mean([1, 4]) == pytest.approx(2)


@pytest.mark.parametrize(("nbytes", "threads"), [(1001, 3), (200_001, 1), (200_001, 3), (0, 2)])
def test_the_copy_copies(nbytes: int, threads: int) -> None:
    target, source = copy(nbytes, threads)()
    assert target.all() and len(target) == len(source) == nbytes


# -- the command ------------------------------------------------------------------------------------------------------


def bench(*arguments: str) -> int:
    return main(["bench", "--rounds", "1", "--most", str(MOST), *arguments])


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spawned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contender, "PROCESSES", spawned)
    saved = tmp_path / "numbers.json"
    assert bench(*TWO, "--peers", "numpy", "--json", str(saved)) == 0
    printed = capsys.readouterr().out
    assert "| beam_reorder |" in printed and "| tiny_take" in printed
    found = json.loads(saved.read_text())
    assert [r["workload"] for r in found["rows"]] == TWO[::-1]
    for r in found["rows"]:
        assert (
            r["moved_bytes"] > 0 and r["wrong"] == r["failed"] == {} and [*r["ms"]] == ["gscompile", "numpy", "floor"]
        )
        assert all(0 < low <= median <= high for low, median, high in r["ms"].values())
    assert found["machine"]["cores"] >= 1 and found["machine"]["packages"]["numpy"] == np.__version__
    assert found["command"] == f"gscompile bench tiny_take beam_reorder --peers numpy --rounds 1 --most {MOST}"
    assert main(["bench", "--show", str(saved)]) == 0
    assert capsys.readouterr().out == printed


def test_costs(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("tiny", "index_add_rows", "--measure", "costs") == 0
    printed = capsys.readouterr().out
    assert re.search(r"^\| index_add_rows \|.*\| [\d.]+ \([\d.]+-[\d.]+\) +\|", printed, re.MULTILINE)
    row = {"workload": "w", "ms": {k: [1, 2, 3] for k in ("raise", "trust", "symbolic")}, "ratios": {}}
    row["ratios"] = {"raise / trust": [1, 1.5, 2], "symbolic / static": [1, 1, 1]}
    assert "raise / trust: geometric mean 1.500, largest 1.50 (w)" in costs.table([row])


def test_dtypes(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ml_dtypes")
    assert bench("nd_points", "--measure", "dtypes") == 0
    assert "| nd_points" in capsys.readouterr().out
    row = {"workload": "w", "moved_bytes": {}, "ms": {}}
    for dtype, (nbytes, ms) in {
        "float32": (400, 2),
        "float16": (200, 3),
        "bfloat16": (200, 1),
        "int8": (100, 0.5),
        "float64": (800, 4),
    }.items():
        row["moved_bytes"][dtype], row["ms"][dtype] = nbytes, [ms] * 3
    assert dtypes.slower(row, "float16") == 3
    assert dtypes.table([row]).endswith("More than 1.2: w float16 3.00.")


def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("nd_points", "--measure", "threads") == 0
    assert "| nd_points" in capsys.readouterr().out
    row = {"workload": "w", "ms": {"1": [4] * 3, "2": [2] * 3}, "floor_ms": {"1": [3] * 3, "2": [2] * 3}}
    assert re.search(r"\| w +\| 4 +\| 2 +\| 2.00 +\| 1.50 +\|", scaling.table([row]))


def test_calls(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("tiny", "--measure", "calls") == 0
    printed = capsys.readouterr().out
    alone, call = (
        float(re.search(rf"\| {re.escape(name)} +\| ([\d.]+)", printed)[1])
        for name in ("the kernel alone", "`m(x, i, out=out)`")
    )
    assert 0 < alone < call < 1000
    assert re.search(r"\| tiny_take \| \d+ +\| \d+ +\| \d+ +\|", printed)


def test_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "sizes.json"
    assert bench("--measure", "sizes", "--max-points", "1000", "--json", str(saved)) == 0
    rows = json.loads(saved.read_text())["rows"]
    assert {r["operator"] for r in rows} == set(sizes.OPERATORS)
    assert {r["points"] for r in rows} == {10, 30, 100, 300, 1000} and all("gscompile" in r["ms"] for r in rows)
    assert "| 10^3" in capsys.readouterr().out


def test_a_cliff_is_found_and_a_size_too_large_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(points: int, ns: float) -> dict[str, Any]:
        return {"operator": "histogram", "points": points, "ms": {"gscompile": [ns * points / 1e6] * 3}}

    smooth = [row(10, 100), row(100, 12), row(1000, 3), row(10**4, 5.9), row(10**5, 11)]
    assert sizes.cliffs(smooth) == []
    assert sizes.cliffs([*smooth, row(10**6, 23)]) == ["histogram: 11 ns per point of 100,000, 23 of 1,000,000"]
    monkeypatch.setattr(sizes, "memory", lambda entry: 1000)
    large = sizes._row("histogram", 100, 1, False)
    assert large["ms"] == {} and large["bytes"] == 2000
    assert "histogram of 100 (0 GB)" in sizes.table([large])


@pytest.mark.parametrize("operator", sizes.OPERATORS)
def test_large_results_are_checked_in_part(operator: str) -> None:
    w = sizes.workload(operator, 3000)
    arrays = w.arrays()
    want = w.expected(**arrays)
    assert sizes.spot_check(w, arrays, want) is None
    wrong = want.copy()
    wrong[: len(wrong) // 20 + 1] += 1
    assert sizes.spot_check(w, arrays, wrong) is not None


def test_a_wrong_result_of_ours_is_an_error() -> None:
    w = WORKLOADS["tiny_take"]
    arrays = w.arrays()
    with pytest.raises(variants.WrongResultError, match="elements differ"):
        variants.bound(w, arrays, w.expected(**arrays) + 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing_like_it"], "no workload is called 'nothing_like_it'"),
        (["tiny", "--peers", "fortran"], "unknown peer 'fortran'"),
        (["tiny", "--rounds", "0"], "positive"),
        (["tiny", "--threads", "1000000"], "at most the cores"),
        (["--show", "pyproject.toml"], "holds no results"),
        (["tiny", "--show", "nowhere.json"], "holds no results"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_peer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class NotHere(Misbehaves):
        packages = ("no_such_library",)

    monkeypatch.setattr("gscompile.bench.peers.PEERS", {"numpy": PEERS["numpy"], "misbehaves": NotHere()})
    assert bench("tiny", "--peers", "misbehaves") == 2
    assert "comparing with misbehaves needs no_such_library" in capsys.readouterr().err
    assert bench("tiny") == 0
    assert "left out: misbehaves" in capsys.readouterr().err


def rehearsed(tmp_path: Path, *options: str) -> Any:
    """What the GPU's script writes without a GPU."""
    pytest.importorskip("torch", reason="needs torch: pip install '.[bench]'")
    script = [sys.executable, "benchmarks/gpu.py", "--emulate", "--no-tests", "--rounds", "1", *options]
    done = subprocess.run(script, cwd=ROOT, env={**os.environ, "OUT": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = load(tmp_path / "peers.json")
    assert not document["left_out"] and document["results"]["right"] >= 7 and document["results"]["wrong"] == {}
    present = {"gscompile", "torch", "torch.compile", "floor"}
    for r in document["rows"]:
        missing = {"torch.compile"} if r.get("drawn") or r["workload"][0].isdigit() else set()
        assert present - missing <= {*r["ms"]} and 1 <= r["sets"] <= 8
        assert all(r["variants"].values()) and r["variants_failed"] == {} and r["kernels_us"]["floor"] == {}
        assert not {"gscompile", "torch", "torch.compile"} & {*r["wrong"], *r["failed"]}, r
    assert {"cupy", "triton"} <= {*document["absent"]}
    assert "emulated on the CPU" in header(document)
    return document


def test_the_gpu_script_runs_to_its_end_without_a_gpu(tmp_path: Path) -> None:
    document = rehearsed(tmp_path, "--sample", "0", "nd_points", "index_max")
    assert [r["workload"] for r in document["rows"]] == ["nd_points", "index_max_rows"]


def test_all_of_the_gpu_script(tmp_path: Path) -> None:
    document = rehearsed(tmp_path, "--sample", "4")
    names = [r["workload"] for r in document["rows"]]
    assert names[:18] == [*WORKLOADS] and len(names) == 22


def test_the_gpu_script_ends_in_time(tmp_path: Path) -> None:
    """Nothing is begun for which no time is left, and that is said."""
    pytest.importorskip("torch", reason="needs torch: pip install '.[bench]'")
    script = [sys.executable, "benchmarks/gpu.py", "--emulate", "--no-tests", "--budget", "0.01"]
    done = subprocess.run(script, cwd=ROOT, env={**os.environ, "OUT": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no time was left" in done.stdout and "the rest: no time was left" in done.stdout


# -- drawings and the page --------------------------------------------------------------------------------------------


def test_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install '.[plot]'")
    bars, curves = tmp_path / "bars.svg", tmp_path / "curves.svg"
    assert bench("tiny", "--peers", "none", "--plot", str(bars)) == 0
    assert bench("--measure", "sizes", "--max-points", "100", "--plot", str(curves)) == 0
    for path in (bars, curves):
        assert "<svg" in path.read_text()
    again = tmp_path / "again.svg"
    plots.bars(["w"], {"numpy": [1.5]}, "time", bars)
    plots.bars(["w"], {"numpy": [1.5]}, "time", again)
    assert bars.read_text() == again.read_text()
    assert bench("tiny", "--measure", "costs", "--plot", str(bars)) == 2
    assert "--plot draws only" in capsys.readouterr().err


def test_the_page_shows_what_was_saved(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``python benchmarks/cpu.py`` writes both; a number on the page that no file has is a mistake."""
    monkeypatch.chdir(ROOT)
    blocks = re.findall(
        r"<!-- gscompile bench --show (\S+) -->\n(.*?)<!-- end -->", Path("docs/benchmarks.md").read_text(), re.DOTALL
    )
    assert blocks
    for path, shown in blocks:
        assert main(["bench", "--show", path]) == 0
        assert shown == capsys.readouterr().out
        assert compare.ratio(load(Path(path))["rows"][0]) is not None
