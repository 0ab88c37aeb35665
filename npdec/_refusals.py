"""torch's refusals in NumPy's exceptions: a ValueError for shapes that do not fit, a TypeError for dtypes.

Kernels say themselves what is wrong wherever they can; this is for what only torch finds out, so that no bare
RuntimeError of an operation deep inside reaches the caller.
"""

from __future__ import annotations

import re

__all__ = ["refusal"]

_SHAPES = re.compile(
    r"size of tensor|sizes of tensors|expanded size|negative dimension|is invalid for input of size|must match|"
    r"number of sizes provided|cannot be multiplied|size mismatch|inconsistent tensor|not broadcastable|stack expects|"
    r"equal size|only supports|at least one dimension|non-empty list|same number of dimensions|must be non-empty|incompatible dimensions",
    re.IGNORECASE,
)
_DTYPES = re.compile(
    r"not implemented for|cannot be converted to type|can't be cast|same dtype|to have dtype|scalar type|"
    r"dtypes? .* not supported|unsupported dtype|not currently supported|does not support",
    re.IGNORECASE,
)


def refusal(name: str, error: RuntimeError) -> Exception:
    """The exception to raise for what torch raised in the kernel of a public function: `error` itself, if it is another
    kind of failure (no memory, say) or npdec's own."""
    text = str(error).partition("\n")[0]
    if type(error) in (RuntimeError, NotImplementedError):
        if _SHAPES.search(text):
            return ValueError(f"{name}: operands could not be broadcast together, or have the wrong shape: {text}")
        if _DTYPES.search(text):
            return TypeError(f"{name}: torch does not compute this for the given dtypes: {text}")
    return error
