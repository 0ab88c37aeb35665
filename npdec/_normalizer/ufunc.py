"""Universal functions: objects whose call is compiled for their number of operands.

Each ufunc is the only instance of a class of its own, which carries the compiled `__call__`: plain arrays of a dtype
that torch computes itself go straight to the torch function, everything else through `ufunc._general`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch

from npdec._array import fp_errors, fp_state, wrap
from npdec._array.convert import as_tensor
from npdec._array.together import as_operand_beside
from npdec._core import door
from npdec._core.base import ArrayBase, NDArrayBase, UfuncBase
from npdec._core.signatures import LAW_TAGS, Parameter
from npdec._core.tags import NoValue, Spec
from npdec._core.tracebacks import ended, ending
from npdec._decomposed.aliasing import apart
from npdec._decomposed.choices import chosen as looked_at
from npdec._decomposed.size_warnings import of_what_stays
from npdec._decomposed.tensor import DecomposedTensor
from npdec._dtypes.dtype import SCALARS
from npdec._impl import _devices, _util, dtypes_impl
from npdec._law import law
from npdec._normalizer import at as _at
from npdec._normalizer import call_options, discrete_calls, loops, methods, number_calls, ordinary_calls
from npdec._normalizer.sources import CALL_OF_PYTHON, CALL_OF_TORCH, CALLS, of_many, without_many
from npdec._torch.tracing import tracing
from npdec.exceptions import AbsentDTypeError

__all__ = ["make_ufunc", "ufunc"]

_PYTHON_SCALARS = frozenset({bool, int, float, complex})
# The functions of torch with kernels for uint16, uint32 and uint64 that are as fast as those for signed integers.
_UNSIGNED = frozenset({torch.eq, torch.ne, torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor})


def _direct_dtypes(spec: Spec, nin: int) -> tuple[frozenset[torch.dtype], frozenset[torch.dtype]]:
    """The dtypes for which the torch function is the whole ufunc: beside anything, and between two arrays. Without a
    torch function it is the body, in all dtypes in which that computes."""
    if spec.loops is None:
        return frozenset(), frozenset()
    table = dtypes_impl.LOOPS[str(spec.loops)]
    if table.nout > 1 or table.mixed == "ldexp":
        return frozenset(), frozenset()
    if spec.torch is None:
        own = frozenset(dtype for dtype in SCALARS if table.loop(dtype) is dtype)
        return own, own
    integers = table.direct_integers | dtypes_impl.WIDE_UNSIGNED if spec.torch in _UNSIGNED else table.direct_integers
    return table.direct if nin == 2 else table.direct | integers, table.direct | integers


class ufunc(UfuncBase):
    """A function that works element by element, with broadcasting, type promotion, `out=` and `where=`.

    Attributes: `nin`, `nout`, `nargs`, `types`, `ntypes`, `identity`, `signature` (None for what is elementwise).
    Methods: `reduce`, `accumulate`, `reduceat`, `outer`, `at`, `resolve_dtypes`.

    >>> np.add.nin, np.add.identity
    (2, 0)
    >>> np.multiply.outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """

    __module__ = "npdec"
    __call__: Callable[..., Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is ufunc:
            raise TypeError("cannot create 'numpy.ufunc' instances")
        return super().__new__(cls)

    def __init__(
        self,
        kernel: Callable[..., Any],
        function: Callable[..., Any] | None,
        bare: Callable[..., Any] | None,
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
        self._loops = spec.loops or ""
        self._flags = spec.flags
        self._direct, self._arrays = _direct_dtypes(spec, self.nin)
        self._torch = function
        self._bare = function if bare is None else bare
        self._integers, self._spare = spec.integers, spec.spare
        self._takes_numbers = spec.torch is not None
        ruled = any(p.tag in LAW_TAGS for p in parameters)
        self._kernel = law.ruled(kernel, parameters) if ruled else kernel
        self._opaque = all(p.tag == "Opaque" for p in parameters)
        self._parameters, self._tag = parameters, parameters[0].tag

    def __delattr__(self, name: str) -> None:
        if name == "__doc__":  # another may be set, and deleted again
            self.__doc__ = self.__kernel__.__doc__
        else:
            super().__delattr__(name)

    @property
    def __signature__(self) -> inspect.Signature:
        if self.signature is not None:
            return inspect.signature(self.__kernel__)
        return _signature(self._parameters, self.nout)

    @property
    def types(self) -> list[str]:
        """The loops: the dtypes of operands and results, by NumPy's characters ("dd->d")."""
        return loops.list_types(self)

    @property
    def ntypes(self) -> int:
        """The number of loops."""
        return len(self.types)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def compute(
        self,
        operands: tuple[Any, ...],
        dtype: torch.dtype | None = None,
        casting: str = "same_kind",
        chosen: Any = None,
        found: set[str] | None = None,
        mask: torch.Tensor | None = None,
        scalar: bool = False,
    ) -> Any:
        """The tensor (or tuple of tensors) of the result, for tensors and Python scalars as operands.

        `dtype`, `casting` and `chosen` say which loop computes it. Floating-point errors, where the mask allows, are
        added to `found`, or reported if there is no such set.
        """
        name = self.__name__
        if self._opaque:
            operands = tuple(looked_at(name, x) if isinstance(x, torch.Tensor) else x for x in operands)
        computed = dtypes_impl.resolve_loop(self._loops, operands, dtype, name, casting, chosen)
        device = _common_device(operands)
        tensors = []
        for x in operands:
            if type(x) in _PYTHON_SCALARS:
                if computed is not None:
                    x = dtypes_impl.scalar_tensor(x, computed, device)
            else:
                if computed is not None and x.dtype is not computed:
                    x = _util.watched_cast(x, computed)
                if x.dim() == 0 and device is not None and x.device != device:
                    x = dtypes_impl.on_device(x, device)
            tensors.append(x)
        if self.nin > 1:
            _check_broadcast(tensors)
        if computed in self._direct:
            assert self._torch is not None
            result = self._torch(*tensors)
        else:
            result = self._kernel(*tensors)
        if fp_state.watching and not torch.compiler.is_compiling():
            _look(self, tensors, result, found, mask, scalar)
        return result

    def _general(
        self, inputs: tuple[Any, ...], out: Any = NoValue, more: tuple[Any, ...] = (), options: Any = None
    ) -> Any:
        """A call with any operands and options; `more` are positional arguments behind the first `out`."""
        if inputs[-1] is NoValue or len(more) > self.nout - 1:
            raise call_options.miscounted(self, sum(x is not NoValue for x in (*inputs, out)) + len(more))
        try:
            if options or more or (out is not NoValue and out is not None):
                if not options and not more and ordinary_calls.written(self, inputs, out):
                    return out
                if options and ordinary_calls.written_where(self, inputs, out, more, options):
                    return out
                return self._with_options(inputs, out, more, options or {})
            result = ordinary_calls.computed(self, inputs)
            if result is not NoValue:
                return result
            operands = tuple(x if type(x) in _PYTHON_SCALARS else as_operand_beside(x, inputs) for x in inputs)
            if self.nin == 1 and type(inputs[0]) is int and not -(2**63) <= inputs[0] < 2**63:
                operands = (as_tensor(inputs[0]),)  # by itself such a number is of a dtype of its own
            if fp_state.watching:
                found: set[str] = set()
                result = self.compute(operands, found=found)
                fp_state.report(found, self.__name__)
            else:
                result = self.compute(operands)
            made = tuple(map(wrap.wrap, result)) if self.nout > 1 else wrap.wrap(result)
            if ordinary_calls.wrapping(inputs):
                return door.subclasses.value().delivered(self, "__call__", inputs, {}, made)
            return made
        except AbsentDTypeError as error:
            absent = error
        given = {} if out is NoValue else {"out": (out, *more) if more else out}
        return door.hand_over_ufunc(self, "__call__", inputs, {**given, **(options or {})}, absent)

    def _operate(self, inputs: tuple[Any, ...]) -> Any:
        """The call that an operator stands for: between scalars its errors are those of scalars, whose integers
        overflow."""
        if not fp_state.watching or any(
            type(x) not in _PYTHON_SCALARS and not (isinstance(x, ArrayBase) and not isinstance(x, NDArrayBase))
            for x in inputs
        ):
            return self._general(inputs)
        found: set[str] = set()  # scalars hold numbers: none of them is a guest
        operands = tuple(x if type(x) in _PYTHON_SCALARS else as_tensor(x) for x in inputs)
        result = self.compute(operands, found=found, scalar=True)
        fp_state.report(found, f"scalar {self.__name__}")
        return tuple(map(wrap.wrap, result)) if self.nout > 1 else wrap.wrap(result)

    def _with_options(self, inputs: tuple[Any, ...], out: Any, more: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            call = call_options.read(self, inputs, out, more, options)
        except (TypeError, ValueError) as error:  # of what may be for a class to read that computes ufuncs itself
            outs = out if isinstance(out, tuple) else (out, *more)
            given = {"out": outs, **options} if out is not NoValue and out is not None else options
            return call_options.asked(self, inputs, given, error)
        operands = tuple(x if type(x) in _PYTHON_SCALARS else as_operand_beside(x, inputs) for x in inputs)
        operands = call_options.left_out(self, operands, call.mask)
        operands = operands if call.outs is None or tracing() else apart(operands, call.outs)
        found: set[str] | None = set() if fp_state.watching else None

        def delivered() -> Any:
            result = self.compute(operands, call.dtype, call.casting, call.chosen, found, call.mask)
            return call_options.deliver(self, call, result if isinstance(result, tuple) else (result,), found)

        masked = call.mask is not None and any(type(x) is DecomposedTensor for x in operands)
        given = of_what_stays(delivered, _parts) if masked and not tracing() else delivered()
        if found:
            fp_state.report(found, self.__name__)
        return given

    reduce = methods.reduce
    accumulate = methods.accumulate
    reduceat = methods.reduceat
    outer = methods.outer
    at = door.open_ufunc_method(_at.at)
    resolve_dtypes = loops.resolve_dtypes


def _look(
    function: ufunc, tensors: list[Any], result: Any, found: set[str] | None, mask: torch.Tensor | None, scalar: bool
) -> None:
    errors = fp_errors.found_by_ufunc(function, tensors, result, mask, scalar)
    if found is None:
        fp_state.report(errors, function.__name__)
    else:
        found |= errors


def _parts(given: Any) -> Iterator[torch.Tensor]:
    """The residuals and components of what a ufunc gives; in reverse mode, where a component is known by its graph, the
    values."""
    for one in given if isinstance(given, tuple) else (given,):
        if type(one._t) is DecomposedTensor:
            yield from (one._t.residual, one._t.value if one._t.reverse else one._t.components)


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
    _util.broadcast_shapes(*[t.shape for t in tensors if isinstance(t, torch.Tensor)])


def _signature(parameters: tuple[Parameter, ...], nout: int) -> inspect.Signature:
    P = inspect.Parameter
    words = [P(p.name, P.POSITIONAL_ONLY) for p in parameters]
    words.append(P("out", P.POSITIONAL_OR_KEYWORD, default=None if nout == 1 else (None,) * nout))
    keywords = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}
    words += [P(name, P.KEYWORD_ONLY, default=default) for name, default in keywords.items()]
    return inspect.Signature(words)


