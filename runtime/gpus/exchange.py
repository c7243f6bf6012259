"""The interface of an exchange, by which GPUs send the values of mirrored vertices to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from vlang.runtime.gpus.traffic import Traffic

if TYPE_CHECKING:
    from vlang.runtime.gpu.ways.way import Key
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["ALIGNED", "Exchange", "Updates", "aligned", "links", "word_of"]

ALIGNED = 16  # bytes: alignment of values that are sent


def aligned(nbytes: int) -> int:
    """Return a number of bytes, rounded up to a multiple of ALIGNED."""
    return -(-nbytes // ALIGNED) * ALIGNED


def word_of(size: int) -> tuple[str, int]:
    """Return the largest word type whose size divides a value of `size` bytes, and the number of words in the value."""
    bits = next(bits for bits in (64, 32, 16, 8) if 8 * size % bits == 0)
    return f"u{bits}", 8 * size // bits


def links(parts: Sequence[PartMachine], slots: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Yield all combinations of an owner, another GPU that mirrors some of the owner's vertices, and an array."""
    listed = tuple(slots)
    for owner, part in enumerate(parts):
        for rank, places in enumerate(part.numbers.wanted):
            if len(places):
                yield from ((owner, rank, slot) for slot in listed)


class Updates(Protocol):
    """The exchange of one run, which updates mirrors.

    Attributes:
        name: the name of the exchange, for notes.
    """

    name: str

    def update(self, slots: Sequence[str]) -> None:
        """Queue the update of the mirrors of some arrays on all GPUs."""

    def forget(self, slot: str) -> None:
        """Note that other code has overwritten the mirrors of an array."""

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""


class Exchange(Updates, Protocol):
    """A method of updating mirrors. The name of the exchange is a value of the option `exchange`."""

    @staticmethod
    def sizes(part: PartMachine) -> Mapping[str, int]:
        """Return the size in bytes of each piece of device memory for the values that a GPU sends and receives, by
        name.
        """

    @staticmethod
    def kernels(part: PartMachine) -> Iterable[Key]:
        """Return the kernels that a GPU launches."""

    def __init__(self, parts: Sequence[PartMachine], traffic: Traffic) -> None:
        """Begin the exchange of a run between the machines of its GPUs."""
