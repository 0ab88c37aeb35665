"""Where random numbers come from: NumPy's own streams on the host, or a torch.Generator.

A stream draws from a distribution by its name. What it is given and what it gives are npdec's arrays and scalars and
Python's numbers, so that the generators above it do not know which kind of stream they have.
"""

from __future__ import annotations

import functools
import hashlib
from contextvars import ContextVar
from typing import Any, Protocol

import torch

from npdec._array import wrap
from npdec._array.convert import as_dtype, as_tensor, dtype_name
from npdec._array.packing import HOSTED
from npdec._array.scalars import int64
from npdec._array.shapes import as_shape
from npdec._core.base import ArrayBase, SubclassBase, plain_of
from npdec._core.tracebacks import cut, cuts
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import _devices, _util, random_impl
from npdec._impl._devices import current_device
from npdec._native import calls
from npdec._torch.functorch import at_level_of, is_gradient_wrapped, unwrapped
from npdec._torch.tracing import refuse_recording, tracing
from npdec.exceptions import DecompositionWarning

__all__ = ["NumpyStream", "SharedStream", "Stream", "TorchStream", "from_numpy", "numpy_random", "plain", "to_numpy"]

_AS_THEY_ARE = frozenset({int, float, bool, type(None)})


def has_numpy() -> bool:
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


def numpy_random(wanted: str) -> Any:
    """NumPy's random module. Raises ImportError, naming what it is wanted for, where NumPy is not installed."""
    try:
        import numpy
    except ImportError:
        raise ImportError(f"{wanted} needs NumPy's own random numbers: install NumPy") from None
    return numpy.random


# --- conversions ------------------------------------------------------------------------------------------------------


def plain(name: str, x: Any) -> torch.Tensor:
    """The tensor of an array-like, without its decomposition: random numbers carry no contributions."""
    tensor = as_tensor(x)
    if type(tensor) is DecomposedTensor:
        _util.warn(
            f"random.{name}: the contributions of a parameter are dropped; scale and shift standard variates to keep "
            "them (loc + scale * standard_normal(size))",
            DecompositionWarning,
        )
        return tensor.value
    return tensor


def to_numpy(name: str, x: Any) -> Any:
    """An argument as NumPy takes it: arrays on the host, scalars as Python numbers, anything else as it is."""
    if type(x) in _AS_THEY_ARE:
        return x
    if type(x) in HOSTED and (number := x._n) is not None and not tracing():
        return number
    x = plain_of(x)
    if isinstance(x, (ArrayBase, torch.Tensor)):
        tensor = plain(name, x).detach().resolve_conj().resolve_neg()
        tensor = tensor.cpu()
        while is_gradient_wrapped(tensor):  # made within np.grad, it hands out no memory
            tensor = unwrapped(tensor)
        with at_level_of(tensor):
            return tensor.numpy() if tensor.ndim or type(x) is wrap.ARRAY else tensor.item()
    if isinstance(x, (list, tuple)):
        return type(x)(to_numpy(name, item) for item in x)
    if isinstance(x, dict):
        return {key: to_numpy(name, item) for key, item in x.items()}
    return x


def from_numpy(x: Any) -> Any:
    """A result of NumPy: arrays and scalars become npdec's, Python's numbers stay."""
    if type(x) is float:
        return x
    if calls is not None and not tracing() and (made := calls.few_from_numpy(x)) is not None:
        return made
    import numpy

    if isinstance(x, numpy.ndarray):
        if type(x) is numpy.ndarray and x.dtype.char in "dl" and x.flags.writeable and _devices.is_unchosen():
            return wrap.wrap_array(torch.from_numpy(x))  # float64 and int64, which nearly all are
        return wrap.wrap_array(as_tensor(x))
    if isinstance(x, numpy.generic):
        return wrap.wrap_scalar(as_tensor(x))
    if isinstance(x, tuple):
        return tuple(map(from_numpy, x))
    if isinstance(x, dict):
        return {key: from_numpy(item) for key, item in x.items()}
    return x


def numpy_dtype(dtype: Any) -> Any:
    """The scalar type of NumPy for a dtype; Python's own types, for which NumPy returns Python's numbers, stay."""
    return dtype if dtype is int or dtype is bool else _numpys(as_dtype(dtype))


