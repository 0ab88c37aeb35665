"""Random numbers of generators that a compiled function is given: they are drawn before its graph runs. Those of a
generator that it makes of a seed are constants."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.generic import generic
from npdec._array.shapes import as_shape
from npdec._core.base import ArrayBase
from npdec._jit.later import Later, given
from npdec._jit.recorder import Recorder
from npdec._random.generator import Generator
from npdec._random.streams import TorchStream
from npdec._torch.tracing import Refused, recording

__all__ = ["Draws", "rewind"]

_LOCATED = frozenset({"normal", "laplace", "gumbel", "logistic"})  # around a place, on a scale


class _Stream:
    """A stream of stand-ins."""

    def __init__(self, draws: Draws, place: int, stream: Any, recorder: Recorder) -> None:
        self._draws, self._place, self._recorder = draws, place, recorder
        if isinstance(stream, TorchStream):
            self._copy: Any = TorchStream(stream.source.clone_state())
        else:
            self._copy = type(stream)(copy.deepcopy(stream.source))

    def _drawn(self, method: str, args: tuple[Any, ...], options: dict[str, Any], span: Any = None) -> Any:
        args = tuple(map(_on_host, args))
        options = {name: _on_host(value) for name, value in options.items()}
        if any(map(_is_made, (*args, *options.values()))):
            if args[0] in _LOCATED and len(args) == 3 and [*options] == ["size"]:
                return self._located(*args, options["size"])
            raise Refused("the parameters of a random draw are arrays: draw standard numbers, and scale and shift them")
        with _outside():
            sample = getattr(self._copy, method)(*args, **options)
            tensor = _tensor(sample)
        made = self._stand_in(tensor, (self._place, method, args, options))
        if span is not None:
            self._recorder.bounds.note(made, span)
        if isinstance(sample, torch.Tensor):
            return made
        if type(sample) is float:
            return self._recorder.numbers.item(made)
        return wrap.wrap_scalar(made) if isinstance(sample, generic) else wrap.wrap_array(made)

    def _stand_in(self, sample: torch.Tensor, call: Any) -> torch.Tensor:
        """What stands for what the call draws."""
        if not self._draws.calls:
            self._draws.asked = len(self._recorder.conditions)
        self._draws.calls.append(call)
        self._draws.samples.append(sample)
        with torch.utils._python_dispatch._disable_current_modes():
            return self._recorder.given(sample)

    def _located(self, name: str, loc: Any, scale: Any, size: Any) -> Any:
        """Numbers of a distribution around another place, which is an array or the scale is."""
        loc, scale = map(_parameter, (loc, scale))
        is_number = isinstance(scale, float)
        if not is_number and (torch.signbit(scale) & ~scale.isnan()).any():
            raise Refused("the scale of a random draw is negative")
        shapes = [x.shape for x in (loc, scale) if isinstance(x, torch.Tensor)]
        shape = torch.broadcast_shapes(*shapes) if size is None else as_shape(size)
        if torch.broadcast_shapes(shape, *shapes) != shape:
            raise Refused("the parameters of a random draw do not broadcast to its size")
        standard = self._drawn("draw", (name, 0.0, scale if is_number else 1.0), {"size": shape})._t
        made = loc + (standard if is_number else scale * standard)
        return self._recorder.numbers.item(made) if size is None and not shape else wrap.wrap_array(made)

    def draw(self, *args: Any, **options: Any) -> Any:
        return self._drawn("draw", args, options)

    def integers(self, name: str, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
        ends = (0, low) if high is None else (low, high)
        span = None if any(type(end) is not int for end in ends) else (ends[0], ends[1] - (not endpoint))
        return self._drawn("integers", (name, low, high, size, dtype, endpoint), {}, span)

    def choice(self, n: int, *args: Any, **options: Any) -> Any:
        return self._drawn("choice", (n, *args), options, (0, n - 1))

    def permutation(self, n: int) -> Any:
        return self._drawn("permutation", (n,), {}, (0, n - 1))

    def order(self, n: int) -> Any:
        return self._drawn("order", (n,), {}, (0, n - 1))


class _Seeded(_Stream):
    """A stream of the numbers themselves: it starts from one seed in each call."""

    def _stand_in(self, sample: torch.Tensor, call: Any) -> torch.Tensor:
        found: torch.Tensor = self._recorder._known(sample)
        return found


@contextlib.contextmanager
def _outside() -> Iterator[None]:
    """Within the context nothing is recorded."""
    token = recording.set(None)
    try:
        with torch.utils._python_dispatch._disable_current_modes():
            yield
    finally:
        recording.reset(token)


def _on_host(value: Any) -> Any:
    """A parameter, a scalar on the host as Python's number."""
    return value.item() if isinstance(value, generic) and not value._carries else value


