"""Profiles for Hypothesis: `ci` draws the same examples every time, so that a failure repeats."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile("dev")
