"""The choice of the device of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches

from vlang.errors import BindError, DeviceError
from vlang.options import ALL_GPUS, device_names
from vlang.records import dataclass
from vlang.runtime.gpu.device.arena import in_bytes
from vlang.runtime.gpu.device.device import Device

__all__ = [
    "AUTO_EDGES", "Choice", "all_gpus", "check_device", "check_names", "choose", "open_device", "parse_device",
    "stand_in",
]

# The least number of edges for which `auto` takes a GPU. With fewer edges, opening the GPU and copying the graph to it
# take longer than a run on the CPU.
AUTO_EDGES = 1_000_000

Factory = Callable[[int, int | None], Device]  # the number of the device, and its limit in bytes


def _open_gpu(index: int, gpu_memory: int | None) -> Device:
    from vlang.runtime.gpu.device.cuda import CudaDevice  # start-up

    return CudaDevice(index, gpu_memory)


_FACTORIES: ContextVar[Mapping[str, Factory] | None] = ContextVar("factories", default=None)


def _factories() -> Mapping[str, Factory]:
    return _FACTORIES.get() or {"gpu": _open_gpu}


@contextmanager
def stand_in(name: str, factory: Factory) -> Iterator[None]:
    """For tests: a context in which `device=name` opens, in this thread, the device that `factory` returns."""
    token = _FACTORIES.set({**_factories(), name: factory})
    try:
        yield
    finally:
        _FACTORIES.reset(token)


@dataclass(frozen=True)
class Choice:
    """The chosen device of a run.

    Attributes:
        device: the open device, which the run closes; None for the CPU.
        name: "cpu" or "gpu:K".
        reason: the reason for the choice, as text.
    """

    device: Device | None
    name: str
    reason: str


def parse_device(text: object) -> tuple[str, int]:
    """Parse a device name: "gpu:1" is ("gpu", 1), "gpu" is ("gpu", 0). Raises BindError."""
    kinds = ["cpu", "auto", *_factories()]
    shown = "'cpu', 'gpu', 'gpu:K' (the GPU of number K), 'gpu:0,1' (several), 'gpus' (all) or 'auto'"
    if not isinstance(text, str):
        raise BindError(f"device is {shown}, not {text!r}")
    kind, colon, number = text.partition(":")
    if kind not in kinds:
        near = get_close_matches(kind, kinds, 1)
        raise BindError(f"device is {shown}, not {text!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if colon and (kind in ("cpu", "auto") or not (number.isascii() and number.isdigit() and len(number) < 5)):
        raise BindError(f"device is {shown}, not {text!r}")
    return kind, int(number or 0)


def check_names(text: object) -> None:
    """Check the value of the option `device`. Raises BindError."""
    if text == ALL_GPUS:
        return
    names = device_names(text) if isinstance(text, str) else (text,)
    parsed = [parse_device(name) for name in names]
    twice = next((f"{kind}:{number}" for kind, number in parsed if parsed.count((kind, number)) > 1), "")
    if twice:
        raise BindError(f"device={text!r} names {twice} twice; name each GPU once")


def all_gpus() -> str:
    """Return the name for all GPUs of this machine, such as "gpu:0,1". Raises DeviceError if there is no GPU."""
    from vlang.runtime.gpu.device.gpus import count_gpus, cuda  # start-up

    return "gpu:" + ",".join(map(str, range(count_gpus(cuda()[0]))))


def open_device(name: str, gpu_memory: int | None = None) -> Device:
    """Open the device "gpu" or "gpu:K". Raises DeviceError, whose message says why the device is not available."""
    kind, index = parse_device(name)
    return _factories()[kind](index, gpu_memory)


def check_device(asked: str) -> None:
    """Check that the devices requested by name exist, without opening them.

    Raises DeviceError if a device does not exist.
    """
    for kind, index in map(parse_device, ("gpu",) if asked == ALL_GPUS else device_names(asked)):
        if kind == "gpu":
            from vlang.runtime.gpu.device.gpus import check_gpu  # start-up

            check_gpu(index)


def choose(asked: str, gpu_memory: int | None, edges: int, state: Callable[[], int]) -> Choice:
    """Choose the device for a run.

    "auto" chooses the first GPU if it exists, if the vertex state fits into GPU memory, and if the graph has at least
    AUTO_EDGES edges. If one of these conditions fails, "auto" chooses the CPU.

    Args:
        asked: the option `device`.
        gpu_memory: the option `gpu_memory`, in bytes.
        edges: the number of edges of the graph.
        state: returns the minimum bytes that a run needs on a GPU; called only if the choice depends on it.

    Raises:
        DeviceError: a GPU was requested by name and does not exist.
    """
    kind, index = parse_device(asked)
    if kind == "cpu":
        return Choice(None, "cpu", "as asked")
    if kind != "auto":
        device = open_device(asked, gpu_memory)
        return Choice(device, f"{kind}:{index}", f"{device.info.name}, as asked")
    if edges < AUTO_EDGES:
        return Choice(None, "cpu", f"{edges:,} edges are too few for a GPU to pay off")
    try:
        device = open_device("gpu", gpu_memory)
    except DeviceError as error:
        return Choice(None, "cpu", str(error))
    need = state()
    if need > device.budget():
        device.close()
        return Choice(None, "cpu", f"{in_bytes(need)} of vertex state do not fit {in_bytes(device.budget())} of GPU "
                                   "memory")
    return Choice(device, "gpu:0", f"{device.info.name}, {edges:,} edges")
