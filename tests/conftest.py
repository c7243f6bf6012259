"""Profiles for Hypothesis: `ci` draws the same examples every time, so that a failure repeats.

Every test checks the compiler's own rules (`vlang.ir.verify`), also in the processes that it starts. Interrupts are
enabled again, because a shell ignores them in the processes that it starts in the background.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from tests.fixed_draws import fix_draws

fix_draws()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("VLANG_VERIFY_IR", "1")

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True,
                          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the messages of tests/mistakes as they are now")
