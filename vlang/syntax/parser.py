"""Transforms Lark's tree of a text to the dataclasses of `tree`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from lark import Token, Transformer, Tree, v_args

from vlang.syntax import tree as t
from vlang.syntax.lark_tree import raw_tree
from vlang.syntax.rewrite import comment_in


def parse_tree(text: str, filename: str) -> t.File:
    """The syntax tree of a text without syntax errors. Raises Lark's own errors."""
    return build(raw_tree(text), text, filename)


def build(raw: Tree[Token], text: str, filename: str, place: Callable[[int, int], t.Span] | None = None) -> t.File:
    """Build the syntax tree of a program from Lark's tree.

    Args:
        raw: Lark's tree.
        text: the user's text.
        filename: the name of the file, for messages.
        place: maps the offsets of a range in the parsed text to a span in `text`. None if both texts are equal; they
            differ after recovery from syntax errors.
    """
    return cast(t.File, _Build(text, filename, place).transform(raw))


def doc_comment(text: str) -> str:
    """The text of the comment lines above the header, without `#`."""
    lines = []
    for line in text.splitlines():
        if line.startswith("#"):
            lines.append(line.lstrip("#").strip())
        elif line.strip():
            break
    return "\n".join(lines).strip()


def _flat(kids: list[Any]) -> tuple[t.Statement, ...]:
    """The statements of a block. A list in `kids` contains the statements that replace one statement of the text."""
    lists = (k if isinstance(k, list) else [k] for k in kids)
    return tuple(one for each in lists for one in each if isinstance(one, t.Statement))


