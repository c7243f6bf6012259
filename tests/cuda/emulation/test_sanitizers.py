"""Generated kernels run without reports under the address, undefined-behaviour and thread sanitizers. The sanitizers
must first find planted bugs.

For the thread sanitizer, only __syncthreads, __syncwarp and fences order the accesses of lanes; votes and shuffles do
not. Two lanes have a race if they access the same word, if no barrier or fence is between the accesses, and if one lane
writes. Two atomic operations are not a race, and two `volatile` accesses are not a race.
"""

from __future__ import annotations

import pytest

from tests.cuda.emulation.sanitized import missing, sanitized
from tests.sample import EXHAUSTIVE

RUNS = {
    "thread": (
        "pagerank:skewed:kernel=stream", "sssp:dense:mode=pull,kernel=edge,replication=4",
        "components:dense:mode=push,page_size=256", "kcore_members:wide:mode=notify-pull,max_rounds=4",
    ),
    "address": (
        "sssp_tree:messy:mode=pull,kernel=edge,replication=32", "katz:dense:kernel=virtual-warp-8,max_rounds=2",
        "viterbi:messy:mode=pull,kernel=warp-segmentation", "bfs_tree:path:mode=push,max_rounds=12",
    ),
    "": (
        "bfs:dense:mode=push", "sswp:wide:mode=push,max_rounds=4", "pagerank:long:kernel=virtual-warp-32,max_rounds=1",
        "spmv:dense:kernel=thread", "sssp_tree:dense:mode=push", "kcore_members:dense:mode=notify-pull",
        "rwr:skewed:kernel=stream",
    ),
}
"""Program, graph, options. VLANG_EXHAUSTIVE=1 runs all under both sanitizers."""


@pytest.fixture(params=["address", "thread"])
def sanitizer(request: pytest.FixtureRequest) -> str:
    reason = missing(request.param)
    if reason:
        pytest.skip(reason)
    return str(request.param)


def test_right_kernels_pass(sanitizer: str) -> None:
    names = ["reverse", "turn", "halves", "grid_barrier", "atomic_poll"]
    done = sanitized(sanitizer, "kernels", *names)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split() == [word for name in names for word in ("done", name)]


@pytest.mark.parametrize(("sanitizer", "kernel", "says"), [
    ("thread", "reverse_unsynced", "data race"),
    ("thread", "turn_unsynced", "data race"),
    ("thread", "turn_voted", "data race"),
    ("thread", "add_one_racing", "data race"),
    ("thread", "flag_unfenced", "data race"),
    ("address", "write_at", "SEGV"),
    ("address", "shared_at", "use-after-poison"),
    ("address", "divides", "division by zero"),
    ("address", "shifts", "shift exponent"),
    ("address", "local_at", "out of bounds"),
], indirect=["sanitizer"])
def test_bugs_are_caught(sanitizer: str, kernel: str, says: str) -> None:
    done = sanitized(sanitizer, "kernels", kernel)
    assert done.returncode != 0, done.stdout
    assert says in done.stderr, done.stderr[-4000:]
    assert "kernels.cu" in done.stderr, done.stderr[-4000:]


def test_programs(sanitizer: str) -> None:
    runs = [run for name in RUNS for run in RUNS[name] if name == sanitizer or EXHAUSTIVE]
    done = sanitized(sanitizer, "programs", *runs)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-8000:]
    assert done.stdout.splitlines() == [f"done {run}" for run in runs]
