"""A directory of a page file is refused if any of its numbers contradicts the other numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.page_file.directory import Directory

N, HUBS = 60, (5, 17)
M = 6000 + len(HUBS) * (SEGMENT + 500)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    """Return a directory with several pages, and with vertices whose rows are cut into segments."""
    path = tmp_path_factory.mktemp("directory") / "x.vg"
    ends = np.random.default_rng(1).integers(0, N, (2, M))
    for number, hub in enumerate(HUBS):
        ends[1, number * (SEGMENT + 500) : (number + 1) * (SEGMENT + 500)] = hub
    save(Graph.from_edges(*ends, n=N), path, page_bytes=16384)
    return PageFile.open(path).directory("in")


def wrong(d: Directory) -> Iterator[bool]:
    """Yield, for each rule of a directory, whether the rule is broken.

    If a rule is broken, kernels would read outside of a page, row or list, or miss or repeat a vertex.
    """
    pages, rows, count = d.count, [*d.firsts.tolist(), N], len(d.segments)
    starts, on = d.starts.tolist(), d.segment_pages.tolist()
    yield starts[0] != 0 or starts[-1] != M or starts != sorted(starts)
    yield rows[0] != 0 or rows != sorted(rows) or rows[-2] >= N
    done: list[int] = []
    for page, low, high in d.tasks.tolist():
        yield not 0 <= page < pages
        yield not rows[page] <= low < high <= rows[page + 1]
        done += range(low, high)
    yield sorted(done + d.longs[:, 0].tolist()) != list(range(N))
    yield [one for _, low, high in d.longs.tolist() for one in range(low, high)] != list(range(count))
    for vertex, low, high in d.longs.tolist():
        end = None
        for segment in range(low, high):
            owner, begin, last = d.segments[segment].tolist()
            page = on[segment]
            yield owner != vertex or not 0 <= page < pages
            yield not 0 <= begin < last <= starts[page + 1] - starts[page]
            yield not rows[page] <= vertex <= min(rows[page + 1], N - 1)
            yield end is not None and starts[page] + begin != end
            end = starts[page] + last
    yield [one for _, low, high in d.segment_tasks.tolist() for one in range(low, high)] != list(range(count))
    for page, low, high in d.segment_tasks.tolist():
        yield {page} != set(on[low:high])


def test_no_number_of_a_directory_is_taken_on_trust(directory: Directory) -> None:
    words = directory.to_words()
    assert min(directory.count, len(directory.longs), len(directory.segment_tasks)) > 1
    assert not any(wrong(Directory.from_words(words, N, M)))
    refused = 0
    for at in range(5, len(words) - directory.count):  # all words between the lengths of arrays and the checksums
        for value in {words[at] + 1, words[at] - 1, -1, 0, N, directory.count} - {words[at]}:
            changed = words.copy()
            changed[at] = value
            try:
                found = Directory.from_words(changed, N, M)
            except ValueError:
                refused += 1
            else:
                assert not any(wrong(found)), (at, int(words[at]), int(value))
    assert refused > 4 * len(words)


def test_tasks_that_leave_out_a_vertex_are_refused(directory: Directory) -> None:
    """Tasks that leave out a vertex are refused, even if a second change keeps the number of vertices."""
    words, tasks = directory.to_words(), 8 + len(directory.starts) + directory.count
    tasks += directory.longs.size + directory.segments.size + len(directory.segment_pages)
    assert np.array_equal(words[tasks : tasks + directory.tasks.size], directory.tasks.reshape(-1))
    for one in range(tasks, tasks + directory.tasks.size):
        for other in range(tasks, tasks + directory.tasks.size):
            changed = words.copy()
            changed[one] += 1
            changed[other] -= 1
            if one != other:
                try:
                    found = Directory.from_words(changed, N, M)
                except ValueError:
                    continue
                assert not any(wrong(found)), (one, other)


