"""Policies: the options that a policy chooses or refuses, options that override this choice, and the messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call
from vlang import BindError, Graph, Options, load
from vlang.api.arguments.bind_options import check_options
from vlang.options import OPTIONS, RESEARCH
from vlang.runtime.policies.policies import POLICIES

DOCUMENT = Path(__file__).parents[2] / "docs/policies.md"


def test_the_table_and_the_option_agree() -> None:
    assert ("auto", *POLICIES) == OPTIONS["policy"].choices
    for policy in POLICIES.values():
        for device, choices in policy.choices.items():
            options = check_options({"policy": policy.name, "device": device})
            assert {c.option: getattr(options, c.option) for c in choices} == {c.option: c.value for c in choices}
            assert all(c.option in RESEARCH and c.why for c in choices)


@pytest.mark.parametrize(("given", "found"), [
    ({"policy": "garaph", "device": "gpu", "replication": 4}, {"replication": 4, "kernel": "edge", "mode": "pull"}),
    ({"policy": "garaph", "device": "gpu", "replication": "auto"}, {"replication": "auto"}),
    ({"policy": "garaph"}, {"mode": "dual", "switching": "published", "blocking": "never"}),
    ({"policy": "gts", "device": "gpu:1", "streams": 2, "mode": "auto"}, {"streams": 2, "mode": "auto"}),
    ({"policy": "auto", "device": "gpu"}, {"kernel": "auto", "mode": "auto"}),
])  # fmt: skip
def test_a_choice_of_the_caller_wins(given: dict[str, Any], found: dict[str, Any]) -> None:
    options = check_options(given)
    assert {name: getattr(options, name) for name in found} == found


@pytest.mark.parametrize(("given", "message"), [
    ({"policy": "garaph", "device": "gpu", "mode": "push"}, "policy='garaph' is mode='pull': a GPU only pulls"),
    ({"policy": "wolfgraph", "device": "gpu", "kernel": "stream"}, "policy='wolfgraph' is kernel='edge-list'"),
    ({"policy": "gts", "device": "gpu", "transfer": "direct"}, "policy='gts' is transfer='pages'"),
    ({"policy": "gts"}, 'runs on a GPU: ask for device="gpu" as well'),
    ({"policy": "garaph", "device": "auto"}, 'device that is named: ask for device="gpu" or device="cpu"'),
    ({"policy": "gtx"}, "policy is one of .*did you mean 'gts'"),
])  # fmt: skip
def test_contradictions_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BindError, match=message):
        check_options(given)


def test_an_options_object_leaves_open_what_has_its_default() -> None:
    graph = Graph.read("karate")
    result = load("bfs")(graph, Options(policy="garaph"), source=1)
    assert (result.policy, result.choices["mode"]) == ("garaph", "dual")
    assert {row.mode for row in result.history} <= {"pull", "notify-pull"}


def test_a_policy_refuses_programs_that_its_kernels_cannot_run() -> None:
    with pytest.raises(BindError, match=r"policy='garaph' cannot run cdlp: pass \w+ needs all contributions"):
        load("cdlp")(Graph.read("karate"), policy="garaph")


def test_updates_in_place_are_not_ignored() -> None:
    graph = Graph.read("karate")
    with pytest.raises(BindError, match=r"no loop of pagerank may run in place: line \d+: stops on a tolerance"):
        load("pagerank")(graph, research={"asynchronous": True})
    assert load("sssp")(graph, source=1, research={"asynchronous": True}).notes == ()
    assert load("components")(graph, research={"asynchronous": True}).rounds > 1  # rule K would run no supersteps


def test_the_command_line_shows_the_choices(vlang: Call) -> None:
    shown = vlang("run", "sssp", "karate", "source=1", "--policy", "garaph", "--json")
    found = json.loads(shown.out)
    assert (found["policy"], found["choices"]["switching"]) == ("garaph", "published")
    assert "policy garaph is Garaph (Ma et al., USENIX ATC 2017) without: supersteps" in found["notes"][0]
    said = vlang("explain", "pagerank", "--stage", "plan", "--policy", "garaph", "--research", "replication=8").out
    assert "kernel=edge: a block for each shard" in said
    assert "replication=8 by the caller, instead of garaph: R = 2^min" in said
    assert "dispatch=alpha: one deque of pages" in said
    refused = vlang("explain", "cdlp", "--stage", "plan", "--policy", "ws-vr").out
    assert "cannot run this program: pass" in refused


def test_the_page_has_a_section_for_each_policy() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for policy in POLICIES.values():
        assert f"## {policy.paper}" in text
        assert f"<!-- options: policy {policy.name} -->" in text
