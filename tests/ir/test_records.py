"""The dataclasses of vlang.records behave like the dataclasses of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from vlang import records


def classes(made: Any) -> tuple[Any, ...]:
    """Return the test classes, decorated by `made`."""

    @made(frozen=True)
    class Base:
        kind: str = field(default="base", kw_only=True, compare=False, repr=False)

        def shown(self) -> str:
            return f"{self.kind}!"

    @made(frozen=True)
    class Pair(Base):
        a: Any
        b: list[int] = field(default_factory=list)
        c: int = 3

        def __post_init__(self) -> None:
            assert self.c != 99

    class Sub(Pair):
        pass

    @made
    class Open:
        x: float
        y: float = field(default=0.5, init=False)

    @made(eq=False, repr=False)
    class Bare:
        x: int = 1

    @made(frozen=True)
    class Empty:
        pass

    return Base, Pair, Sub, Open, Bare, Empty


OURS, THEIRS = classes(records.dataclass), classes(dataclasses.dataclass)


@pytest.mark.parametrize("number", range(len(OURS)))
def test_as_in_the_standard_library(number: int) -> None:
    ours, theirs = OURS[number], THEIRS[number]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}), ((1,), {}), ((1,), {"kind": "other"}), ((2, (5,)), {}), ((float("nan"), (), 4), {}),
        ((1, (), 3, 4), {}), ((), {"a": 7, "c": 2}), ((), {"x": 2}), ((), {"nothing": 1}), (("p",), {"c": 99}),
    ]  # fmt: skip
    found = []
    for made in (ours, theirs):
        values: list[Any] = []
        for args, named in calls:
            try:
                values.append(made(*args, **named))
            except (TypeError, AssertionError) as error:
                values.append(type(error))
        found.append(values)
    for one, other in zip(*found):
        if isinstance(other, type):
            assert one is other
            continue
        if ours.__name__ != "Bare":
            assert repr(one) == repr(other)
        assert vars(one) == vars(other) or one.a != one.a
        assert [a == one for a in found[0]] == [b == other for b in found[1]]
        assert (copy.deepcopy(one) == one) == (copy.deepcopy(other) == other)
        assert dataclasses.asdict(one).keys() == dataclasses.asdict(other).keys()
        for change in ({"c": 5}, {"x": 2}, {"zzz": 2}):
            kept = []
            for value in (one, other):
                try:
                    kept.append(vars(dataclasses.replace(value, **change)))
                except (TypeError, ValueError) as error:
                    kept.append(type(error))
            assert kept[0] == kept[1] or one.a != one.a
        for act in (lambda v: setattr(v, "c", 1), lambda v: setattr(v, "more", 1), lambda v: delattr(v, "a"), hash):
            raised: list[type | None] = []
            for value in (one, other):
                try:
                    act(value)
                    raised.append(None)
                except (TypeError, AttributeError) as error:
                    raised.append(type(error))
            assert raised[0] == raised[1]
    assert ours.__match_args__ == theirs.__match_args__


@records.dataclass(frozen=True)
class _Kept:
    values: tuple[int, ...]


def test_equal_values_have_equal_hashes_also_before_the_first_call() -> None:
    stored = pickle.dumps(_Kept((1, 2)))
    code = ("import pickle, sys; one, two = (pickle.loads(bytes.fromhex(sys.argv[1])) for _ in 'ab');"
            "assert one == two and hash(one) == hash(two) and repr(one) == '_Kept(values=(1, 2))'; one.values = 3")
    done = subprocess.run([sys.executable, "-c", code, stored.hex()], capture_output=True, text=True)
    assert "FrozenInstanceError: cannot assign to field 'values'" in done.stderr


def test_threads_make_the_first_object_at_once() -> None:
    for _ in range(50):
        pair = classes(records.dataclass)[1]
        gate, made = threading.Barrier(4), list[Any]()

        def work(pair: Any = pair, gate: threading.Barrier = gate, made: list[Any] = made) -> None:
            gate.wait()
            made.append(pair(1))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 4
        assert all(one == pair(1) for one in made)


def test_a_frozen_class_of_the_project() -> None:
    from vlang.syntax.tree import Span

    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'start'"):
        Span(0, 1, 1, 1).start = 2  # type: ignore[misc]
