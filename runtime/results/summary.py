"""Descriptions of a run without the values of its fields: for JSON, and as a few lines of text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vlang.errors import plural
from vlang.runtime.storage.output import json_value

if TYPE_CHECKING:
    from vlang.runtime.results.result import Result

__all__ = ["summary_of", "summary_text"]


def summary_of(result: Result) -> dict[str, Any]:
    """See `Result.summary_dict`."""
    return {
        "program": result.program,
        "vertices": len(result),
        "edges": result.graph_edges,
        "rounds": result.rounds,
        "converged": result.converged,
        "reason": result.reason,
        "warnings": list(result.warnings),
        "seconds": result.seconds,
        "device": result.device,
        "policy": result.policy,
        "choices": {name: sorted(value) if isinstance(value, frozenset) else value
                    for name, value in result.choices.items()},
        "notes": list(result.notes),
        "edges_traversed": result.edges,
        "edges_per_second": result.edges_per_second,
        **({"placement": result.placement, "read_bytes": result.read_bytes} if result.placement else {}),
        **({"moved": result.moved._asdict()} if any(result.moved) else {}),
        **({"remembered": result.remembered} if result.remembered else {}),
        **({"together": result.together} if result.together else {}),
        **({} if result.final is None else {"final": int(result.final.sum())}),
        "globals": {name: None if (type_ := result.types.get(name, "")) == "vertex" and v == result.none
                    else json_value(v, type_) for name, v in result.globals.items()},
        "history": [asdict(r) for r in result.history],
    }


def summary_text(result: Result, described: Iterable[str]) -> str:
    """See `Result.summary`.

    Args:
        described: a line for each field, without its name.
    """
    lines = [
        f"{plural(result.rounds, 'round')}, "
        f"{'converged' if result.converged else 'not converged'}: {result.reason}",
        f"{result.seconds:.3g} s, {result.edges:,} edges traversed, {result.edges_per_second / 1e6:.3g} M edges/s",
    ]
    lines += [result.moved.text()] if any(result.moved) else []
    lines += [line for line in (result.remembered, result.together) if line]
    lines += [f"{name}: {line}" for name, line in zip(result.fields, described, strict=True)]
    return "\n".join(lines)
