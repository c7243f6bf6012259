"""`vlang run`: tables, files, parameters, options, and the stream of each message."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Call
from tests.sample import sampled
from vlang import DiskError, Graph, load, stdlib
from vlang.options import OPTIONS
from vlang.runtime.results import outcomes

ROADS = "from,to,weight\nUlm,Augsburg,83\nAugsburg,Munich,80\nUlm,Munich,200\nHamburg,Bremen,126\n"


@pytest.fixture
def roads(tmp_path: Path) -> Path:
    path = tmp_path / "roads.csv"
    path.write_text(ROADS)
    return path


def test_a_table_on_stdout_and_the_rest_on_stderr(vlang: Call) -> None:
    done = vlang("run", "bfs", "karate", "source=1", "--top", 3)
    assert done.status == 0
    assert done.out == "vertex  depth\n     1      0\n     2      1\n     3      1\n"
    assert "undirected, 34 vertices" in done.err
    assert "round 1: " in done.err
    assert "converged: no vertex is active" in done.err
    assert "the first 3 of 34 vertices" in done.err


def test_quiet(vlang: Call, tmp_path: Path) -> None:
    done = vlang("run", "bfs", "karate", "source=1", "--quiet")
    assert done.err == ""
    assert done.out.count("\n") == 11
    assert vlang("run", "bfs", "karate", "source=1", "--quiet", "--max-rounds", 1).err == ""
    path = tmp_path / "never.vp"
    path.write_text("program p\nvertex x: int = 0\nrepeat until all(v.x == 2 for v in vertices):\n    apply x = 1\n")
    done = vlang("run", path, "karate", "--quiet")
    assert done.err == "warning: not converged: nothing changes any more, and `until` does not hold\n"


def test_vertices_as_the_file_names_them(vlang: Call, roads: Path) -> None:
    done = vlang("run", "sssp", roads, "source=Ulm", "-o", "-", "-q")
    assert done.out == "vertex,dist\nAugsburg,83.0\nBremen,\nHamburg,\nMunich,163.0\nUlm,0.0\n"


def test_a_target(vlang: Call, roads: Path) -> None:
    done = vlang("run", "sssp", roads, "source=Ulm", "--target", "Augsburg", "--threads", 1)
    assert done.out == "dist of Augsburg = 83.0\nvertex    dist\nUlm          0\nAugsburg    83\n"
    assert "not converged: stopped at its target: 2 of 5 vertices have final values" in done.err
    done = vlang("run", "sssp", roads, "source=Ulm", "--target", "Augsburg", "-q", "-o", "-")
    assert (done.out, done.err) == ("vertex,dist\nAugsburg,83.0\nUlm,0.0\n", "dist of Augsburg = 83.0\n")
    for words, why in ((("--target", "Rome"), "`--target`: vertex 'Rome' is not in the graph"),
                       (("--target", "Ulm", "--verify"), "--verify compares whole results"),
                       (("--target", "Ulm", "--max-rounds", 2), "max_rounds says how supersteps run")):
        done = vlang("run", "sssp", roads, "source=Ulm", *words, "-q")
        assert done.status != 0
        assert why in done.err


def test_every_format(vlang: Call, roads: Path, tmp_path: Path) -> None:
    for suffix in ("csv", "json", "npz"):
        done = vlang("run", "sssp_tree", roads, "source=Ulm", "-o", tmp_path / f"r.{suffix}")
        assert (done.status, done.out) == (0, "")
        assert f"r.{suffix}: 5 rows" in done.err
    assert (tmp_path / "r.csv").read_text().splitlines()[4] == "Munich,163.0,Augsburg"
    got = json.loads((tmp_path / "r.json").read_text())
    assert got["fields"]["parent"] == ["Ulm", None, None, "Augsburg", "Ulm"]
    with np.load(tmp_path / "r.npz") as archive:
        assert archive["parent"].tolist() == ["Ulm", "", "", "Augsburg", "Ulm"]


def test_json_on_stdout(vlang: Call, tmp_path: Path) -> None:
    done = vlang("run", "bfs", "path:4", "source=1", "--directed", "--json")
    got = json.loads(done.out)
    assert got["vertex"] == [0, 1, 2, 3]
    assert got["program"] == "bfs"
    assert got["converged"] is True
    done = vlang("run", "bfs", "path:4", "source=1", "--json", "-o", tmp_path / "r.csv")
    assert "vertex" not in json.loads(done.out)
    assert (tmp_path / "r.csv").exists()


def test_a_global_is_shown(vlang: Call, tmp_path: Path) -> None:
    program = tmp_path / "p.vp"
    program.write_text("program p\nvertex x: int = outdegree\nglobal total: i64 = sum(v.x for v in vertices)\n")
    done = vlang("run", program, "karate", "--top", 1)
    assert done.out.splitlines()[-1] == "total = 156"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sorce=1"], "bfs has no parameter `sorce`; did you mean `source`?"),
        (["depth"], "`depth` is not a parameter; write name=value with a name out of source"),
        (["source=1", "source=2"], "`source` is given twice"),
        (["source=[1, 2]"], "`source` is a single vertex; write source=1, or run the program for each vertex in "
                            "Python: program.map(graph, source=[1, 2])"),
        ([], "bfs needs `source` (vertex); write for example\n\n    vlang run bfs karate source=1"),
    ],
)
def test_wrong_parameters_are_usage(vlang: Call, words: list[str], message: str) -> None:
    done = vlang("run", "bfs", "karate", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["source=1", "S=1,2"], "p needs `target` (vertex) and `f` (f32[2]); write for example\n\n    "
                                "vlang run {} karate source=1 S=1,2 target=1 f=1,2,3"),
        (["f=4,5", "target=2", "S=1"], "p needs `source` (vertex); write for example\n\n    "
                                       "vlang run {} karate f=4,5 target=2 S=1 source=1"),
        (["source=1", "target=2", "f=1,5", "S=[1, '5']"], "`S`: a list has no brackets; write S=1,5"),
        (["source=1", "target=2", "f=(1,5)", "S=1"], "`f`: a list has no brackets; write f=1,5"),
    ],
)
def test_messages_keep_what_was_given(vlang: Call, tmp_path: Path, words: list[str], message: str) -> None:
    program = tmp_path / "p.vp"
    program.write_text("program p(source: vertex, target: vertex, S: vertices, f: float[2])\n"
                       "vertex x: float = f[0] if self == source or self == target or self in S else 0\n")
    done = vlang("run", program, "karate", *words)
    assert (done.status, done.out) == (2, "")
    assert message.format(program) in done.err


def test_a_value_of_a_table_that_does_not_fit(vlang: Call, tmp_path: Path) -> None:
    program, table, graph = tmp_path / "p.vp", tmp_path / "ages.csv", tmp_path / "edges.csv"
    graph.write_text("source,target\n0,1\n1,2\n")
    program.write_text("program p\nvertex age: int\nvertex older: int = count(u.age > age for u -- self)\n")
    for value, message in (("25.5", "25.5 of vertex 2; the type float holds it"),
                           ("3000000000", "3000000000 of vertex 2; the type i64 holds it")):
        table.write_text(f"id,age\n0,30\n2,{value}\n1,4\n")
        done = vlang("run", program, graph, "--vertices", table, "-q")
        assert done.status == 1
        assert f"{table}: `age` is an array of whole numbers (i32); some values do not fit, " \
               f"such as {message}" in done.err
    program.write_text("program p\nvertex age: float[4]\nvertex first: float = age[0]\n")
    done = vlang("run", program, graph, "--vertices", table, "-q")
    assert "a column has one value a vertex: give vectors as an array, such as --field age=FILE.npy" in done.err


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("a=abc", "`a` is an f32, and `abc` is none; write for example a=0.5"),
        ("b=1", "`b` is a bool, and `1` is none; write for example b=true"),
        ("k=1.5", "`k` is an i32, and `1.5` is none; write for example k=10"),
        ("u=inf", "`u` is a u8, and `inf` is none; write for example u=10"),
    ],
)
def test_wrong_values_are_usage(vlang: Call, tmp_path: Path, word: str, message: str) -> None:
    program = tmp_path / "p.vp"
    program.write_text("program p(a = 0.5, b = true, k: i32 = 1, u: u8 = 1)\nvertex x: float = a + k + u if b else 0\n")
    done = vlang("run", program, "karate", word)
    assert done.status == 2
    assert message in done.err


def test_values_of_every_type(vlang: Call, tmp_path: Path) -> None:
    program = tmp_path / "p.vp"
    program.write_text(
        "program p(a = 0.5, b = true, k: int = 1, v: vertex = none)\n"
        "vertex x: float = a if b else 0\nvertex y: int = k\nvertex z: bool = self == v\n"
    )
    done = vlang("run", program, "path:2", "a=inf", "b=false", "k=-inf", "v=1", "-o", "-", "-q")
    assert (done.status, done.err) == (0, "")
    assert done.out == "vertex,x,y,z\n0,0.0,,false\n1,0.0,,true\n"
    done = vlang("run", program, "path:2", "a=-2.5e-1", "k=0x10", "-o", "-", "-q")
    assert done.out == "vertex,x,y,z\n0,-0.25,16,false\n1,-0.25,16,false\n"


def test_a_vertex_that_is_not_there(vlang: Call, roads: Path) -> None:
    done = vlang("run", "bfs", "karate", "source=99")
    assert done.status == 1
    assert done.err.splitlines()[-1] == (
        "error: `source`: vertex 99 is not in the graph; its ids are integers from 1 to 34"
    )
    done = vlang("run", "bfs", roads, "source=Munch")
    assert done.err.splitlines()[-1].endswith("the nearest is 'Munich'")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "a program and a graph must be given"),
        (["bfs"], "a graph must be given; write for example\n\n    vlang run bfs karate"),
        (["bfs", "karate", "source=1", "-o", "r.xlsx"], "unknown format of `r.xlsx`; end it in .csv"),
        (["bfs", "karate", "source=1", "-o", "-", "--json"], "choose one"),
        (["bfs", "karate", "source=1", "--threads", "0"], "--threads"),
        (["bfs", "karate", "source=1", "--threads", "many"], "threads is a whole number from 1 on, not 'many'"),
        (["bfs", "karate", "source=1", "--precison", "64"], "--precision"),
    ],
)
def test_wrong_usage_says_what_to_write(vlang: Call, args: list[str], message: str) -> None:
    done = vlang("run", *args)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--research", "page_size=big"], "`big` is not a size; write for example 65536, 64K"),
        (["--research", "page_size=0"], "a size is at least one byte"),
        (["--research", "mode=pusch"], "mode is one of 'auto', 'pull', 'notify-pull', 'dual', 'push', not 'pusch'"),
        (["--research", "mode"], "write mode=auto|pull|notify-pull|dual|push"),
        (["--research", "moode=pull"], "there is no research option `moode`; did you mean `mode`?"),
        (["--research", "threads=2"], "`threads` is no research option; write --threads"),
        (["--research", "order=rounds"], "`order` is called `schedule` now"),
        (["--research", "asynchronous=yes"], "asynchronous is true or false, not `yes`"),
        (["--research", "mode=pull", "--research", "mode=push"], "`mode` is given twice"),
        (["--mode", "pull"], "--mode is a research option: write --research mode=auto|pull|notify-pull|dual|push"),
        (["--order", "rounds"], "--order is a research option: write --research schedule=auto|rounds|priority"),
        (["--check"], "--check is called --trap now"),
        (["--page-size=64K"], "--page-size is a research option: write --research page_size=BYTES"),
    ],
)
def test_research_options_say_what_to_write(vlang: Call, words: list[str], message: str) -> None:
    done = vlang("run", "bfs", "karate", "source=1", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_every_option_of_the_table_is_taken(vlang: Call) -> None:
    """The command line accepts every option of the table. Errors are about the value of an option, never about its
    name.
    """
    help_ = vlang("run", "--help").out
    for option in OPTIONS.values():
        if not option.command:
            assert option.flag not in help_
        elif option.research:
            done = vlang("run", "bfs", "karate", "--research", f"{option.name}=", "source=1")
            assert "no research option" not in done.err
            assert option.name in help_
        else:
            assert option.flag in help_


def test_unknown_program_graph_and_file(vlang: Call, tmp_path: Path) -> None:
    assert vlang("run", "pagerankk", "karate").err == (
        "error: there is no program file 'pagerankk', and no program of that name; did you mean `pagerank`?\n"
    )
    done = vlang("run", "pagerank", tmp_path / "nothing.txt")
    assert done.status == 1
    assert "nothing.txt" in done.err
    assert "Traceback" not in done.err


def test_the_disk_refuses_before_anything_is_read(vlang: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "r.csv").mkdir()
    for path, reason in (("no/r.csv", "there is no folder .*"), ("file/r.csv", ".* is not a folder"),
                         ("r.csv", "it is a folder")):  # fmt: skip
        done = vlang("run", "bfs", "karate", "source=1", "-o", tmp_path / path)
        assert done.status == 1
        assert re.fullmatch(rf"error: cannot write .*r\.csv: {reason}\n", done.err)
    refused = (("run", "bfs", "karate", "source=1", "-o", "/proc/r.csv"),
               ("run", "bfs", "karate", "source=1", "--plot", "/proc/r.csv.svg"),
               ("run", "bfs", "karate", "source=1", "--trace", "/proc/r.json"), ("convert", "karate", "/proc/r.vg"),
               ("convert", "karate", tmp_path / "r.vg", "--disks", "/proc"))
    for words in refused:  # a folder whose permissions allow new files, and that refuses them
        done = vlang(*words)
        assert done.status == 1
        assert re.fullmatch(r"error: cannot write /proc/r\..*: no file can be created in /proc\n", done.err), done.err
    done = vlang("run", "bfs", "karate", "source=1", "--checkpoint", "/proc/r")
    assert done.err == "error: cannot keep checkpoints in /proc/r: no folder can be created there\n"


def test_files_that_must_stay(vlang: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page file never replaces a device or a pipe, and a file without write permission is not replaced."""
    os.mkfifo(tmp_path / "pipe.vg")
    done = vlang("convert", "karate", tmp_path / "pipe.vg")
    assert (done.status, (tmp_path / "pipe.vg").is_fifo()) == (1, True)
    assert done.err.endswith("pipe.vg: it is not a regular file\n")
    (tmp_path / "kept.csv").write_text("kept")
    allowed = os.access  # for root, every file is writable
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "kept.csv" and allowed(path, mode))
    done = vlang("run", "degree", "karate", "-o", tmp_path / "kept.csv")
    assert (done.status, (tmp_path / "kept.csv").read_text()) == (1, "kept")
    assert done.err.endswith("kept.csv: the file is read-only\n")
    with pytest.raises(DiskError, match="the file is read-only"):
        load("degree")(Graph.read("karate")).save(tmp_path / "kept.csv")
    done = vlang("run", "degree", "karate", "-o", f"{tmp_path}/kept.csv/")
    assert done.err.endswith("kept.csv/: it is a file, not a folder\n")


