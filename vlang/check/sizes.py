"""Limits on the size of expressions after functions have been inlined (V402).

The IR has no calls of a `fn`: each call is replaced by the body. Ten functions, each of which calls the previous
function twice, expand to 1,024 calls. Therefore sizes are computed from the sizes of the called functions, without
expanding the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields

from vlang.check.tables.checking import Run
from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.program_file import MOST_LEVELS

__all__ = ["MOST_COMPONENTS", "MOST_OPERATIONS", "Sizes", "too_deep", "too_long"]

MOST_OPERATIONS = 20_000
MOST_COMPONENTS = 1024  # components of a vector: a CPU kernel unrolls its operations, which takes LLVM a minute


@dataclass(frozen=True)
class _Size:
    """The size of an expression. In the body of a function, the uses of the function's arguments are counted
    separately.

    Attributes:
        operations: The number of operations.
        levels: The number of nesting levels.
        uses: For each argument of the function, the number of its uses, and the deepest level of a use.
    """

    operations: int = 0
    levels: int = 0
    uses: dict[str, tuple[int, int]] = field(default_factory=dict)

    def within(self) -> _Size:
        """Return the size of an operation with this expression as an operand."""
        uses = {name: (count, levels + 1) for name, (count, levels) in self.uses.items()}
        return _Size(self.operations + 1, self.levels + 1, uses)

    def beside(self, other: _Size, times: int = 1, below: int = 0) -> _Size:
        """Return the size after `times` copies of another expression are inserted at most `below` levels deep."""
        uses = dict(self.uses)
        for name, (count, levels) in other.uses.items():
            old_count, old_levels = uses.get(name, (0, 0))
            uses[name] = _cut(old_count + times * count), max(old_levels, below + levels)
        return _Size(_cut(self.operations + times * other.operations), max(self.levels, below + other.levels), uses)


def _cut(count: int) -> int:
    return min(count, MOST_OPERATIONS + 1)


class Sizes:
    """Computes the sizes of functions, and of the whole program, and reports sizes above the limits."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._functions: dict[t.Function, _Size] = {}
        self._total = 0

    def function(self, node: t.Function) -> None:
        """Measure a function. All functions that it calls have been measured before."""
        size = self._functions[node] = self._of(node.value)
        self._judge(node.value, size.operations, size.levels, f"`{node.name}` becomes")

    def program(self) -> None:
        """Measure every expression outside of functions."""
        for root in _roots(self._run.file):
            size = self._of(root)
            self._total = _cut(self._total + size.operations)
            self._judge(root, self._total, size.levels, "the program becomes")

    def _judge(self, node: t.Expr, operations: int, levels: int, what: str) -> None:
        if operations > MOST_OPERATIONS and not _said(self._run):
            self._run.report(Code.TOO_LARGE, f"{what} more than {MOST_OPERATIONS:,} operations", node.span,
                             "every call of a `fn` is replaced by its body",
                             help="name what is used more than once with `let`, or keep it in a field")
        elif levels > MOST_LEVELS:
            too_deep(self._run, node)

    def _of(self, node: t.Expr) -> _Size:
        symbol = self._run.symbols.get(node)
        if isinstance(node, t.Name) and symbol is not None and symbol.kind == "argument":
            return _Size(uses={node.name: (1, 0)})
        if isinstance(node, t.Call) and symbol is not None and isinstance(symbol.decl, t.Function):
            return self._called(node, symbol.decl)
        size = _Size()
        for part in _parts(node):
            size = size.beside(self._of(part))
        return size.within()

    def _called(self, node: t.Call, function: t.Function) -> _Size:
        body = self._functions.get(function, _Size())
        size = _Size(body.operations, body.levels)
        for param, arg in zip(function.params, node.args, strict=False):
            times, below = body.uses.get(param.name, (0, 0))
            size = size.beside(self._of(arg), times, below)
        return size.within()


def too_deep(run: Run, node: t.Expr) -> None:
    """Report an expression that is nested too deeply after functions have been inlined."""
    if _said(run):
        return
    run.report(Code.TOO_LARGE, f"the calls in this are nested more than {MOST_LEVELS} levels deep", node.span,
               "every call of a `fn` is replaced by its body", help="keep a part of it in a field")


def _said(run: Run) -> bool:
    """Return whether an exceeded limit has been reported. Further violations are not reported, since there are often
    many.
    """
    return any(p.code is Code.TOO_LARGE for p in run.problems)


def too_long(run: Run, span: t.Span) -> None:
    """Report a vector with too many components."""
    run.report(Code.TOO_LARGE, f"a vector has at most {MOST_COMPONENTS:,} components", span)


def _parts(node: t.Node) -> Iterator[t.Expr]:
    """The expressions that are direct children of a node."""
    for spec in fields(node):
        value = getattr(node, spec.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, t.Expr):
                yield part


def _roots(node: t.Node) -> Iterator[t.Expr]:
    """The outermost expressions in a node, except in the bodies of functions."""
    for spec in fields(node):
        value = getattr(node, spec.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, t.Expr):
                yield part
            elif isinstance(part, t.Node) and not isinstance(part, t.Function):
                yield from _roots(part)
