"""The research options for pages of a frontier, and the loops that follow these options."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.options import Options
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec

__all__ = ["page_notes", "page_refusal"]

_IN_PLACE = ("page_order", "loaded")  # options that make a difference only where pushes update in place
_DEFAULTS = {"combine": "1", "chooser": "cpu", "page_order": "auto", "loaded": "once"}


def page_refusal(plan: Plan, options: Options, chosen: frozenset[str]) -> str:
    """The reason why no loop of a plan can follow an option on pages, with advice on what to write instead; "" if a
    loop can follow the option.

    Args:
        plan: the program.
        options: the options of the run.
        chosen: the names of the options whose values the policy chose; such options are never refused.
    """
    for name, text, reasons in _asked(plan, options):
        if name not in chosen and all(reasons.values()):
            loops = "; ".join(f"line {line}: {reason}" for line, reason in reasons.items())
            return f"{text}: no loop of {plan.name} can follow it: {loops or 'it has no loop'}; leave it out"
    if options.layout != "csr" and "layout" not in chosen:
        if options.transfer not in ("auto", "pages"):
            return f"layout={options.layout!r} copies whole pages, and transfer={options.transfer!r} reads rows of " \
                   "adjacency lists; leave one of them out"
        if options.kernel == "edge-list":
            return f"layout={options.layout!r} has pages of adjacency lists, and kernel='edge-list' reads a list of " \
                   "edges; leave one of them out"
    if options.chooser == "gpu" and "chooser" not in chosen and options.transfer != "auto":
        return f"chooser='gpu' chooses a transfer for each page, and transfer={options.transfer!r} leaves no choice; " \
               "leave one of them out"
    return ""


def page_notes(plan: Plan, options: Options) -> Iterator[str]:
    """Sentences on the loops that do not follow an option on pages."""
    for _, text, reasons in _asked(plan, options):
        for line, reason in reasons.items():
            if reason:
                yield f"{text}: the loop in line {line} does not follow it: {reason}"


def _asked(plan: Plan, options: Options) -> Iterator[tuple[str, str, dict[int, str]]]:
    """Yield each option that differs from its default, its text, and a dict that maps the line of each loop to the
    reason why the loop does not follow the option ("" if the loop follows it).
    """
    for name, default in _DEFAULTS.items():
        value = getattr(options, name)
        if value != default:
            yield name, f"{name}={value!r}", {loop.line: _reason(loop, options, name) for loop in plan.loops
                                              if not loop.nested}


def _reason(loop: LoopSpec, options: Options, name: str) -> str:
    """The reason why a loop does not follow an option; "" if the loop follows the option."""
    stage = loop.steps[0] if len(loop.steps) == 1 else None
    gpu = stage.gpu if isinstance(stage, StageSpec) else None
    if gpu is None or not gpu.push:
        reasons = [one.gpu.push_reason for one in loop.stages if one.gpu is not None and one.gpu.push_reason]
        return f"it does not push, and reads all pages: {reasons[0] if reasons else 'it has several steps'}"
    if loop.copied is not None and options.mode == "auto":
        return "it runs as a search for connected components (rule K), unless mode='push' is asked for"
    if options.mode not in ("auto", "push"):
        return f"mode={options.mode!r} reads all pages"
    if name not in _IN_PLACE:
        return ""
    if gpu.push != "direct":
        return "contributions are joined apart from the fields, and applied after all pages of a superstep, so that " \
               "an update cannot reach an edge of the same superstep"
    if gpu.early == "frontier":
        return "all active vertices send the same value (rule X2), which belongs to their superstep"
    if options.max_rounds is not None and options.mode == "auto":
        return "supersteps are limited, and an update in place may be ahead of the count"
    if name == "page_order" and options.page_order == "values" and not gpu.priority:
        return "no order of its values is known (rule O)"
    return ""
