"""Who wins: of the best candidates, measured again on several fresh draws of arrays, one that gains on each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gscompile.tuning.result import Trial
from gscompile.tuning.worker import Answer

LEAST_GAIN = 1.02
"""What is not faster by so much is not better, however sure that is."""


def ratios(answer: Answer, name: str) -> Any:
    """How many times as fast as the default something was on one draw, by round."""
    return np.divide(answer.times["default"], answer.times[name])


def gains(answer: Answer, name: str) -> bool:
    """Whether a candidate was right there, and faster by enough."""
    return name in answer.times and bool(np.median(ratios(answer, name)) > LEAST_GAIN)


def chosen(candidates: Mapping[str, Trial], answers: Sequence[Answer], default: Trial) -> tuple[Trial, float]:
    """Of candidates that gain on each draw the one that gains most, if that is more than noise; and the noise.

    The lower quartile of its ratio over the rounds of all draws must be above the upper one of the default's to itself.  Its
    times are those of the draw on which its gain is the median.
    """
    measured = [a for a in answers if a.state == "ok"]
    if not measured:
        return default, 0.0
    low, high = np.percentile(np.concatenate([ratios(a, "again") for a in measured]), [25, 75])
    noise = float(max(high - 1, 1 - low, 0.0))
    found = default
    for name, t in candidates.items():
        by_draw = [ratios(a, name) for a in answers]
        typical = sorted(range(len(answers)), key=lambda k: float(np.median(by_draw[k])))[len(answers) // 2]
        ratio = float(np.median(by_draw[typical]))
        if ratio > found.ratio and np.percentile(np.concatenate(by_draw), 25) > 1 + noise:
            ms, default_ms = (float(np.median(answers[typical].times[n])) for n in (name, "default"))
            found = replace(t, ms=ms, default_ms=default_ms, ratio=ratio)
    return found, noise
