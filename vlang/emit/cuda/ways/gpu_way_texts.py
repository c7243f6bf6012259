"""The ways that add code to the struct of a pass over edges, in the order in which their code is written.

Full passes and connected components add no code, since their kernel templates work with every pass.
"""

from __future__ import annotations

from vlang.emit.cuda.ways.gpu_notify_text import NotifyText
from vlang.emit.cuda.ways.gpu_push_text import PushText
from vlang.emit.cuda.ways.gpu_together_text import GpuTogetherText
from vlang.emit.cuda.ways.gpu_way_text import GpuWayText

__all__ = ["GPU_WAY_TEXTS"]

GPU_WAY_TEXTS: list[type[GpuWayText]] = [NotifyText, PushText, GpuTogetherText]
