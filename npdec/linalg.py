"""Linear algebra: `np.linalg`. The functions are the kernels of `npdec._impl.linalg_*`."""

from npdec._impl import linalg_decompositions_impl as _decompositions
from npdec._impl import linalg_impl as _linalg
from npdec._impl import linalg_products_impl as _products
from npdec._normalizer import publish as _publish
from npdec.exceptions import LinAlgError

_functions = _publish("npdec.linalg", _linalg, _decompositions, _products)
globals().update(_functions)

__all__ = ["LinAlgError", *_functions]
