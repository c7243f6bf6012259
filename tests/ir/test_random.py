"""The IR of programs is well typed. For random programs, every loop has facts and a text, too."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.ir.helpers import ir
from tests.reference.generators.programs import Generated, programs
from vlang import stdlib
from vlang.ir.facts import analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, loops_of, statements
from vlang.ir.print import WIDTH, facts_text, program_text
from vlang.maths import REAL
from vlang.reductions import REDUCTIONS
from vlang.types import BOOL, F64, I64, VERTEX, Scalar, Tuple, Type

_ALIKE = frozenset({"add", "sub", "mul", "div", "floordiv", "mod", "bitor", "bitand", "bitxor", "min", "max", "neg",
                    "abs", "sign"}) | REAL  # fmt: skip
_COMPARE = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "differs"})


def definite(type_: Type) -> bool:
    """Return whether a type is final: none of its parts depends on the place of use."""
    items = type_.items if isinstance(type_, Tuple) else (type_,)
    return not any(isinstance(item, Scalar) and item.weak for item in items)


def well_typed(expr: f.Expr) -> bool:
    """Return whether the type of a node of the IR fits the types of its children."""
    if isinstance(expr, f.Op):
        types = [arg.type for arg in expr.args]
        if expr.op in _ALIKE:
            return set(types) == {expr.type}
        if expr.op in _COMPARE:
            return expr.type == BOOL and types[0] == types[1]
        if expr.op in ("and", "or", "not"):
            return {*types, expr.type} == {BOOL}
        if expr.op == "select":
            return types == [BOOL, expr.type, expr.type]
        if expr.op == "pow":
            return types[0] == expr.type and types[1] in (expr.type, I64)
        if expr.op == "tuple":
            return isinstance(expr.type, Tuple) and list(expr.type.items) == types
        if expr.op == "item":
            return isinstance(types[0], Tuple) and types[0].items[int(expr.data or 0)] == expr.type
        if expr.op == "cast":
            return types[0] != expr.type
    if isinstance(expr, f.Reduce):
        result = expr.type
        if expr.part is not None:
            assert isinstance(expr.body.type, Tuple)
            assert expr.body.type.items[expr.part] == expr.type
            result = expr.body.type
        body = BOOL if expr.name == "count" else F64 if expr.name == "mean" else result
        same = expr.body.type == body or REDUCTIONS[expr.name].holistic
        return same and (expr.default is None or expr.default.type == result)
    if isinstance(expr, f.Vertex):
        return expr.type == VERTEX
    if isinstance(expr, f.GraphValue) and expr.kind == "builtin":
        return expr.type == I64
    return definite(expr.type)


def assert_well_typed(program: f.Program, text: str) -> None:
    types = {field.name: field.type for field in program.fields}
    for statement in statements(program.body):
        for expr in expressions(statement):
            for part in f.walk(expr):
                assert definite(part.type), text
                assert well_typed(part), f"{part}\n{text}"
        if isinstance(statement, f.Apply):
            wanted = [types[name] for name in statement.fields]
            found = statement.value.type
            assert (list(found.items) if isinstance(found, Tuple) else [found]) == wanted, text


@pytest.mark.parametrize("name", ["weighted_cdlp", "kcore", "bfs_tree", "scc"])
def test_programs_of_the_library(name: str) -> None:
    """Parts of sums of groups, reductions of whole neighbourhoods, tuples, and sets."""
    text = stdlib.path(name).read_text(encoding="utf-8")
    assert_well_typed(ir(text), text)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_random_programs(drawn: Generated) -> None:
    program = ir(drawn.text)
    assert_well_typed(program, drawn.text)
    facts = analyse(program)
    assert set(facts.loops) == set(loops_of(program))
    widest = max(map(len, program_text(program).splitlines()))
    assert max(map(len, facts_text(facts).splitlines())) <= max(WIDTH, widest + 20)
