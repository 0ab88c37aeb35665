"""`np.nested_iters`: iterators over groups of axes, for loops within loops."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

from npdec._core.unbound import unbound
from npdec._functions.nditer import nditer
from npdec._functions.nditer_options import Options, as_array, converted, laid_out, targets
from npdec._functions.nditer_writing import apart, of_classes
from npdec.exceptions import AbsentDTypeError

__all__ = ["nested_iters"]


@unbound
def nested_iters(
    _: Any,
    op: Any,
    axes: Sequence[Sequence[int]],
    flags: Sequence[str] | None = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: str = "K",
    casting: str = "safe",
    buffersize: int = 0,
) -> tuple[nditer, ...]:
    """Iterators for nested loops, each over some of the axes: one starts anew whenever one further out goes on.

    Chunks and buffers are those of the innermost one. See `np.nditer` for the arguments. Raises ValueError for
    fewer than two groups of axes and for an axis in two, AbsentDTypeError for operands to allocate and for written ones
    in another dtype, or that a copy would stand for.

    >>> x = np.arange(6).reshape(2, 3)
    >>> i, j = np.nested_iters(x, [[1], [0]])
    >>> [[int(y) for y in j] for _ in i]
    [[0, 3], [1, 4], [2, 5]]
    """
    if not isinstance(axes, (list, tuple)) or len(axes) < 2:
        raise ValueError("axes must have at least 2 entries for nested iteration")
    if not all(isinstance(group, (list, tuple)) for group in axes):
        raise ValueError("Each item in axes must be an integer tuple")
    groups = [[operator.index(axis) for axis in group] for group in axes]
    listed = list(itertools.chain.from_iterable(groups))
    if any(axis < 0 for axis in listed):
        raise ValueError("An axis is out of bounds")
    if len(set(listed)) < len(listed):
        raise ValueError("An axis is used more than once")
    options = Options(op, flags, op_flags, order, casting)
    if any(item is None for item in options.operands):
        raise AbsentDTypeError("nested_iters: None as an operand is not allocated here: give an array, np.empty(shape)")
    given = [as_array(item) for item in options.operands]
    wanted = targets(given, options, op_dtypes)
    arrays = apart(converted(given, options, wanted, casting), options)
    for number in options.written:
        if wanted[number] not in (None, given[number]._d):
            raise AbsentDTypeError("nested_iters: an operand that is written keeps its dtype here: convert it before")
        if arrays[number] is not given[number]:
            raise AbsentDTypeError(
                f"nested_iters: operand {number} is written by way of a copy, because it shares memory with another or "
                "is not aligned, which is not done here: give a copy, and write it back after the loops"
            )
    outer = given if "buffered" in options.flags else arrays  # only what the innermost one visits is buffered
    outer_flags = options.flags - {"external_loop", "buffered", "grow_inner", "delay_bufalloc", "common_dtype"}
    levels = []
    for depth, group in enumerate(groups):
        innermost = depth == len(groups) - 1
        chosen = sorted(options.flags - {"common_dtype"} if innermost else outer_flags)
        where = [group] * len(given)
        level = nditer(given, chosen, op_flags, None, order, casting, where, None, buffersize)
        level._operands = arrays if innermost else outer
        level._own = of_classes(level._operands, options)
        level._copied = any(a is not b for a, b in zip(level._operands, given, strict=True))
        levels.append(level)
    lengths = [length for level in levels for length in level._lengths]
    for level in levels:
        level._views = [
            laid_out(array, [other._places[number][axis] for other in levels for axis in other._order], lengths)
            for number, array in enumerate(level._operands)
        ]
    for depth, level in enumerate(levels):
        level._outer, level._inner = tuple(levels[:depth]), tuple(levels[depth + 1 :])
    return tuple(levels)
