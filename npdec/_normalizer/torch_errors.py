"""torch's refusals in NumPy's exceptions: a ValueError for shapes that do not fit, a TypeError for dtypes.

Kernels say themselves what is wrong wherever they can; this is for what only torch finds out, so that no bare
RuntimeError of an operation deep inside reaches the caller.
"""

from __future__ import annotations

import re

__all__ = ["refusal"]

_SHAPES = re.compile(
    r"size of tensor|sizes of tensors|expanded size|negative dimension|is invalid for input of size|must match|"
    r"number of sizes provided|cannot be multiplied|size mismatch|inconsistent tensor|not broadcastable|equal size|"
    r"cannot be broadcast|stack expects|only supports|at least one dimension|same number of dimensions|non-empty|"
    r"incompatible dimensions",
    re.IGNORECASE,
)
_NO_ROOM = re.compile(r"DefaultCPUAllocator: .*allocate (\d+) bytes")
_DTYPES = re.compile(
    r"not implemented for|cannot be converted to type|can't be cast|same dtype|to have dtype|scalar type|"
    r"dtypes? .* not supported|tensor is not supported|unsupported dtype|not currently supported|does not support",
    re.IGNORECASE,
)


def refusal(name: str, error: RuntimeError) -> Exception:
    """The exception to raise for what torch raised in the kernel of a public function: `error` itself, if it is another
    kind of failure or npdec's own. Where memory is not enough that is a MemoryError."""
    text = str(error).partition("\n")[0]
    if room := _NO_ROOM.search(text):
        return MemoryError(f"Unable to allocate {room[1]} bytes for an array in {name}")
    if type(error) in (RuntimeError, NotImplementedError) and not text.startswith("this function only supports"):
        if _SHAPES.search(text):
            return ValueError(f"{name}: operands could not be broadcast together, or have the wrong shape: {text}")
        if _DTYPES.search(text):
            return TypeError(f"{name}: torch does not compute this for the given dtypes: {text}")
    return error
