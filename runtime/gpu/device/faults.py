"""Conversion of errors reported by CUDA to a DeviceError with one clear message."""

from __future__ import annotations

from vlang.errors import DeviceError

__all__ = ["LOST", "fault", "lost"]

# Status codes that the runtime and the driver share are equal in both (cuda.h, driver_types.h).
_OUT_OF_MEMORY = 2
_NO_IMAGE = (200, 209, 218, 222)  # invalid image, no binary for the device, invalid PTX, unsupported PTX version
_BUGS = {
    700: "accessed invalid memory", 714: "overflowed its stack", 715: "ran an invalid instruction",
    716: "accessed memory that is not aligned", 717: "used memory of the wrong kind",
    718: "jumped to an invalid address", 710: "failed an assertion", 719: "failed", 721: "failed in a cluster",
}  # fmt: skip
_HARDWARE = {
    46: "is busy or not available", 214: "found an uncorrectable error in its memory (ECC)",
    220: "found an uncorrectable error on its link (NVLink)", 226: "found an uncorrectable error",
    702: "stopped a kernel that ran too long", 709: "was reset", 802: "is not ready", 4: "is being shut down",
}  # fmt: skip
# After any of these, the GPU is unusable in this process.
LOST = frozenset({*_BUGS, 4, 46, 214, 220, 226, 702, 709})

_ELSEWHERE = "GPU programs cannot run in this process any more; programs on the CPU can"


def lost(error: Exception) -> bool:
    """Return whether an error of CuPy means that this process can no longer use the GPU."""
    return getattr(error, "status", None) in LOST


def fault(error: Exception, gpu: str) -> DeviceError:
    """Return the DeviceError to raise for an error of CuPy. `gpu` is the name of the device in the message."""
    status = getattr(error, "status", 0)
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if status in _BUGS:
        return DeviceError(f"a kernel on {gpu} {_BUGS[status]} ({text}); {_ELSEWHERE}. If you did not run other GPU "
                           "code in the process, this is a bug in vlang: please report it with the program")
    if status in _HARDWARE:
        return DeviceError(f"{gpu} {_HARDWARE[status]} ({text})" + (f"; {_ELSEWHERE}" if status in LOST else ""))
    if status in _NO_IMAGE:
        return DeviceError(f"the NVIDIA driver cannot load what NVRTC compiled for {gpu} ({text}); the driver is "
                           "older than the CUDA libraries: update the driver, or pip install 'vlang[gpu12]'")
    if status == _OUT_OF_MEMORY:
        return DeviceError(f"{gpu} has no memory left for the driver's own needs ({text}); free memory on it, or "
                           "lower gpu_memory")
    return DeviceError(f"{gpu} failed: {text}")
