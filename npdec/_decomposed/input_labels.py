"""The labels of an input that was given none. Of many, each is made when it is asked for: as objects they take eighteen
times the memory of the elements that they name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

from npdec._decomposed.pickling import safe
from npdec._decomposed.size_limits import has_many
from npdec._decomposed.tensor import InputLabel, Labels, new_source

__all__ = ["Index", "Indices", "InputLabels", "input_labels"]

Index = tuple[int, ...]


@safe
class Indices(Sequence[Index]):
    """The indices of arrays of these shapes, one array after the other; with `numbered`, each with the number of its
    array in front."""

    __slots__ = ("length", "numbered", "shapes")

    def __init__(self, shapes: Sequence[Index], numbered: bool) -> None:
        self.shapes, self.numbered = tuple(shapes), numbered
        self.length = sum(map(math.prod, self.shapes))

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, i: int) -> Index: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Index, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple([self[k] for k in range(*i.indices(self.length))])
        place = range(self.length)[i]
        for number, shape in enumerate(self.shapes):
            size = math.prod(shape)
            if place < size:
                found = []
                for length in reversed(shape):
                    place, rest = divmod(place, length)
                    found.append(rest)
                return (number, *reversed(found)) if self.numbered else tuple(reversed(found))
            place -= size
        raise AssertionError("a place before the last")

    def __iter__(self) -> Iterator[Index]:
        for number, shape in enumerate(self.shapes):
            for index in itertools.product(*map(range, shape)):
                yield (number, *index) if self.numbered else index

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Indices):
            return self.shapes == other.shapes and self.numbered == other.numbered
        return isinstance(other, (list, tuple)) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash((self.shapes, self.numbered))

    def __reduce__(self) -> tuple[Any, ...]:
        return Indices, (self.shapes, self.numbered)


@safe
class InputLabels(Sequence[InputLabel]):
    """A tuple of the labels of an input, but that each is made when it is asked for."""

    __slots__ = ("indices", "source")

    def __init__(self, source: bytes, indices: Indices) -> None:
        self.source, self.indices = source, indices

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, i: int) -> InputLabel: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[InputLabel, ...]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple([InputLabel(self.source, index) for index in self.indices[i]])
        return InputLabel(self.source, self.indices[i])

    def __iter__(self) -> Iterator[InputLabel]:
        for index in self.indices:
            yield InputLabel(self.source, index)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, InputLabels):
            return self.source == other.source and self.indices == other.indices
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self) + tuple(other)

    def __radd__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(other) + tuple(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return InputLabels, (self.source, self.indices)

    def __repr__(self) -> str:
        return repr(tuple(self))


def input_labels(indices: Sequence[Index]) -> Labels:
    """Labels of a new input, for components of these indices."""
    source = new_source()
    if isinstance(indices, Indices) and has_many(len(indices)):
        return cast(Labels, InputLabels(source, indices))
    return tuple([InputLabel(source, index) for index in indices])
