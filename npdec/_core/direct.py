"""How a kernel declares its common call, beside the vocabulary of its parameters (`npdec._core.tags`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Direct"]


@dataclass(frozen=True, slots=True)
class Direct:
    """The common call of a kernel, which its wrapper knows at once: of plain arrays, all in one of `dtypes` (None: in
    any), without options.

    `function` gets the tensors (of a sequence: of contiguous arrays in one dtype, and `of_one_rank` where torch would
    pass over empty vectors among others), and beside them the arguments that have no default, as the caller wrote them,
    and those that `given` names: an axis or another int where it is given, the rest always, and as the caller wrote
    them. Without an axis a `total` is a number; one of Python's ints stands for an index. What writes into its argument
    is called for arrays that may be written, says True when it has done so, and writes nothing before it knows that it
    can. What `function` answers with None, or refuses, goes the general way, on which NumPy's words are found. What it
    makes of a sequence of arrays has axes, and their dtype.

    A `linear` one is called for decomposed arrays too: it is made of torch's functions that are linear in these, and
    takes the steps that the kernel takes, so that contributions are the same.

    `few` finds the same number, as one of Python's, in a tensor that is nothing but numbers on the host, sooner than
    `function` does, or answers with None. It is of the dtype of the array unless `few_dtype` says another.
    """

    function: Callable[..., Any]
    dtypes: frozenset[Any] | None = None
    given: tuple[str, ...] = ()
    total: bool = False
    few: Callable[[Any], Any] | None = None
    few_dtype: Any = None
    of_one_rank: bool = False
    linear: bool = False
