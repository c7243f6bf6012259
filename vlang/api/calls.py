"""Data that a program passes to its runs: the compilation stages of the program at one precision, and a call with bound
arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vlang.check.tables.checked import Checked
from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.overflow_watch import Risky, watch_of
from vlang.records import dataclass

if TYPE_CHECKING:
    from vlang.options import Options
    from vlang.runtime.engine.machine import Start
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Watch

__all__ = ["Call", "Stages"]


@dataclass(frozen=True)
class Stages:
    """The compilation stages of a program text at one precision: the checked tree, the IR and the facts.

    Attributes:
        checked: the tree with the checker's tables.
        program: the IR.
        facts: the facts of its loops.
        derived: the fields of loops that rule D rewrote into delta form.
        watches: the values to test and the operations that may overflow, keyed by the graph size and the inputs of a
            call.
    """

    checked: Checked
    program: f.Program
    facts: Facts
    derived: frozenset[str] = frozenset()
    watches: dict[tuple[Any, ...], tuple[Watch, Risky]] = field(default_factory=dict, repr=False)

    @cached_property
    def watch(self) -> Watch:
        """The values that may become infinite for some inputs of a call."""
        return watch_of(self.program)

    @cached_property
    def falling(self) -> frozenset[str]:
        """The fields that only decrease in the loops of the program."""
        return frozenset(name for loop in self.facts.loops.values()
                         for name, direction in loop.directions.items() if direction == "down")

    @cached_property
    def sent(self) -> Mapping[int, Mapping[str, str]]:
        """For each loop in delta form, by loop number: the slot of the sent values of each field, by field name."""
        return {number: {name: f"sent:{name}" for name in loop.applied}
                for number, loop in enumerate(self.facts.loops.values()) if loop.kind == "delta"}


@dataclass(frozen=True)
class Call:
    """A call with bound arguments.

    Attributes:
        graph: the graph of the run.
        options: the options of the run.
        precision: 32 or 64, the bits of `int` and `float`.
        parameters: the parameters as the caller passed them.
        scalars: the parameters in the form that the engine takes.
        fields: the vertex fields that the caller passed, in stored form.
        old: the fields of an earlier result that replace initializers, in addition to `fields`.
        starts: the states from which loops continue, by the number of the loop.
        names: the names of categories, in increasing order; a category is stored as the position of its name.
        notes: warnings of binding.
        constants: the values of the program's constants that do not have their defaults.
    """

    graph: Graph
    options: Options
    precision: int
    parameters: Mapping[str, Any]
    scalars: Mapping[str, Any]
    fields: Mapping[str, Any]
    old: Mapping[str, Any] = field(default_factory=dict)
    starts: Mapping[int, Start] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)
