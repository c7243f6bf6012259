"""The machine of several GPUs: each GPU runs passes over its own vertices, and the GPUs exchange the values of mirrors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.engine.machine import Loop, Start, Stats, Values
from vlang.runtime.engine.nesting import MaskedSweep
from vlang.runtime.gpu.topology.slotted_arrivals import layout_notes
from vlang.runtime.gpus.exchange import Exchange, Updates
from vlang.runtime.gpus.group_connect import GroupConnect
from vlang.runtime.gpus.group_loop import GroupLoop
from vlang.runtime.gpus.group_push import GroupPush
from vlang.runtime.gpus.mirrors import Mirrors
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.gpus.peer_push import PeerPush
from vlang.runtime.gpus.traffic import Move, Traffic
from vlang.runtime.plan.plan import Fold, LoopSpec, ScalarSpec, StageSpec, SweepSpec, field_of
from vlang.runtime.storage.state.remote import Remote, in_memory
from vlang.runtime.threads.moved import Moved

__all__ = ["GroupMachine"]


class GroupMachine:
    """A machine (see `vlang.runtime.engine.machine`) with several GPUs, which one host thread drives.

    Every GPU computes all graph-level values itself, from the same partial results in the same order.

    Args:
        parts: the machines of the GPUs, in the order of their ranges; the caller closes them.
        exchange: the exchange for which the parts were opened.

    Attributes:
        traffic: the copies between the GPUs.
        mirrors: the mirrors of all GPUs.
        activated: the number of values that loops over frontiers have sent because a vertex became active.
    """

    windows: None = None

    def __init__(self, parts: Sequence[PartMachine], exchange: type[Exchange]) -> None:
        self.traffic = Traffic([part.device for part in parts])
        self._begin(parts, exchange(parts, self.traffic))

    def _begin(self, parts: Sequence[PartMachine], exchange: Updates) -> None:
        """Begin a run of some parts with their exchange."""
        self._parts, self._exchange, self.activated = parts, exchange, 0
        self.plan = parts[0].plan
        self.mirrors = Mirrors(frozenset(parts[0].mirrored), exchange)

    def notes(self) -> tuple[str, ...]:
        """Return sentences about the exchange between the GPUs so far, and about options and ways that the run does not
        follow.
        """
        pushed = f"; {self.activated:,} values of active vertices were sent" if self.activated else ""
        return (*self.alone(), *self._short(), f"exchange {self._exchange.name}: {self._exchange.note()}{pushed}; "
                f"{self.traffic.nbytes:,} bytes were copied between GPUs")

    def _short(self) -> Iterator[str]:
        """Yield sentences about loops that do not push because memory is short, and about an unused form of pages."""
        for loop in self.plan.loops:
            pushed = self._push(loop) or self._connects(loop)
            if not pushed and any(part.would_push(loop) for part in self._parts):
                yield (f"GPU memory is short: the loop in line {loop.line} runs by full passes, because not every GPU "
                       "has room for its frontier and for the edges by sender")
        options = self._parts[0].options
        yield from layout_notes(options, chain.from_iterable(part.passes.topologies.values() for part in self._parts))

    def alone(self) -> tuple[str, ...]:
        """Return a sentence which says that several GPUs ignore the option `dispatch`; () without this option."""
        asked = self._parts[0].options.dispatch
        return () if asked == "gpu" else (f"dispatch: the GPUs ran all pages, as dispatch={asked} is for one GPU",)

    def sent(self, count: int, nbytes: int) -> None:
        """Count values of active vertices that kernels have stored on other GPUs."""
        self.activated += count
        self.traffic.nbytes += nbytes

    # ------------------------------------------------------------------------------------------- values of the run
    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""
        for part in self._parts:
            part.set_scalar(name, value)

    def scalar(self, name: str) -> Any:
        """Return a graph-level value."""
        return self._parts[0].scalar(name)

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field, array[n]."""
        self.give_slot(f"field:{field}", array)

    def give_slot(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex array."""
        for part in self._parts:
            part.give_local(slot, array)
        self.mirrors.written(slot)

    def array(self, slot: str) -> NDArray[Any]:
        """Return a copy of a vertex array of the whole graph in host memory."""
        first = self._parts[0]
        dtype, size = first.state.dtypes[slot], first.itemsize(slot)
        found: NDArray[Any] = first.device.host(first.numbers.ranges.n * (size // dtype.itemsize), dtype)
        for part in self._parts:
            part.fetch(slot, found)
        return found

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries of a u8 or u32 vertex array that differ from `value`."""
        return sum(part.others(slot, value) for part in self._parts)

    def moved(self) -> Moved:
        """Return counts of the edges that all GPUs have moved so far, and of the values that the GPUs have sent to each
        other.
        """
        found = reduce(Moved.plus, (part.moved() for part in self._parts))
        return found._replace(bytes_between=self.traffic.nbytes)

    def values(self) -> Values:
        """Return the values of the output fields and of the globals."""
        return Values({spec.name: self.array(f"field:{spec.name}") for spec in self.plan.fields if spec.output},
                      {name: self.scalar(name) for name, _ in self.plan.globals})

    def counted(self) -> Stats:
        """Return the counts of the last pass, after waiting for its end."""
        each = [part.counted() for part in self._parts]
        return Stats(sum(stats.changed for stats in each), sum(stats.active for stats in each))

    # ------------------------------------------------------------------------------------------- passes
    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the number of edges traversed."""
        for part in self._parts:
            part.send(stage)
        if "messages" in stage.kernels:
            for slot in stage.near:
                if not slot.startswith("field:"):
                    self.mirrors.changed(slot)
        self.mirrors.refresh(stage.near)
        edges = sum([part.gather(stage) for part in self._parts])
        self.mirrors.ran(stage)
        return edges

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a search for components, or a loop over frontiers, if every GPU can; otherwise a loop of full passes.
        """
        if bound is None and self._connects(spec) and GroupConnect.suits(self._parts, spec):
            return GroupConnect(self, self._parts, spec)
        if self._push(spec):
            loop = PeerPush if self._parts[0].at_once else GroupPush
            return loop(self, self._parts, spec.stages[0])
        return GroupLoop(self, self._parts, spec, start)

    def _connects(self, spec: LoopSpec) -> bool:
        return all(part.connects(spec) for part in self._parts)

    def _push(self, spec: LoopSpec) -> bool:
        return all(part.pushes(spec) for part in self._parts)

    def begin_sweep(self, spec: SweepSpec) -> MaskedSweep:
        """Begin a sweep. The passes of the sweep are full passes with a mask."""
        return MaskedSweep(spec, self)

    # ------------------------------------------------------------------------------------------- reductions
    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value."""
        if spec.fold is not None:
            self.traffic.move(self._pads(spec.fold))
            for part in self._parts:
                part.fold_own(spec)
            self.traffic.move(self._partials(spec.fold))
        for part in self._parts:
            part.merge(spec)

    def _pads(self, fold: Fold) -> Iterator[Move]:
        """Yield the copies of the vertices that lie in the first block of a GPU and that other GPUs own."""
        slots = self._folded(fold)
        for rank, part in enumerate(self._parts):
            ranges = part.numbers.ranges
            begin, end = ranges.padded(rank)
            for owner, other in enumerate(self._parts):
                first, last = ranges.of(owner)
                low, high = max(begin, first), min(end, last)
                for slot in slots if low < high else ():
                    size = part.itemsize(slot)
                    source = other.pointer(slot) + (low - first + other.numbers.low) * size
                    target = part.pointer(slot) + (part.first_pad + low - begin) * size
                    yield Move(owner, source, rank, target, (high - low) * size)

    def _partials(self, fold: Fold) -> Iterator[Move]:
        """Yield the copies of the partial results of a reduction from each GPU to all others."""
        for slot in self._partial_slots(fold):
            for rank, part in enumerate(self._parts):
                at, nbytes = part.partials(slot)
                for other, target in enumerate(self._parts):
                    if other != rank:
                        yield Move(rank, part.pointer(slot) + at, other, target.pointer(slot) + at, nbytes)

    def _folded(self, fold: Fold) -> list[str]:
        """Return the arrays over vertices that a reduction reads."""
        arrays = {spec.slot for spec in self.plan.arrays if spec.length == "vertices"}
        return [slot for slot in dict.fromkeys(fold.arrays) if field_of(slot) is not None or slot in arrays]

    def _partial_slots(self, fold: Fold) -> list[str]:
        """Return the arrays of partial results of a reduction."""
        blocks = {spec.slot for spec in self.plan.arrays if spec.length == "blocks"}
        return [slot for slot in dict.fromkeys(fold.arrays) if slot in blocks]

    # ------------------------------------------------------------------------------------------- copies
    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array to another, including mirrors."""
        if slot in self.mirrors.read:
            self.mirrors.refresh([source])
            self.mirrors.written(slot)
        for part in self._parts:
            part.copy(slot, source)

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array, including mirrors."""
        for part in self._parts:
            part.fill(slot, byte)
        self.mirrors.written(slot)

    def keep(self, slots: Sequence[str]) -> object:
        """Copy vertex arrays. Returns the copies of all GPUs, or None if a GPU has no memory for its copy."""
        kept = [part.keep(slots) for part in self._parts]
        if None not in kept:
            return kept
        for part, one in zip(self._parts, kept):
            if one is not None:
                part.forget(one)
        return None

    def forget(self, kept: object) -> None:
        """Free copies."""
        assert isinstance(kept, list)
        for part, one in zip(self._parts, kept):
            part.forget(one)

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays are equal, bit for bit, to a copy."""
        assert isinstance(kept, list)
        return all(part.same(slots, one) for part, one in zip(self._parts, kept))

    # ------------------------------------------------------------------------------------------- checkpoints
    def share(self, slot: str) -> Remote:
        """Return the values of a vertex array of the whole graph. Values are copied from the GPUs only when they are
        fetched.
        """
        first = self._parts[0]
        dtype, size = first.state.dtypes[slot], first.itemsize(slot)

        def fetch(target: NDArray[Any]) -> None:
            for part in self._parts:
                part.fetch(slot, target)

        return Remote(dtype, first.numbers.ranges.n * (size // dtype.itemsize), fetch)

    def put(self, slot: str, array: NDArray[Any] | Remote) -> None:
        """Store the values of a vertex array, including mirrors."""
        self.give_slot(slot, in_memory(array))

    def scalar_bits(self) -> dict[str, int]:
        """Return the 64 bits of every graph-level value as an integer, in a dict by the name of the value."""
        return self._parts[0].scalar_bits()

    def put_scalar_bits(self, name: str, bits: int) -> None:
        """Store a graph-level value from its 64 bits."""
        for part in self._parts:
            part.put_scalar_bits(name, bits)

    def copies(self, kept: object) -> Sequence[Remote]:
        """Return the arrays of a copy that `keep` returned, over the vertices of the whole graph."""
        assert isinstance(kept, list)
        each = [part.copies(one) for part, one in zip(self._parts, kept)]

        def whole(pieces: Sequence[Remote]) -> Remote:
            def fetch(target: NDArray[Any]) -> None:
                at = 0
                for piece in pieces:
                    piece.fetch(target[at : at + len(piece)])
                    at += len(piece)

            return Remote(pieces[0].dtype, sum(map(len, pieces)), fetch)

        return [whole(pieces) for pieces in zip(*each)]

    # ------------------------------------------------------------------------------------------- end
    def synchronize(self) -> None:
        """Wait until all queued kernels and copies have ended."""
        for part in self._parts:
            part.synchronize()

    def close(self) -> None:
        """Do nothing, because the code that opened the parts closes them."""
