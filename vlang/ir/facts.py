"""Facts: the verdict of each rule for each loop, granted or refused, with reasons (language.md sections 9 to 11).

Facts are in a separate table with loops as keys; statements and expressions contain no facts.
"""

from __future__ import annotations

from collections.abc import Mapping

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import Known
from vlang.ir.forms.normal import Write
from vlang.ir.forms.phases import Phase
from vlang.ir.forms.visible import loops_of
from vlang.ir.rules.any_order import any_order, priority, push
from vlang.ir.rules.assign import single_assignment
from vlang.ir.rules.context import Context, Verdict, context_of
from vlang.ir.rules.copied import copied
from vlang.ir.rules.derive import derive
from vlang.ir.rules.exits import absorbing, done, silencing, strict, uniform_frontier
from vlang.ir.rules.growth import incremental
from vlang.ir.rules.pass_rules import buffers, fuse, messages, replicate
from vlang.ir.rules.skip import PhaseSkip, phase_skips, skip
from vlang.records import dataclass

__all__ = ["EarlyExit", "Facts", "GatherFacts", "LoopFacts", "Verdict", "analyse"]


@dataclass(frozen=True)
class GatherFacts:
    """Facts about one reduction over edges: rules R and Z, and its messages.

    Attributes:
        name: The name of the gather, or of the field whose initializer contains the reduction.
        domain: "in", "out", "both" or "pointing".
        replicate: The verdict of rule R.
        strict: The verdict of rule Z.
        messages: Subexpressions that are worth a computation once per sender, outermost first.
        silencing: Fields of a neighbour. If the value of a field in `silencing` is the identity of the reduction, the
            neighbour contributes nothing (rule Z).
    """

    name: str
    domain: str
    replicate: Verdict
    strict: Verdict
    messages: tuple[f.Expr, ...]
    silencing: tuple[str, ...]


@dataclass(frozen=True)
class EarlyExit:
    """Whether and how the gathers of a loop may end early (rule X).

    Attributes:
        gathers: the gathers that stop at the absorbing element of their reduction.
        done: pairs of a field and a value (true or false). A vertex with this value need not gather.
        frontier: the verdict of rule X2.
    """

    gathers: tuple[str, ...]
    done: Mapping[str, bool]
    frontier: Verdict


