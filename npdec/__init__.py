"""NumPy's API over torch tensors, in which any array can carry its exact additive attribution: `import npdec as np`."""

from __future__ import annotations

import importlib
import importlib.util
import sys

from npdec import _dispatch, _wrap, exceptions
from npdec._composition import Composition
from npdec._creation import *
from npdec._decomposition import decompose
from npdec._dtypes import *
from npdec._operators import attach_matmul, attach_methods, attach_operators
from npdec._normalizer import kernels_of, publish
from npdec._printing import *
from npdec._rules import register_rule, rule
from npdec._scalars import *
from npdec._ufunc import ufunc
from npdec.attribution import Attribution, attribute
from npdec.exceptions import DecompositionWarning

ndarray = Composition
newaxis = None
pi, e, inf, nan, euler_gamma = 3.141592653589793, 2.718281828459045, float("inf"), float("nan"), 0.5772156649015329

_names = "elementwise elementwise_math elementwise_logic elementwise_float reduction extremes nan statistics sorting sets creation creation_ranges shape joining indexing products einsum polynomial padding histogram quantile searching".split()
_modules = [importlib.import_module(f"npdec._impl.{n}_impl") for n in _names if importlib.util.find_spec(f"npdec._impl.{n}_impl")]
_published = publish("npdec", *_modules)
globals().update(_published)
attach_operators({id(f): f for f in _published.values()}.values())
attach_methods([k for m in _modules for k in kernels_of(m)])
if "matmul" in _published:
    attach_matmul(_published["matmul"])
_wrap.NAMESPACE.append(sys.modules[__name__])
