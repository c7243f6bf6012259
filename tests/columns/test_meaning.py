"""Programs over names and times are compared with the interpreter. The values that a call accepts or refuses are
tested, too.
"""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from tests.columns.drawn import ROUTES, drawn
from tests.reference.graph import RefGraph
from tests.reference.interpreter import run
from tests.sample import sampled
from vlang import Graph
from vlang.syntax.layout.format import format_text
from vlang.syntax.parser import parse_tree
from vlang.times import UNITS, time_of

routes = vlang.compile(ROUTES)


def agree(seed: int, **params: object) -> None:
    case = drawn(seed)
    want = run(parse_tree(ROUTES, "routes"), case.reference, params)
    for options in ({"threads": 1}, {"threads": 2, "mode": "pull", "page_size": 64}):
        found = routes(case.graph(), options=options, **params)
        for name, values in want.fields.items():
            np.testing.assert_array_equal(found[name], values, err_msg=f"{name}, seed {seed}")
        assert found["different"] == want.globals["different"]
        last = want.globals["last"]
        assert found["last"] == last or (np.isnat(found["last"]) and np.isnat(last))


@pytest.mark.parametrize("seed", range(12))
def test_engine_and_interpreter_agree(seed: int) -> None:
    agree(seed)
    agree(seed + 100, avoid="z" if seed % 2 else "no such name", since="2024-04-30T22:00")


def test_chaos_and_trap_mode_change_nothing() -> None:
    graph = drawn(3).graph()
    plain = routes(graph)
    for options in sampled([{"chaos": 5}, {"trap": True}, {"precision": 64}], [{"chaos": 5}, {"trap": True}]):
        np.testing.assert_array_equal(routes(graph, options=options)["top"], plain["top"])


def test_columns_in_other_units_and_lists_of_names() -> None:
    case = drawn(8)
    plain = routes(case.graph())
    names = np.array([*case.columns["kind"][:-1], "0 first of all"], object)
    leaves = case.columns["leaves"]
    for columns in ({"leaves": leaves.astype("M8[ns]")}, {"leaves": leaves.astype("M8[m]")},
                    {"leaves": leaves.astype(np.int64)}, {"kind": np.array(case.columns["kind"], str)}):
        found = routes(case.graph(**columns))
        for name in plain.fields:
            np.testing.assert_array_equal(found[name], plain[name])
    other = routes(case.graph(kind=names))
    want = run(parse_tree(ROUTES, "routes"), case.reference.with_columns(kind=names), {})
    np.testing.assert_array_equal(other["low"], want.fields["low"])


def test_names_of_different_columns_and_fields_are_compared() -> None:
    text = """program same(mine: category)
edge kind: category
edge other: category
vertex home: category
vertex n: int = count(kind == other or kind == u.home or home == mine for u -> self)
vertex first: category = min(other for u -> self, default = mine)
"""
    kind, other = ["b", "c", "b"], ["c", "c", "a"]
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], kind=kind, other=other)
    home = ["x", "b", "a"]
    want = run(parse_tree(text, "same"), drawn_reference(kind, other), {"mine": "x"}, {"home": np.array(home, object)})
    found = vlang.compile(text)(graph, mine="x", home=home)
    for name in ("n", "first"):
        np.testing.assert_array_equal(found[name], want.fields[name])
    assert found.types == {"home": "category", "n": "i32", "first": "category"}


def drawn_reference(kind: list[str], other: list[str]) -> RefGraph:
    return RefGraph(3, np.array([0, 1, 2]), np.array([1, 2, 0]),
                    {"kind": np.array(kind, object), "other": np.array(other, object)})


def test_a_name_that_nothing_has_is_a_warning_with_a_near_one() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], kind=["road", "rail"])
    count = vlang.compile('program p(k: category = "road")\nedge kind: category\n'
                          'vertex n: int = count(kind == "raod" or kind == k for u -> self)\n')
    assert count(graph).warnings == (
        'line 3: "raod" is the name of no category in this run, so nothing equals it: did you mean "road"?',)
    assert count(graph, k="tram").warnings[1] == \
        'k=\'tram\' is the name of no category in this run, so nothing equals it: there are "rail", "road"'
    assert count(graph)["n"].tolist() == [0, 1]


