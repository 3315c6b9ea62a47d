"""What safety and symbolic sizes cost: indices checked or not, sizes as ints or as names."""

from __future__ import annotations

from collections.abc import Sequence

from gscompile.bench.measurement import MEDIAN, Request, Row
from gscompile.bench.report import geometric_mean, markdown, number
from gscompile.bench.timing import Sample
from gscompile.bench.variants import bound, done, sampled, turns
from gscompile.runtime.threads import set_num_threads

HELP = 'bounds="raise" against bounds="trust", and symbolic sizes against static ones'
RATIOS = {"raise / trust": ("raise", "trust"), "symbolic / static": ("symbolic", "raise")}


def measure(request: Request) -> list[Row]:
    """Rows: ``workload``, ``ms`` of each variant, and ``ratios``, whose medians are of the rounds' own ratios."""
    set_num_threads(request.threads)
    rows: list[Row] = []
    for w in request.workloads:
        arrays = w.arrays(most=request.most)
        want = w.expected(**arrays)
        checked, out = bound(w, arrays, want)
        runs = {
            "raise": checked,
            "trust": bound(w, arrays, want, out, bounds="trust")[0],
            "symbolic": bound(w, arrays, want, out, symbolic=True)[0],
        }
        times = turns(runs, request.rounds)
        ratios = {name: Sample.of(times[a] / times[b]).as_json() for name, (a, b) in RATIOS.items()}
        rows.append({"workload": w.name, "ms": sampled(times), "ratios": ratios})
        done(rows, len(request.workloads), w.name)
    return rows


def table(rows: Sequence[Row]) -> str:
    lines = [
        [
            r["workload"],
            *(number(r["ms"][k][MEDIAN]) for k in ("raise", "trust", "symbolic")),
            *(f"{r['ratios'][k][MEDIAN]:.2f} ({r['ratios'][k][0]:.2f}-{r['ratios'][k][-1]:.2f})" for k in RATIOS),
        ]
        for r in rows
    ]
    text = markdown(["ms", "static, raise", "trust", "symbolic", *RATIOS], lines)
    for name in RATIOS:
        medians = {r["workload"]: r["ratios"][name][MEDIAN] for r in rows}
        worst = max(medians, key=medians.__getitem__)
        mean = geometric_mean([*medians.values()])
        text += f"\n\n{name}: geometric mean {mean:.3f}, largest {medians[worst]:.2f} ({worst})."
    return text
