"""The ways that add kernels or data to passes, in the order in which their code is written."""

from __future__ import annotations

from vlang.emit.cpu.ways.priority_text import PriorityText
from vlang.emit.cpu.ways.push_text import PushText
from vlang.emit.cpu.ways.reach_text import ReachText
from vlang.emit.cpu.ways.sums_text import SumsText
from vlang.emit.cpu.ways.together_text import TogetherText
from vlang.emit.cpu.ways.way_text import WayText

__all__ = ["WAY_TEXTS"]

WAY_TEXTS: list[WayText] = [ReachText(), PushText(), SumsText(), PriorityText(), TogetherText()]
