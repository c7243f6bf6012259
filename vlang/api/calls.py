"""What passes between a program and its runs: its stages at one precision, and a call whose arguments are bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vlang.check.tables.checked import Checked
from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f

if TYPE_CHECKING:
    from vlang.options import Options
    from vlang.runtime.engine.machine import Start
    from vlang.runtime.graph.graph import Graph

__all__ = ["Call", "Stages"]


@dataclass(frozen=True)
class Stages:
    """One text at one precision, through every stage short of code. derived: fields whose loops rule D rewrote."""

    checked: Checked
    program: f.Program
    facts: Facts
    derived: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Call:
    """A call, bound. parameters: as the caller gave them; scalars: as a run takes them. fields: arrays that the caller
    gave, as stored. old: others that take the place of initializers. starts: by number, loops that go on, and how."""

    graph: Graph
    options: Options
    precision: int
    parameters: Mapping[str, Any]
    scalars: Mapping[str, Any]
    fields: Mapping[str, Any]
    old: Mapping[str, Any] = field(default_factory=dict)
    starts: Mapping[int, Start] = field(default_factory=dict)
