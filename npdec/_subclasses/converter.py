"""The arguments of a function as arrays, and the way back to their class: what NumPy's functions written in Python
begin and end with."""

from __future__ import annotations

from typing import Any

from npdec._array import wrap
from npdec._core.base import ArrayBase
from npdec._subclasses.wrapping import wrapped, wrapper_among

__all__ = ["Converter"]

_NUMBERS = (bool, int, float, complex)


class Converter:
    """Of several arguments. `scalar_input` says of each whether it is a number."""

    def __init__(self, *given: Any) -> None:
        np = wrap.NAMESPACE.value
        self._given = given
        self._arrays = tuple(np.asanyarray(x) for x in given)
        arrays = [isinstance(x, np.ndarray) for x in given]
        self.scalar_input = tuple(
            not is_array and x.ndim == 0 for is_array, x in zip(arrays, self._arrays, strict=True)
        )
        self._weak = tuple(type(x) in _NUMBERS for x in given)

    def __len__(self) -> int:
        return len(self._given)

    def __getitem__(self, place: int) -> Any:
        return self._arrays[place]

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        """The arguments as arrays; of a class, if it is welcome. `pyscalars` says whether Python's numbers become
        arrays too."""
        np = wrap.NAMESPACE.value
        keep = pyscalars == "preserve" or (pyscalars == "convert_if_no_array" and not all(self._weak))
        made = []
        for x, array, weak in zip(self._given, self._arrays, self._weak, strict=True):
            made.append(x if weak and keep else array if subok else np.asarray(array))
        return tuple(made)

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        """The dtype of all arguments together."""
        np = wrap.NAMESPACE.value
        kinds = [x if weak else a.dtype for x, a, weak in zip(self._given, self._arrays, self._weak, strict=True)]
        if extra_dtype is not None:
            kinds.append(extra_dtype)
        found = np.result_type(*kinds)
        return np.result_type(found, 0.0) if ensure_inexact and found.kind not in "fcO" else found

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        """A result in the class of the argument of the highest priority."""
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        source = wrapper_among(self._given)
        if not isinstance(array, ArrayBase):
            array = wrap.NAMESPACE.value.asarray(array)
        if source is None:
            return array[()] if scalar and type(array) is wrap.ARRAY and not array.ndim else array
        if type(array) is type(source) and not scalar:
            return array
        return wrapped(source, array, None, scalar)
