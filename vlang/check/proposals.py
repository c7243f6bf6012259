"""Proposes vertex fields in place of values that end with their block, or that cannot change."""

from __future__ import annotations

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.typing import spoken
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.types import Scalar

__all__ = ["as_field"]


def as_field(run: Run, symbol: Symbol) -> tuple[str, t.Span | None]:
    """Return a vertex field with the name and the first value of `symbol`, and the declaration that the field replaces.

    Args:
        symbol: an accumulator, or a value of the whole graph. The text is empty unless the symbol is declared at top
            level and has one number, bool or vertex.
    """
    decl = symbol.decl
    if not isinstance(decl, (t.Gather, t.GlobalValue, t.Let)) or not isinstance(symbol.type, Scalar) or \
            run.root.names.get(symbol.name) is not symbol:
        return "", None
    return f"vertex {symbol.name}: {spoken(symbol.type)} = {rewrite.one_line(run.text(decl.value))}", decl.span
