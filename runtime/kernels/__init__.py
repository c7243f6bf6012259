"""The CPU kernels that are the same for every program; `vlang.runtime.compile.objects` compiles their text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from vlang.runtime.compile.objects import Kernels, load_kernels

__all__ = ["FIRST_NEEDED", "brief_kernels", "crew_kernels", "frontier_kernels", "level_kernels", "mirror_kernels",
           "paged_frontier_kernels", "play_kernels", "queue_kernels", "search_kernels", "thin_kernels",
           "together_kernels"]

FIRST_NEEDED = ("split_flags", "reached", "notify_vertices", "list_tasks", "long_vertices")
"""The kernels that every loop with notify-pull launches, for any graph and any fields."""

_WIDTHS = (8, 16, 32, 64)

_FRONTIER = {
    "split_flags": "void(u64*, i64, i64, i64*, i64, u32*, u32*, i64*, u8*)",
    "reached": "i64(u8*, i64, u32*)",
    "notify_vertices": "void(u64*, u32*, i64*, i64, i64*, u8*)",
    "notify_segments": "void(u64*, i64*, i64*, i64, i64*, u8*)",
    "list_tasks": "i64(u32*, i64, u64*, i64*, i64, i64, i64*, i64*)",
    "list_tasks_by_degree": "i64(u32*, i64, u32*, i64*, i64, i64, i64*, i64*)",
    "long_tasks": "i64(u32*, i64, i64*, i64*, i64*, i64, i64*, i64*)",
    "long_vertices": "void(u32*, i64, i64*, u32*)",
    "level_tasks": "i64(u32*, i64*, i64, u64*, i64*, i64, i64, i64*, i64*, i64*)",
    "level_long_tasks": "i64(u32*, i64*, i64, i64*, i64*, i64*, i64, i64*, i64*, i64*)",
    **{f"exchange_{w}": f"void(u{w}*, u{w}*, u32*, i64, i64)" for w in _WIDTHS},
    **{f"copy_{w}": f"void(u{w}*, u{w}*, u32*, i64, i64)" for w in _WIDTHS},
}

_QUEUES = {f"catch_up_{w}": f"void(u64*, i64*, i64, i64*, u64*, u{w}*, u{w}*, i64, i64)" for w in _WIDTHS}

_CREW = dict.fromkeys(("prepare", "serve", "launch", "begin", "join", "end"), "void(i64*, i64)")


@cache
def crew_kernels() -> Kernels:
    """The kernels by which the worker threads of a crew join and leave launches."""
    text = (Path(__file__).parent / "crew.py").read_text(encoding="utf-8")
    return load_kernels(text, _CREW)



@cache
def play_kernels() -> Kernels:
    """The kernel that runs a script, that is a list of launches."""
    text = (Path(__file__).parent / "crew.py").read_text(encoding="utf-8")
    return load_kernels(text, {"play": "i64(i64*, u64*, i64, i64)"})


_COSTS = {
    "pull": "void(u32*, i64, f32*)", "push": "void(u32*, i64, u32*)", "notify": "void(u32*, i64, u8*)",
    "mark": "void(u32*, i64, u64*)", "sum": "void(u32*, i64, f64*, u8*, u8*)", "rows": "void(u32*, i64, u32*, i64)",
}


@cache
def cost_kernels() -> Kernels:
    """The kernels that are timed to measure the cost of an edge."""
    text = (Path(__file__).parent / "costs.py").read_text(encoding="utf-8")
    return load_kernels(text, _COSTS)


_WORKER = "i64, i64*, i64, i64*, i64*"
_PAGED_FRONTIER = {
    "linked": "void(u32*, i64, u64*)",
    "pages_of": "void(u64*, u64*, i64*, i64, i64, u8*)",
    "pages_of_longs": "void(u64*, i64*, i64, i64*, u8*)",
    "pages_of_flags": "void(u8*, i64*, i64, i64, i64*, i64, i64*, u8*)",
    "edges_of": "i64(u64*, i64, u32*)",
    "mark_rows": f"void(u64*, u64*, u64*, {_WORKER})",
    "mark_segments": f"void(u64*, i64*, u64*, u64*, {_WORKER})",
    "look_rows": f"void(u64*, u64*, u64*, u64*, {_WORKER})",
    "look_segments": f"void(u64*, i64*, u64*, u64*, u64*, {_WORKER})",
}


@cache
def paged_frontier_kernels() -> Kernels:
    """The kernels for frontiers over pages that are read from disk."""
    text = (Path(__file__).parent / "paged_frontier.py").read_text(encoding="utf-8")
    return load_kernels(text, _PAGED_FRONTIER)


@cache
def frontier_kernels() -> Kernels:
    """The kernels of notify-pull: notification, lists of vertices, and the tasks over the lists."""
    text = (Path(__file__).parent / "frontier.py").read_text(encoding="utf-8")
    return load_kernels(text, _FRONTIER)


@cache
def thin_kernels() -> Kernels:
    """The kernel that runs thin supersteps of notify-pull."""
    text = (Path(__file__).parent / "thin.py").read_text(encoding="utf-8")
    return load_kernels(text, {"thin": "void(u64*, i64*)", "queued_flags": "i64(u64*, i64, u32*)"})


@cache
def brief_kernels() -> Kernels:
    """The kernel that runs brief supersteps, which are full passes over small graphs."""
    text = (Path(__file__).parent / "brief.py").read_text(encoding="utf-8")
    return load_kernels(text, {"brief": "void(u64*)"})


@cache
def queue_kernels() -> Kernels:
    """The kernels over the frontier of a pass that pushes."""
    text = (Path(__file__).parent / "queues.py").read_text(encoding="utf-8")
    return load_kernels(text, _QUEUES)


@cache
def together_kernels(bits: int) -> Kernels:
    """The kernel that lays values of `bits` bits of several runs side by side."""
    text = (Path(__file__).parent / "together.py").read_text(encoding="utf-8").replace("u32", f"u{bits}")
    return load_kernels(text, {f"weave_u{bits}": f"void(u64*, i64, u{bits}*, i64*, i64, i64*)"})


@cache
def level_kernels(dtype: str) -> Kernels:
    """The kernels that sort vertices by level; `dtype` is the type of the levels, a key of DTYPES."""
    text = (Path(__file__).parent / "levels.py").read_text(encoding="utf-8")
    given, tasks = f"{dtype}*, u8*", "i64*, i64, i64*"
    return load_kernels(text, {
        "bounds": f"void({given}, {tasks}, i64*)",
        "sizes": f"void({given}, i64, i64, {tasks}, i64*)",
        "place": f"void({given}, i64, i64, {tasks}, i64*, u32*)",
    })


@cache
def search_kernels() -> Kernels:
    """The kernels of searches of several runs at a time."""
    text = (Path(__file__).parent / "searches.py").read_text(encoding="utf-8")
    return load_kernels(text, {
        "turn": "void(u64*, i64, u64*, i64*, i64, i64*)",
        "look": "void(u64*, u64*, u64*, i64, u64*, u64*, i64*, i64, i64*, i64*)",
    })


_MIRRORS = {
    **{f"changed_{w}": f"i64(u{w}*, u32*, i64, i64, u{w}*, u64*)" for w in _WIDTHS},
    **{f"renewed_{w}": f"i64(u{w}*, u32*, i64, i64, u{w}*)" for w in _WIDTHS},
    **{f"taken_{w}": f"void(u{w}*, u64*, i64, i64, u{w}*)" for w in _WIDTHS},
    **{f"put_listed_{w}": f"void(u{w}*, u32*, i64, i64, u{w}*)" for w in _WIDTHS},
    "listed": "i64(u64*, i64, u32*)",
    "flagged": "i64(u8*, u32*, i64, u64*)",
    "set_flags": "void(u64*, i64, u8*)",
    "set_listed_flags": "void(u32*, i64, u8*)",
    "front_message": "i64(u64*, u64*, u32*, i64, i64, u64*, u64*, i64)",
    "front_read": "i64(u64*, i64, i64, i64, u64*, u64*, u64*, u64*, i64, i64*)",
    "apart": "i64(u32*, i64, u64*, u32*, i64, i64, u32, u64*, u32*)",
    "wait": "void(u32*, i64, i64, u64*)",
    "boundary": "i64(u32*, i64, i64, u32, u32, u32*, u32*, i64, i64, u64*, u8*)",
    "cut_rows": "i64(u32*, i64, u64*, u64*)",
}


@cache
def mirror_kernels() -> Kernels:
    """The kernels that pack and unpack the values that ranks exchange."""
    text = (Path(__file__).parent / "mirrors.py").read_text(encoding="utf-8")
    return load_kernels(text, _MIRRORS)