def test_what_binding_says() -> None:
    program = vlang.compile("program p(since: time, k: category)\nedge kind: category\nedge at: time\n"
                            "vertex x: bool = any(kind == k and at > since for u -> self)\nvertex home: category\n"
                            "vertex born: date\n")
    good: dict[str, Any] = {"kind": ["a", "b"], "at": np.array(["2024-05-01", "2024-05-02"], "M8[D]")}
    given = {"since": "2024-05-01", "k": "a", "home": ["x", "y"], "born": ["2000-01-01", "2001-02-03"]}

    def said(columns: dict[str, object], **changed: object) -> str:
        with pytest.raises(vlang.Error) as error:
            program(Graph.from_edges([0, 1], [1, 0], columns={**good, **columns}), **{**given, **changed})
        return str(error.value)

    assert program(Graph.from_edges([0, 1], [1, 0], columns=good), **given)["born"].dtype == "M8[D]"
    assert "holds numbers" in said({"kind": [1, 2]})
    assert "holds points in time" in said({"kind": good["at"]})
    assert "names of categories" in said({"at": good["kind"]})
    assert "fractions" in said({"at": [0.5, 1.0]})
    assert "no name in row 2" in said({"kind": np.array(["a", None], object)})
    assert "no time in row 1" in said({"at": np.array(["NaT", "2024-05-01"], "M8[s]")})
    assert "is no date of the calendar" in said({}, since="2024-02-30")
    assert "finer than the unit" in said({}, since="2024-02-03T00:00:00.5")
    assert "no whole number of the unit" in said({"at": good["at"].astype("M8[ns]") + np.timedelta64(1, "ns")})
    assert "array of names" in said({}, home=[1, 2])
    assert "name of a category" in said({}, k=3)
    assert "has a time of day" in said({}, born=["2000-01-01T01:00", "2001-02-03"])
    numbers = vlang.compile("program p\nedge at: i64\nvertex x: i64 = max(at for u -> self)\n")
    with pytest.raises(vlang.BindError, match=r"declare it as `edge at: date`"):
        numbers(Graph.from_edges([0, 1], [1, 0], columns=good))


def test_times_from_python() -> None:
    program = vlang.compile("program p(t: time)\nglobal x: time = t\nglobal n: i64 = t - \"1970-01-01\"\n")
    graph = Graph.from_edges([0], [1])
    noon = datetime(2024, 5, 1, 12)
    for value in (noon, noon.replace(tzinfo=UTC), "2024-05-01 12:00:00Z", np.datetime64("2024-05-01T12", "h"),
                  noon.replace(tzinfo=timezone(timedelta(hours=2))) + timedelta(hours=2), 1714564800):
        result = program(graph, t=value)
        assert result["x"] == np.datetime64(noon)
        assert result["n"] == 1714564800
    assert program(graph, t=date(2024, 5, 1))["x"] == np.datetime64("2024-05-01")
    assert np.isnat(program(graph, t=float("inf"))["x"])


@pytest.mark.parametrize("type_", UNITS)
def test_texts_of_times_are_those_of_numpy(type_: str) -> None:
    rng = np.random.default_rng(7)
    unit = UNITS[type_]
    for value in rng.integers(-(2**31), 2**31, 40) * {"D": 1, "s": 40}.get(unit, 2**31 if unit == "ns" else 1000):
        moment = np.array([value], f"M8[{unit}]")[0]
        if -5000 < moment.astype("M8[Y]").astype(int) + 1970 <= 9999 and str(moment)[0] not in "-0":
            assert time_of(str(moment), type_) == int(value), moment


def test_results_show_names_and_times(tmp_path: Path) -> None:
    result = routes(drawn(4).graph())
    rows = result.top(3, by="here", largest=False)
    assert isinstance(rows[0]["here"], str)
    assert rows[0]["here"].startswith("2024-0")
    assert isinstance(rows[0]["mode_"], str)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again["low"], result["low"])
    for suffix in ("csv", "json", "npz"):
        result.save(tmp_path / f"r.{suffix}")
    listed = json.loads((tmp_path / "r.json").read_text())
    assert listed["fields"]["low"] == result["low"].tolist()
    shown = [None if np.isnat(t) else str(t) for t in result["here"]]
    assert listed["fields"]["here"] == shown
    with np.load(tmp_path / "r.npz") as archive:
        np.testing.assert_array_equal(archive["here"], result["here"])
        assert archive["low"].tolist() == result["low"].tolist()
    assert (tmp_path / "r.csv").read_text().count("2024-") >= sum(one is not None for one in shown)


