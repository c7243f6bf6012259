"""Graphs as .npz with wrong contents give one error that names the fault, before memory is allocated."""

from __future__ import annotations

import os
import re
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from vlang.errors import GraphError, OutOfMemory
from vlang.runtime.graph.formats import archive, npz_arrays
from vlang.runtime.graph.graph import Graph
from vlang.runtime.storage import room

GOOD: dict[str, Any] = {
    "vlang_graph": np.array(1), "kind": np.array("out"), "directed": np.array(True), "notes": np.array(["x."]),
    "offsets": np.array([0, 2, 3, 3], np.uint64), "targets": np.array([1, 2, 2], np.uint32), "id_base": np.array(0),
}  # fmt: skip
TEXTS: dict[str, Any] = {"id_base": None, "id_bytes": np.array([97, 98, 99], np.uint8),
                         "id_ends": np.array([1, 2, 3], np.uint64)}  # fmt: skip
FIT = "the arrays of this graph do not fit together: "

OWN: dict[str, tuple[dict[str, Any], str]] = {
    "lists out of order": ({"targets": np.array([2, 1, 2], np.uint32)}, f"{FIT}targets do not increase in their lists"),
    "one direction": ({"directed": np.array(False)}, f"{FIT}it is undirected, and some edges are not there in both"),
    "both directions, other values": (
        {"directed": np.array(False), "offsets": np.array([0, 1, 2, 2], np.uint64),
         "targets": np.array([1, 0], np.uint32), "column.w": np.array([1.0, 2.0])}, "it is undirected, and some edges"),
    "ids that are floats": ({"id_base": None, "ids": np.array([0.5, 1, 2])}, "the array `ids` holds floats, not int"),
    "a base that is a float": ({"id_base": np.array(0.5)}, "the array `id_base` holds floats"),
    "two bases": ({"id_base": np.array([1, 2])}, "the array `id_base` is a list of 2, not a single value"),
    "a base beyond 64 bits": ({"id_base": np.array(2**64 - 1, np.uint64)}, "need more than 64 bits"),
    "a version that is text": ({"vlang_graph": np.array("1")}, "the array `vlang_graph` holds text"),
    "two versions": ({"vlang_graph": np.array([1, 2])}, "is a list of 2, not a single value"),
    "no kind": ({"kind": None}, "the array `kind` is not there"),
    "another kind": ({"kind": np.array("both")}, f"{FIT}its kind is 'both'"),
    "a direction that is text": ({"directed": np.array("no")}, "the array `directed` holds text, not truth values"),
    "one note": ({"notes": np.array("x")}, "the array `notes` is a single value, not a list"),
    "notes of numbers": ({"notes": np.array([1])}, "the array `notes` holds integers, not text"),
    "notes that are long": ({"notes": np.zeros(3, "U2000000")}, "bytes, and at most 16,777,216 make sense there"),
    "a long kind": ({"kind": np.zeros((), "U5000000")}, "bytes, and at most 16,777,216 make sense there"),
    "a list of columns": ({"left_out": np.array(["a", "b"])}, "the array `left_out` is a list of 2, not any x 3"),
    "three bounds": ({"rule": np.array([1, 2, 3])}, "the array `rule` is a list of 3, not a list of 2"),
    "bounds that are floats": ({"rule": np.array([1.5, 2])}, "the array `rule` holds floats"),
    "columns of two dimensions": ({"column.w": np.ones((3, 2))}, "the array `column.w` is 3 x 2, not a list of 3"),
    "columns of text": ({"column.w": np.array(["a", "b", "c"])}, "the array `column.w` holds text"),
    "objects": ({"targets": np.array([None, 1, 2], dtype=object)}, "the array `targets` holds Python objects"),
    "offsets that are signed": ({"offsets": np.array([0, 2, 3, 3])}, "the array `offsets` holds integers"),
    "one offset": ({"offsets": np.array(0, np.uint64)}, "the array `offsets` is a single value, not a list"),
    "no offsets": ({"offsets": np.array([], np.uint64)}, f"{FIT}there are 0 offsets"),
    "bytes that are no text": ({**TEXTS, "id_bytes": np.array([97, 98, 255], np.uint8)}, "an id is not UTF-8"),
    "ends that are floats": ({**TEXTS, "id_ends": np.array([1.0, 2, 3])}, "the array `id_ends` holds floats"),
    "ends that decrease": ({**TEXTS, "id_ends": np.array([2, 1, 3], np.uint64)}, "the ids and their ends do not fit"),
    "the same text twice": ({**TEXTS, "id_bytes": np.array([97, 97, 98], np.uint8)}, f"{FIT}its ids do not increase"),
    "no ids": ({"id_base": None}, "the array `id_bytes` is not there"),
}  # fmt: skip


