"""Decomposed tensors as nodes of torch's pytrees: what torch.func, torch.export and others take apart and put together.

The leaves are the value, the residual and the components, whose axis comes after the axes that all three have: a map
over one of those is one over the same axis of each. Last stand as many axes of length one: an axis that is counted from
the back, where the components have more axes, is one of them and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

from npdec._decomposed.from_leaf import FromLeaf, with_axis_first
from npdec._decomposed.tensor import DecomposedTensor, Labels, carries
from npdec._torch.functorch import at_level_of, differentiated, is_transformed
from npdec._torch.patches import patch
from npdec._torch.tracing import carrier, tracing

__all__ = ["is_decomposed", "register"]

Context = tuple[Labels, bool]


def is_decomposed(thing: Any) -> bool:
    """Whether it is a decomposed tensor; as `is_leaf` of a function of trees, it keeps them whole."""
    return isinstance(thing, DecomposedTensor)


def register() -> None:
    """Make the class a node of pytrees. Called once, with the rules of torch's functions."""
    _pytree.register_pytree_node(
        DecomposedTensor,
        _taken_apart,
        _put_together,
        serialized_type_name="npdec.DecomposedTensor",
        to_dumpable_context=_written,
        from_dumpable_context=_read,
        flatten_with_keys_fn=_taken_apart_by_name,
    )
    _patch_vmap()


# -- apart and together ------------------------------------------------------------------------------------------------


def _leaves(tensor: DecomposedTensor) -> list[Any]:
    if tracing():
        _refuse_derivatives()
        return [tensor.value, tensor.residual, _with_axis_last(tensor.components)]
    leaf = tensor.kept
    if type(leaf) is FromLeaf and vars(tensor).get("components") is leaf.noted:  # it has had no other ones since
        return [tensor.value, tensor.residual, leaf.last]
    last = components = tensor.components
    if isinstance(components, torch.Tensor) and not is_decomposed(components):
        with at_level_of(components):
            last = _with_axis_last(components)
    return [tensor.value, tensor.residual, last]


def _with_axis_last(components: torch.Tensor) -> torch.Tensor:
    ones = [1] * (components.ndim - 1)
    return components.movedim(0, -1).unflatten(-1, (components.shape[0], *ones))


def _taken_apart(tensor: DecomposedTensor) -> tuple[list[Any], Context]:
    return _leaves(tensor), (tensor.labels, tensor.reverse)


def _taken_apart_by_name(tensor: DecomposedTensor) -> tuple[list[tuple[_pytree.KeyEntry, Any]], Context]:
    keys = [_pytree.GetAttrKey(name) for name in ("value", "residual", "components")]
    return list(zip(keys, _leaves(tensor), strict=True)), (tensor.labels, tensor.reverse)


def _put_together(leaves: Any, context: Context) -> Any:
    """A decomposed tensor of leaves: tensors of fitting shapes, or what is no tensor, which it then only keeps."""
    labels, reverse = context
    value, residual, last = leaves
    if not all(isinstance(leaf, torch.Tensor) and not is_decomposed(leaf) for leaf in (value, residual, last)):
        if tracing():  # as many leaves; torch.compile takes no tensor that is none
            return [value, residual, last]
        made = torch.empty(0).as_subclass(DecomposedTensor)
        made.components = last
    else:
        _check_shapes(value, residual, last, len(labels))
        if tracing():
            _refuse_derivatives()
        if tracing() or not is_transformed() or last.ndim != 2 * value.ndim + 1:
            return DecomposedTensor(value, residual, with_axis_first(last, value.ndim), labels, reverse)
        made = carrier(value).as_subclass(DecomposedTensor)
        made.kept = FromLeaf(last, value.ndim)
    made.value, made.residual, made.labels, made.reverse, made.origin = value, residual, labels, reverse, None
    made.discrete = isinstance(value, torch.Tensor) and not carries(value.dtype)
    return made


