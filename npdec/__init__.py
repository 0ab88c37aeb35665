"""NumPy's API over torch tensors, in which any array can carry its exact additive attribution: `import npdec as np`.

This module and its siblings `linalg`, `fft`, `random` publish; the functions are the kernels in `npdec._impl`, each of
which declares its public name where it is written.
"""

from __future__ import annotations

import importlib as _importlib
import math as _math
import sys as _sys
from typing import Any as _Any

from npdec import _command  # isort: skip (before torch, whose import takes seconds)
from npdec import _absent, _batches, _decomposed, _host_side, _main, _wrap, exceptions, extend
from npdec._array_api import __array_api_version__, __array_namespace_info__
from npdec._broadcast import *
from npdec._checking import check_completeness
from npdec._composition import Composition
from npdec._creation import *
from npdec._decomposed import DecomposedTensor
from npdec._decomposition import completeness, decompose
from npdec._default_device import set_default_device
from npdec._dtype_functions import *
from npdec._dtypes import dtype
from npdec._einsum import einsum, einsum_path
from npdec._errstate import *
from npdec._examples import test
from npdec._files import *
from npdec._frompyfunc import frompyfunc
from npdec._generic import generic
from npdec._host_side import *
from npdec._index_tricks import *
from npdec._iteration import *
from npdec._limits import *
from npdec._nditer import nditer
from npdec._nested_iters import nested_iters
from npdec._overlap import *
from npdec._parts import imag, real
from npdec._poly1d import poly1d
from npdec._printing import *
from npdec._radix import *
from npdec._rules import register_rule, rule
from npdec._scalars import *
from npdec._scalars import bool_ as bool
from npdec._text_files import *
from npdec._ufunc import ufunc
from npdec._vectorize import vectorize
from npdec.exceptions import DecompositionWarning

__version__ = "0.1.0"

ndarray = Composition
newaxis = None
e, pi, euler_gamma = _math.e, _math.pi, 0.5772156649015329
inf, nan = _math.inf, _math.nan

globals().update(_main.functions.ufuncs)
_wrap.NAMESPACE.append(_sys.modules[__name__])
_decomposed.first_use.append(lambda: _importlib.import_module("npdec.overrides"))

from npdec import fft, linalg, random  # noqa: E402  (they look at the functions above)

# Imported when first used, which keeps the import of npdec short.
_LAZY = (
    "attribution", "char", "dtypes", "emath", "func", "lib", "overrides", "polynomial", "pydec", "strings", "testing",
    "typing",
)  # fmt: skip
_MEMBERS = {
    **dict.fromkeys(("Attribution", "attribute"), "attribution"),
    **dict.fromkeys(("grad", "jit", "jvp", "value_and_grad", "vjp", "vmap"), "func"),
}


def __getattr__(name: str) -> _Any:
    if name in _main.functions:
        return _main.functions.resolve(name, globals())
    if name in _LAZY:
        return _importlib.import_module(f"npdec.{name}")
    if name in _MEMBERS:
        return globals().setdefault(name, getattr(_importlib.import_module(f"npdec.{_MEMBERS[name]}"), name))
    if name in _host_side.HOSTED:
        return _host_side.hosted_class(name)
    if name in _absent.ABSENT:
        raise _absent.absent(name)
    raise AttributeError(f"module 'npdec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_main.functions, *_LAZY, *_MEMBERS, *_host_side.HOSTED})


del annotations
__all__ = [name for name in {**globals(), **dict.fromkeys((*_main.functions, *_MEMBERS))} if not name.startswith("_")]
