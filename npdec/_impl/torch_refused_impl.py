"""torch functions that contributions do not pass through, with the reason; calling one with a decomposed tensor raises.

Names in torch, torch.Tensor, torch.special and torch.linalg: each is refused wherever it exists.
"""

from __future__ import annotations

__all__ = ["REFUSED"]

_UNKNOWN = "torch has no derivative of it"
_SPARSE = "sparse tensors hold no contributions; use dense ones"
_QUANTISED = "quantised numbers hold no contributions; use a floating dtype"
_INTEGERS = "it is a function of integers, or of bits, which hold no contributions"
_DEVICE = "it is the kernel of a library for one kind of device; use the function of torch.nn.functional"
_TRAINING = "it is a step of normalisation over several devices; use torch.nn.functional.batch_norm"
_CALLBACK = "it calls a Python function on single elements; use functions of tensors"
_OTHER_MEMORY = "memory that others read has no place for contributions; take .value, .residual or .components first"
_DIMENSIONS = "first-class dimensions are not of a decomposed tensor; index it with integers and slices"
_WRITES = "it draws or writes what has no counterpart for contributions; use the function that makes a new tensor"

REFUSED: dict[str, str] = {
    name: reason
    for reason, names in {
        _UNKNOWN: "airy_ai geqrf ldl_factor ldl_factor_ex ldl_solve lobpcg",
        _SPARSE: """
            to_sparse to_sparse_csr to_sparse_csc to_sparse_bsr to_sparse_bsc to_sparse_coo sparse_mask
            _sparse_mask_projection sspaddmm hsmm coalesce indices values crow_indices col_indices
            ccol_indices row_indices crow_indices_copy col_indices_copy ccol_indices_copy row_indices_copy
            indices_copy values_copy _indices _values _nnz _dimI _dimV to_dense _to_dense sparse_resize_
            sparse_resize_and_clear_ resize_as_sparse_ _coalesced_ _nested_tensor_size _nested_tensor_strides
            _nested_tensor_storage_offsets native_norm
        """,
        _QUANTISED: """
            quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel dequantize int_repr q_scale
            q_zero_point q_per_channel_scales q_per_channel_zero_points q_per_channel_axis qscheme
            fused_moving_avg_obs_fake_quant
            choose_qparams_optimized quantized_batch_norm quantized_lstm quantized_gru quantized_lstm_cell
            quantized_gru_cell
            quantized_rnn_relu_cell quantized_rnn_tanh_cell quantized_max_pool1d quantized_max_pool2d
            quantized_max_pool3d fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
            fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
            fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix
        """,
        _DEVICE: """
            miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
            miopen_convolution_transpose miopen_depthwise_convolution miopen_rnn cudnn_batch_norm cudnn_convolution
            cudnn_convolution_transpose cudnn_affine_grid_generator cudnn_grid_sampler cudnn_convolution_relu
            cudnn_convolution_add_relu mkldnn_convolution mkldnn_max_pool2d mkldnn_max_pool3d
            mkldnn_linear_backward_weights mkldnn_adaptive_avg_pool2d mkldnn_rnn_layer to_mkldnn
        """,
        _TRAINING: """
            batch_norm_stats batch_norm_elemt batch_norm_gather_stats
            batch_norm_gather_stats_with_counts batch_norm_update_stats batch_norm_backward_elemt
            batch_norm_backward_reduce
        """,
        _INTEGERS: """
            bitwise_left_shift bitwise_right_shift bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_ __lshift__
            __rshift__ __ilshift__ __irshift__ __rlshift__ __rrshift__ unravel_index
        """,
        _CALLBACK: "apply_ map_ map2_",
        _OTHER_MEMORY: "__dlpack__ const_data_ptr share_memory_",
        _WRITES: "resize resize_as slice_inverse",
        _DIMENSIONS: "index",
    }.items()
    for name in names.split()
}
