"""Decomposed tensors of which each process holds a part: DTensors that carry contributions.

torch's DTensor says how a tensor lies on the processes of a mesh, and finds which operations need what is elsewhere. A
decomposed one keeps the part of this process as a decomposed tensor, all of whose parts lie alike: components have one
more axis, which every process holds as a whole. So

- what is linear (sums, layers, products with weights; redistributing, gathering, reducing) goes part by part: value,
  residual and components are DTensors, and torch moves each as it moves the plain one;
- what looks at each row or element alone (activations, norms, softmax) is answered where the rows are, by the rules of
  ordinary decomposed tensors;
- all else is gathered, computed by every process as one does it, and laid out as torch would.

The value is that of the plain run by the same kernels on the same parts. A gradient of a part (reverse mode) is laid
out as the part is, which is what `DTensor.from_local` and `to_local` promise.

Imported by the first decomposed tensor that becomes a DTensor: torch.distributed is not everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor.placement_types import _StridedShard

from npdec._core.slots import Slot
from npdec._decomposed.reverse_graph import no_graph
from npdec._decomposed.tensor import CARRIERS, DecomposedTensor, Labels

__all__ = [
    "DecomposedDTensor",
    "Placements",
    "answer",
    "from_local",
    "here",
    "made",
    "moved",
    "packed",
    "refuse",
    "whole",
]

Function = Callable[..., Any]
Placements = tuple[Any, ...]

# How functions are answered: `npdec._rules.distributed`.
answer: Slot[Function] = Slot("functions of decomposed DTensors")


class DecomposedDTensor(DTensor):
    """A DTensor with `value == residual + components.sum(0)`: what `DTensor.from_local` makes of a decomposed tensor.

    `value`, `residual`: DTensors of the shape; `components`: a DTensor of shape `(C, *shape)`, laid out alike;
    `local`: the decomposed tensor of this process; `labels`. All processes of the mesh have as many components, in one
    order.
    """

    local: DecomposedTensor

    @staticmethod
    def of(local: DecomposedTensor, spec: DTensorSpec) -> DecomposedDTensor:
        """What lies on the mesh as `spec` says, of which `local` is here."""
        placements: Placements = spec.placements
        for placement in placements:
            if placement.is_partial() and placement.reduce_op not in ("sum", "avg"):
                refuse("DTensor", f"{placement} is not linear in what the processes have")
        made: Any = DTensor.__new__(DecomposedDTensor, local.value.detach(), spec, requires_grad=False)
        made.local = local
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return answer.value(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any) -> NoReturn:
        refuse(str(func), "it is called below torch's functions (as torch.compile and torch.func do)")

    def __tensor_flatten__(self) -> NoReturn:
        raise NotImplementedError(
            "torch.compile follows no decomposed DTensor: it would see its values alone. Call the network without "
            "compiling it"
        )

    is_decomposed = True

    @property
    def labels(self) -> Any:
        """The labels of the components."""
        return self.local.labels

    @property
    def value(self) -> DTensor:
        """The DTensor of the values."""
        return whole(self.local.value, self._spec)

    @property
    def residual(self) -> DTensor:
        """The DTensor of the residuals."""
        return whole(self.local.residual, self._spec)

    @property
    def components(self) -> DTensor:
        """The DTensor of the components."""
        return whole(self.local.components, self._spec, len(self.local.labels))

    def to_local(self, *, grad_placements: Sequence[Any] | None = None) -> Any:
        """The decomposed tensor of this process, as `DTensor.to_local`."""
        local = self.local
        if grad_placements is None or not local.components.requires_grad:
            return local.view_as(local)
        given = moved(_counted(grad_placements, self.ndim))
        components = self.components.to_local(grad_placements=given)
        return DecomposedTensor(local.value, local.residual, components, local.labels, local.reverse)

    def redistribute(
        self,
        device_mesh: Any = None,
        placements: Sequence[Any] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> Any:
        """As `DTensor.redistribute`, part by part. With `async_op` the parts are sent at once too, and waited for."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        placements = _counted(placements, self.ndim)
        if placements == self.placements and device_mesh in (None, self.device_mesh) and forward_dtype is None:
            return self
        options: dict[str, Any] = {
            "forward_dtype": forward_dtype,
            "backward_dtype": backward_dtype,
            "async_op": async_op,
        }
        with no_graph(self.local.reverse):
            value = self.value.redistribute(device_mesh, placements, **options)
            residual = self.residual.redistribute(device_mesh, placements, **options)
        components = self.components.redistribute(device_mesh, moved(placements), **options)
        return packed(value, residual, components, self.local.labels, self.local.reverse)

    def full_tensor(self, *, grad_placements: Sequence[Any] | None = None) -> Any:
        """The whole decomposed tensor, on each process."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local(
            grad_placements=grad_placements
        )

    # mypy drops the names of a dunder's keyword-only parameters, and then finds that they differ.
    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"DecomposedDTensor({self.local!r}, device_mesh={self.device_mesh}, placements={self.placements})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a decomposed DTensor is in no pickle: send the part of this process, .to_local()")


CARRIERS.add(DecomposedDTensor)


def made(cls: Any, local: Any, spec: DTensorSpec, *, requires_grad: bool = False) -> DecomposedDTensor:
    """What the class DTensor makes of a decomposed tensor."""
    if type(local) is not DecomposedTensor:
        raise TypeError(f"a DTensor lies over a tensor, not over a {type(local).__name__}")
    return DecomposedDTensor.of(local, spec)


def from_local(apply: Function, local: DecomposedTensor, args: Sequence[Any]) -> DecomposedDTensor:
    """What `DTensor.from_local` makes of a decomposed tensor: `apply` is its autograd Function, which is given the
    tensor, and after it mesh, placements, whether to check, shape, strides and placements of gradients."""
    mesh, placements, check, shape, stride, grad_placements = args
    with no_graph(local.reverse):
        value = apply(local.value, mesh, placements, check, shape, stride, grad_placements)
        spec = value._spec
        if check:  # which lets rank 0 say what all hold
            residual = apply(local.residual, mesh, placements, check, shape, stride, grad_placements)
            local = DecomposedTensor(here(value), here(residual), local.components, local.labels, local.reverse)
    components = local.components
    if check or (grad_placements is not None and components.requires_grad):
        meta = _whole_meta(components, spec, len(local.labels))
        given = None if grad_placements is None else moved(_counted(grad_placements, value.ndim))
        components = here(apply(components, mesh, moved(placements), check, meta.shape, meta.stride, given))
        local = DecomposedTensor(local.value, local.residual, components, local.labels, local.reverse)
    return DecomposedDTensor.of(local, spec)


# -- parts as DTensors -------------------------------------------------------------------------------------------------


def _whole_meta(local: torch.Tensor, spec: DTensorSpec, count: int | None = None) -> TensorMeta:
    """Shape and strides on the mesh of what lies here in the order of `local`."""
    shape = tuple(spec.shape) if count is None else (count, *spec.shape)
    strides = [0] * len(shape)
    size = 1
    for axis in sorted(range(len(shape)), key=lambda axis: (local.stride(axis), -axis)):
        strides[axis] = size
        size *= max(1, shape[axis])
    return TensorMeta(torch.Size(shape), tuple(strides), local.dtype)


def whole(local: torch.Tensor, spec: DTensorSpec, count: int | None = None) -> DTensor:
    """The DTensor of which `local` is here, with one more leading axis if there is a count."""
    if 0 in local.stride():
        local = local.contiguous()
    meta = _whole_meta(local, spec, count)
    placements = spec.placements if count is None else moved(spec.placements)
    return DTensor.from_local(local, spec.mesh, placements, run_check=False, shape=meta.shape, stride=meta.stride)


def _counted(placements: Sequence[Any], ndim: int) -> Placements:
    """Placements whose axes are counted from the front."""
    return tuple(_of_axis(p, p.dim + ndim) if getattr(p, "dim", 0) < 0 else p for p in placements)


def moved(placements: Sequence[Any]) -> Placements:
    """The placements of components: those of the tensor, with one more leading axis."""
    return tuple(_of_axis(p, p.dim + 1) if hasattr(p, "dim") else p for p in placements)


def _of_axis(placement: Any, axis: int) -> Any:
    if isinstance(placement, _StridedShard):
        return _StridedShard(axis, split_factor=placement.split_factor)
    return Shard(axis)


def here(tensor: Any) -> torch.Tensor:
    """What of a DTensor is here, arrived."""
    local = tensor.to_local()
    if type(local) in (torch.Tensor, torch.nn.Parameter):
        return local
    arrived: torch.Tensor = local.clone() if local.requires_grad else local.wait()  # an AsyncCollectiveTensor
    return arrived


def _as_sums(components: Any, placements: Placements) -> Any:
    """Components that every process has, as sums of what the processes have where the value is one: the first has all,
    the others nothing. (torch redistributes nothing to sums.)"""
    found = list(components.placements)
    axes = [i for i, p in enumerate(placements) if p.is_partial("sum") and found[i].is_replicate()]
    if not axes:
        return components
    for i in axes:
        found[i] = placements[i]
    local = components.to_local(grad_placements=found)
    mesh = components.device_mesh
    if any(mesh.get_local_rank(i) for i in axes):
        local = local * 0
    return DTensor.from_local(local, mesh, found, shape=components.shape, stride=components.stride())


def packed(value: Any, residual: Any, components: Any, labels: Labels, reverse: bool) -> DecomposedDTensor:
    """The decomposed DTensor of parts, which are laid out alike first."""
    placements = value.placements
    components = _as_sums(components, placements)
    if residual.placements != placements or components.placements != moved(placements):
        placements = tuple(Replicate() if p.is_partial() else p for p in placements)
        with no_graph(reverse):
            value, residual = (part.redistribute(placements=placements) for part in (value, residual))
        components = components.redistribute(placements=moved(placements))
    local = DecomposedTensor(here(value), here(residual), here(components), labels, reverse)
    return DecomposedDTensor.of(local, value._spec)


def refuse(name: str, why: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: a decomposed DTensor does not pass it: {why}. Take the part of this process (.to_local()) or all of "
        "it (.full_tensor()), compute with that, and go back by DTensor.from_local"
    )
