"""NumPy's bit generators and seed sequences, whose seeds and states are npdec's arrays: `np.random.PCG64` and the like.

Each class is made from NumPy's of the same name when it is first asked for, and an instance of NumPy's counts as one.
NumPy asks a seed sequence for its words as an array of its own; a bridge between the two gives it that.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, cast

from npdec._random.streams import from_numpy, numpy_random, to_numpy

__all__ = ["BIT_GENERATORS", "bit_generator_class"]

DELEGATES_TO_NUMPY = True

BIT_GENERATORS = ("BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")


class _Kind(type):
    """The type of the classes here: what is of NumPy's class counts as of npdec's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, vars(cls).get("_numpys", ())) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, vars(cls).get("_numpys", ())) or super().__subclasscheck__(subclass)


class _Bridge:
    """A seed sequence whose words are handed to NumPy as its own arrays."""

    __slots__ = ("sequence",)

    def __init__(self, sequence: Any) -> None:
        self.sequence = sequence

    def generate_state(self, n_words: int, dtype: Any = None) -> Any:
        return to_numpy("SeedSequence", self.sequence.generate_state(n_words, dtype))


class _SpawningBridge(_Bridge):
    """The same for a sequence that has children."""

    __slots__ = ()

    def spawn(self, n_children: int) -> Any:
        return self.sequence.spawn(n_children)


def _bridged(name: str, seed: Any) -> Any:
    """The seed of a bit generator as NumPy takes it."""
    interfaces = numpy_random(f"random.{name}").bit_generator
    if not isinstance(seed, interfaces.ISeedSequence):
        seed = bit_generator_class("SeedSequence")(seed)
    elif isinstance(seed, (_Bridge, interfaces.SeedlessSeedSequence)):
        return seed
    return (_SpawningBridge if isinstance(seed, interfaces.ISpawnableSeedSequence) else _Bridge)(seed)


class _Bits:
    """What differs in a bit generator from NumPy's."""

    def __init__(self, seed: Any = None, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if seed is not None or not (args or kwargs):  # Philox has a key in place of a seed
            seed = _bridged(name, seed)
        super().__init__(seed, *to_numpy(name, args), **to_numpy(name, kwargs))  # type: ignore[call-arg]

    @property
    def state(self) -> Any:
        """The state, a dict. Assigning one of the same kind continues from there."""
        return from_numpy(super().state)  # type: ignore[misc]

    @state.setter
    def state(self, value: Any) -> None:
        _numpys(self).state.__set__(self, to_numpy("state", value))

    @property
    def seed_seq(self) -> Any:
        """The seed sequence that the bit generator was started from."""
        sequence = super().seed_seq  # type: ignore[misc]
        return sequence.sequence if isinstance(sequence, _Bridge) else sequence

    def __getstate__(self) -> Any:
        return self.state, self.seed_seq

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):  # the state alone, in pickles of long ago
            state, sequence = tuple(state)
            super().__setstate__((state, _bridged(type(self).__name__, sequence)))  # type: ignore[misc]
        self.state = state

    def __reduce__(self) -> Any:
        make, args, _ = cast(tuple[Any, ...], super().__reduce__())
        return make, args, self.__getstate__()

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Random words: one, or an array of uint64; None if not `output`, which only moves on."""
        return from_numpy(super().random_raw(to_numpy("random_raw", size), output))  # type: ignore[misc]


class _Seeds:
    """What differs in a seed sequence from NumPy's."""

    def __init__(self, entropy: Any = None, **options: Any) -> None:
        super().__init__(to_numpy("SeedSequence", entropy), **to_numpy("SeedSequence", options))  # type: ignore[call-arg]

    def generate_state(self, n_words: int, dtype: Any = None) -> Any:
        """Words of the entropy, uint32 or uint64, to start a bit generator from."""
        words = numpy_random("random.SeedSequence").SeedSequence.generate_state
        return from_numpy(words(self, n_words) if dtype is None else words(self, n_words, _numpys_dtype(dtype)))

    @property
    def entropy(self) -> Any:
        """What the sequence was made from."""
        return from_numpy(super().entropy)  # type: ignore[misc]

    @property
    def pool(self) -> Any:
        """The entropy mixed, an array of uint32."""
        return from_numpy(super().pool)  # type: ignore[misc]


def _numpys_dtype(dtype: Any) -> Any:
    import numpy

    return numpy.dtype(str(getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype)))


def _numpys(instance: Any) -> Any:
    return next(vars(cls)["_numpys"] for cls in type(instance).__mro__ if "_numpys" in vars(cls))


@functools.cache
def bit_generator_class(name: str) -> Any:
    """The class of bit generators, or of seed sequences, of that name. Raises ImportError without NumPy."""
    random = numpy_random(f"random.{name}")
    interfaces = random.bit_generator
    interfaces.ISeedSequence.register(_Bridge)
    interfaces.ISpawnableSeedSequence.register(_SpawningBridge)
    theirs = getattr(random, name)
    members = {
        "__module__": "npdec.random",
        "__qualname__": name,
        "__doc__": f"NumPy's {name}, whose seeds and states are npdec's arrays.",
        "__signature__": inspect.signature(theirs),
        "_numpys": theirs,
    }
    return _Kind(name, (_Seeds if name == "SeedSequence" else _Bits, theirs), members)
