"""The phases of a superstep (language.md 4.7). A phase consists of one pass over the edges, followed by writes."""

from __future__ import annotations

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import LoopScope, expressions, statements
from vlang.records import dataclass

__all__ = ["Phase", "phases_of"]


@dataclass(frozen=True, eq=False)
class Phase:
    """A group of consecutive statements of the loop's block.

    Attributes:
        number: The number of the phase in the superstep, from 1.
        statements: The statements.
        domains: The domains of the reductions over edges in the phase, without repetitions.
        neighbour: The fields written in the loop that the phase's reductions read from neighbours.
        own: The fields written in the loop that the phase reads from the vertex itself. The old value of a normal form
            counts.
        distant: The fields written in the loop that the phase reads from arbitrary vertices (`label.label`).
        gathered: The accumulators that the phase computes.
        used: The accumulators that the phase reads.
        writes: The fields that the phase writes.
        late: The first gather inside a `where` that reads a field written earlier in the same `where`; None if there is
            none. A phase with a late gather takes more than one pass.
    """

    number: int
    statements: tuple[f.Statement, ...]
    domains: tuple[str, ...]
    neighbour: frozenset[str]
    own: frozenset[str]
    distant: frozenset[str]
    gathered: frozenset[str]
    used: frozenset[str]
    writes: frozenset[str]
    late: f.Statement | None = None


def phases_of(scope: LoopScope) -> tuple[Phase, ...]:
    """Cut the block of a loop into phases; `activate when` belongs to no phase."""
    groups: list[list[f.Statement]] = [[]]
    written: set[str] = set()
    for statement in scope.loop.body:
        if isinstance(statement, f.Activate):
            continue
        if groups[-1] and (_from_neighbours(scope, statement) | _of_edges(statement)) & written:
            groups.append([])
            written = set()
        groups[-1].append(statement)
        written |= _written(statement)
    return tuple(_phase(scope, number, tuple(group)) for number, group in enumerate(groups, 1) if group)


def _phase(scope: LoopScope, number: int, group: tuple[f.Statement, ...]) -> Phase:
    everything = tuple(statements(group))
    exprs = [expr for statement in everything for expr in expressions(statement)]
    parts = [part for expr in exprs for part in f.walk(expr)]
    reduces = [part for expr in exprs for part in f.reductions(expr) if part.domain.edges]
    return Phase(
        number=number,
        statements=group,
        domains=tuple(dict.fromkeys(reduce.domain.kind for reduce in reduces)),
        neighbour=frozenset(name for expr in exprs for name in scope.neighbour(expr)),
        own=frozenset(name for expr in exprs for name in scope.own(expr)),
        distant=frozenset(part.name for part in parts
                          if isinstance(part, f.Field) and isinstance(part.of, f.Expr) and part.name in scope.written),
        gathered=frozenset(s.name for s in everything if isinstance(s, f.Gather)),
        used=frozenset(part.name for part in parts if isinstance(part, f.Accumulator)),
        writes=frozenset(name for statement in group for name in _written(statement)),
        late=next((late for late in (_late(scope, s) for s in group) if late is not None), None),
    )


def _from_neighbours(scope: LoopScope, statement: f.Statement) -> frozenset[str]:
    """Return the fields that the loop writes, and that reductions in a statement (or in its block) read from
    neighbours.
    """
    exprs = (expr for s in statements((statement,)) for expr in expressions(s))
    return frozenset(name for expr in exprs for name in scope.neighbour(expr))


def _of_edges(statement: f.Statement) -> frozenset[str]:
    """Return the edge states that reductions in a statement (or in its block) read."""
    return frozenset(name for s in statements((statement,)) if isinstance(s, f.Gather) for name in s.states)


def _written(statement: f.Statement) -> frozenset[str]:
    applied = {name for s in statements((statement,)) if isinstance(s, f.Apply) for name in s.fields}
    applied |= {s.keeps for s in statements((statement,)) if isinstance(s, f.Gather) and s.keeps}
    return frozenset(applied | {s.name for s in statements((statement,)) if isinstance(s, f.InitField)})


def _late(scope: LoopScope, statement: f.Statement) -> f.Statement | None:
    """Return the first gather of a block that reads, from neighbours, a field that an earlier statement of the block
    writes.
    """
    if not isinstance(statement, f.Where):
        return None
    written: frozenset[str] = frozenset()
    for item in statement.body:
        if _from_neighbours(scope, item) & written:
            return item
        inner = _late(scope, item)
        if inner is not None:
            return inner
        written |= _written(item)
    return None
