"""`trace=FILE` writes a file in the Trace Event Format that has every superstep, pass, kernel and page transfer."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call, vlang
from vlang import BindError, DiskError, Graph, load
from vlang.runtime.engine.recorder import Recorder
from vlang.runtime.engine.trace import Done
from vlang.runtime.graph.paged.in_memory import save
from vlang.runtime.threads.activity import Supersteps

__all__ = ["vlang"]

_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "X": {"cat": str, "name": str, "pid": int, "tid": int, "ts": (int, float), "dur": (int, float), "args": dict},
    "C": {"name": str, "pid": int, "ts": (int, float), "args": dict},
    "M": {"name": str, "pid": int, "tid": int, "ts": (int, float), "args": dict},
}
_KINDS = {"step", "superstep", "pass", "kernel", "read", "check", "copy"}


def checked(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Check a trace against the rules of the format for the three phases that vlang writes; return its events."""
    assert set(trace) == {"displayTimeUnit", "otherData", "traceEvents"}
    assert trace["displayTimeUnit"] in ("ms", "ns")
    tracks: dict[int, list[tuple[float, float]]] = {}
    for event in trace["traceEvents"]:
        fields = _FIELDS[event["ph"]]
        assert set(event) == {"ph", *fields}, event
        assert all(isinstance(event[name], kind) for name, kind in fields.items()), event
        assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["cat"] in _KINDS
            assert event["dur"] >= 0
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
        else:
            assert all(isinstance(value, (int, float)) for value in event["args"].values())
    for spans in tracks.values():  # complete events of a track nest
        open_: list[float] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ and open_[-1] <= begin + 0.002:  # times are rounded to nanoseconds
                open_.pop()
            assert not open_ or end <= open_[-1] + 0.002
            open_.append(end)
    return list(trace["traceEvents"])


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == kind]


def test_supersteps_passes_and_kernels(tmp_path: Path) -> None:
    result = load("pagerank")(Graph.read("karate"), trace=tmp_path / "t.json")
    events = checked(json.loads((tmp_path / "t.json").read_text()))
    steps = of(events, "superstep")
    assert [(e["args"]["round"], e["args"]["mode"], e["args"]["active"], e["args"]["edges"]) for e in steps] == \
        [(r.round, r.mode, r.active, r.edges) for r in result.history]
    assert {e["args"]["line"] for e in steps} == {load("pagerank").lower().plan.counted[0].line}
    assert len(of(events, "pass")) >= result.rounds
    assert sum(e["args"]["edges"] for e in of(events, "pass") if e["args"]["over"] == "in") >= result.edges
    assert of(events, "kernel")
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["pagerank on karate"]
    assert sum(e["name"] == "active vertices" for e in events) == result.rounds


@pytest.mark.parametrize("name", ["bfs", "sssp", "components", "betweenness", "kcore"])
def test_every_way_writes_a_sound_trace(name: str, tmp_path: Path) -> None:
    graph, program = Graph.read("kron:8,weights=1..9", self_loops="drop", parallel="drop"), load(name)
    given: dict[str, Any] = {p.name: 0 if p.type == "vertex" else [0, 1] for p in program.params if p.required}
    result = program(graph, trace=str(tmp_path / "t.json.gz"), **given)
    with gzip.open(tmp_path / "t.json.gz", "rt") as file:
        events = checked(json.load(file))
    assert len(of(events, "superstep")) == result.rounds
    assert of(events, "kernel")


def test_pages_from_disk_have_their_bytes(tmp_path: Path) -> None:
    save(Graph.read("kron:14"), tmp_path / "g.vg", layout="ids", page_bytes=1 << 14)
    graph = Graph.open(tmp_path / "g.vg")
    result = load("pagerank")(graph, max_rounds=3, memory="1300K", trace=tmp_path / "t.json")
    events = checked(json.loads((tmp_path / "t.json").read_text()))
    reads = of(events, "read")
    assert sum(e["args"]["bytes"] for e in reads) == result.read_bytes > 0
    assert {e["args"]["adjacency"] for e in reads} == {"in"}
    steps = of(events, "superstep")
    for count in ("bytes_from_disk", "pages_from_disk", "pages_cached"):
        assert [e["args"].get(count, 0) for e in steps] == [getattr(row, count) for row in result.history]
    assert 0 < steps[0]["args"]["bytes_from_disk"] <= result.moved.bytes_from_disk == result.read_bytes


def test_the_command_traces_reading_too(vlang: Call, tmp_path: Path) -> None:
    done = vlang("run", "bfs", "karate", "source=1", "--trace", tmp_path / "t.json", "--quiet")
    assert (done.status, done.err) == (0, "")
    events = checked(json.loads((tmp_path / "t.json").read_text()))
    assert "reading karate" in [e["name"] for e in of(events, "step")]
    assert of(events, "superstep")
    for path, text in (("t.txt", "end it in .json or .json.gz"), ("none/t.json", "there is no folder")):
        done = vlang("run", "bfs", "karate", "source=1", "--trace", tmp_path / path)
        assert done.status in (1, 2)
        assert text in done.err


def test_a_failed_run_leaves_its_trace(tmp_path: Path) -> None:
    def stop(_: object) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        load("bfs")(Graph.read("karate"), source=1, trace=tmp_path / "t.json", progress=stop)
    assert checked(json.loads((tmp_path / "t.json").read_text()))
    with pytest.raises(BindError, match="trace: "):
        load("bfs")(Graph.read("karate"), source=1, trace="t.trace")
    with pytest.raises(DiskError, match="there is no folder"):
        load("bfs")(Graph.read("karate"), source=1, trace=str(tmp_path / "no" / "t.json"))


def test_a_long_trace_says_what_it_leaves_out() -> None:
    recorder, file = Recorder(most=5), io.BytesIO()
    for number in range(1, 5):
        recorder.rounds(Supersteps(0, 1, number, 0.0, 0.1, (Done(1, "pull", 1),)))
    recorder.write(file)
    trace = json.loads(file.getvalue())
    assert trace["otherData"] == {"left_out": 3}
    assert len(of(checked(trace), "superstep")) == 3
