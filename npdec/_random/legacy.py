"""The old generator of random numbers, `RandomState`, and its instance behind the functions of `np.random`.

With NumPy installed it gives NumPy's own numbers, bit for bit, and the functions of `np.random` share NumPy's global
stream. Where NumPy is absent it draws with torch, and the functions have a stream of their own in each context.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.scalars import int64
from npdec._core.tracebacks import ends
from npdec._impl._util import warn
from npdec._random import elements as _elements
from npdec._random.bit_generators import BIT_GENERATORS, bit_generator_class
from npdec._random.distributions import Distributions, is_bit_generator
from npdec._random.streams import (
    NumpyStream,
    SharedStream,
    TorchStream,
    from_numpy,
    has_numpy,
    numpy_random,
    to_numpy,
    torch_generator,
)
from npdec.exceptions import MissingNameError

__all__ = [
    "NUMPY_CLASSES", "RandomState", "get_bit_generator", "legacy", "numpy_class", "ranf", "sample", "seed",
    "set_bit_generator",
]  # fmt: skip

DELEGATES_TO_NUMPY = True


class RandomState(Distributions):
    """The generator of NumPy's older programs: a Mersenne Twister whose numbers never change.

    `seed` is an integer below 2**32, several of them, a bit generator, a torch.Generator, or None.

    >>> float(np.random.RandomState(0).rand())
    0.5488135039273248
    """

    @ends
    def __init__(self, seed: Any = None) -> None:
        if isinstance(seed, torch.Generator):
            self._stream: Any = TorchStream(seed)
        elif has_numpy():
            if not is_bit_generator(seed):  # a seed, not a bit generator
                bits = bit_generator_class("MT19937")()
                bits._legacy_seeding(to_numpy("RandomState", seed))
                seed = bits
            self._stream = NumpyStream(numpy_random("random").RandomState(seed))
        else:
            self._stream = TorchStream(torch_generator(seed))

    @classmethod
    def _shared(cls) -> RandomState:
        state = cls.__new__(cls)
        state._stream = SharedStream()
        return state

    @property
    def _bit_generator(self) -> Any:
        source = self._stream.source
        if isinstance(source, torch.Generator):
            return source
        # NumPy's global stream is seen as the module that has its functions.
        return source.get_bit_generator() if isinstance(source, types.ModuleType) else source._bit_generator

    def __str__(self) -> str:
        return f"RandomState({type(self._bit_generator).__name__})"

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __getstate__(self) -> Any:
        return self.get_state(legacy=False)

    def __setstate__(self, state: Any) -> None:
        self.set_state(state)

    def __reduce__(self) -> tuple[Any, ...]:
        return _random_state, (self._bit_generator,), self.get_state(legacy=False)

    @ends
    def seed(self, seed: Any = None) -> None:
        """Start the stream anew. In `np.random`, with NumPy installed, this is NumPy's global stream.

        >>> np.random.seed(0)
        >>> float(np.random.rand())
        0.5488135039273248
        """
        stream = self._stream
        if isinstance(stream, SharedStream):
            stream.seed(seed)
        elif isinstance(stream, TorchStream):
            stream.source.manual_seed(torch_generator(seed).initial_seed())
        else:
            stream.source.seed(to_numpy("seed", seed))

    @ends
    def get_state(self, legacy: bool = True) -> Any:
        """The state of the stream, for `set_state`: a tuple, or a dict if `legacy` is False.

        >>> np.random.RandomState(0).get_state()[0]
        'MT19937'
        """
        source = self._stream.source
        if isinstance(source, torch.Generator):
            state = wrap.wrap_array(source.get_state())
            return ("torch", state) if legacy else {"bit_generator": "torch", "state": state}
        return from_numpy(source.get_state(legacy=legacy))

    @ends
    def set_state(self, state: Any) -> None:
        """Go back to a state that `get_state` gave.

        >>> rng = np.random.RandomState(0)
        >>> state = rng.get_state()
        >>> a = rng.rand()
        >>> rng.set_state(state)
        >>> rng.rand() == a
        True
        """
        source = self._stream.source
        if isinstance(source, torch.Generator):
            source.set_state(as_tensor(state["state"] if isinstance(state, dict) else state[1]).cpu())
        else:
            source.set_state(to_numpy("set_state", state))

    def rand(self, *args: Any) -> Any:
        """Uniform numbers in [0, 1) in the given shape.

        >>> np.random.rand(2, 3).shape
        (2, 3)
        """
        return self._stream.draw("random", size=args or None)

    def randn(self, *args: Any) -> Any:
        """Standard normal numbers in the given shape.

        >>> np.random.randn(2, 3).shape
        (2, 3)
        """
        return self._stream.draw("standard_normal", size=args or None)

    def random(self, size: Any = None) -> Any:
        """Uniform numbers in [0, 1).

        >>> np.random.random((2, 3)).shape
        (2, 3)
        """
        return self._stream.draw("random", size=size)

    def random_sample(self, size: Any = None) -> Any:
        """Uniform numbers in [0, 1).

        >>> np.random.random_sample((2, 3)).shape
        (2, 3)
        """
        return self._stream.draw("random", size=size)

    def standard_normal(self, size: Any = None) -> Any:
        """Normal numbers of mean 0 and standard deviation 1.

        >>> np.random.standard_normal(3).shape
        (3,)
        """
        return self._stream.draw("standard_normal", size=size)

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential numbers of mean 1.

        >>> np.random.standard_exponential(3).shape
        (3,)
        """
        return self._stream.draw("standard_exponential", size=size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        """Gamma numbers of scale 1.

        >>> np.random.standard_gamma(2.0, size=3).shape
        (3,)
        """
        return self._stream.draw("standard_gamma", shape, size=size)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Integers from `low` (0 if `high` is missing) to `high`, which is excluded.

        >>> np.random.randint(1, 7, size=4).shape
        (4,)
        """
        return self._stream.integers("randint", low, high, size, dtype, False)

    @ends
    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        """Integers from `low` (1 if `high` is missing) to `high`, which is included. Deprecated: use `randint`.

        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     np.random.random_integers(6, size=4).shape
        (4,)
        """
        low, high = (1, low) if high is None else (low, high)
        warn(f"This function is deprecated. Please call randint({low}, {high} + 1) instead", DeprecationWarning)
        return self._stream.integers("randint", low, int(high) + 1, size, int64, False)

    def tomaxint(self, size: Any = None) -> Any:
        """Integers from 0 to the largest int64.

        >>> np.random.RandomState(0).tomaxint(3).shape
        (3,)
        """
        if isinstance(self._stream, TorchStream):
            return self._stream.integers("tomaxint", 0, 2**63 - 1, size, int64, False)
        return self._stream.draw("tomaxint", size=size)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Random elements of a vector, or numbers below an integer, with probabilities `p`.

        Without `replace` none is drawn twice. Raises ValueError if there are too few, or `p` does not fit.

        >>> np.random.choice(np.array([1.0, 2.0, 3.0]), size=(2, 2)).shape
        (2, 2)
        """
        return _elements.chosen(self._stream, a, size, replace, p, None)

    def permutation(self, x: Any) -> Any:
        """A copy of an array with its first axis in random order, or the numbers below an integer in random order.

        >>> sorted(np.random.permutation(4).tolist())
        [0, 1, 2, 3]
        """
        return _elements.permutation(self._stream, x, 0)

    def shuffle(self, x: Any) -> None:
        """Shuffle the first axis of an array, or a list, in place.

        >>> x = np.arange(4)
        >>> np.random.shuffle(x)
        >>> sorted(x.tolist())
        [0, 1, 2, 3]
        """
        _elements.shuffle(self._stream, x, 0)

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> Any:
        """Vectors of normal numbers with the given means and covariance matrix.

        `check_valid` says what happens if the matrix is no covariance matrix within `tol`: "warn", "raise" or "ignore".

        >>> np.random.multivariate_normal([0.0, 1.0], np.eye(2), size=3).shape
        (3, 2)
        """
        return self._stream.draw("multivariate_normal", mean, cov, size=size, check_valid=check_valid, tol=tol)


def _random_state(bit_generator: Any = "MT19937") -> RandomState:
    """A RandomState on a bit generator, or on one of the class of that name, for pickles."""
    return RandomState(numpy_class(bit_generator)() if isinstance(bit_generator, str) else bit_generator)


legacy = RandomState._shared()


@ends
def seed(seed: Any = None) -> None:
    """Start the stream anew. With NumPy installed this is NumPy's global stream.

    >>> np.random.seed(0)
    >>> float(np.random.rand())
    0.5488135039273248
    """
    legacy.seed(seed)


@ends
def ranf(*args: Any, **kwargs: Any) -> Any:
    """The same as `random_sample`.

    >>> np.random.ranf((2, 3)).shape
    (2, 3)
    """
    return legacy.random_sample(*args, **kwargs)


@ends
def sample(*args: Any, **kwargs: Any) -> Any:
    """The same as `random_sample`.

    >>> np.random.sample((2, 3)).shape
    (2, 3)
    """
    return legacy.random_sample(*args, **kwargs)


NUMPY_CLASSES = (*BIT_GENERATORS, "bit_generator")


def numpy_class(name: str) -> Any:
    """The class of bit generators of that name, or NumPy's module `bit_generator`.

    Raises AttributeError for others, ImportError without NumPy.
    """
    if name in BIT_GENERATORS:
        return bit_generator_class(name)
    if name not in NUMPY_CLASSES:
        raise MissingNameError("npdec.random", name)
    return getattr(numpy_random(f"random.{name}"), name)


def get_bit_generator() -> Any:
    """The bit generator behind the functions of `np.random`: NumPy's global one. Raises ImportError without NumPy.

    >>> type(np.random.get_bit_generator()).__name__
    'MT19937'
    """
    return numpy_random("random.get_bit_generator").get_bit_generator()


@ends
def set_bit_generator(bitgen: Any) -> None:
    """Make the functions of `np.random`, and of NumPy's own random module, draw from a bit generator of NumPy.

    Raises TypeError for what is no bit generator, ImportError without NumPy.

    >>> before = np.random.get_bit_generator()
    >>> np.random.set_bit_generator(np.random.PCG64(0))
    >>> float(np.random.random()) == float(np.random.Generator(np.random.PCG64(0)).random())
    True
    >>> np.random.set_bit_generator(before)
    """
    random = numpy_random("random.set_bit_generator")
    if not is_bit_generator(bitgen):  # NumPy lets go of the generator that it draws from before it looks
        kind = type(bitgen).__name__
        raise TypeError(f"random.set_bit_generator takes a bit generator (np.random.PCG64(0)), not {kind}")
    random.set_bit_generator(bitgen)
