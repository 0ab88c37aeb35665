"""The functions that NumPy computes of few numbers, where it is installed: it sees the memory of arrays, and takes less
time than torch is asked in.

Their results are exact, or made by the same steps: whichever of the two computes one, it is the same bits.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable
from typing import Any

import torch

from npdec._array.ordinary_writes import FEW_SORTED
from npdec._core.installed_numpy import numpy_or_none
from npdec._core.signatures import Parameter
from npdec._core.tags import NoValue
from npdec._impl._promotion import RANGES
from npdec._native import calls

__all__ = ["default_of", "indented", "statements"]

_Kind = inspect.Parameter
# Those whose results are exact, and how many parameters NumPy's function is given.
_EXACT = {"repeat": 3, "tile": 2, "lexsort": 2, "digitize": 3, "packbits": 3, "unpackbits": 4, "choose": 2, "select": 3}
_EXACT |= {"unravel_index": 2, "ravel_multi_index": 2, "delete": 3, "insert": 4, "append": 3}
_EXACT |= {"diagflat": 2, "argwhere": 1, "flatnonzero": 1, "compress": 3, "extract": 2, "take": 3}
_EXACT |= {"isin": 2, "pad": 3, "interp": 3, "triu_indices": 3, "tril_indices": 3}
_EXACT |= {"triu_indices_from": 2, "tril_indices_from": 2, "indices": 1, "block": 1}
# The same, of integers and booleans alone.
_EXACT_OF_INTEGERS = {"unique": 5, "bincount": 3, "intersect1d": 2, "union1d": 2, "setdiff1d": 2}
_SORTED = frozenset({"sort", "argsort"})
_MODES = "('constant', 'edge', 'reflect', 'symmetric', 'wrap')"  # of `pad`: the others compute

_WHOLE = frozenset(RANGES)
_REAL = _WHOLE | {torch.float64}
# Those that NumPy computes by the same steps, of arrays in some dtypes with some elements at most.
_STEPWISE = {"percentile": (3, _REAL), "quantile": (3, _REAL), "histogram": (3, _REAL)}
_STEPWISE |= {"vander": (3, frozenset({torch.float64}))}
# Products of two arrays of integers.
_PRODUCTS = {"convolve": 3, "correlate": 3, "dot": 2, "inner": 2, "vdot": 2, "matmul": 2, "tensordot": 3, "kron": 2}
_MOST = 1024
_COUNTS = _EXACT | _EXACT_OF_INTEGERS | _PRODUCTS | dict.fromkeys(_SORTED, 2)
_COUNTS |= {name: count for name, (count, _) in _STEPWISE.items()}


def statements(name: str, parameters: tuple[Parameter, ...], namespace: dict[str, Any]) -> list[str] | None:
    """The statements that return what NumPy computes; None for other functions."""
    if name not in _COUNTS:
        return None
    numpy = numpy_or_none()
    if numpy is None:
        return []
    given, others = parameters[: _COUNTS[name]], parameters[_COUNTS[name] :]
    if name in _SORTED:
        others = tuple(p for p in others if p.name != "kind")
    tests = [f"not {p.name}" if p.kind is _Kind.VAR_KEYWORD else f"{p.name} is {default_of(p)}" for p in others]
    tests.append("not _tracing()")
    namespace["_few_by_numpy"] = calls.few_by_numpy
    namespace |= {f"_default_{p.name}": p.default for p in others}
    words, first = ["_by_numpy", *(p.name for p in given)], given[0].name
    namespace["_by_numpy"] = getattr(numpy, name)
    if name in _STEPWISE:
        namespace |= {"_by_numpy": _silent(getattr(numpy, name), numpy), "_few_dtypes": _STEPWISE[name][1]}
        tests.insert(0, f"type({first}) is _Array and {first}._d in _few_dtypes and {first}.size <= {_MOST}")
    if name in _EXACT_OF_INTEGERS:
        namespace["_few_dtypes"] = _WHOLE | {torch.bool}
        tests.insert(0, f"type({first}) is _Array and {first}._d in _few_dtypes")
    if name == "pad":
        tests.append(f"type(mode) is str and mode in {_MODES}")
    if name in ("percentile", "quantile"):
        tests.append("type(q) is not float and type(q) is not int")  # a single one torch finds as soon
    if name == "bincount":
        tests.append("(weights is None or (type(weights) is _Array and weights._d is _float64))")
        namespace["_float64"] = torch.float64
    if name in _PRODUCTS:
        namespace["_few_dtypes"] = _WHOLE
        pair = [f"type({p.name}) is _Array and {p.name}._d in _few_dtypes" for p in given[:2]]
        tests = [*pair, *tests]
    if name in _SORTED:
        tests.append("(kind is None or kind == 'stable')")
        tests.append(f"type(a) is _Array and a.ndim == 1 and a.size <= {FEW_SORTED}")  # tables lie as torch sorts
        words.append("'stable'")
    call = f"_few_by_numpy({', '.join(words)})"
    return [f"if {' and '.join(tests)}:", *indented([f"_c = {call}", "if _c is not None: return _c"])]


def _silent(function: Callable[..., Any], numpy: Any) -> Callable[..., Any]:
    """NumPy's function, that says nothing of floating-point errors, which npdec finds by itself."""
    context = contextvars.Context()
    context.run(numpy.seterr, all="ignore")
    return lambda *args: context.copy().run(function, *args)  # each call in a copy: no context is entered twice


def default_of(p: Parameter) -> str:
    """A parameter's default, as statements name it."""
    return "_NoValue" if p.default is NoValue else "None" if p.default is None else f"_default_{p.name}"


def indented(lines: list[str]) -> list[str]:
    """Statements inside another one."""
    return [f"    {line}" for line in lines]
