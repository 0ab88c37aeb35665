"""`x.flags`: what is known of an array's memory, and whether it may be written."""

from __future__ import annotations

from typing import Any

from npdec._array import element_order, wrap
from npdec._impl import _storage

__all__ = ["Flags"]

# The keys, and the attributes that they stand for.
_KEYS = {
    "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "C_CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous", "FORTRAN": "f_contiguous", "F_CONTIGUOUS": "f_contiguous",
    "O": "owndata", "OWNDATA": "owndata", "W": "writeable", "WRITEABLE": "writeable",
    "A": "aligned", "ALIGNED": "aligned", "X": "writebackifcopy", "WRITEBACKIFCOPY": "writebackifcopy",
    "B": "behaved", "BEHAVED": "behaved", "CA": "carray", "CARRAY": "carray", "FA": "farray", "FARRAY": "farray",
    "FNC": "fnc", "FORC": "forc",
}  # fmt: skip
_SHOWN = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
_BITS = {"c_contiguous": 1, "f_contiguous": 2, "owndata": 4, "aligned": 0x100, "writeable": 0x400}


class Flags:
    """The flags of an array: `x.flags.c_contiguous` or `x.flags["C_CONTIGUOUS"]`. `writeable` can be set."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        """The last axis varies fastest in memory, without gaps."""
        return self._array._t.is_contiguous() and element_order.follow_each_other(self._array)

    @property
    def f_contiguous(self) -> bool:
        """The first axis varies fastest in memory, without gaps."""
        tensor = self._array._t
        return _storage.is_column_major(tensor) and element_order.follow_each_other(self._array, "F")

    contiguous = c_contiguous
    fortran = f_contiguous

    @property
    def fnc(self) -> bool:
        """`f_contiguous`, and not `c_contiguous`."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """One of the two orders."""
        return self.c_contiguous or self.f_contiguous

    @property
    def owndata(self) -> bool:
        """The memory is the array's own: it is no view."""
        return self._array.base is None

    @property
    def writeable(self) -> bool:
        """The elements may be written. Those of a scalar may not."""
        return type(self._array) is wrap.ARRAY and getattr(self._array, "_ro", None) is None

    @writeable.setter
    def writeable(self, value: Any) -> None:
        self._array.setflags(write=bool(value))

    @property
    def aligned(self) -> bool:
        """The elements lie at multiples of their size, as torch's always do; a view of bytes elsewhere is a copy that
        stands for it."""
        return element_order.is_aligned(self._array)

    @aligned.setter
    def aligned(self, value: Any) -> None:
        self._array.setflags(align=bool(value))

    @property
    def writebackifcopy(self) -> bool:
        """False: there are no such copies."""
        return False

    @writebackifcopy.setter
    def writebackifcopy(self, value: Any) -> None:
        self._array.setflags(uic=bool(value))

    @property
    def behaved(self) -> bool:
        """`aligned` and `writeable`."""
        return self.aligned and self.writeable

    @property
    def carray(self) -> bool:
        """`behaved` and `c_contiguous`."""
        return self.behaved and self.c_contiguous

    @property
    def farray(self) -> bool:
        """Not `c_contiguous`: NumPy asks for one of its other conditions only."""
        return (self.aligned or self.writeable or self.f_contiguous) and not self.c_contiguous

    @property
    def num(self) -> int:
        """The flags as the bits of NumPy's C headers."""
        return sum(bit for name, bit in _BITS.items() if getattr(self, name))

    def __getitem__(self, key: Any) -> bool:
        name = _KEYS.get(key) if isinstance(key, str) else None
        if name is None:
            raise KeyError("Unknown flag")
        return getattr(self, name)

    def __setitem__(self, key: Any, value: Any) -> None:
        name = _KEYS.get(key) if isinstance(key, str) else None
        if name not in ("writeable", "aligned", "writebackifcopy"):
            raise KeyError("Unknown flag")
        setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self.num == other.num if isinstance(other, Flags) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"  {name} : {self[name]}\n" for name in _SHOWN)
