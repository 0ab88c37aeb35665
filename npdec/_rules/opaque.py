"""Torch's functions that look only at values: what they give is an ordinary tensor, number or boolean; and those that
say nothing of a tensor's elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from npdec._decomposed.registry import Answer, Trait, attributes
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import frozen_choices
from npdec._rules.rule import rule
from npdec._torch.patch_dynamo import patch_dynamo

Function = Callable[..., Any]


def _value(arg: Any) -> Any:
    if isinstance(arg, DecomposedTensor):
        return arg.value
    if isinstance(arg, (tuple, list)) and any(isinstance(a, DecomposedTensor) for a in arg):
        return type(arg)(_value(a) for a in arg)
    return arg


def _opaque(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return func(*[_value(a) for a in args], **{k: _value(v) for k, v in kwargs.items()})


def _look_for_compiler(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Tensor._is_view, which the compiler asks of each of its inputs."""
    patch_dynamo()
    return _opaque(func, args, kwargs)


def _refuse_numpy(func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    raise TypeError(
        f"{func.__name__}: a NumPy array cannot carry the contributions of a decomposed tensor: take .value, .residual "
        "or .components first"
    )


_OPAQUE = Answer(_opaque, opaque=True)

# These tell of a tensor what its values have no part in: shapes, dtypes, memory.
rule(
    """
    isreal zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones
    new_full new_empty new_tensor new_empty_strided empty_strided size dim ndimension numel nelement stride
    storage_offset is_contiguous element_size data_ptr get_device is_floating_point is_complex is_conj is_neg
    is_signed is_pinned untyped_storage storage item tolist __len__ result_type can_cast is_inference
    is_same_size dim_order is_shared is_set_to __format__ is_distributed is_coalesced sparse_dim dense_dim
    __dlpack_device__ storage_type record_stream _is_zerotensor backward register_hook
    register_post_accumulate_grad_hook retain_grad
    """,
    traits=Trait.BLIND,
)(_OPAQUE)
rule("_is_view")(Answer(_look_for_compiler, opaque=True))
rule(torch.Tensor.numpy, torch.Tensor.__array__, refused="memory that others read has no place for contributions")(
    Answer(_refuse_numpy)
)

# Attributes of tensors that say nothing of contributions.
rule(
    *attributes(
        """
        shape dtype device ndim layout is_cuda is_cpu is_meta is_mps is_xpu is_sparse is_quantized is_leaf
        is_nested is_mkldnn requires_grad grad_fn grad itemsize nbytes output_nr _version _base retains_grad
        is_sparse_csr grad_dtype _grad _grad_fn _post_accumulate_grad_hooks _cdata is_vulkan is_xla is_ipu
        is_maia is_mtia name volatile _backward_hooks
        """
    ),
    traits=Trait.BLIND,
)(_OPAQUE)

# These choose by values: what they choose is frozen at the value.
rule(
    """
    argmax argmin argsort nonzero argwhere equal allclose isin is_nonzero
    __bool__ __index__ __contains__ histc gcd lcm hash_tensor nonzero_static one_hot matrix_rank __nonzero__
    __int__ __float__ __complex__ __long__
    """,
    short=frozen_choices.unmoved,
)(Answer(frozen_choices.frozen, opaque=True))

# These draw random numbers.
rule("bernoulli multinomial poisson binomial")(Answer(frozen_choices.drawn, opaque=True))
