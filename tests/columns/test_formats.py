"""Columns of names, times and bools are read as written in every format, or an error gives the reason."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vlang
from tests.columns.drawn import ROUTES, Drawn, drawn
from tests.sample import sampled
from vlang import Graph
from vlang.runtime.graph.paged.in_memory import save

routes = vlang.compile(ROUTES)
TYPES = {"kind": "category", "leaves": "time", "open": "bool"}


def rows(graph: Graph) -> list[tuple[Any, ...]]:
    """Return the edges with their names and times, sorted."""
    shown = graph.to_pandas()
    return sorted(zip(shown.source.tolist(), shown.target.tolist(), shown.kind.astype(str),
                      shown.leaves.astype("int64"), shown.open.astype(int), strict=True))


def written(case: Drawn, path: Path, mark: str = ",") -> Path:
    """Return the edges as a text with a header."""
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=mark)
        writer.writerow(["source", "target", *case.columns])
        for number, row in enumerate(zip(case.src, case.dst, *case.columns.values(), strict=True)):
            *ends, kind, leaves, is_open = row
            text = str(leaves)[: 16 if number % 3 == 1 else None].replace("T", " " if number % 2 else "T")
            writer.writerow([*ends, kind, f"{text}{'Z' if number % 5 == 0 else ''}", ["false", "TRUE"][int(is_open)]])
    return path


def texts(case: Drawn, folder: Path) -> Iterator[Graph]:
    for name, mark in (("e.csv", ","), ("e.tsv", "\t"), ("e.csv.gz", ";")):
        yield Graph.read(written(case, folder / name, mark), columns=TYPES, vertices=case.n)


def stored(case: Drawn, folder: Path) -> Iterator[Graph]:
    graph = case.graph()
    for name in ("g.npz", "g.vg"):
        graph.save(folder / name)
        yield Graph.read(folder / name)
    yield Graph.open(folder / "g.vg")
    graph.save(folder / "ids.vg", layout="ids")
    yield Graph.read(folder / "ids.vg")


def tables(case: Drawn, folder: Path) -> Iterator[Graph]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    frame = pandas.DataFrame({"source": case.src, "target": case.dst, **case.columns})
    coded = frame.assign(kind=frame.kind.astype("category"))
    yield Graph.from_edges(frame, columns=["kind", "leaves", "open"], vertices=case.n)
    yield Graph.from_edges(coded, vertices=case.n)
    plain = polars.DataFrame({"source": case.src, "target": case.dst, "kind": case.columns["kind"].tolist(),
                              "leaves": case.columns["leaves"].astype("M8[ms]"), "open": case.columns["open"]})
    yield Graph.from_edges(plain, columns=TYPES, vertices=case.n)
    yield Graph.from_edges(plain.with_columns(polars.col("kind").cast(polars.Categorical)), vertices=case.n)
    parquet.write_table(arrow.Table.from_pandas(frame), folder / "e.parquet", row_group_size=16)
    yield Graph.read(folder / "e.parquet", columns=TYPES, vertices=case.n)
    feather.write_feather(coded, str(folder / "e.arrow"))
    yield Graph.read(folder / "e.arrow", vertices=case.n)


@pytest.mark.parametrize("source", [texts, stored, tables])
@pytest.mark.parametrize("seed", sampled([3, 17], [3]))
def test_a_run_is_the_same_on_every_format(source: Callable[[Drawn, Path], Iterator[Graph]], seed: int,
                                           tmp_path: Path) -> None:
    case = drawn(seed)
    want = routes(case.graph())
    for graph in source(case, tmp_path):
        found = routes(graph)
        for name in want.fields:
            np.testing.assert_array_equal(found[name], want[name], err_msg=f"{name} of {graph.notes}")


_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=6).filter(
    lambda name: name.lower() not in ("-", "na", "nan", "null", "none", "+nan", "-nan") and not name.startswith("#"))
_TIMES = st.integers(-(10**9), 4 * 10**9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(st.tuples(_NAMES, _TIMES, st.booleans()), min_size=1, max_size=12))
def test_any_names_and_times_go_round(cells: list[tuple[str, int, bool]], tmp_path: Path) -> None:
    names, times, opened = zip(*cells, strict=True)
    ends = np.arange(len(cells))
    columns = {"kind": np.array(names, object), "leaves": np.array(times, "M8[s]"), "open": np.array(opened)}
    case = Drawn(len(cells) + 1, ends, ends + 1, columns)
    want = rows(case.graph())
    case.graph().save(tmp_path / "a.npz")
    case.graph().save(tmp_path / "a.vg")
    for graph in (Graph.read(written(case, tmp_path / "a.csv"), columns=TYPES | {"leaves": "time"}),
                  Graph.read(tmp_path / "a.npz"), Graph.read(tmp_path / "a.vg"),
                  Graph.from_edges(case.graph().to_pandas())):
        have = rows(graph)
        assert [row[:3] for row in have] == [row[:3] for row in want]
        minutes = [row[3] // 60 for row in have]
        assert minutes == [row[3] // 60 for row in want]
        assert [row[4] for row in have] == [row[4] for row in want]


def test_streamed_pages_are_read_by_the_names_of_a_run(tmp_path: Path) -> None:
    """Pages on disk are read correctly if the run has further names or another unit of time, so that the codes of the
    run differ from the codes in the file.
    """
    rng = np.random.default_rng(5)
    n, m = 2000, 500_000
    names = np.array(["b", "d", "f"], object)
    columns = {"kind": names[rng.integers(0, 3, m)], "leaves": np.datetime64("2024-05-01", "D") + rng.integers(0, 9, m),
               "open": rng.random(m) < 0.5}
    graph = Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), n=n, columns=columns)
    save(graph, tmp_path / "g.vg", layout="degree", disks=(), page_bytes=1 << 16)
    text = """program p(k: category)
