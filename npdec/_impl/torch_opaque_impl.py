"""torch functions that look only at values: their result is an ordinary tensor, number or boolean."""

from __future__ import annotations

# Names in torch and torch.Tensor: each is registered wherever it exists. These tell of a tensor what its values have no
# part in: shapes, dtypes, memory.
OPAQUE = """
    isreal zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones new_full
    new_empty new_tensor new_empty_strided empty_strided size dim ndimension numel nelement stride storage_offset
    is_contiguous element_size data_ptr get_device is_floating_point is_complex is_conj is_neg is_signed is_pinned
    untyped_storage storage item tolist __len__ result_type can_cast is_inference
    is_same_size dim_order has_names is_shared is_set_to __format__
    is_distributed is_coalesced sparse_dim dense_dim __dlpack_device__ storage_type record_stream
    _is_view _is_zerotensor
    backward register_hook register_post_accumulate_grad_hook retain_grad
""".split()

# These choose by values: what they choose is frozen at the value.
FROZEN = """
    isnan isinf isfinite isneginf isposinf argmax argmin argsort nonzero argwhere equal allclose bincount isin
    is_nonzero __bool__ __index__ __contains__ histc gcd lcm hash_tensor nonzero_static one_hot matrix_rank
    linalg_matrix_rank __nonzero__ __int__ __float__ __complex__ __long__
""".split()

# These draw random numbers.
DRAWN = "bernoulli multinomial poisson binomial".split()

# Attributes of tensors that say nothing of contributions.
OPAQUE_ATTRIBUTES = """
    shape dtype device ndim layout is_cuda is_cpu is_meta is_mps is_xpu is_sparse is_quantized is_leaf is_nested
    is_mkldnn requires_grad grad_fn grad names itemsize nbytes output_nr _version _base retains_grad is_sparse_csr
    grad_dtype _grad _grad_fn _post_accumulate_grad_hooks _cdata
    is_vulkan is_xla is_ipu is_maia is_mtia is_ort name volatile _backward_hooks
""".split()
