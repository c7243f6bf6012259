"""The supersteps of a run: stored as arrays, converted to objects on access."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from vlang import Graph, load
from vlang.runtime.engine.trace import Done, History, Round, Series
from vlang.runtime.threads.moved import Moved


def test_a_series_is_a_sequence() -> None:
    counts = np.array([[3, 5], [2, 0], [0, 7]])
    series = Series("push", counts)
    counts[:] = -1  # the buffer is reused
    assert list(series) == [Done(3, "push", 5), Done(2, "push", 0), Done(0, "push", 7)]
    assert (len(series), series[-1], list(series[1:])) == (3, Done(0, "push", 7), list(series)[1:])
    assert (series.active, series.edges, series[:0].edges) == (5, 12, 0)


def test_a_history_numbers_its_rounds() -> None:
    history = History()
    history.add(0, 1, 0.5, [Done(9, "pull", 4)])
    history.add(0, 2, 0.25, Series("push", np.array([[1, 2], [0, 3]])))
    history.add(1, 1, 0.125, (Done(0, "connect", 6),))
    assert history.edges == 15
    assert history.rounds() == (Round(0, 1, 9, "pull", 0.5, 4), Round(0, 2, 1, "push", 0.25, 2),
                                Round(0, 3, 0, "push", 0.25, 3), Round(1, 1, 0, "connect", 0.125, 6))
    assert history.rounds(-1) == (Round(1, 1, 0, "connect", 0.125, 6),)


def test_supersteps_of_a_launch_share_what_it_moved() -> None:
    assert list(vars(Round)["__slots__"])[6:-1] == list(Moved._fields)
    moved, history = Moved(bytes_copied=7, bytes_in_place=100, pages_copied=2), History()
    history.add(0, 1, 0.5, Series("push", np.array([[3, 1], [2, 0], [0, 2]])), moved)
    history.add(0, 4, 0.5, [Done(9, "pull", 0)], moved)
    history.add(0, 5, 0.5, [Done(9, "pull", 2), Done(9, "push", 2)], moved)
    rounds = history.rounds()
    assert [one.bytes_in_place for one in rounds] == [33, 0, 67, 100, 50, 50]
    assert [one.bytes_copied for one in rounds] == [7, 0, 0, 7, 7, 0]
    assert [one.pages_copied for one in rounds] == [2, 0, 0, 2, 2, 0]
    assert History.unpacked(*history.packed(), 1).rounds() == rounds
    modes, arrays = history.packed()
    with pytest.raises(ValueError, match="history"):
        History.unpacked(modes, [*arrays[:3], arrays[3][1:]], 1)


def test_the_history_of_a_result_travels() -> None:
    result = load("bfs")(Graph.read("path:5000"), source=0)
    assert len(result.history) == result.rounds == 5000
    assert result.history is result.history
    assert pickle.loads(pickle.dumps(result)).history == copy.deepcopy(result).history == result.history
    assert sum(row.edges for row in result.history) == result.edges
