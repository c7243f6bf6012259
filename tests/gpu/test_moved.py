"""The traffic and the cost models of streamed runs on a real GPU."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.compare import PAGE, assert_equal, given, least_memory, needs_gpu, on_cpu
from vlang.runtime.threads.moved import NOTHING, Moved

pytestmark = needs_gpu


@pytest.mark.parametrize(("name", "options"), [
    ("pagerank_rounds", {"transfer": "pages"}), ("sssp", {"mode": "push", "transfer": "pages"}),
    ("sssp", {"mode": "push", "transfer": "direct"}), ("sssp", {"policy": "hytgraph"}), ("sssp", {"policy": "gts"}),
])  # fmt: skip
def test_rounds_have_their_traffic(name: str, options: dict[str, Any]) -> None:
    run, paged = given(name, "hubs"), {"page_size": PAGE, **options}
    result = run(device="gpu", gpu_memory=least_memory(run, paged), **paged)
    assert_equal(result, on_cpu(name, "hubs"), options)
    assert result.moved != NOTHING
    assert result.moved.bytes_from_disk == 0
    total = Moved(*(sum(getattr(row, one) for row in result.history) for one in Moved._fields))
    assert all(part <= whole for part, whole in zip(total, result.moved))
    if options.get("transfer") == "direct":
        assert total.bytes_in_place > 0
    else:
        assert total.pages_copied + total.pages_packed > 0 or total.bytes_in_place > 0  # a policy may choose either
        assert total.bytes_copied <= (total.pages_copied + total.pages_packed) * 3 * PAGE
    if options.get("policy") == "gts":
        compared = [row for row in result.history if row.expected is not None]
        assert compared
        assert all(0 < (row.expected or 0) < 1 for row in compared)
