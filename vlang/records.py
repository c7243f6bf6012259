"""`dataclass` as in the standard library, but with fast class definitions: a method is created when it is first called.

The standard library compiles five or six methods for each class when the class is defined. For 250 classes, most of
which a command never uses, this took a third of the start-up time of a command. Here the first call of a class compiles
`__init__`, and the other methods are closures, which need no compilation.

The arguments are the same as for `dataclasses.dataclass`. For classes with slots or an order, the standard library is
used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """See `dataclasses.dataclass`."""
        return _made(cls, options) if cls is not None else lambda one: _made(one, options)


_OURS = {"frozen", "eq", "repr"}


def _made(cls: type, options: dict[str, bool]) -> type:
    own = vars(cls)
    if options.keys() - _OURS or any(name in own for name in ("__init__", "__eq__", "__setattr__", "__delattr__")):
        return dataclasses.dataclass(**options)(cls)
    undocumented = cls.__doc__ is None
    if undocumented:
        cls.__doc__ = cls.__name__  # otherwise `dataclasses` formats a signature
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    if undocumented:
        cls.__doc__ = None
    frozen, equal = options.get("frozen", False), options.get("eq", True)
    cls.__init__ = _init(cls, frozen)  # type: ignore[misc]
    if options.get("repr", True) and "__repr__" not in own:
        cls.__repr__ = _repr  # type: ignore[method-assign, assignment]
    if equal:
        cls.__eq__, hashed = _comparison(cls)  # type: ignore[method-assign, assignment]
        if "__hash__" not in own:
            cls.__hash__ = hashed if frozen else None  # type: ignore[method-assign, assignment]
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refusals(cls)  # type: ignore[method-assign, assignment]
    return cls


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    """Return an `__init__` that, at its first call, compiles the actual `__init__` and replaces itself."""
    def __init__(self: Any, *args: Any, **named: Any) -> None:
        cls.__init__ = real = _compiled_init(cls, frozen)  # type: ignore[misc]
        real(self, *args, **named)

    return __init__


def _compiled_init(cls: type, frozen: bool) -> Callable[..., None]:
    params, last, body = ["self"], ["*"], []
    named: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    for one in dataclasses.fields(cls):
        given = last if one.kw_only else params
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            named[f"_make_{name}"] = one.default_factory
            if one.init:
                given.append(f"{name}=_MISSING")
                value = f"_make_{name}() if {name} is _MISSING else {name}"
            else:
                value = f"_make_{name}()"
        elif one.default is not MISSING:
            named[f"_default_{name}"] = one.default
            if one.init:
                given.append(f"{name}=_default_{name}")
            else:
                continue
        elif one.init:
            given.append(name)
        else:
            continue
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    params += last if len(last) > 1 else []
    exec(f"def __init__({', '.join(params)}):\n    " + "\n    ".join(body or ["pass"]), named)
    made: Callable[..., None] = named["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _comparison(cls: type) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    """`__eq__` and `__hash__` by the values of the fields."""
    fields = dataclasses.fields(cls)
    compared = _values([one.name for one in fields if one.compare])
    hashed = _values([one.name for one in fields if (one.compare if one.hash is None else one.hash)])

    def __eq__(self: Any, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(hashed(self))

    return __eq__, __hash__


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that returns a tuple of the values of the named attributes."""
    return attrgetter(*names) if len(names) > 1 else lambda one: tuple(getattr(one, name) for name in names)


def _refusals(cls: type) -> tuple[Callable[[Any, str, object], None], Callable[[Any, str], None]]:
    """`__setattr__` and `__delattr__` of a frozen class. A subclass may have further attributes."""
    names = {one.name for one in dataclasses.fields(cls)}

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return __setattr__, __delattr__
