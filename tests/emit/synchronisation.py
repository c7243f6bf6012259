"""The synchronising operations of all kernels, in the order of the text.

`python -m tests.emit.synchronisation` writes `golden/synchronisation.txt`. A run cannot show every lost fence: x86
processors keep the order of stores, and a lost barrier matters only in rare schedules. The file therefore fixes the
list of these operations, and a change of the file needs a reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["GOLDEN", "cuda_operations", "kernel_operations", "written"]

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "synchronisation.txt"
_CPU = ("vlang/emit/cpu/skeletons", "runtime/kernels")
_CUDA = ("vlang/emit/cuda/skeletons",)
_ORDERING = {"fetch_add", "fetch_add_ordered", "fetch_or", "replace", "replace_both", "fence", "poke", "poke_last",
             "peek", "peek_first", "meet"}
_TAKING = {"fetch_add", "fetch_add_ordered"}
_CUDA_OPERATION = re.compile(r"\b(__sync\w+|__threadfence\w*|atomic[A-Z]\w*|\w+\.wait)\(|\*\((?:const )?volatile")
_CUDA_FUNCTION = re.compile(r"^.*\b__(?:device|global)__\b(?:[^;{(]|\n)*?(\w+|operator\S+?)\(", re.MULTILINE)


def kernel_operations(path: str, text: str) -> Iterator[str]:
    """Yield a line for each function of CPU kernels that synchronises."""
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        found = list(_operations(function))
        if any("(" in one for one in found):
            yield f"{path} {function.name}: {'; '.join(found)}"


def _operations(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the synchronising operations of a function, and the stores and tests of task numbers between these
    operations.
    """
    nodes = sorted((node for node in ast.walk(function) if isinstance(node, (ast.expr, ast.stmt))), key=_place)
    taken = {name.id for node in nodes if isinstance(node, ast.Assign) and _called(node.value) in _TAKING
             for name in node.targets if isinstance(name, ast.Name)}
    for node in nodes:
        store = isinstance(node, (ast.Assign, ast.AugAssign)) and any(map(_stored, ast.walk(node)))
        if store or _called(node) in _ORDERING:
            yield ast.unparse(node)
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id in taken:
            yield f"test {ast.unparse(node)}"


def _place(node: ast.expr | ast.stmt) -> tuple[int, int, int]:
    return node.lineno, node.col_offset, -(node.end_col_offset or 0)


def _called(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def cuda_operations(path: str, text: str) -> Iterator[str]:
    """Yield a line for each function of CUDA C that synchronises."""
    text = re.sub(r"//.*", "", text)
    functions = [(found.start(), found[1]) for found in _CUDA_FUNCTION.finditer(text)]
    by_function: dict[tuple[int, str], list[str]] = {}
    for found in _CUDA_OPERATION.finditer(text):
        owner = next((one for one in reversed(functions) if one[0] < found.start()), (0, ""))
        by_function.setdefault(owner, []).append(_whole(text, found.start()))
    for (_, name), operations in by_function.items():
        yield f"{path} {name}: {'; '.join(operations)}"


def _whole(text: str, start: int) -> str:
    """Return the expression that begins at `start`. The expression ends with the parenthesis that closes its first
    parenthesis, or with a subscript after this parenthesis.
    """
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 and text[at] == ")":
            break
    return re.sub(r"\s+", " ", text[start : at + 1])


def written() -> str:
    """Return the current operations of all kernels."""
    lines: list[str] = []
    for folders, pattern, operations in ((_CPU, "*.py", kernel_operations), (_CUDA, "*.cuh", cuda_operations)):
        for path in sorted(path for folder in folders for path in (ROOT / folder).glob(pattern)):
            lines += operations(path.name, path.read_text(encoding="utf-8"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(written(), encoding="utf-8")
