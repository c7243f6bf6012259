"""A program lowered for a graph: its facts, plan, texts and cost as one object. Nothing is compiled or run yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vlang.api.arguments.bind_options import bind_options, options_by_name
from vlang.api.calls import Stages
from vlang.api.cost import Cost, cost_of
from vlang.api.running.columns import columns_of
from vlang.api.running.memory import need_on
from vlang.api.stage_text import stage_text
from vlang.errors import BindError
from vlang.ir.facts import Facts
from vlang.ir.forms.ranges import USUAL, sizes_of
from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.plan.plan import Plan

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph

__all__ = ["Lowered", "lower_program"]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A program lowered for a graph. Without a graph, the program is lowered for all graphs that have its edge columns.

    Attributes: program, graph, options. Public as `vlang.Lowered`; `Program.lower` returns it.
    """

    program: Program
    graph: Graph | None
    options: Options

    @property
    def stages(self) -> Stages:
        """The checked tree, the IR and the facts."""
        return self.program.stages(self.options.precision)

    @property
    def facts(self) -> Facts:
        """The facts: `loops` has one entry per loop with the rules that are granted or refused, and the reasons."""
        return self.stages.facts

    @property
    def plan(self) -> Plan:
        """The plan that the engine runs on the device: steps, arrays, and the text of the kernels."""
        return self.plan_for("numba" if self.options.device == "cpu" else "cuda")

    def plan_for(self, target: str) -> Plan:
        """The plan for the target "numba" (CPU) or "cuda" (GPU), independently of the option `device`."""
        return self._plan(target, self.graph is not None and self.graph.order is not None)

    def plan_on_ranks(self) -> Plan:
        """The plan that each rank of the option `cluster` runs."""
        return self._plan("numba", True)

    def _plan(self, target: str, renumbered: bool) -> Plan:
        columns = columns_of(self.stages.program, self.graph)
        sizes = USUAL if self.graph is None else sizes_of(self.graph.n, self.graph.m)
        return self.program.plan(columns, precision=self.options.precision, target=target, without=self.options.without,
                                 renumbered=renumbered, sizes=sizes)

    def text(self, stage: str) -> str:
        """A stage as text: "tree", "ir", "facts", "numba", "cuda" or "plan". Raises BindError for another stage."""
        return stage_text(self, stage)

    def cost(self) -> Cost:
        """The memory that a run on the graph needs, and the cost of its supersteps.

        Raises BindError if there is no graph.

        The numbers are computed without a run, from the stored types and from the counts of vertices and edges.
        """
        if self.graph is None:
            raise BindError(f"a cost is that of a run on a graph: write {self.program.name}.lower(graph).cost()")
        need = need_on(self.plan_for("numba"), self.graph.shape(), self.options, self.graph)
        return cost_of(self.plan, self.facts, self.graph, need, self.options.without)


def lower_program(program: Program, graph: Graph | None, device: str, options: Mapping[str, Any]) -> Lowered:
    """The stages of a program for one target (see `Program.lower`).

    Raises BindError for unknown, wrong or conflicting options.

    Args:
        program: the program to lower.
        graph: the graph with the edge columns and size for which the program is lowered; None for graphs with every
            edge column.
        device: "cpu" or "gpu".
        options: the options of a run, by name.
    """
    keywords = {name: value for name, value in options.items() if name != "options"}
    chosen, rest = bind_options(program, keywords, {"device": device, **options_by_name(options.get("options"))})
    program, rest = program.fixed_by(rest)
    if rest:
        raise BindError(f"`{next(iter(rest))}` belongs to {program.name} itself, and is given when it runs; lower "
                        "takes run options")
    if chosen.device == "auto":
        raise BindError("device='auto' is decided when a program runs; lower it for 'cpu' or 'gpu'")
    return Lowered(program.derived(chosen.derive), graph, chosen)