def test_derived_graphs_keep_names() -> None:
    case = drawn(11)
    graph = case.graph()
    routes(graph, avoid="z")
    for other in (graph.reverse(), graph.simple(), graph.subgraph(np.arange(graph.n - 1)), graph.plain(),
                  pickle.loads(pickle.dumps(graph)), routes(graph).graph, graph.largest_component()):
        assert other is not None
        shown = other.to_pandas()
        known = set(zip(case.src.tolist(), case.dst.tolist(), case.columns["kind"], case.columns["leaves"]))
        swapped = {(v, u, *rest) for u, v, *rest in known}
        assert set(zip(shown.source, shown.target, shown.kind.astype(str), shown.leaves.to_numpy())) <= known | swapped
        routes(other)
    changed = graph.changed(added={"src": [0], "dst": [1], "kind": ["0 new"], "open": [True],
                                   "leaves": [np.datetime64("2024-05-01T03:00")]})
    again = Graph.from_edges([*case.src, 0], [*case.dst, 1], n=case.n, columns={
        "kind": [*case.columns["kind"], "0 new"], "open": [*case.columns["open"], True],
        "leaves": np.array([*case.columns["leaves"], np.datetime64("2024-05-01T03:00")], "M8[s]")})
    for name in ("low", "mode_", "here"):
        np.testing.assert_array_equal(routes(changed)[name], routes(again)[name])


def test_archives_keep_names_and_units(tmp_path: Path) -> None:
    graph = drawn(12).graph()
    graph.save(tmp_path / "g.npz")
    again = Graph.read(tmp_path / "g.npz")
    assert again.kinds == graph.kinds
    np.testing.assert_array_equal(routes(again)["low"], routes(graph)["low"])
    with np.load(tmp_path / "g.npz") as archive:
        arrays = dict(archive)
    assert arrays["unit.leaves"] == "s"
    for name, value in (("names.kind", arrays["names.kind"][::-1]), ("names.kind", arrays["names.kind"][:1]),
                        ("unit.leaves", np.array("h"))):
        if name == "unit.leaves" or len(arrays["names.kind"]) > 1:
            np.savez(tmp_path / "bad.npz", **{**arrays, name: value})
            with pytest.raises(vlang.GraphError, match=r"column `(kind|leaves)`"):
                Graph.read(tmp_path / "bad.npz")


def test_resume_goes_on_with_the_same_names() -> None:
    text = """program first(source: vertex, avoid: category)
edge kind: category
edge at: time
vertex here: time = "2024-05-01" if self == source else inf
repeat:
    gather next = min(at for u -> self if u.here <= at and kind != avoid)
    apply here = min(here, next)
"""
    first, day = vlang.compile(text), np.datetime64("2024-05-01", "D")
    graph = Graph.from_edges([0, 1], [1, 2], kind=["a", "b"], at=[day + 1, day + 3])
    found = first(graph, source=0, avoid="x")
    more = {"src": [0], "dst": [2], "kind": ["a"], "at": np.array([day + 2])}
    again = first.resume(found, added=more)
    assert again["here"].tolist() == first(graph.changed(added=more), source=0, avoid="x")["here"].tolist()
    with pytest.raises(vlang.ResumeError, match="new names"):
        first.resume(found, added={**more, "kind": ["c"]})


def test_words_stay_names() -> None:
    program = vlang.compile("program category(time: float = 1)\nedge date: int = 2\nvertex category: float = time\n"
                            "fn time2(date: int) = date * 2\n")
    assert float(program(Graph.from_edges([0], [1]))["category"][0]) == 1.0


def test_texts_are_formatted_as_they_are() -> None:
    text = 'program p(k:category="a  # b",t :time[ ms ]=inf)\n\nvertex   x:bool=k=="a  # b"# no\n'
    assert format_text(text) == ('program p(k: category = "a  # b", t: time[ms] = inf)\n\n'
                                 'vertex x: bool = k == "a  # b"  # no\n')


def test_what_is_missing_is_named_by_its_type() -> None:
    graph = Graph.from_edges([0, 1], [1, 2])
    for declared in ("edge kind: category", "vertex kind: date"):
        of = declared.split()[-1]
        with pytest.raises(vlang.BindError, match=rf"needs the {declared.split()[0]} field `kind`.*\({of}\)"):
            vlang.compile(f"program p\n{declared}\nvertex x: int = 1\n")(graph)
