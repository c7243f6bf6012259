"""Mutations that no test can detect because all results stay the same, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["JUDGED"]

JUDGED: Mapping[str, str] = {
    "runtime/gpu/passes/rates.py: atomic: float = 2 / 100e9":
        "the rate of the reference device, by which costs are scaled; it decides how fast a run is, never its result",
    'runtime/gpu/kernels/replication.py: _ROOM = 32 << 11  # bytes of shared memory of a shard under "auto": the size '
    "at which the constants were measured":
        "how large the shards of a kernel are: at most what a block has, so they always fit; only the time differs, "
        "and the last bits of float sums, which a GPU may change",
    "runtime/graph/read/vertices.py: _BLOCK = 1 << 19":
        "how many ends are renumbered at once, for the memory that this takes",
    "vlang/emit/shared/reductions/holistic.py: return d.constant(1, types[0]), d.false":
        "the value of a contribution that does not count: nothing reads it",
    "runtime/gpu/topology/sides.py: some = (lasts >= firsts)":
        "the pages that this adds lie inside one long row, whose end is compared with that of the page itself",
    "runtime/convert/entries.py: MOST_BUCKETS = 1 << 11  # more buckets would thrash the caches and the system's page "
    "cache":
        "how many buckets a conversion writes at once: only its time differs",
    "vlang/check/foreign/foreign_calls.py: if not _is_vertex(node.args[(-1)], at):":
        "the call has one argument here, so its first argument is its last",
    "vlang/emit/shared/values/integers.py: ups = _tests((left.up and (right.high >= 0), a, high), "
    "(right.down and left.low < 0, b, low))":
        "adds a test for `inf` minus a number that is at most 0, which saturates at `inf` without the test",
}
"""The path of a file, its line with the mutation, and the reason why the mutation is no bug."""
