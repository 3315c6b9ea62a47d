"""Fixtures of the tests of dialects."""

from __future__ import annotations

from tests.unoptimised import unoptimised

__all__ = ["unoptimised"]
