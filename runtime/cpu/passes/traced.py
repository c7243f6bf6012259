"""Reports every pass to the listeners of a run (`vlang.runtime.threads.activity`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from vlang.runtime.plan.plan import StageSpec
from vlang.runtime.threads.activity import listeners, timed

__all__ = ["traced"]

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")
_Pass = Callable[Concatenate[_Self, StageSpec, _Given], tuple[Any, int]]


def traced(mode: str) -> Callable[[_Pass[_Self, _Given]], _Pass[_Self, _Given]]:
    """A decorator for methods that run a stage and return (counts, edges traversed). `mode` is the reported mode."""

    def decorate(method: _Pass[_Self, _Given]) -> _Pass[_Self, _Given]:
        def run(self: _Self, stage: StageSpec, /, *args: _Given.args, **named: _Given.kwargs) -> tuple[Any, int]:
            if not listeners():
                return method(self, stage, *args, **named)
            with timed("pass", stage.name, mode=mode, over=stage.domain or "vertices") as about:
                found = method(self, stage, *args, **named)
                about["edges"] = found[1]
            return found

        run.__doc__ = method.__doc__
        return run

    return decorate
