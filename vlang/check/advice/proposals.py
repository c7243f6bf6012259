"""Proposals that several rules of the checker share: vertex fields in place of values that end with their block or
cannot change, values of another type, and reductions over the vertices.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vlang.check.advice.computed import declared_above, owner_of
from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.check.tables.typing import numeric, spoken
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, VERTEX, Scalar, Tuple, Type, common, converts

__all__ = ["as_condition", "as_field", "as_type", "before_name", "moved_up", "no_vertex", "operand", "part_named",
           "replaced_operator", "without_domain"]

_PLACES = frozenset({"global", "let", "until", "limit", "apply", "where", "init"})  # may name one value of the graph


def as_field(run: Run, symbol: Symbol, in_loops: bool = False) -> tuple[str | tuple[str, ...], t.Span | None]:
    """Return a vertex field with the name and the first value of `symbol`, and the declaration that the field replaces.

    Args:
        run: the running check.
        symbol: an accumulator, or a value of the whole graph. The text is empty unless the symbol has one number, bool
            or vertex, and is declared at top level.
        in_loops: whether the symbol may also be gathered in the block of a loop, where it becomes a field of
            the block, or in a `where`, where it becomes a field above.
    """
    decl = symbol.decl
    if not isinstance(decl, (t.Gather, t.GlobalValue, t.Let)) or not isinstance(symbol.type, Scalar):
        return "", None
    owner = owner_of(run, decl)
    loop = in_loops and isinstance(decl, t.Gather) and isinstance(owner, (t.Repeat, t.ForRange, t.ForVertices))
    if in_loops and isinstance(decl, t.Gather) and isinstance(owner, t.Where):
        return declared_above(run, owner, decl, spoken(symbol.type))
    if owner is not None and not loop:
        return "", None
    return f"vertex {symbol.name}: {spoken(symbol.type)} = {rewrite.one_line(run.text(decl.value))}", decl.span


def as_condition(run: Run, node: t.Expr, type_: Type) -> str:
    """The text of a condition to propose for a number or a vertex; "" for other values."""
    text = rewrite.one_line(run.text(node))
    simple = isinstance(node, (t.Name, t.Member))
    return f"{text} != {'none' if type_ == VERTEX else '0'}" if simple and (numeric(type_) or type_ == VERTEX) else ""


def no_vertex(node: t.Expr, target: Type) -> bool:
    """Whether an expression is -1 in a place of a vertex, by which other languages mean no vertex."""
    return target == VERTEX and isinstance(node, t.Unary) and node.op == "-" and isinstance(node.value, t.Literal) and \
        node.value.value == 1


def as_type(run: Run, node: t.Expr, target: Type,
            declares: t.VertexField | t.GlobalValue | None) -> tuple[str, str, t.Span]:
    """What to propose for an expression that does not have the type `target`: help in words, the text, and the part
    that it replaces; both texts are "" if nothing is known.

    Args:
        run: the running check.
        node: the expression.
        target: the type that it needs.
        declares: the declaration that names this type; None for other places.
    """
    if no_vertex(node, target):
        return "no vertex is `none`:", "none", node.span
    if isinstance(target, Scalar) and target.kind == "time":
        named = {part.name for part in rewrite.inside(node) if isinstance(part, t.Name)}
        params = [one for one in run.file.params if one.name in named and one.type is not None
                  and run.text(one.type).partition("[")[0] in ("date", "time") and run.text(one.type) != spoken(target)]
        if len(params) == 1:
            given = "" if params[0].default is None else f" = {run.text(params[0].default)}"
            return "times count the same unit:", f"{params[0].name}: {spoken(target)}{given}", params[0].span
    if isinstance(node, t.Binary) and node.op == "/" and isinstance(target, Scalar) and target.integral:
        types = [run.types.get(part) for part in (node.left, node.right)]
        result = common(types[0], types[1]) if types[0] is not None and types[1] is not None else None
        help_ = "`/` gives a float; the division of integers that rounds down is `//`:"
        if isinstance(result, Scalar) and result.integral and converts(result, target):
            return help_, replaced_operator(run, node, "//"), node.span
        if isinstance(result, Scalar) and result.integral and declares is not None and declares.type is not None:
            edits = [(node.span, replaced_operator(run, node, "//")), (declares.type.span, spoken(result))]
            return help_, rewrite.edited(run.file.text, declares.span, edits), declares.span
    return "", "", node.span


def replaced_operator(run: Run, node: t.Binary, new: str) -> str:
    """The text of an operation with another operator, with its brackets as they are."""
    text = run.file.text
    between = text[node.left.span.end : node.right.span.start].replace(node.op, new, 1)
    return rewrite.one_line(text[node.span.start : node.left.span.end] + between +
                            text[node.right.span.start : node.span.end])


def operand(run: Run, node: t.Expr) -> str:
    """The text of an expression as an operand: in brackets if it is an operation itself."""
    text = rewrite.one_line(run.text(node))
    return f"({text})" if isinstance(node, (t.Binary, t.Unary, t.Logical, t.Compare, t.Conditional)) else text


def _over_vertices(run: Run, node: t.Call, at: Sight) -> str:
    """The reduction over all vertices to propose for `sum(x)` and `any(v.x)` where one value of the graph is needed; ""
    in other places.
    """
    rule = REDUCTIONS.get(node.name)
    if at.place not in _PLACES or at.inside is not None or len(node.args) != 1 or \
            rule is None or rule.holistic:
        return ""
    owners: set[str] = set()
    edits: list[tuple[t.Span, str]] = []
    named: set[t.Node] = set()
    v = run.variable(at.scope, "v")
    for part in rewrite.inside(node.args[0]):
        if isinstance(part, t.Member) and isinstance(part.value, t.Name) and at.scope.find(part.value.name) is None:
            owners.add(part.value.name)
            named.add(part.value)
        elif isinstance(part, (t.Self, t.Reduce)):
            return ""
        elif isinstance(part, t.Name) and part not in named:
            symbol = at.scope.find(part.name)
            if part.name.endswith("degree") or (symbol is not None and symbol.kind == "field"):
                edits.append((part.span, f"{{}}.{part.name}"))
            elif symbol is None and part.name not in run.builtins:
                return ""
    if len(owners) > 1 or not (owners or edits):
        return ""
    owner, name = min(owners, default=v), node.name
    body = rewrite.edited(run.file.text, node.args[0].span, [(span, new.format(owner)) for span, new in edits])
    if run.types.get(node.args[0]) == BOOL and name in ("sum", "mean"):
        name, body = ("count", body) if name == "sum" else (name, f"float({body})")
    rest = ", default = 0" if name == "mean" else ""
    return f"{name}({body} for {owner} in vertices{rest})"


def part_named(name: str, type_: Type) -> int:
    """The place of a part of a tuple by its name in other languages, such as `first` or `_2`; -1 for other names."""
    place = {"first": 0, "second": 1, "third": 2, "_1": 0, "_2": 1, "_3": 2, "item1": 0, "item2": 1}.get(name, -1)
    return place if isinstance(type_, Tuple) and place < len(type_.items) else -1


def moved_up(run: Run, item: t.Node, later: Symbol) -> tuple[tuple[str, ...], t.Span | None]:
    """The lines from a statement to a declaration below it, with the declaration first; () if the declaration reads
    what is declared between them, or if one of them is in a block.
    """
    decl, items, text = later.decl, list(run.file.items), run.file.text
    if decl not in items or item not in items or not isinstance(item, t.Statement) or not isinstance(decl, t.Statement):
        return (), None
    between = items[items.index(item) : items.index(decl)]
    named = {name for one in between for part in rewrite.inside(one)
             for name in (*getattr(part, "names", ()), getattr(part, "name", ""))
             if isinstance(part, (t.VertexField, t.GlobalValue, t.Let, t.Gather, t.Target))}
    read = {part.name for part in rewrite.inside(decl) if isinstance(part, (t.Name, t.Member))}
    if read & named or not between:
        return (), None
    lines = [line.rstrip() for line in text[item.span.start : decl.span.start].split("\n")]
    return (rewrite.one_line(run.text(decl)), *[line for line in lines if line]), \
        t.Span(item.span.start, decl.span.end, item.span.line, item.span.column)


def without_domain(run: Run, node: t.Call, at: Sight, code: Code, title: str, label: str) -> None:
    """Report a reduction without a domain, such as `sum(x)`.

    Args:
        run: the running check.
        node: the call.
        at: its context.
        code: the code of the diagnostic.
        title: what is wrong.
        label: the text beside the call.
    """
    name, found = node.name, _over_vertices(run, node, at)
    write: tuple[str, ...] = (found,) if found else ()
    place = at.item.span
    if found and isinstance(at.item, t.Apply):
        whole = run.fresh(f"{at.item.target.names[0]}_{name}")
        edited = rewrite.edited(run.file.text, place, [(node.span, whole)])
        write = (f"let {whole} = {found}", edited if edited.startswith("apply") else f"apply {edited}")
    elif found and isinstance(at.item, t.Where):
        whole = run.fresh(f"{name}_of_all")
        place = replace(place, end=run.file.text.index(":", at.item.cond.span.end) + 1)
        write = (f"let {whole} = {found}", rewrite.edited(run.file.text, place, [(node.span, whole)]))
    run.report(code, title, node.span, label, help="over the vertices:" if write else
               f"`{name}(u.x for u -> self)` over edges, `{name}(v.x for v in vertices)` over vertices",
               write=write, replaces=place if write and at.place in ("apply", "where") else None)


def before_name(name: str, field: str) -> bool:
    """Whether a name, such as `x_old`, is that of the values of a field before a superstep."""
    word = "(?:old|prev|previous|last|before)"
    return re.fullmatch(rf"{field}_?{word}|{word}_?{field}", name) is not None
