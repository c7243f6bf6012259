"""Finds the columns of source and target ids in a text: by options, by well-known names, or by position."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vlang.records import dataclass
from vlang.runtime.graph.edges.ends import Ends, plain_name
from vlang.runtime.graph.read.text_errors import problem, shortened

__all__ = ["SOURCES", "TARGETS", "EndColumns", "choose_ends", "names_ends"]

# Well-known names of columns, in the form of `plain_name`. docs/command.md lists them.
SOURCES = ("source", "sourceid", "src", "srcid", "from", "fromid", "fromnode", "fromnodeid", "tail", "start", "startid",
           "node1", "id1", "u")  # fmt: skip
TARGETS = ("target", "targetid", "dst", "dstid", "dest", "destination", "to", "toid", "tonode", "tonodeid", "head",
           "end", "endid", "node2", "id2", "v")  # fmt: skip

_HOW = "--source-column and --target-column (source_column=, target_column=) choose others"


@dataclass(frozen=True)
class EndColumns:
    """The indices of the columns of source and target ids, from 0, and warnings if the choice may be wrong."""

    source: int
    target: int
    warnings: tuple[str, ...] = ()


def names_ends(row: Sequence[str], ends: Ends) -> bool:
    """Return whether a row must be a header: it has names for both ends, or a column name that an option gives."""
    names = {plain_name(name) for name in row}
    asked = {one for one in (ends.source, ends.target) if one is not None and not one.isdigit()}
    return bool(names & set(SOURCES) and names & set(TARGETS)) or bool(asked & set(row))


def choose_ends(
    path: Path | str, header: Sequence[str], line: int | None, width: int, ends: Ends
) -> EndColumns:
    """Choose the columns of source and target ids.

    Args:
        path: path of the file, for messages.
        header: the names of the columns; empty for a file without a header.
        line: the line number of the header; None for an Arrow table, which has no lines.
        width: the number of columns.
        ends: the options that choose the columns.

    Raises:
        GraphError: a chosen column does not exist, both ends have the same column, or only one of the two is found.
    """
    source = _asked(path, "source", ends.source, header, width)
    target = _asked(path, "target", ends.target, header, width)
    warnings: list[str] = []
    if source is None:
        source = _known(path, "source", SOURCES, header, line, warnings, target)
    if target is None:
        target = _known(path, "target", TARGETS, header, line, warnings, source)
    if source is None and target is None:
        source, target = 0, 1
        if header:
            warnings.append(_guess(path, header, line, "no column is called like a source or a target"))
    elif source is None and target == 1 and ends.target is None:
        source = 0
        warnings.append(_guess(path, header, line, "no column is called like a source"))
    elif target is None and source == 0 and ends.source is None:
        target = 1
        warnings.append(_guess(path, header, line, "no column is called like a target"))
    if source is None or target is None:
        raise _half(path, "source" if source is None else "target", header, line)
    if source == target:
        raise problem(path, f"{_label(header, source)} is taken as source and as target",
                      expected="two columns: --source-column and --target-column (source_column=, target_column=)")
    return EndColumns(source, target, tuple(warnings))


def _asked(path: Path | str, end: str, asked: str | None, header: Sequence[str], width: int) -> int | None:
    """The index of the column that an option gives; None if the option is not given."""
    if asked is None:
        return None
    if asked in header:
        return list(header).index(asked)
    index = int(asked) - 1 if asked.isascii() and asked.isdigit() else -1
    if 0 <= index < width:
        return index
    there = ", ".join(f"{i} ({name})" for i, name in enumerate(header, 1))
    raise problem(path, f"there is no column {asked!r} to take as {end}",
                  expected=f"one of: {there}" if header else f"a number from 1 to {width}, as the file has no header")


def _known(
    path: Path | str, end: str, names: Sequence[str], header: Sequence[str], line: int | None, warnings: list[str],
    other: int | None,
) -> int | None:
    """The column called `source` or `target` itself, or else the first one with a well-known name; adds a warning if
    several columns have such names.
    """
    found = [i for i, name in enumerate(header) if plain_name(name) in names and i != other]
    exact = [i for i in found if plain_name(header[i]) == end]
    found = exact if len(exact) == 1 else found
    if len(found) > 1:
        shown = " and ".join(_label(header, i) for i in found)
        warnings.append(f"{_at(path, line)}: {shown} are both called like a {end}; the first is taken; {_HOW}")
    return found[0] if found else None


def _at(path: Path | str, line: int | None) -> str:
    return f"{path}" if line is None else f"{path}, line {line}"


def _guess(path: Path | str, header: Sequence[str], line: int | None, why: str) -> str:
    if line is not None:
        why = f"read as a header, and {why}"
    return (f"{_at(path, line)}: {why}, so {_label(header, 0)} is the source and {_label(header, 1)} the target; "
            f"{_HOW}")


def _half(path: Path | str, end: str, header: Sequence[str], line: int | None) -> Exception:
    if not header:
        return problem(path, f"without a header, the column of the {end} must be chosen, too",
                       expected=f"--{end}-column NUMBER ({end}_column=NUMBER), from 1")
    return problem(path, f"no column is called like a {end}", line=line, found=", ".join(header),
                   expected=f"--{end}-column NAME ({end}_column=NAME), or a well-known name such as {end}")


def _label(header: Sequence[str], column: int) -> str:
    return f"column {column + 1} ({shortened(header[column])})" if header else f"column {column + 1}"
