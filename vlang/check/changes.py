"""Checks `old(f)`, `changed(f)` and `change(f)`: earlier values of fields (language.md sections 4.3, 4.5 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.check import names
from vlang.check.tables.checked import Symbol
from vlang.check.tables.scope import Sight, Value
from vlang.check.tables.typing import a, as_read, numeric
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["change", "changed", "old"]


def old(x: Expressions, node: t.Call, at: Sight) -> Value:
    """The type and level of `old(f)`, the field at the start of the superstep."""
    return _in_time(x, node, at)[1]


def changed(x: Expressions, node: t.Call, at: Sight) -> Value:
    """The type and level of `changed(f)`: whether the field differs from its old value.

    Warns if no earlier statement of the superstep writes the field, because `changed(f)` is then false.
    """
    symbol, value = _in_time(x, node, at)
    loop = at.loop
    if symbol is not None and loop is not None and at.place in ("gather", "apply", "where", "let") and \
            symbol not in loop.applied and not _repeats(loop.node):
        name = symbol.name
        x.run.report(Code.UNCHANGED, f"`{rewrite.short(x.run.text(node))}` is always false here", node.span,
                     f"no statement before this one writes `{name}` in this superstep",
                     help=f"to test what changed in the superstep before, keep it in a field: `apply fresh = "
                          f"changed({name})` after `{name}` is applied")
    return Value(None if value.type is None else BOOL, value.level, value.cause)


def change(x: Expressions, node: t.Call, at: Sight) -> Value:
    """Return the type and level of `change(f)`, the unsent change of a field.

    `change(f)` is allowed in gathers (the change of a neighbour), in `activate when` and in `until`.
    """
    symbol, value = _in_time(x, node, at)
    if symbol is None or value.type is None:
        return value
    run, arg, loop = x.run, node.args[0], at.loop
    owner = run.symbols.get(arg.value) if isinstance(arg, t.Member) else None
    of_neighbour = at.grouping is None and at.pair is None and owner is not None and owner.kind == "neighbour"
    of_member = owner is not None and owner.kind == "member"
    # In `until`, the change of "this vertex" has the wrong level. The caller reports the level, and proposes a
    # reduction.
    judged = {"gather": of_neighbour, "activate": at.inside is None, "until": of_member or at.inside is None}
    right = judged.get(at.place, False)
    if not right:
        label = "its own change, inside a gather" if at.place == "gather" else f"inside `{at.place}`"
        run.report(Code.MISPLACED_CHANGE,
                   "`change` can be read in a gather (of a neighbour), in `activate when`, and in `until`",
                   node.span, label, help="the change within this superstep is `f - old(f)`")
    elif not numeric(value.type):
        run.report(Code.WRONG_TYPE, f"`change` needs a number; `{symbol.name}` is {a(value.type)}", node.span,
                   write=f"changed({run.text(arg)})")
    elif loop is not None and symbol.name not in loop.will_apply:
        run.report(Code.MISPLACED_CHANGE, f"`{symbol.name}` is never applied in this loop: it has no change", node.span)
    elif at.place == "gather" and loop is not None and symbol in loop.applied:
        before = loop.applied[symbol]
        run.report(Code.MISPLACED_CHANGE,
                   f"`{symbol.name}` has been applied already: its receivers would count this change twice",
                   node.span, "gathered after the apply", notes=((before.span, "applied here"),),
                   help="gather changes before the field is applied")
    else:
        return value
    return Value(None)


def _repeats(loop: t.Repeat) -> bool:
    """Return whether a loop contains another loop, so that statements may also run after later statements of the text.
    """
    return any(isinstance(node, (t.Repeat, t.Sweep, t.ForVertices, t.ForRange)) for node in rewrite.inside(loop.block))


def _in_time(x: Expressions, node: t.Call, at: Sight) -> tuple[Symbol | None, Value]:
    """The field that the argument names, with its type and level.

    Reports an argument that is not a field or never changes; the field is then None.
    """
    run, nothing = x.run, (None, Value(None))
    if len(node.args) != 1:
        run.report(Code.WRONG_TYPE, f"`{node.name}` takes 1 argument, not {len(node.args)}", node.span)
        return nothing
    arg = node.args[0]
    if not isinstance(arg, (t.Name, t.Member)):
        value = x.value(arg, at)
        if value.type is not None:
            run.report(Code.MISPLACED_CHANGE, f"`{node.name}` takes the name of a field", arg.span,
                       "an expression has no past")
        return nothing
    symbol = at.scope.find(arg.name) if isinstance(arg, t.Name) else None
    if symbol is not None and symbol.kind == "accumulator":
        run.symbols[arg] = symbol
        run.report(Code.MISPLACED_ACCUMULATOR, f"`{arg.name}` is an accumulator: it has no past", arg.span,
                   notes=run.note(symbol, "gathered here"))
        return nothing
    if symbol is not None and symbol.kind != "field":
        run.report(Code.MISPLACED_CHANGE, f"`{arg.name}` is {names.SPOKEN[symbol.kind]}: only vertex fields change",
                   arg.span)
        return nothing
    value = x.value(arg, at)
    found = run.symbols.get(arg)
    if value.type is None or found is None:
        return nothing
    if found.kind != "field":
        run.report(Code.MISPLACED_CHANGE, f"`{rewrite.short(run.text(arg))}` never changes", arg.span)
        return nothing
    return (found, Value(as_read(found.type), value.level, value.cause)) if _moving(x, node, found, at) else nothing


def _moving(x: Expressions, node: t.Call, symbol: Symbol, at: Sight) -> bool:
    """Return whether the field has an old value in this place. Reports the reason if the field has none."""
    if at.loop is None:
        x.run.report(Code.MISPLACED_CHANGE, f"`{node.name}` needs a superstep, and there is no `repeat` here",
                     node.span)
    elif symbol in at.loop.local:
        x.run.report(Code.MISPLACED_CHANGE, f"`{symbol.name}` begins anew in every superstep", node.span,
                     "it has no past", notes=x.run.note(symbol, "declared in the block of the loop"))
    elif at.place in ("limit", "init", "require", "global"):
        x.run.report(Code.MISPLACED_CHANGE, f"`{node.name}` cannot be read here", node.span)
    else:
        return True
    return False
