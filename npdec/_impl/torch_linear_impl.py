"""Rules of torch's linear and multilinear functions, as type-tagged signatures.

`LINEAR` names the functions and methods that are linear in their first argument and take no other tensor that could be
decomposed; the signatures below tag the rest. A parameter that is not written is passed on untouched.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from npdec._core.tags import Linear, Multilinear, Opaque, torch_rule

# Names in torch, torch.Tensor, torch.nn.functional, torch.fft, torch.linalg: each is registered wherever it exists.
LINEAR = """
    sum mean cumsum neg negative positive deg2rad rad2deg trace sum_to_size
    reshape view_as reshape_as expand expand_as broadcast_to permute transpose t swapaxes swapdims moveaxis movedim
    flatten unflatten ravel squeeze unsqueeze flip fliplr flipud rot90 roll tile repeat repeat_interleave narrow select
    masked_select take take_along_dim gather unbind chunk split split_with_sizes tensor_split hsplit vsplit
    dsplit diagonal diag diag_embed diagflat tril triu clone contiguous alias
    unfold fold to double float half bfloat16 int long short char byte type type_as cpu cuda real imag
    view_as_real view_as_complex resolve_conj resolve_neg conj adjoint matrix_transpose __getitem__ avg_pool1d
    avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d interpolate upsample pixel_shuffle
    pixel_unshuffle channel_shuffle
    fft ifft rfft irfft hfft ihfft fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn fftshift ifftshift
    fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft2 fft_irfft2
    fft_rfftn fft_irfftn fft_fftshift fft_ifftshift
    hfft2 ihfft2 hfftn ihfftn fft_hfft2 fft_ihfft2 fft_hfftn fft_ihfftn
    combinations conj_physical affine_grid_generator im2col col2im pin_memory ipu xpu mtia
    _autocast_to_full_precision _autocast_to_reduced_precision
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
    _upsample_bilinear2d_aa _upsample_bicubic2d_aa
""".split()

# Attributes of tensors that are linear functions of them.
LINEAR_ATTRIBUTES = "T mT H mH real imag".split()


@torch_rule(torch.cat, torch.concat, torch.concatenate, torch.stack, torch.hstack, torch.vstack, torch.row_stack,
            torch.dstack, torch.column_stack)  # fmt: skip
def joined(tensors: Linear, *args: Any, **kwargs: Any): ...


@torch_rule(torch.block_diag, torch.broadcast_tensors, torch.meshgrid, torch.atleast_1d, torch.atleast_2d,
            torch.atleast_3d)  # fmt: skip
def together(*tensors: Linear, **kwargs: Any): ...


@torch_rule(torch.add, torch.Tensor.add, torch.sub, torch.Tensor.sub, torch.subtract, torch.Tensor.subtract,
            torch.Tensor.__rsub__, torch.rsub)  # fmt: skip
def added(input: Linear, other: Linear, *, alpha: Any = 1): ...


@torch_rule(torch.complex)
def complex(real: Linear, imag: Linear): ...


@torch_rule(torch.masked_scatter, torch.Tensor.masked_scatter)
def masked_scatter(input: Linear, mask: Opaque, source: Linear): ...


@torch_rule(torch.index_put, torch.Tensor.index_put)
def index_put(input: Linear, indices: Opaque, values: Linear, accumulate: bool = False): ...


@torch_rule(torch.put, torch.Tensor.put)
def put(input: Linear, index: Opaque, source: Linear, accumulate: bool = False): ...


@torch_rule(torch.select_scatter, torch.Tensor.select_scatter, torch.slice_scatter, torch.Tensor.slice_scatter,
            torch.diagonal_scatter, torch.Tensor.diagonal_scatter)  # fmt: skip
def slice_scatter(input: Linear, src: Linear, *args: Any, **kwargs: Any): ...


@torch_rule(torch.mul, torch.Tensor.mul, torch.multiply, torch.Tensor.multiply, torch.matmul, torch.Tensor.matmul,
            torch.Tensor.__rmatmul__, torch.mm, torch.Tensor.mm, torch.bmm, torch.Tensor.bmm, torch.mv, torch.Tensor.mv,
            torch.dot, torch.Tensor.dot, torch.inner, torch.Tensor.inner, torch.vdot, torch.Tensor.vdot, torch.outer,
            torch.Tensor.outer, torch.ger, torch.Tensor.ger, torch.linalg.matmul, torch.kron,
            torch.Tensor.kron)  # fmt: skip
def product(input: Multilinear, other: Multilinear): ...


@torch_rule(torch.cross, torch.Tensor.cross, torch.linalg.cross, torch.linalg.vecdot, torch.tensordot)
def product_along(input: Multilinear, other: Multilinear, *args: Any, **kwargs: Any): ...


@torch_rule(torch.einsum)
def einsum(equation: Any, *operands: Multilinear): ...


@torch_rule(torch.linalg.multi_dot, torch.chain_matmul)
def multi_dot(tensors: Multilinear): ...


@torch_rule(torch.addmm, torch.Tensor.addmm, torch.addmv, torch.Tensor.addmv, torch.addbmm, torch.Tensor.addbmm,
            torch.baddbmm, torch.Tensor.baddbmm, torch.addr, torch.Tensor.addr)  # fmt: skip
def addmm(input: Linear, mat1: Multilinear, mat2: Multilinear, *, beta: Any = 1, alpha: Any = 1): ...


@torch_rule(torch.addcmul, torch.Tensor.addcmul)
def addcmul(input: Linear, tensor1: Multilinear, tensor2: Multilinear, *, value: Any = 1): ...


@torch_rule(F.linear)
def linear(input: Multilinear, weight: Multilinear, bias: Linear | None = None): ...


@torch_rule(F.bilinear)
def bilinear(input1: Multilinear, input2: Multilinear, weight: Multilinear, bias: Linear | None = None): ...


@torch_rule(torch.convolution)
def convolution(input: Multilinear, weight: Multilinear, bias: Linear | None = None, *args: Any, **kwargs: Any): ...


@torch_rule(torch.conv_tbc)
def conv_tbc(input: Multilinear, weight: Multilinear, bias: Linear, pad: int = 0): ...


@torch_rule(F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
def conv(input: Multilinear, weight: Multilinear, bias: Linear | None = None, *args: Any, **kwargs: Any): ...
