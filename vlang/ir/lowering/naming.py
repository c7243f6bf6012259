"""The names that lowering gives to the symbols of a program."""

from __future__ import annotations

from dataclasses import field

from vlang.check.tables.checked import Symbol
from vlang.records import dataclass
from vlang.types import Type

__all__ = ["Names"]


@dataclass
class Names:
    """Unique names of symbols, and the types that lowering gave to `let`s and accumulators.

    Attributes:
        written: Every name that the program declares.
        unique: For each symbol, its name in the IR, which is unique in the program.
        types: The types of `let`s, globals and accumulators.
        origin: For each unique name, the name in the text of the program.
    """

    written: frozenset[str]
    unique: dict[Symbol, str] = field(default_factory=dict)
    types: dict[Symbol, Type] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def declare(self, symbol: Symbol, type_: Type | None = None, wish: str = "") -> str:
        """Give a symbol a unique name: its own name, with a number appended if another symbol has that name.

        Args:
            wish: a name for a symbol without an identifier of its own.
        """
        made, wish = bool(wish), wish or symbol.name
        name, number = wish, 1
        while name in self.origin or ((made or number > 1) and name in self.written):
            number += 1
            name = f"{wish}_{number}"
        self.unique[symbol], self.origin[name] = name, symbol.name
        if type_ is not None:
            self.types[symbol] = type_
        return name