def test_large_arrays_that_several_threads_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every damaged or missing byte of a large array is found, wherever the blocks of the threads begin."""
    monkeypatch.setattr(archive, "_LARGE", 1)
    rng, path = np.random.default_rng(3), tmp_path / "graph.npz"
    Graph.from_edges(rng.integers(0, 50, 400), rng.integers(0, 50, 400), weight=rng.random(400)).save(path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        info = packed.getinfo("targets.npy")
        values = np.load(packed.open("targets.npy"))
    end = whole.index(values.tobytes()) + values.nbytes
    for block in (1, 64, 100, 1 << 20):
        monkeypatch.setattr(archive, "_BLOCK", block)
        np.testing.assert_array_equal(Graph.read(path).built().targets, values)
        for at in (info.header_offset + 180, end - values.nbytes, end - 200, end - 1):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            with pytest.raises(GraphError, match=r"damaged or cut off: .*the array `targets`"):
                Graph.read(path)
        path.write_bytes(whole)


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_LARGE", 1)
    path = tmp_path / "graph.npz"
    Graph.from_edges(np.arange(900), np.arange(900)[::-1]).save(path)
    with archive.Archive(path) as opened:
        os.truncate(path, path.read_bytes().index(b"targets.npy") + 900)
        with pytest.raises(GraphError, match=r"damaged or cut off: the array `targets`: .* bytes are missing"):
            opened.array("targets", "u", (None,))


def wrong(path: Path, arrays: dict[str, Any]) -> str:
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(GraphError) as error:
        Graph.read(path)
    assert str(error.value).startswith(str(path))
    return str(error.value)


@pytest.mark.parametrize(("changed", "why"), OWN.values(), ids=OWN)
def test_a_graph_with_wrong_arrays(changed: dict[str, Any], why: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "good.npz", **GOOD)
    assert Graph.read(tmp_path / "good.npz").m == 3
    assert why in wrong(tmp_path / "x.npz", {**GOOD, **changed})


def test_rows_under_a_seal_are_not_compared_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The edges of a file that vlang wrote are not compared again. If the seal of the file is wrong, the edges are
    compared.
    """
    path, looked = tmp_path / "g.npz", list[int]()
    rng = np.random.default_rng(12)
    graph = Graph.from_edges(*rng.integers(0, 50, (2, 400)), directed=False, weight=rng.random(400))
    graph.save(path)
    unsound = npz_arrays._unsound

    def counted(*given: Any) -> str:
        looked.append(1)
        return unsound(*given)

    monkeypatch.setattr(npz_arrays, "_unsound", counted)
    assert np.array_equal(Graph.read(path).built().targets, graph.built().targets)
    assert not looked
    arrays = dict(np.load(path))
    np.savez(path, **arrays)  # the same arrays in the same order, written by NumPy
    assert np.array_equal(Graph.read(path).built().targets, graph.built().targets)
    assert not looked
    for name in ("column.weight", "targets"):
        changed = arrays[name].copy()
        changed[3] = changed[4] if name == "targets" else 2.0
        assert "some edges are not there in both directions" in wrong(path, {**arrays, name: changed})
    np.savez(path, **{name: arrays[name] for name in arrays if name != "column.weight"})
    looked.clear()
    assert Graph.read(path).m == graph.m
    assert looked


def test_both_directions_of_undirected_edges(tmp_path: Path) -> None:
    """Only an edge without its reverse is refused. Loops, parallel edges and every type of column are accepted."""
    rng = np.random.default_rng(11)
    src, dst = rng.integers(0, 50, (2, 4000))
    for dtype in ("i1", "u2", "i4", "u8", "f4", "f8"):
        graph = Graph.from_edges(src, dst, directed=False, weight=rng.integers(0, 100, 4000).astype(dtype))
        graph.save(tmp_path / "g.npz")
        assert Graph.read(tmp_path / "g.npz").m == graph.m
    arrays = dict(np.load(tmp_path / "g.npz"))
    row = int(np.flatnonzero(arrays["targets"][:-1] < arrays["targets"][1:])[5])
    arrays["column.weight"][row] += 1
    assert "it is undirected, and some edges" in wrong(tmp_path / "x.npz", arrays)


