"""Damaged page files and other files: each gives an error of one line, without large allocations."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.page_file.graphs import drawn_graph
from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.page_file.form import ENTRY, FIELDS, HEADER_BYTES, SUM_AT, TABLE_AT, Section, sum_of

VERSION_AT, N_AT, M_AT, FLAGS_AT, LAYOUT_AT, ID_KIND_AT, BITS_AT, CODEC_AT = 8, 32, 40, 48, 56, 60, 72, 76


class Damaged:
    """The bytes of a page file, which a test changes. `seal` corrects the checksums."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = PageFile.open(path)
        self.data = bytearray(path.read_bytes())

    def put(self, at: int, form: str, value: int) -> None:
        struct.pack_into(form, self.data, at, value)

    def entry(self, section: Section) -> int:
        """Return the offset of the entry of a section in the table of sections."""
        count = FIELDS.unpack_from(self.data)[-1]
        places = [TABLE_AT + number * ENTRY.size for number in range(count)]
        return next(at for at in places if ENTRY.unpack_from(self.data, at)[0] == section)

    def words(self, section: Section, dtype: str = "<i8") -> np.ndarray:
        """Return a section as a writeable array."""
        _, _, offset, nbytes, _ = ENTRY.unpack_from(self.data, self.entry(section))
        return np.frombuffer(self.data, np.uint8)[offset : offset + nbytes].view(dtype)

    def page(self, number: int, dtype: str = "<u4") -> np.ndarray:
        """Return a page of the in-edges as a writeable array."""
        extent = self.file.extent("in", number)
        return np.frombuffer(self.data, np.uint8)[extent.offset : extent.offset + extent.nbytes].view(dtype)

    def seal(self) -> None:
        """Recompute the checksums of pages, sections and the header."""
        offset, nbytes = ENTRY.unpack_from(self.data, self.entry(Section.IN_DIRECTORY))[2:4]
        count = self.file.directory("in").count
        for number in range(count if nbytes < len(self.data) else 0):
            self.put(offset + nbytes - 8 * (count - number), "<Q", sum_of(self.page(number).copy()))
        for section in Section:
            try:
                at = self.entry(section)
            except StopIteration:
                continue
            offset, nbytes = ENTRY.unpack_from(self.data, at)[2:4]
            if nbytes <= len(self.data):
                self.put(at + 24, "<Q", sum_of(bytes(self.data[offset : offset + nbytes])))
        self.seal_header()

    def seal_header(self) -> None:
        head = bytes(self.data[:SUM_AT]) + bytes(8) + bytes(self.data[SUM_AT + 8 : HEADER_BYTES])
        self.put(SUM_AT, "<Q", sum_of(head))


def _write(path: Path) -> None:
    save(drawn_graph(60, 40_000), path, page_bytes=4096, layout="degree")


def _flip(damaged: Damaged, at: int) -> None:
    damaged.data[at] ^= 4


def _sealed(change: Callable[[Damaged], object]) -> Callable[[Damaged], object]:
    def both(damaged: Damaged) -> None:
        change(damaged)
        damaged.seal()

    return both


def _set(section: Section, at: int, value: int, dtype: str = "<i8") -> Callable[[Damaged], object]:
    return _sealed(lambda d: d.words(section, dtype).__setitem__(at, value))


def _describe(old: bytes, new: bytes) -> Callable[[Damaged], object]:
    def change(damaged: Damaged) -> None:
        words = damaged.words(Section.DESCRIPTION, "u1")
        text = words.tobytes()
        assert old in text
        assert len(old) == len(new)
        words[:] = np.frombuffer(text.replace(old, new), np.uint8)

    return _sealed(change)


DIRECTORY = Section.IN_DIRECTORY
HEAD = 8  # words of a directory before its arrays
AGAIN = "; convert the graph again"

