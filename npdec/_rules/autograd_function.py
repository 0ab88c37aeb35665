"""The law for a torch.autograd.Function, by the derivative that it defines itself.

Where the Function works under the transforms of torch.func (it has `setup_context` and a rule for vmap), the general
quadrature differentiates it. Where it does not, the directional derivative comes from autograd: by dual numbers, which
ask its `jvp`, or from `backward` differentiated once more, which is linear in the gradient that it receives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from npdec._decomposed.call import Call
from npdec._decomposed.registry import Answer
from npdec._decomposed.tensor import carries
from npdec._law import law
from npdec._law.create_graph import wants_graph
from npdec._law.frozen_choices import chosen_by
from npdec._torch.functorch import mapped
from npdec._torch.tracing import tracing

__all__ = ["Derivative", "has_own", "StandsFor", "operator_rule", "rule_of"]

Function = Callable[..., Any]
Tensors = Sequence[torch.Tensor]


def has_own(cls: type[torch.autograd.Function], name: str) -> bool:
    """Whether the Function defines `name` itself."""
    return getattr(cls, name, None) is not getattr(torch.autograd.Function, name)


class StandsFor:
    """A function that stands for `target` (a class, an operator): users know it by that, and by the name."""

    def __init__(self, call: Function, name: str, target: Any) -> None:
        self.call, self.__name__, self.target = call, name, target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


def rule_of(cls: type[torch.autograd.Function]) -> Answer:
    """The rule that follows the Function's own derivative."""
    transforms = has_own(cls, "setup_context") and (cls.generate_vmap_rule or has_own(cls, "vmap"))

    def applied(*args: Any, **kwargs: Any) -> Any:
        return cls.apply(*args, **kwargs)

    apply = StandsFor(applied, cls.__name__, cls)
    own = None if transforms else Derivative(has_own(cls, "jvp"))

    def rule(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        call = Call(apply, None, args, kwargs)
        if call.decomposed and not transforms:
            _refuse_graphs(cls.__name__)
        return law.quadrature(call, own=own) if call.decomposed else apply(*call.args, **call.kwargs)

    return Answer(rule)


def operator_rule(operator: Any) -> Answer:
    """The rule of an operator of torch.library, which has the derivative that was registered for it.

    torch.func.jvp finds none, and takes the operator for a constant.
    """

    call = StandsFor(operator, str(operator), operator)
    own = Derivative(forward_mode=False)

    def rule(_: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        made = Call(call, None, args, kwargs)
        if made.decomposed:
            _refuse_graphs(call.__name__)
            if not _has_derivative(operator):
                return chosen_by(made, functools.partial(_refuse_numbers, call.__name__))
        return law.quadrature(made, own=own) if made.decomposed else call(*made.args, **made.kwargs)

    return Answer(rule)


# Where an operator finds its derivative: kernels that record one, or that are made of others which do.
_DIFFERENTIABLE = ("Autograd", "AutogradCPU", "AutogradCUDA", "CompositeImplicitAutograd")


def _has_derivative(operator: Any) -> bool:
    """Whether torch knows of a derivative. Where it does not it warns, and takes it for zero."""
    if isinstance(operator, torch._ops.OpOverload):
        names = [operator.name()]
    else:
        name = operator._qualified_op_name
        names = [f"{name}.{overload}" if overload else name for overload in operator._overload_names]
    found = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(found(name, key) for name in names for key in _DIFFERENTIABLE)


def _refuse_numbers(name: str, result: Any) -> None:
    """Raise NotImplementedError if the result of an operator without a derivative could carry contributions."""
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    if any(isinstance(out, torch.Tensor) and carries(out.dtype) for out in outputs):
        quantized = "quantised kernels have none. Use the modules before they are converted"
        raise NotImplementedError(
            f"{name}: contributions do not pass through it, for torch knows no derivative of this operator: "
            + (quantized if name.startswith("quantized") else "register one (torch.library.register_autograd)")
            + ", or a rule for it (np.overrides.register_function)"
        )


def _refuse_graphs(name: str) -> None:
    """torch.func.jvp, by which traced and mapped code finds derivatives, would take the function for a constant."""
    if tracing() or mapped():
        raise NotImplementedError(
            f"{name}: in code that torch.compile traces or torch.vmap maps, its derivative is not found. Register a "
            "rule for it (np.overrides.register_function), or call it outside"
        )


class Derivative:
    """The derivative of a function as autograd knows it, for functions that torch.func cannot transform."""

    def __init__(self, forward_mode: bool) -> None:
        self.forward_mode = forward_mode

    def rates(self, function: Function, points: Tensors, tangents: Tensors, batched: bool) -> list[torch.Tensor]:
        """The directional derivatives of the outputs; `batched` tangents have one more leading axis."""
        with torch.enable_grad():
            if not self.forward_mode:
                return self._transposed(function, points, tangents, batched)
            if not batched:
                return self._dual(function, points, tangents)
            # jvp is called once for each component: that the Function can be vectorised it does not say.
            rows = [self._dual(function, points, row) for row in zip(*tangents, strict=True)]
        return [torch.stack(parts) for parts in zip(*rows, strict=True)]

    def vjp(self, function: Function, points: Tensors, grads: Tensors) -> list[torch.Tensor]:
        """The gradients with respect to the points, of the outputs weighted by `grads`."""
        with torch.enable_grad():
            graph = wants_graph()
            inputs = [p if graph and p.requires_grad else p.detach().requires_grad_() for p in points]
            outputs = [(out, g) for out, g in zip(function(*inputs), grads, strict=True) if out.requires_grad]
            found = torch.autograd.grad(
                [o for o, _ in outputs], inputs, [g for _, g in outputs], create_graph=graph, allow_unused=True
            )
        return [torch.zeros_like(p) if g is None else g for g, p in zip(found, inputs, strict=True)]

    def _dual(self, function: Function, points: Tensors, tangents: Tensors) -> list[torch.Tensor]:
        with forward_ad.dual_level():
            outputs = function(*[forward_ad.make_dual(p, t) for p, t in zip(points, tangents, strict=True)])
            rates = [forward_ad.unpack_dual(out) for out in outputs]
        return [torch.zeros_like(r.primal) if r.tangent is None else r.tangent for r in rates]

    def _transposed(self, function: Function, points: Tensors, tangents: Tensors, batched: bool) -> list[torch.Tensor]:
        kept = any(t.requires_grad for t in (*points, *tangents))
        inputs = [p if p.requires_grad else p.detach().requires_grad_() for p in points]
        outputs = function(*inputs)
        if not all(out.requires_grad for out in outputs):
            raise NotImplementedError(
                "no derivative for it is known (torch.library.register_autograd gives an operator one)"
            )
        weights = [torch.zeros_like(out).requires_grad_() for out in outputs]
        try:
            found = torch.autograd.grad(outputs, inputs, weights, create_graph=True, allow_unused=True)
        except RuntimeError as error:  # the backward hands its gradient to NumPy
            if "on Tensor that requires grad" not in str(error):
                raise
            return self._row_by_row(outputs, inputs, tangents, batched)
        pairs = [(g, t) for g, t in zip(found, tangents, strict=True) if g is not None and g.requires_grad]
        rates: Sequence[torch.Tensor | None] = ()
        if pairs:
            rates = torch.autograd.grad(
                [g for g, _ in pairs],
                weights,
                [t for _, t in pairs],
                create_graph=kept,
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=batched,
            )
        if len(pairs) < sum(g is not None for g in found) or any(r is None for r in rates):
            # A backward that autograd cannot differentiate (computed by other means, or marked once_differentiable).
            return self._row_by_row(outputs, inputs, tangents, batched)
        lead = tuple(tangents[0].shape[:1]) if batched else ()
        if not pairs:
            return [out.new_zeros((*lead, *out.shape)) for out in outputs]
        return [rate for rate in rates if rate is not None]

    def _row_by_row(self, outputs: Tensors, inputs: Tensors, tangents: Tensors, batched: bool) -> list[torch.Tensor]:
        """By a backward that is not differentiable itself: one row of the Jacobian for each element of the outputs."""
        lead = tuple(tangents[0].shape[:1]) if batched else ()
        made = []
        for out in outputs:
            rows = [out.new_zeros(lead)] * out.numel()
            for i in range(out.numel()):
                one = torch.zeros_like(out)
                one.view(-1)[i] = 1
                found = torch.autograd.grad(out, list(inputs), one, retain_graph=True, allow_unused=True)
                for g, t in zip(found, tangents, strict=True):
                    if g is not None:
                        rows[i] = rows[i] + (g * t).flatten(len(lead)).sum(-1)
            made.append(
                torch.stack(rows, -1).reshape((*lead, *out.shape)) if rows else out.new_zeros((*lead, *out.shape))
            )
        return made
