"""Numbers ids consecutively: by a bitmap for ids in a narrow range, else by a hash table with linear probing.

An empty slot of a hash table is 0; any other slot holds a number plus one. The caller grows the table so that at most
half of the slots are in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "mark": "void(u32*, i64, i64, i64, u64*)",
    "count_before": "i64(u64*, i64, u32*)",
    "rank_marked": "void(u32*, i64, i64, i64, u64*, u32*)",
    "insert_keys": "void(i64*, i64, u32*, u32*, i64, i64*, i64, i64*)",
    "refill_keys": "void(i64*, i64, u32*, i64)",
    "insert_tokens": "void(u8*, i64*, i64, u32*, u32*, i64, u8*, i64*, u64*, i64, i64, i64*)",
    "refill_hashes": "void(u64*, i64, u32*, i64)",
}

# Indices into `state` of insert_keys and insert_tokens: the next key, the number of distinct keys, the bytes of stored
# tokens.
NEXT, COUNT, USED = 0, 1, 2

NEWLINE, QUOTE = 10, 34


def mark(ids: Any, first: Any, end: Any, lowest: Any, bits: Any) -> None:
    """Set bit `id - lowest` for every id in ids[first:end].

    Args:
        ids: u32.
        first, end: the range of ids.
        lowest: the id of bit 0.
        bits: u64, the bitmap.
    """
    last = np.int64(-1)
    for i in range(first, end):
        key = np.int64(ids[i]) - lowest
        if key != last:
            bits[key >> 6] |= np.uint64(1) << np.uint64(key & 63)
            last = key


@njit
def _ones(word: Any) -> Any:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def count_before(bits: Any, words: Any, before: Any) -> Any:
    """Set before[w] to the number of set bits in words 0..w-1; returns the total."""
    total = np.int64(0)
    for w in range(words):
        before[w] = np.uint32(total)
        total += _ones(bits[w])
    return total


def rank_marked(ids: Any, first: Any, end: Any, lowest: Any, bits: Any, before: Any) -> None:
    """Replace every id in ids[first:end] by its rank: the number of smaller ids in the bitmap.

    Args:
        ids: u32.
        first, end: the range of ids.
        lowest: the id of bit 0.
        bits: u64, the bitmap.
        before: u32, written by `count_before`.
    """
    for i in range(first, end):
        key = np.int64(ids[i]) - lowest
        below = (np.uint64(1) << np.uint64(key & 63)) - np.uint64(1)
        ids[i] = np.uint32(np.int64(before[key >> 6]) + _ones(bits[key >> 6] & below))


@njit
def _mixed(key: Any) -> Any:
    """A 64-bit hash finaliser (Stafford's Mix13)."""
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def insert_keys(keys: Any, end: Any, numbers: Any, slots: Any, mask: Any, uniques: Any, limit: Any, state: Any) -> None:
    """Set numbers[i] to the number of keys[i]; a new key gets the next number.

    Stops before a new key if `limit` is reached; the caller then grows the table and calls again.

    Args:
        keys: i64.
        end: the number of keys.
        numbers: output, u32.
        slots: u32, the hash table; its length is a power of two.
        mask: len(slots) - 1.
        uniques: i64, the distinct keys by number.
        limit: the maximum number of distinct keys.
        state: i64, see NEXT and COUNT.
    """
    i, count = state[NEXT], state[COUNT]
    while i < end:
        key = keys[i]
        at = np.int64(_mixed(key)) & mask
        found = np.int64(slots[at])
        while found != 0 and uniques[found - 1] != key:
            at = (at + 1) & mask
            found = np.int64(slots[at])
        if found == 0:
            if count == limit:
                break
            uniques[count] = key
            count += 1
            slots[at] = np.uint32(count)
            found = count
        numbers[i] = np.uint32(found - 1)
        i += 1
    state[NEXT] = i
    state[COUNT] = count


def refill_keys(uniques: Any, count: Any, slots: Any, mask: Any) -> None:
    """Insert the keys uniques[0:count] into an empty table. See `insert_keys` for the arguments."""
    for k in range(count):
        at = np.int64(_mixed(uniques[k])) & mask
        while slots[at] != 0:
            at = (at + 1) & mask
        slots[at] = np.uint32(k + 1)


@njit
def _append(text: Any, token: Any, length: Any, escaped: Any, arena: Any, used: Any) -> Any:
    """Copy a token and a line end to arena[used:]; if `escaped`, halve doubled quotes.

    Returns the end of the copy, and the hash of the token.
    """
    code = np.uint64(0xCBF29CE484222325)
    j = np.int64(0)
    while j < length:
        c = text[token + j]
        arena[used] = c
        used += 1
        code = (code ^ np.uint64(c)) * np.uint64(0x100000001B3)
        j += 2 if escaped and np.int64(c) == QUOTE else 1
    arena[used] = np.uint8(NEWLINE)
    return used, _mixed(np.int64(code))


def insert_tokens(text: Any, tokens: Any, end: Any, numbers: Any, slots: Any, mask: Any, arena: Any, ends: Any,
                  hashes: Any, limit: Any, room: Any, state: Any) -> None:  # fmt: skip
    """Like insert_keys, for tokens that `scan` packed.

    Each distinct token is stored in `arena`, followed by a line end.

    Args:
        text: the bytes that contain the tokens.
        tokens, end, numbers, slots, mask, limit: see `insert_keys`, with tokens as keys.
        arena: bytes of the distinct tokens.
        ends: i64, the end of each distinct token in the arena, before its line end.
        hashes: u64, the hash of each distinct token.
        room: size of the arena in bytes.
        state: i64, see NEXT, COUNT and USED.
    """
    i, count, used = state[NEXT], state[COUNT], state[USED]
    while i < end:
        packed = tokens[i]
        token, length, escaped = packed & 0xFFFFFFFF, (packed >> 32) & 0x3FFFFFFF, packed >> 62 != 0
        if count == limit or used + length + 1 > room:
            break
        stop, code = _append(text, token, length, escaped, arena, used)
        size = stop - used
        at = np.int64(code) & mask
        found = np.int64(slots[at])
        while found != 0:
            start = ends[found - 2] + 1 if found > 1 else np.int64(0)
            if hashes[found - 1] == code and ends[found - 1] - start == size:
                j = np.int64(0)
                while j < size and arena[start + j] == arena[used + j]:
                    j += 1
                if j == size:
                    break
            at = (at + 1) & mask
            found = np.int64(slots[at])
        if found == 0:
            hashes[count] = code
            ends[count] = stop
            used = stop + 1
            count += 1
            slots[at] = np.uint32(count)
            found = count
        numbers[i] = np.uint32(found - 1)
        i += 1
    state[NEXT] = i
    state[COUNT] = count
    state[USED] = used


def refill_hashes(hashes: Any, count: Any, slots: Any, mask: Any) -> None:
    """Insert the tokens 0..count-1 into an empty table by their hashes. See `insert_tokens` for the arguments."""
    for k in range(count):
        at = np.int64(hashes[k]) & mask
        while slots[at] != 0:
            at = (at + 1) & mask
        slots[at] = np.uint32(k + 1)