@pytest.mark.parametrize("size", ["64", "1K", "64k", "1.5M", "2GiB"])
def test_page_sizes(vlang: Call, size: str) -> None:
    done = vlang("run", "bfs", "karate", "source=1", "-q", "--research", f"page_size={size}")
    assert done.status == 0


def test_options_of_the_run(vlang: Call) -> None:
    done = vlang("run", "bfs", "path:100", "source=0", "--max-rounds", 3, "--research", "mode=pull", "--threads", 1,
                 "--json")
    got = json.loads(done.out)
    assert (got["rounds"], got["converged"]) == (3, False)
    assert "as asked" in got["reason"]
    assert {row["mode"] for row in got["history"]} == {"pull"}
    done = vlang("run", "pagerank", "karate", "--precision", 64, "--json")
    assert len(repr(json.loads(done.out)["fields"]["rank"][0])) > 14


def test_rounds_of_a_range(vlang: Call, tmp_path: Path) -> None:
    """`max_rounds` bounds a `for` over a range of any length."""
    program = tmp_path / "long.vp"
    program.write_text("program long\nvertex x: int = 0\nfor i from 0 to 9223372036854775806:\n    apply x = x + 1\n")
    done = vlang("run", program, "path:5", "--max-rounds", 3, "--json")
    got = json.loads(done.out)
    assert (done.status, got["rounds"], got["converged"], got["fields"]["x"]) == (0, 3, False, [3] * 5)
    assert got["reason"] == "stopped after 3 rounds, as asked"
    assert [(row["loop"], row["round"], row["active"]) for row in got["history"]] == [(0, 1, 5), (0, 2, 5), (0, 3, 5)]
    assert "round 2: 5 active, pull, 0 edges\n" in done.err
    assert "3 rounds, not converged: stopped after 3 rounds, as asked" in done.err


