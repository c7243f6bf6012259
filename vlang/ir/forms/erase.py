"""Replaces categories and times by integers: the last step of lowering.

A time is an i64 and a category an i32, the code of its name. Codes are known only when a program is bound to a graph.
Therefore a category name in the text becomes a parameter, and binding sets the value of this parameter. Machine code
therefore does not depend on category names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, cast

from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import CATEGORY, I32, I64, Scalar, Tuple, Type

__all__ = ["erased"]


def erased(program: f.Program) -> f.Program:
    """Replace categories and times by integers, and record the original types in `shown`."""
    decls: tuple[f.Decl, ...] = (*program.params, *program.edges, *program.fields, *program.globals)
    shown = {decl.name: decl.type for decl in decls if isinstance(decl.type, Scalar) and decl.type.named}
    if not shown:
        return program
    eraser = _Eraser(program.names)
    plain = cast(f.Program, eraser.parts(program))
    texts = {name: text for text, name in eraser.texts.items()}
    made = tuple(f.ParamDecl(name, I32, None, eraser.spans[name]) for name in texts)
    names = {**program.names, **{name: f'"{text}"' for name, text in texts.items()}}
    plain = replace(plain, params=(*made, *plain.params), names=names, shown=shown, texts=texts)
    return replace(plain, compared=_compared(plain))


def _plain(type_: Type) -> Type:
    if isinstance(type_, Tuple):
        return Tuple(tuple(cast(Scalar, _plain(item)) for item in type_.items))
    if isinstance(type_, Scalar) and type_.named:
        return I32 if type_ == CATEGORY else I64
    return type_


@dataclass
class _Eraser:
    """Replaces names by parameters.

    Attributes:
        texts: the parameter for each name in the text.
        spans: the first place of each name.
    """

    taken: Mapping[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)

    def parts(self, node: Any) -> Any:
        """Return a declaration, statement or expression with integer types in place of categories and times."""
        if isinstance(node, f.Expr):
            return self._expr(node)
        if isinstance(node, (Scalar, Tuple)):
            return _plain(node)
        if isinstance(node, tuple):
            return tuple(map(self.parts, node))
        if not is_dataclass(node) or isinstance(node, type) or not type(node).__module__.startswith(_FORMS):
            return node
        return replace(node, **{part.name: self.parts(getattr(node, part.name)) for part in fields(node)})

    def _expr(self, expr: f.Expr) -> f.Expr:
        type_ = _plain(expr.type)
        if isinstance(expr, f.Text):
            return f.GraphValue(I32, self._parameter(expr), "parameter", span=expr.span)
        new = replace(f.rebuild(expr, tuple(map(self._expr, f.children(expr)))), type=type_)
        if isinstance(new, f.Op) and new.op == "cast" and new.args[0].type == type_:
            return new.args[0]
        return new

    def _parameter(self, expr: f.Text) -> str:
        text = expr.text
        if text not in self.texts:
            number = next(k for k in range(1, len(self.taken) + len(self.texts) + 2)
                          if f"name_{k}" not in self.taken and f"name_{k}" not in self.spans)
            self.texts[text] = f"name_{number}"
            assert expr.span is not None
            self.spans[f"name_{number}"] = expr.span
        return self.texts[text]


_FORMS = f.Program.__module__.rpartition(".")[0]


def _compared(program: f.Program) -> frozenset[str]:
    """The parameters for names that the program only compares by `==` and `!=`; see `Program.compared`."""
    names = {*program.texts, *(p.name for p in program.params if program.shown.get(p.name) == CATEGORY)}
    other = {expr.name for whole in _expressions(program) for expr in _stored(whole, False)
             if isinstance(expr, f.GraphValue) and expr.kind == "parameter"}
    defaults = {p.name: p.default for p in program.params if isinstance(p.default, f.GraphValue)}
    other |= {default.name for name, default in defaults.items() if name in other or name not in names}
    return frozenset(names - other)


def _stored(expr: f.Expr, compared: bool) -> Iterator[f.Expr]:
    """Yield the parts of an expression that are not operands of == or !=.

    Args:
        compared: whether the whole expression is an operand of == or !=.
    """
    if not compared:
        yield expr
    for child in f.children(expr):
        yield from _stored(child, isinstance(expr, f.Op) and expr.op in ("eq", "ne"))


def _expressions(program: f.Program) -> Iterator[f.Expr]:
    """All expressions except the defaults of parameters."""
    yield from (edge.default for edge in program.edges if edge.default is not None)
    yield from (require.cond for require in program.requires)
    yield from _inside(program.body)
    yield from (part for reduction in program.reductions for part in (reduction.body, reduction.identity))


def _inside(node: Any) -> Iterator[f.Expr]:
    if isinstance(node, f.Expr):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _inside(part)
    elif isinstance(node, f.Statement):
        for part in fields(node):
            yield from _inside(getattr(node, part.name))
