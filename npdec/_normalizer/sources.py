"""The source text of operators and of the calls of ufuncs, compiled for each of them (`operators`, `ufunc`)."""

from __future__ import annotations

import re
from typing import Any

from npdec._core.tags import Spec
from npdec._impl._by_numpy import MANY, by_numpy_elementwise, by_numpy_into

__all__ = ["CALLS", "CALL_OF_PYTHON", "CALL_OF_TORCH", "SOURCES", "of_many", "without_many"]


def of_many(spec: Spec, in_order: bool = True, into: bool = False) -> dict[str, Any]:
    """What the sources call of NumPy for many elements in the dtypes of `Spec.by_numpy`: for operands in the order of
    the ufunc, to give the result or to write it."""
    names: dict[str, Any] = {"_name": spec.name, "_MANY": MANY}
    names["_many"] = spec.by_numpy if in_order else frozenset()
    return names | {"_of_many": by_numpy_into if into else by_numpy_elementwise}


_ASKED = re.compile(
    r"( +)if [^\n]*_MANY:\n[^\n]*\n +if r is None[^\n]*\n +else:\n +(r = [^\n]*\n)"
    r"|( +)if d not in _many [^\n]*\n +(write\([^\n]*\n)"
)


def without_many(source: str) -> str:
    """A source for a function of which NumPy computes nothing, and is not asked."""
    return _ASKED.sub(lambda found: "".join(part or "" for part in found.groups()), source)


# The call of a ufunc, by its number of operands. `{dtype}` is what says the dtype of the result, `{call}` the call of
# torch's function, or of one of npdec's, which has its rule around it and does without for plain tensors.
CALL_OF_TORCH = {1: "_torch(x._t)", 2: "_torch(x1._t, x2._t)"}
CALL_OF_PYTHON = {
    1: "_bare(x._t) if type(x._t) is _Tensor else _torch(x._t)",
    2: "_bare(x1._t, x2._t) if type(x1._t) is _Tensor is type(x2._t) else _torch(x1._t, x2._t)",
}
# Where the result goes, which may be given by position.
_OUT = """    if more:
        if type(more[0]) is _Array and out is _NoValue and len(more) == 1:
            out, more = more[0], ()
        else:
            out, more = _placed(self, more, out)"""
