"""Mutation operators, and the places in a file where each operator applies. The operators were fixed before the first
run.

Python is mutated through its syntax tree. The operators exchange `<` with `<=`, `>` with `>=`, `+` with `-`, `and` with
`or`, and `min` with `max`. Other operators change a whole number by one, negate a condition, or remove a statement that
defines no name. Races are planted in the text of kernels: an atomic operation becomes plain accesses, a barrier or a
fence is removed, the last chunk of a task is never taken, or two neighbouring stores to shared words are exchanged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["LOGIC", "RACES", "Site", "logic_sites", "mutated", "race_sites"]


@dataclass(frozen=True)
class Site:
    """One mutation of one file.

    Attributes:
        path: The path of the file from the root of the tree.
        line: The line of the replaced text, from 1.
        operator: A name from LOGIC or RACES.
        start: The offset of the replaced text in the file, in characters.
        end: The offset of the end of the replaced text.
        new: The replacement.
    """

    path: str
    line: int
    operator: str
    start: int
    end: int
    new: str


def mutated(text: str, site: Site) -> str:
    """Return the text of the file with the mutation."""
    return text[: site.start] + site.new + text[site.end :]


# ------------------------------------------------------------------------------------------------ Python by its tree

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ADDED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_OTHER = {"min": "max", "max": "min"}

LOGIC = ("compare", "add", "logic", "constant", "negate", "extreme", "drop")
RACES = ("plain_cas", "plain_add", "plain_atomic", "no_barrier", "no_fence", "last_chunk", "early_flag")


def logic_sites(path: str, text: str) -> Iterator[Site]:
    """Yield every mutation of Python text by the operators of LOGIC, except in annotations, docstrings and messages."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node, new, operator in _changes(ast.parse(text)):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        yield Site(path, node.lineno, operator, start, end, new)


_Change = tuple[ast.expr | ast.stmt, str, str]


def _changes(tree: ast.AST) -> Iterator[_Change]:
    for node in _walk(tree):
        if isinstance(node, ast.expr):
            yield from _of_expression(node)
        elif isinstance(node, (ast.If, ast.While)):
            yield node.test, f"not ({ast.unparse(node.test)})", "negate"
        elif _droppable(node):
            assert isinstance(node, ast.stmt)
            yield node, "pass", "drop"


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that are executed, without annotations, f-strings, decorators, error messages and `__all__`."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, (ast.JoinedStr, ast.Raise, ast.Assert)):
                yield from _walk(child)


def _of_expression(node: ast.expr) -> Iterator[_Change]:
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            if type(op) in _COMPARED:
                ops = [*node.ops[:index], _COMPARED[type(op)](), *node.ops[index + 1 :]]
                yield node, f"({ast.unparse(ast.Compare(node.left, ops, node.comparators))})", "compare"
    elif isinstance(node, ast.BinOp) and type(node.op) in _ADDED:
        yield node, f"({ast.unparse(ast.BinOp(node.left, _ADDED[type(node.op)](), node.right))})", "add"
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})", "logic"
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, str(node.value + 1), "constant"
        yield node, f"({node.value - 1})", "constant"
    elif isinstance(node, ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))", "negate"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OTHER:
        yield node.func, _OTHER[node.func.id], "extreme"


def _droppable(node: ast.AST) -> bool:
    """Return whether a statement can be removed without leaving a name undefined."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, (ast.Call, ast.Yield, ast.YieldFrom))
    if isinstance(node, ast.Assign):
        return all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets)
    return isinstance(node, ast.AugAssign)


# -------------------------------------------------------------------------------------------------- kernels as text

_NAME = r"[\w.\[\]]+"
_ARGUMENT = r"((?:[^(),]|\((?:[^()]|\([^()]*\))*\))+)"  # with parentheses nested at most twice


def _cuda(work: str) -> str:
    """Return a read-modify-write by plain accesses, as an expression whose value is the old value.

    Args:
        work: the new value, as an expression of `was` and `given`.
    """
    return rf"([&] {{ auto* place_ = (\1); const auto was_ = *place_; *place_ = {work}; return was_; }}())"


_PATTERNS: tuple[tuple[str, str, str, str], ...] = (
    # operator, files, pattern, replacement
    ("plain_cas", ".py", rf"if (replace)\({_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}\):\n(\s+)",
     r"if True:\n\6\2[\3] = \5\n\6"),
    ("plain_cas", ".py", rf"while (.*) and not replace\({_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}\):",
     r"if \1: \2[\3] = \5\n    while False:"),
    ("plain_cas", ".py", r"\[f\"if \{words\.replaced\('v'\)\}:\", ", r"[*words.stored('v'), 'if True:', "),
    ("plain_add", ".py", rf"^(\s+)fetch_add\({_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}\)$", r"\1\2[\3] += \4"),
    ("plain_add", ".py", rf"^(\s+)({_NAME}) = fetch_add\({_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}\)$",
     r"\1\2 = \3[\4]; \3[\4] += \5"),
    ("plain_atomic", ".cuh", rf"atomicAdd\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"was_ + (\2)")),
    ("plain_atomic", ".cuh", rf"atomicMin\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"(\2) < was_ ? (\2) : was_")),
    ("plain_atomic", ".cuh", rf"atomicMax\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"(\2) > was_ ? (\2) : was_")),
    ("plain_atomic", ".cuh", rf"atomicOr\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"was_ | (\2)")),
    ("plain_atomic", ".cuh", rf"atomicAnd\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"was_ & (\2)")),
    ("plain_atomic", ".cuh", rf"atomicExch\({_ARGUMENT}, {_ARGUMENT}\)", _cuda(r"(\2)")),
    ("plain_atomic", ".cuh", rf"atomicCAS\({_ARGUMENT}, {_ARGUMENT}, {_ARGUMENT}\)",
     _cuda(r"was_ == (\2) ? (\3) : was_")),
    ("no_barrier", ".cuh", r"(__syncthreads|__syncwarp|meeting\.wait)\([^()]*\);", r";"),
    ("no_barrier", ".py", r"^(\s+)meet\([^()]*\)$", r"\1pass"),
    ("no_fence", ".cuh", r"__threadfence\(\);", r";"),
    ("no_fence", ".py", r"^(\s+)fence\(\)$", r"\1pass"),
    ("last_chunk", ".py", r"(if task >= )(\w+)", r"\1\2 - 1"),
    ("early_flag", ".py", r"^(\s+)(poke\(.*\)|\w+\[[^\]]+\] \+?= [^\n]*)\n(?:\1fence\(\)\n)?\1(poke\(.*\))$",
     r"\1\3\n\1\2"),
)

_Compiled = tuple[str, str, re.Pattern[str], str]
_COMPILED: tuple[_Compiled, ...] = tuple((name, ext, re.compile(pattern, re.MULTILINE), new)
                                         for name, ext, pattern, new in _PATTERNS)


def race_sites(path: str, text: str) -> Iterator[Site]:
    """Yield every mutation that the operators of RACES make in the text of kernels, except in comments."""
    for name, ext, pattern, new in _COMPILED:
        if not path.endswith(ext):
            continue
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            if "//" not in before and not before.lstrip().startswith("#"):
                yield Site(path, line, name, found.start(), found.end(), found.expand(new))


SITES: dict[str, Callable[[str, str], Iterator[Site]]] = {"logic": logic_sites, "races": race_sites}
