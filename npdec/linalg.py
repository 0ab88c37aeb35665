"""Linear algebra: `np.linalg`. The functions are the kernels of `npdec._impl.linalg_*`."""

from __future__ import annotations

from npdec._impl import linalg_decompositions_impl, linalg_impl, linalg_products_impl
from npdec._normalizer import publish
from npdec.exceptions import LinAlgError

_functions = publish("npdec.linalg", linalg_impl, linalg_decompositions_impl, linalg_products_impl)
globals().update(_functions)

__all__ = ["LinAlgError", *_functions]