def test_options_of_the_reader(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "e.txt"
    path.write_text("1 2\n1 2\n2 3\n3 3\n")
    assert vlang("run", "bfs", path, "source=3", "-o", "-", "-q").out == "vertex,depth\n1,\n2,\n3,0\n"
    for option in ("--undirected", "--symmetrize"):
        assert vlang("run", "bfs", path, "source=3", "-o", "-", "-q", option).out == "vertex,depth\n1,2\n2,1\n3,0\n"
    got = json.loads(vlang("run", "bfs", path, "source=1", "--json", "--self-loops", "drop", "--parallel", "drop").out)
    assert (got["vertices"], got["edges"]) == (3, 2)


def test_weights_by_rule(vlang: Call) -> None:
    done = vlang("run", "sssp", "path:3", "source=0", "--weights", "5..5", "-o", "-", "-q")
    assert done.out == "vertex,dist\n0,0.0\n1,5.0\n2,10.0\n"


def test_fields_from_files_and_numbers(vlang: Call, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1, 2, 3], np.float32))
    output = tmp_path / "y.npz"
    done = vlang("run", "spmv", "path:3", "--field", f"x={tmp_path / 'x.npy'}", "-o", output, "-q")
    assert done.status == 0, done.err
    with np.load(output) as got:
        assert got["y"].tolist() == [0, 1, 2]
    done = vlang("run", "spmv", "path:3", "--field", f"x={output}", "-q", "-o", "-")
    assert done.out == "vertex,x,y\n0,1.0,0.0\n1,2.0,1.0\n2,3.0,2.0\n"
    assert vlang("run", "spmv", "path:3", "--field", "x=1", "-q", "-o", "-").out.splitlines()[2] == "1,1.0,1.0"


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        ([], 2, "spmv needs the vertex field `x` (f32); write --field x=FILE.npy"),
        (["--field", "x"], 2, "write --field NAME=FILE.npy or --field NAME=NUMBER"),
        (["--field", "z=1"], 2, "spmv has no vertex field `z`; it has x, y"),
        (["--field", "x=warm"], 2, "`warm` is neither a .npy or .npz file, nor FILE:COLUMN, nor one value of type f32"),
        (["--field", "x=none.npy"], 1, "cannot read none.npy: no such file or directory"),
        (["--field", "x=short.npy"], 1, "short.npy: `x` has shape (2,); the graph has 34 vertices"),
        (["--field", "x=text.npy"], 1, "text.npy is not a NumPy file of plain numbers"),
        (["--field", "x=other.npz"], 1, "other.npz has no array `x`; it has y"),
        (["--field", "x=ids.npz"], 1, "ids.npz was written for a graph with other vertices"),
    ],
)
def test_wrong_fields(
    vlang: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str], status: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("short.npy", np.zeros(2))
    Path("text.npy").write_text("1 2 3")
    np.savez("other.npz", y=np.zeros(34))
    np.savez("ids.npz", x=np.zeros(34), vertex=np.arange(34))
    done = vlang("run", "spmv", "karate", *args)
    assert done.status == status
    assert message in done.err