edge kind: category
edge leaves: time[ms]
vertex home: category
vertex same: int = count(kind == home or kind == k for u -> self)
vertex least: category = min(kind for u -> self if leaves > "2024-05-04T12:00", default = "c")
"""
    program, home = vlang.compile(text), np.array(["a", "b", "e"], object)[rng.integers(0, 3, n)]
    want = program(graph, home=home, k="f")
    found = program(Graph.open(tmp_path / "g.vg"), home=home, k="f", memory="7M")
    assert "streamed" in found.placement
    for name in want.fields:
        np.testing.assert_array_equal(found[name], want[name])


MISTAKES = {
    "no time": ("1,2,road,yesterday,true", "line 3: 'yesterday' in column 4 (leaves) is no time: times are written"),
    "no date": ("1,2,road,2024-02-30,true", "line 3: '2024-02-30' in column 4 (leaves) is no date of the calendar"),
    "finer": ("1,2,road,2024-02-03T00:00:00.25,true", "is finer than the unit of `time`: declare a `time[ms]`"),
    "zone": ("1,2,road,2024-02-03T00:00:00+02:00,true", "is no time: times are written"),
    "no name": ("1,2,NA,2024-02-03,true", "line 3: column 3 (kind) has no number, only 'NA'"),
    "no bool": ("1,2,road,2024-02-03,maybe", "line 3: 'maybe' in column 5 (open) is no truth value"),
    "only hour": ("1,2,road,2024-02-03T05,true", "is no time"),
    "today": ("1,2,road,today,true", "is no time"),
}


@pytest.mark.parametrize(("row", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_cell_names_its_line(row: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text(f"source,target,kind,leaves,open\n0,1,rail,2024-01-01,false\n{row}\n2,3,road,2024-01-01,true\n")
    with pytest.raises(vlang.GraphError) as error:
        Graph.read(file, columns=TYPES)
    assert said in str(error.value)
    assert "expected:" in str(error.value)


def test_rows_without_a_name_are_dropped_if_asked(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("source,target,kind\n0,1,b\n1,2,\n2,3,a\n3,4,NA\n")
    graph = Graph.read(file, columns={"kind": "category"}, missing="drop")
    assert graph.m == 2
    assert graph.to_pandas().kind.tolist() == ["b", "a"]
    with pytest.raises(vlang.GraphError, match="line 3"):
        Graph.read(file, columns={"kind": "category"}, missing=1)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"source": [0, 1], "target": [1, 2], "kind": ["a", None]})
    assert Graph.from_edges(frame, columns=["kind"], missing="drop").m == 1
    with pytest.raises(vlang.GraphError, match="no value in row 2"):
        Graph.from_edges(frame, columns=["kind"])


def test_integers_count_the_unit_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("source,target,at\n0,1,86400\n1,2,90000\n")
    program = vlang.compile("program p\nedge at: time\nvertex x: time = max(at for u -> self)\n")
    assert program(Graph.read(file, columns={"at": "time"}))["x"].tolist()[1:] == \
        np.array(["1970-01-02", "1970-01-02T01"], "M8[s]").tolist()


def test_columns_of_unknown_types_are_refused(tmp_path: Path) -> None:
    file = written(drawn(1), tmp_path / "e.csv")
    with pytest.raises(vlang.GraphError, match="the type of a column is one of number, bool, category"):
        Graph.read(file, columns={"kind": "text"})


def test_vertex_tables_have_names_and_times(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    program = vlang.compile("program p\nvertex home: category\nvertex born: date\nvertex ok: bool\n"
                            'vertex n: int = count(u.home == home and u.born > "2000-06-01" and u.ok for u -> self)\n')
    case = drawn(6)
    table = pandas.DataFrame({"id": np.arange(case.n)[::-1], "home": [f"h{i % 3}" for i in range(case.n)],
                              "born": pandas.Timestamp("2000-05-04") + pandas.to_timedelta(np.arange(case.n) * 9, "D"),
                              "ok": [i % 4 > 0 for i in range(case.n)]})
    want = program(case.graph(), **{name: table[name].to_numpy()[::-1] for name in ("home", "born", "ok")})
    table.assign(born=table.born.dt.strftime("%Y-%m-%d")).to_csv(tmp_path / "v.csv", index=False)
    frame = pandas.DataFrame({"source": case.src, "target": case.dst})
    frame.to_csv(tmp_path / "e.csv", index=False)
    lists = Graph.read(tmp_path / "e.csv", vertices=tmp_path / "v.csv")
    for graph in (Graph.from_edges(frame, vertices=table), lists):
        found = program(graph)
        for name in want.fields:
            np.testing.assert_array_equal(found[name], want[name])


def test_damaged_names_of_a_page_file_are_refused(tmp_path: Path) -> None:
    from vlang.runtime.storage.page_file.form import ColumnInfo, Section
    from vlang.runtime.storage.page_file.named import kinds_from

    columns = {"kind": ColumnInfo(np.dtype(np.uint8), 0, 2), "x": ColumnInfo(np.dtype(np.float32), 0, 2)}
    for section, text in ((Section.DICTIONARIES, '{"kind":["a","b"]}'),
                          (Section.DICTIONARIES, '{"kind":["b","a","c"]}'),
                          (Section.DICTIONARIES, '{"x":["a","b","c"]}'), (Section.DICTIONARIES, '{"y":["a"]}'),
                          (Section.DICTIONARIES, "["), (Section.TIME_UNITS, '{"kind":"h"}'),
                          (Section.DICTIONARIES, '{"kind":3}'), (Section.TIME_UNITS, '{"x":"s"}')):
        with pytest.raises(ValueError, match=r"names|columns|unit"):
            kinds_from({section: text.encode()}, columns)
