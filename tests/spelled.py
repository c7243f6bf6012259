"""Convert the options of a run from one flat dict, the form that tests use, to the keywords of a call."""

from __future__ import annotations

from typing import Any

from vlang.options import RESEARCH

__all__ = ["spelled"]


def spelled(**given: Any) -> dict[str, Any]:
    """Return the keywords for a call of a program: research options move into `research`, and all other options stay.
    """
    research = {name: value for name, value in given.items() if name in RESEARCH}
    rest = {name: value for name, value in given.items() if name not in RESEARCH}
    return {**rest, "research": research} if research else rest
