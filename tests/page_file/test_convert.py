"""A conversion in a memory budget writes the same bytes as a save from memory, for all sources and options."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.listener import Keeping
from vlang.errors import DiskError, GraphError, OutOfMemory
from vlang.runtime.convert import disk_ids, entries, radix
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.convert import convert
from vlang.runtime.convert.disk_space import DiskSpace
from vlang.runtime.convert.entries import Entries, Sorter
from vlang.runtime.convert.need import announced
from vlang.runtime.convert.radix import RadixSort, Rows
from vlang.runtime.convert.source import Reading
from vlang.runtime.graph.edges.building.numbering import rank_by_bitmap
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.page_file.form import LAYOUTS
from vlang.runtime.threads.activity import listened_by

EDGES = 1500


@pytest.fixture(params=["in one part", "in many parts", "compared"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the sizes of parts. With "many" parts, buckets have 300 entries, runs of ids have 100 ids, and windows have a
    few lines. "Compared" is the same without memory for the radix sort, so that edges without columns are sorted by
    comparisons.
    """
    if request.param == "compared":
        monkeypatch.setattr(RadixSort, "need", lambda *_: 1 << 60)
    if request.param != "in one part":
        monkeypatch.setattr(radix, "_MOST_ENTRIES", 300)
        monkeypatch.setattr(radix, "_LEAST_BLOCK", 16)
        monkeypatch.setattr(radix, "_CHUNK", 100)
        monkeypatch.setattr(Budget, "entries", lambda *_: 300)
        monkeypatch.setattr(disk_ids, "LEAST_RUN", 100)
        monkeypatch.setattr(disk_ids, "SAMPLE", 8)
        monkeypatch.setattr(disk_ids, "STEP", 150)
        monkeypatch.setattr(entries, "_CHUNK", 100)
        start = DiskSpace.__init__

        def small(self: DiskSpace, room: DiskArrays, budget: Budget) -> None:
            budget.window, budget.chunk, budget.ids = 6000, 700, 1
            start(self, room, budget)

        monkeypatch.setattr(DiskSpace, "__init__", small)
    return str(request.param)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return small files of every format and kind of ids."""
    folder = tmp_path_factory.mktemp("sources")
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 250, (EDGES, 2))
    ends[rng.random(EDGES) < 0.2, 1] = 9
    ends[:300] = (3, 4)  # more parallel edges than a bucket holds
    values = rng.integers(-5, 100_000, EDGES)
    rows = [(int(a), int(b), int(c)) for (a, b), c in zip(ends, values)]

    def write(name: str, head: str, lines: Iterator[str]) -> None:
        (folder / name).write_text(head + "".join(lines), encoding="utf-8")

    write("pairs", "", (f"{a} {b}\n" for a, b, _ in rows))
    write("weighted", "source,target,weight,x,name\n", (f"{a},{b},{c},{c / 7},n{c}\n" for a, b, c in rows))
    write("narrow", "source,target,weight,kind\n", (f"{a},{b},{c},{c % 5}\n" for a, b, c in rows))
    write("missing", "source,target,weight\n", (f"{a},{b},{c if c % 9 else ''}\n" for a, b, c in rows))
    write("once", "# Undirected graph\n", (f"{a} {b} {c}\n" for a, b, c in rows))
    both = (f"{a} {b} {a * b % 7}\n{b} {a} {a * b % 7}\n" for a, b, _ in rows if a != b)
    write("twice", "# Undirected graph\n", both)
    write("wide", "", (f"{a * 10**12} {b * 10**12 - 5}\n" for a, b, _ in rows))
    write("late", "", (f"{a} {b if i < 1000 else b + 2**40}\n" for i, (a, b, _) in enumerate(rows)))
    write("unsigned", "", (f"{a * 10**15} {2**64 - 1 - b}\n" for a, b, _ in rows))
    write("texts", "", (f"v{a} ä{b}\n" for a, b, _ in rows))
    write("quoted", "", (f'"v {a}",{b}\n' for a, b, _ in rows))
    write("symmetric", f"%%MatrixMarket matrix coordinate real symmetric\n260 260 {EDGES}\n",
          (f"{a + 1} {b + 1} {c / 3}\n" for a, b, c in rows))  # fmt: skip
    write("skew", f"%%MatrixMarket matrix coordinate integer skew-symmetric\n260 260 {EDGES}\n",
          (f"{a + 1} {b + 1} {c}\n" for a, b, c in rows))  # fmt: skip
    write("arcs", f"p sp 260 {EDGES}\n", (f"a {a + 1} {b + 1} {abs(c)}\n" for a, b, c in rows))
    weighted = Graph.read(folder / "weighted")
    weighted.save(folder / "in.npz")
    turned = Graph.read(folder / "weighted")
    turned.adjacency("out")
    turned.save(folder / "out.npz")
    Graph.read(folder / "once").save(folder / "undirected.npz")
    Graph.read("rmat:6,weights=2..9").save(folder / "rule.npz")
    Graph.read(folder / "texts").save(folder / "texts.vg")
    save(weighted, folder / "degree.vg", layout="degree", page_bytes=8192)
    for kind in ("csr", "csc", "coo"):
        matrix = scipy.sparse.coo_matrix((values, (ends[:, 0], ends[:, 1])), shape=(260, 260)).asformat(kind)
        scipy.sparse.save_npz(folder / f"{kind}.npz", matrix)
    return folder


FILES = ["pairs", "weighted", "narrow", "once", "twice", "wide", "late", "unsigned", "texts", "quoted", "symmetric",
         "skew", "arcs", "in.npz", "out.npz", "undirected.npz", "rule.npz", "texts.vg", "degree.vg", "csr.npz",
         "csc.npz", "coo.npz"]  # fmt: skip
GENERATED = ["karate", "rmat:8", "kron:7,weights=1..9", "star:2000", "complete:40", "complete:20,directed=true",
             "grid:30x41", "path:1", "path:0", "uniform:7,5"]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"directed": True, "weights": "1..100"}, {"self_loops": "drop"}, {"symmetrize": True}, {"directed": False},
    {"self_loops": "drop", "parallel": "drop", "weights": "3..11"}, {"parallel": "drop"},
]  # fmt: skip


def same_bytes(source: str, options: dict[str, Any], layout: str, folder: Path) -> None:
    """Compare the conversion with reading the graph into memory and saving it. The conversion and the save must refuse
    the same options.
    """
    refused = ""
    try:
        graph = Graph.read(source, **options)
    except GraphError as error:
        refused = str(error)
    if refused:
        with pytest.raises(GraphError) as caught:
            convert(source, folder / "found.vg", Reading(**options))
        assert str(caught.value) == refused
        return
    save(graph, folder / "expected.vg", layout=layout, page_bytes=8192)
    done = convert(source, folder / "found.vg", Reading(**options), layout=layout, page_bytes=8192, memory=16 << 20,
                    threads=2)  # fmt: skip
    assert (done.name, done.notes, done.warnings) == (graph.name, graph.notes, graph.warnings)
    assert (folder / "found.vg").read_bytes() == (folder / "expected.vg").read_bytes()
    assert {path.name for path in folder.iterdir()} == {"found.vg", "expected.vg"}, "temporary files have no names"


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, files: Path, parts: str, tmp_path: Path) -> None:
    layouts = itertools.cycle(["ids", "degree"] if len(name) % 2 else ["degree", "ids"])
    for options, layout in zip(OPTIONS if parts == "in one part" else OPTIONS[::3], layouts):
        same_bytes(str(files / name), options, layout, tmp_path)


@pytest.mark.parametrize("name", GENERATED)
def test_generators(name: str, parts: str, tmp_path: Path) -> None:
    for options, layout in zip((OPTIONS[0], OPTIONS[0], OPTIONS[5], OPTIONS[5]), ("ids", "hubs", "hubs", "degree")):
        same_bytes(name, options, layout, tmp_path)


def test_options_of_texts(files: Path, parts: str, tmp_path: Path) -> None:
    for name, options in (
        ("weighted", {"weights": "x"}), ("weighted", {"weights": "4"}), ("weighted", {"weights": "none"}),
        ("missing", {"missing": "drop"}), ("missing", {"missing": 7}), ("missing", {}), ("in.npz", {"weights": "x"}),
        ("degree.vg", {"weights": "x"}), ("degree.vg", {"weights": "y"}), ("csr.npz", {"missing": "drop"}),
        ("pairs", {"self_loops": "some"}),
    ):  # fmt: skip
        same_bytes(str(files / name), options, "ids", tmp_path)


def test_sorting_keys_of_all_64_bits(tmp_path: Path) -> None:
    """Keys of 64 bits leave no bits for the number of an entry. Buckets are therefore divided until keys need fewer
    bits.
    """
    rng = np.random.default_rng(4)
    room = DiskArrays(tmp_path)
    keys, values = room.empty(5000, np.uint64), room.empty(5000, np.float32)
    keys[:] = rng.integers(0, 2**64, 5000, dtype=np.uint64)
    keys[1000:1500] = keys[:500]
    keys[2000:4000] = 77
    keys[:2] = 0, 2**64 - 1
    values[:] = rng.random(5000)
    found: tuple[list[Any], list[Any]] = ([], [])

    def sink(part: Any, columns: list[Any]) -> None:
        assert len(part) <= 400
        found[0].extend(part.tolist())
        found[1].extend(columns[0].tolist())

    starts = np.array([0, 5000], dtype=np.int64)
    Sorter(Entries(keys, [values], starts, 32), 400, room, 2).each(sink, lambda f: None)
    order = np.argsort(keys, kind="stable")
    assert found == (keys[order].tolist(), values[order].tolist())


def test_errors_of_texts_are_those_of_reading(tmp_path: Path, parts: str) -> None:
    source = tmp_path / "x.txt"
    for content in (b"1 2\n3 x y\n", b"1 2\n" * 900 + b"3\n", b"\xffx a\nb c\n", b"", b"1 2 3\n2 3 x\n"):
        source.write_bytes(content)
        with pytest.raises(GraphError) as expected:
            Graph.read(source)
        with pytest.raises(GraphError) as found:
            convert(str(source), tmp_path / "x.vg")
        assert str(found.value) == str(expected.value)
        assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
    with pytest.raises(DiskError, match="there is no such file"):
        convert(str(tmp_path / "y.txt"), tmp_path / "x.vg")
    with pytest.raises(DiskError, match="there is no folder"):
        convert("karate", tmp_path / "none" / "x.vg")


def test_budgets_that_are_too_small(tmp_path: Path) -> None:
    with pytest.raises(OutOfMemory, match="a conversion needs at least --memory 8M"):
        convert("karate", tmp_path / "x.vg", memory=1 << 20)
    with pytest.raises(OutOfMemory, match=r"--memory \d+M to be converted: its vertices alone take 105 MiB") as caught:
        convert("path:10000000", tmp_path / "x.vg", memory=8 << 20, layout="ids")
    assert not list(tmp_path.iterdir())
    assert int(str(caught.value).partition("--memory ")[2].partition("M")[0]) > 105


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_named_memory_suffices_to_convert(layout: str, tmp_path: Path) -> None:
    """The budget that the message names suffices, and the file is the same as with a large budget."""
    n = 1 << 19
    source, target, rng = tmp_path / "g.npz", tmp_path / "x.vg", np.random.default_rng(6)
    Graph.from_edges(rng.integers(0, n, n), rng.integers(0, n, n), vertices=range(n)).save(source)
    with pytest.raises(OutOfMemory, match="to be converted") as refused:
        convert(source, target, memory=8 << 20, layout=layout, threads=4)
    named = int(str(refused.value).partition("--memory ")[2].partition("M")[0])
    with pytest.raises(OutOfMemory, match=f"524,288 vertices and 524,288 edges.*give --memory {named}M"):
        announced(str(source), Reading(), 8 << 20, layout, 4)
    convert(source, target, memory=named << 20, layout=layout, threads=4)
    with pytest.raises(OutOfMemory):
        convert(source, tmp_path / "y.vg", memory=int(0.8 * named) << 20, layout=layout, threads=4)
    convert(source, tmp_path / "y.vg", memory=1 << 30, layout=layout, threads=4)
    assert target.read_bytes() == (tmp_path / "y.vg").read_bytes()


def test_memory_that_runs_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(*given: Any) -> Any:
        return np.empty(20 << 20, dtype=np.uint8)

    monkeypatch.setattr("vlang.runtime.convert.convert.count_degrees", counted)
    with pytest.raises(OutOfMemory, match=r"more than --memory 16M: give 2\dM or more"):
        convert("karate", tmp_path / "x.vg", memory=16 << 20)


def test_a_bitmap_of_wide_ids_takes_little_more(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("".join(f"{i} {i + 2000000}\n" for i in range(0, 2000000, 5)))
    convert(tmp_path / "g", tmp_path / "x.vg", memory=20 << 20, layout="ids")


def test_parts_of_long_text_ids_fit_their_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part has at least LEAST_RUN ids. A part has more ids if the ids fit into memory with two copies of their text.
    """
    parts, memory, merge, start = [], 1 << 20, disk_ids._merge_parts, DiskSpace.__init__

    def watched(lists: list[Any], samples: list[Any], most: int) -> Iterator[list[tuple[int, int]]]:
        parts.append(most)
        return merge(lists, samples, most)

    def small(self: DiskSpace, room: DiskArrays, budget: Budget) -> None:
        budget.ids = memory
        start(self, room, budget)

    monkeypatch.setattr(disk_ids, "_merge_parts", watched)
    monkeypatch.setattr(disk_ids, "LEAST_RUN", 100)
    monkeypatch.setattr(DiskSpace, "__init__", small)
    (tmp_path / "g").write_text("".join(f"{i % 900:0300} {i % 7:0300}\n" for i in range(3000)))
    convert(tmp_path / "g", tmp_path / "x.vg", Reading(), memory=16 << 20)
    assert 100 < parts[0] <= memory // 600


