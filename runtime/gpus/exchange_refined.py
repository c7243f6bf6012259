"""The exchange VR, vertex refinement: only values of mirrored vertices that have changed are sent.

Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs, PACT'15, section IV. The lists of mirrored
vertices are made before the run (offline refinement). In each exchange, ballots and prefix sums collect the changed
values (online refinement), and only the filled part of the outbox is copied to the inbox of the other GPU. A value has
changed if its bits differ from the bits of the value that was sent last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vlang.records import dataclass
from vlang.runtime.cluster.messages import bytes_of
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.gpus.exchange import aligned, links, word_of
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.gpus.traffic import Move, Traffic

__all__ = ["RefinedExchange"]

_BITS = 32  # places of a word of a bitmap
_WORDS = 32  # words of a bitmap that a warp processes, BOX_WORDS in mirrors.cuh
_TYPED = ("refine_values", "collect_values", "place_listed", "place_flagged")


def _words(count: int) -> int:
    return -(-count // _BITS)


def _warps(count: int) -> int:
    return -(-_words(count) // _WORDS)


@dataclass(frozen=True)
class _Box:
    """The changed values of an array for one GPU.

    Attributes:
        owner: the number of the sending GPU.
        rank: the number of the receiving GPU.
        slot: the array.
        changed: the number of changed values.
        form: "whole", "listed" or "flagged".
    """

    owner: int
    rank: int
    slot: str
    changed: int
    form: str


class RefinedExchange:
    """Sends changed values as a list or with a bitmap, or sends all values, whichever takes the fewest bytes."""

    name = "vr"

    @staticmethod
    def sizes(part: PartMachine) -> Mapping[str, int]:
        """Return the sizes in bytes of outboxes and inboxes: packed values, bitmaps and sums for each GPU and array."""
        sizes: dict[str, int] = {}
        wanted = [len(places) for places in part.numbers.wanted]
        for rank in range(len(wanted)):
            low, high = part.numbers.mirrors_of(rank)
            for slot in part.mirrored:
                size = part.itemsize(slot)
                sizes[f"sent:{rank}:{slot}"] = aligned(wanted[rank] * size)
                for way, count in (("out", wanted[rank]), ("in", high - low)):
                    sizes[f"{way}:{rank}:{slot}"] = aligned(count * size) + 4 * len(("values", "list", "end")) * 16
                    sizes[f"{way} bits:{rank}:{slot}"] = 4 * _words(count)
                    sizes[f"{way} sums:{rank}:{slot}"] = 4 * _warps(count)
        return {**sizes, "totals": 8 * max(1, len(wanted) * len(part.mirrored)), "total": 8}

    @staticmethod
    def kernels(part: PartMachine) -> Iterable[Key]:
        """Return the kernels that collect and place values."""
        types = {word_of(part.itemsize(slot))[0] for slot in part.mirrored}
        return {("count_bits", "", ()), ("sum_counts", "", ()), *((name, one, ()) for name in _TYPED for one in types)}

    def __init__(self, parts: Sequence[PartMachine], traffic: Traffic) -> None:
        self._parts, self._traffic = parts, traffic
        self._known: set[str] = set()  # the arrays whose mirrors have the values that were sent last
        self._mirrored = self._changed = 0

    def update(self, slots: Sequence[str]) -> None:
        """Queue the update of the mirrors of some arrays on all GPUs; waits for the numbers of changed values."""
        boxes = self._refined(slots)
        moves = [move for box in boxes for move in self._outbox(box)]
        self._traffic.move(moves, boxes=True)
        for box in boxes:
            self._unpack(box)
        self._known.update(slots)

    def forget(self, slot: str) -> None:
        """Note that other code has overwritten the mirrors of an array, so that the next exchange sends all values."""
        self._known.discard(slot)

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""
        share = 100 * self._changed / max(1, self._mirrored)
        return f"{self._changed:,} of {self._mirrored:,} values of mirrored vertices had changed ({share:.1f} %)"

    # ------------------------------------------------------------------------------------------- the sending GPU
    def _refined(self, slots: Sequence[str]) -> list[_Box]:
        """Find the changed values for each pair of GPUs and each array; waits for the numbers of changed values."""
        asked: dict[int, list[tuple[int, str]]] = {}
        for owner, rank, slot in links(self._parts, slots):
            self._traffic.reclaim(owner, rank)
            totals = asked.setdefault(owner, [])
            self._refine(self._parts[owner], rank, slot, len(totals))
            totals.append((rank, slot))
        boxes = []
        for owner, pairs in asked.items():
            part = self._parts[owner]
            counts = np.zeros(len(pairs), np.uint64)
            part.device.download(counts, part.boxes["totals"])
            for (rank, slot), changed in zip(pairs, counts.tolist()):
                count = len(part.numbers.wanted[rank])
                self._mirrored, self._changed = self._mirrored + count, self._changed + changed
                if changed:
                    listed, flagged, whole = bytes_of(count, changed, part.itemsize(slot))
                    form = "whole" if slot not in self._known or whole <= min(listed, flagged) else \
                        "listed" if listed < flagged else "flagged"
                    boxes.append(_Box(owner, rank, slot, changed, form))
        return boxes

    def _refine(self, part: PartMachine, rank: int, slot: str, number: int) -> None:
        """Queue the comparison with the values that were sent last. The number of changes goes to `totals[number]`."""
        count, name = len(part.numbers.wanted[rank]), f"{rank}:{slot}"
        sums = part.boxes[f"out sums:{name}"]
        part.over_boxes("refine_values", slot, 32 * _warps(count), part.pointer(slot), part.marks[rank], count, None,
                        int(slot in self._known), part.boxes[f"sent:{name}"], part.boxes[f"out bits:{name}"], sums)
        part.sum_counts(sums, _warps(count), part.boxes["totals"] + 8 * number)

    def _outbox(self, box: _Box) -> Iterable[Move]:
        """Queue the collection of the changed values of a box, and return the copies to the other GPU."""
        part, other, name = self._parts[box.owner], self._parts[box.rank], f"{box.rank}:{box.slot}"
        count, size = len(part.numbers.wanted[box.rank]), part.itemsize(box.slot)
        sent, packed, bits = (part.boxes[f"{kind}:{name}"] for kind in ("sent", "out", "out bits"))
        if box.form == "whole":
            yield Move(box.owner, sent, box.rank, other.mirror_at(box.slot, box.owner), count * size)
            return
        listed = packed + aligned(box.changed * size) if box.form == "listed" else 0
        part.over_boxes("collect_values", box.slot, 32 * _warps(count), bits, part.boxes[f"out sums:{name}"], count,
                        None, sent, packed, listed)
        filled = aligned(box.changed * size) + 4 * box.changed if listed else box.changed * size
        its = f"{box.owner}:{box.slot}"
        yield Move(box.owner, packed, box.rank, other.boxes[f"in:{its}"], filled)
        if not listed:
            yield Move(box.owner, bits, box.rank, other.boxes[f"in bits:{its}"], 4 * _words(count))

    # ------------------------------------------------------------------------------------------- the receiving GPU
    def _unpack(self, box: _Box) -> None:
        """Queue the work that stores the values of a box in the mirrors; for a field, in the mirrors of both buffers.
        """
        part, slot, name = self._parts[box.rank], box.slot, f"{box.owner}:{box.slot}"
        count, size = len(self._parts[box.owner].numbers.wanted[box.rank]), part.itemsize(slot)
        packed, bits, sums = (part.boxes[f"{kind}:{name}"] for kind in ("in", "in bits", "in sums"))
        if box.form == "flagged":
            part.over_boxes("count_bits", "", 32 * _warps(count), bits, _words(count), sums)
            part.sum_counts(sums, _warps(count), part.boxes["total"])
        mirrors, *twin = part.mirrors_at(slot, box.owner)
        if box.form == "whole":
            for at in twin:
                part.device.copy(at, mirrors, count * size)
            return
        for at in (mirrors, *twin):
            if box.form == "listed":
                part.over_boxes("place_listed", slot, box.changed, packed + aligned(box.changed * size), packed,
                                box.changed, None, at)
            else:
                part.over_boxes("place_flagged", slot, 32 * _warps(count), bits, sums, count, None, packed, at)
