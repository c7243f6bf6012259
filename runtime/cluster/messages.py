"""The format of messages between ranks: changed values of an array (as a list or with a bitmap), or all values.

A message is a sequence of parts, one for each array. A part begins at a multiple of 8 bytes. A part begins with a
64-bit word that has the form of the part and the number of values. After this word, a part has positions or a bitmap,
and then the values. The sender chooses the smallest form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.transports.transport import Buffer
from vlang.runtime.kernels import mirror_kernels
from vlang.runtime.plan.layouts.message_forms import ALL, BITMAP, FORMS, LISTED, NOTHING
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["Picks", "Reader", "Sent", "apart", "apart_part", "bytes_of", "flag_part", "joined_parts", "value_part",
           "whole_part", "words_of"]

_WORD = 8


def words_of(array: NDArray[Any], size: int) -> tuple[int, int]:
    """Return the width in bits of the words into which a value of `size` bytes is divided, and the number of these
    words.
    """
    bits = next(bits for bits in (64, 32, 16, 8) if 8 * size % bits == 0 and array.itemsize * 8 >= bits)
    return bits, 8 * size // bits


def bytes_of(places: int, changes: int, size: int) -> tuple[int, int, int]:
    """Return the size in bytes of a part, without the first word, in each of the three forms: list, bitmap, all values.

    Args:
        places: the number of mirrors.
        changes: the number of mirrors whose values are sent.
        size: bytes of a value; 0 for flags, for which no values are sent.
    """
    listed = _whole(4 * changes) + _whole(size * changes)
    bitmap = _WORD * -(-places // 64) + _whole(size * changes)
    return listed, bitmap, _whole(size * places) if size else bitmap + 1


def _whole(nbytes: int) -> int:
    return -(-nbytes // _WORD) * _WORD


def _head(form: int, count: int) -> Buffer:
    return np.array([count * FORMS + form], np.uint64).view(np.uint8)


def _padded(array: NDArray[Any]) -> list[Buffer]:
    raw = array.view(np.uint8).reshape(-1)
    rest = -len(raw) % _WORD
    return [raw, np.zeros(rest, np.uint8)] if rest else [raw]


@dataclass
class Sent:
    """The values that were last sent to a rank.

    Attributes:
        part: uint8, a part of a message with all values, which is sent without another copy.
        values: uint8[k * size], the values in this part.
        dense: whether most values had changed at the last message, so that the next message is made without comparing
            all values first.
    """

    part: Buffer
    values: Buffer
    dense: bool = False

    @staticmethod
    def of(count: int, size: int) -> Sent:
        """Return zeros for `count` values of `size` bytes."""
        part = zeros(_WORD + _whole(count * size), np.uint8)
        return Sent(part, part[_WORD : _WORD + count * size])


def value_part(values: NDArray[Any], places: NDArray[np.uint32], size: int, sent: Sent, known: bool) -> list[Buffer]:
    """Return the part with the values that have changed since the last message.

    If most values had changed at the last message, and some have changed since then, all values are sent. The number of
    changed values decides whether the next message compares values.

    Args:
        values: the array over the local vertices.
        places: uint32[k], the local numbers of the vertices that the receiver mirrors.
        size: bytes of a value.
        sent: the values that were last sent to the receiver; this function updates them.
        known: whether the receiver still has the values in `sent`; if not, all values are sent.
    """
    count = len(places)
    if not count:
        return [_head(NOTHING, 0)]
    bits_of, width = words_of(values, size)
    kernels, name, dtype = mirror_kernels(), str(bits_of), f"u{bits_of // 8}"
    words, last = values.view(dtype).reshape(-1), sent.values.view(dtype)
    bits = None
    if sent.dense or not known:
        changes = kernels["renewed_" + name](words, places, count, width, last)
    else:
        bits = np.empty(-(-count // 64), np.uint64)
        changes = kernels["changed_" + name](words, places, count, width, last, bits)
    if known and not changes:
        sent.dense = False
        return [_head(NOTHING, 0)]
    listed, bitmap, every = bytes_of(count, changes, size)
    sent.dense = known and every <= min(listed, bitmap)
    if bits is None or sent.dense:
        sent.part[:_WORD] = _head(ALL, count)
        return [sent.part]
    found = np.empty(changes * width, dtype)
    kernels["taken_" + name](last, bits, len(bits), width, found)
    return [*_chosen(bits, changes, listed < bitmap), *_padded(found)]


def flag_part(flags: NDArray[np.uint8], places: NDArray[np.uint32]) -> list[Buffer]:
    """Return the part that says which vertices have bit 0 set in their flags; arguments as for `value_part`."""
    count = len(places)
    bits = np.empty(-(-count // 64), np.uint64)
    return _bit_part(mirror_kernels()["flagged"](flags, places, count, bits) if count else 0, count, bits)


@dataclass(frozen=True)
class Picks:
    """The vertices that a rank mirrors, as a bitmap over the local vertices of the owner.

    Attributes:
        count: the number of mirrored vertices.
        first: the word of the whole bitmap with which `bits` begins; words before and behind `bits` are zero.
        bits: uint64[w], the bitmap.
        before: uint32[w], for each word the number of bits that are set in all words before it.
    """

    count: int
    first: int
    bits: NDArray[np.uint64]
    before: NDArray[np.uint32]

    @staticmethod
    def of(places: NDArray[np.uint32]) -> Picks:
        """Return the bitmap of `places`, which are local vertices in increasing order."""
        low, high = (int(places[0]) & -64, int(places[-1]) // 64 * 64 + 64) if len(places) else (0, 0)
        flags = np.zeros(high - low, np.uint8)
        flags[places - np.uint32(low)] = 1
        begins = np.arange(low, high, 64, dtype=np.int64)
        return Picks(len(places), low // 64, np.packbits(flags, bitorder="little").view(np.uint64),
                     np.searchsorted(places, begins).astype(np.uint32))


def apart(
    parents: NDArray[np.uint32], picks: Picks, common: int
) -> tuple[int, NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the number of vertices of `picks` that are not in the tree with the root `common`, these vertices as a
    bitmap over the vertices of `picks`, and memory that begins with the roots of their trees.

    Args:
        parents: uint32[n], the parent of each local vertex.
    """
    bits, found = np.zeros(-(-picks.count // 64), np.uint64), empty(picks.count, np.uint32)
    changes = mirror_kernels()["apart"](
        parents, len(parents), picks.bits, picks.before, picks.first, len(picks.bits), common, bits, found)
    return changes, bits, found


def apart_part(parents: NDArray[np.uint32], picks: Picks, common: int) -> list[Buffer]:
    """Return the part with the roots of the vertices of `picks` that are not in the tree with the root `common`.

    Args:
        parents: uint32[n], the parent of each local vertex.
        picks: the vertices that the receiver mirrors.
        common: the root of a tree, which the receiver knows.
    """
    changes, bits, found = apart(parents, picks, common)
    if not changes:
        return [_head(NOTHING, 0)]
    listed, bitmap, _ = bytes_of(picks.count, changes, 4)
    return [*_chosen(bits, changes, listed < bitmap), *_padded(found[:changes])]


def _bit_part(changes: int, count: int, bits: NDArray[np.uint64]) -> list[Buffer]:
    """Return the part of a message that says which of `count` places are set in a bitmap. `changes` is the number of
    set places.
    """
    if not changes:
        return [_head(NOTHING, 0)]
    listed, bitmap, _ = bytes_of(count, changes, 0)
    return _chosen(bits, changes, listed < bitmap)


def _chosen(bits: NDArray[np.uint64], changes: int, as_list: bool) -> list[Buffer]:
    """Return the first word of a part, and the positions of the set bits as a list or as a bitmap."""
    if not as_list:
        return [_head(BITMAP, changes), bits.view(np.uint8)]
    places = np.empty(changes, np.uint32)
    mirror_kernels()["listed"](bits, len(bits), places)
    return [_head(LISTED, changes), *_padded(places)]


def whole_part(values: NDArray[Any]) -> list[Buffer]:
    """Return the part with consecutive values."""
    return [_head(ALL, len(values)), *_padded(values)]


def joined_parts(parts: Sequence[Buffer]) -> Buffer:
    """Join all parts into one message. A message of one part is the part itself."""
    if len(parts) == 1:
        return parts[0]
    message = empty(sum(map(len, parts)), np.uint8)
    return np.concatenate(parts, out=message) if parts else message


@dataclass
class Reader:
    """Reads the parts of a message in order, and stores their values and flags in arrays."""

    message: Buffer
    at: int = 0

    def _head(self) -> tuple[int, int]:
        word = int(self._next(_WORD).view(np.uint64)[0])
        return word % FORMS, word // FORMS

    def _next(self, nbytes: int) -> Buffer:
        found = self.message[self.at : self.at + nbytes]
        self.at += _whole(nbytes)
        return found

    def values(self, arrays: Sequence[NDArray[Any]], size: int) -> NDArray[np.uint32] | None:
        """Store the values of a part in the mirrors; returns the places of the values, in increasing order, or None for
        all places.

        Args:
            arrays: the arrays to fill, over the mirrors of one rank. All these arrays get the same values.
            size: bytes of a value.
        """
        form, count = self._head()
        if form == NOTHING:
            return np.zeros(0, np.uint32)
        bits_of, width = words_of(arrays[0], size)
        kernels, dtype = mirror_kernels(), f"u{bits_of // 8}"
        mirrors = [array.view(dtype).reshape(-1) for array in arrays]
        if form == ALL:
            found = self._next(size * count).view(dtype)
            for array in mirrors:
                np.copyto(array, found)
            return None
        places = self._places(form, count, len(mirrors[0]) // width)
        found = self._next(size * len(places)).view(dtype)
        for array in mirrors:
            kernels[f"put_listed_{bits_of}"](found, places, count, width, array)
        return places

    def apart(self, mirrors: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Read a part that `apart_part` made; returns the places among `mirrors` mirrors, and their roots."""
        form, count = self._head()
        places = self._places(form, count, mirrors)
        return places, self._next(4 * count).view(np.uint32)

    def flags(self, flags: NDArray[np.uint8]) -> None:
        """Set bit 0 in the flags of the mirrors that a part lists."""
        form, count = self._head()
        if form == BITMAP:
            bits = self._next(_WORD * -(-len(flags) // 64)).view(np.uint64)
            mirror_kernels()["set_flags"](bits, len(bits), flags)
        elif form == LISTED:
            mirror_kernels()["set_listed_flags"](self._next(4 * count).view(np.uint32), count, flags)

    def _places(self, form: int, count: int, mirrors: int) -> NDArray[np.uint32]:
        """Return the places in a list or a bitmap, uint32[count]."""
        if form == LISTED:
            return self._next(4 * count).view(np.uint32)
        found: NDArray[np.uint32] = np.zeros(count, np.uint32)
        if form == BITMAP:
            bits = self._next(_WORD * -(-mirrors // 64)).view(np.uint64)
            mirror_kernels()["listed"](bits, len(bits), found)
        return found

    def whole(self, values: NDArray[Any]) -> None:
        """Copy the next part, which consists of consecutive values, into an array."""
        _, count = self._head()
        np.copyto(values, self._next(count * values.itemsize).view(values.dtype))
