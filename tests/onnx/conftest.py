"""Fixtures of the tests of ONNX models."""

from __future__ import annotations

from tests.unoptimised import unoptimised

__all__ = ["unoptimised"]
