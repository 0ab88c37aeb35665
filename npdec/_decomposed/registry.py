"""The registry of rules: one row for each function of torch that meets decomposed tensors.

A row holds the rule, which answers the call, and what the function is beside that: its traits, by which other
representations of components (blocks, entries, products put off, residuals of equal rows) choose what they do, and the
closed forms that are made for it alone. Whoever needs to know something of a function reads its row; there is no other
table of torch's functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import torch
import torch.nn.functional as F

from npdec._torch.tracing import constant_when_traced

__all__ = [
    "Answer",
    "Row",
    "Rule",
    "Trait",
    "add",
    "attributes",
    "close_of",
    "rate_of",
    "functions",
    "indices_of",
    "mean_of",
    "rates_of",
    "row_of",
    "rows",
    "slope_name",
    "slope_of",
    "traits_of",
    "wrap",
]

Function = Callable[..., Any]


class Trait:
    """What a function does to its arguments. Numbers of one bit each: the traits of a function are their sum."""

    ELEMENTWISE: Final = 1 << 0  # element by element, of arguments that broadcast
    EACH: Final = 1 << 1  # linear, of each element of one argument alone
    CAST: Final = 1 << 2  # the same elements, in another dtype or another place in memory
    ADD: Final = 1 << 3  # the sum of two arguments
    SUBTRACT: Final = 1 << 4  # the first argument less the second
    SUBTRACT_FROM: Final = 1 << 5  # the second argument less the first
    MULTIPLY: Final = 1 << 6  # the product of two arguments, element by element
    DIVIDE: Final = 1 << 7  # their quotient
    LAYER: Final = 1 << 8  # rows (*, k) times a weight (n, k), and a bias
    MATMUL: Final = 1 << 9  # products of vectors, matrices and batches of these
    ADDMM: Final = 1 << 10  # a matrix, to which a product is added
    CONV: Final = 1 << 11  # convolutions
    SUM: Final = 1 << 12  # over axes
    MEAN: Final = 1 << 13
    MOVE: Final = 1 << 14  # each element of the result is an element of an argument, or zero
    TRANSPOSE: Final = 1 << 15  # other strides or a part of the axes: views that keep axes whole
    RESHAPE: Final = 1 << 16  # another shape, the elements in the same order
    SPLIT: Final = 1 << 17  # cut along the axis `dim`
    INDEX: Final = 1 << 18  # a key: x[key]
    PUT: Final = 1 << 19  # elements put, or with `accumulate` added, at places
    ADD_AT: Final = 1 << 20  # elements added at places along an axis
    STRIDED: Final = 1 << 21  # takes strides as they are: elements that are one in memory cost nothing
    HOLOMORPHIC: Final = 1 << 22  # pointwise, and of complex numbers with a complex derivative
    PIECEWISE_LINEAR: Final = 1 << 23  # pointwise: between points of one straight piece the secant is the slope
    COARSE: Final = 1 << 24  # its rounding errors are those of its argument, though the value be small
    POWER: Final = 1 << 25  # a base and an exponent
    HIDES_WRITES: Final = 1 << 26  # torch does not notice that a factor was written to before gradients go back
    BLIND: Final = 1 << 27  # looks at no number: shapes, dtypes, memory
    SELECT: Final = 1 << 28  # each element of the result is an element of the first argument

    FRESH: Final = 1 << 29  # the result has memory of its own, whatever the argument
    DIRECTION: Final = 1 << 30  # of complex numbers z / |z|

    SCALE: Final = MULTIPLY | DIVIDE
    REDUCTION: Final = SUM | MEAN
    ARITHMETIC: Final = ADD | SUBTRACT | SUBTRACT_FROM
    PRODUCT: Final = LAYER | MATMUL


class Rule:
    """What answers a call with decomposed tensors among its arguments: `rule(function, args, kwargs)`."""

    tags: Mapping[int | str, str] | None = None  # of the arguments, by position and by name
    elementwise = False  # by the tags, all arguments go element by element, not linearly
    delegates = False  # the functions that it calls are answered each by its own rule
    passes = False  # it is the function's own body
    opaque = False  # what it gives carries nothing
    in_place: str | None = None  # the method that it is the rule of, which writes what another one gives
    writes = False  # into an argument, in another way than as a function written in place
    discrete = False  # it knows of decomposed booleans and integers
    inner: Any = None  # the rule within one that handles an argument `inplace`, or looks on
    short: Any = None  # the short way of ordinary calls, if it has one of its own
    formula: Any = None  # the function in others, whose contributions are its own
    refused: str | None = None  # why contributions do not pass

    def __call__(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


class Answer(Rule):
    """A rule that reads the arguments itself."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        delegates: bool = False,
        opaque: bool = False,
    ) -> None:
        self.function = function
        self.delegates = delegates
        self.opaque = opaque

    def __call__(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.function(func, args, kwargs)


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a function.

    `rule` answers a call: `rule(function, args, kwargs)`. `slope`, `close` and `mean` are closed forms of a pointwise
    function's slope, of that between close numbers, and of the mean gradient of one of two arguments
    (`npdec._impl.slopes_impl`), or of a function with jumps of what each of two arguments has of its change
    (`npdec._impl.quotients_impl`; one for each output where there are several). `rates` are the derivatives of a
    pointwise function of two arguments by each, where there is no closed form of their means; `rate` is the derivative
    of one of one argument, called without options. `batch` makes of a
    function of one tensor that of the tensor with one more leading axis (`npdec._decomposed.batching_rules`). `short`
    answers ordinary calls in the shortest way (`npdec._law.ordinary`), and others with NotImplemented; `options` says
    that it takes numbers by name. `indices` are the places and names of arguments that are indices: decomposed ones are
    taken by their values. `along` gives the axes of the first argument along which the function looks at its elements,
    by all of its arguments. `found` says that the rule was not declared, but found when the function was met.
    `numbers` is the law of two numbers on the host (`npdec._law.pairs_of_numbers`), a tuple where results are several;
    `few_complex` is that of a few complex ones (`npdec._law.complex_laws`).
    """

    rule: Rule
    traits: int = 0
    slope: Function | None = None
    mean: Function | tuple[Function, ...] | None = None
    batch: Function | None = None
    short: Function | None = None
    options: bool = False
    indices: tuple[int | str, ...] = ()
    along: Function | None = None
    found: bool = False
    close: Function | None = None
    rates: Function | None = None
    numbers: Any = None
    rate: Function | None = None
    few_complex: Any = None


rows: dict[Any, Row] = {}
_OWNERS = (torch, torch.Tensor, F, torch.special, torch.fft, torch.linalg, torch._C._nn)


def functions(names: str) -> list[Function]:
    """The functions of torch, the methods, and what reads the attributes of tensors, of these names, separated by
    spaces: each wherever it stands. Raises AttributeError for a name that torch does not have."""
    found: list[Function] = []
    for name in names.split():
        owners = (torch.Tensor,) if name.startswith("__") else _OWNERS
        here = [_callable(getattr(owner, name, None)) for owner in owners]
        if not any(here):
            raise AttributeError(f"torch has no function, method or attribute {name!r}")
        found += [function for function in here if function is not None]
    return list(dict.fromkeys(found))


def attributes(names: str) -> list[Function]:
    """What reads the attributes of tensors of these names. Raises AttributeError for one that tensors do not have."""
    return [getattr(torch.Tensor, name).__get__ for name in names.split()]


def _callable(found: Any) -> Function | None:
    made: Function | None = found if callable(found) else getattr(found, "__get__", None)
    return None if isinstance(made, types.ModuleType) else made


def add(targets: Iterable[Function], row: Row, replaces: bool = False) -> None:
    """Enter a row for functions. Raises ValueError if one of them has a row, unless this one `replaces` it."""
    targets = list(targets)
    for function in targets:
        known = rows.get(function)
        if known is not None and not known.found and not replaces:
            raise ValueError(f"{function!r} has a rule: a second one has to say that it replaces the first")
    rows.update(dict.fromkeys(targets, row))


def wrap(targets: Iterable[Function], make: Callable[[Any], Rule]) -> None:
    """Put `make(rule)` in place of the rule of each of the functions."""
    for function in targets:
        row = rows[function]
        rows[function] = replace(row, rule=make(row.rule))


def row_of(function: Any) -> Row | None:
    """The row of a function; of a kernel, that of the function of torch that it completes."""
    row = rows.get(function)
    if row is None:
        spec = getattr(function, "__npdec__", None)
        return None if spec is None else rows.get(spec.torch)
    return row


@constant_when_traced
def traits_of(function: Any) -> int:
    """The traits of a function, or of the function of torch that a kernel completes."""
    row = row_of(function)
    return 0 if row is None else row.traits


@constant_when_traced
def indices_of(function: Any) -> tuple[int | str, ...]:
    """The places and names of a function's arguments that are indices."""
    row = row_of(function)
    return () if row is None else row.indices


def slope_of(function: Any) -> Function | None:
    """The closed form of a function's slope, if it has one."""
    row = row_of(function)
    return None if row is None else row.slope


def close_of(function: Any) -> Function | None:
    """The closed form of a function's slope between close numbers, if it has one."""
    row = row_of(function)
    return None if row is None else row.close


def rate_of(function: Any) -> Function | None:
    """The derivative of a pointwise function of one argument, if there is a formula."""
    row = row_of(function)
    return None if row is None else row.rate


@constant_when_traced
def slope_name(function: Any) -> str:
    """The name of the closed form of a function's slope in `npdec._impl.slopes_impl`; empty if it has none."""
    slope = slope_of(function)
    return "" if slope is None else slope.__name__


def mean_of(function: Any) -> Any:
    """The closed form of the mean gradient of a function of two arguments, or of what each has of its change, if it has
    one."""
    row = row_of(function)
    return None if row is None else row.mean


def rates_of(function: Any) -> Function | None:
    """The derivatives of a pointwise function of two arguments by each, if there is a formula."""
    row = row_of(function)
    return None if row is None else row.rates