def test_a_program_with_mistakes(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "p.vp"
    path.write_text("program p\nvertex x: int = y\n")
    done = vlang("run", path, "karate")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[V101]: ")
    assert f"--> {path}:2:17" in done.err


def test_help_of_a_program(vlang: Call) -> None:
    done = vlang("run", "kcore_members", "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("kcore_members: Which vertices are in the k-core")
    assert re.search(r"k: \w+ +required", done.out)
    assert "Example: vlang run kcore_members karate k=3" in done.out
    assert "--research NAME=VALUE" in done.out
    done = vlang("run", "sssp", "--help")
    assert re.search(r"weight: \w+ +optional", done.out)
    assert re.search(r"--field x=... +f32, required", vlang("run", "spmv", "--help").out)
    assert "default 0.85" in vlang("run", "pagerank", "-h").out
    assert vlang("run", "--help").status == 0
    assert vlang("run", "no_such", "--help").status == 1


VERIFIED = (
    (["bfs", "source=1"], 10, "changes nothing"), (["components"], 11, "changes nothing"),
    (["coloring"], 13, "changes nothing"), (["mis"], 15, "changes nothing"),
    (["pagerank"], 15, "stays within its tolerance"), (["katz"], 11, "stays within its tolerance"),
)


@pytest.mark.parametrize(("words", "line", "does"), sampled(VERIFIED, VERIFIED[::4]))
def test_verify(vlang: Call, tmp_path: Path, words: list[str], line: int, does: str) -> None:
    """`--verify` chooses its checks by the properties of the program: a copy under another name gets the same checks.
    """
    copy = tmp_path / "mine.vp"
    text = stdlib.source(words[0])
    copy.write_text(re.sub(rf"^program {words[0]}\b", "program mine", text, count=1, flags=re.MULTILINE))
    assert "program mine" in copy.read_text()
    said = []
    for name in (words[0], copy):
        done = vlang("run", name, "karate", *words[1:], "--verify", "-q")
        assert done.status == 0, done.err
        said.append(done.err)
    assert said[0] == said[1]
    assert "verified: the same bits with 1 thread" in said[0]
    assert said[0].endswith(f"\nverified: one more superstep of the loop in line {line} {does}\n")


def test_verify_says_what_a_tolerance_leaves_open(vlang: Call, tmp_path: Path) -> None:
    """A loop with a tolerance may stop before it converges. `--verify` does not report this as an error, because the
    program requests the tolerance.
    """
    program = tmp_path / "creep.vp"
    program.write_text("program creep\nvertex x: float = 0\nvertex y: float = 0\n"
                       "repeat until max(abs(change(v.y)) for v in vertices) < 1:\n"
                       "    apply y = 100 if x > 1 else 0\n    apply x = x + 1\n")
    done = vlang("run", program, "karate", "--verify", "-q")
    assert done.status == 0, done.err
    assert "not verified: one more superstep of the loop in line 4 exceeds its tolerance again" not in done.err
    program.write_text(program.read_text().replace("x > 1", "x > 0"))
    done = vlang("run", program, "karate", "--verify", "-q")
    assert "not verified: one more superstep of the loop in line 4 exceeds its tolerance again" in done.err


def test_verify_finds_what_is_no_fixpoint(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """If two partitions give the same wrong result, one more superstep shows that the result is wrong."""
    plain = outcomes.result_of

    def wrong(*given: Any) -> Any:
        result = plain(*given)
        result._raw["depth"] = result._raw["depth"].copy()
        result._raw["depth"][5] += 1
        return result

    monkeypatch.setattr("vlang.api.running.run_call.result_of", wrong)
    done = vlang("run", "bfs", "karate", "source=1", "--verify", "-q")
    assert done.status == 70
    assert "`depth` of bfs is no fixpoint: one more superstep of the loop in line 10 changes it" in done.err


def test_chaos(vlang: Call) -> None:
    done = vlang("run", "components", "karate", "--chaos", 5, "--threads", 1, "-q", "--top", 1)
    assert done.status == 0, done.err
    first, loop = done.err.splitlines()
    assert re.fullmatch(r"chaos 5: the same with 1 thread, pages of \d+ bytes, contributions in random order", first)
    assert re.match(r"loop in line 11: A any order (\d+ times?|\(granted, not taken\)), P push", loop)


def test_chaos_finds_a_difference(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--chaos` shows the first vertex with a different value and possible causes, and the exit status is 1."""
    import vlang.api.chaos as chaos

    monkeypatch.setattr(chaos._Bound, "wrong", lambda _self, a, _b: a == a)
    done = vlang("run", "bfs", "karate", "source=1", "--chaos", 3, "-q")
    assert done.status == 1
    assert done.err.startswith("error: `depth` of vertex 1 is 0, and 0 with chaos 3. This is a bug in vlang: please ")
    assert "loop in line 10: A any order" in done.err


def test_chaos_is_for_the_cpu(vlang: Call) -> None:
    done = vlang("run", "bfs", "karate", "source=1", "--chaos", 3, "--device", "gpu")
    assert done.status == 2
    assert "chaos is for runs on the CPU; leave out the device, or chaos" in done.err


def test_verify_finds_a_difference(vlang: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the result differs with another partition, `--verify` reports a bug of vlang, and the exit status is 70."""
    import vlang.cli.verify as verify

    monkeypatch.setattr(verify, "_same_bits", lambda _a, _b: False)
    done = vlang("run", "bfs", "karate", "source=1", "--verify", "-q")
    assert done.status == 70
    assert "`depth` of bfs differs between two cuts of the same run" in done.err
    assert "report it" in done.err


def test_delta_form(vlang: Call) -> None:
    plain = vlang("run", "katz", "karate", "--top", 3)
    sent = vlang("run", "katz", "karate", "--top", 3, "--derive", "delta", "--verify")
    assert "verified: the same bits" in sent.err
    assert [row.split()[0] for row in plain.out.splitlines()] == [row.split()[0] for row in sent.out.splitlines()]
    assert "activate when abs(change(x)) > tol" in vlang("explain", "katz", "--derive", "delta", "--stage", "ir").out
    refused = vlang("run", "pagerank", "karate", "--derive", "delta")
    assert refused.status == 1
    assert "pagerank cannot be run in delta form (rule D): line 15: reads `lost`" in refused.err


def test_control_characters_are_shown_not_obeyed(vlang: Call, tmp_path: Path) -> None:
    """In tables and messages, control characters in ids, comments, file names and arguments are escaped.

    Output files, and CSV on stdout, have the unchanged characters.
    """
    escape, csi = "\x1b[31m", "\x9b"
    graph, program = tmp_path / f"g{escape}.csv", tmp_path / f"p{escape}.vp"
    graph.write_text(f"source,target\n{escape}Ulm,B{csi}m\n")
    program.write_text(f"# Steps {escape} away\n{Path('stdlib/bfs.vp').read_text()}")
    shown = [vlang("run", program, graph, f"source={escape}Ulm"), vlang("run", program, "--help"),
             vlang("run", program, graph, "source=nowhere"), vlang("info", graph), vlang("check", program),
             vlang("run", program, graph, f"source={escape}Ulm", f"--{escape}"), vlang("fmt", "--check", program),
             vlang("explain", program, "--stage", "tree")]  # fmt: skip
    for done in shown:
        assert "\x1b" not in done.out + done.err
        assert "\x9b" not in done.out + done.err
    assert r"\x1b[31mUlm      0" in shown[0].out
    assert r"Steps \x1b[31m away" in shown[1].out
    assert [done.status for done in shown] == [0, 0, 1, 0, 0, 2, 0, 0]
    assert f"{escape}Ulm,0" in vlang("run", program, graph, f"source={escape}Ulm", "-o", "-", "-q").out