CALLS = {
    1: """
def __call__(self, x=_NoValue, /, *more, out=_NoValue, **options):
    if type(x) is _Array and out is _NoValue and not options and not more and x._d in _direct:
        if x._d in _many and not _tracing() and type(x._t) is _Tensor and x._t.numel() >= _MANY:
            r = _of_many(_name, x._t)
            if r is None: r = {call}
        else:
            r = {call}
        if type(r) is _Tensor and (x._m is None or r.dim()):
            c = _new(_Array); c._t = r; c._d = {dtype}; c._m = None
            return c
        return _wrap(r)
    if type(x) in _kinds and out is _NoValue and not options and not more and not _fp_state.watching and not _tracing():
        c = _calls[type(x)](x)
        if c is not None:
            return c
"""
    + _OUT
    + """
    if type(out) is _Array and not more and not options and type(x) is _Array and x._d in _into and _fits(out, x):
        try:
            _torch(x._t, out=out._t)
            return out
        except RuntimeError:  # memory that overlaps in part: nothing was written
            pass
    if type(x) in _carried and out is _NoValue and not options and x._d in _direct and not _tracing():
        return _wrap(_torch(x._t))
    if type(x) in _hosts and out is _NoValue and not options and x._d in _direct and not _tracing():
        return _wrap(_torch(x._t))
    return self._general((x,), out, more, options)
""",
    2: """
def __call__(self, x1=_NoValue, x2=_NoValue, /, *more, out=_NoValue, **options):
    if type(x1) is _Array is type(x2) and out is _NoValue and not options and not more:
        d = x1._d
        if d is x2._d and d in _arrays:
            try:
                if d in _many and not _tracing() and type(x1._t) is _Tensor and x1._t.numel() >= _MANY:
                    r = _of_many(_name, x1._t, x2._t)
                    if r is None: r = {call}
                else:
                    r = {call}
            except RuntimeError:  # shapes that do not fit: NumPy's words are found on the long way
                return self._general((x1, x2))
            if type(r) is _Tensor and (x1._m is None or r.dim()):
                c = _new(_Array); c._t = r; c._d = {dtype}; c._m = None
                return c
            return _wrap(r)
    elif type(x1) in _kinds and type(x2) in _kinds and out is _NoValue and not (options or more or _fp_state.watching):
        if not _tracing():
            c = _calls[type(x1)][type(x2)](x1, x2)
            if c is not None:
                return c
"""
    + _OUT
    + """
    if out is x1 and type(x1) is _Array is type(x2) and not more and not options and self._in_place is not None:
        return self._in_place(x1, x2)
    if (
        type(out) is _Array and type(x1) is _Array and type(x2) is _Array and x1._d is x2._d and x1._d in _into
        and not more and not options and _fits(out, x1, x2)
    ):
        try:
            _torch(x1._t, x2._t, out=out._t)
            return out
        except RuntimeError:  # memory that overlaps in part: nothing was written
            pass
    if (type(x1) is _Array or (type(x1) in _carried and not _tracing())) and out is _NoValue and not options:
        d = x1._d
        if d in _arrays and x1._t.is_cpu and not _devices.used:
            n = _beside(x2._n if type(x2) in _hosts and x2._d is d and not _tracing() else x2, d)
            if n is not None:
                return _wrap(_torch(x1._t, n))
            if type(x1) in _carried and type(x2) in _carried and x2._d is d:
                return _wrap(_torch(x1._t, x2._t))
    elif (type(x2) is _Array or (type(x2) in _carried and not _tracing())) and out is _NoValue and not options:
        d = x2._d
        if d in _arrays and x2._t.is_cpu and not _devices.used:
            n = _beside(x1._n if type(x1) in _hosts and x1._d is d and not _tracing() else x1, d)
            if n is not None:
                return _wrap(_torch(n, x2._t))
    return self._general((x1, x2), out, more, options)
""",
}

