"""The new generator of random numbers, `Generator`, and `default_rng`, which makes one.

With NumPy installed it gives NumPy's own numbers, bit for bit. Made of a `torch.Generator`, or where NumPy is absent,
it draws with torch, on the device of that generator, and gives other numbers.
"""

from __future__ import annotations

from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.output import check_writeable, write
from npdec._array.scalars import float64, int64
from npdec._core.base import plain_of
from npdec._core.tracebacks import ends
from npdec._impl._util import normalize_axis
from npdec._random import elements as _elements
from npdec._random.bit_generators import bit_generator_class
from npdec._random.distributions import Distributions, is_bit_generator
from npdec._random.legacy import RandomState, numpy_class
from npdec._random.streams import NumpyStream, TorchStream, has_numpy, numpy_random, torch_generator
from npdec._torch.tracing import recording

__all__ = ["Generator", "default_rng"]

DELEGATES_TO_NUMPY = True


class Generator(Distributions):
    """Draws from distributions, on a bit generator of NumPy (`np.random.PCG64(seed)`) or on a `torch.Generator`.

    `default_rng` makes one.

    >>> rng = np.random.Generator(torch.Generator().manual_seed(0))
    >>> rng.normal(size=3).shape
    (3,)
    """

    @ends
    def __init__(self, bit_generator: Any) -> None:
        if isinstance(bit_generator, torch.Generator):
            self._stream = TorchStream(bit_generator)
        else:
            self._stream = NumpyStream(numpy_random("random.Generator").Generator(bit_generator))

    @classmethod
    def _of(cls, source: Any) -> Generator:
        generator = cls.__new__(cls)
        generator._stream = NumpyStream(source)
        return generator

    @property
    def bit_generator(self) -> Any:
        """The bit generator of NumPy, or the torch.Generator, that this one draws from."""
        source = self._stream.source
        return source if isinstance(source, torch.Generator) else source.bit_generator

    @property
    def _bit_generator(self) -> Any:
        return self.bit_generator

    def __str__(self) -> str:
        return f"Generator({type(self.bit_generator).__name__})"

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator, (self.bit_generator,), None

    @ends
    def spawn(self, n_children: int) -> list[Generator]:
        """New generators whose streams are independent of this one and of each other.

        >>> len(np.random.default_rng(0).spawn(2))
        2
        """
        if isinstance(self._stream, TorchStream):
            seeds = self._stream.permuted(torch.arange(2**20), None)[:n_children].tolist()
            return [Generator(torch_generator([seed, i])) for i, seed in enumerate(seeds)]
        return [Generator._of(child) for child in self._stream.source.spawn(n_children)]

    def random(self, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Uniform numbers in [0, 1), float64 or float32; written into `out` if it is given.

        >>> np.random.default_rng(0).random((2, 3), dtype=np.float32).dtype
        dtype('float32')
        """
        return _elements.filled(self._stream, "random", (), size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Normal numbers of mean 0 and standard deviation 1, float64 or float32; written into `out` if it is given.

        >>> np.random.default_rng(0).standard_normal(3).shape
        (3,)
        """
        return _elements.filled(self._stream, "standard_normal", (), size, dtype, out)

    def standard_exponential(self, size: Any = None, dtype: Any = float64, method: str = "zig", out: Any = None) -> Any:
        """Exponential numbers of mean 1, by the Ziggurat method ("zig") or by inversion ("inv").

        >>> np.random.default_rng(0).standard_exponential(3).shape
        (3,)
        """
        return _elements.filled(self._stream, "standard_exponential", (), size, dtype, out, method=method)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = float64, out: Any = None) -> Any:
        """Gamma numbers of scale 1, float64 or float32; written into `out` if it is given.

        >>> np.random.default_rng(0).standard_gamma(2.0, size=3).shape
        (3,)
        """
        return _elements.filled(self._stream, "standard_gamma", (shape,), size, dtype, out)

    def integers(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int64, endpoint: bool = False) -> Any:
        """Integers from `low` (0 if `high` is missing) to `high`, which is excluded unless `endpoint`.

        >>> np.random.default_rng(0).integers(1, 7, size=4).shape
        (4,)
        """
        return self._stream.integers("integers", low, high, size, dtype, endpoint)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        """Random elements of an array along an axis, or numbers below an integer, with probabilities `p`.

        Without `replace` none is drawn twice. Raises ValueError if there are too few, or `p` does not fit.

        >>> np.random.default_rng(0).choice(np.array([1.0, 2.0, 3.0]), size=(2, 2)).shape
        (2, 2)
        """
        return _elements.chosen(self._stream, a, size, replace, p, axis, shuffle=shuffle)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """A copy of an array in random order along an axis, or the numbers below an integer in random order.

        >>> sorted(np.random.default_rng(0).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        return _elements.permutation(self._stream, x, axis)

    @ends
    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
        """A copy of an array, each line along an axis in a random order of its own; without an axis, all elements.

        >>> np.random.default_rng(0).permuted(np.arange(6).reshape(2, 3), axis=1).sum(axis=1)
        array([ 3, 12])
        """
        tensor = as_tensor(plain_of(x))
        if not tensor.ndim:
            raise TypeError("permuted: a 0-d array has no order")
        shape = tuple(tensor.shape)
        if axis is None:
            places = self._stream.permuted(torch.arange(tensor.numel()).reshape(shape), None).to(tensor.device)
            result = torch.index_select(tensor.reshape(-1), 0, places.reshape(-1)).reshape(shape)
        else:
            axis = normalize_axis(axis, tensor.ndim)
            line = torch.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(tensor.ndim)])
            places = self._stream.permuted(line.expand(shape).contiguous(), axis).to(tensor.device)
            result = torch.take_along_dim(tensor, places, axis)
        if out is None:
            return wrap.wrap_array(result)
        if check_writeable("permuted", out).shape != shape:
            raise ValueError("out must have the same shape as x")
        write("permuted", out, result, "safe")
        return out

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle an array along an axis, or a list, in place.

        >>> x = np.arange(4)
        >>> np.random.default_rng(0).shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3]
        """
        _elements.shuffle(self._stream, x, axis)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Any:
        """Vectors of normal numbers with the given means and covariance matrix.

        `check_valid` says what happens if the matrix is no covariance matrix within `tol`: "warn", "raise" or "ignore".

        >>> np.random.default_rng(0).multivariate_normal([0.0, 1.0], np.eye(2), size=3).shape
        (3, 2)
        """
        options = {"check_valid": check_valid, "tol": tol, "method": method}
        return self._stream.draw("multivariate_normal", mean, cov, size=size, **options)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Any:
        """How many of each color are among nsample items drawn without replacement; a vector for each draw.

        >>> np.random.default_rng(0).multivariate_hypergeometric([3, 4], 2, size=5).shape
        (5, 2)
        """
        return self._stream.draw("multivariate_hypergeometric", colors, nsample, size=size, method=method)


def _generator(bit_generator: Any = "MT19937") -> Generator:
    """A Generator on a bit generator, or on one of the class of that name, for pickles."""
    return Generator(numpy_class(bit_generator)() if isinstance(bit_generator, str) else bit_generator)


@ends
def default_rng(seed: Any = None) -> Generator:
    """A `Generator` that starts from a seed: an integer, several of them, or None for an unpredictable one.

    A SeedSequence, a bit generator, a torch.Generator or a generator may also be given. The numbers are NumPy's.

    >>> float(np.random.default_rng(12345).random())
    0.22733602246716966
    """
    if isinstance(seed, Generator):
        return seed
    recorder = recording.get()
    return _seeded(seed) if recorder is None else recorder.draws.seeded(_seeded, seed, recorder)


def _seeded(seed: Any) -> Generator:
    if isinstance(seed, torch.Generator):
        return Generator(seed)
    if not has_numpy():
        return Generator(torch_generator(seed))
    if isinstance(seed, RandomState):
        return Generator(seed._bit_generator)
    random = numpy_random("random")
    if isinstance(seed, (random.Generator, random.RandomState)):
        return Generator._of(random.default_rng(seed))
    return Generator(seed if is_bit_generator(seed) else bit_generator_class("PCG64")(seed))