SCIPY: dict[str, tuple[dict[str, Any], str]] = {
    "pointers from 1": ({"indptr": np.array([1, 2, 3, 4])}, "indptr goes from 1 to 4, .* count from 1"),
    "pointers from -1": ({"indptr": np.array([-1, 0, 1, 2])}, "indptr goes from -1 to 2"),
    "pointers that decrease": ({"indptr": np.array([0, 2, 1, 3])}, "indptr decreases"),
    "too few pointers": ({"indptr": np.array([0, 1, 3])}, "the array `indptr` is a list of 3, not a list of 4"),
    "pointers that are floats": ({"indptr": np.array([0, 1, 2, 3.0])}, "the array `indptr` holds floats"),
    "indices that are floats": ({"indices": np.array([1, 2, 0.0])}, "the array `indices` holds floats"),
    "an index too large": ({"indices": np.array([1, 2, 7])}, "an edge ends at vertex 7"),
    "NaN": ({"data": np.array([1, np.nan, 2])}, r"the value at \[1, 2\] is NaN: a weight is a number; take this"),
    "two NaNs": ({"data": np.array([1, np.nan, np.nan])}, r"at \[1, 2\] is NaN, and 1 more: .* take these entries out"),
    "times": ({"data": np.zeros(3, "m8[s]")}, "the array `data` holds times, not truth values or integers or"),
    "records": ({"data": np.zeros(3, "V8")}, "the array `data` holds records, not truth values"),
    "objects": ({"data": np.array([1, None, 2], dtype=object)}, "the array `data` holds Python objects, not truth"),
    "complex numbers": ({"data": np.array([1, 2j, 2])}, "must hold numbers, not complex"),
    "values of two dimensions": ({"data": np.ones((3, 1))}, "the array `data` is 3 x 1"),
    "one size": ({"shape": np.array(3)}, "the array `shape` is a single value"),
    "negative sizes": ({"shape": np.array([-1, -1])}, "the matrix has -1 rows"),
    "huge sizes": ({"shape": np.array([2**40, 2**40])}, "the matrix has 1,099,511,627,776 rows"),
    "sizes that are floats": ({"shape": np.array([3.0, 3.0])}, "the array `shape` holds floats"),
    "two formats": ({"format": np.array(["csr", "csc"])}, "the array `format` is a list of 2"),
    "no values": ({"data": None}, "the array `data` is not there"),
}


@pytest.mark.parametrize(("changed", "why"), SCIPY.values(), ids=SCIPY)
def test_a_matrix_with_wrong_arrays(changed: dict[str, Any], why: str, tmp_path: Path) -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[0, 1.0, 0], [0, 0, 2], [3, 0, 0]]))
    scipy.sparse.save_npz(tmp_path / "x.npz", matrix)
    arrays = {**dict(np.load(tmp_path / "x.npz")), **changed}
    assert re.search(why, wrong(tmp_path / "x.npz", arrays))