CASES: dict[str, tuple[Callable[[Damaged], object], str]] = {
    "magic": (lambda d: _flip(d, 3), "not a page file of vlang"),
    "text mode": (lambda d: d.data.__delitem__(6), "not a page file of vlang"),
    "empty": (lambda d: d.data.clear(), "not a page file of vlang"),
    "version": (lambda d: d.put(VERSION_AT, "<I", 2),
                "version 2 of page files; this version of vlang reads version 1"),
    "cut off in the header": (lambda d: d.data.__delitem__(slice(1000, None)), "cut off: it ends inside of its header"),
    "cut off in the pages": (lambda d: d.data.__delitem__(slice(9000, None)), "cut off or grown: it has 9,000 bytes"),
    "cut off by a byte": (lambda d: d.data.pop(), "cut off or grown"),
    "grown": (lambda d: d.data.extend(b"x"), "cut off or grown"),
    "bit in the header": (lambda d: _flip(d, 200), "damaged: the sum of the header is wrong" + AGAIN),
    "bit in the directory": (lambda d: _flip(d, ENTRY.unpack_from(d.data, d.entry(DIRECTORY))[2] + 50),
                             "damaged: the sum of the section in directory is wrong"),
    "bit in the description": (lambda d: _flip(d, ENTRY.unpack_from(d.data, d.entry(Section.DESCRIPTION))[2] + 5),
                               "damaged: the sum of the section description is wrong"),
    "bit in the order": (lambda d: _flip(d, ENTRY.unpack_from(d.data, d.entry(Section.PERMUTATION))[2] + 50),
                         "damaged: the sum of the section permutation is wrong"),
    "bit in the degrees": (lambda d: _flip(d, ENTRY.unpack_from(d.data, d.entry(Section.IN_DEGREES))[2]),
                           "damaged: the sum of the section in degrees is wrong"),
    "bit in a page": (lambda d: _flip(d, d.file.extent("in", 3).offset + 77),
                      "damaged: page 3 of the in-edges: its sum is wrong"),
    "bit in the rest of a page": (lambda d: _flip(d, d.file.extent("in", 3).offset + d.file.extent("in", 3).nbytes - 1),
                                  "damaged: page 3 of the in-edges: its sum is wrong"),
    "offsets begin late": (_sealed(lambda d: d.page(2).__setitem__(0, 1)), "page 2 of the in-edges: its offsets do"),
    "offsets fall": (_sealed(lambda d: d.page(2).__setitem__(1, 2**31)), "page 2 of the in-edges: its offsets fall"),
    "offsets end elsewhere": (
        _sealed(lambda d: d.page(2).__setitem__(len(d.file.view("in", 2, d.page(2, "u1")).offsets) - 1, 2**31)),
        "page 2 of the in-edges: its offsets do not end at its edges"),
    "a neighbour too large": (_sealed(lambda d: d.page(1).__setitem__(16 + 5, 60)),
                              "page 1 of the in-edges: a vertex number is too large"),
    "reserved section": (_sealed(lambda d: d.put(d.entry(Section.PERMUTATION), "<I", 32)),
                         r"the file has vertex columns \(section 32\), which this version of vlang does not read"),
    "unknown section": (_sealed(lambda d: d.put(d.entry(Section.PERMUTATION), "<I", 77)),
                        "the file has sections of kind 77, which this"),
    "a section twice": (_sealed(lambda d: d.put(d.entry(Section.PERMUTATION), "<I", 6)), "the table of sections"),
    "a section outside": (_sealed(lambda d: d.put(d.entry(DIRECTORY) + 16, "<Q", 2**62)),
                          "the section in_directory lies outside of the file"),
    "a section too short": (_sealed(lambda d: d.put(d.entry(Section.PERMUTATION) + 16, "<Q", 8)),
                            "the length of the section permutation"),
    "codec": (_sealed(lambda d: d.put(CODEC_AT, "<I", 3)), "the file has pages compressed by codec 3, which"),
    "wide numbers": (_sealed(lambda d: d.put(BITS_AT, "<I", 64)), "the file has vertex numbers of 64 bits, which"),
    "flags": (_sealed(lambda d: d.put(FLAGS_AT, "<Q", 3)), "the file has flags 0x3, which"),
    "layout": (_sealed(lambda d: d.put(LAYOUT_AT, "<I", 3)), "the file has layout 3, which"),
    "kind of ids": (_sealed(lambda d: d.put(ID_KIND_AT, "<I", 9)), "the file has ids of kind 9, which"),
    "ids without a table": (_sealed(lambda d: d.put(ID_KIND_AT, "<I", 1)), "the section ids is missing"),
    "bytes that must be zero": (_sealed(lambda d: d.put(4000, "<I", 1)), "bytes that must be zero are not"),
    "many vertices": (_sealed(lambda d: d.put(N_AT, "<Q", 2**32 - 2)), "the length of the section permutation"),
    "too many vertices": (_sealed(lambda d: d.put(N_AT, "<Q", 2**40)), "the numbers of vertices and edges"),
    "many edges": (_sealed(lambda d: d.put(M_AT, "<Q", 2**62)), "the directory: the first edges of the pages"),
    "type of a column": (_describe(b'"uint16"', b'"uint24"'),
                         "the edge column 'weight' has the type 'uint24', which this version of vlang does not read"),
    "a bound of a column": (_describe(b'"39999"', b'"39990"'), "a value of the edge column 'weight' is out of bounds"),
    "no JSON": (_describe(b'{"columns', b'["columns'), "damaged: its description"),
    "no notes": (_describe(b'"notes":', b'"motes":'), "damaged: its description"),
    "count of pages": (_set(DIRECTORY, 0, 2**61), "the directory: counts of the directory"),
    "count of pages by one": (_set(DIRECTORY, 0, 5), "the directory: "),
    "tasks of nothing": (_set(DIRECTORY, 5, 0), "the directory: "),
    "tasks of less": (_set(DIRECTORY, 5, -1), "the directory: "),
    "first edges": (_set(DIRECTORY, HEAD + 2, 0), "the directory: "),
    "a negative first vertex": (_sealed(lambda d: d.words(DIRECTORY).__setitem__(
        HEAD + d.file.directory("in").count + 1 + 4, -3)), "the directory: the first vertices of the pages"),
    "degrees": (_set(Section.IN_DEGREES, 5, 3, "<u2"), "the degrees do not add up to the edges"),
    "order": (_set(Section.PERMUTATION, 0, 59, "<u4"), "the order of the vertices is no permutation"),
    "order outside": (_set(Section.PERMUTATION, 0, 2**32 - 1, "<u4"), "the order of the vertices is no permutation"),
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "x.vg"
    _write(path)
    PageFile.open(path).check()  # compiles the kernels, which takes memory
    return path


@pytest.mark.parametrize("name", CASES)
def test_damage(name: str, whole: Path, tmp_path: Path) -> None:
    damaged = Damaged(whole)
    change, message = CASES[name]
    change(damaged)
    path = tmp_path / "x.vg"
    path.write_bytes(damaged.data)
    tracemalloc.start()
    try:
        with pytest.raises(GraphError, match=message) as caught:
            PageFile.open(path).check()
        assert tracemalloc.get_traced_memory()[1] < 4 * len(damaged.data) + (1 << 20), "nothing large is allocated"
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("at", range(8))
def test_the_first_bytes(at: int, whole: Path, tmp_path: Path) -> None:
    """A page file with damage in its first bytes is not read as a text."""
    data, path = bytearray(whole.read_bytes()), tmp_path / "x.vg"
    data[at] ^= 0x5A
    path.write_bytes(data)
    message = r"x\.vg: no page file: its first bytes are damaged, or .* convert the graph"
    with pytest.raises(GraphError, match=message) as caught:
        Graph.read(path)
    assert "\n" not in str(caught.value)


def test_tasks_of_one_edge_are_no_damage(whole: Path, tmp_path: Path) -> None:
    damaged = Damaged(whole)
    _set(DIRECTORY, 5, 1)(damaged)
    (tmp_path / "x.vg").write_bytes(damaged.data)
    PageFile.open(tmp_path / "x.vg").check()


def test_degrees_that_are_not_those_of_the_pages(whole: Path, tmp_path: Path) -> None:
    damaged = Damaged(whole)
    degrees = damaged.words(Section.IN_DEGREES, "<u2")
    one, other = np.flatnonzero((degrees > 1) & (degrees < 10_000))[:2]
    degrees[one] += 1
    degrees[other] -= 1
    damaged.seal()
    (tmp_path / "x.vg").write_bytes(damaged.data)
    with pytest.raises(GraphError, match="the degrees are not those of the pages"):
        PageFile.open(tmp_path / "x.vg").check()
    with pytest.raises(GraphError, match="its rows have other lengths than the table of degrees"):
        Graph.read(tmp_path / "x.vg")


def test_ids(tmp_path: Path) -> None:
    Graph.from_edges([10, 20], [20, 40]).save(tmp_path / "n.vg")
    Graph.from_edges(["a", "b"], ["b", "d"]).save(tmp_path / "t.vg")
    for name, section, dtype, at, value, message in (
        ("n", Section.IDS, "<i8", 1, 10, "the ids are not in increasing order"),
        ("t", Section.ID_ENDS, "<u8", 0, 2**60, "the ends of the ids"),
        ("t", Section.ID_ENDS, "<u8", 2, 4, "the ends of the ids"),
        ("t", Section.ID_BYTES, "u1", 1, 255, "an id is not UTF-8"),
        ("t", Section.ID_BYTES, "u1", 1, 97, "the ids are not in increasing order"),
    ):
        damaged = Damaged(tmp_path / f"{name}.vg")
        damaged.words(section, dtype)[at] = value
        damaged.seal()
        (tmp_path / "x.vg").write_bytes(damaged.data)
        with pytest.raises(GraphError, match=message):
            PageFile.open(tmp_path / "x.vg").ids()


def test_a_row_that_ends_in_the_next_page(tmp_path: Path) -> None:
    """A row that continues in the next page is refused unless its vertex is long, because the tasks of kernels rely on
    this rule.
    """
    save(drawn_graph(60, 2000, directed=False), tmp_path / "x.vg", page_bytes=4096)
    damaged = Damaged(tmp_path / "x.vg")
    view = damaged.file.view("in", 0, damaged.page(0, "u1"))
    damaged.page(0)[len(view.offsets) - 2] -= 1
    damaged.seal()
    (tmp_path / "x.vg").write_bytes(damaged.data)
    with pytest.raises(GraphError, match="page 0 of the in-edges: its last row goes on in the next page"):
        Graph.read(tmp_path / "x.vg")


def test_stripes(tmp_path: Path) -> None:
    disks = [tmp_path / "a", tmp_path / "b"]
    for disk in disks:
        disk.mkdir()
    save(drawn_graph(60, 4000), tmp_path / "x.vg", disks=disks, page_bytes=4096)
    save(drawn_graph(60, 4000, seed=2), tmp_path / "y.vg", disks=disks, page_bytes=4096)
    first, second = PageFile.open(tmp_path / "x.vg").stripes
    other = PageFile.open(tmp_path / "y.vg").stripes[0]
    saved = first.read_bytes()

    def refused(kind: type[Exception], message: str) -> None:
        with pytest.raises(kind, match=message) as caught:
            PageFile.open(tmp_path / "x.vg")
        assert "\n" not in str(caught.value)

    first.write_bytes(other.read_bytes())
    refused(GraphError, f"{first}: a stripe of another page file")
    first.write_bytes(second.read_bytes())
    refused(GraphError, f"{first}: stripe 2 of 2, where stripe 1 of 2 belongs")
    first.write_bytes(saved[:-4096])
    refused(GraphError, f"{first}: cut off or grown")
    first.write_bytes(saved[:50])
    refused(GraphError, f"{first}: cut off: it ends inside of its header")
    first.write_bytes(b"# a text\n1 2\n")
    refused(GraphError, f"{first}: not a stripe of a page file")
    first.unlink()
    os.mkfifo(first)
    refused(GraphError, f"{first}: not a stripe of a page file")
    first.unlink()
    refused(DiskError, f"its stripe 1 of 2 is missing: {first}")
    (tmp_path / first.name).write_bytes(saved)
    assert PageFile.open(tmp_path / "x.vg").check() > 8, "a stripe beside the page file is found"
    flipped = bytearray(saved)
    flipped[-1] ^= 1
    (tmp_path / first.name).write_bytes(flipped)
    with pytest.raises(GraphError, match=f"{first.name}: damaged: page .* its sum is wrong"):
        PageFile.open(tmp_path / "x.vg").check()


def test_any_change_is_refused_or_harmless(whole: Path, tmp_path: Path) -> None:
    """If random words in header, directories or pages are changed, with correct checksums, the result is an error of
    vlang or a graph.
    """
    rng = np.random.default_rng(11)
    path = tmp_path / "x.vg"
    refused: list[str] = []
    for _ in range(400):
        damaged = Damaged(whole)
        sections = [Section.IN_DIRECTORY, Section.OUT_DIRECTORY, Section.IN_DEGREES, Section.DESCRIPTION, None]
        section = sections[rng.integers(len(sections))]
        low, length = (8, 400) if section is None else ENTRY.unpack_from(damaged.data, damaged.entry(section))[2:4]
        value = [0, 1, 2, 3, 255, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1, int(rng.integers(2**40))][rng.integers(11)]
        damaged.put(int(low + rng.integers(length // 8) * 8), "<Q", value)
        try:
            damaged.seal()
        except (struct.error, StopIteration, ValueError, IndexError):
            damaged.seal_header()
        path.write_bytes(damaged.data)
        try:
            file = PageFile.open(path)
            file.check()
            Graph.read(path)
        except (GraphError, DiskError) as error:
            refused.append(str(error))
    assert len(refused) > 250
    assert not [message for message in refused if "\n" in message]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot be read: No such file"):
        PageFile.open(tmp_path / "x.vg")
    with pytest.raises(DiskError, match="cannot be read: Is a directory"):
        PageFile.open(tmp_path)