# The source of each kind of operator. What it uses stands in the globals of the function, not in a closure, because
# torch.compile traces ufuncs and classes only where it can name them.
SOURCES = {
    "unary": """
def operator(self):
    if type(self) is _Array or (type(self) in _carried and not _fp_state.watching):
        return _function(self)
    return _function._operate((self,))
""",
    "binary": """
def operator(self, other):
    return _function._operate((self, other)) if _accepts(self, other) else _beside(_function, self, other)
""",
    # NumPy squares what a Python 2 is the exponent of, and squares of booleans are int8.
    "power": """
def operator(self, other):
    if type(other) is int and other == 2 and type(self) is _Array:
        if self._d is _bool:
            self = self.astype(_int8)
        elif self._d in _complex and type(self._t) is _Tensor:
            return self * self
    return _function._operate((self, other)) if _accepts(self, other) else _beside(_function, self, other)
""",
    "reflected": """
def operator(self, other):
    if (type(self) is _Array or type(self) in _carried) and (type(other) is float or type(other) is int):
        return _function(other, self)
    return _function._operate((other, self)) if _accepts(self, other) else _beside(_function, self, other, True)
""",
    # Whatever is no number is unequal to every element.
    "comparison": """
def operator(self, other):
    if _accepts(self, other):
        try:
            return _function._general((self, other))
        except TypeError as error:
            return _apart(self, other, _unlike, error)
    if _unlike is not None and _is_unlike(self, other):
        return _wrap(_full(tuple(self._t.shape), _unlike, device=self._t.device))
    return _beside(_function, self, other)
""",
    "in place": """
def operator(self, other):
    if not _accepts(self, other):
        if getattr(type(other), "__array_ufunc__", 0) is None:
            raise TypeError(
                f"operand '{type(other).__name__}' does not support ufuncs (__array_ufunc__=None)"
            )
        return _into(_function, self, other)
    return _function._general((self, other), self)
""",
    # As without writing: torch raises to a number in another way than to a tensor that holds it.
    "power in place": """
def operator(self, other):
    if type(other) in _numbers and (self._d.is_floating_point or self._d.is_complex):
        made = self ** other
        if made._d is self._d:
            self[...] = made
            return self
    return _general(self, other)
""",
    # A scalar on the host is used as its number: to make a tensor of it takes longer.
    "fast": """
def operator(self, other):
    d = self._d
    kind = type(other)
    if kind is _Array:
        if d is not other._d or d not in _arrays:
            return _slow(self, other) if d is other._d else _of_two(self, other)
        other = other._t
    elif kind in _holders:
        if d is not other._d or d not in _arrays:
            return _slow(self, other)
        other = _as_tensor(other) if _tracing() else other._n if kind in _hosts else other._t
    elif kind is int and d in _narrow and 0 <= other <= 127:
        if d in _keeps and type(self._t) is _Tensor and self._t.is_cpu:
            other = _kept(other, d)
    elif kind not in _numbers or d not in _numbers[kind] or other > _highest:
        return _slow(self, other)
    elif d in _keeps and type(self._t) is _Tensor and self._t.is_cpu and -_keeps[d] <= other <= _keeps[d]:
        other = _kept(other, d)
    t = self._t
    try:
        if d in _many and not _tracing() and type(t) is _Tensor and t.numel() >= _MANY:
            r = _of_many(_name, t, other)
            if r is None: r = _torch(t, other)
        else:
            r = _torch(t, other)
    except (RuntimeError, OverflowError):
        return _slow(self, other)
    if type(r) is _Tensor and ((type(self) is _Array and self._m is None) or r.dim()):
        c = _new(_Array); c._t = r; c._d = d; c._m = None
        return c
    return _wrap(r)
""",
}
SOURCES["matmul"] = """
def operator(self, other):
    if type(other) is _Array and other._d is self._d and self._d in _direct:
        a, b = self._t, other._t
        if type(a) is type(b) is _Tensor:
            try:
                r = a.matmul(b)
            except RuntimeError: return _function(self, other)  # no axes, or shapes that do not fit: NumPy's words
            if type(r) is not _Tensor: return _wrap(r)
            return _array_of(r, self._d) if r.dim() else _wrap_total(r, self._d)
    elif _few is not None and type(other) is _Array and self._d in _whole and other._d in _whole and not _tracing():
        if (c := _few(self, other)) is not None: return c
    return _function(self, other) if _accepts(self, other) else _beside(_function, self, other)
"""
SOURCES["reflected matmul"] = """
def operator(self, other):
    return _function(other, self) if _accepts(self, other) else _beside(_function, self, other, True)
"""
SOURCES["in place matmul"] = """
def operator(self, other):
    if not _accepts(self, other):
        return NotImplemented
    if not isinstance(other, _ArrayBase) or other._t.dim() < 2:
        other = _as_tensor(other)
        if self.ndim and other.dim() < 2:
            raise ValueError(
                "inplace matrix multiplication requires the first operand to have at least one and the second at least "
                "two dimensions."
            )
    return _function(self, other, out=self)
"""
# torch's own method writes where it computes; what NumPy does otherwise has been left to `_slow` before.
SOURCES["fast in place"] = """
def operator(self, other):
    d = self._d
    kind = type(other)
    if kind is _Array:
        if d is not other._d or d not in _arrays:
            return _slow(self, other)
        given = other._t
        if type(given) is not _Tensor or given.requires_grad:
            return _slow(self, other)
    elif kind in _numbers and d in _numbers[kind] and other <= _highest:
        kept = d in _keeps and self._t.is_cpu and -_keeps[d] <= other <= _keeps[d]
        given = _kept(other, d) if kept else other
    elif kind in _hosts and d is other._d and d in _arrays and not _tracing():
        given = other._n
    else:
        return _slow(self, other)
    t = self._t
    write = _torch
    if kind is _Array:
        # What is read may have been written: of dense tensors torch sees that, of others it does not.
        if not (t.is_contiguous() and given.is_contiguous()) and _shares(t, given):
            return _slow(self, other)
        if d in _complex:
            write = _apart  # torch's loops for complex numbers round otherwise in place
    if type(t) is _Tensor and not t.requires_grad and _is_free(self):
        try:
            if d not in _many or t.numel() < _MANY or _tracing() or not _of_many(_name, t, t, given):
                write(t, given)
            return self
        except (RuntimeError, OverflowError):  # shapes that do not fit, memory that overlaps: nothing was written
            pass
    return _slow(self, other)
"""
# What the function leaves to the body it answers with None.
SOURCES["fast of integers"] = SOURCES["fast"].replace(
    "return _wrap(r)", "return _slow(self, other) if r is None else _wrap(r)"
)
SOURCES["fast comparison"] = SOURCES["fast"].replace("c._d = d", "c._d = _bool")
# Of scalars that carry contributions: what torch does before it asks for `__torch_function__` takes as long as the law.
_CARRIED = """    if given is None:
        return _slow(self, other)
    try:
        r = _call({operands})
    except (RuntimeError, OverflowError):
        return _slow(self, other)
"""
_CARRIER = """    if type(r) is not _Decomposed:
        return _wrap(r)
    c = _new(_made); c._t = r
    return c
"""
_TAKEN_IN = """
def operator(self, other):
    t = self._t
    if type(t) is not _Decomposed or _d not in _arrays or _tracing():
        return _slow(self, other)
    kind = type(other)
    if kind is _carrier:
        given = other._t
    elif kind is float or (kind is int and -_highest <= other <= _highest):
        given = other
    elif kind is _host:  # of a power torch rounds what is raised to a number otherwise
        given = _kept(other._n, _d) if _as_tensor else other._n
    elif kind is _condition and type(other._t) is _Decomposed:
        given = other._t.to(dtype=_d)
    else:
        return _slow(self, other)
""" + _CARRIED.format(operands="t, given")
SOURCES["carried"] = _TAKEN_IN + _CARRIER
SOURCES["carried pair"] = _TAKEN_IN + "    return tuple([_wrap(part) for part in r])\n"  # of several results
SOURCES["carried reflected"] = (
    """
def operator(self, other):
    t = self._t
    kind = type(other)
    if type(t) is not _Decomposed or (kind is not float and kind is not int) or _d not in _arrays or _tracing():
        return _slow(self, other)
    given = _kept(other, _d)
"""
    + _CARRIED.format(operands="given, t")
    + _CARRIER
)
SOURCES["carried unary"] = (
    """
def operator(self):
    t = self._t
    if type(t) is not _Decomposed or _d not in _arrays or _tracing():
        return _slow(self)
    r = _call(t)
"""
    + _CARRIER
)
# Of conditions that do: beside numbers they are 0 and 1, and between each other what they are.
_BESIDE_CONDITION = (
    """
def operator(self, other):
    t = self._t
    if type(t) is not _Decomposed or _tracing():
        return _slow(self, other)
    kind = type(other)
    if kind in _floats:
        d = _floats[kind]
        given = other if kind is float else other._n if kind in _hosts else other._t
    else:
        return _slow(self, other)
    if d not in _arrays:
        return _slow(self, other)
    t = t.to(dtype=d)
"""
    + _CARRIED
)
SOURCES["condition beside a number"] = _BESIDE_CONDITION.format(operands="t, given") + _CARRIER.replace(
    "_made", "_carriers[d]"
)
SOURCES["condition behind a number"] = _BESIDE_CONDITION.format(operands="_kept(given, d), t").replace(
    " else other._t", " else None"
) + _CARRIER.replace("_made", "_carriers[d]")
SOURCES["conditions"] = (
    """
def operator(self, other):
    t = self._t
    if type(t) is not _Decomposed or _tracing():
        return _slow(self, other)
    kind = type(other)
    given = other._t if kind is _carrier else other if kind is bool else other._n if kind is _host else None
"""
    + _CARRIED.format(operands="t, given")
    + _CARRIER
)
# Of booleans and integers that do: their numbers are looked at on the host (`npdec._normalizer.discrete_calls`).
_DISCRETE = """
def operator(self, other):
    if type(self._t) is _Decomposed and type(other) in _taken and not _fp_state.watching and not _tracing():
        r = _of_discrete(_function, {operands})
        if r is not None:
            return r
    return _slow(self, other)
"""
SOURCES["discrete"] = _DISCRETE.format(operands="(self, other)")
SOURCES["discrete reflected"] = _DISCRETE.format(operands="(other, self)")
