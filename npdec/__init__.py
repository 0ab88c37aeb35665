"""NumPy's API over torch tensors, in which any array can carry its exact additive attribution: `import npdec as np`.

This module and its siblings `linalg`, `fft`, `random` publish; the functions are the kernels in `npdec._impl`, each of
which declares its public name where it is written.
"""

from __future__ import annotations

import functools as _functools
import importlib as _importlib
import math as _math
import sys as _sys
import warnings as _warnings
from typing import Any as _Any

from npdec._core import interrupted_start as _interrupted_start  # isort: skip (before torch, whose import takes seconds)
from npdec._core.import_pause import Pause as _Pause  # isort: skip

with _Pause():
    from npdec import exceptions, extend, version
    from npdec._array import collate as _collate
    from npdec._array import wrap as _wrap
    from npdec._array.array_api import __array_api_version__, __array_namespace_info__
    from npdec._array.broadcast import *
    from npdec._array.decompose import completeness, decompose
    from npdec._array.default_device import set_default_device
    from npdec._array.errstate import *
    from npdec._array.generic import generic
    from npdec._array.iterators import *
    from npdec._array.ndarray import Composition
    from npdec._array.printing import *
    from npdec._array.scalars import *
    from npdec._array.scalars import bool_ as bool
    from npdec._core import absent as _absent
    from npdec._core import door as _door
    from npdec._core.tags import NoValue as _NoValue  # under the name of NumPy
    from npdec._decomposed import tensor as _tensor
    from npdec._decomposed.completeness import check_completeness
    from npdec._decomposed.tensor import DecomposedTensor
    from npdec._dtypes.dtype import dtype
    from npdec._dtypes.limits import *
    from npdec._functions.complex_parts import imag, iscomplexobj, isrealobj, real
    from npdec._functions.creation import *
    from npdec._functions.creation_from import *
    from npdec._functions.dlpack import from_dlpack
    from npdec._functions.dtype_functions import *
    from npdec._functions.einsum import einsum, einsum_path
    from npdec._functions.examples import test
    from npdec._functions.files import *
    from npdec._functions.frompyfunc import frompyfunc
    from npdec._functions.host_only import *
    from npdec._functions.index_tricks import *
    from npdec._functions.nditer import nditer
    from npdec._functions.nested_iters import nested_iters
    from npdec._functions.poly1d import poly1d
    from npdec._functions.radix import *
    from npdec._functions.shares_memory import *
    from npdec._functions.text_files import *
    from npdec._functions.vectorize import vectorize
    from npdec._guests import array as _guest_array
    from npdec._guests import kinds as _guests
    from npdec._law.named_rules import register_rule, rule
    from npdec._normalizer import namespace as _namespace
    from npdec._normalizer.ufunc import ufunc
    from npdec._torch.tracing import imported as _imported
    from npdec.exceptions import DecompositionWarning

__version__ = version.version  # of NumPy's API, with npdec's own as the local part

ndarray = Composition
newaxis = None
e, pi, euler_gamma = _math.e, _math.pi, 0.5772156649015329
inf, nan = _math.inf, _math.nan

globals().update(_namespace.functions.ufuncs)
_wrap.NAMESPACE.fill(_sys.modules[__name__])
_door.behind.fill(_functools.cache(lambda: _importlib.import_module("npdec._guests.calls")))
_door.subclasses.fill(_functools.cache(lambda: _importlib.import_module("npdec._subclasses.calls")))
_guest_array.methods.fill(lambda: _importlib.import_module("npdec._guests.methods"))
_tensor.first_use.fill(lambda: _importlib.import_module("npdec.overrides"))

_function: _Any
for _function in (can_cast, imag, iscomplexobj, isrealobj, real, result_type):
    _function._implementation = _door.Implementation(_function.__name__)  # those above that are not open to guests

from npdec import fft, linalg, random  # noqa: E402  (they look at the functions above)

# Imported when first used, which keeps the import of npdec short.
_LAZY = (
    "attribution", "char", "core", "ctypeslib", "debug", "dtypes", "emath", "f2py", "func", "lib", "ma", "overrides",
    "polynomial", "pydec", "rec", "strings", "testing", "typing",
)  # fmt: skip
_MEMBERS = {
    **dict.fromkeys(("Attribution", "attribute", "attribute_text"), "attribution"),
    "install": "_running.finder",
    **dict.fromkeys(("grad", "jit", "jvp", "value_and_grad", "vjp", "vmap"), "func"),
}


def __getattr__(name: str) -> _Any:
    if name in _namespace.functions:
        return _namespace.functions.resolve(name, globals())
    if name in _LAZY:
        return _imported(f"npdec.{name}")
    if name in _MEMBERS:
        return globals().setdefault(name, getattr(_imported(f"npdec.{_MEMBERS[name]}"), name))
    if name in _guests.NAMES:
        found = _importlib.import_module("npdec._guests.names").guest_name(name)
        if found is not None:
            return globals().setdefault(name, found)
    if name in _absent.ABSENT:
        raise _absent.absent(name)
    if name == "chararray":
        _warnings.warn("np.chararray is np.char.chararray: name that", DeprecationWarning, stacklevel=2)
        return _importlib.import_module("npdec.char").chararray
    if name in ("bytes", "object", "str"):
        _warnings.warn(f"In the future `np.{name}` will be a scalar type, as NumPy plans", FutureWarning, stacklevel=2)
    raise exceptions.MissingNameError("npdec", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_namespace.functions, *_LAZY, *_MEMBERS, *_guests.NAMES})


del annotations
__all__ = [
    name
    for name in {**globals(), **dict.fromkeys((*_namespace.functions, *_MEMBERS, *_guests.TABLES))}
    if not name.startswith("_")
]
