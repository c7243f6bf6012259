"""Public functions and dataclasses with more than three parameters describe each parameter in a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.house.test_layers import FILES, ROOT

MOST = 3  # functions with more parameters need a list
LISTS = ("Args:", "Attributes:", "arguments as for `")  # the last one refers to the list of another function


class Described(NamedTuple):
    """A public function or dataclass.

    Attributes:
        owner: the class of a method.
    """

    place: str
    owner: str
    name: str
    parameters: tuple[str, ...]
    text: str
    keywords: tuple[str, ...] = ()


def _public(body: list[ast.stmt], place: str, owner: str = "") -> Iterator[Described]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if any("dataclass" in ast.unparse(mark) for mark in node.decorator_list):
                names = tuple(one.target.id for one in node.body if isinstance(one, ast.AnnAssign)
                              and isinstance(one.target, ast.Name) and "ClassVar" not in ast.unparse(one.annotation))
                parameters = tuple(name for name in names if not name.startswith("_"))
                yield Described(f"{place}:{node.lineno}", owner, node.name, parameters, ast.get_docstring(node) or "")
            yield from _public(node.body, place, node.name)
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__call__"):
            if any("click.command" in ast.unparse(mark) for mark in node.decorator_list) or _kernel(node):
                continue
            first = 1 if owner and "staticmethod" not in map(ast.unparse, node.decorator_list) else 0  # self or cls
            yield Described(f"{place}:{node.lineno}", owner, node.name, tuple(_parameters(node.args))[first:],
                            ast.get_docstring(node) or "", (node.args.kwarg.arg,) if node.args.kwarg else ())


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Yield the names of all parameters except `**keywords`, which only pass on other parameters."""
    for one in (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs):
        if one is not None:
            yield one.arg


def _kernel(node: ast.FunctionDef) -> bool:
    """Return whether a function is a kernel for numba, whose parameters have no types."""
    return all(one.annotation is None or ast.unparse(one.annotation) == "Any" for one in node.args.args)


@cache
def _found() -> list[Described]:
    """Return all public functions and dataclasses, except kernels, and except commands, whose options have help texts.
    """
    return [one for path in FILES.values() if "skeletons" not in path.parts
            for one in _public(ast.parse(path.read_text(encoding="utf-8")).body, path.relative_to(ROOT).as_posix())]


def test_many_parameters_are_listed() -> None:
    """Public functions and dataclasses with more than MOST parameters have a list. Only `Options` lists no parameters:
    its fields are described in their metadata, from which the documents are generated.
    """
    listed = {(one.name, one.parameters) for one in _found() if any(word in one.text for word in LISTS)}
    silent = [f"{one.place} {one.name}" for one in _found() if len(one.parameters) > MOST and one.name != "Options"
              and not any(word in one.text for word in LISTS)
              and not (one.owner and (one.name, one.parameters) in listed)]  # the interface lists them
    assert silent == []


def test_lists_name_parameters_that_exist() -> None:
    """Each line `name: meaning`, or `name, name: meaning`, of an `Args:` list names parameters of its function."""
    unknown = []
    for one in _found():
        lines = iter(one.text.splitlines())
        if one.parameters and any(line.strip() == "Args:" for line in lines):
            for line in lines:
                if not line.startswith("    "):
                    break
                names, colon, _ = line.strip().partition(": ")
                if colon and not line.startswith("     "):
                    unknown += [f"{one.place} {one.name}: {name}" for name in names.replace("*", "").split(", ")
                                if name not in (*one.parameters, *one.keywords)]
    assert unknown == []


def test_kernels_and_commands_are_few() -> None:
    """The checks cover most public functions of the project."""
    assert len(_found()) > 1000