def _check_shapes(value: torch.Tensor, residual: torch.Tensor, last: torch.Tensor, count: int) -> None:
    shape = tuple(value.shape)
    places = len(shape) + 1
    ones = tuple(last.shape[places:])
    if residual.shape != shape or last.shape[:places] != (*shape, count) or any(n != 1 for n in ones):
        raise ValueError(
            f"the leaves of a decomposed tensor with {count} components have the shapes {shape}, {shape} and "
            f"{(*shape, count)}, not {shape}, {tuple(residual.shape)} and {tuple(last.shape)}. Map over axes that are "
            "counted from the front, with functions that treat every leaf alike; or map over decomposed tensors as "
            "they are (is_leaf=lambda x: isinstance(x, np.DecomposedTensor))"
        )


def _refuse_derivatives() -> None:
    """torch.func.grad marks the leaves only after it has put the tensor together, which a trace cannot follow."""
    if differentiated():
        raise NotImplementedError(
            "torch.func: in compiled code there is no derivative with respect to a decomposed tensor. Take it with "
            "respect to .value, .residual or .components, or call the function without compiling it"
        )


# -- contexts in text --------------------------------------------------------------------------------------------------


def _written(context: Context) -> Any:
    labels, reverse = context
    return {"labels": [_written_label(label) for label in labels], "reverse": reverse}


def _written_label(label: Any) -> Any:
    if isinstance(label, tuple):
        return [_written_label(item) for item in label]
    if label is None or isinstance(label, (str, int, float, bool)):
        return label
    raise TypeError(
        f"a program with a decomposed tensor is saved with its labels, and {type(label).__name__} cannot be written: "
        "give np.decompose labels that are text or numbers (labels=)"
    )


def _read(written: Any) -> Context:
    return tuple([_read_label(label) for label in written["labels"]]), written["reverse"]


def _read_label(label: Any) -> Any:
    return tuple([_read_label(item) for item in label]) if isinstance(label, list) else label


# -- torch.vmap --------------------------------------------------------------------------------------------------------


def _patch_vmap() -> None:
    """Let torch.vmap look at a decomposed tensor as at any other node: a result that is a tensor it takes for one leaf.
    And an axis that is counted from the back is that of the tensor, not of the leaves."""

    def from_the_front(process: Callable[..., Any]) -> Any:
        def process_decomposed(in_dims: Any, args: tuple[Any, ...], func: Any) -> Any:
            return process(_from_the_front(in_dims, args, 0), args, func)

        return process_decomposed

    def as_node(unwrap: Callable[..., Any]) -> Any:
        def unwrap_decomposed(outputs: Any, out_dims: Any, level: int, size: int, func: Any) -> Any:
            if is_decomposed(outputs) and isinstance(out_dims, tuple) and len(out_dims) == 1:
                out_dims = out_dims[0]  # as for a tensor
            if not any(is_decomposed(leaf) for leaf in _pytree.tree_leaves(outputs, is_leaf=is_decomposed)):
                return unwrap(outputs, out_dims, level, size, func)
            dims = _from_the_front((out_dims,), (outputs,), 1)
            return unwrap((outputs,), dims, level, size, func)[0]

        return unwrap_decomposed

    patch("torch._functorch.vmap._process_batched_inputs", from_the_front)
    patch("torch._functorch.vmap._unwrap_batched", as_node)


def _from_the_front(dims: Any, tree: Any, more: int) -> Any:
    """The axes in `dims`, for a tree or a beginning of one, counted from the front where they are of a decomposed
    tensor, which gains `more` axes; what torch finds fault with, it is given as it is."""
    leaves, spec = _pytree.tree_flatten(tree, is_leaf=is_decomposed)
    if not any(is_decomposed(leaf) for leaf in leaves):
        return dims
    found = _pytree._broadcast_to_and_flatten(dims, spec)
    if found is None:
        return dims
    made = []
    for leaf, dim in zip(leaves, found, strict=True):
        ndim = leaf.value.ndim + more if is_decomposed(leaf) else 0
        made.append(dim + ndim if isinstance(dim, int) and -ndim <= dim < 0 else dim)
    return _pytree.tree_unflatten(made, spec)
