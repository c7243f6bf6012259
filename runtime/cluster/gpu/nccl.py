"""Calls NCCL by ctypes: the GPUs of one or several hosts send values to each other without copies in host memory.

NCCL comes with PyTorch and with the wheels nvidia-nccl-cu12 and nvidia-nccl-cu13.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vlang.errors import DeviceError
from vlang.records import dataclass
from vlang.runtime.cluster.transports.transport import Transport, first_reason, gathered, summed, texts
from vlang.runtime.gpu.device.device import Device

__all__ = ["Nccl", "Piece", "joined_gpus"]

_BYTE = 1  # ncclUint8
_ID = 128  # bytes of an ncclUniqueId


class _Id(ctypes.Structure):
    """An ncclUniqueId, which NCCL takes by value."""

    _fields_ = (("data", ctypes.c_char * _ID),)


@dataclass(frozen=True)
class Piece:
    """Consecutive bytes of device memory that are sent to a rank or received from a rank."""

    rank: int
    address: int
    nbytes: int


class Nccl:
    """The connection of a rank's GPU with the GPUs of all other ranks. All ranks create it together.

    Args:
        library: NCCL.
        device: the GPU of the rank, which is the current GPU of the calling thread.
        transport: the transport of the rank.

    Raises DeviceError.
    """

    def __init__(self, library: Any, device: Device, transport: Transport) -> None:
        self._library, self._device = library, device
        mine, self._comm = _Id(), ctypes.c_void_p()
        if transport.rank == 0:
            self._call("ncclGetUniqueId", ctypes.byref(mine))
        raw = np.frombuffer(bytes(mine) if transport.rank == 0 else b"", np.uint8)
        name = _Id.from_buffer_copy(gathered(transport, raw, "the connection of GPUs")[0].tobytes())
        self._call("ncclCommInitRank", ctypes.byref(self._comm), ctypes.c_int(transport.size), name,
                   ctypes.c_int(transport.rank))

    def on(self, device: Device) -> Nccl:
        """Return this connection for another object of the same GPU."""
        self._device = device
        return self

    def swap(self, sends: Sequence[Piece], receives: Sequence[Piece]) -> None:
        """Queue the copies of all pieces on the default stream of the GPU.

        For each two ranks, the receiver lists pieces of the same lengths as the sender, in the same order.
        """
        stream = ctypes.c_void_p(self._device.queue())
        self._call("ncclGroupStart")
        for name, pieces in (("ncclSend", sends), ("ncclRecv", receives)):
            for piece in pieces:
                self._call(name, ctypes.c_void_p(piece.address), ctypes.c_size_t(piece.nbytes), ctypes.c_int(_BYTE),
                           ctypes.c_int(piece.rank), self._comm, stream)
        self._call("ncclGroupEnd")

    def _call(self, name: str, *args: Any) -> None:
        status = getattr(self._library, name)(*args)
        if status:
            raise DeviceError(f"NCCL failed in {name}: {self._library.ncclGetErrorString(status).decode()}")


@cache
def nccl() -> Any:
    """Return the loaded library; None if no library is installed."""
    paths = ["libnccl.so.2"]
    with suppress(Exception):  # the package is part of CUDA's Python packages, and raises errors of its own
        from cuda.pathfinder import load_nvidia_dynamic_lib  # optional

        paths.insert(0, str(load_nvidia_dynamic_lib("nccl").abs_path))
    for path in paths:
        with suppress(OSError):
            library = ctypes.CDLL(path)
            library.ncclGetErrorString.restype = ctypes.c_char_p
            return library
    return None


_KEPT: WeakKeyDictionary[Transport, dict[str, Nccl]] = WeakKeyDictionary()
"""The connections of each transport, by GPU, for later runs: to connect takes a second."""


def joined_gpus(device: Device, transport: Transport) -> tuple[Nccl | None, str]:
    """Connect the GPUs of all ranks, or return None and the reason. All ranks call this together."""
    library, identity = nccl(), device.info.identity
    why = "" if library is not None else "NCCL is not installed: pip install nvidia-nccl-cu13"
    if not transport.together:
        why = "these ranks are started again one by one, and NCCL cannot replace a rank"
    why = first_reason(transport, why, "whether NCCL is there")
    if not why and len(set(texts(transport, identity, "the GPUs of ranks"))) < transport.size:
        why = "some ranks share a GPU"
    if why or transport.size == 1:
        return None, why
    kept = _KEPT.setdefault(transport, {})
    if summed(transport, [int(identity in kept)], "connections of GPUs")[0] < transport.size:
        kept[identity] = Nccl(library, device, transport)
    return kept[identity].on(device), ""
