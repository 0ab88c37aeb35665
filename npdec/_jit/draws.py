"""Random numbers of generators that a compiled function is given: they are drawn before its graph runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.generic import generic
from npdec._core.base import ArrayBase
from npdec._jit.recorder import Recorder
from npdec._random.generator import Generator
from npdec._random.streams import TorchStream
from npdec._torch.tracing import Refused, recording

__all__ = ["Draws"]


class _Stream:
    """A stream of stand-ins."""

    def __init__(self, draws: Draws, place: int, stream: Any, recorder: Recorder) -> None:
        self._draws, self._place, self._recorder = draws, place, recorder
        if isinstance(stream, TorchStream):
            self._copy: Any = TorchStream(stream.source.clone_state())
        else:
            self._copy = type(stream)(copy.deepcopy(stream.source))

    def _drawn(self, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        for parameter in (*args, *options.values()):
            if isinstance(parameter, (ArrayBase, torch.Tensor)):
                raise Refused(
                    "the parameters of a random draw are arrays: draw standard numbers, and scale and shift them"
                )
        token = recording.set(None)
        try:
            with torch.utils._python_dispatch._disable_current_modes():
                sample = getattr(self._copy, method)(*args, **options)
        finally:
            recording.reset(token)
        if not isinstance(sample, (ArrayBase, torch.Tensor)):
            raise Refused("a number of Python's is drawn at random: draw an array (size=1)")
        tensor = sample._t if isinstance(sample, ArrayBase) else sample
        self._draws.calls.append((self._place, method, args, options))
        self._draws.samples.append(tensor)
        with torch.utils._python_dispatch._disable_current_modes():
            made = self._recorder.given(tensor)
        if isinstance(sample, torch.Tensor):
            return made
        return wrap.wrap_scalar(made) if isinstance(sample, generic) else wrap.wrap_array(made)

    def draw(self, *args: Any, **options: Any) -> Any:
        return self._drawn("draw", args, options)

    def integers(self, *args: Any, **options: Any) -> Any:
        return self._drawn("integers", args, options)

    def choice(self, *args: Any, **options: Any) -> Any:
        return self._drawn("choice", args, options)

    def permutation(self, *args: Any, **options: Any) -> Any:
        return self._drawn("permutation", args, options)

    def order(self, *args: Any, **options: Any) -> Any:
        return self._drawn("order", args, options)


class Draws:
    """What a recorded function drew, in order."""

    def __init__(self) -> None:
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

    def close(self) -> None:
        """Forget everything but what is to be drawn."""
        self.samples.clear()
        self._made.clear()

    def drawn(self, leaves: Sequence[Any]) -> list[torch.Tensor]:
        """The numbers of one call, whose arguments have these leaves."""
        found = []
        for place, method, args, options in self.calls:
            sample = getattr(leaves[place]._stream, method)(*args, **options)
            found.append(sample._t if isinstance(sample, ArrayBase) else sample)
        return found
