"""Tables that Python shares with kernels: consecutive words on the CPU, and the structs and constants of CUDA C."""

from __future__ import annotations

import re

import pytest

from vlang.emit.cuda.cuda_target import SKELETONS, _skeleton
from vlang.runtime.gpu.kernels import sparse_layout
from vlang.runtime.plan.layout import LINE, Layout
from vlang.runtime.plan.layouts import crew_words, meet_words, order_words, reach_words
from vlang.runtime.plan.page_words import ROW_WORDS

SOURCE = "".join(map(_skeleton, SKELETONS))


# ------------------------------------------------------------------------------------------------------------ the CPU
def test_words_follow_one_another() -> None:
    table = Layout(3)
    assert [table.word("a"), table.part(5, "b"), table.word("c")] == [3, 4, 9]
    assert table.size() == 10
    assert table.size(16) == 16
    assert table.words == {3: "a", 4: "b", 9: "c"}


def test_lines_hold_one_word() -> None:
    table = Layout()
    assert [table.line("a"), table.line("b"), table.word("c"), table.line("d")] == [0, LINE, 2 * LINE, 3 * LINE]


def test_words_that_are_taken_are_not_left_free() -> None:
    table = Layout()
    table.part(4, "a")
    table.skip(4)
    with pytest.raises(ValueError, match="word 3 is taken: the next is 4"):
        table.skip(3)


def test_what_several_workers_write_lies_in_lines_of_its_own() -> None:
    lines = [meet_words.MEET_CREW, meet_words.MEET_JOINED, meet_words.MEET_WAITING, meet_words.MEET_TURN,
             order_words.ORDER_VERTICES, order_words.ORDER_CURSOR, order_words.ORDER_TAKEN, order_words.ORDER_IDLE]
    places = [word // LINE for word in lines]
    assert len(set(places)) == len(places)
    own = range(order_words.ORDER_VERTICES, order_words.ORDER_LEVEL + 1)
    assert not {word // LINE for word in own} & set(places[5:])
    assert order_words.ORDER_HEAD // LINE > order_words.ORDER_LEFT // LINE
    assert reach_words.REACH_DESK % LINE == reach_words.REACH_DESKS % LINE == reach_words.REACH_PUSHED % LINE == 0
    assert crew_words.CREW_DESKS >= crew_words.CREW_ARGS + crew_words.CREW_MOST_ARGS
    assert crew_words.CREW_DESK >= crew_words.CREW_SIGNAL + LINE


# ------------------------------------------------------------------------------------------------------------ the GPU
def members(struct: str) -> list[str]:
    """Return the words of a struct of the kernels, in order."""
    found = re.search(rf"struct {struct} {{\n(.*?)\n}};", SOURCE, re.DOTALL)
    assert found is not None
    names: list[str] = []
    for declared in re.findall(r"^  (?:const )?\w+\*? ([^;(]+);", found[1], re.MULTILINE):
        for name in declared.split(", "):
            plain, _, count = name.rstrip("]").partition("[")
            names += [f"{plain}[{k}]" for k in range(int(count))] if count else [plain]
    return names


def constants() -> dict[str, int]:
    """Return the constants and enumerators of the kernels that are plain numbers."""
    found: dict[str, int] = {}
    plain = r"^(?:\[\[maybe_unused\]\] )?constexpr (?:u32|u64|int) (\w+) = ([\w+*/ ()]+);"
    for name, value in re.findall(plain, SOURCE, re.MULTILINE):
        try:
            found[name] = eval(re.sub(r"(?<=[0-9A-F])u\b", "", value), {}, found)
        except NameError:  # the name of a type or a template
            continue
    for body in re.findall(r"^enum : \w+ { ([\w, =]*) };", SOURCE, re.MULTILINE):
        number = 0
        for entry in body.split(", "):
            name, _, value = entry.partition(" = ")
            number = int(value) if value else number
            found[name] = number
            number += 1
    return found


def test_structs_have_the_words_that_the_host_knows() -> None:
    counts = list(sparse_layout.COUNTS)
    assert members("Counts") == counts
    for struct, words in (("Table", sparse_layout.TABLE), ("Lists", sparse_layout.LISTS),
                          ("Station", sparse_layout.STATION), ("Tour", sparse_layout.TOUR),
                          ("Mail", sparse_layout.MAIL), ("Peer", sparse_layout.PEER),
                          ("Peers", (*sparse_layout.PEERS, "each[0]"))):
        assert members(struct) == list(words)
    plain = [name for name in sparse_layout.CONTROL if not re.match(r"counts\[\d\]\.", name)]
    assert members("Control") == [*plain, *(f"counts[{k}]" for k in range(3))]
    assert list(sparse_layout.CONTROL[len(plain):]) == [f"counts[{k}].{name}" for k in range(3) for name in counts]


def test_constants_are_those_of_the_host() -> None:
    known = constants()
    names = ("CHUNK", "MARK_WORDS", "FROM_START", "FROM_NOTIFY", "ENDED_EMPTY", "ENDED_LIMIT", "ENDED_LARGE")
    assert {name: known[name] for name in names} == {name: getattr(sparse_layout, name) for name in names}
    assert {name.lower(): known[f"RULE_{name.upper()}"] for name in sparse_layout.RULES} == sparse_layout.RULES
    assert [known["MODE_PUSH"], known["MODE_EARLY"]] == [sparse_layout.MODES.index(name)
                                                         for name in ("push", "early-exit pull")]


def test_blocks_have_the_shared_memory_that_their_warps_use() -> None:
    known = constants()
    board = 8 * (3 * len(sparse_layout.COUNTS) + len(sparse_layout.TABLE) + ROW_WORDS) + known["COURSE_BYTES"]
    assert sparse_layout.desk_bytes(1024) == 32 * (known["DESK_BYTES"] + 8 * known["TALLIES"]) + board
    held = sparse_layout.traverse_bytes(1024, 100) - sparse_layout.desk_bytes(1024)
    assert held == 4 * 8 + 100 * known["ALONE_BYTES"]
