"""The structure of a syntax tree as text, for `vlang explain --stage tree` and for tests."""

from __future__ import annotations

from dataclasses import fields

from vlang.syntax.tree import Node, Span

__all__ = ["dump"]


def dump(node: object, indent: int = 0) -> str:
    """The structure of a tree as text without spans, with one line per node."""
    pad = "  " * indent
    if isinstance(node, Node):
        head, below = [], []
        for field in fields(node):
            value = getattr(node, field.name)
            if isinstance(value, Span) or field.name in ("text", "filename", "doc") or field.name.endswith("_spans"):
                continue
            if isinstance(value, Node) or (isinstance(value, tuple) and any(isinstance(v, Node) for v in value)):
                below.append((field.name, value))
            elif value is not None and value != ():
                head.append(f"{field.name}={value!r}")
        lines = [pad + " ".join([type(node).__name__, *head])]
        for name, value in below:
            lines.append(f"{pad}  {name}:")
            values = value if isinstance(value, tuple) else (value,)
            lines.extend(dump(v, indent + 2) for v in values)
        return "\n".join(lines)
    return pad + repr(node)