def _is_made(value: Any) -> bool:
    return isinstance(value, (ArrayBase, torch.Tensor)) or type(value) is Later


def _parameter(value: Any) -> Any:
    """A float, or a tensor in double precision."""
    if type(value) is Later:
        return given(value)
    return as_tensor(value).to(torch.float64) if isinstance(value, (ArrayBase, torch.Tensor)) else float(value)


def _tensor(sample: Any) -> torch.Tensor:
    if type(sample) is float:
        return torch.scalar_tensor(sample, dtype=torch.float64)
    if not isinstance(sample, (ArrayBase, torch.Tensor)):
        raise Refused("a number of Python's is drawn at random: draw an array (size=1)")
    return sample._t if isinstance(sample, ArrayBase) else sample


class Draws:
    """What a recorded function drew, in order."""

    def __init__(self) -> None:
        self.asked = 0  # how many numbers Python had asked for before the first draw
        self.calls: list[tuple[int, str, tuple[Any, ...], dict[str, Any]]] = []
        self.samples: list[torch.Tensor] = []  # one of each, for shapes and dtypes
        self._made: dict[int, Generator] = {}

    def stand_in(self, generator: Generator, place: int, recorder: Recorder) -> Generator:
        """A generator of stand-ins for what the argument at the place draws."""
        if id(generator) not in self._made:
            made = Generator.__new__(Generator)
            made._stream = _Stream(self, place, generator._stream, recorder)  # type: ignore[assignment]
            self._made[id(generator)] = made
        return self._made[id(generator)]

    def seeded(self, make: Callable[[Any], Generator], seed: Any, recorder: Recorder) -> Generator:
        """A generator that the function makes of a seed, which draws the same numbers in each call."""
        if seed is None:
            raise Refused("a generator without a seed draws other numbers in each call: give one to the function")
        if not all(type(one) is int for one in (seed if type(seed) in (list, tuple) else (seed,))):
            raise Refused(f"the seed of a generator is a {type(seed).__name__}, and no integer of Python's")
        made = Generator.__new__(Generator)
        with _outside():
            made._stream = _Seeded(self, -1, make(seed)._stream, recorder)  # type: ignore[assignment]
        return made

    def close(self) -> None:
        """Forget everything but what is to be drawn."""
        self.samples.clear()
        self._made.clear()

    def drawn(self, leaves: Sequence[Any]) -> list[torch.Tensor]:
        """The numbers of one call, whose arguments have these leaves."""
        found = []
        for place, method, args, options in self.calls:
            sample = getattr(leaves[place]._stream, method)(*args, **options)
            found.append(_tensor(sample))
        return found

    def states(self, leaves: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The sources of the numbers of one call, and their states."""
        streams = [leaves[place]._stream for place in {place for place, *_ in self.calls}]
        return [(stream, _state(stream.source)) for stream in streams]


def _state(source: Any) -> Any:
    if hasattr(source, "bit_generator"):
        return source.bit_generator.state
    return source.get_state()


def rewind(states: Sequence[tuple[Any, Any]]) -> None:
    """Set streams to states that they have had."""
    for stream, state in states:
        if hasattr(stream.source, "bit_generator"):
            stream.source.bit_generator.state = state
        else:
            stream.source.set_state(state)
