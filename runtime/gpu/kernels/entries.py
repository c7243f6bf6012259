"""Entry points of the kernels: for each template, the parameters, the `extern "C"` function, and the shared memory.

The text of a plan has templates over the struct of a pass, but no entry points. Therefore only the kernels that a run
launches are compiled. `entry` returns the function to append to the text, and `shared_bytes` returns the size of the
dynamic shared memory of a launch. Each constant has the same value as the constant of the same name in
vlang/emit/cuda/skeletons/*.cuh.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from vlang.runtime.gpu.kernels.sparse_layout import CLUSTERED, SPARSE_BOUNDS, SPARSE_PREPARATIONS, SPARSE_SIGNATURES
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import THREADS

__all__ = [
    "EXCHANGE_PREPARATIONS", "EXCHANGE_SIGNATURES", "LONGEST_STAGED", "PREPARATIONS", "SCRATCH_WORDS", "SIGNATURES",
    "WINDOW", "WOVEN", "cell_count", "entry", "row_block_count", "shared_bytes",
]

_FRAME = "u64* frame"
_PAGE = (_FRAME, "const u64* row", "u64 low", "u64 high")

SIGNATURES: Mapping[str, tuple[str, ...]] = {
    # passes over vertices [low, high) and their lists
    "compute": (_FRAME, "u64 low", "u64 high"),
    "messages": (_FRAME, "u64 low", "u64 high"),
    "messages_list": (_FRAME, "const u32* list", "const u64* count"),
    "fold": (_FRAME, "u64 low", "u64 high", "u64 first"),
    "scalar": (_FRAME, "u64 blocks"),
    "fold_scalar": (_FRAME, "u64 high", "u64 blocks"),
    # passes over edges: vertices [low, high) of a page; pull_stream row blocks, pull_shards shards, segments segments
    "pull_thread": _PAGE,
    "pull_lanes": _PAGE,
    "pull_segmented": _PAGE,
    "pull_stream": _PAGE,
    "pull_shards": _PAGE,
    "segments": _PAGE,
    # passes of several runs; constants of pull_woven: kind, lanes (together.cuh)
    "pull_woven": (*_PAGE, "const u64* frames", "u64 runs"),
    "rows_woven": (*_PAGE, "const u64* frames", "u64 runs"),
    "segments_woven": (*_PAGE, "const u64* frames", "u64 runs"),
    # passes over a list of edges; the constant of join_listed is ENDS, 0 to 2 (listed.cuh)
    "clear_listed": (_FRAME, "u64 cells", "u64 n"),
    "join_listed": (_FRAME, "const u64* row", "u64 count", "u64 cells", "u64 n", "u64 places"),
    "apply_listed": (_FRAME, "u64 low", "u64 high", "u64 cells", "u64 n"),
    "finish": (_FRAME, "u64 low", "u64 high"),
    # the same for passes that need all contributions of a vertex at once; constant of pull_whole: lanes
    "pull_whole": (*_PAGE, "const BlockScratch* pool"),
    "pull_whole_list": (_FRAME, "const u64* rows", "u64 pages", "const u32* list", "const u64* count", "u64* edges",
                        "const BlockScratch* pool"),
    "segments_whole": (*_PAGE, "const LongScratch* scratches"),
    "segments_whole_list": (_FRAME, "const u64* rows", "u64 pages", "const i64* table", "const u32* list",
                            "const u64* count", "const LongScratch* scratches"),
    "finish_whole": (_FRAME, "u64 low", "u64 high", "const LongScratch* scratches"),
    "finish_whole_list": (_FRAME, "const u32* list", "const u64* count", "const LongScratch* scratches"),
    "finish_list": (_FRAME, "const u32* list", "const u64* count"),
    # combine values over components; the struct defines how (rule K)
    "join_trees": ("u32* parents", "u64 values", "u64 n"),
    "spread_values": ("const u32* parents", "u64 values", "u64 n"),
}
"""The parameters of each kernel template over a struct. All parameters have 64 bits."""

PREPARATIONS: Mapping[str, tuple[str, ...]] = {
    "row_blocks": ("const u64* offsets", "u32* blocks", "u64 low", "u64 high", "u64 count"),
    "places": ("const u64* offsets", "const u32* shards", "u16* receivers", "u64 low", "u64 high"),
    "aim_row": ("u64* row", "u64 slot", "const u64* layout"),
    "decode_slotted": ("u64 at", "u64 bytes", "u64 slots", "u64 edges", "u64 number", "u64 ids", "const u32* rvt",
                       "u32* targets"),
    "count_listed": ("const u32* rows", "const u32* others", "u64 count", "u64 ends", "u32* degrees"),
    "mark_pages": ("const u64* offsets", "const u64* starts", "u64 pages", "const u32* list", "const u64* count",
                   "u64* marks"),
    "set_words": ("u64* words", "u64 count", *(f"u64 {letter}{k}" for k in range(6) for letter in "iv")),
    "count_other_8": ("const u8* array", "u64 count", "u64 value", "u64* others"),
    "count_other_32": ("const u32* array", "u64 count", "u64 value", "u64* others"),
    **{f"weave_{bits}": ("const u64* arrays", f"u{bits}* rows", "u64 runs", "u64 n") for bits in (8, 16, 32, 64)},
    # components (rule K)
    "plant_single": ("u32* parents", "u64 n"),
    "plant": ("const u64* row", "u64 n", "u32* parents"),
    "graft": ("const u64* row", "u64 n", "u64 rank", "u32* parents"),
    "compress": ("u32* parents", "u64 n"),
    "elect": ("const u32* parents", "u64 n", "u32* chosen"),
    "count_outside": ("const u64* row", "u64 n", "const u32* parents", "const u32* chosen", "u64* edges"),
    "hook_rows": ("const u64* row", "u64 low", "u64 high", "u32* parents", "const u32* chosen"),
    "hook_segments": ("const u64* row", "const i64* segments", "u64 low", "u64 high", "u32* parents",
                      "const u32* chosen"),
    "rename_parents": ("const u32* globals", "u64 n", "u32* parents"),
    "hook_pairs": ("const u32* vertices", "const u32* above", "u64 count", "u32* parents"),
    "count_unordered_32": ("const f32* values", "u64 n", "u64* unordered"),
    "count_unordered_64": ("const f64* values", "u64 n", "u64* unordered"),
    "count_differing": ("const u64* a", "const u64* b", "u64 count", "u64* differing"),
}
"""The parameters of each kernel that is not a template, for topology and state."""

EXCHANGE_SIGNATURES: Mapping[str, tuple[str, ...]] = {
    "pack_values": ("u64 values", "const u32* places", "u64 count", "u64 width", "u64 packed"),
    "refine_values": ("u64 values", "const u32* places", "u64 count", "u64 width", "u64 known", "u64 sent", "u32* bits",
                      "u32* counts"),
    "collect_values": ("const u32* bits", "const u32* sums", "u64 count", "u64 width", "u64 sent", "u64 packed",
                       "u64 listed"),
    "place_listed": ("const u32* listed", "u64 packed", "u64 count", "u64 width", "u64 mirrors"),
    "collect_queue": ("const Table* where", "const u32* places", "u64 low", "u64 high", "u64 values", "u64 width",
                      "u64 box", "u64* count", "u64 before"),
    "adopt_values": ("const Table* where", "u64 box", "u64 count", "u64 width", "u64 values", "u64 first"),
    "place_flagged": ("const u32* bits", "const u32* sums", "u64 count", "u64 width", "u64 packed", "u64 mirrors"),
}
"""The parameters of each kernel that moves values between devices, a template over the type of a word."""

EXCHANGE_PREPARATIONS: Mapping[str, tuple[str, ...]] = {
    "count_bits": ("const u32* bits", "u64 words", "u32* counts"),
    "sum_counts": ("u32* counts", "u64 length", "u64* total"),
}
"""The parameters of the other kernels that move values between devices."""

_TEMPLATES = {**SIGNATURES, **SPARSE_SIGNATURES, **EXCHANGE_SIGNATURES}
_KERNELS = {**PREPARATIONS, **SPARSE_PREPARATIONS, **EXCHANGE_PREPARATIONS}

WINDOW = 2048  # size of a row block of pull_stream: the number of its edges plus the number of rows that begin in it
LONGEST_STAGED = 1024  # edges: rows of at most this length are staged in shared memory completely
SHORTEST_SHARED = 33  # edges: rows of at least this length are reduced by a warp
SCRATCH_WORDS = 1024  # 32-bit words of shared memory per warp, for passes that need all contributions at once
WOVEN = 32  # runs that one traversal of the edges serves, one for each lane of a warp
FOLD_BYTES = 1024  # space for the accumulators of one reduction over vertices


@cache
def entry(template: str, struct: str = "", *constants: int) -> tuple[str, str]:
    """Return the name and the text of an entry point.

    Args:
        template: a key of SIGNATURES or SPARSE_SIGNATURES; if `struct` is "", a key of PREPARATIONS or
            SPARSE_PREPARATIONS.
        struct: the struct of a pass, or a type composed of several structs; "" for a kernel that is not a template.
        constants: further template arguments, such as the lanes of pull_lanes.

    Raises:
        KeyError: the name is unknown.
    """
    parameters = (_TEMPLATES if struct else _KERNELS)[template]
    name = "_".join([template, re.sub(r"\W+", "_", struct).strip("_") or "kernel", *map(str, constants)])
    arguments = ", ".join(p.split()[-1] for p in parameters)
    called = f"{template}<{', '.join([struct, *map(str, constants)])}>" if struct else template
    bound = str(SPARSE_BOUNDS.get(template, THREADS))
    if template == "pull_stream":
        bound += f", STREAM_BLOCKS<{struct}>"
    elif template == "pull_woven":
        bound += f", WOVEN_BLOCKS<{struct}>"
    elif template in CLUSTERED:
        bound += ", 1"  # a cluster needs one block per multiprocessor; for more, the compiler would spill registers
    clustered = " CLUSTERED" if template in CLUSTERED else ""
    head = f'extern "C" __global__ void __launch_bounds__({bound}){clustered} {name}({", ".join(parameters)})'
    return name, f"{head} {{ {called}({arguments}); }}\n"


def row_block_count(edges: int, vertices: int) -> int:
    """Return the number of row blocks of pull_stream in a page. A row block covers WINDOW edges and rows."""
    return -(-(edges + vertices) // WINDOW)


def cell_count(vertices: int, replicas: int) -> int:
    """Return the number of cells in shared memory for a shard with R replicas.

    The number is rounded up to a multiple of 16, so that each component of a cell is aligned.
    """
    return -(-vertices * replicas // 16) * 16


def shared_bytes(template: str, gpu: GpuStage | None = None, threads: int = THREADS, cells: int = 0) -> int:
    """Return how many bytes of dynamic shared memory a launch of a template needs.

    Args:
        template: a key of SIGNATURES.
        gpu: the stage of the pass; not needed for kernels over vertices.
        threads: threads per block.
        cells: for pull_shards, the maximum of `cell_count` over the shards of the launch; for join_listed, the number
            of places of a local table.

    Raises:
        KeyError: the template is not in SIGNATURES.
    """
    if template not in SIGNATURES:
        raise KeyError(template)
    warps = threads // 32
    note = 8 * warps  # counts of changed and active vertices
    if template in ("fold", "scalar", "fold_scalar"):
        return FOLD_BYTES * warps
    if gpu is None or template in ("messages", "messages_list"):
        return note
    if template == "pull_stream":
        return max(note, _stream_bytes(gpu))
    if template == "pull_shards":
        return max(note, 16 + cells * gpu.cell)
    if template == "join_listed":
        return cells * (4 + gpu.cell)
    merged = max(note, gpu.accumulator * warps)
    if template == "pull_woven":
        rows = next((rows for rows in (8, 4, 2) if rows * gpu.accumulator <= 64), 1)  # WOVEN_ROWS of together.cuh
        return 8 * WOVEN + rows * gpu.accumulator * warps * (WOVEN + 1)
    if template in ("rows_woven", "segments_woven"):
        return 4 * (threads + 4) * (template == "rows_woven") + gpu.accumulator * warps * (WOVEN + 1)
    if template == "segments":
        return merged
    if template in ("pull_whole", "pull_whole_list"):
        return 4 * (warps * SCRATCH_WORDS + 36) + max(merged, 4 * (warps + 1))
    if "_whole" in template:
        return max(merged, 4 * (warps + 1))
    return note


def _stream_bytes(gpu: GpuStage) -> int:
    """Return the bytes of shared memory of `pull_stream`: rows that warps reduce, their results, staged items, and row
    starts.
    """
    staged = WINDOW + LONGEST_STAGED
    listed = staged // SHORTEST_SHARED
    starts = 2 * WINDOW if gpu.reads_self else 0
    return 16 + sum(-(-part // 16) * 16 for part in (4 * listed, gpu.accumulator * listed, gpu.item * staged, starts))