@v_args(meta=True)
class _Build(Transformer[Token, Any]):
    """Builds the nodes of the syntax tree, with one method per production. The children of a node are built before the
    node.
    """

    def __init__(self, text: str, filename: str, place: Callable[[int, int], t.Span] | None) -> None:
        super().__init__()
        self._text = text
        self._filename = filename
        self._place = place

    def _token(self, token: Token) -> t.Span:
        """The span of a token."""
        start, end = token.start_pos or 0, token.end_pos or 0
        if self._place is not None:
            return self._place(start, end)
        return t.Span(start, end, token.line or 1, token.column or 1)

    def _span(self, meta: Any) -> t.Span:
        """The span of a production, without line breaks and comments at its end."""
        if getattr(meta, "empty", True):
            return t.Span(0, 0, 1, 1)
        span = t.Span(meta.start_pos, meta.end_pos, meta.line, meta.column)
        if self._place is not None:
            span = self._place(span.start, span.end)
        end = span.end
        while True:
            kept = self._text[span.start : end].rstrip(" \t\r\n")
            comment = comment_in(kept, kept.rfind("\n") + 1)
            end = span.start + len(kept)
            if comment < 0:
                return t.Span(span.start, end, span.line, span.column)
            end = span.start + comment

    # ---- file
    def start(self, meta: Any, kids: list[Any]) -> t.File:
        kids = [k for k in kids if not (isinstance(k, Token) or k is None)]
        name, params = kids[0]
        return t.File(self._span(meta), str(name), self._token(name), params, _flat(kids[1:]),
                      self._text, self._filename, doc_comment(self._text))

    def header(self, meta: Any, kids: list[Any]) -> tuple[Token, tuple[t.Param, ...]]:
        return kids[0], tuple(k for k in kids[1:] if isinstance(k, t.Param))

    def param(self, meta: Any, kids: list[Any]) -> t.Param:
        return t.Param(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1], kids[2])

    # ---- declarations
    def names(self, meta: Any, kids: list[Any]) -> list[Token]:
        return kids

    def vertex_field(self, meta: Any, kids: list[Any]) -> t.VertexField:
        names = kids[0]
        return t.VertexField(self._span(meta), tuple(map(str, names)), tuple(map(self._token, names)), kids[1], kids[2])

    def edge_field(self, meta: Any, kids: list[Any]) -> t.EdgeField:
        names = kids[0]
        return t.EdgeField(self._span(meta), tuple(map(str, names)), tuple(map(self._token, names)), kids[1], kids[2])

    def edge_state(self, meta: Any, kids: list[Any]) -> t.EdgeState:
        _, names, type_, init = kids
        return t.EdgeState(self._span(meta), tuple(map(str, names)), tuple(map(self._token, names)), type_, init)

    def global_value(self, meta: Any, kids: list[Any]) -> t.GlobalValue:
        return t.GlobalValue(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1], kids[2])

    def function(self, meta: Any, kids: list[Any]) -> t.Function:
        params = tuple(k for k in kids[1:-2] if isinstance(k, t.Param))
        return t.Function(self._span(meta), str(kids[0]), self._token(kids[0]), params, kids[-2], kids[-1])

    def reduction(self, meta: Any, kids: list[Any]) -> t.Reduction:
        name, left, right, type_, value, identity = kids
        return t.Reduction(self._span(meta), str(name), self._token(name), str(left), self._token(left),
                           str(right), self._token(right), type_, value, identity)

    def contract(self, meta: Any, kids: list[Any]) -> t.Contract:
        return t.Contract(self._span(meta), kids[0])

    def scalar_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "scalar", str(kids[0]))

    def time_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        word, unit = kids
        return t.TypeExpr(self._span(meta), "scalar", str(word) if unit is None else f"{word}[{unit}]")

    def vertex_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "vertex")

    def vertices_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "vertices")

    def const_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "const")

    def array_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "array", str(kids[0]), kids[1], kids[2])

    def tuple_type(self, meta: Any, kids: list[Any]) -> t.TypeExpr:
        return t.TypeExpr(self._span(meta), "tuple", items=tuple(kids))

    # ---- statements
    def gather(self, meta: Any, kids: list[Any]) -> t.Gather:
        return t.Gather(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1])

    def let(self, meta: Any, kids: list[Any]) -> t.Let:
        return t.Let(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1])

    def let_many(self, meta: Any, kids: list[Any]) -> list[t.Let]:
        *names, value = kids
        whole, first, last = self._span(meta), self._token(names[0]), self._token(names[-1])
        both = t.Span(first.start, last.end, first.line, first.column)
        pair = ", ".join(map(str, names))
        found = [t.Let(whole, pair, both, value, len(names))]
        for number, name in enumerate(names):
            span = self._token(name)
            part = t.Index(span, t.Name(span, pair), t.Literal(span, number, str(number)))
            found.append(t.Let(span, str(name), span, part))
        return found

    def activate(self, meta: Any, kids: list[Any]) -> t.Activate:
        return t.Activate(self._span(meta), kids[0])

    def _assign(self, meta: Any, kids: list[Any], keyword: bool) -> t.Apply:
        target, rest = kids[0], list(kids[1:])
        op = str(rest.pop(0)) if isinstance(rest[0], Token) else "="
        value, *tail = rest
        domain, cond = (tail[0], tail[1]) if tail else (None, None)
        return t.Apply(self._span(meta), target, op, value, keyword, domain, cond)

    def apply(self, meta: Any, kids: list[Any]) -> t.Apply:
        return self._assign(meta, kids, True)

    apply_update = apply_many = apply_many_update = apply

    def bare(self, meta: Any, kids: list[Any]) -> t.Apply:
        return self._assign(meta, kids, False)

    bare_update = bare_many = bare_many_update = bare

    def target_one(self, meta: Any, kids: list[Any]) -> t.Target:
        return t.Target(self._span(meta), (str(kids[0]),), (self._token(kids[0]),))

    def target_many(self, meta: Any, kids: list[Any]) -> t.Target:
        return t.Target(self._span(meta), tuple(map(str, kids)), tuple(map(self._token, kids)), many=True)

    def target_foreign(self, meta: Any, kids: list[Any]) -> t.Target:
        return t.Target(self._span(meta), (str(kids[1]),), (self._token(kids[1]),), owner=str(kids[0]))

    def exactly(self, meta: Any, kids: list[Any]) -> t.Limit:
        return t.Limit(self._span(meta), kids[0], exact=True)

    def at_most(self, meta: Any, kids: list[Any]) -> t.Limit:
        return t.Limit(self._span(meta), kids[0], exact=False)

    def repeat(self, meta: Any, kids: list[Any]) -> t.Repeat:
        limit, until, block = kids
        span = self._span(meta)
        last = until or limit
        head = t.Span(span.start, last.span.end if last else span.start + len("repeat"), span.line, span.column)
        return t.Repeat(span, limit, until, block, head)

    def direction(self, meta: Any, kids: list[Any]) -> bool:
        return str(kids[0]) == "up"

    def sweep(self, meta: Any, kids: list[Any]) -> t.Sweep:
        return t.Sweep(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1], kids[2])

    def where(self, meta: Any, kids: list[Any]) -> t.Where:
        return t.Where(self._span(meta), kids[0], kids[1])

    def for_vertices(self, meta: Any, kids: list[Any]) -> t.ForVertices:
        name, group, block = kids
        return t.ForVertices(self._span(meta), str(name), self._token(name), str(group), self._token(group), block)

    def for_range(self, meta: Any, kids: list[Any]) -> t.ForRange:
        name, low, high, until, block = kids
        return t.ForRange(self._span(meta), str(name), self._token(name), low, high, until, block)

    def block(self, meta: Any, kids: list[Any]) -> t.Block:
        return t.Block(self._span(meta), _flat(kids))

    # ---- expressions
    def conditional(self, meta: Any, kids: list[Any]) -> t.Conditional:
        return t.Conditional(self._span(meta), kids[0], kids[1], kids[2])

    def or_(self, meta: Any, kids: list[Any]) -> t.Logical:
        return t.Logical(self._span(meta), "or", kids[0], kids[1])

    def and_(self, meta: Any, kids: list[Any]) -> t.Logical:
        return t.Logical(self._span(meta), "and", kids[0], kids[1])

    def not_(self, meta: Any, kids: list[Any]) -> t.Unary:
        return t.Unary(self._span(meta), "not", kids[0])

    def compare(self, meta: Any, kids: list[Any]) -> t.Expr:
        """Build a comparison. A chain of comparisons becomes an `and` of comparisons that share operands."""
        whole = self._span(meta)
        if len(kids) == 3:
            return t.Compare(whole, str(kids[1]), kids[0], kids[2])
        result: t.Expr | None = None
        for left, op, right in zip(kids[::2], kids[1::2], kids[2::2], strict=False):
            span = t.Span(left.span.start, right.span.end, left.span.line, left.span.column)
            part = t.Compare(span, str(op), left, right)
            result = part if result is None else t.Logical(whole, "and", result, part)
        assert result is not None
        return result

    def contained(self, meta: Any, kids: list[Any]) -> t.Call:
        value, group = kids
        span = self._token(group)
        return t.Call(self._span(meta), t.CONTAINED, span, (value, t.Name(span, str(group))))

    def not_contained(self, meta: Any, kids: list[Any]) -> t.Unary:
        return t.Unary(self._span(meta), "not", self.contained(meta, kids))

    def binary(self, meta: Any, kids: list[Any]) -> t.Binary:
        return t.Binary(self._span(meta), str(kids[1]), kids[0], kids[2])

    def power(self, meta: Any, kids: list[Any]) -> t.Binary:
        return t.Binary(self._span(meta), "**", kids[0], kids[-1])

    def unary(self, meta: Any, kids: list[Any]) -> t.Expr:
        return cast(t.Expr, kids[-1])  # unary plus changes nothing

    def negate(self, meta: Any, kids: list[Any]) -> t.Unary:
        return t.Unary(self._span(meta), "-", kids[0])

    def member(self, meta: Any, kids: list[Any]) -> t.Member:
        return t.Member(self._span(meta), kids[0], str(kids[1]), self._token(kids[1]))

    def index(self, meta: Any, kids: list[Any]) -> t.Index:
        return t.Index(self._span(meta), kids[0], kids[1])

    def number(self, meta: Any, kids: list[Any]) -> t.Literal:
        text = str(kids[0])
        value: int | float
        if text[:2] in ("0x", "0X"):
            value = int(text, 16)
        elif any(c in text for c in ".eE"):
            value = float(text)
        else:
            value = int(text) if len(text) < 1000 else 10**1000  # the checker refuses more than 64 bits
        return t.Literal(self._span(meta), value, text)

    def text(self, meta: Any, kids: list[Any]) -> t.Literal:
        return t.Literal(self._span(meta), str(kids[0])[1:-1], str(kids[0]))

    def true(self, meta: Any, kids: list[Any]) -> t.Literal:
        return t.Literal(self._span(meta), True, "true")

    def false(self, meta: Any, kids: list[Any]) -> t.Literal:
        return t.Literal(self._span(meta), False, "false")

    def inf(self, meta: Any, kids: list[Any]) -> t.Literal:
        return t.Literal(self._span(meta), float("inf"), "inf")

    def none(self, meta: Any, kids: list[Any]) -> t.Literal:
        return t.Literal(self._span(meta), None, "none")

    def self_(self, meta: Any, kids: list[Any]) -> t.Self:
        return t.Self(self._span(meta))

    def name(self, meta: Any, kids: list[Any]) -> t.Name:
        return t.Name(self._span(meta), str(kids[0]))

    def call(self, meta: Any, kids: list[Any]) -> t.Call:
        return t.Call(self._span(meta), str(kids[0]), self._token(kids[0]), tuple(k for k in kids[1:] if k is not None))

    def edge_key(self, meta: Any, kids: list[Any]) -> t.EdgeKey:
        return t.EdgeKey(self._span(meta))

    def reduce(self, meta: Any, kids: list[Any]) -> t.Reduce:
        name, body, domain, cond, group, *keys, weight, default = kids
        rest = (body, domain, cond, default, group, weight, tuple(keys))
        return t.Reduce(self._span(meta), str(name), self._token(name), *rest)

    def reduce_group(self, meta: Any, kids: list[Any]) -> t.Reduce:
        name, body, member, cond, default = kids
        domain = t.Domain(self._token(member), "group", str(member), self._token(member))
        return t.Reduce(self._span(meta), str(name), self._token(name), body, domain, cond, default)

    def grouping(self, meta: Any, kids: list[Any]) -> t.Grouping:
        return t.Grouping(self._span(meta), str(kids[0]), self._token(kids[0]), kids[1], kids[2])

    def tuple(self, meta: Any, kids: list[Any]) -> t.TupleExpr:
        return t.TupleExpr(self._span(meta), tuple(kids))

    def vector(self, meta: Any, kids: list[Any]) -> t.VectorExpr:
        return t.VectorExpr(self._span(meta), tuple(k for k in kids if k is not None))

    def _domain(self, meta: Any, kind: str, name: Token, group: Token | None = None) -> t.Domain:
        set_name, set_span = (None, None) if group is None else (str(group), self._token(group))
        return t.Domain(self._span(meta), kind, str(name), self._token(name), set_name, set_span)

    def in_edges(self, meta: Any, kids: list[Any]) -> t.Domain:
        return self._domain(meta, "in", kids[0])

    def out_edges(self, meta: Any, kids: list[Any]) -> t.Domain:
        return self._domain(meta, "out", kids[0])

    def all_edges(self, meta: Any, kids: list[Any]) -> t.Domain:
        return self._domain(meta, "both", kids[0])

    def all_vertices(self, meta: Any, kids: list[Any]) -> t.Domain:
        return self._domain(meta, "vertices", kids[0])

    def common_neighbours(self, meta: Any, kids: list[Any]) -> t.Domain:
        name, called, *ends = kids
        return t.Domain(self._span(meta), "common", str(name), self._token(name), None, None, str(called), tuple(ends))

    def some_vertices(self, meta: Any, kids: list[Any]) -> t.Domain:
        return self._domain(meta, "set", kids[0], kids[1])
