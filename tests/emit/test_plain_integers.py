"""In programs of the library, integers that may overflow their type use checked instructions. All other integers use
plain instructions.
"""

from __future__ import annotations

import re

import pytest

import vlang
from vlang import stdlib
from vlang.emit.shared.values.dialect import SATURATED
from vlang.ir.forms.ranges import SIZES, Sizes

CALLS = {*SATURATED.values(), "sum_of_words"}
TRIANGLES = ("triangles", "sum_of_words")  # two words, put together once a run
SCC = ("scc", "add_sizes")  # indegree + outdegree, once a vertex outside of the loops over edges


@pytest.mark.parametrize(("sizes", "expected"), list(zip(
    SIZES, [set(), {TRIANGLES, SCC}, {TRIANGLES, SCC}])))
def test_kernels_of_the_library_are_plain(sizes: Sizes, expected: set[tuple[str, str]]) -> None:
    """The remaining calls of overflow functions are outside of loops over edges. Kernels for small graphs call no
    functions that test for overflow.
    """
    found = set()
    for name in stdlib.names():
        program = vlang.load(name)
        given = frozenset(field.name for field in program.fields if field.required)
        text = program.plan(frozenset(edge.name for edge in program.edges), given, sizes=sizes).text
        found |= {(name, call) for call in re.findall(r"\b(\w+)\(", str(text)) if call in CALLS}
    assert found == expected


@pytest.mark.parametrize("target", ["numba", "cuda"])
def test_a_conversion_to_exactly_the_values_of_a_type_is_plain(target: str) -> None:
    """The results of `& 255` and `& 127` fit u8, so that neither conversion needs a comparison."""
    text = "program p\nvertex x: u8 = u8(degree & {0})\nvertex y: i8 = i8((degree & {1}) - {2})\n"
    narrow, full = (str(vlang.compile(text.format(*most)).plan(frozenset(), target=target).text)
                    for most in ((127, 127, 126), (255, 255, 128)))
    assert narrow.replace("127", "255").replace("126", "128") == full