@pytest.mark.parametrize(("step", "dense"), [(1, True), (10**7, False)])
def test_only_dense_ids_are_ranked_by_a_bitmap(step: int, dense: bool, tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """Only dense ids are ranked by a bitmap, since a bitmap needs memory for every number between the smallest and the
    largest id.
    """
    used: list[bool] = []

    def ranked(*given: Any) -> Any:
        used.append(True)
        return rank_by_bitmap(*given)

    monkeypatch.setattr(disk_ids, "rank_by_bitmap", ranked)
    (tmp_path / "g").write_text("".join(f"{i * step} {i * 7 % 300 * step}\n" for i in range(300)))
    convert(tmp_path / "g", tmp_path / "x.vg", memory=16 << 20)
    assert bool(used) == dense
    assert Graph.read(tmp_path / "x.vg").ids.values.tolist() == [i * step for i in range(300)]


def test_progress(tmp_path: Path) -> None:
    found = Keeping()
    with listened_by(found):
        convert("rmat:9", tmp_path / "x.vg")
    reports = found.reached
    assert found.begun[0] == ("converting", "rmat:9", 0)
    fractions = [fraction for _, fraction in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == pytest.approx(1)
    assert [step for step, _ in itertools.groupby(reports, lambda one: one[0])] == ["counting", "writing"]
    assert len(reports) > 4


def test_a_page_file_onto_itself(tmp_path: Path) -> None:
    disks = [tmp_path / "a", tmp_path / "b"]
    for disk in disks:
        disk.mkdir()
    path = tmp_path / "x.vg"
    convert("rmat:8", path, disks=disks)
    convert(str(path), path, disks=disks, layout="ids")
    convert(str(path), path)
    save(Graph.read("rmat:8"), tmp_path / "y.vg")
    assert path.read_bytes() == (tmp_path / "y.vg").read_bytes()
    assert not [*disks[0].iterdir(), *disks[1].iterdir()]


def test_the_range_of_keys_is_that_of_all_their_parts() -> None:
    """Parts have 2^18 keys; the least and the largest key are in different parts."""
    keys = np.full((1 << 18) + 5, 50, np.uint64)
    keys[[3, 7, -1]] = 90, 60, 10
    assert entries._range(keys, 0, len(keys)) == (10, 90)
    assert entries._range(keys, 4, len(keys) - 1) == (50, 60)


def test_no_thread_runs_out_of_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thread has free blocks for each bucket before it writes entries. Otherwise a conversion raises
    InternalError. The bytes do not depend on the number of threads.
    """
    for name, value in (("_MOST_ENTRIES", 1000), ("_LEAST_BLOCK", 64), ("_CHUNK", 64), ("_SPARE", 4)):
        monkeypatch.setattr(radix, name, value)
    for spec in ("rmat:12", "kron:11", "rmat:10,weights=1..300"):
        converted = []
        for threads in (1, 4, 7):
            convert(spec, tmp_path / "made.vg", threads=threads)
            converted.append((tmp_path / "made.vg").read_bytes())
            (tmp_path / "made.vg").unlink()
        assert converted[1] == converted[2] == converted[0]


@pytest.mark.parametrize("n", [1, 65_536, 65_537, 70_000, 300_000])
def test_every_row_is_in_its_bucket(n: int) -> None:
    """The table that kernels read agrees with the bounds of the buckets, also where a group has more than one row."""
    rng = np.random.default_rng(n)
    degrees = (rng.pareto(1.2, n) * 5).astype(np.uint32)
    rows = Rows.cut(degrees)
    vertices = np.arange(n)
    found = rows.buckets[np.minimum(vertices, (1 << 15) + (vertices >> rows.grain))]
    assert np.array_equal(found, np.searchsorted(rows.bounds, vertices, side="right") - 1)
    assert np.array_equal(np.diff(rows.starts), np.add.reduceat(degrees.astype(np.int64), rows.bounds[:-1]))
    assert rows.starts[-1] == degrees.sum(dtype=np.int64)


def test_a_table_of_texts_in_the_smallest_budget(tmp_path: Path) -> None:
    """The rows of a table are converted in steps that fit the budget, and the file does not depend on the steps."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ends = np.char.add("n", np.random.default_rng(1).integers(0, 30_000, (2, 200_000)).astype("U"))
    pq.write_table(pa.table({"source": ends[0], "target": ends[1]}), tmp_path / "x.parquet")
    for memory in (8 << 20, 1 << 30):
        convert(str(tmp_path / "x.parquet"), tmp_path / f"{memory}.vg", memory=memory, threads=2)
    assert (tmp_path / f"{8 << 20}.vg").read_bytes() == (tmp_path / f"{1 << 30}.vg").read_bytes()
