"""The commands check, explain, list, info, convert and doctor, and the command group itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import vlang as library
from tests.cli.conftest import Call
from vlang import stdlib
from vlang.cli.show import table


def test_list_has_one_line_a_program_in_groups(vlang: Call) -> None:
    lines = vlang("list").out.splitlines()
    programs = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(programs) == list(stdlib.names())
    assert programs == [name for members in stdlib.groups().values() for name in members]
    assert all(len(line) <= 115 and line.endswith(".") for line in lines if line.startswith("  "))
    headings = [line.partition(":")[0] for line in lines if line and line[0] != " "]
    assert headings == list(stdlib.GROUPS)


def test_every_program_is_in_one_group() -> None:
    members = [name for _, names in stdlib.GROUPS.values() for name in names]
    assert sorted(members) == list(stdlib.names()), "name it in GROUPS of stdlib/__init__.py"


def test_every_program_tells_its_source_cost_and_example() -> None:
    for name in stdlib.names():
        doc = library.load(name).doc
        assert doc.startswith(stdlib.summary(name))
        assert f"Example: vlang run {name} " in doc
        assert "Supersteps: " in doc or "Passes over the edges: " in doc


def test_stdlib_knows_only_its_own_names() -> None:
    for name in ("nothing", "../stdlib/bfs", "bfs.vp", ""):
        with pytest.raises(KeyError):
            stdlib.source(name)


def test_check(vlang: Call, tmp_path: Path) -> None:
    done = vlang("check", *stdlib.names())
    assert done.status == 0
    *taken, laws = done.err.splitlines()
    assert taken == [f"note: {name}: `target`: as a keyword this is the program's own; run options of this name are "
                     "given in options={...}" for name in ("astar", "cross_edges")]
    assert laws.startswith("note: reduction logsum of soft_reach: no counterexample in ")
    assert done.out == "".join(f"{name}: ok\n" for name in stdlib.names())
    bad = tmp_path / "bad.vp"
    bad.write_text("program p\nvertex x: int = y\nvertex z: int = w\n")
    done = vlang("check", "bfs", bad, "nothing.vp")
    assert (done.status, done.out) == (1, "bfs: ok\n")
    assert done.err.count("error[V101]") == 2
    assert "error: there is no program file 'nothing.vp'" in done.err


def test_check_names_the_lines_whose_integers_do_not_wrap(vlang: Call, tmp_path: Path) -> None:
    """`check` warns of integers that may overflow. `check` does not warn of the depth of a search, which is less than
    n, or of rounded floats, which never wrap.
    """
    text = "program hash\nvertex y: float = 2.5\nvertex x: int = {0}indegree * 2000000000{1}\n" \
           "vertex z: int = int(2.5)\nrepeat 5 times:\n    gather s = max(u.x for u -> self)\n    apply z = int(y)\n" \
           "    apply x = {0}x * 31 + s{1}\n"
    path = tmp_path / "hash.vp"
    path.write_text(text.format("", ""))
    done = vlang("check", path)
    assert (done.status, done.out) == (0, f"{path}: ok\n")
    assert done.err == (f"note: {path}: an integer that is too large for its type is `inf` or `-inf` and does not wrap "
                        "(lines 3, 8); write i64 or --precision 64 for larger ones, and wrap(...) around arithmetic "
                        "that is to wrap\n")
    path.write_text(text.format("wrap(", ")"))
    assert vlang("check", path).err == ""


def test_check_explains_a_diagnostic(vlang: Call) -> None:
    done = vlang("check", "--explain", "v106")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("# V106: the wrong type\n")
    done = vlang("check", "--explain", "V999")
    assert done.status == 2
    assert "there is no diagnostic `V999`; the codes are V001, V101, " in done.err


def test_check_shows_warnings_as_diagnostics(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "w.vp"
    path.write_text("program w\nvertex x: float = 1\nrepeat:\n    gather s = sum(u.x for u -> self)\n"
                    "    apply x = 0.1 * s\n")  # fmt: skip
    done = vlang("check", path)
    assert (done.status, done.out) == (0, f"{path}: ok, 1 warning\n")
    assert done.err.startswith("warning[V202]: ")
    assert f"--> {path}:5:" in done.err
    assert vlang("run", path, "path:3", "-q", "--max-rounds", 1).err == ""
    assert "warning[V202]" in vlang("run", path, "path:3", "--max-rounds", 1).err


@pytest.mark.parametrize("stage", ["tree", "ir", "facts", "numba", "plan"])
def test_explain(vlang: Call, stage: str) -> None:
    done = vlang("explain", "sssp", "--stage", stage)
    assert (done.status, done.err) == (0, "")
    assert done.out.strip()
    done = vlang("explain", "sssp", "karate", "--stage", stage)
    assert done.status == 0
    assert done.out.strip()


def test_info(vlang: Call, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("a,b,cost\nx,y,2.5\ny,z,-1\n")
    done = vlang("info", path, "--json")
    assert json.loads(done.out) == {
        "vertices": 3, "edges": 2, "directed": True, "first_id": "x", "last_id": "z", "largest_out_degree": 1,
        "largest_in_degree": 1, "isolated_vertices": 0,
        "columns": {"cost": {"type": "float64", "least": -1.0, "largest": 2.5}},
    }  # fmt: skip
    done = vlang("info", path)
    assert "cost: float64, -1.0 to 2.5" in done.out
    assert "directed" in done.err


def test_convert(vlang: Call, tmp_path: Path) -> None:
    done = vlang("convert", "karate", tmp_path / "k.npz", "--weights", "1..9")
    assert (done.status, done.out) == (0, "")
    read = library.Graph.read(tmp_path / "k.npz")
    assert (read.n, read.m, read.directed) == (34, 156, False)
    sssp = library.load("sssp")
    expected = sssp(library.Graph.read("karate", weights="1..9"), source=1)["dist"]
    assert np.array_equal(sssp(read, source=1)["dist"], expected)
    done = vlang("convert", "karate", tmp_path / "k.csv")
    assert done.status == 0
    assert "k.csv: The file does not say that the edges are undirected: read it with --undirected" in done.err
    done = vlang("convert", "karate", tmp_path / "k.doc")
    assert done.status == 2
    assert "graphs are saved as .vg, .npz, .parquet" in done.err
    done = vlang("convert", "karate", tmp_path / "no" / "k.npz")
    assert done.status == 1
    assert done.err.count("error:") == 1


def test_page_files(vlang: Call, tmp_path: Path) -> None:
    path, disk = tmp_path / "k.vg", tmp_path / "disk"
    disk.mkdir()
    assert vlang("convert", "karate", path, "--weights", "1..9").status == 0
    done = vlang("info", path, "--json")
    facts = json.loads(done.out)
    expected = json.loads(vlang("info", "karate", "--weights", "1..9", "--json").out)
    for name, value in expected.items():
        assert facts[name] == value
    assert (done.err, facts["layout"], facts["pages"], facts["stripes"]) == ("", "degree", 1, [])
    assert facts["file_bytes"] == path.stat().st_size
    assert vlang("info", path, "--sums").out.endswith("right sums          6\n")
    changed = json.loads(vlang("info", path, "--weights", "1..3", "--json").out)
    assert changed["columns"]["weight"]["largest"] == 3
    with open(path, "r+b") as file:  # damage a byte of a page
        file.seek(5000)
        file.write(b"\xff")
    assert vlang("info", path).status == 0, "no page is read"
    done = vlang("info", path, "--sums")
    message = f"error: {path}: damaged: page 0 of the in-edges: its sum is wrong; convert the graph again\n"
    assert (done.status, done.err) == (1, message)
    assert vlang("convert", "rmat:6", path, "--disks", f"{disk},{tmp_path}", "--layout", "ids").status == 0
    facts = json.loads(vlang("info", path, "--json").out)
    assert (len(facts["stripes"]), facts["layout"]) == (2, "ids")
    for words, message in (
        (("info", "karate", "--sums"), "--sums checks page files, and karate is none"),
        (("info", path, "--sums", "--symmetrize"), "--sums checks a page file as it is"),
        (("convert", "karate", tmp_path / "k.npz", "--disks", disk), "--disks, --layout and --memory are for"),
        (("convert", "karate", path, "--disks", f"{disk},{disk}"), "name each folder once"),
    ):
        done = vlang(*words)
        assert (done.status, message in done.err) == (2, True), done.err
    done = vlang("convert", "karate", path, "--disks", tmp_path / "none")
    assert (done.status, "there is no folder" in done.err) == (1, True)


def test_doctor(vlang: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = vlang("doctor")
    assert done.status == 0
    for word in ("vlang", library.__version__, "numba", "processor", "cache", "gpu"):
        assert word in done.out
    assert "MiB" in done.out


def test_the_group(vlang: Call) -> None:
    assert vlang("--version").out == f"vlang {library.__version__}\n"
    done = vlang("--help")
    assert done.status == 0
    for name in ("run", "check", "explain", "list", "info", "convert", "doctor"):
        assert f"\n  {name} " in done.out
        assert vlang(name, "--help").status == 0
    done = vlang("rnu")
    assert done.status == 2
    assert "there is no command `rnu`; did you mean `vlang run`?" in done.err
    assert "the commands are run, check" in vlang("xyzzy").err
    assert vlang("run", "--no-such-option").status == 2
    assert vlang().out.startswith("Usage: ")


def test_table() -> None:
    text = table(["vertex", "name", "x"], [[1, "a", 0.123456789], [22, "bc", float("inf")], [3, None, True]])
    assert text == "vertex  name         x\n     1  a     0.123457\n    22  bc         inf\n     3  none      true"
    assert table(["vertex"], []) == "vertex"


def test_explain_plan_names_the_kernels_of_a_gpu(vlang: Call) -> None:
    said = vlang("explain", "bfs", "kron:10", "--stage", "plan").out
    assert "on a GPU\n    pass s1: pulls " in said
    assert "edges a vertex" in said
    assert "pushes: into the field itself" in said


def test_explain_plan_lists_the_ways_of_a_gpu(vlang: Call) -> None:
    """Execution ways are listed in the order in which they are tried, up to the first way that can run every loop.

    Every other listed way has the reason why it is not used.
    """
    said = vlang("explain", "pagerank", "--stage", "plan").out
    assert said.endswith(
        "    loop in line 15\n"
        "        connected components: no (it does not copy values over a symmetric relation (rule K))\n"
        "        push: no (`rank` is recomputed from all neighbours: no joined gather)\n"
        "        notify-pull: no (reads `lost`, which changes every superstep)\n"
        "        full passes: yes\n")  # fmt: skip
    assert "connected components: if values and graph allow\n" \
        "        push: yes; bitmap push if GPU memory is short\n" in \
        vlang("explain", "components", "--stage", "plan").out
