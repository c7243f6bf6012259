"""The description of a program that `vlang run PROGRAM --help` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlang.api.program import Program

__all__ = ["describe"]


def describe(program: Program) -> str:
    """A description of a program, its parameters and its outputs, for `vlang run PROGRAM --help`."""
    lines = [f"{program.name}: {program.doc}" if program.doc else program.name]
    if program.params:
        rows = [
            (f"{p.name}: {p.type}", "required" if p.required else f"default {_literal(p.default)}")
            for p in program.params
        ]
        lines += ["", "Parameters:", *_pairs(rows)]
    inputs = [(f"--field {f.name}=...", f"{f.type}, required") for f in program.fields if f.required]
    if inputs:
        lines += ["", "Values that the caller passes, one per vertex:", *_pairs(inputs)]
    if program.edges:
        rows = [(f"{e.name}: {e.type}", "the graph must have it" if e.required else "optional") for e in program.edges]
        lines += ["", "Edge columns:", *_pairs(rows)]
    outputs = [(f"{f.name}: {f.type}", "one per vertex") for f in program.fields]
    stages = program.stages().program
    outputs += [(f"{stages.names[s.name]}: {s.type}", "one per edge") for s in stages.states]
    outputs += [(g, "one for the graph") for g in program.globals]
    lines += ["", "Gives:", *_pairs(outputs)]
    return "\n".join(lines)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _pairs(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(left) for left, _ in rows)
    return [f"  {left.ljust(width)}  {right}" for left, right in rows]
