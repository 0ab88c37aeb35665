"""Universal functions: objects whose call is compiled for their number of operands.

Each ufunc is the only instance of a class of its own, which carries the compiled `__call__`: plain arrays of a dtype
that torch computes itself go straight to the torch function, everything else through `ufunc._general`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from npdec import _law, _ufunc_methods, _wrap
from npdec._convert import as_dtype, as_tensor
from npdec._decomposed import DecomposedTensor
from npdec._impl import _util, dtypes_impl
from npdec._output import check_writeable, write
from npdec._signature import LAW_TAGS, Parameter
from npdec._tags import Spec

__all__ = ["make_ufunc", "ufunc"]

_PYTHON_SCALARS = frozenset({bool, int, float, complex})
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")

_CALL = {
    1: """
def __call__(self, x, /, out=None, **options):
    if type(x) is _Array and out is None and not options and x._d in _direct:
        r = _torch(x._t)
        if type(r) is _Tensor and r.dim():
            c = _new(_Array); c._t = r; c._d = {dtype}
            return c
        return _wrap(r)
    return self._general((x,), out, **options)
""",
    2: """
def __call__(self, x1, x2, /, out=None, **options):
    if type(x1) is _Array and out is None and not options:
        d = x1._d
        if type(x2) is _Array and d is x2._d and d in _arrays:
            try:
                r = _torch(x1._t, x2._t)
            except RuntimeError:  # shapes that do not fit: NumPy's words are found on the long way
                return self._general((x1, x2), out)
            if type(r) is _Tensor and r.dim():
                c = _new(_Array); c._t = r; c._d = {dtype}
                return c
            return _wrap(r)
    return self._general((x1, x2), out, **options)
