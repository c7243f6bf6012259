"""Chaos mode: runs a program a second time in a random order that the rules permit, and compares the two results.

The rules are in section 10 of the language definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError, ChaosError
from vlang.ir.facts import Facts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.rules.context import listed
from vlang.ir.rules.pass_rules import replicate
from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.engine.draws import Draws
from vlang.runtime.engine.trace import ChaosReport, Freedom
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.shuffled import ShuffledGraph
from vlang.types import Scalar, Tuple, Type, Vector

if TYPE_CHECKING:
    from vlang.runtime.results.result import Result

__all__ = ["chaos_run"]

_MOST_THREADS = 4
_MOST_PAGES = 64
_LEAST_PAGE = 64  # bytes
_ROUNDING = {16: 1e-2, 32: 1e-4, 64: 1e-9}  # allowed relative difference, by the bits of a float
_FACTOR = 100  # a loop that stops on a tolerance may end this many tolerances away from its limit

Run = Callable[[Graph, Options, Draws], "Result"]


def chaos_run(run: Run, graph: Graph, options: Options, facts: Facts, scalars: Mapping[str, Any],
              plain: Result) -> ChaosReport:
    """Run the program once more, with random choices wherever the facts permit choices, and compare the two results.

    Args:
        run: a function that runs the program on a graph with options, and with random draws for the free choices.
        graph: the graph of the plain run.
        options: the options of the plain run.
        facts: the facts of the program.
        scalars: the parameters in the form that the engine takes.
        plain: the result of the plain run.

    Raises ChaosError with the first value that differs.
    """
    assert options.chaos is not None
    if graph.stored is not None:
        raise BindError("chaos takes the edges of every vertex in random order, and they are on disk: read the graph "
                        "with Graph.read instead of Graph.open")
    draws = Draws(options.chaos)
    threads = options.threads or int(draws.rng.integers(1, _MOST_THREADS + 1))
    page_size = max(_LEAST_PAGE, 4 * graph.m // int(draws.rng.integers(1, _MOST_PAGES + 1)))
    free = replace(options, threads=threads, page_size=page_size, mode="auto", blocking="auto", schedule="auto",
                   asynchronous=False,
                   progress=None, trace=None, chaos=None)
    # The values of edge states are in the order of the rows, so a program with edge states keeps this order.
    other = run(graph if facts.program.states else ShuffledGraph(graph, draws.rng), free, draws)
    freedoms = tuple(one for loop in facts.loops.values() for one in _freedoms(loop, draws))
    report = ChaosReport(options.chaos, threads, page_size, freedoms)
    different = _difference(plain, other, _Bound(_rounds(facts), _slack(facts, scalars, graph.n)))
    if different:
        raise ChaosError(f"{different} with chaos {options.chaos}. {_cause(facts)}\n" +
                         "\n".join(list(report.lines())[1:]))
    return report


def _freedoms(loop: LoopFacts, draws: Draws) -> Iterator[Freedom]:
    line = loop.loop.span.line
    order = "A'" if loop.kind == "delta" else "S" if loop.single_assignment.granted and not loop.any_order else "A"
    exits = loop.early_exit
    rules = {order: loop.any_order or loop.single_assignment.granted, "P": loop.push.granted, "N": loop.skip,
             "X1": bool(exits.gathers or exits.done), "X2": exits.frontier.granted, "O": loop.priority.granted,
             "Z": any(gather.strict.granted for gather in loop.gathers), "K": loop.copied.granted}  # fmt: skip
    for rule, granted in rules.items():
        yield Freedom(line, rule, granted, draws.used[line, rule])


# ------------------------------------------------------------------------------------------------------ comparison


@dataclass(frozen=True)
class _Bound:
    """The allowed difference of floats.

    Attributes:
        rounds: whether results may differ because sums in another order are rounded differently.
        slack: a further allowed absolute difference, for loops that stop on a tolerance.
    """

    rounds: bool
    slack: float

    def wrong(self, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool_]:
        """Compare two arrays of one type; return for each position whether the elements differ by more than the bound.
        """
        same: NDArray[np.bool_] = a == b
        if a.dtype.kind != "f":
            return ~(same | (a != a) & (b != b)) if a.dtype.kind == "M" else ~same  # NaT stands for `inf`
        same |= (a != a) & (b != b)
        if self.rounds or self.slack:
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            sizes = np.abs(wide_a[np.isfinite(wide_a)])
            share = _ROUNDING[8 * a.dtype.itemsize]
            least = share * float(sizes.mean()) if sizes.size else 0.0
            with np.errstate(invalid="ignore"):
                same |= np.abs(wide_a - wide_b) <= least + share * np.abs(wide_a) + self.slack
        return ~same


def _difference(plain: Result, other: Result, bound: _Bound) -> str:
    """The first value that differs, as text; "" if there is none."""
    for name in plain.fields:
        a, b = np.asarray(plain[name]), np.asarray(other[name])
        wrong = bound.wrong(a, b)
        if wrong.any():
            row = int(np.argwhere(wrong)[0, 0])
            return f"`{name}` of vertex {plain.ids[row]} is {a[row]}, and {b[row]}"
    for name, values in plain.edge_states.items():
        wrong = bound.wrong(values, other.edge_states[name])
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            edge = f"{plain.edge_states.sources[at]} -> {plain.edge_states.targets[at]}"
            return f"`{name}` of the edge {edge} is {values[at]}, and {other.edge_states[name][at]}"
    for name, value in plain.globals.items():
        if bound.wrong(np.asarray(value), np.asarray(other.globals[name])).any():
            return f"`{name}` is {value}, and {other.globals[name]}"
    return ""


def _rounds(facts: Facts) -> bool:
    """Return whether sums or declared reductions make a float result depend on the order of contributions."""
    parts = (part for statement in statements(facts.program.body) for expr in expressions(statement)
             for part in f.walk(expr))
    return any("rounding" in replicate(part).marks for part in parts if isinstance(part, f.Reduce)) or \
        any(_floating(reduction.type) for reduction in facts.program.reductions)


def _floating(type_: Type) -> bool:
    if isinstance(type_, Tuple):
        return any(map(_floating, type_.items))
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Scalar) and item.floating


def _slack(facts: Facts, scalars: Mapping[str, Any], n: int) -> float:
    """Return a bound on the distance between a result and the limit of its iteration, for loops that end by tolerances.

    The bound is `_FACTOR` * (a + n * b), where a is the sum of the tolerances in `until`, and b is the sum of the
    tolerances in `activate when`.
    """
    total = 0.0
    for loop in facts.loops.values():
        repeat = loop.loop
        if repeat.until is not None:
            total += sum(_limits(facts.program, repeat.until, scalars))
        if repeat.activate is not None and not loop.default_activation:
            total += n * sum(_limits(facts.program, repeat.activate.cond, scalars))
    return _FACTOR * total


def _limits(program: f.Program, cond: f.Expr, scalars: Mapping[str, Any]) -> Iterator[float]:
    """The absolute values of the float literals and float parameters that are operands of the comparisons in a
    condition.
    """
    defaults = {param.name: param.default for param in program.params}
    for part in f.walk(cond):
        if not isinstance(part, f.Op) or part.op not in ("lt", "le", "gt", "ge"):
            continue
        for side in part.args:
            while isinstance(side, f.Op) and side.op == "cast":  # a 32-bit tolerance is cast if the field has 64 bits
                (side,) = side.args
            expr: f.Expr | None = side
            if isinstance(side, f.GraphValue) and side.kind == "parameter":
                if side.name in scalars and isinstance(side.type, Scalar) and side.type.floating:
                    yield abs(float(scalars[side.name]))
                    continue
                expr = defaults[side.name]
            if isinstance(expr, f.Const) and isinstance(expr.value, float) and np.isfinite(expr.value):
                yield abs(expr.value)


def _cause(facts: Facts) -> str:
    """Return a text with the possible causes of a difference."""
    bug = "this is a bug in vlang: please report it with the program"
    declared = facts.program.reductions
    if declared:
        names = listed(f"`{reduction.name}`" for reduction in declared)
        return (f"On these values the declared reduction {names} may not be commutative and associative with its "
                f"identity; if it is, {bug}")
    if _rounds(facts):
        return f"A value may hang on the last bits of a float sum, which every order rounds otherwise; if not, {bug}"
    return bug[0].upper() + bug[1:]
