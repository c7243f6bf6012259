"""Expressions and statements of the IR as readable text, close to the language."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.types import Scalar, Type, Vector

__all__ = ["domain_text", "expression", "repeat_head", "statement_lines", "type_text"]

_INFIX = {
    "or": ("or", 2), "and": ("and", 3), "eq": ("==", 5), "ne": ("!=", 5), "lt": ("<", 5), "le": ("<=", 5),
    "gt": (">", 5), "ge": (">=", 5), "shl": ("<<", 6), "shr": (">>", 6), "bitor": ("|", 6), "bitand": ("&", 6),
    "bitxor": ("^", 6), "add": ("+", 7), "sub": ("-", 7), "mul": ("*", 8), "div": ("/", 8), "floordiv": ("//", 8),
    "mod": ("%", 8), "pow": ("**", 10),
}
_WRAPPING = {"wrapadd": "add", "wrapsub": "sub", "wrapmul": "mul", "wrappow": "pow", "wrapneg": "neg"}  # fmt: skip
_COMPARE = 5
_ATOM = 12
_FOLDS = {"vsum": "sum", "vmin": "min", "vmax": "max"}
_DEGREES = {"in": "indegree", "out": "outdegree", "all": "degree"}
_DOMAINS = {"in": "u -> self", "out": "self -> u", "both": "u -- self", "vertices": "v in vertices",
            "pointing": "u in vertices", "group": "u", "common": "w in common(self, u)"}


def type_text(type_: Type) -> str:
    """A type as written in the language."""
    return str(type_)


def expression(expr: f.Expr, own: str = "self") -> str:
    """An expression as text.

    Args:
        own: the vertex whose fields are written without a dot: "self", or "v" inside a reduction over vertices.
    """
    return _text(expr, own)[0]


def domain_text(domain: f.Domain) -> str:
    """The domain of a reduction as text."""
    return f"v in {domain.set_name}" if domain.kind == "set" else _DOMAINS[domain.kind]


def _wrap(expr: f.Expr, own: str, least: int) -> str:
    text, level = _text(expr, own)
    return text if level >= least else f"({text})"


def _text(expr: f.Expr, own: str) -> tuple[str, int]:
    """The text of an expression, and the precedence of its outermost operator."""
    if isinstance(expr, f.Const):
        return _constant(expr)
    if isinstance(expr, (f.GraphValue, f.EdgeValue, f.Accumulator, f.GroupKey)):
        return expr.name, _ATOM
    if isinstance(expr, f.EdgeState) and expr.ends:
        return f"{expr.name}({', '.join(expression(end, own) for end in expr.ends)})", _ATOM
    if isinstance(expr, f.EdgeState):
        return f"reverse({expr.name})" if expr.opposite else expr.name, _ATOM
    if isinstance(expr, f.Keep):
        return f"{expr.name} = {expression(expr.value, own)}", 0
    if isinstance(expr, f.Vertex):
        return {"other": "u", "third": "w"}.get(expr.of, own), _ATOM
    if isinstance(expr, f.Field):
        name = _member(expr.of, expr.name, own)
        return (name if expr.time == "now" else f"{expr.time}({name})"), _ATOM
    if isinstance(expr, f.Degree):
        return _member(expr.of, _DEGREES[expr.kind], own), _ATOM
    if isinstance(expr, f.Reduce):
        return _reduce(expr, own), _ATOM
    assert isinstance(expr, f.Op)
    return _op(expr, own)


def _member(of: str | f.Expr, name: str, own: str) -> str:
    if isinstance(of, f.Expr):
        return f"{_wrap(of, own, _ATOM)}.{name}"
    if of == "other":
        return f"u.{name}"
    return name if own == "self" else f"{own}.{name}"


def _constant(expr: f.Const) -> tuple[str, int]:
    value, type_ = expr.value, expr.type
    if value is None:
        return "none", _ATOM
    if isinstance(value, bool):
        return str(value).lower(), _ATOM
    if isinstance(type_, Scalar) and type_.kind == "int" and value in (type_.highest, type_.lowest):
        value = math.inf if value > 0 else -math.inf
    if isinstance(type_, Scalar) and type_.integral and not math.isinf(value):
        text = str(int(value))
    else:
        text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return text, (_ATOM if value >= 0 else 9)


def _reduce(expr: f.Reduce, own: str) -> str:
    inside = own if expr.domain.edges else "v"
    text = f"{expression(expr.body, inside)} for {domain_text(expr.domain)}"
    tests = [f"{expression(expr.key)} == {own}"] if expr.key is not None and expr.domain.kind == "pointing" else []
    tests += [_wrap(expr.cond, inside, 3 if tests else 0)] if expr.cond is not None else []
    if tests:
        text += f" if {' and '.join(tests)}"
    if expr.group is not None and expr.key is not None:
        text += f" by {expr.group} = {expression(expr.key)}"
        text += f" if {expression(expr.having, own)}" if expr.having is not None else ""
    if expr.default is not None:
        text += f", default = {expression(expr.default, own)}"
    return f"{expr.name}({text})" + ("" if expr.part is None else f"[{expr.part}]")


def _op(expr: f.Op, own: str) -> tuple[str, int]:
    op, args = expr.op, expr.args
    if op.startswith("exact"):
        return _op(replace(expr, op=op.removeprefix("exact")), own)
    if op in _WRAPPING:
        return f"wrap({expression(replace(expr, op=_WRAPPING[op]), own)})", _ATOM
    if op in _INFIX:
        sign, level = _INFIX[op]
        left = _wrap(args[0], own, level + (op == "pow" or level == _COMPARE))
        right = _wrap(args[1], own, level + (op != "pow"))
        return f"{left} {sign} {right}", level
    if op == "not":
        return f"not {_wrap(args[0], own, 4)}", 4
    if op == "neg":
        return f"-{_wrap(args[0], own, 9)}", 9
    if op == "select":
        test, yes, no = args
        return f"{_wrap(yes, own, 2)} if {_wrap(test, own, 2)} else {_wrap(no, own, 1)}", 1
    inside = ", ".join(expression(arg, own) for arg in args)
    if op == "part" and isinstance(expr.type, Vector) and isinstance(expr.data, int):
        return f"{_wrap(args[0], own, _ATOM)}[{expr.data}:{expr.data + expr.type.size}]", _ATOM
    if op in ("cast", "broadcast"):
        return f"{type_text(expr.type)}({inside})", _ATOM
    if op == "tuple":
        return f"({inside})", _ATOM
    if op == "vector":
        return f"[{inside}]", _ATOM
    if op in ("item", "component"):
        index = str(expr.data) if op == "item" else expression(args[1], own)
        return f"{_wrap(args[0], own, _ATOM)}[{index}]", _ATOM
    return f"{expr.data if op == 'user' else _FOLDS.get(op, op)}({inside})", _ATOM


# -------------------------------------------------------------------- statements


def statement_lines(statement: f.Statement, indent: str = "") -> Iterator[str]:
    """A statement as lines, with its block."""
    if isinstance(statement, f.Gather):
        reduce = statement.reduce
        yield f"{indent}gather {statement.name}: {type_text(reduce.type)} = {expression(reduce)}"
    elif isinstance(statement, f.Apply):
        names = ", ".join(statement.fields)
        target = names if len(statement.fields) == 1 else f"({names})"
        yield f"{indent}apply {target} = {expression(statement.value)}"
    elif isinstance(statement, f.Let):
        yield f"{indent}let {statement.name}: {type_text(statement.value.type)} = {expression(statement.value)}"
    elif isinstance(statement, f.Activate):
        yield f"{indent}activate when {expression(statement.cond)}"
    elif isinstance(statement, (f.InitField, f.InitGlobal)):
        word = "start" if isinstance(statement, f.InitField) else "global"
        yield f"{indent}{word} {statement.name} = {expression(statement.value)}"
    else:
        head, body = _block(statement)
        yield f"{indent}{head}:"
        for inner in body:
            yield from statement_lines(inner, indent + "    ")


def _block(statement: f.Statement) -> tuple[str, tuple[f.Statement, ...]]:
    """Return the first line of a block (without its colon), and the statements of the block."""
    if isinstance(statement, f.Where):
        return f"where {expression(statement.cond)}", statement.body
    if isinstance(statement, f.Repeat):
        return repeat_head(statement), statement.body
    if isinstance(statement, f.Sweep):
        return f"sweep {statement.field} {'up' if statement.up else 'down'}", statement.body
    if isinstance(statement, f.ForVertices):
        return f"for {statement.name} in {statement.set_name or 'vertices'}", statement.body
    assert isinstance(statement, f.ForRange)
    until = "" if statement.until is None else f" until {expression(statement.until)}"
    span = f"from {expression(statement.low)} to {expression(statement.high)}"
    return f"for {statement.name} {span}{until}", statement.body


def repeat_head(loop: f.Repeat) -> str:
    """The first line of a `repeat` without its colon."""
    text = "repeat"
    if loop.limit is not None:
        text += f"{'' if loop.exact else ' at most'} {expression(loop.limit)} times"
    return text if loop.until is None else f"{text} until {expression(loop.until)}"
