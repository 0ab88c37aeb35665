"""The operators of scalars that carry contributions, which go to the law at once where torch does as NumPy.

The rest is left to the operators that all arrays and scalars have (`npdec._normalizer.operators`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from npdec._array import fp_state, wrap
from npdec._core.tags import spec_of
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS
from npdec._impl import dtypes_impl
from npdec._normalizer import complex_calls, discrete_calls
from npdec._normalizer.operators import COMPARISONS, UNARY, make
from npdec._normalizer.ufunc import ufunc
from npdec._torch.tracing import direct, tracing

__all__ = ["attach_carried_operators"]

_FLOATS = (torch.float64, torch.float32)
_OF_CONDITIONS, _BESIDE_CONDITIONS = ("and", "or", "xor"), ("add", "sub", "mul", "truediv")
_OF_COMPLEX = ("add", "sub", "mul", "truediv", "pow", "eq", "ne")
_REFLECTED = ("pow", "floordiv", "mod")  # others have a function of torch for it, or are commutative


def attach_carried_operators(functions: Iterable[Any]) -> None:
    """Give the classes of floats that hold a tensor the operators of the ufuncs that declare one."""
    for function in functions:
        if isinstance(function, ufunc) and function._torch is not None:
            stem = spec_of(function.__kernel__).operator
            if stem is not None and function.nin > 1:
                _attach_to_discrete(function, stem)
            for dtype in _FLOATS:
                if stem is not None and (dtype in function._arrays or stem == "divmod"):
                    _attach(function, stem, dtype)
            if stem in _OF_CONDITIONS or stem in _BESIDE_CONDITIONS:
                _attach_to_conditions(function, stem)


def _attach(function: ufunc, stem: str, dtype: torch.dtype) -> None:
    if stem in UNARY:
        names = {f"__{stem}__": "carried unary"}
    elif function.nout > 1:
        names = {f"__{stem}__": "carried pair"}
    elif function._takes_numbers:
        names = {f"__{stem}__": "carried"}
        if stem in _REFLECTED:
            names[f"__r{stem}__"] = "carried reflected"
    else:
        return
    carrier: Any = wrap.CARRIERS[dtype]
    for name, kind in names.items():
        made = make(
            kind,
            function,
            name,
            _slow=getattr(carrier, name),
            _Decomposed=DecomposedTensor,
            _d=dtype,
            _arrays=fp_state.guarded((dtype,)),
            _tracing=tracing,
            _carrier=carrier,
            _highest=torch.iinfo(torch.int64).max,
            _host=SCALARS[dtype],
            _as_tensor=stem == "pow",
            _kept=dtypes_impl.kept_beside,
            _new=object.__new__,
            _made=wrap.CARRIERS[torch.bool] if stem in COMPARISONS else carrier,
            _condition=wrap.CARRIERS[torch.bool],
        )
        made.__globals__["_call"] = _first(function._torch, made.__globals__)
        setattr(carrier, name, made)


def _attach_to_discrete(function: ufunc, stem: str) -> None:
    """The operators of booleans and integers, beside each other, floating scalars that carry something, and numbers."""
    taken = dict.fromkeys(discrete_calls.CARRIED, discrete_calls.TAKEN)
    taken |= dict.fromkeys([wrap.CARRIERS[dtype] for dtype in _FLOATS], discrete_calls.MIXED)
    ways = [(carrier, others, discrete_calls.of_discrete) for carrier, others in taken.items()]
    if stem in _OF_COMPLEX:
        ways += [(carrier, complex_calls.BESIDE, complex_calls.of_complex) for carrier in taken]
        ways += [(carrier, complex_calls.TAKEN, complex_calls.of_complex) for carrier in complex_calls.COMPLEX]
    for carrier, others, of_two in ways:
        for name, kind in ((f"__{stem}__", "discrete"), (f"__r{stem}__", "discrete reflected")):
            slow = getattr(carrier, name, None)
            if slow is not None:
                more = {"_slow": slow, "_Decomposed": DecomposedTensor, "_tracing": tracing}
                more |= {"_taken": others, "_of_discrete": of_two}
                setattr(carrier, name, make(kind, function, name, **more))


def _attach_to_conditions(function: ufunc, stem: str) -> None:
    """The operators between conditions, or between a condition and a number."""
    carrier: Any = wrap.CARRIERS[torch.bool]
    names = {f"__{stem}__": "conditions", f"__r{stem}__": "conditions"}  # of two that may change places
    if stem in _BESIDE_CONDITIONS:
        names = {f"__{stem}__": "condition beside a number", f"__r{stem}__": "condition behind a number"}
    floats = {float: torch.float64} | {cls[dtype]: dtype for cls in (SCALARS, wrap.CARRIERS) for dtype in _FLOATS}
    for name, kind in names.items():
        made = make(
            kind,
            function,
            name,
            _slow=getattr(carrier, name),
            _Decomposed=DecomposedTensor,
            _tracing=tracing,
            _arrays=fp_state.guarded(_FLOATS),
            _floats=floats,
            _hosts=frozenset(SCALARS[dtype] for dtype in _FLOATS),
            _carriers=wrap.CARRIERS,
            _carrier=carrier,
            _host=SCALARS[torch.bool],
            _kept=dtypes_impl.kept_beside,
            _new=object.__new__,
            _made=carrier,
        )
        made.__globals__["_call"] = _first(function._torch, made.__globals__)
        setattr(carrier, name, made)


def _first(function: Any, scope: dict[str, Any]) -> Any:
    """What is called first, and puts the method of decomposed tensors in its place, which have none before there is
    one; a function that is none of torch's is called itself."""

    def call(*args: Any) -> Any:
        name = getattr(function, "__name__", "")
        is_direct = name in direct and getattr(torch, name, None) is function
        found = vars(DecomposedTensor)[name] if is_direct else function
        if tracing():  # torch.compile knows functions in Python alone
            return getattr(found, "__wrapped__", found)(*args)
        scope["_call"] = found
        return found(*args)

    return call
