"""The interface of a target: functions of stages and scalars become kernels, and one module of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from vlang.emit.shared.dialect import Dialect
from vlang.emit.shared.scalars import ScalarText
from vlang.emit.shared.stage import StageWriter

if TYPE_CHECKING:  # a run on a CPU loads no code for GPUs
    from vlang.runtime.plan.gpu_stage import GpuStage

__all__ = ["Module", "StageText", "Target"]


@dataclass(frozen=True)
class StageText:
    """Code of a stage, its kernels, and notes for a GPU.

    Attributes:
        text: The text.
        kernels: Role -> name.
        gpu: The description for a GPU, or None.
        support: Skeletons that it needs in addition to those of every module.
        signatures: By name, of kernels that are not launched as passes are.
        ways, refused: As in StageSpec.
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
    """The whole text, and the signatures of its kernels."""

    text: str
    exports: Mapping[str, str]


class Target(Protocol):
    """A target: its dialect, and how functions become kernels."""

    lists_levels: bool  # the engine has a list of the vertices of each level of a sweep
    fuses: bool  # reductions and messages may be fused into a pass, block by block

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
            stages: The texts of the stages.
            scalars: The texts of the graph-level values.
            folds: The texts of their folds.
            fuses: By pass, the kernels of folds and messages fused into it.
        """