@functools.cache
def _numpys(dtype: torch.dtype) -> Any:
    import numpy

    return numpy.dtype(dtype_name(dtype)).type


# --- streams ----------------------------------------------------------------------------------------------------------


class Stream(Protocol):
    """A source of random numbers."""

    @property
    def source(self) -> Any: ...

    def draw(self, name: str, *parameters: Any, size: Any, **options: Any) -> Any:
        """Numbers from the distribution that is called `name` in numpy.random."""

    def integers(self, name: str, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
        """Integers from low to high (exclusive unless `endpoint`)."""

    def choice(self, n: int, size: Any, replace: bool, p: Any, **options: Any) -> Any:
        """Numbers below n: an array, or a Python number where size is None."""

    def permutation(self, n: int) -> torch.Tensor:
        """The numbers below n in random order."""

    def order(self, n: int) -> Any:
        """The same, as an array."""

    def permuted(self, positions: torch.Tensor, axis: int | None) -> torch.Tensor:
        """Positions with each line along an axis in random order."""

    def bytes(self, length: int) -> bytes:
        """Random bytes."""


class NumpyStream:
    """The stream of a NumPy generator: an instance of its Generator or RandomState, or the module numpy.random."""

    def __init__(self, source: Any) -> None:
        self._source = source

    @property
    def source(self) -> Any:
        """The generator of NumPy. A function that np.jit records has none, as its numbers would be constants."""
        refuse_recording(
            "random numbers are drawn: give the function a generator (np.random.default_rng) as an argument"
        )
        return self._source

    def draw(self, name: str, *parameters: Any, size: Any, **options: Any) -> Any:
        try:
            if "dtype" in options:
                options["dtype"] = numpy_dtype(options["dtype"])
            arguments = []
            for x in parameters:
                kept = type(x) in _AS_THEY_ARE or _converts_itself(x)
                arguments.append(x if kept else to_numpy(name, x))
            draw = getattr(self.source, name)
            if size is None:
                return from_numpy(draw(*arguments, **options))
            return from_numpy(draw(*arguments, size=to_numpy(name, size), **options))
        except Exception as error:
            raise cut(error)  # noqa: B904

    def integers(self, name: str, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
        options: dict[str, Any] = {"endpoint": True} if endpoint else {}
        if dtype is not int64 or name != "integers":  # of which that is the default
            options["dtype"] = dtype
        try:
            return self.draw(name, low, high, size=size, **options)
        except Exception as error:
            raise cut(error)  # noqa: B904

    def choice(self, n: int, size: Any, replace: bool, p: Any, **options: Any) -> Any:
        return self.draw("choice", n, size=size, replace=replace, p=to_numpy("choice", p), **options)

    def permutation(self, n: int) -> torch.Tensor:
        return as_tensor(self.source.permutation(n))

    def order(self, n: int) -> Any:
        return from_numpy(self.source.permutation(n))

    def permuted(self, positions: torch.Tensor, axis: int | None) -> torch.Tensor:
        return as_tensor(self.source.permuted(to_numpy("permuted", positions), axis=axis))

    @cuts
    def bytes(self, length: int) -> bytes:
        return bytes(self.source.bytes(length))


def _converts_itself(x: Any) -> bool:
    """Whether a parameter is a single number of a program's own class, which says itself what number that is."""
    given: Any = x  # which mypy takes for the class of the base alone
    return isinstance(x, SubclassBase) and not given.ndim


class TorchStream:
    """The stream of a torch.Generator, on its device. It is not NumPy's: equal seeds give other numbers."""

    def __init__(self, source: torch.Generator) -> None:
        self.source = source

    def _tensor(self, name: str, x: Any, dtype: torch.dtype) -> torch.Tensor:
        return plain(name, x).to(self.source.device, dtype)

    def draw(self, name: str, *parameters: Any, size: Any, **options: Any) -> Any:
        kernel = random_impl.DISTRIBUTIONS.get(name)
        if kernel is None:
            numpy_random(f"random.{name}")
            raise NotImplementedError(
                f"random.{name} cannot be drawn from a torch.Generator: use np.random.default_rng(), which draws from "
                "NumPy's own stream"
            )
        dtype = as_dtype(options.pop("dtype", float))
        unknown = [key for key, value in options.items() if value != _OPTIONS.get((name, key))]
        if unknown:
            raise NotImplementedError(
                f"random.{name}: {', '.join(unknown)} chooses among methods of NumPy: install NumPy"
            )
        arguments = [self._tensor(name, x, torch.float64) for x in parameters]
        drawn = kernel(self.source, *arguments, size=None if size is None else as_shape(size))
        return self._result(drawn if dtype is torch.float64 else drawn.to(dtype), size)

    def _result(self, drawn: torch.Tensor, size: Any) -> Any:
        return drawn.item() if size is None and not drawn.ndim else wrap.wrap_array(drawn)

    def integers(self, name: str, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
        if high is None:
            low, high = 0, low
        lowest, bound = self._tensor(name, low, torch.int64), self._tensor(name, high, torch.int64) + int(endpoint)
        shape = None if size is None else as_shape(size)
        drawn = random_impl.integers(self.source, lowest, bound, shape, as_dtype(dtype))
        if size is None and not drawn.ndim:
            return dtype(drawn.item()) if dtype is int or dtype is bool else wrap.wrap_scalar(drawn)
        return wrap.wrap_array(drawn)

    def choice(self, n: int, size: Any, replace: bool, p: Any, **options: Any) -> Any:
        if options.get("shuffle", True) is not True:
            raise NotImplementedError("random.choice: shuffle=False is a choice among methods of NumPy: install NumPy")
        weights = None
        if p is not None:
            weights = plain("choice", p).to(self.source.device)
            weights = weights if weights.is_floating_point() else weights.to(torch.float64)
        shape = None if size is None else as_shape(size)
        return self._result(random_impl.choice(self.source, int(n), shape, bool(replace), weights), size)

    def permutation(self, n: int) -> torch.Tensor:
        return random_impl.permutation(self.source, n)

    def order(self, n: int) -> Any:
        return wrap.wrap_array(random_impl.permutation(self.source, n))

    def permuted(self, positions: torch.Tensor, axis: int | None) -> torch.Tensor:
        return random_impl.permuted(self.source, positions.to(self.source.device), axis)

    def bytes(self, length: int) -> bytes:
        low, high = torch.tensor(0), torch.tensor(256)
        return bytes(random_impl.integers(self.source, low, high, (length,), torch.int64).tolist())


# The values of options that say nothing about how the torch functions draw.
_OPTIONS = {
    ("multivariate_normal", "check_valid"): "warn",
    ("multivariate_normal", "tol"): 1e-8,
    ("multivariate_normal", "method"): "svd",
    ("standard_exponential", "method"): "zig",
}


def torch_generator(seed: Any = None) -> torch.Generator:
    """A torch.Generator on the default device. Several numbers as a seed are digested to one; None is unpredictable."""
    generator = torch.Generator(current_device())
    if seed is None:
        generator.seed()
        return generator
    numbers = as_tensor(seed).reshape(-1).tolist()
    if any(not isinstance(number, int) or number < 0 for number in numbers):
        raise ValueError(f"a seed must be a non-negative integer, or several of them, not {seed!r}")
    if len(numbers) != 1 or numbers[0] >= 2**63:
        digest = hashlib.sha256(repr(numbers).encode()).digest()
        numbers = [int.from_bytes(digest[:7], "little")]
    return generator.manual_seed(numbers[0])


_shared: ContextVar[torch.Generator] = ContextVar("npdec_random")


class SharedStream:
    """The stream of the functions of `numpy.random`: NumPy's global one, or one torch.Generator in each context."""

    def current(self) -> Any:
        if has_numpy():
            return NumpyStream(numpy_random("random"))
        generator = _shared.get(None)
        if generator is None:
            generator = torch_generator()
            _shared.set(generator)
        return TorchStream(generator)

    def seed(self, seed: Any) -> None:
        """Start the stream anew: NumPy's global one, or that of this context."""
        if has_numpy():
            numpy_random("random.seed").seed(to_numpy("seed", seed))
        else:
            _shared.set(torch_generator(seed))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current(), name)
