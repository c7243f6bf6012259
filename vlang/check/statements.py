"""Checks statements: the places where each kind is allowed, and the fields that it may write (language.md sections 5
and 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from vlang.check.advice.computed import computed_gather, declared_above
from vlang.check.advice.defaults import with_own_default
from vlang.check.applies import apply
from vlang.check.declarations import Declarations
from vlang.check.expressions import Expressions
from vlang.check.foreign.foreign_calls import foreign_messages, foreign_vertices
from vlang.check.foreign.foreign_names import NEIGHBOURS
from vlang.check.foreign.more_calls import message_of_other_language
from vlang.check.graphlevel import graph_level
from vlang.check.names import SPOKEN, applied_symbol
from vlang.check.reduce import at_vertices, over_edges, reduced, word_for
from vlang.check.reductions.grouped import of_group, of_pair
from vlang.check.reductions.pointing import refused
from vlang.check.tables.scope import Loop, Scope, Sight
from vlang.check.tables.typing import a, spoken
from vlang.records import dataclass
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import INTEGER, VERTEX, VERTICES, Scalar, Tuple

__all__ = ["Around", "Statements"]

_LOOPS = (t.Repeat, t.Sweep, t.ForVertices, t.ForRange)


@dataclass(frozen=True)
class Around:
    """The context of a statement.

    Attributes:
        scope: the visible names.
        block: the node that owns the block; None at the top level.
        loop: the innermost `repeat`; None if there is none.
        last: whether the statement is the last statement of its block.
        sweep: the innermost `sweep`; None if there is none.
        where: the innermost `where`; None if there is none.
    """

    scope: Scope
    block: t.Node | None = None
    loop: Loop | None = None
    last: bool = False
    sweep: t.Sweep | None = None
    where: t.Where | None = None

    def sight(self, place: str, item: t.Node) -> Sight:
        """The context of an expression in a statement of this block."""
        return Sight(self.scope, place, item, self.loop)


class Statements:
    """Checks the statements of a file, one after the other."""

    def __init__(self, x: Expressions, declarations: Declarations) -> None:
        self.x, self.run, self.declarations = x, x.run, declarations
        self._by_class: dict[type, Callable[[Any, Around], None]] = {
            t.VertexField: self._vertex_field, t.EdgeField: self._edge_field, t.EdgeState: self._edge_state,
            t.GlobalValue: self._global,
            t.Function: self._announced, t.Reduction: self._announced, t.Contract: self._contract,
            t.Gather: self._gather, t.Apply: self._apply, t.Let: self._let, t.Activate: self._activate,
            t.Where: self._where, t.Repeat: self._repeat, t.Sweep: self._sweep,
            t.ForVertices: self._for_vertices, t.ForRange: self._for_range,
        }

    def items(self, items: Iterable[t.Statement], around: Around) -> None:
        """Check the statements of a block, in order."""
        listed = list(items)
        for index, item in enumerate(listed):
            self._by_class[type(item)](item, replace(around, last=index == len(listed) - 1))

    def _block(self, block: t.Block, owner: t.Statement, around: Around, *, loop: Loop | None = None,
               sweep: t.Sweep | None = None, scope: Scope | None = None) -> None:
        inner = scope if scope is not None else Scope(around.scope)
        where = owner if isinstance(owner, t.Where) else around.where
        self.items(block.items, Around(inner, owner, loop or around.loop, sweep=sweep or around.sweep, where=where))
        inner.close()

    # -------------------------------------------------------------- declarations

    def _top_only(self, item: t.Statement, around: Around, word: str) -> bool:
        if around.block is None:
            return True
        write: str | tuple[()] = ()
        if isinstance(item, t.GlobalValue):
            before, at = len(self.run.problems), around.sight("let", item)
            if graph_level(self.x, item.value, self.x.value(item.value, at), at, "`let` names one value"):
                write = f"let {item.name} = {rewrite.one_line(self.run.text(item.value))}"
            del self.run.problems[before:]
        self.run.report(Code.MISPLACED_DECLARATION, f"`{word}` belongs at the top level of the program", item.span,
                        "inside a block", write=write,
                        help="an output is computed once, after the loop; inside, `let` names a value:"
                        if write else ())
        return False

    def _vertex_field(self, item: t.VertexField, around: Around) -> None:
        if isinstance(around.block, (t.Where, t.Sweep)):
            word = "where" if isinstance(around.block, t.Where) else "sweep"
            lines, place = declared_above(self.run, around.block, item, self.run.text(item.type))
            self.run.report(Code.MISPLACED_DECLARATION, f"a field cannot be declared in `{word}`", item.span,
                            "its block runs for some vertices only",
                            help=f"declare it before, for all vertices{':' if lines else ''}", write=lines,
                            replaces=place)
        self.declarations.vertex_field(item, around.scope, around.loop, around.block is not None)

    def _edge_field(self, item: t.EdgeField, around: Around) -> None:
        self._top_only(item, around, "edge")
        self.declarations.edge_field(item, around.scope)

    def _edge_state(self, item: t.EdgeState, around: Around) -> None:
        self._top_only(item, around, "edge state")
        self.declarations.edge_state(item, around.scope)

    def _global(self, item: t.GlobalValue, around: Around) -> None:
        if not self._top_only(item, around, "global"):
            return
        self.declarations.global_value(item, around.scope)

    def _announced(self, item: t.Function | t.Reduction, around: Around) -> None:
        self._top_only(item, around, "fn" if isinstance(item, t.Function) else "reduction")

    def _contract(self, item: t.Contract, around: Around) -> None:
        self.declarations.contract(item, around.scope)

    # --------------------------------------------------------- simple statements

    def _gather(self, item: t.Gather, around: Around) -> None:
        at = around.sight("gather", item)
        value = item.value
        type_ = None
        if isinstance(value, t.Reduce) and refused(self.run, value, at):
            pass
        elif isinstance(value, t.Reduce) and at_vertices(value) and value.domain.kind not in ("group", "common"):
            result = reduced(self.x, value, at).type
            if result is not None:
                self.run.types[value] = type_ = result
        else:
            self._no_gather(item, at)
        if not self._over_a_field(item, around):
            self.run.declare(around.scope, item, "accumulator", item.name, item.name_span, type_)

    def _over_a_field(self, item: t.Gather, around: Around) -> bool:
        """Return whether a `gather` has the name of a vertex field. Reports V102 for such a name."""
        run, field = self.run, around.scope.find(item.name)
        if field is None or field.kind != "field" or not isinstance(item.value, t.Reduce):
            return False
        word = run.fresh(word_for(item.value.name))
        run.report(Code.NAME_TAKEN, f"`{item.name}` is a vertex field, and a `gather` names a new value",
                   item.name_span, notes=run.note(field, "declared here"),
                   help="an `apply` writes the new value to the field:",
                   write=(rewrite.edited(run.file.text, item.span, [(item.name_span, word)]),
                          f"apply {item.name} = {word}"), replaces=item.span)
        return True

    def _start_value(self, item: t.Gather, at: Sight) -> str:
        """A vertex field with the value of a `gather` at top level; "" if the value is wrong there."""
        run, before = self.run, len(self.run.problems)
        if at.scope is not run.root:
            return ""
        type_ = self.x.value(item.value, replace(at, place="init")).type
        right = type_ is not None and len(run.problems) == before
        del run.problems[before:]
        text = rewrite.one_line(run.text(item.value))
        return f"vertex {item.name}: {spoken(type_)} = {text}" if right and type_ is not None else ""

    def _no_gather(self, item: t.Gather, at: Sight) -> None:
        """Report a `gather` with a value other than one reduction over edges (V115)."""
        run, text = self.run, self.run.file.text
        inner = [n for n in rewrite.inside(item.value) if isinstance(n, t.Reduce)]
        edges = [n for n in inner if over_edges(n.domain)]
        group = item.value.domain.set_name if isinstance(item.value, t.Reduce) else None
        if isinstance(item.value, t.Reduce) and group in NEIGHBOURS and at.scope.find(group or "") is None:
            domain = item.value.domain
            lists = group == "edges"
            run.report(Code.UNKNOWN_NAME, "neighbours are written with an arrow", domain.span, "not a list of vertices",
                       help="an edge field stands for itself: `sum(weight for u -> self)`" if lists else
                       "in-edges: `u -> self`; out-edges: `self -> u`; both:",
                       write=() if lists else f"{domain.name} -- self")
        elif isinstance(item.value, t.Reduce) and item.value.domain.kind == "group":
            of_group(self.x, item.value, at)
        elif isinstance(item.value, t.Reduce) and item.value.domain.kind == "common":
            of_pair(self.x, item.value, at)
        elif isinstance(item.value, t.Reduce):
            write = rewrite.edited(text, item.span, [(_word(item.span, "gather"), "let")])
            run.report(Code.BAD_GATHER, "`gather` reduces over edges, and there are none here", item.value.domain.span,
                       "all vertices", help="one value for the whole graph is named with `let`:", write=write,
                       replaces=item.span)
        elif edges:
            inner_ones = {part for one in edges for part in rewrite.inside(one) if part is not one}
            self._computing(item, at, [one for one in edges if one not in inner_ones])
        else:
            new = message_of_other_language(run, item.value)
            said = f"there is no `{item.value.name}`: " if new and isinstance(item.value, t.Call) else ""
            run.report(Code.BAD_GATHER, f"{said}`gather` needs a reduction over edges", item.value.span,
                       "no edges here", help="a reduction combines what the neighbours contribute:" if new else
                       f"for example `gather {item.name} = sum(u.x for u -> self)`; own values need no gather",
                       write=new or (), replaces=item.value.span if new else None)

    def _computing(self, item: t.Gather, at: Sight, edges: list[t.Reduce]) -> None:
        """Report a `gather` that computes with reductions over edges (V115)."""
        run, names = self.run, list[str]()
        meant = with_own_default(run, item.value)
        if meant is not None:
            run.report(Code.BAD_GATHER, "the value of a `gather` is one reduction and nothing else", item.value.span,
                       f"more than `{edges[0].name}(...)`", help="a reduction has its own value for no edges:",
                       write=meant[1], replaces=item.value.span)
            return
        for one in edges:
            word = word_for(one.name)
            wishes = (run.fresh(wish) for wish in (word, f"{word}_{len(names) + 1}"))
            names.append(next(wish for wish in wishes if wish not in names))
        field = self._start_value(item, at)
        proposal = None if field else computed_gather(run, item, edges, names)
        write, replaces = ((field,), item.span) if field else proposal or ((), item.span)
        run.report(Code.BAD_GATHER, "the value of a `gather` is one reduction and nothing else", item.value.span,
                   f"more than `{edges[0].name}(...)`",
                   help="a vertex field computes with it:" if field else
                   "gather the reduction alone, and compute with it where it is applied" + (":" if write else ""),
                   write=write, replaces=replaces if write else None)

    def _apply(self, item: t.Apply, around: Around) -> None:
        apply(self.x, item, around.sight("apply", item), around.sweep, around.where)

    def _let(self, item: t.Let, around: Around) -> None:
        at = around.sight("let", item)
        value = self.x.value(item.value, at)
        good = graph_level(self.x, item.value, value, at, "`let` names one value for the whole graph")
        type_ = self.x.concrete(value.type) if good else None
        if type_ is not None and item.parts and not (isinstance(type_, Tuple) and len(type_.items) == item.parts):
            self.run.report(Code.WRONG_TYPE, f"`let ({item.name})` needs a tuple of {item.parts} values",
                            item.value.span, f"this is {a(type_)}")
            type_ = None
        elif type_ is not None and not isinstance(type_, (Scalar, Tuple)):
            self.run.report(Code.WRONG_TYPE, f"`{item.name}` cannot be {a(type_)}", item.value.span,
                            "a `let` is one scalar, or a tuple of scalars")
            type_ = None
        self.run.declare(around.scope, item, "let", item.name, item.name_span, type_)

    def _activate(self, item: t.Activate, around: Around) -> None:
        self.x.condition(item.cond, around.sight("activate", item), "`activate when`")
        block = around.block
        if isinstance(block, t.Repeat) and around.last:
            return
        if isinstance(block, t.Repeat):
            others = [i for i in block.block.items if isinstance(i, t.Activate)]
            title = "`activate when` may occur once in a loop" if len(others) > 1 else \
                "`activate when` is the last statement of its loop"
            self.run.report(Code.MISPLACED_ACTIVATE, title, item.span,
                            help="join the conditions with `or`" if len(others) > 1 else
                            "move it to the end of the block")
        else:
            self.run.report(Code.MISPLACED_ACTIVATE, "`activate when` belongs directly to the block of a `repeat`",
                            item.span, "no `repeat` owns this block")

    # ---------------------------------------------------------------- compound

    def _where(self, item: t.Where, around: Around) -> None:
        self.x.condition(item.cond, around.sight("where", item), "`where`")
        self._block(item.block, item, around)

    def _repeat(self, item: t.Repeat, around: Around) -> None:
        self._in_sweep(item, around)
        if item.limit is not None:
            self._count(item.limit.count, around.sight("limit", item), "the number of supersteps")
        written = frozenset(n for i in rewrite.inside(item.block) if isinstance(i, t.Target) for n in i.names)
        loop = Loop(item, around.loop, written)
        self._block(item.block, item, around, loop=loop)
        if item.until is not None:
            self._until(item.until, replace(around.sight("until", item), loop=loop))
        if around.loop is not None:
            around.loop.applied.update(loop.applied)

    def _until(self, node: t.Expr, at: Sight) -> None:
        value = self.x.condition(node, at, "`until`")
        graph_level(self.x, node, value, at, "`until` decides for the whole graph at once")

    def _count(self, node: t.Expr, at: Sight, what: str) -> None:
        value = self.x.value(node, at)
        good = graph_level(self.x, node, value, at, f"{what} is one number for the whole graph")
        if good and value.type is not None and not (isinstance(value.type, Scalar) and value.type.integral):
            self.run.report(Code.WRONG_TYPE, f"{what} is an integer", node.span, f"this is {a(value.type)}")

    def _sweep(self, item: t.Sweep, around: Around) -> None:
        self._in_sweep(item, around)
        symbol = applied_symbol(self.run, item.field, item.field_span, item, around.sight("where", item))
        if symbol is not None and symbol.kind != "field":
            self.run.report(Code.WRONG_TYPE, f"`sweep` needs a vertex field; `{item.field}` is {SPOKEN[symbol.kind]}",
                            item.field_span)
        elif symbol is not None and symbol.type is not None and not (
                isinstance(symbol.type, Scalar) and symbol.type.integral):
            self.run.report(Code.WRONG_TYPE, "`sweep` goes through the values of an integer field", item.field_span,
                            f"this is {a(symbol.type)}", notes=self.run.note(symbol, "declared here"))
        self._block(item.block, item, around, sweep=item)

    def _in_sweep(self, item: t.Statement, around: Around) -> None:
        if around.sweep is not None:
            word = {t.Repeat: "repeat", t.Sweep: "sweep"}.get(type(item), "for")
            head = t.Span(item.span.start, item.span.start + len(word), item.span.line, item.span.column)
            self.run.report(Code.SWEEP_ORDER, "a `sweep` holds no loops", head, "a loop",
                            notes=((_word(around.sweep.span, "sweep"), "in this sweep"),))

    def _for_vertices(self, item: t.ForVertices, around: Around) -> None:
        self._in_sweep(item, around)
        at = around.sight("let", item)
        known = True
        if around.scope.find(item.set_name) is None and (
                foreign_messages(self.run, item) or foreign_vertices(self.run, item)):
            known = False
        elif item.set_name != "vertices":
            symbol = applied_symbol(self.run, item.set_name, item.set_span, item, at)
            if symbol is not None and symbol.type is not None and symbol.type != VERTICES:
                number = isinstance(symbol.type, Scalar) and symbol.type.integral and symbol.kind != "field"
                head = t.Span(item.span.start, item.set_span.end, item.span.line, item.span.column)
                self.run.report(Code.WRONG_TYPE, f"`{item.set_name}` is no list of vertices", item.set_span,
                                f"this is {SPOKEN[symbol.kind]}", notes=self.run.note(symbol, "declared here"),
                                help="a loop over numbers has both ends:" if number else (),
                                write=f"for {item.name} from 1 to {item.set_name}" if number else (),
                                replaces=head if number else None)
            known = symbol is not None
        inner = Scope(around.scope)
        self.run.declare(inner, item, "loop", item.name, item.name_span, VERTEX if known else None)
        self._block(item.block, item, around, scope=inner)

    def _for_range(self, item: t.ForRange, around: Around) -> None:
        self._in_sweep(item, around)
        at = around.sight("limit", item)
        self._count(item.low, at, "the first value")
        self._count(item.high, at, "the last value")
        inner = Scope(around.scope)
        self.run.declare(inner, item, "loop", item.name, item.name_span, INTEGER)
        if item.until is not None:
            self._until(item.until, replace(around.sight("until", item), scope=inner))
        body = Scope(inner)
        self._block(item.block, item, around, scope=body)


def _word(span: t.Span, word: str) -> t.Span:
    """The first word of a statement."""
    return t.Span(span.start, span.start + len(word), span.line, span.column)
