"""The kernels that every run of a plan launches."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.runtime.plan.plan import Plan

__all__ = ["every_run"]


def every_run(plan: Plan, folding: Sequence[str]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return the kernels that every run of a plan launches; `folding` are the kernels of a reduction over vertices."""
    wanted: list[tuple[str, str, tuple[int, ...]]] = []
    for stage in plan.stages:
        assert stage.gpu is not None
        if stage.domain is None:
            wanted.append(("compute", stage.gpu.struct, ()))
        elif "messages" in stage.kernels:
            wanted.append(("messages", stage.gpu.struct, ()))
    for spec in plan.values:
        templates = ("scalar",) if spec.fold is None else folding
        wanted += [(template, f"v{spec.index}", ()) for template in templates]
    return wanted
