"""torch functions that look only at values: their result is an ordinary tensor, number or boolean."""

from __future__ import annotations

# Names in torch and torch.Tensor: each is registered wherever it exists.
OPAQUE = """
    eq ne lt le gt ge not_equal less less_equal greater greater_equal isnan isinf isfinite isneginf isposinf isreal
    signbit argmax argmin argsort any all nonzero argwhere count_nonzero isclose allclose equal logical_and logical_or
    logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not searchsorted bucketize bincount isin
    zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones new_full new_empty
    new_tensor new_empty_strided empty_strided size dim ndimension numel nelement stride storage_offset is_contiguous
    element_size data_ptr get_device is_floating_point is_complex is_conj is_neg is_signed is_pinned is_nonzero
    untyped_storage storage item tolist __len__ __bool__ __index__ __contains__ result_type can_cast is_inference
    is_same_size dim_order has_names is_shared is_set_to __format__ bool
    bernoulli multinomial poisson binomial histc
    _is_view _is_zerotensor
""".split()

# Attributes of tensors that say nothing of contributions.
OPAQUE_ATTRIBUTES = """
    shape dtype device ndim layout is_cuda is_cpu is_meta is_mps is_xpu is_sparse is_quantized is_leaf is_nested
    is_mkldnn requires_grad grad_fn grad names itemsize nbytes output_nr _version _base retains_grad is_sparse_csr
    is_vulkan is_xla is_ipu is_maia is_mtia is_ort name volatile _backward_hooks
""".split()