@dataclass(frozen=True, eq=False)
class LoopFacts:
    """All facts about one `repeat`.

    Attributes:
        loop: The loop.
        kind: "fixpoint", "delta", "tolerance" or "counted".
        kind_reason: The reason why the loop is of this kind.
        default_activation: Whether the loop uses the default activation.
        default_reason: Why the loop uses the default activation, or why not.
        applied: The fields that the loop writes and that count for activity.
        directions: How each written field moves: "up", "down" or None.
        writes: The loop's writes, with their normal forms.
        phases: The phases of a superstep.
        domains: The domains of the gathers: "in", "out", "both", "pointing".
        reads_iteration: Whether a superstep depends on its number.
        order: The verdict of rule A or A'.
        push: The verdict of rule P.
        notify_pull: The verdict of rule N for the whole loop.
        skips: Rule N for each phase.
        early_exit: Rule X.
        incremental: The verdict of rule I.
        priority: The verdict of rule O.
        derive: The verdict of rule D.
        single_assignment: The verdict of rule S.
        copied: The verdict of rule K.
        fuses: The verdict of rule F for each phase.
        buffers: The verdict of rule B for each written field.
        gathers: Rules R and Z for each gather.
    """

    loop: f.Repeat
    kind: str
    kind_reason: str
    default_activation: bool
    default_reason: str
    applied: tuple[str, ...]
    directions: Mapping[str, str | None]
    writes: tuple[Write, ...]
    phases: tuple[Phase, ...]
    domains: tuple[str, ...]
    reads_iteration: bool
    order: Verdict
    push: Verdict
    notify_pull: Verdict
    skips: tuple[PhaseSkip, ...]
    early_exit: EarlyExit
    incremental: Verdict
    priority: Verdict
    derive: Verdict
    single_assignment: Verdict
    copied: Verdict
    fuses: tuple[Verdict, ...]
    buffers: Mapping[str, Verdict]
    gathers: tuple[GatherFacts, ...]

    @property
    def any_order(self) -> bool:
        """Whether rule A or A' is granted."""
        return self.order.granted

    @property
    def any_order_reason(self) -> str:
        """The reason why rule A or A' is granted or refused."""
        return self.order.reason

    @property
    def skip(self) -> bool:
        """Whether rule N is granted for every phase."""
        return self.notify_pull.granted

    @property
    def skip_reason(self) -> str:
        """The reason why rule N is granted or refused."""
        return self.notify_pull.reason

    @property
    def own_notify(self) -> frozenset[str]:
        """The fields for which rule N has the mark "+self": if such a field changes at a vertex, the vertex must run
        again.
        """
        return frozenset(name for one in self.skips for name in one.own)

    @property
    def notifying(self) -> frozenset[str]:
        """The fields that notify under rule N: if such a field changes at a vertex, the vertex must notify its
        neighbours.
        """
        return frozenset(name for one in self.skips for name in one.notifying)


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts of a program: `loops` has the facts of each loop, and `initial` the facts of each reduction outside
    blocks.
    """

    program: f.Program
    loops: Mapping[f.Repeat, LoopFacts]
    initial: tuple[GatherFacts, ...]

    def loop(self, repeat: f.Repeat) -> LoopFacts:
        """The facts of one loop. Raises KeyError for a loop of another program."""
        return self.loops[repeat]

    def messages(self, gather: f.Gather) -> tuple[f.Expr, ...]:
        """The subexpressions of a gather that are worth computing once per sender, outermost first."""
        return messages(gather.reduce)


def analyse(program: f.Program) -> Facts:
    """The facts of every loop of a program."""
    known = Known(program, {})
    initial = tuple(
        _gather(statement.name, reduce, known)
        for statement in program.body
        if isinstance(statement, (f.InitField, f.Gather))
        for reduce in f.reductions(statement.value if isinstance(statement, f.InitField) else statement.reduce)
        if reduce.domain.edges
    )
    return Facts(program, {loop: _facts(context_of(program, loop)) for loop in loops_of(program)}, initial)


def _facts(ctx: Context) -> LoopFacts:
    order, skips, scope = any_order(ctx), phase_skips(ctx), ctx.scope
    return LoopFacts(
        loop=scope.loop,
        kind=ctx.kind,
        kind_reason=ctx.kind_reason,
        default_activation=ctx.default,
        default_reason=ctx.default_reason,
        applied=tuple(sorted(scope.written - scope.local)),
        directions=ctx.directions,
        writes=ctx.writes,
        phases=ctx.phases,
        domains=tuple(dict.fromkeys(domain for phase in ctx.phases for domain in phase.domains)),
        reads_iteration=scope.reads_iteration,
        order=order,
        push=push(ctx),
        notify_pull=skip(ctx, skips),
        skips=skips,
        early_exit=EarlyExit(absorbing(ctx), done(ctx), uniform_frontier(ctx)),
        incremental=incremental(ctx, order),
        priority=priority(ctx, order),
        derive=derive(ctx),
        single_assignment=single_assignment(ctx),
        copied=copied(ctx),
        fuses=tuple(fuse(ctx, phase, order) for phase in ctx.phases),
        buffers=buffers(ctx, order),
        gathers=tuple(_gather(g.name, g.reduce, ctx.known) for g in scope.gathers.values()),
    )


def _gather(name: str, reduce: f.Reduce, known: Known) -> GatherFacts:
    return GatherFacts(name, reduce.domain.kind, replicate(reduce), strict(reduce, known), messages(reduce),
                       silencing(reduce, known))
