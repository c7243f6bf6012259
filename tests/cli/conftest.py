"""A fixture that calls the command in this process and returns its output and status."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from vlang.cli import main


class Done(NamedTuple):
    """The outcome of a call of the command."""

    status: int
    out: str
    err: str


Call = Callable[..., Done]


@pytest.fixture
def vlang(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that calls `vlang ARGS...`."""

    def call(*args: object) -> Done:
        capsys.readouterr()
        status = main([str(a) for a in args])
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err)

    return call
