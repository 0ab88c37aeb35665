"""From a type-tagged kernel to the public function.

The signature of a kernel is read once, at import, and a wrapper is compiled for it, as `dataclasses` compiles an
`__init__`: what a call then runs is straight code that converts the arguments which need it, calls the kernel, writes
`out=`, and wraps the result. The wrapper carries NumPy's name and signature and the kernel's docstring.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import torch

from npdec._array import element_order, fp_errors, memory, wrap
from npdec._array.arguments import as_flag, as_inexact, as_mask, as_sequence
from npdec._array.convert import as_dtype
from npdec._array.foreign_arrays import as_argument, as_copy, check_asking
from npdec._array.output import check_out, dtype_of_out, write_out, writeable_tensor
from npdec._array.shapes import as_axis, as_shape
from npdec._array.together import as_beside
from npdec._core import door
from npdec._core.base import ArrayBase, Poly1dBase
from npdec._core.signatures import LAW_TAGS, Parameter, read_parameters, return_tag
from npdec._core.tags import NoValue, Spec
from npdec._core.tracebacks import ended, ending
from npdec._core.unbound import FIRST, unbound_of
from npdec._decomposed.choices import chosen
from npdec._decomposed.tensor import DecomposedTensor
from npdec._impl._reduce import INEXACT
from npdec._law import law, maps_of_few
from npdec._normalizer import conversions, direct_calls, open_calls, results
from npdec._normalizer.call_options import choose, deliver_stacks, placed_out
from npdec._normalizer.like import handed_on
from npdec._normalizer.open_calls import open_body
from npdec._normalizer.torch_errors import refusal
from npdec._normalizer.ufunc import make_gufunc, make_ufunc, ufunc
from npdec._torch.tracing import tracing

__all__ = ["compile_function", "compile_method"]

_Kind = inspect.Parameter


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def _may_be_array(p: Parameter) -> bool:
    return p.is_array or (p.plain in ("object", "Any") and p.kind is not _Kind.VAR_KEYWORD)


class _Source:
    """The source text of one wrapper, and the names that it uses."""

    def __init__(self, kernel: Callable[..., Any], spec: Spec) -> None:
        self.kernel = kernel
        self.spec = spec
        self.parameters = read_parameters(kernel)
        self.arrays = [p for p in self.parameters if p.is_array]
        self.returns = return_tag(kernel)
        self.plain_result = kernel.__annotations__.get("return") in ("bool", "int", "tuple[int, ...]")
        self.out_casting = getattr(kernel, "__out_casting__", "same_kind")
        self.out_broadcasts = getattr(kernel, "__out_broadcasts__", False)
        self.writes_back = getattr(kernel, "__writes_back__", None)
        self.gives_back = getattr(kernel, "__gives_back__", None)
        self.unshown = getattr(kernel, "__unshown__", None)
        self.namespace: dict[str, Any] = {
            "_kernel": kernel,
            "_Array": wrap.ARRAY,
            "_ArrayBase": ArrayBase,
            "_Tensor": torch.Tensor,
            "_Decomposed": DecomposedTensor,
            "_new": object.__new__,
            "_tracing": tracing,
            "_inexact": as_inexact,
            "_as_flag": as_flag,
            "_handed_on": handed_on,
            "_refusal": refusal,
            "_as_mask": as_mask,
            "_as_copy": as_copy,
            "_as_argument": as_argument,
            "_as_beside": as_beside,
            "_check_asking": check_asking,
            "_Poly1d": Poly1dBase,
            "_as_dtype": as_dtype,
            "_as_axis": as_axis,
            "_as_shape": as_shape,
            "_as_sequence": as_sequence,
            "_INEXACT": INEXACT,
            "_index": operator.index,
            "_chosen": chosen,
            "_scalars": _PYTHON_SCALARS,
            "_NoValue": NoValue,
            "_wrap_result": results.wrap_result,
            "_wrap_array": results.wrap_array,
            "_wrap_view": results.wrap_view,
            "_wrap_flat": results.wrap_flat,
            "_counted": element_order.counted,
            "_wrap_frozen": results.wrap_frozen,
            "_wrap_mirror": results.wrap_mirror,
            "_wrap_scalar": wrap.wrap_scalar,
            "_check_out": check_out,
            "_write_out": write_out,
            "_dtype_of_out": dtype_of_out,
            "_written": memory.written,
            "_ended": ended,
            "_writeable": writeable_tensor,
            **open_calls.NAMES,
        }

    # -- the def line ---------------------------------------------------------------------------------------------

    def _default(self, p: Parameter) -> str:
        if p.default is _Kind.empty:
            return ""
        name = f"_default_{p.name}"
        self.namespace[name] = p.default
        return f"={name}"

    def header(self, method: bool) -> str:
        words, kinds = [], [p.kind for p in self.parameters]
        for i, p in enumerate(self.parameters):
            if (
                p.kind is _Kind.KEYWORD_ONLY
                and _Kind.KEYWORD_ONLY not in kinds[:i]
                and _Kind.VAR_POSITIONAL not in kinds
                and not self.spec.signature
            ):
                words.append("*")
            if p.kind is _Kind.VAR_POSITIONAL:
                words.append(f"*{p.name}")
            elif p.kind is _Kind.VAR_KEYWORD:
                words.append(f"**{p.name}")
            elif p.tag == "OutArray" and self.spec.signature:  # of a ufunc, which has to know what is given by place
                words += ["*_more", p.name + self._default(p)]
            elif method and i == 0:
                words += ["self"] if p.kind is _Kind.POSITIONAL_ONLY else ["self", "/"]
            else:
                words.append(p.name + self._default(p))
            last_positional_only = p.kind is _Kind.POSITIONAL_ONLY and kinds[i + 1 : i + 2] != [_Kind.POSITIONAL_ONLY]
            if last_positional_only:
                words.append("/")
        return ", ".join(words)

    # -- the body -------------------------------------------------------------------------------------------------

    def call(self) -> str:
        words, by_name = [], False
        for p in self.parameters:
            if p.tag == "Like":
                continue
            if p.tag == "OutArray":
                by_name = True
            elif p.kind is _Kind.VAR_POSITIONAL:
                words.append(f"*{p.name}")
            elif p.kind is _Kind.VAR_KEYWORD:
                words.append(f"**{p.name}")
            elif p.kind is _Kind.KEYWORD_ONLY or (by_name and p.kind is not _Kind.POSITIONAL_ONLY):
                words.append(f"{p.name}={p.name}")
            else:
                words.append(p.name)
        return f"({', '.join(words)})"

    def handing_on(self) -> list[str]:
        """The statement that hands a call on to the library of `like`: with the arguments that are not the defaults."""
        if not any(p.tag == "Like" for p in self.parameters):
            return []
        first = [p for p in self.parameters if p.default is _Kind.empty or p.kind is _Kind.POSITIONAL_ONLY]
        left_out = "*(() if {0} is _NoValue else ({0},))"
        given = [p.name if p.default is _Kind.empty else left_out.format(p.name) for p in first]
        others = [p.name for p in self.parameters if p not in first and p.tag != "Like"]
        pairs = ", ".join(f"({name!r}, {name}, _default_{name})" for name in others)
        keywords = f"{{name: value for name, value, default in ({pairs},) if value is not default}}"
        call = f"_handed_on({self.spec.name}, like, {', '.join(given)}, **{keywords})"
        return [f"if like is not None: return {call}"]

    def body(self, method: bool) -> list[str]:
        lines = self.handing_on()
        first = self.arrays[0] if self.arrays else None
        if method:
            assert first is not None
            lines.append(f"{first.name} = self")
        if self.gives_back is not None and first is not None:
            name, value = self.gives_back
            asking = f"if type({first.name}) is not _Array: _check_asking({first.name})"
            lines += [f"if {name} == {value!r}:", f"    {asking}", f"    return {first.name}"]
        returns = "Plain" if self.plain_result else self.returns
        lent = conversions.how_lent(returns, self.arrays)
        lines += direct_calls.statements(
            self.spec, self.parameters, returns, lent, conversions.of_other, self.namespace
        )
        if (self.returns in ("View", "Flat", "Frozen", "Mirror") or self.writes_back) and first is not None:
            lines.append(f"_source = {first.name}")
        if self.writes_back:
            lines.append(f"if type({self.writes_back}) is not bool: {self.writes_back} = _as_copy({self.writes_back})")
        by_memory = any(p.name == "order" and p.default in ("C", "K") for p in self.parameters)
        if by_memory and first is not None and not first.sequence:
            lines.append(f"if order == 'A' or order == 'a': order = _counted({first.name}, order)")
        for p in self.parameters:
            if p.tag == "Coefficients":
                test = f"type({p.name}) is not _Array and isinstance({p.name}, _Poly1d)"
                given = ", ".join(q.name for q in self.parameters)
                lines.append(f"if {test}: return {p.name}._through({self.spec.name!r}, ({given},))")
        if any(p.tag == "InPlace" for p in self.arrays):  # of views of what is written the arrays stay known
            lines += [f"_given_{p.name} = {p.name}" for p in self.arrays if p.tag != "InPlace"]
        if not method:
            written = [p.name for p in self.arrays if p.tag == "InPlace"]
            lines += [f"if type({name}) is not _Array: _check_asking({name})" for name in written]
        out = self.out_parameter()
        if out:
            lines.append(f"if {out} is not None and type({out}) is not _Array: _check_out({out})")
        by_self = first if method and first and first.tag not in ("Opaque", "InPlace") and not first.sequence else None
        together = [p for p in self.arrays if p is not by_self and p.tag != "InPlace"]
        for p in self.parameters:
            if p is by_self:
                lines.append(f"{p.name} = {conversions.tensor_of('self', lent)} if type(self) is _Array else self._t")
            elif p in together:
                if p is together[0]:
                    beside = [q for q in self.parameters if _may_be_array(q)]
                    lines.append(conversions.of_arrays(self.spec.name, together, beside, lent))
            else:
                lines += conversions.of_other(p)
        for p in self.parameters:
            if p.inexact:
                items = f"[_inexact(item) for item in {p.name}]"
                made = items if p.sequence or p.kind is _Kind.VAR_POSITIONAL else f"_inexact({p.name})"
                none = (
                    "" if p.default is _Kind.empty and not p.optional else f"if isinstance({p.name}, (_Tensor, list)): "
                )
                lines.append(f"{none}{p.name} = {made}")
        if (
            out and not self.spec.signature and {"dtype", "casting"} <= {p.name for p in self.parameters}
        ):  # the inputs are cast to the output
            lines.append(f"if {out} is not None: dtype = _dtype_of_out({out}, dtype)")
        written = [p.name for p in self.arrays if p.tag == "InPlace"]
        lines += [f"_array_{name} = {name}" for name in written]
        for p in self.arrays:
            if p.tag == "InPlace":
                own = [q for q in self.parameters if q.plain == "object"]  # which the kernel converts by itself
                others = "".join(f"{q.name}, " for q in [*self.arrays, *own] if q is not p and not q.sequence)
                lines.append(f"{p.name}, {others}= _writeable({self.spec.name!r}, {p.name}, ({others}))")
        call = self.call()
        ruled = [p for p in self.arrays if p.tag in LAW_TAGS and not p.sequence]
        if ruled:
            self.namespace["_ruled"] = law.ruled(self.kernel, self.parameters)
            test = " or ".join(f"type({p.name}) is _Decomposed" for p in ruled)
            call = f"_ruled{call} if {test} else _kernel{call}"
        elif affine := [p for p in self.arrays if p.affine]:
            self.namespace |= {
                "_mapped": maps_of_few.mapped(self.kernel, self.parameters),
                "_of_decomposed": maps_of_few.of_decomposed,
            }
            of_one, of_many = "type({}) is _Decomposed", "_of_decomposed({})"
            test = " or ".join((of_many if p.sequence else of_one).format(p.name) for p in affine)
            call = f"_mapped{call} if {test} else _kernel{call}"
        else:
            call = f"_kernel{call}"
        calling = [
            f"try: _r = {call}",
            f"except RuntimeError as _error: raise _refusal({self.spec.name!r}, _error) from None",
        ]
        following = [f"    _written(_array_{name})" for name in written]
        if written:
            calling = ["try:", *(f"    {line}" for line in calling), *following]
            failing = [f"    _written(_array_{name}, True)" for name in written]
            calling += ["except BaseException:", *failing, "    raise"]  # a refusal, or an interrupt
        lines += calling
        lines += self.finish()
        return lines

    def out_parameter(self) -> str | None:
        return next((p.name for p in self.parameters if p.tag == "OutArray"), None)

    def delivered(self, out: str, written: str) -> list[str]:
        """The return of what was written into `out=`. A view of it among the arguments, which nobody else has any more,
        is let go of before: it would count as a tensor that misses the contributions."""
        given = [p.name for p in self.arrays if p.name != out]
        return [f"if {out} is not None:", *[f"    {name} = None" for name in given], f"    return {written}"]

    def finish(self) -> list[str]:
        lines = []
        out = self.out_parameter()
        if self.spec.signature:
            self.namespace["_deliver"] = deliver_stacks
            lines += self.delivered("out", "_deliver(_self, out, _r, casting)")
        elif out:
            more = next((p.name for p in self.parameters if p.kind is _Kind.VAR_KEYWORD), None)
            casting = f"{more}.get('casting', {self.out_casting!r})" if more else repr(self.out_casting)
            broadcasts = ", True" if self.out_broadcasts else ""
            written = f"_write_out({self.spec.name!r}, {out}, _r, {casting}{broadcasts})"
            lines += self.delivered(out, written)
        if self.writes_back:
            lines += [
                f"if not {self.writes_back} and type(_source) is _Array:",  # of exact numbers none is another
                f"    if _r is not _source._t and _source._d in _INEXACT: _write_out({self.spec.name!r}, _source, _r)",
                "    return _source if _r.dim() else _wrap_scalar(_r.clone())",
            ]
        if self.returns == "View":
            lines.append("return _wrap_view(_source, _r)")
        elif self.returns == "Flat":
            lines.append("return _wrap_flat(_source, _r)")
        elif self.returns == "Frozen":
            lines.append("return _wrap_frozen(_source, _r)")
        elif self.returns == "Mirror":
            lines.append(f"return _wrap_mirror(_source, _r, lambda {self.arrays[0].name}: _kernel{self.call()})")
        elif self.plain_result:
            lines.append("return _r")
        elif self.returns == "Array":
            lines += [
                "if type(_r) is _Tensor and _r.dim():",
                "    _c = _new(_Array); _c._t = _r; _c._d = _r.dtype; _c._m = None",
                "    return _c",
                "return _wrap_array(_r)",
            ]
        else:
            lines += [
                "if type(_r) is _Tensor:",
                "    if _r.dim():",
                "        _c = _new(_Array); _c._t = _r; _c._d = _r.dtype; _c._m = None",
                "        return _c",
                "    return _wrap_scalar(_r)",
                "return _wrap_result(_r)",
            ]
        return lines

    def compile(self, name: str, qualname: str, module: str, method: bool) -> Callable[..., Any]:
        lines, header = self.body(method), self.header(method)
        if self.spec.signature:
            self.namespace |= {"_chosen": choose, "_placed": placed_out}
            header = f"_self, {header}"
            lines[:0] = [
                "if _more: out, _more = _placed(_self, _more, _NoValue if out is None else out)",
                "if signature is not None: dtype, signature = _chosen(_self, signature, dtype), None",
            ]
        elif self.spec.unbound:
            header = f"{FIRST}, {header}"
        where = name if method else f"{module}.{name}".removeprefix("npdec.")
        lines = open_body(lines, self.parameters, where, method, bool(self.spec.signature))
        text = ending(f"def {name}({header}):\n    " + "\n    ".join(lines))
        exec(compile(text, f"<npdec wrapper of {module}.{qualname}>", "exec"), self.namespace)
        if self.spec.errors is not None:
            for watched in ("_kernel", "_ruled", "_mapped"):
                if watched in self.namespace:
                    fp_errors.watch(self.namespace, watched, self.spec.errors)
        function = self.namespace[name]
        function.__doc__ = self.kernel.__doc__
        if self.unshown is not None:
            hidden, by_place = self.unshown
            first, *others = (p for p in inspect.signature(self.kernel).parameters.values() if p.name != hidden)
            others = [p.replace(kind=_Kind.KEYWORD_ONLY) if p.name == by_place else p for p in others]
            before = [inspect.Parameter(FIRST, first.kind)] * (self.spec.unbound and not method)
            function.__signature__ = inspect.Signature([*before, first.replace(default=first.empty), *others])
        function.__module__ = module
        function.__qualname__ = qualname
        function.__kernel__ = self.kernel
        function._implementation = None if method else door.Implementation(f"{module}.{name}".removeprefix("npdec."))
        if self.spec.unbound and not method:
            function = self.namespace[name] = unbound_of(module)(function)
        return function


def spec_of(kernel: Callable[..., Any]) -> Spec:
    spec = getattr(kernel, "__npdec__", None)
    if spec is None:
        raise TypeError(f"{kernel!r} is not declared: decorate it with npdec.public or npdec.ufunc")
    return spec


def compile_function(kernel: Callable[..., Any], module: str = "npdec") -> Any:
    """The public function of a declared kernel: a function, or a ufunc object."""
    spec = spec_of(kernel)
    if spec.loops is not None:
        return make_ufunc(kernel, spec, read_parameters(kernel), module)
    function = _Source(kernel, spec).compile(spec.name, spec.name, module, method=False)
    return function if spec.signature is None else make_gufunc(function, kernel, spec, read_parameters(kernel), module)


def compile_method(kernel: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The array method of a declared kernel, under one of its names: the same function with the array as `self`."""
    if spec_of(kernel).loops is not None:
        return _ufunc_method(name, compile_function(kernel))
    return _Source(kernel, spec_of(kernel)).compile(name, f"ndarray.{name}", "npdec", method=True)


def _ufunc_method(name: str, function: ufunc) -> Callable[..., Any]:
    """A ufunc as a method: the array is its first operand."""

    def called(self: Any, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method: Any = called
    first, *others = inspect.signature(function).parameters.values()
    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    method.__module__ = "npdec"
    method.__doc__ = function.__doc__
    method.__signature__ = inspect.Signature([first.replace(name="self"), *others])
    return called
