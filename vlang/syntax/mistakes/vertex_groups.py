"""Proposals for what to write in place of groups of vertices: a vertex field that names the group, or a loop over
vertices.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vlang.records import dataclass

__all__ = ["WIDE", "Grouped", "for_groups", "where_named"]

_TOTALS = frozenset({"sum", "prod"})
_OTHERS = frozenset({"count", "min", "max", "mean", "any", "all"})
WIDE = {"int": "i64", "i8": "i64", "i16": "i64", "i32": "i64", "u8": "u64", "u16": "u64", "u32": "u64"}
"""The types of sums over all vertices, by the types of their values."""
_NUMBERS = frozenset({*WIDE, "i64", "u64", "float", "f32", "f64", "bool"})


@dataclass(frozen=True)
class Grouped:
    """A vertex field `vertex name: type` with a value that is meant to be a separate reduction for each group of
    vertices.

    Attributes:
        name, type: the field.
        fold: the name of the reduction.
        body: what a vertex contributes.
        member: the name of the contributing vertex.
        key: the key of its group, such as `v.dept`.
        key_type: the type of the key, as in a declaration; "" if it is not known.
        cond: further conditions; "" for none.
        rest: the text after the conditions, `, default = d`; "" for none.
    """

    name: str
    type: str
    fold: str
    body: str
    member: str
    key: str
    key_type: str
    cond: str = ""
    rest: str = ""


def where_named(member: str = "v", key: str = "v.c") -> str:
    """Advice without lines that replace the statement."""
    return "a group that a vertex names has its value there, in a field: " \
           f"`vertex total: float = sum({member}.x for {member} in vertices if {key} == self)`"


def for_groups(asked: Grouped, fresh: Callable[[str], str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return advice in words, and the lines to write in place of the field (no lines if its type or key is not simple).

    Args:
        asked: the field.
        fresh: returns a name that the program does not use, similar to a given name.
    """
    key, v = asked.key, asked.member
    own = re.sub(rf"\b{v}\.", "", key)
    numbers = asked.type in _NUMBERS and asked.fold in _TOTALS | _OTHERS
    right = numbers and own != key and re.search(rf"\b{v}\b", own) is None
    rest = asked.rest or (", default = 0" if asked.fold == "mean" else "")
    loose = re.search(r"\b(?:or|if)\b", asked.cond) is not None  # binds less than `and`
    also = f" and ({asked.cond})" if loose else f" and {asked.cond}" if asked.cond else ""
    value = f"{asked.fold}({asked.body} for {v} in vertices if {key} == {{}}{also}{rest})"
    if asked.key_type == "vertex":
        there = fresh(f"{asked.name}_at")
        fields = (f"vertex {there}: {asked.type} = {value.format('self')}",
                  f"vertex {asked.name}: {asked.type} = {own}.{there}")
        help_ = "the value of a group is a field of the vertex that names it, and is read there:"
        return (help_,), fields if right else ()
    type_ = asked.type
    if asked.fold == "count" or asked.fold in _TOTALS:
        type_ = "i64" if asked.fold == "count" else WIDE.get(type_, type_)
    s, same, word = fresh("s"), fresh("same"), fresh("found")
    of_s = re.sub(rf"\b{v}\b", s, key)
    write = (f"vertex {asked.name}: {type_} = {'false' if type_ == 'bool' else 0}", f"for {s} in vertices:",
             f"    let {same} = {of_s}", f"    let {word} = {value.format(same)}",
             f"    where {own} == {same}: apply {asked.name} = {word}")
    loop = "a loop over the vertices (N passes over N vertices):"
    help_ = f"if `{own}` names vertices, declare `vertex {own}: vertex`: `{value.format('self')}` is then a field of " \
            "the vertex that names the group"
    plain = asked.key_type == "category" or not own.isidentifier()
    return ((loop,) if plain else (help_, f"for other keys, {loop}")), write if right else ()
