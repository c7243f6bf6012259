"""The form of a message from one rank to another: a head of numbers, the place of the sender in the run, and data."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vlang.runtime.cluster.transports.transport import Buffer

__all__ = ["FAILED", "MOST_BYTES", "Letter", "letters"]

MOST_BYTES = 1 << 28
"""The most bytes of data in a message. Longer data are sent in several messages, which fit the object store of Ray."""

FAILED = "!"
"""Begins the place of a rank that has failed; its reason follows."""

_HEAD = struct.Struct("<6q")
_PLACE = 2048  # the most bytes of a place


@dataclass(frozen=True)
class Letter:
    """A message, or one of several parts of a message.

    Attributes:
        attempt: how often the job was started before; receivers drop messages of earlier attempts.
        call: the number of the exchange.
        sender: the rank that sends.
        part, parts: the number of this part from 0, and the number of all parts.
        place: the place of the sender in the run. If the sender has failed, the place is FAILED followed by the reason.
        data: the bytes of this part.
    """

    attempt: int
    call: int
    sender: int
    part: int
    parts: int
    place: str
    data: Buffer

    def packed(self) -> bytes:
        """Return the message as bytes."""
        place = self.place.encode("utf-8", "replace")[:_PLACE]
        head = _HEAD.pack(self.attempt, self.call, self.sender, self.part, self.parts, len(place))
        return b"".join((head, place, self.data.tobytes()))

    @staticmethod
    def unpacked(raw: bytes) -> Letter:
        """Return the message that `packed` has converted to bytes."""
        attempt, call, sender, part, parts, length = _HEAD.unpack_from(raw)
        at = _HEAD.size + length
        place = raw[_HEAD.size : at].decode("utf-8", "ignore")
        return Letter(attempt, call, sender, part, parts, place, np.frombuffer(raw, np.uint8, offset=at))


def letters(attempt: int, call: int, sender: int, place: str, data: Buffer) -> Iterator[Letter]:
    """Yield the messages that carry some data to one rank.

    Args:
        attempt, call, sender, place: see `Letter`.
        data: the bytes of all parts, uint8.
    """
    parts = max(1, -(-len(data) // MOST_BYTES))
    for part in range(parts):
        yield Letter(attempt, call, sender, part, parts, place, data[part * MOST_BYTES : (part + 1) * MOST_BYTES])
