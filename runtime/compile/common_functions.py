"""Functions that several kernel texts have in common are typed and lowered once in a process.

Kernel texts contain the same functions for atomic operations, arithmetic, queues and the division of work. Texts of
similar loops have further functions in common. numba would compile such a function again for each text. Two functions
count as the same if their byte code is equal, and if all global names in them and in the functions that they call have
equal values.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

from numba.core.dispatcher import Dispatcher

__all__ = ["share"]

_known: dict[frozenset[Any], Any] = {}
"""The first function of each kind. Its globals stay alive with it, so that ids in keys stay valid."""


def share(namespace: dict[str, Any]) -> None:
    """Replace functions of a kernel text by the same functions of earlier texts, before numba compiles any of them.

    Args:
        namespace: the global names of the text. Functions that only Python can call are left as they are.
    """
    functions = {name: value for name, value in namespace.items() if isinstance(value, Dispatcher)}
    names = {name: frozenset(_names(function.py_func.__code__)) & namespace.keys()
             for name, function in functions.items()}  # fmt: skip
    values = {name: _value(value) for name, value in namespace.items()}
    for name, function in functions.items():
        reached, waiting = {name}, [name]
        while waiting:
            new = names.get(waiting.pop(), frozenset()) - reached
            reached |= new
            waiting += new
        # The function itself may have another name, as an alias has.
        key = frozenset([(one, values[one]) for one in reached] + [("", values[name])])
        namespace[name] = _known.setdefault(key, function)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that byte code refers to; some are attributes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _value(value: Any) -> Any:
    """Return a key that is equal for equal global values: byte code without its line number, a constant, or the id of
    an object.
    """
    if isinstance(value, Dispatcher):
        return value.py_func.__code__.replace(co_firstlineno=1)
    if isinstance(value, (bool, int, float, str)):
        return type(value), repr(value)
    return id(value)
