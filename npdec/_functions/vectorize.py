"""`np.vectorize`: a Python function of numbers, or of arrays with a signature, over whole arrays."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from npdec._array import memory, wrap
from npdec._array.convert import as_dtype, as_tensor
from npdec._array.iterators import ndindex
from npdec._core.base import MetSubclass
from npdec._core.door import hand_over, subclasses
from npdec._core.tags import NoValue
from npdec._core.tracebacks import ends
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._functions.per_element import call_each, device_of, gather, operand, shape_of
from npdec._impl import _util
from npdec.exceptions import AbsentDTypeError

__all__ = ["vectorize"]

_CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_CORES = rf"\s*{_CORE}(?:\s*,\s*{_CORE})*\s*"
_SIGNATURE = re.compile(rf"({_CORES})->({_CORES})")
_CODES = "?bhilqpBHILQPefdgFDGSUVOMm"  # NumPy's characters of dtypes; those that torch cannot hold say so themselves

Core = tuple[str, ...]  # the names of the dimensions that the function itself takes or gives


class vectorize:
    """A function that is called for each element of its arguments, broadcast together; a decorator, too.

    `otypes`, characters or a list of dtypes, one for each result, gives the dtypes; otherwise a first call, of which
    `cache` keeps the result, tells them. `excluded` names arguments (or counts positions) that are passed on as they
    are. With a `signature` as `"(n),(n)->()"` the function takes and gives arrays of these dimensions, and the others
    are looped over. Elements are Python numbers, or scalars where these carry contributions or are part of a graph.
    Arguments and results that are no numbers are left to NumPy, which calls the function then once more for the first
    elements. Raises ValueError for arguments without elements unless `otypes` is given.

    >>> @np.vectorize
    ... def distance(a, b):
    ...     return a - b if a > b else b - a
    >>> distance([1, 2, 3, 4], 2)
    array([1, 0, 1, 2])
    """

    __module__ = "npdec"

    def __init__(
        self,
        pyfunc: Any = NoValue,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Iterable[Any] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        if pyfunc is not NoValue and not callable(pyfunc):
            raise TypeError("When used as a decorator, only accepts keyword arguments.")
        self.pyfunc = pyfunc
        self.cache = cache
        self.signature = signature
        self.__doc__ = doc
        self._doc = doc
        if isinstance(otypes, str):
            for code in otypes:
                if code not in _CODES:
                    raise ValueError(f"Invalid otype specified: {code}")
        elif isinstance(otypes, Iterable):
            otypes = [dtype_class(item) for item in otypes]
        elif otypes is not None:
            raise ValueError("Invalid otype specification")
        self.otypes = otypes
        self.excluded = set() if excluded is None else set(excluded)
        self._cores = None if signature is None else _read(signature)
        if pyfunc is not NoValue:
            self._describe(pyfunc)

    def _describe(self, function: Callable[..., Any]) -> None:
        self.pyfunc = function
        name = getattr(function, "__name__", None)
        if name is not None:
            self.__name__ = name
        if self._doc is None:
            self.__doc__ = function.__doc__

    @ends
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is NoValue:  # @vectorize(otypes=...)
            self._describe(args[0])
            return self
        if not self.excluded and not kwargs:
            return self._run(self.pyfunc, args)
        fixed = list(args)
        positions = [i for i in range(len(args)) if i not in self.excluded]
        names = [name for name in kwargs if name not in self.excluded]
        options = dict(kwargs)

        def function(*varying: Any) -> Any:
            for position, item in zip(positions, varying, strict=False):
                fixed[position] = item
            options.update(zip(names, varying[len(positions) :], strict=True))
            return self.pyfunc(*fixed, **options)

        return self._run(function, [args[i] for i in positions] + [kwargs[name] for name in names])

    def _run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The results for the varying arguments: NumPy's, where one of them or of the results is no number."""
        try:
            return self._computed(function, args)
        except AbsentDTypeError as error:
            absent = error
        if isinstance(absent, MetSubclass):
            return subclasses.value().wrapped_call(functools.partial(self._run, function), tuple(args))
        options = {"otypes": self.otypes, "cache": self.cache, "signature": self.signature}
        theirs = hand_over("vectorize", (function,), options, absent)
        return hand_over("vectorize.__call__", (theirs, *args), {}, absent)

    def _computed(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        if self._cores is not None:
            return self._loop(function, args)
        if not args:
            return function()
        operands = [operand(item) for item in args]
        shape = shape_of(operands)
        first: Any = NoValue
        if self.otypes:
            dtypes: list[torch.dtype | None] = [as_dtype(item) for item in self.otypes]
            several = len(dtypes) > 1
        else:
            if not math.prod(shape) or any(isinstance(x, torch.Tensor) and not x.numel() for x in operands):
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            first = function(*[_first(x) for x in operands])
            several = isinstance(first, tuple)
            dtypes = [as_tensor(item).dtype for item in (first if several else (first,))]
        if self.cache and first is not NoValue:
            function = _after(first, function)
        nout = len(dtypes) if several else 1
        returned, device = call_each(function, operands, shape, nout), device_of(operands)
        results = tuple(
            wrap.wrap_array(gather(items, shape, dtype, device)) for items, dtype in zip(returned, dtypes, strict=True)
        )
        return results if several else results[0]

    # -- with a signature ----------------------------------------------------------------------------------------------

    def _loop(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        assert self._cores is not None
        cores_in, cores_out = self._cores
        if len(args) != len(cores_in):
            raise TypeError(f"wrong number of positional arguments: expected {len(cores_in)!r}, got {len(args)!r}")
        tensors = [as_tensor(item) for item in args]
        sizes: dict[str, int] = {}
        outer = _util.broadcast_shapes(
            *[_match(tuple(x.shape), core, sizes) for x, core in zip(tensors, cores_in, strict=True)]
        )
        arrays = [
            memory.view(item, x.expand(outer + tuple(x.shape[x.dim() - len(core) :])))
            for item, x, core in zip(args, tensors, cores_in, strict=True)
        ]
        given = [as_dtype(item) for item in self.otypes] if self.otypes else None
        if given is not None and len(given) != len(cores_out):
            raise ValueError(f"vectorize: otypes has {len(given)} dtypes for {len(cores_out)} results")
        dtypes: list[torch.dtype | None] = [None] * len(cores_out) if given is None else list(given)
        collected: list[list[torch.Tensor]] = [[] for _ in cores_out]
        for index in ndindex(*outer):
            returned = function(*[array[index] for array in arrays])
            items = returned if isinstance(returned, tuple) else (returned,)
            if len(items) != len(cores_out):
                raise ValueError(
                    f"wrong number of outputs from pyfunc: expected {len(cores_out)!r}, got {len(items)!r}"
                )
            for i, (item, core) in enumerate(zip(items, cores_out, strict=True)):
                tensor = as_tensor(item)
                if not core and tensor.dim():
                    raise ValueError("setting an array element with a sequence.")
                _match(tuple(tensor.shape), core, sizes)
                dtypes[i] = tensor.dtype if dtypes[i] is None else dtypes[i]
                collected[i].append(_util.cast(tensor, dtypes[i] or tensor.dtype))
        results = []
        for core, dtype, tensors in zip(cores_out, dtypes, collected, strict=True):
            if not tensors:
                results.append(wrap.wrap_array(torch.zeros(self._empty_shape(outer, core, sizes), dtype=dtype)))
                continue
            inner = tuple(tensors[0].shape)
            results.append(wrap.wrap_array(torch.stack(tensors).reshape(outer + inner)))
        return tuple(results) if len(results) > 1 else results[0]

    def _empty_shape(self, outer: tuple[int, ...], core: Core, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape of a result of no call."""
        if not self.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        if any(name not in sizes for name in core):
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size 0 inputs"
            )
        return outer + tuple(sizes[name] for name in core)


def _first(x: Any) -> Any:
    """The first element of an operand, as a scalar."""
    return wrap.wrap_scalar(x.reshape(-1)[0].clone()) if isinstance(x, torch.Tensor) else x


def _after(first: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which the result of the first call is known."""
    known = [first]

    def call(*args: Any) -> Any:
        return known.pop() if known else function(*args)

    return call


def _read(signature: str) -> tuple[list[Core], list[Core]]:
    """The names of the dimensions of each argument and of each result. Raises ValueError for no signature."""
    found = _SIGNATURE.fullmatch(signature)
    if found is None:
        raise ValueError(f"not a valid gufunc signature: {signature}")
    left, right = ([tuple(re.findall(r"\w+", core)) for core in re.findall(_CORE, side)] for side in found.groups())
    return left, right


def _match(shape: tuple[int, ...], core: Core, sizes: dict[str, int]) -> tuple[int, ...]:
    """Note the sizes of the dimensions that a function takes, which are an array's last; the others."""
    if not core:
        return shape
    if len(shape) < len(core):
        raise ValueError(
            f"{len(shape)}-dimensional argument does not have enough dimensions for all core dimensions {core!r}"
        )
    for name, size in zip(core, shape[len(shape) - len(core) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r}")
    return shape[: len(shape) - len(core)]
