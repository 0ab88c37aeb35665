"""Calls of ufuncs with a few complex numbers that carry something, scalars or arrays: values and residuals are torch's,
contributions are found by Python's complex numbers (`npdec._law.complex_of_few`), sooner than by one call of torch for
each step."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.scalars import CONCRETE
from npdec._core.base import UfuncBase
from npdec._decomposed.registry import rows
from npdec._decomposed.settings import current as settings
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl import dtypes_impl
from npdec._law.complex_laws import REAL_OF, Law, compared, each, power
from npdec._law.complex_of_few import answer, are_few, in_memory, of_few
from npdec._law.complex_order_of_few import ORDER
from npdec._law.directions_of_few import direction_of_number
from npdec._law.ordinary import built, is_observed
from npdec._native import calls
from npdec._normalizer.discrete_calls import CARRIED, as_number

__all__ = ["BESIDE", "COMPLEX", "TAKEN", "is_given", "of_complex"]

COMPLEX = frozenset(wrap.CARRIERS[dtype] for dtype in REAL_OF)
_FLOATS = frozenset(wrap.CARRIERS[dtype] for dtype in REAL_OF.values())
_HOSTS = frozenset(CONCRETE)
_PLAIN = frozenset({bool, int, float, complex})
TAKEN = COMPLEX | _FLOATS | CARRIED | _HOSTS | _PLAIN
# Those beside which a scalar that is none itself gives complex numbers.
_CARRIERS = _FLOATS | CARRIED
BESIDE = COMPLEX | {complex, *(cls for cls in CONCRETE if cls._torch_dtype in REAL_OF)}
_HOLDING = COMPLEX | _FLOATS
_CONDITION = wrap.CARRIERS[torch.bool]
_Tensor = torch.Tensor
_WHOLE = 100  # exponents below which a power is a product


def is_given(inputs: tuple[Any, ...]) -> bool:
    """Whether an operand is complex, and one a scalar or an array that carries something."""
    carries = is_complex = False
    for x in inputs:
        kind = type(x)
        if kind is wrap.ARRAY:
            carries = carries or type(wrap.lent(x)) is DecomposedTensor
            is_complex = is_complex or x._d in REAL_OF
        elif kind in COMPLEX:
            carries = is_complex = True
        else:
            carries = carries or kind in _CARRIERS
            is_complex = is_complex or kind in BESIDE
    return carries and is_complex


def of_complex(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """What a ufunc of one or two gives of such operands; None where that is not to be found so."""
    row = rows.get(function._bare)
    law: Law | None
    law, is_turned = ORDER.get(function.__name__, (None, False))  # of which torch has no function
    if law is None and row is not None:
        law = row.few_complex
    if law is None and function.__name__ == "sign" and type(inputs[0]) in COMPLEX and _is_usual():
        direction = direction_of_number(inputs[0]._t)
        return None if direction is None else wrap.wrap(direction)
    if law is None and function._loops == "logical":
        return _of_truths(function, inputs)
    if law is None and len(inputs) == 1 and function._tag == "Linear":
        law = each
    if law is None:
        return None
    if function.nout > 1 or not _is_usual():
        return None
    dtype = _computed_in(function, tuple([type(x) if type(x) in _PLAIN else x._d for x in inputs]))
    if dtype not in REAL_OF:
        return None
    tensors = [_operand(x, dtype) for x in inputs]
    if any(tensor is None for tensor in tensors):
        return None
    if law is not power and len(tensors) > 1 and tensors[0].dtype is not tensors[1].dtype:
        tensors = [_in_complex(tensor, dtype) for tensor in tensors]
    call: Any = function._bare if dtype in function._direct else function.__kernel__
    if law is power and not any(tensor.ndim for tensor in tensors):
        call = functools.partial(_power, call)
    if is_turned:  # greater is less in the other order
        tensors.reverse()
        call = functools.partial(_turned, call)
    found = in_memory(law, call, tensors) if all(t.dtype is dtype for t in tensors) else None
    if found is not None:
        return wrap.wrap(found)
    values, residuals = [], []
    for x in tensors:
        value, residual = (x.value, x.residual) if type(x) is DecomposedTensor else (x, x)
        values.append(value if value.dtype is dtype else value.to(dtype))
        residuals.append(residual if residual.dtype is dtype else residual.to(dtype))
    made = of_few(law, call, tensors, values, residuals, dtype)
    return None if made is None else wrap.wrap(made)


def _is_usual() -> bool:
    """Whether no context changes the law, and nobody looks on."""
    here = settings.get()
    return here.rule == "affine" and not here.frozen_conditions and not is_observed()


def _of_truths(function: UfuncBase, inputs: tuple[Any, ...]) -> Any:
    """Logic of scalars, by whether each is not zero; None of others, and where that is not known at once."""
    if function._torch is not None and any(type(x) in COMPLEX for x in inputs):
        given = [_in_logic(x) for x in inputs]
        if not any(x is None for x in given):
            return wrap.wrap(function._torch(*given))
    truths = [_truth(x) for x in inputs]
    return None if any(truth is None for truth in truths) else function(*truths)


def _in_logic(x: Any) -> Any:
    """A complex scalar, a condition, or a constant as torch takes them in logic; None of others."""
    kind = type(x)
    if kind in COMPLEX or kind is _CONDITION:
        return x._t
    if kind in _PLAIN or kind in _HOSTS:
        return dtypes_impl.scalar_tensor(bool(x if kind in _PLAIN else x._n), torch.bool)
    return None


def _truth(x: Any) -> Any:
    kind = type(x)
    if kind in _PLAIN or kind in _HOSTS:
        return wrap.BOOLS[bool(x if kind in _PLAIN else x._n)]
    if kind in CARRIED or kind in _FLOATS:  # of which logic takes whether they are zero
        return x
    here = settings.get()
    if kind not in COMPLEX or here.rule != "affine" or here.frozen_conditions or is_observed():
        return None
    found = answer(compared, torch.ne, (x._t, 0.0))
    return None if found is NotImplemented else wrap.wrap(found)


def _in_complex(x: Any, dtype: torch.dtype) -> Any:
    """An operand of real numbers as complex ones."""
    if x.dtype is dtype or type(x) is _Tensor:
        return x if x.dtype is dtype else x.to(dtype)
    return built(x.value.to(dtype), x.residual.to(dtype), x.components.to(dtype), x.labels)


def _power(call: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A power of numbers as the kernel has it: torch has it but for bases of zero and small whole exponents."""
    base, exponent = a.item(), b.item()
    if not base and exponent:
        part = 0.0 if exponent.real > 0 else math.nan
        return torch.scalar_tensor(complex(part, part), dtype=a.dtype, device="cpu")
    whole = not exponent.imag and -_WHOLE < exponent.real < _WHOLE and float(exponent.real).is_integer()
    made: torch.Tensor = call(a, b) if whole else torch.pow(a, b)
    return made


def _turned(call: Any, a: Any, b: Any) -> Any:
    return call(b, a)


@functools.lru_cache(1024)
def _computed_in(function: UfuncBase, key: tuple[Any, ...]) -> Any:
    """The dtype in which a ufunc computes of operands of these dtypes, or types of numbers; None where it does not."""
    try:
        return dtypes_impl.LOOPS[function._loops].resolve(key, function.__name__)
    except TypeError:
        return None


def _operand(x: Any, dtype: torch.dtype) -> Any:
    """An operand as a plain tensor, or a decomposed one of floating or complex numbers; None of others, and where there
    are more than a few."""
    kind = type(x)
    if kind in _PLAIN or kind in _HOSTS:
        return dtypes_impl.scalar_tensor(x if kind in _PLAIN else x._n, dtype)
    if kind in _CARRIERS and calls is not None and (made := calls.numbers_as(x._t, dtype)) is not None:
        return made
    if kind in CARRIED:
        tensor = as_number(x._t, REAL_OF[dtype])
    elif kind in _HOLDING or kind is wrap.ARRAY:
        tensor = x._t
    else:
        return None
    return tensor if (type(tensor) is DecomposedTensor or type(tensor) is _Tensor) and are_few(tensor) else None
