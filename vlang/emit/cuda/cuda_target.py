"""A program as one CUDA C text: the skeletons, followed by a struct for every pass and graph-level value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vlang.emit.cuda.cuda_dialect import CudaDialect, indented
from vlang.emit.cuda.cuda_stage import StageStruct, from_lane
from vlang.emit.shared.scalars import ScalarText
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.target import Module, StageText
from vlang.emit.shared.values.dialect import Function
from vlang.runtime.plan import plan as kernelset

__all__ = ["GENERATED", "SKELETONS", "CudaTarget"]

_FOLDER = Path(__file__).resolve().parent / "skeletons"
SKELETONS = (
    "prelude", "words", "operators", "saturating", "common", "atomics", "vertices", "state", "topology", "pull",
    "shards", "together", "listed", "frontier", "push", "early", "priority", "alone", "persistent", "traverse",
    "cluster", "notify", "engines", "paged", "loaded", "bitmaps", "scratch", "groups", "holistic", "relay", "connect",
    "mirrors", "boundary", "peers", "joint",
)
"""The skeleton files in the order of the text; the constants of runtime/plan/plan.py follow after the first file."""

GENERATED = "// ---- generated from the program ----\n"
"""The line between the skeletons and the code generated from the program."""


class CudaTarget:
    """The target for NVIDIA GPUs: templates over structs. Entry points are appended when kernels are loaded."""

    lists_levels = False
    fuses = False

    def __init__(self) -> None:
        self.dialect = CudaDialect()

    def stage(self, writer: StageWriter) -> StageText:
        """The struct of a stage, and the properties that the engine uses."""
        struct = StageStruct(writer, self.dialect)
        text = struct.text()
        roles = ["pull", "segments", "finish"] if writer.stage.domain else ["compute"]
        roles += ["messages"] if writer.messages else []
        return StageText(text, {role: f"{role}_{writer.stage.name}" for role in roles}, struct.facts())

    def scalar(self, scalar: ScalarText) -> str:
        """The struct of a graph-level value."""
        d = self.dialect
        types = [t for a in scalar.accumulations for t in a.types]
        parts = [d.struct("Acc", [f"{d.typename(t)} a{i}" for i, t in enumerate(types)])]
        functions = list(scalar.functions)
        if scalar.folds:
            functions.append(from_lane(d, len(types)))
        functions.append(Function("store folded" if scalar.folds else "store", scalar.lines, ""))
        folds = f"static constexpr bool FOLDS = {d.true if scalar.folds else d.false};\n"
        body = "".join([folds, d.environment(tuple(scalar.env.entries)), *parts, *map(d.define, functions)])
        return f"// {scalar.name}\nstruct v{scalar.number} {{\n{indented(body)}}};\n"

    def module(
        self, stages: Sequence[StageText], scalars: Sequence[str], folds: Sequence[str],
        fuses: Mapping[str, Sequence[str]],
    ) -> Module:
        """The whole CUDA C text. The kernels in the text are templates, so the module exports no kernels."""
        first, *rest = (_skeleton(name) for name in SKELETONS)
        return Module("\n".join([first, _constants(), *rest, GENERATED, *(one.text for one in stages), *scalars]), {})


def _skeleton(name: str) -> str:
    return (_FOLDER / f"{name}.cuh").read_text(encoding="utf-8")


def _constants() -> str:
    """The constants that kernels share with the engine, as an enum. A kernel text need not use all constants of this
    enum.
    """
    names = [name for name in sorted(kernelset.__all__)
             if name in ("SEGMENT", "BLOCK", "THREADS") or name.startswith(("SLOT_", "ROW_"))]
    return "enum : int {\n" + "".join(f"  {name} = {getattr(kernelset, name)},\n" for name in names) + "};\n"
