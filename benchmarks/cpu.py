"""All measurements of one machine: ``python benchmarks/cpu.py NAME``.

Writes ``benchmarks/results/NAME/*.json`` and the drawings, and puts the table into ``docs/benchmarks.md`` where that shows this
machine's.
An hour on two cores; the machine should do nothing else.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
DRAWN = ("peers", "sizes")
BLOCK = re.compile(r"(<!-- gscompile bench --show (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def bench(*arguments: str) -> str:
    """What ``gscompile bench`` prints."""
    command = [sys.executable, "-m", "gscompile", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def refresh_page() -> None:
    """Put what ``gscompile bench --show`` prints between the page's marks."""
    text = BLOCK.sub(lambda m: m[1] + bench("--show", m[2]) + m[3], PAGE.read_text())
    PAGE.write_text(text)


def main() -> None:
    from gscompile.bench.command import MEASUREMENTS

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="of the folder under benchmarks/results")
    parser.add_argument("--measure", nargs="+", choices=MEASUREMENTS, default=MEASUREMENTS)
    parser.add_argument("--rounds", default="15")
    options = parser.parse_args()
    folder = RESULTS / options.name
    folder.mkdir(parents=True, exist_ok=True)
    for measure in options.measure:
        draw = ["--plot", str(folder / f"{measure}.svg")] if measure in DRAWN else []
        arguments = ["--measure", measure, "--rounds", options.rounds, "--json", str(folder / f"{measure}.json")]
        print(bench(*arguments, *draw), flush=True)
    refresh_page()


if __name__ == "__main__":
    main()
