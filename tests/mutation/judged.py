"""Mutations that no test can detect because the results stay the same, with the reason for each."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["JUDGED"]

JUDGED: Mapping[str, str] = {
    "runtime/gpu/passes/rates.py: atomic: float = 2 / 100e9":
        "the rate of the reference device, by which costs are scaled; it decides how fast a run is, never its result",
}
"""The path of a file, its line with the mutation, and the reason why the mutation is no bug."""
