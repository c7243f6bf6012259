"""Exchanges of texts between ranks, about the folder of their checkpoints."""

from __future__ import annotations

import numpy as np

from vlang.runtime.cluster.transport import Transport, gathered

__all__ = ["first_reason", "text_of_rank_0"]


def _texts(transport: Transport, text: str, where: str) -> list[str]:
    """The texts of all ranks, in the order of the ranks."""
    raw = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
    return [part.tobytes().decode("utf-8", "surrogateescape") for part in gathered(transport, raw, where)]


def first_reason(transport: Transport, text: str, where: str) -> str:
    """The text of the lowest rank whose text is not empty, on all ranks; "" if the texts of all ranks are empty."""
    return next(filter(None, _texts(transport, text, where)), "")


def text_of_rank_0(transport: Transport, text: str, where: str) -> str:
    """The text of rank 0, on all ranks."""
    return _texts(transport, text if transport.rank == 0 else "", where)[0]