def test_values_beyond_int64_stay_exact(tmp_path: Path) -> None:
    values = np.array([1, 2**64 - 1, 2**63 + 1], np.uint64)
    matrix = scipy.sparse.coo_matrix((values, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    scipy.sparse.save_npz(tmp_path / "x.npz", matrix)
    graph = Graph.read(tmp_path / "x.npz")
    assert graph.adjacency("out").column("weight").tolist() == values.tolist()
    graph.save(tmp_path / "y.npz")
    assert Graph.read(tmp_path / "y.npz").adjacency("out").column("weight").tolist() == values.tolist()


def test_other_byte_orders_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{name: array.astype(array.dtype.newbyteorder(">")) for name, array in GOOD.items()})
    assert Graph.read(tmp_path / "x.npz").adjacency("out").targets.tolist() == [1, 2, 2]


def test_a_symmetric_matrix_is_one_whose_entries_are_mirrored() -> None:
    for wrong_ in ([[0, 5, 0], [0, 0, 0], [0, 5, 0]], [[0, 5], [7, 0]]):
        with pytest.raises(GraphError, match="the matrix is not symmetric"):
            Graph.from_scipy(scipy.sparse.coo_array(np.array(wrong_)), directed=False)
    assert Graph.from_scipy(scipy.sparse.coo_array(np.array([[1, 5, 0], [5, 0, 7], [0, 7, 0]])), directed=False).m == 5


@pytest.mark.parametrize(("at", "value", "why"), [(8, 1, "is encrypted"), (10, 99, "compression method is not")])
def test_members_that_cannot_be_unpacked(at: int, value: int, why: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **GOOD)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[data.find(b"PK\x01\x02") + at] = value
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(GraphError, match=why):
        Graph.read(tmp_path / "x.npz")


@pytest.mark.parametrize("text", [b"['descr'", b"{'descr': '<Z8', 'fortran_order': False, 'shape': (), }", b"{" * 90,
                                  b"__import__('os').getcwd()", b"(" * 4400, b"{'descr': '<i8', 'shape': (-2,)}",
                                  b"{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999999999999,), }"])
def test_headers_that_are_damaged(text: bytes, tmp_path: Path) -> None:
    for version in (b"\x01\x00", b"\x09\x00"):
        head = b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("vlang_graph.npy", head + bytes(8))
        with pytest.raises(GraphError, match=r"the array `vlang_graph`(: its header|: version| is a)") as why:
            Graph.read(tmp_path / "x.npz")
        assert len(str(why.value)) < 250, "the header is not quoted"


# ------------------------------------------------------------------ memory


def test_nothing_is_allocated_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "x.npz", **{**GOOD, "offsets": np.zeros(2**22, np.uint64)})
    monkeypatch.setattr(room, "available_bytes", lambda: 30 << 20)
    asked: list[int] = []

    def empty(count: int, dtype: Any) -> Any:
        asked.append(count)
        return np.zeros(count, dtype)

    monkeypatch.setattr(np, "empty", empty)
    with pytest.raises(OutOfMemory, match=r"x\.npz: the array `offsets` needs 32\.0 MB, and 30\.0 MB are available: "):
        Graph.read(tmp_path / "x.npz")
    assert max(asked) < 100


@pytest.mark.parametrize("name", ["indices", "data"])
def test_what_is_wrong_is_found_before_large_arrays_are_read(name: str, tmp_path: Path) -> None:
    """A small file with arrays that are large when unpacked is refused without much memory. The size may be in the
    header or in the data.
    """
    arrays: dict[str, Any] = {
        "format": np.array(b"csr"), "shape": np.array([3, 3]), "indptr": np.array([0, 1, 2, 2]),
        "indices": np.array([1, 2], np.int32), "data": np.ones(2), name: np.zeros(1 << 24, np.int32),
    }  # fmt: skip
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    header = b"\x93NUMPY\x02\x00" + (1 << 26).to_bytes(4, "little") + b" " * (1 << 26)
    with zipfile.ZipFile(tmp_path / "y.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("format.npy", header)
        archive.writestr("shape.npy", header)
    for file, why in (("x.npz", "not from 0 to 16,777,216|is a list of 16,777,216"), ("y.npz", "its header is no")):
        tracemalloc.start()
        with pytest.raises(GraphError, match=why):
            Graph.read(tmp_path / file)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
        tracemalloc.stop()


def test_a_declared_size_is_compared_with_the_file(tmp_path: Path) -> None:
    text = b"{'descr': '<u8', 'fortran_order': False, 'shape': (1099511627776,), }"
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for name, array in GOOD.items():
            if name == "offsets":
                continue
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)
        archive.writestr("offsets.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80))
    with pytest.raises(GraphError, match="the array `offsets` declares 8,796,093,022,208 bytes and has 80"):
        Graph.read(tmp_path / "x.npz")


def test_many_declared_vertices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_bytes", lambda: 200 << 20)
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{2**25} {2**25} 1\n1 2\n")
    with pytest.raises(OutOfMemory, match=r"an adjacency of 33,554,432 vertices needs 256\.0 MB, and 200\.0 MB are"):
        Graph.read(path)
    monkeypatch.setattr(room, "available_bytes", lambda: 260 << 20)
    graph = Graph.read(path)
    with pytest.raises(OutOfMemory, match=r"counting the degrees of 33,554,432 vertices needs 384\.0 MB, and 260"):
        graph.out_degree.max()
    with pytest.raises(OutOfMemory, match="an adjacency of 4,000,000,000 vertices needs"):
        Graph.from_edges([0], [1], n=4_000_000_000)

