"""The two ways to call einsum: with a string of subscripts, or with a list of numbers beside each operand."""

from __future__ import annotations

import functools
from typing import Any

from npdec._array import memory, wrap
from npdec._array.convert import as_dtype
from npdec._array.foreign_arrays import as_argument
from npdec._array.output import write_out
from npdec._array.together import as_beside
from npdec._core.door import open_to_guests
from npdec._core.installed_numpy import numpy_or_none
from npdec._impl import dtypes_impl, einsum_impl
from npdec._impl._promotion import RANGES
from npdec._native import calls
from npdec._normalizer.results import wrap_view
from npdec._torch.tracing import tracing

__all__ = ["einsum", "einsum_path"]


def _read(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The subscripts as a string, and the operands."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one operand and its "
            "corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        if len(operands) == 1:
            raise ValueError("must specify the einstein sum subscripts string and at least one operand")
        return operands[0], operands[1:]
    if len(operands) == 1:
        raise ValueError("must provide at least an operand and a subscripts list to einsum")
    pairs = len(operands) // 2
    subscripts = ",".join(einsum_impl.subscript_text(sublist) for sublist in operands[1 : 2 * pairs : 2])
    if len(operands) % 2:
        subscripts += "->" + einsum_impl.subscript_text(operands[-1])
    return subscripts, operands[: 2 * pairs : 2]


_MOST = 2**17  # products, above which torch takes less time
_NUMPY = None if calls is None else numpy_or_none()
_THEIRS = None if _NUMPY is None else _NUMPY.einsum


def _of_few(operands: tuple[Any, ...]) -> Any:
    """What is computed in memory of few floats, and by NumPy of few integers, which is exact; None for others."""
    if calls is None or type(operands[0]) is not str or tracing():
        return None
    if type(operands[1]) is wrap.ARRAY and operands[1]._d.is_floating_point:
        return calls.few_einsum(*operands)
    if _THEIRS is None:
        return None
    size = 1
    for x in operands[1:]:
        if type(x) is not wrap.ARRAY or x._d not in RANGES:
            return None
        size *= x.size
    return calls.few_by_numpy(_THEIRS, *operands) if size <= _MOST else None


@open_to_guests
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """Sum of products of the operands, their axes named by letters: "ij,jk->ik" is the product of two matrices.

    An axis whose letter is missing on the right of the arrow is summed; without an arrow these are the letters that
    occur more than once. "..." stands for any further axes, which broadcast. Instead of the string, a list of numbers
    may follow each operand, and one more the last. A single operand of which nothing is summed gives a view.

    `optimize` contracts pairs of operands in a good order: True or "greedy", "optimal", or a path of `einsum_path`.
    `dtype`, `casting` ("safe") and `order` choose the dtype of the computation and the memory order of the result.
    Raises ValueError where subscripts and shapes do not fit, TypeError where the casting rule forbids the dtype.

    >>> a = np.arange(6).reshape(2, 3)
    >>> np.einsum("ij,kj->ik", a, a)
    array([[ 5, 14],
           [14, 50]])
    >>> np.einsum(a, [0, 1], [1])
    array([3, 5, 7])
    """
    if not kwargs and out is None and optimize is False and len(operands) > 2:
        made = _of_few(operands)
        if made is not None:
            return made
    dtype, casting, order = kwargs.pop("dtype", None), kwargs.pop("casting", "safe"), kwargs.pop("order", "K")
    if kwargs:
        raise TypeError(f"einsum() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if isinstance(out, tuple):
        raise TypeError("keyword parameter out must be an array for einsum, not a tuple")
    subscripts, arrays = _read(operands)
    tensors = [wrap.viewed(array) if type(array) is wrap.ARRAY else as_beside(array, arrays) for array in arrays]
    computed = None if dtype is None else as_dtype(dtype)
    if computed is None and optimize is False and type(out) is wrap.ARRAY:  # which takes part in promotion
        computed = functools.reduce(dtypes_impl.promote_types, [x.dtype for x in tensors], out._d)
    result = einsum_impl.contract(subscripts, tensors, optimize, computed, casting, order)
    if out is not None:
        if optimize is not False and len(arrays) > 1:
            terms, output = einsum_impl.parse(subscripts, [tuple(x.shape) for x in tensors])
            if {label for term in terms for label in term} != set(output):
                casting = "unsafe"  # as in NumPy, where a product of matrices is made first and then assigned
        return write_out("einsum", out, result, casting)
    if len(arrays) == 1 and result.ndim and memory.shares_storage(result, tensors[0]):
        return wrap_view(arrays[0], result)
    return wrap.wrap(result)


@open_to_guests
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> tuple[list[Any], str]:
    """A good order in which `einsum` contracts the operands, and a text that says what it costs.

    The order is a list to pass as `optimize`: "einsum_path", then for each step the positions of the operands that it
    contracts; the result of a step joins the others at the end. "greedy" takes the step that frees the most memory,
    "optimal" tries all orders; with a number, ("greedy", 1000), it limits the size of intermediate results.

    >>> a, b, c = np.ones((2, 10)), np.ones((10, 10)), np.ones((10, 2))
    >>> np.einsum_path("ij,jk,kl->il", a, b, c, optimize="optimal")[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    if einsum_call:
        raise NotImplementedError("einsum_path: einsum_call=True is internal to NumPy's own einsum; leave it out")
    subscripts, arrays = _read(operands)
    shapes = [tuple(as_argument(array).shape) for array in arrays]
    terms, output = einsum_impl.parse(subscripts, shapes)
    path = einsum_impl.contraction_path(terms, output, shapes, optimize)
    return ["einsum_path", *path], einsum_impl.describe(terms, output, shapes, path)
