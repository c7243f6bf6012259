"""What every generated module starts with."""

from vlang.emit.cpu.skeletons.holes import fetch_add, inner


@inner
def note(stats, changed, active):
    """Add one task's counts; additions of integers, so their order does not matter."""
    if changed:
        fetch_add(stats, 0, changed)
    if active:
        fetch_add(stats, 1, active)