""",
}


def _direct_dtypes(spec: Spec, nin: int) -> tuple[frozenset[torch.dtype], frozenset[torch.dtype]]:
    """The dtypes for which the torch function is the whole ufunc: beside anything, and between two arrays."""
    if spec.torch is None:
        return frozenset(), frozenset()
    table = dtypes_impl.LOOPS[str(spec.loops)]
    return table.direct, table.direct | table.direct_integers if nin == 2 else table.direct


class ufunc:
    """A function that works element by element, with broadcasting, type promotion, `out=` and `where=`.

    Attributes: `nin`, `nout`, `nargs`, `identity`, `signature` (None: all are elementwise).
    Methods: `reduce`, `accumulate`, `reduceat`, `outer`, `at`.

    >>> np.add.nin, np.add.identity
    (2, 0)
    >>> np.multiply.outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """

    signature = None
    __name__: str
    __call__: Callable[..., Any]

    def __init__(
        self,
        kernel: Callable[..., Any],
        function: Callable[..., Any] | None,
        spec: Spec,
        parameters: tuple[Parameter, ...],
        module: str,
        nout: int,
    ) -> None:
        self.__name__ = self.__qualname__ = spec.name
        self.__module__ = module
        self.__doc__ = kernel.__doc__
        self.__kernel__ = kernel
        self.nin = len(parameters)
        self.nout = nout
        self.nargs = self.nin + nout
        self.identity = spec.identity
        self._loops = str(spec.loops)
        self._direct, self._arrays = _direct_dtypes(spec, self.nin)
        self._torch = function
        ruled = any(p.tag in LAW_TAGS for p in parameters)
        self._kernel = _law.ruled(kernel, parameters) if ruled else kernel
        self._opaque = all(p.tag == "Opaque" for p in parameters)
        self._parameters = parameters

    @property
    def __signature__(self) -> inspect.Signature:
        return _signature(self._parameters, self.nout)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def compute(self, operands: tuple[Any, ...], dtype: torch.dtype | None = None, casting: str = "same_kind") -> Any:
        """The tensor (or tuple of tensors) of the result, for tensors and Python scalars as operands."""
        name = self.__name__
        if self._opaque:
            operands = tuple(x.value if type(x) is DecomposedTensor else x for x in operands)
        computed = dtypes_impl.resolve_loop(self._loops, operands, dtype, name, casting)
        device = _common_device(operands)
        tensors = []
        for x in operands:
            if type(x) in _PYTHON_SCALARS:
                if computed is not None:
                    x = dtypes_impl.scalar_tensor(x, computed, device)
            else:
                if computed is not None and x.dtype is not computed:
                    x = x.to(computed)
                if x.dim() == 0 and device is not None and x.device != device:
                    x = x.to(device)
            tensors.append(x)
        if self.nin > 1:
            _check_broadcast(tensors)
        if computed in self._direct:
            assert self._torch is not None
            return self._torch(*tensors)
        return self._kernel(*tensors)

    def _general(
        self,
        inputs: tuple[Any, ...],
        out: Any = None,
        *,
        where: Any = True,
        casting: str = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Any:
        if signature is not None:
            raise TypeError(f"{self.__name__}: choose the loop with dtype=; signature= is not supported")
        if casting not in _CASTINGS:
            raise ValueError(f"casting must be one of {', '.join(map(repr, _CASTINGS))} (got {casting!r})")
        if order not in ("K", "C", "A", "F"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
        operands = tuple(x if type(x) in _PYTHON_SCALARS else as_tensor(x) for x in inputs)
        result = self.compute(operands, None if dtype is None else as_dtype(dtype), casting)
        results = result if isinstance(result, tuple) else (result,)
        mask = None
        if where is not True:
            mask = as_tensor(where)
            if mask.dtype is not torch.bool:
                raise TypeError(f"{self.__name__}: where= must be a boolean mask, not {_wrap.dtype_repr(mask.dtype)}")
        if out is None:
            if mask is not None:
                shape = _util.broadcast_shapes(mask.shape, results[0].shape)
                results = tuple(torch.where(mask, r, torch.zeros_like(r)).expand(shape) for r in results)
            if order == "F":
                results = tuple(r.mT.contiguous().mT if r.ndim == 2 else _column_major(r) for r in results)
            wrapped = tuple(_wrap.wrap(r) for r in results)
            return wrapped if self.nout > 1 else wrapped[0]
        outs = out if isinstance(out, tuple) else (out,)
        if len(outs) != self.nout:
            raise ValueError(f"The 'out' tuple must have exactly {self.nout} entries")
        for o in outs:
            if o is not None:
                check_writeable(self.__name__, o)
        written = []
        for o, r in zip(outs, results, strict=True):
            if o is None:
                o = _wrap.wrap(r)
            else:
                _check_out_shape(o, r, mask)
                write(self.__name__, o, r, casting, mask)
            written.append(o)
        return tuple(written) if self.nout > 1 else written[0]

    reduce = _ufunc_methods.reduce
    accumulate = _ufunc_methods.accumulate
    reduceat = _ufunc_methods.reduceat
    outer = _ufunc_methods.outer
    at = _ufunc_methods.at


def _column_major(r: torch.Tensor) -> torch.Tensor:
    dims = tuple(reversed(range(r.ndim)))
    return r.permute(dims).contiguous().permute(dims)


def _check_out_shape(out: Any, r: torch.Tensor, mask: torch.Tensor | None) -> None:
    shape = tuple(r.shape) if mask is None else _util.broadcast_shapes(r.shape, mask.shape)
    target = tuple(out._t.shape)
    if shape != target and _util.broadcast_shapes(shape, target) != target:
        raise ValueError(
            f"non-broadcastable output operand with shape {_wrap.shape_repr(target)} doesn't match the broadcast "
            f"shape {_wrap.shape_repr(shape)}"
        )


def _common_device(operands: tuple[Any, ...]) -> torch.device | None:
    """The device of the operands that have dimensions; 0-d ones and Python scalars follow them."""
    device = None
    for x in operands:
        if isinstance(x, torch.Tensor):
            if x.dim():
                return x.device
            device = device or x.device
    return device


def _check_broadcast(tensors: list[torch.Tensor]) -> None:
    if len({t.shape for t in tensors if isinstance(t, torch.Tensor) and t.dim()}) < 2:
        return  # asking torch takes longer than the operation
    try:
        torch.broadcast_shapes(*[t.shape for t in tensors if isinstance(t, torch.Tensor)])
    except RuntimeError:
        shapes = " ".join(_wrap.shape_repr(t.shape) for t in tensors if isinstance(t, torch.Tensor))
        raise ValueError(f"operands could not be broadcast together with shapes {shapes} ") from None


def _signature(parameters: tuple[Parameter, ...], nout: int) -> inspect.Signature:
    P = inspect.Parameter
    words = [P(p.name, P.POSITIONAL_ONLY) for p in parameters]
    words.append(P("out", P.POSITIONAL_OR_KEYWORD, default=None if nout == 1 else (None,) * nout))
    keywords = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    words += [P(name, P.KEYWORD_ONLY, default=default) for name, default in keywords.items()]
    return inspect.Signature(words)


@functools.cache
def _compiled(nin: int, dtype: str) -> Any:
    return compile(_CALL[nin].format(dtype=dtype), f"<ufunc of {nin}>", "exec")


def make_ufunc(kernel: Callable[..., Any], spec: Spec, parameters: tuple[Parameter, ...], module: str) -> ufunc:
    """The ufunc of a kernel that declares its loops. Its torch function takes the tags of the kernel as its rule."""
    if any(p.sequence or not p.is_array for p in parameters) or not 1 <= len(parameters) <= 3:
        raise TypeError(f"{module}.{spec.name}: a ufunc takes one to three arrays and nothing else")
    function = spec.torch
    if function is not None:
        _law.register_ufunc(function, parameters)
        # torch's own functions meet their rule when they are dispatched; one written in Python is ruled as a whole.
        if isinstance(function, FunctionType) and any(p.tag in LAW_TAGS for p in parameters):
            function = _law.ruled(function, parameters)
    table = dtypes_impl.LOOPS[str(spec.loops)]
    direct, arrays = _direct_dtypes(spec, len(parameters))
    namespace = {
        "_Array": _wrap.ARRAY,
        "_Tensor": torch.Tensor,
        "_new": object.__new__,
        "_torch": function,
        "_arrays": arrays,
        "_direct": direct,
        "_wrap": _wrap.wrap,
    }
    body: dict[str, Any] = {}
    if len(parameters) in _CALL and table.nout == 1:
        # Where the result keeps the dtype of its operands, passing it on is cheaper than reading it from the tensor.
        passed_on = "x._d" if len(parameters) == 1 else "d"
        expression = passed_on if table.output == "same" else "r.dtype"
        exec(_compiled(len(parameters), expression), namespace, body)
    else:
        nin, nout = len(parameters), table.nout

        def __call__(self: ufunc, *args: Any, out: Any = None, **options: Any) -> Any:
            if not nin <= len(args) <= nin + nout:
                raise TypeError(
                    f"{spec.name}() takes from {nin} to {nin + nout} positional arguments but {len(args)} were given"
                )
            outs = args[nin:] + (None,) * (nin + nout - len(args)) if len(args) > nin else out
            return self._general(args[:nin], outs, **options)

        body["__call__"] = __call__
    cls = type("ufunc", (ufunc,), body)
    return cls(kernel, function, spec, parameters, module, table.nout)
