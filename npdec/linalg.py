"""Linear algebra: `np.linalg`. The functions are the kernels of `npdec._impl.linalg_*`."""

import importlib as _importlib
from typing import Any as _Any

from npdec._impl import linalg_decompositions_impl as _decompositions
from npdec._impl import linalg_impl as _others
from npdec._impl import linalg_norms_impl as _norms
from npdec._impl import linalg_products_impl as _products
from npdec._normalizer.published import Published as _Published
from npdec.exceptions import LinAlgError

_functions = _Published("npdec.linalg", _others, _norms, _decompositions, _products)


def __getattr__(name: str) -> _Any:
    if name == "_linalg":  # NumPy's private module, which libraries name
        return _importlib.import_module("npdec._guests.modules").standing("numpy.linalg._linalg")
    return _functions.resolve(name, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions})


__all__ = ["LinAlgError", *_functions]
