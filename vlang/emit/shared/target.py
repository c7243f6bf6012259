"""What a target makes of the functions of stages and scalars: kernels, and one module of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from vlang.emit.shared.dialect import Dialect
from vlang.emit.shared.scalars import ScalarText
from vlang.emit.shared.stage import StageWriter

if TYPE_CHECKING:  # a run on a CPU loads nothing of a GPU
    from vlang.runtime.plan.gpu_stage import GpuStage

__all__ = ["Module", "StageText", "Target"]


@dataclass(frozen=True)
class StageText:
    """The text of a stage, its kernels (role -> name), and what a GPU must know of it. support: skeletons that it needs
    beside those that every module has. signatures: of kernels, by name, that are not launched as passes are. ways,
    refused: as in StageSpec."""

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

    lists_levels: bool  # the engine has the vertices of each level of a sweep at hand
    follows: bool  # reductions and messages may follow a pass block by block

    @property
    def dialect(self) -> Dialect: ...
    def stage(self, writer: StageWriter) -> StageText: ...
    def scalar(self, scalar: ScalarText) -> str: ...
    def module(
        self, stages: Sequence[StageText], scalars: Sequence[str], folds: Sequence[str],
        follows: Mapping[str, Sequence[str]],
    ) -> Module:
        """follows: by pass, the kernels of folds and messages that follow it."""
