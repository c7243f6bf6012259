"""The first code of every generated module."""

from vlang.emit.cpu.skeletons.holes import Pointer, fetch_add, i64, inner


@inner
def note(stats: Pointer[i64], changed: i64, active: i64) -> None:
    """Add the counts of one task. The sums are integers, so the order of tasks does not matter."""
    if changed:
        fetch_add(stats, 0, changed)
    if active:
        fetch_add(stats, 1, active)
