"""The interface of a target, which turns the functions of stages and scalars into kernels in one module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from vlang.emit.shared.scalars import ScalarText
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Dialect
from vlang.records import dataclass

if TYPE_CHECKING:  # start-up: a run on a CPU loads no code for GPUs
    from vlang.runtime.plan.gpu_stage import GpuStage

__all__ = ["Module", "StageText", "Target"]


@dataclass(frozen=True)
class StageText:
    """The code of a stage, its kernels, and its description for a GPU.

    Attributes:
        text: The code.
        kernels: The name of the kernel for each role.
        gpu: The description for a GPU, or None.
        support: Skeletons that the stage needs in addition to the skeletons of every module.
        signatures: The signatures, by name, of the kernels that do not have the parameters of a pass.
        ways: As in StageSpec.
        refused: As in StageSpec.
    """

    text: str
    kernels: Mapping[str, str]
    gpu: GpuStage | None
    support: tuple[str, ...] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)
    ways: Mapping[str, object] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Module:
    """The code of the whole program, and the signatures of its kernels."""

    text: str
    exports: Mapping[str, str]


class Target(Protocol):
    """A target has a dialect, and turns functions into kernels."""

    lists_levels: bool  # whether the engine has a list of the vertices of each level of a sweep
    fuses: bool  # whether reductions and messages may be fused into a pass, block by block

    @property
    def dialect(self) -> Dialect: ...
    def stage(self, writer: StageWriter) -> StageText: ...
    def scalar(self, scalar: ScalarText) -> str: ...
    def module(
        self, stages: Sequence[StageText], scalars: Sequence[str], folds: Sequence[str],
        fuses: Mapping[str, Sequence[str]],
    ) -> Module:
        """The whole module.

        Args:
            stages: The code of the stages.
            scalars: The code of the graph-level values.
            folds: The code of the folds of graph-level values.
            fuses: For each pass, the kernels of folds and messages that are fused into the pass.
        """
