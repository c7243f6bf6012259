"""Options of a run as tests keep them, in one flat dict, spelled as a call takes them."""

from __future__ import annotations

from typing import Any

from vlang.options import RESEARCH

__all__ = ["spelled"]


def spelled(**given: Any) -> dict[str, Any]:
    """Keywords of a call of a program: research options go into `research`, everything else stays."""
    research = {name: value for name, value in given.items() if name in RESEARCH}
    rest = {name: value for name, value in given.items() if name not in RESEARCH}
    return {**rest, "research": research} if research else rest