def _written_by(function: Any, table: Any, dtypes: frozenset[torch.dtype]) -> frozenset[torch.dtype]:
    """The dtypes in which torch's function writes into `out` what the ufunc would."""
    if table.output != "same" or isinstance(function, FunctionType):
        return frozenset()
    return frozenset(dtype for dtype in dtypes if not dtype.is_complex)  # of which loops that write round otherwise


def _of_choices(kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A kernel that looks at values alone, which says so where they carry contributions."""

    def chosen(*operands: torch.Tensor) -> torch.Tensor:
        for x in operands:
            if type(x) is DecomposedTensor:
                return kernel(*[looked_at(name, x) for x in operands])
        return kernel(*operands)

    return chosen


@functools.cache
def _compiled(nin: int, dtype: str, call: str, many: bool) -> Any:
    source = CALLS[nin] if many else without_many(CALLS[nin])
    return compile(ending(source.format(dtype=dtype, call=call)), f"<ufunc of {nin}>", "exec")


def make_ufunc(kernel: Callable[..., Any], spec: Spec, parameters: tuple[Parameter, ...], module: str) -> ufunc:
    """The ufunc of a kernel that declares its loops."""
    if any(p.sequence or not p.is_array for p in parameters) or not 1 <= len(parameters) <= 3:
        raise TypeError(f"{module}.{spec.name}: a ufunc takes one to three arrays and nothing else")
    function = spec.torch
    if function is None:
        function = _of_choices(kernel, spec.name) if all(p.tag == "Opaque" for p in parameters) else kernel
    bare = kernel if spec.torch is None else function if isinstance(function, FunctionType) else None
    # torch's own functions meet their rule when they are dispatched; one written in Python is ruled as a whole.
    if isinstance(function, FunctionType) and any(p.tag in LAW_TAGS for p in parameters):
        function = law.ruled(function, parameters)
    table, (direct, arrays) = dtypes_impl.LOOPS[str(spec.loops)], _direct_dtypes(spec, len(parameters))
    namespace = {
        "_Array": wrap.ARRAY,
        "_Tensor": torch.Tensor,
        "_new": object.__new__,
        "_torch": function,
        "_bare": bare,
        "_float64": torch.float64,
        "_kinds": number_calls.kinds(),
        "_calls": (number_calls.Calls if len(parameters) == 1 else number_calls.CallsBeside)(spec),
        "_fp_state": fp_state,
        "_beside": dtypes_impl.kept_beside,
        "_int64": torch.int64,
        "_devices": _devices,
        "_arrays": fp_state.guarded(arrays),
        **of_many(spec),
        "_into": fp_state.guarded(_written_by(function, table, direct)),
        "_fits": ordinary_calls.fits,
        "_direct": fp_state.guarded(direct),
        "_NoValue": NoValue,
        "_placed": call_options.placed_out,
        "_wrap": wrap.wrap,
        "_hosts": frozenset(SCALARS.values()),
        "_carried": discrete_calls.answered_at_once(spec),
        "_tracing": tracing,
        "_ended": ended,
    }
    body: dict[str, Any] = {}
    if len(parameters) in CALLS and table.nout == 1:
        # Where the result keeps the dtype of its operands, passing it on is cheaper than reading it from the tensor.
        passed_on = "x._d" if len(parameters) == 1 else "d"
        expression = passed_on if table.output == "same" else "r.dtype"
        calls = CALL_OF_TORCH if bare is None else CALL_OF_PYTHON
        exec(_compiled(len(parameters), expression, calls[len(parameters)], bool(spec.by_numpy)), namespace, body)
    else:
        nin = len(parameters)

        def __call__(self: ufunc, *args: Any, out: Any = NoValue, **options: Any) -> Any:
            try:
                if len(args) == nin and out is NoValue and not options:
                    made = ordinary_calls.computed(self, args)
                    if made is not NoValue:
                        return made
                inputs, more = args[:nin] + (NoValue,) * (nin - len(args)), args[nin:]
                if more or out is None:
                    out, more = call_options.placed_out(self, more, out)
                return self._general(inputs, out, more, options)
            except Exception as error:
                raise ended(error) from error.__cause__

        body["__call__"] = __call__
    cls = type("ufunc", (ufunc,), body)
    return cls(kernel, function, bare, spec, parameters, module, table.nout)


def make_gufunc(
    function: Callable[..., Any], kernel: Callable[..., Any], spec: Spec, parameters: tuple[Parameter, ...], module: str
) -> ufunc:
    """The generalised ufunc that a compiled function is the call of; its kernel takes all the options."""
    cls = type("ufunc", (ufunc,), {"__call__": function, "__module__": "npdec", "signature": spec.signature})
    arrays = tuple(p for p in parameters if p.is_array)
    return cls(kernel, None, None, spec, arrays, module, 1)
