"""Tables on the command line: Parquet files as graphs, tables and lists of vertices."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import vlang as vlang_module
from tests.cli.conftest import Call
from tests.graph.test_frames import SALES
from vlang.errors import GraphError
from vlang.runtime.graph.graph import Graph


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(pa.table(SALES), "sales.parquet")
    return tmp_path


def test_parquet(vlang: Call, here: Path) -> None:
    options = ("--source-column", "buyer", "--target-column", "seller")
    done = vlang("run", "sssp", "sales.parquet", "source=ann", *options, "--weights", "amount", "--memory", "1G")
    assert done.status == 0
    assert "sssp on sales.parquet needs about" in done.err
    assert "Not needed, so not read: columns day" in done.err
    assert done.out.split() == ["vertex", "dist", "ann", "0", "cy", "1", "bob", "5"]
    warned = vlang("run", "sssp", "sales.parquet", "source=ann", *options)
    assert 'with --weights amount' in warned.err
    assert vlang("convert", "sales.parquet", "sales.vg", *options, "--memory", "64M").status == 0
    assert Graph.read("sales.vg").m == 3
    (here / "empty").mkdir()
    assert "this is a directory" in vlang("info", "empty").err


def test_without_the_library(vlang: Call, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = vlang("info", "sales.parquet")
    assert done.status == 1
    assert done.err == "error: sales.parquet, a file of Parquet or Arrow, needs pyarrow: pip install 'vlang[arrow]'\n"


AGES = """program ages
vertex age: i32
vertex total: i32 = 7
vertex boss: vertex = none
gather s = sum(u.age for u -> self, default = 0)
apply total = s
"""
PEOPLE = "id,age,city,total\nbob,35,1,0\nann,41,2,0\ndee,60,3,0\ncy,28,4,0\n"


@pytest.fixture
def people(here: Path) -> tuple[str, ...]:
    """Write a program, edges, and a table of vertices as text and as Parquet. Return the arguments of a run."""
    Path("ages.vp").write_text(AGES)
    Path("edges.csv").write_text("source,target\nann,bob\nann,cy\nbob,cy\n")
    Path("people.csv").write_text(PEOPLE)
    pa.parquet.write_table(pa.csv.read_csv("people.csv"), "people.parquet")
    return ("run", "ages.vp", "edges.csv", "--top", "4")


@pytest.mark.parametrize("table", ["people.csv", "people.parquet"])
def test_a_table_of_vertices_gives_fields(vlang: Call, people: tuple[str, ...], table: str) -> None:
    done = vlang(*people, "--vertices", table)
    assert done.status == 0
    rows = {line.split()[0]: line.split()[1:3] for line in done.out.splitlines()[1:]}
    assert rows == {"ann": ["41", "0"], "bob": ["35", "41"], "cy": ["28", "76"], "dee": ["60", "0"]}
    assert f"{table}: vertex fields from its columns: age; not used: city\n" in done.err
    assert "warning: vertex field `total` begins with the value in the program, and not with the column of " \
        f"{table}; --field total={table}:total (total=...) gives it the column" in done.err
    given = vlang(*people, "--field", f"age={table}:city")
    assert {line.split()[0]: line.split()[1] for line in given.out.splitlines()[1:]} == \
        {"ann": "2", "bob": "1", "cy": "4"}
    assert f"{table}: not used: 1 row, of vertices that the graph does not have" in given.err
    assert vlang(*people, "--field", f"age={table}").out.splitlines()[1].split()[0] in ("ann", "bob", "cy")


@pytest.mark.parametrize("output", ["g.vg", "g.npz"])
def test_graph_files_have_no_vertex_columns(vlang: Call, people: tuple[str, ...], output: str) -> None:
    done = vlang("convert", "edges.csv", output, "--vertices", "people.csv")
    assert "people.csv: its ids are stored, and not its columns age, city, total; a run on the file takes them by " \
        "--field age=people.csv:age" in done.err
    again = vlang("run", "ages.vp", output, "--field", "age=people.csv:age", "--field", "boss=people.csv:id")
    assert "there is no column 'id' of values" in again.err
    assert vlang("run", "ages.vp", output, "--field", "age=people.csv:age").status == 0


def test_standard_input_once(vlang: Call, here: Path) -> None:
    assert "standard input (-) can be read once" in vlang("run", "ppr", "-", "seeds=@-").err


def test_a_table_of_vertices_in_python(people: tuple[str, ...]) -> None:
    program = vlang_module.load("ages.vp")
    frame = pd.read_csv("people.csv").rename(columns={"id": "user"})
    for vertices in (frame, pa.Table.from_pandas(frame).to_reader()):
        graph = Graph.from_edges(pd.read_csv("edges.csv"), vertices=vertices, id="user", parallel="drop")
        assert graph.vertex_columns is not None
        assert list(graph.vertex_columns.names)[:3] == ["age", "city", "total"]
        assert program(graph)["total"].tolist() == [0, 41, 76, 0]
        assert len(program(graph).warnings) == 1
        assert not program(graph, total=[1, 1, 1, 1]).warnings
        assert program(graph, age=[1, 1, 1, 1])["total"].tolist() == [0, 1, 2, 0]
    read = Graph.read("edges.csv", vertices="people.csv")
    assert program(read)["total"].tolist() == [0, 41, 76, 0]
    Path("people.csv").write_text(PEOPLE + "eve,1,1,1\n")
    with pytest.raises(GraphError, match="the file has changed since the graph was read"):
        program(read)


@pytest.mark.parametrize(("content", "option", "message"), [
    ("id,age\nann,1\nbob,2\n", "--field=age=t.csv:age", "t.csv: has no row for 1 vertex of the graph, such as 'cy'"),
    ("id,age\nann,1\nbob,2\nbob,3\ncy,1\n", "--field=age=t.csv:age", "t.csv: has more than one row for 1 vertex"),
    ("id,age\n1,1\n2,2\n", "--field=age=t.csv:age", "t.csv: the ids are integers, such as 1, and those of the graph"),
    ("id,age\nann,x\nbob,2\ncy,3\n", "--field=age=t.csv:age", "t.csv, line 2: 'x' in column 2 (age) is not a number"),
    ("id,age\nann,\nbob,2\ncy,3\n", "--field=age=t.csv:age", "t.csv, line 2: column 2 (age) is empty"),
    ("id,age\nann,1\nbob,2\ncy,3\n", "--field=age=t.csv:years", "t.csv: there is no column 'years' of values"),
    ("id,years\nann,1\nbob,2\ncy,3\n", "--vertices=t.csv", "ages needs the vertex field `age` (i32)"),
    ("id,age\nann,1.5\nbob,2\ncy,3\n", "--vertices=t.csv", "`age` is an array of whole numbers (i32)"),
])  # fmt: skip
def test_mistakes_in_tables(
    vlang: Call, people: tuple[str, ...], content: str, option: str, message: str
) -> None:
    Path("t.csv").write_text(content)
    done = vlang(*people, option)
    assert done.status in (1, 2)
    assert message in done.err
    assert "--missing" not in done.err


def test_a_list_of_vertices_from_a_file(vlang: Call, here: Path) -> None:
    Path("seeds.txt").write_text("1\n34\n")
    pa.parquet.write_table(pa.table({"id": [34, 1]}), "seeds.parquet")
    wanted = vlang("run", "ppr", "karate", "seeds=1,34", "--quiet", "--top", 34).out
    for name in ("seeds.txt", "seeds.parquet"):
        assert vlang("run", "ppr", "karate", f"seeds=@{name}", "--quiet", "--top", 34).out == wanted
    Path("more.txt").write_text("1\n99\n")
    assert "`seeds`: more.txt: 1 of 2 ids are not in the graph, such as 99" in vlang(
        "run", "ppr", "karate", "seeds=@more.txt").err
    gone = vlang("run", "ppr", "karate", "seeds=@gone.txt")
    assert gone.status == 2
    assert "`seeds`: there is no file gone.txt, which seeds=@gone.txt names" in gone.err
    Path("named.csv").write_text("source,target\n@ann,bob\nbob,@ann\n")
    assert vlang("run", "ppr", "named.csv", "seeds=@ann", "--quiet", "--top", 1).status == 0
    assert "there is no file @eve" not in (err := vlang("run", "ppr", "named.csv", "seeds=@eve").err)
    assert "there is no file eve, which seeds=@eve names, and no vertex @eve" in err
