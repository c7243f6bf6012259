"""The tables of options in the documents, which are generated from the table in vlang.options.

`python -m tests.docs.option_tables` writes the tables between their markers. The rest of a document is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from tests.docs.transcripts import ROOT
from vlang.ir.switches import OPTIMISATIONS
from vlang.options import EVERYDAY, OPTIONS, RESEARCH, Option
from vlang.runtime.policies.policies import POLICIES
from vlang.runtime.policies.policy import Policy

__all__ = ["PAGES", "TABLES", "page"]

_TABLE = re.compile(r"<!-- options: ([\w -]+) -->\n.*?<!-- end -->\n", re.DOTALL)
_ON = {"cpu": "CPU", "gpu": "GPU", "both": "both"}
PAGES = tuple(ROOT / "docs" / name for name in ("python.md", "command.md", "gpu.md", "research.md", "policies.md"))


def _rows(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(option: Option) -> str:
    text = {"streams": "auto", "without": ""}.get(option.name, option.default)
    return f'"{text}"' if isinstance(text, str) else str(text)


def _written(option: Option) -> str:
    """Return an option with its values, as on the command line."""
    return _cell(f"`{option.flag}{' ' if option.values else ''}{option.values}`")


def _python() -> str:
    return _rows(("option", "does"), ((f"`{o.name}={_default(o)}`", o.help) for o in EVERYDAY.values()))


def _command() -> str:
    return _rows(("option", "does"), ((_written(o), o.help) for o in EVERYDAY.values() if o.command))


def _gpu() -> str:
    found = [option for option in OPTIONS.values() if option.devices == "gpu" or option.name == "deterministic"]
    return _rows(("in Python", "on the command line", "does"), (
        (f'`research={{"{o.name}": ...}}`', _cell(f"`--research {o.name}={o.values}`"), o.help) if o.research else
        (f"`{o.name}=...`", _written(o), o.help) for o in found))


def _research() -> str:
    return _rows(("name", "values", "default", "devices", "effect"), (
        (f"`{o.name}`", _cell(f"`{o.values}`"), f"`{_default(o)}`", _ON[o.devices], o.help) for o in RESEARCH.values()))


def _without() -> str:
    return _rows(("name", "what it is"), ((f"`{name}`", text) for name, text in OPTIMISATIONS.items()))


def _policy(policy: Policy) -> str:
    """Return the choices of a policy, the methods of its source that vlang lacks, and the other methods in use."""
    text = f"Source: [{SOURCES[policy.name]}](../runtime/policies/{SOURCES[policy.name]}).\n\n"
    text += _rows(("device", "choice", "why"), (
        ({"cpu": "CPU", "gpu": "GPU"}[device], f"`{one.option}={one.value}`{', fixed' if one.defines else ''}", one.why)
        for device, choices in policy.choices.items() for one in choices))
    for head, parts in (("Not built here", policy.left_out), ("Also in use", policy.besides)):
        text += f"\n{head}:\n\n{''.join(f'- {part}' + chr(10) for part in parts)}"
    return text


SOURCES: Mapping[str, str] = {name: f"{name.replace('-', '_')}.py" for name in POLICIES}

TABLES: Mapping[str, Callable[[], str]] = {
    "everyday in Python": _python, "everyday on the command line": _command, "of a GPU": _gpu, "research": _research,
    "optimisations": _without,
    **{f"policy {name}": partial(_policy, policy) for name, policy in POLICIES.items()},
}


def page(path: Path) -> str:
    """Return the text of a document with its current tables."""
    text = path.read_text(encoding="utf-8")
    return _TABLE.sub(lambda found: f"<!-- options: {found[1]} -->\n{TABLES[found[1]]()}<!-- end -->\n", text)


if __name__ == "__main__":
    for file in PAGES:
        file.write_text(page(file), encoding="utf-8")
