"""Arguments of wrong types: every call raises an error of vlang that says what to write instead."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vlang
from vlang import Graph, compile, load

ANY: Any = Graph
LOAD: Any = load
COMPILE: Any = compile
KARATE: Any = Graph.read("karate")
BFS: Any = load("bfs")
HALF = [False, True]
MASKED: Any = np.ma.array([1, 2], mask=HALF)
PAIR: Any = Graph.from_edges([0], [1])
WEIGHED: Any = compile("program p(w: float[2] = [1, 2])\nvertex x: float\nvertex y: float = x * w[1]\n")
RESULT: Any = BFS(KARATE, source=1, threads=1)

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "a text as graph": (lambda: BFS("karate", source=1), "bfs runs on a vlang.Graph, not on 'karate'; write "
                        "bfs(vlang.Graph.read('karate'), ...)"),
    "None as graph": (lambda: BFS(None, source=1), "bfs runs on a vlang.Graph, not on None"),
    "no graph": (lambda: BFS(source=1), "bfs runs on a vlang.Graph, not on None"),
    "an array as graph": (lambda: BFS(np.eye(30), source=1), "not on a ndarray"),
    "a number as options": (lambda: BFS(KARATE, 5, source=1), "options is vlang.Options or a dict"),
    "no vertex": (lambda: BFS(KARATE, source=None), "vertex None is not in the graph"),
    "a vertex that is a float": (lambda: BFS(KARATE, source=1.5), "vertex 1.5 is not in the graph"),
    "lowered for a text": (lambda: BFS.lower("karate"), "bfs runs on a vlang.Graph, not on 'karate'"),
    "explained for a text": (lambda: BFS.explain("ir", "karate"), "bfs runs on a vlang.Graph, not on 'karate'"),
    "resumed from nothing": (lambda: BFS.resume(None), "bfs.resume goes on from a vlang.Result, not from None"),
    "resumed from a graph": (lambda: BFS.resume(KARATE), "goes on from a vlang.Result"),
    "an array as vertex": (lambda: BFS(KARATE, source=np.array([1])), "`source` takes one vertex, not a list"),
    "a folder with NUL": (lambda: BFS(KARATE, source=1, checkpoint="\0"), "checkpoint is the path of a folder, not '"),
    "a folder that is no text": (lambda: BFS(KARATE, source=1, checkpoint="\ud800"), "checkpoint is the path of a"),
    "load what is no text": (lambda: LOAD("\ud800"), r"takes the name of a program or a path, not '\ud800'"),
    "load None": (lambda: LOAD(None), "vlang.load takes the name of a program or a path, not None"),
    "load bytes": (lambda: LOAD(b"bfs"), "vlang.load takes the name of a program or a path"),
    "load a NUL": (lambda: LOAD("a\0"), "vlang.load takes the name of a program or a path"),
    "load with 16 bits": (lambda: LOAD("bfs", precision=16), "precision is 32 or 64 bits, not 16"),
    "load with text as bits": (lambda: LOAD("bfs", precision="32"), "precision is 32 or 64 bits, not '32'"),
    "compile None": (lambda: COMPILE(None), "vlang.compile takes the text of a program, not None"),
    "compile bytes": (lambda: COMPILE(b"program p"), "vlang.compile takes the text of a program"),
    "compile with 16 bits": (lambda: COMPILE("program p\nvertex x: int = 1\n", precision=16), "precision is 32 or 64"),
    "n that is a float": (lambda: ANY.from_edges([0], [0], n=1.5), "n=1.5: write a whole number"),
    "n that is whole, but a float": (lambda: ANY.from_edges([0], [0], n=3.0), "n=3.0: write a whole number"),
    "n that is text": (lambda: ANY.from_edges([0], [0], n="3"), "n='3': write a whole number"),
    "n that is True": (lambda: ANY.from_edges([0], [0], n=True), "n=True: write a whole number"),
    "n below 0": (lambda: ANY.from_edges([0], [0], n=-1), "n is -1; a graph has 0 to"),
    "no ends": (lambda: ANY.from_edges(None, [1]), "src must have one dimension"),
    "ragged ends": (lambda: ANY.from_edges([[1], [1, 2]], [1, 2]), "src is no array"),
    "ragged weights": (lambda: ANY.from_edges([1], [2], weight=[[1], [1, 2]]), "edge column 'weight' is no array"),
    "numbers and texts": (lambda: ANY.from_edges([1, "a"], ["b", 2]), "src holds texts and other values; vertex ids"),
    "masked ends": (lambda: ANY.from_edges(MASKED, [1, 2]), "src has masked values (1): leave these out, or fill them"),
    "masked weights": (lambda: ANY.from_edges([1, 2], [2, 3], weight=MASKED), "'weight' has masked values (1)"),
    "masked values of a field": (lambda: WEIGHED(PAIR, x=MASKED), "`x` has masked values (1): leave these out"),
    "a masked parameter": (lambda: WEIGHED(PAIR, x=[1, 2], w=MASKED), "`w` has masked values (1)"),
    "masked sources": (lambda: load("betweenness")(PAIR, sources=np.ma.array([0, 1], mask=HALF)), "`sources` has"),
    "a masked subgraph": (lambda: PAIR.subgraph(np.ma.array([True, True], mask=HALF)), "the list has masked values"),
    "weights of decimals": (lambda: ANY.from_edges([1], [2], weight=[decimal.Decimal(1)]), "must hold numbers"),
    "ids that are no text": (lambda: ANY.from_edges(["\ud800"], ["a"]), r"src holds '\ud800', which is not Unicode"),
    "given ids that are no text": (lambda: ANY.from_edges([0], [1], ids=["a", "b\udfff"]), "which is not Unicode text"),
    "vertices that are no text": (lambda: ANY.from_edges(["a"], ["a"], vertices=["a", "\udc80"]), "not Unicode text"),
    "directed as text": (lambda: ANY.from_edges([1], [2], directed="no"), "directed='no': write True or False"),
    "directed as None": (lambda: ANY.from_edges([1], [2], directed=None), "directed=None: write True or False"),
    "symmetrize as text": (lambda: ANY.from_edges([1], [2], symmetrize="no"), "symmetrize='no': write True or False"),
    "a name that is None": (lambda: ANY.from_edges([1], [2], name=None), "name=None: write a text"),
    "threads as text": (lambda: ANY.from_edges([1], [2], threads="2"), "threads='2': write a whole number from 1 on"),
    "no threads": (lambda: ANY.read("karate", threads=0), "threads=0: write a whole number from 1 on"),
    "half threads": (lambda: ANY.read("karate", threads=1.5), "threads=1.5: write a whole number from 1 on"),
    "a list of columns": (lambda: ANY.from_edges([1], [2], columns=[1]), "columns is a dict of names and arrays"),
    "read None": (lambda: ANY.read(None), "None is not a path: write a text or a pathlib.Path"),
    "read a number": (lambda: ANY.read(5), "5 is not a path"),
    "read bytes": (lambda: ANY.read(b"karate"), "b'karate' is not a path"),
    "read a list": (lambda: ANY.read(["karate"]), "['karate'] is not a path"),
    "read a NUL": (lambda: ANY.read("a\0b"), "no file can have this name"),
    "read a surrogate": (lambda: ANY.read("a\ud800b"), "no file can have this name, which is not Unicode text"),
    "read nothing": (lambda: ANY.read(""), "no file can have this name"),
    "read directed as text": (lambda: ANY.read("karate", directed="yes"), "directed='yes': write True or False"),
    "read with half a column": (lambda: ANY.read("karate", weights=1.5), "weights=1.5: write a whole number"),
    "read a number of columns": (lambda: ANY.read("karate", columns=5), "columns=5: write a list of names"),
    "read columns of numbers": (lambda: ANY.read("karate", columns=[5]), "write a list of names"),
    "a rule of text": (lambda: KARATE.with_rule_weights("a", 2), "low='a': write a whole number"),
    "a rule of floats": (lambda: KARATE.with_rule_weights(1.5, 2), "low=1.5: write a whole number"),
    "save to None": (lambda: KARATE.save(None), "None is not a path"),
    "a label of text": (lambda: KARATE.label("1"), "'1' is not the number of a vertex, from 0 to 33"),
    "a label of a float": (lambda: KARATE.label(1.5), "1.5 is not the number of a vertex"),
    "a number of edges": (lambda: KARATE.changed(5), "added is a list of pairs of vertices"),
    "a text of edges": (lambda: KARATE.changed("ab"), "added is a list of pairs of vertices"),
    "ragged edges": (lambda: KARATE.changed([[1], [1, 2]]), "added is no array"),
    "rows of text": (lambda: RESULT.top("x"), "k is a whole number of rows, not 'x'"),
    "csv to None": (lambda: RESULT.to_csv(None), "cannot write to None: it is neither a path nor an open file"),
    "json to a number": (lambda: RESULT.to_json(5), "cannot write to 5"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_an_error_of_vlang(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(vlang.Error) as error:
        call()
    assert message in str(error.value)


def test_what_is_right_is_taken() -> None:
    assert ANY.from_edges([0], [1], n=np.int64(3), threads=np.uint8(1), directed=np.False_).n == 3
    assert KARATE.label(np.int64(0)) == 1
    assert KARATE.changed([]).m == KARATE.m
    assert KARATE.changed(added=np.empty((0, 2), int)).m == KARATE.m
