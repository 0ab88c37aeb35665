"""The names of NumPy's main namespace that stand for what torch cannot hold: NumPy's own, where it is installed."""

from __future__ import annotations

from typing import Any

from npdec._array import scalars
from npdec._array.convert import SPELLINGS
from npdec._array.host_numpy import numpy_for
from npdec._core.installed_numpy import numpy_or_none
from npdec._dtypes.dtype import SCALARS
from npdec._guests.exchange import received_class
from npdec._guests.kinds import CLASSES, TABLES
from npdec._guests.modules import published

__all__ = ["guest_name"]


_WITHOUT_A_STAND_IN = frozenset({"busdaycalendar", "bytes_", "str_"})  # without NumPy, what they need is NumPy


def guest_name(name: str) -> Any:
    """NumPy's class, its function made one of npdec, or a table of scalar types. None for a class or a function without
    NumPy, and for a type that this machine lacks."""
    if name in TABLES:
        return _table(name)
    numpy = numpy_for(name) if name in _WITHOUT_A_STAND_IN else numpy_or_none()
    found = getattr(numpy, name, None)
    return found if name in CLASSES or found is None else published("", name)


# --- what NumPy says of all scalar types ------------------------------------------------------------------------------


def _table(name: str) -> Any:
    """`np.ScalarType` (all types whose instances are scalars), `np.sctypeDict` (the scalar type of each type name) or
    `np.typecodes` (the characters of each kind): with those of guests where NumPy is installed."""
    numpy: Any = numpy_or_none()
    if numpy is None:
        return {"ScalarType": _SCALAR_TYPES, "sctypeDict": _SCTYPES, "typecodes": _TYPECODES}[name]
    if name == "ScalarType":
        guests = (cls for cls in numpy.ScalarType if _itself(cls) is cls and cls not in _SCALAR_TYPES)
        return (*_SCALAR_TYPES, *guests)
    if name == "typecodes":
        return dict(numpy.typecodes)
    return {key: received_class(cls) for key, cls in numpy.sctypeDict.items()} | _SCTYPES


def _itself(cls: Any) -> Any:
    """npdec's scalar type for one of NumPy's, and Python's types as they are."""
    numpy: Any = numpy_or_none()
    return received_class(cls) if issubclass(cls, numpy.generic) else cls


_SCALAR_TYPES = (int, float, complex, bool, bytes, str, memoryview, *scalars.CONCRETE)
_TYPECODES = {
    "Character": "",
    "Integer": "bhilqnp",
    "UnsignedInteger": "BHILQNP",
    "Float": "efd",
    "Complex": "FD",
    "AllInteger": "bBhHiIlLqQnNpP",
    "AllFloat": "efdFD",
    "Datetime": "",
    "All": "?bhilqnpBHILQNPefdFD",
}
_SCTYPES = {
    name: SCALARS[torch_dtype]
    for name, torch_dtype in SPELLINGS.items()
    if isinstance(name, str) and len(name) > 2 and name.isidentifier() and name != "c16"
}
