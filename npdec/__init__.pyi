"""The types of `npdec`, written by `python scripts/stubs.py` from the live package."""

import builtins
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import torch

from npdec import attribution as attribution
from npdec import char as char
from npdec import core as core
from npdec import ctypeslib as ctypeslib
from npdec import debug as debug
from npdec import dtypes as dtypes
from npdec import emath as emath
from npdec import exceptions as exceptions
from npdec import extend as extend
from npdec import f2py as f2py
from npdec import fft as fft
from npdec import func as func
from npdec import lib as lib
from npdec import linalg as linalg
from npdec import ma as ma
from npdec import overrides as overrides
from npdec import polynomial as polynomial
from npdec import pydec as pydec
from npdec import random as random
from npdec import rec as rec
from npdec import strings as strings
from npdec import testing as testing
from npdec import typing as typing
from npdec import version as version
from npdec._array.broadcast import broadcast as broadcast
from npdec._array.decompose import completeness as completeness
from npdec._array.default_device import set_default_device as set_default_device
from npdec._array.errstate import errstate as errstate
from npdec._array.errstate import geterr as geterr
from npdec._array.errstate import geterrcall as geterrcall
from npdec._array.errstate import seterr as seterr
from npdec._array.errstate import seterrcall as seterrcall
from npdec._array.flags import Flags
from npdec._array.iterators import flatiter as flatiter
from npdec._array.iterators import iterable as iterable
from npdec._array.iterators import ndenumerate as ndenumerate
from npdec._array.iterators import ndindex as ndindex
from npdec._array.printing import array2string as array2string
from npdec._array.printing import array_repr as array_repr
from npdec._array.printing import array_str as array_str
from npdec._array.printing import format_float_positional as format_float_positional
from npdec._array.printing import format_float_scientific as format_float_scientific
from npdec._array.printing import get_printoptions as get_printoptions
from npdec._array.printing import printoptions as printoptions
from npdec._array.printing import set_printoptions as set_printoptions
from npdec._array.scalars import isscalar as isscalar
from npdec._decomposed.completeness import check_completeness as check_completeness
from npdec._decomposed.tensor import DecomposedTensor as DecomposedTensor
from npdec._dtypes.dtype import dtype as dtype
from npdec._dtypes.limits import finfo as finfo
from npdec._dtypes.limits import iinfo as iinfo
from npdec._functions.complex_parts import imag as imag
from npdec._functions.complex_parts import iscomplexobj as iscomplexobj
from npdec._functions.complex_parts import isrealobj as isrealobj
from npdec._functions.complex_parts import real as real
from npdec._functions.creation import isfortran as isfortran
from npdec._functions.creation_from import fromfunction as fromfunction
from npdec._functions.dtype_functions import astype as astype
from npdec._functions.dtype_functions import can_cast as can_cast
from npdec._functions.dtype_functions import isdtype as isdtype
from npdec._functions.dtype_functions import issubdtype as issubdtype
from npdec._functions.dtype_functions import min_scalar_type as min_scalar_type
from npdec._functions.dtype_functions import mintypecode as mintypecode
from npdec._functions.dtype_functions import promote_types as promote_types
from npdec._functions.dtype_functions import result_type as result_type
from npdec._functions.dtype_functions import typename as typename
from npdec._functions.einsum import einsum as einsum
from npdec._functions.einsum import einsum_path as einsum_path
from npdec._functions.examples import test as test
from npdec._functions.files import fromfile as fromfile
from npdec._functions.files import load as load
from npdec._functions.files import save as save
from npdec._functions.files import savez as savez
from npdec._functions.files import savez_compressed as savez_compressed
from npdec._functions.frompyfunc import frompyfunc as frompyfunc
from npdec._functions.host_only import busday_count as busday_count
from npdec._functions.host_only import busday_offset as busday_offset
from npdec._functions.host_only import datetime_as_string as datetime_as_string
from npdec._functions.host_only import datetime_data as datetime_data
from npdec._functions.host_only import get_include as get_include
from npdec._functions.host_only import getbufsize as getbufsize
from npdec._functions.host_only import info as info
from npdec._functions.host_only import is_busday as is_busday
from npdec._functions.host_only import setbufsize as setbufsize
from npdec._functions.host_only import show_config as show_config
from npdec._functions.host_only import show_runtime as show_runtime
from npdec._functions.index_tricks import CClass, IndexExpression, RClass, nd_grid
from npdec._functions.nditer import nditer as nditer
from npdec._functions.nested_iters import nested_iters as nested_iters
from npdec._functions.poly1d import poly1d as poly1d
from npdec._functions.radix import base_repr as base_repr
from npdec._functions.radix import binary_repr as binary_repr
from npdec._functions.shares_memory import may_share_memory as may_share_memory
from npdec._functions.shares_memory import shares_memory as shares_memory
from npdec._functions.text_files import fromstring as fromstring
from npdec._functions.text_files import genfromtxt as genfromtxt
from npdec._functions.text_files import loadtxt as loadtxt
from npdec._functions.text_files import savetxt as savetxt
from npdec._functions.vectorize import vectorize as vectorize
from npdec._law.named_rules import register_rule as register_rule
from npdec._law.named_rules import rule as rule
from npdec._normalizer.ufunc import ufunc as ufunc
from npdec._running.finder import install as install
from npdec._show.contributions import Contributions
from npdec.attribution import Plots
from npdec.attribution._result import Attribution as Attribution
from npdec.attribution._text import attribute_text as attribute_text
from npdec.exceptions import DecompositionWarning as DecompositionWarning
from npdec.func import grad as grad
from npdec.func import jit as jit
from npdec.func import jvp as jvp
from npdec.func import value_and_grad as value_and_grad
from npdec.func import vjp as vjp
from npdec.func import vmap as vmap

_ArrayLike = Any
_DType = dtype
_DTypeLike = Any
_IntLike = SupportsIndex
_IntsLike = SupportsIndex | Sequence[SupportsIndex]
__version__: str

class ndarray:
    @property
    def T(self) -> ndarray: ...
    def __abs__(self) -> ndarray: ...
    def __add__(self, other: _ArrayLike, /) -> ndarray: ...
    def __and__(self, other: _ArrayLike, /) -> ndarray: ...
    def __array__(self, /, dtype: Any = ..., copy: builtins.bool | None = ...) -> Any: ...
    def __array_finalize__(self, obj: Any, /) -> None: ...
    def __array_function__(self, /, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array_namespace__(self, /, *, api_version: str | None = ...) -> Any: ...
    @property
    def __array_struct__(self) -> Any: ...
    def __array_ufunc__(self, /, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_wrap__(self, /, array: Any, context: Any = ..., return_scalar: builtins.bool | None = ...) -> Any: ...
    def __bool__(self) -> builtins.bool: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __bytes__(self) -> bytes: ...
    def __complex__(self, /) -> complex: ...
    def __contains__(self, item: Any) -> builtins.bool: ...
    def __delitem__(self, key: Any) -> None: ...
    def __divmod__(self, other: Any) -> Any: ...
    def __dlpack__(
        self,
        /,
        *,
        stream: Any = ...,
        max_version: tuple[int, int] | None = ...,
        dl_device: Any = ...,
        copy: builtins.bool | None = ...,
    ) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[Any, int]: ...
    def __eq__(self, other: object, /) -> ndarray: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floordiv__(self, other: _ArrayLike, /) -> ndarray: ...
    def __ge__(self, other: _ArrayLike, /) -> ndarray: ...
    @overload
    def __getitem__(self, key: slice | ndarray | list[Any]) -> ndarray: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __gt__(self, other: _ArrayLike, /) -> ndarray: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __iadd__(self, other: _ArrayLike, /) -> Self: ...
    def __iand__(self, other: _ArrayLike, /) -> Self: ...
    def __ifloordiv__(self, other: _ArrayLike, /) -> Self: ...
    def __ilshift__(self, other: _ArrayLike, /) -> Self: ...
    def __imatmul__(self, other: _ArrayLike, /) -> Self: ...
    def __imod__(self, other: _ArrayLike, /) -> Self: ...
    def __imul__(self, other: _ArrayLike, /) -> Self: ...
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> ndarray: ...
    def __ior__(self, other: _ArrayLike, /) -> Self: ...
    def __ipow__(self, other: _ArrayLike, /) -> Self: ...
    def __irshift__(self, other: _ArrayLike, /) -> Self: ...
    def __isub__(self, other: _ArrayLike, /) -> Self: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __itruediv__(self, other: _ArrayLike, /) -> Self: ...
    def __ixor__(self, other: _ArrayLike, /) -> Self: ...
    def __le__(self, other: _ArrayLike, /) -> ndarray: ...
    def __len__(self) -> int: ...
    def __lshift__(self, other: _ArrayLike, /) -> ndarray: ...
    def __lt__(self, other: _ArrayLike, /) -> ndarray: ...
    def __matmul__(self, other: _ArrayLike, /) -> Any: ...
    def __mod__(self, other: _ArrayLike, /) -> ndarray: ...
    def __mul__(self, other: _ArrayLike, /) -> ndarray: ...
    def __ne__(self, other: object, /) -> ndarray: ...  # type: ignore[override]
    def __neg__(self) -> ndarray: ...
    def __new__(
        cls,
        shape: Any,
        dtype: Any = ...,
        buffer: Any = ...,
        offset: int = ...,
        strides: Any = ...,
        order: str | None = ...,
    ) -> Self: ...
    def __or__(self, other: _ArrayLike, /) -> ndarray: ...
    def __pos__(self) -> ndarray: ...
    def __pow__(self, other: _ArrayLike, /) -> ndarray: ...
    def __radd__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rand__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rdivmod__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rlshift__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rmatmul__(self, other: _ArrayLike, /) -> Any: ...
    def __rmod__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rmul__(self, other: _ArrayLike, /) -> ndarray: ...
    def __ror__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rpow__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rrshift__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rshift__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rsub__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rtruediv__(self, other: _ArrayLike, /) -> ndarray: ...
    def __rxor__(self, other: _ArrayLike, /) -> ndarray: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __sub__(self, other: _ArrayLike, /) -> ndarray: ...
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = ..., kwargs: dict[str, Any] | None = ...
    ) -> Any: ...
    def __truediv__(self, other: _ArrayLike, /) -> ndarray: ...
    def __xor__(self, other: _ArrayLike, /) -> ndarray: ...
    @overload
    def all(
        self, /, axis: None = ..., out: None = ..., keepdims: Literal[False] = ..., *, where: _ArrayLike = ...
    ) -> bool_: ...
    @overload
    def all(
        self, /, axis: _IntsLike, out: None = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> ndarray: ...
    @overload
    def all(
        self, /, axis: _IntsLike | None = ..., out: Any = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> Any: ...
    @overload
    def any(
        self, /, axis: None = ..., out: None = ..., keepdims: Literal[False] = ..., *, where: _ArrayLike = ...
    ) -> bool_: ...
    @overload
    def any(
        self, /, axis: _IntsLike, out: None = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> ndarray: ...
    @overload
    def any(
        self, /, axis: _IntsLike | None = ..., out: Any = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> Any: ...
    @overload
    def argmax(self, /, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
    @overload
    def argmax(self, /, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
    @overload
    def argmax(self, /, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
    @overload
    def argmin(self, /, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
    @overload
    def argmin(self, /, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
    @overload
    def argmin(self, /, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
    def argpartition(
        self, /, kth: _ArrayLike, axis: _IntLike | None = ..., kind: str = ..., order: object = ...
    ) -> Any: ...
    def argsort(
        self,
        /,
        axis: _IntLike | None = ...,
        kind: str | None = ...,
        order: object = ...,
        *,
        stable: builtins.bool | None = ...,
        descending: builtins.bool = ...,
    ) -> Any: ...
    def astype(
        self, /, dtype: Any, order: str = ..., casting: str = ..., subok: builtins.bool = ..., copy: Any = ...
    ) -> ndarray: ...
    @property
    def base(self) -> Any: ...
    def byteswap(self, /, inplace: builtins.bool = ...) -> Any: ...
    def c_sum(self) -> ndarray: ...
    def choose(self, /, choices: Any, out: Any = ..., mode: str = ...) -> Any: ...
    def clip(self, /, min: Any = ..., max: Any = ..., out: Any = ..., **kwargs: Any) -> Any: ...
    @property
    def components(self) -> ndarray: ...
    def compress(self, /, condition: Any, axis: int | None = ..., out: Any = ...) -> Any: ...
    def conj(self, /, *args: Any, **options: Any) -> Any: ...
    def conjugate(self, /, *args: Any, **options: Any) -> Any: ...
    def contributions(self, k: int | None = ...) -> Contributions: ...
    def copy(self, /, order: str = ...) -> ndarray: ...
    @property
    def ctypes(self) -> Any: ...
    def cumprod(self, /, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
    def cumsum(self, /, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
    @property
    def data(self) -> memoryview: ...
    @property
    def device(self) -> Any: ...
    def diagonal(self, /, offset: _IntLike = ..., axis1: _IntLike = ..., axis2: _IntLike = ...) -> ndarray: ...
    def dot(self, /, b: _ArrayLike, out: Any = ...) -> Any: ...
    @property
    def dtype(self) -> _DType: ...
    @dtype.setter
    def dtype(self, value: Any) -> None: ...
    def dump(self, /, file: Any) -> None: ...
    def dumps(self, /) -> bytes: ...
    def fill(self, /, value: Any) -> None: ...
    @property
    def flags(self) -> Flags: ...
    @property
    def flat(self) -> Any: ...
    @flat.setter
    def flat(self, value: Any) -> None: ...
    def flatten(self, /, order: str = ...) -> ndarray: ...
    def getfield(self, /, dtype: Any, offset: int = ...) -> Any: ...
    def groupby(self, labels: Any) -> ndarray: ...
    @property
    def imag(self) -> ndarray: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def is_decomposed(self) -> builtins.bool: ...
    def item(self, /, *args: Any) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def labels(self) -> Sequence[Hashable]: ...
    @property
    def mT(self) -> ndarray: ...
    @overload
    def max(
        self,
        /,
        axis: None = ...,
        out: None = ...,
        keepdims: Literal[False] = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def max(
        self,
        /,
        axis: _IntsLike,
        out: None = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def max(
        self,
        /,
        axis: _IntsLike | None = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    @overload
    def mean(
        self,
        /,
        axis: None = ...,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: Literal[False] = ...,
        *,
        where: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def mean(
        self,
        /,
        axis: _IntsLike,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def mean(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
    ) -> Any: ...
    @overload
    def min(
        self,
        /,
        axis: None = ...,
        out: None = ...,
        keepdims: Literal[False] = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def min(
        self,
        /,
        axis: _IntsLike,
        out: None = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def min(
        self,
        /,
        axis: _IntsLike | None = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    def nonzero(self, /) -> Any: ...
    def partition(self, /, kth: Any, axis: int = ..., kind: str = ..., order: Any = ...) -> None: ...
    @property
    def plot(self) -> Plots: ...
    @overload
    def prod(
        self,
        /,
        axis: None = ...,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: Literal[False] = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def prod(
        self,
        /,
        axis: _IntsLike,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def prod(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def put(self, /, indices: Any, values: Any, mode: str = ...) -> None: ...
    def ravel(self, /, order: str = ...) -> ndarray: ...
    @property
    def real(self) -> ndarray: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def repeat(self, /, repeats: _ArrayLike, axis: _IntLike | None = ...) -> ndarray: ...
    def reshape(self, /, *shape: Any, order: Any = ..., copy: Any = ...) -> ndarray: ...
    @property
    def residual(self) -> ndarray: ...
    def resize(self, /, *new_shape: Any, refcheck: builtins.bool = ...) -> None: ...
    def round(self, /, decimals: _IntLike = ..., out: Any = ...) -> Any: ...
    def searchsorted(self, /, v: _ArrayLike, side: str = ..., sorter: _ArrayLike = ...) -> Any: ...
    def setfield(self, /, val: Any, dtype: Any, offset: int = ...) -> None: ...
    def setflags(
        self, /, write: builtins.bool | None = ..., align: builtins.bool | None = ..., uic: builtins.bool | None = ...
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @shape.setter
    def shape(self, value: Any) -> None: ...
    @property
    def size(self) -> int: ...
    def sort(
        self, /, axis: int = ..., kind: str | None = ..., order: Any = ..., *, stable: builtins.bool | None = ...
    ) -> None: ...
    def squeeze(self, /, axis: _IntsLike | None = ...) -> ndarray: ...
    @overload
    def std(
        self,
        /,
        axis: None = ...,
        dtype: _DTypeLike = ...,
        out: None = ...,
        ddof: _ArrayLike = ...,
        keepdims: Literal[False] = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def std(
        self,
        /,
        axis: _IntsLike,
        dtype: _DTypeLike = ...,
        out: None = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def std(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> Any: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @strides.setter
    def strides(self, value: Any) -> None: ...
    @overload
    def sum(
        self,
        /,
        axis: None = ...,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: Literal[False] = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def sum(
        self,
        /,
        axis: _IntsLike,
        dtype: _DTypeLike = ...,
        out: None = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def sum(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def swapaxes(self, /, axis1: _IntLike, axis2: _IntLike) -> ndarray: ...
    def take(self, /, indices: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., mode: str = ...) -> Any: ...
    @property
    def tensor(self) -> torch.Tensor: ...
    def to_dataframe(self) -> Any: ...
    def to_device(self, device: Any, /, *, stream: Any = ...) -> ndarray: ...
    def to_numpy(self) -> Any: ...
    def to_shap(self, inputs: Any = ...) -> Any: ...
    def to_xarray(self, dims: Sequence[Hashable] | None = ...) -> Any: ...
    def tobytes(self, /, order: str | None = ...) -> bytes: ...
    def tofile(self, /, fid: Any, sep: str = ..., format: str = ...) -> None: ...
    def tolist(self, /) -> Any: ...
    def top(self, k: int = ..., other: Hashable = ...) -> ndarray: ...
    def trace(
        self,
        /,
        offset: _IntLike = ...,
        axis1: _IntLike = ...,
        axis2: _IntLike = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
    ) -> Any: ...
    def transpose(self, /, *axes: Any) -> ndarray: ...
    @property
    def value(self) -> ndarray: ...
    @overload
    def var(
        self,
        /,
        axis: None = ...,
        dtype: _DTypeLike = ...,
        out: None = ...,
        ddof: _ArrayLike = ...,
        keepdims: Literal[False] = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> _Number: ...
    @overload
    def var(
        self,
        /,
        axis: _IntsLike,
        dtype: _DTypeLike = ...,
        out: None = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> ndarray: ...
    @overload
    def var(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> Any: ...
    def view(self, /, dtype: Any = ..., type: Any = ...) -> ndarray: ...

class generic:
    @property
    def T(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __add__(self, other: _ArrayLike, /) -> Any: ...
    def __and__(self, other: _ArrayLike, /) -> Any: ...
    def __array__(self, /, dtype: Any = ..., copy: builtins.bool | None = ...) -> Any: ...
    def __array_function__(self, /, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array_namespace__(self, /, *, api_version: str | None = ...) -> Any: ...
    @property
    def __array_struct__(self) -> Any: ...
    def __array_ufunc__(self, /, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_wrap__(self, /, array: Any, context: Any = ..., return_scalar: builtins.bool | None = ...) -> Any: ...
    def __bool__(self) -> builtins.bool: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __bytes__(self) -> bytes: ...
    def __complex__(self, /) -> complex: ...
    def __divmod__(self, other: Any) -> Any: ...
    def __dlpack__(
        self,
        /,
        *,
        stream: Any = ...,
        max_version: tuple[int, int] | None = ...,
        dl_device: Any = ...,
        copy: builtins.bool | None = ...,
    ) -> Any: ...
    def __dlpack_device__(self, /) -> tuple[Any, int]: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __float__(self) -> float: ...
    def __floordiv__(self, other: _ArrayLike, /) -> Any: ...
    def __ge__(self, other: _ArrayLike, /) -> Any: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __gt__(self, other: _ArrayLike, /) -> Any: ...
    def __hash__(self) -> int: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> Any: ...
    __iter__: ClassVar[None]
    def __le__(self, other: _ArrayLike, /) -> Any: ...
    def __lshift__(self, other: _ArrayLike, /) -> Any: ...
    def __lt__(self, other: _ArrayLike, /) -> Any: ...
    def __mod__(self, other: _ArrayLike, /) -> Any: ...
    def __mul__(self, other: _ArrayLike, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __new__(cls, x: Any = ..., /) -> Self: ...
    def __or__(self, other: _ArrayLike, /) -> Any: ...
    def __pos__(self) -> Any: ...
    def __pow__(self, other: _ArrayLike, /) -> Any: ...
    def __radd__(self, other: _ArrayLike, /) -> Any: ...
    def __rand__(self, other: _ArrayLike, /) -> Any: ...
    def __rdivmod__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: _ArrayLike, /) -> Any: ...
    def __rlshift__(self, other: _ArrayLike, /) -> Any: ...
    def __rmod__(self, other: _ArrayLike, /) -> Any: ...
    def __rmul__(self, other: _ArrayLike, /) -> Any: ...
    def __ror__(self, other: _ArrayLike, /) -> Any: ...
    def __rpow__(self, other: _ArrayLike, /) -> Any: ...
    def __rrshift__(self, other: _ArrayLike, /) -> Any: ...
    def __rshift__(self, other: _ArrayLike, /) -> Any: ...
    def __rsub__(self, other: _ArrayLike, /) -> Any: ...
    def __rtruediv__(self, other: _ArrayLike, /) -> Any: ...
    def __rxor__(self, other: _ArrayLike, /) -> Any: ...
    def __sub__(self, other: _ArrayLike, /) -> Any: ...
    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = ..., kwargs: dict[str, Any] | None = ...
    ) -> Any: ...
    def __truediv__(self, other: _ArrayLike, /) -> Any: ...
    def __xor__(self, other: _ArrayLike, /) -> Any: ...
    def all(
        self, /, axis: _IntsLike | None = ..., out: Any = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> Any: ...
    def any(
        self, /, axis: _IntsLike | None = ..., out: Any = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
    ) -> Any: ...
    def argmax(self, /, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
    def argmin(self, /, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
    def argpartition(
        self, /, kth: _ArrayLike, axis: _IntLike | None = ..., kind: str = ..., order: object = ...
    ) -> Any: ...
    def argsort(
        self,
        /,
        axis: _IntLike | None = ...,
        kind: str | None = ...,
        order: object = ...,
        *,
        stable: builtins.bool | None = ...,
        descending: builtins.bool = ...,
    ) -> Any: ...
    def astype(
        self, /, dtype: Any, order: str = ..., casting: str = ..., subok: builtins.bool = ..., copy: Any = ...
    ) -> Any: ...
    @property
    def base(self) -> None: ...
    def byteswap(self, /, inplace: builtins.bool = ...) -> Any: ...
    def c_sum(self) -> Any: ...
    def choose(self, /, choices: Any, out: Any = ..., mode: str = ...) -> Any: ...
    def clip(self, /, min: Any = ..., max: Any = ..., out: Any = ..., **kwargs: Any) -> Any: ...
    @property
    def components(self) -> ndarray: ...
    def compress(self, /, condition: Any, axis: int | None = ..., out: Any = ...) -> Any: ...
    def conj(self, /, *args: Any, **options: Any) -> Any: ...
    def conjugate(self, /, *args: Any, **options: Any) -> Any: ...
    def contributions(self, k: int | None = ...) -> Contributions: ...
    def copy(self, /, order: str = ...) -> Any: ...
    def cumprod(self, /, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
    def cumsum(self, /, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
    @property
    def data(self) -> memoryview: ...
    @property
    def device(self) -> Any: ...
    def diagonal(self, /, offset: _IntLike = ..., axis1: _IntLike = ..., axis2: _IntLike = ...) -> Any: ...
    def dot(self, /, b: _ArrayLike, out: Any = ...) -> Any: ...
    @property
    def dtype(self) -> _DType: ...
    def dump(self, /, file: Any) -> None: ...
    def dumps(self, /) -> bytes: ...
    def fill(self, /, value: Any) -> None: ...
    @property
    def flags(self) -> Flags: ...
    @property
    def flat(self) -> Any: ...
    @flat.setter
    def flat(self, value: Any) -> None: ...
    def flatten(self, /, order: str = ...) -> ndarray: ...
    def getfield(self, /, dtype: Any, offset: int = ...) -> Any: ...
    def groupby(self, labels: Any) -> Any: ...
    @property
    def imag(self) -> Any: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def is_decomposed(self) -> builtins.bool: ...
    def item(self, /, *args: Any) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def labels(self) -> Sequence[Hashable]: ...
    @property
    def mT(self) -> Any: ...
    def max(
        self,
        /,
        axis: _IntsLike | None = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def mean(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def min(
        self,
        /,
        axis: _IntsLike | None = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    def nonzero(self, /) -> Any: ...
    @property
    def plot(self) -> Plots: ...
    def prod(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def put(self, /, indices: Any, values: Any, mode: str = ...) -> None: ...
    def ravel(self, /, order: str = ...) -> Any: ...
    @property
    def real(self) -> Any: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    def repeat(self, /, repeats: _ArrayLike, axis: _IntLike | None = ...) -> ndarray: ...
    def reshape(self, /, *shape: Any, order: str = ..., copy: builtins.bool | None = ...) -> Any: ...
    @property
    def residual(self) -> Any: ...
    def resize(self, /, *new_shape: Any, refcheck: builtins.bool = ...) -> None: ...
    def round(self, /, decimals: _IntLike = ..., out: Any = ...) -> Any: ...
    def searchsorted(self, /, v: _ArrayLike, side: str = ..., sorter: _ArrayLike = ...) -> Any: ...
    def setfield(self, /, val: Any, dtype: Any, offset: int = ...) -> None: ...
    def setflags(
        self, /, write: builtins.bool | None = ..., align: builtins.bool | None = ..., uic: builtins.bool | None = ...
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    def sort(
        self, /, axis: int = ..., kind: str | None = ..., order: Any = ..., *, stable: builtins.bool | None = ...
    ) -> None: ...
    def squeeze(self, /, axis: _IntsLike | None = ...) -> Any: ...
    def std(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> Any: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def sum(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        keepdims: builtins.bool = ...,
        initial: _ArrayLike = ...,
        where: _ArrayLike = ...,
    ) -> Any: ...
    def swapaxes(self, /, axis1: _IntLike, axis2: _IntLike) -> Any: ...
    def take(self, /, indices: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., mode: str = ...) -> Any: ...
    @property
    def tensor(self) -> torch.Tensor: ...
    def to_dataframe(self) -> Any: ...
    def to_device(self, device: Any, /, *, stream: Any = ...) -> Any: ...
    def to_shap(self, inputs: Any = ...) -> Any: ...
    def to_xarray(self, dims: Sequence[Hashable] | None = ...) -> Any: ...
    def tobytes(self, /, order: str | None = ...) -> bytes: ...
    def tofile(self, /, fid: Any, sep: str = ..., format: str = ...) -> None: ...
    def tolist(self, /) -> Any: ...
    def top(self, k: int = ..., other: Hashable = ...) -> Any: ...
    def trace(
        self,
        /,
        offset: _IntLike = ...,
        axis1: _IntLike = ...,
        axis2: _IntLike = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
    ) -> Any: ...
    def transpose(self, /, *axes: Any) -> Any: ...
    @property
    def value(self) -> Any: ...
    def var(
        self,
        /,
        axis: _IntsLike | None = ...,
        dtype: _DTypeLike = ...,
        out: Any = ...,
        ddof: _ArrayLike = ...,
        keepdims: builtins.bool = ...,
        *,
        where: _ArrayLike = ...,
        mean: _ArrayLike = ...,
        correction: _ArrayLike = ...,
    ) -> Any: ...
    def view(self, /, dtype: Any = ..., type: Any = ...) -> Any: ...

class bool_(generic): ...
class flexible(generic): ...
class number(generic): ...
class character(flexible): ...
class inexact(number): ...

class complexfloating(inexact):
    def __new__(cls, real: Any = ..., imag: Any = ..., /) -> Self: ...

class integer(number):
    def __ceil__(self) -> int: ...
    def __floor__(self) -> int: ...
    def __index__(self) -> int: ...
    def __round__(self, ndigits: Any = ...) -> Any: ...
    def __trunc__(self) -> int: ...
    def bit_count(self) -> int: ...
    @property
    def denominator(self) -> int: ...
    def is_integer(self, /) -> builtins.bool: ...
    @property
    def numerator(self) -> integer: ...

class complex64(complexfloating): ...

class floating(inexact):
    def __ceil__(self) -> int: ...
    def __floor__(self) -> int: ...
    def __round__(self, ndigits: Any = ...) -> Any: ...
    def __trunc__(self) -> int: ...
    def as_integer_ratio(self, /) -> tuple[int, int]: ...
    def is_integer(self, /) -> builtins.bool: ...

class signedinteger(integer): ...
class unsignedinteger(integer): ...
class bfloat16(floating): ...
class complex128(complexfloating, complex): ...  # type: ignore[misc]
class float16(floating): ...
class float32(floating): ...
class int16(signedinteger): ...
class int32(signedinteger): ...
class int64(signedinteger): ...
class int8(signedinteger): ...
class uint16(unsignedinteger): ...
class uint32(unsignedinteger): ...
class uint64(unsignedinteger): ...
class uint8(unsignedinteger): ...

class float64(floating, float):  # type: ignore[misc]
    @classmethod
    def fromhex(cls, string: str, /) -> float64: ...
    def hex(self) -> str: ...

class _Number(generic, float): ...  # type: ignore[misc]

class _UFunc11(ufunc):  # of 1 operand
    @overload
    def __call__(
        self,
        x1: ndarray,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> ndarray: ...
    @overload
    def __call__(
        self,
        x1: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> Any: ...

class _UFunc12(ufunc):  # of 1 operand
    @overload
    def __call__(
        self,
        x1: ndarray,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> tuple[ndarray, ndarray]: ...
    @overload
    def __call__(
        self,
        x1: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> Any: ...

class _UFunc21(ufunc):  # of 2 operands
    @overload
    def __call__(
        self,
        x1: ndarray,
        x2: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> ndarray: ...
    @overload
    def __call__(
        self,
        x1: Any,
        x2: ndarray,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> ndarray: ...
    @overload
    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> Any: ...

class _UFunc22(ufunc):  # of 2 operands
    @overload
    def __call__(
        self,
        x1: ndarray,
        x2: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> tuple[ndarray, ndarray]: ...
    @overload
    def __call__(
        self,
        x1: Any,
        x2: ndarray,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> tuple[ndarray, ndarray]: ...
    @overload
    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        out: Any = ...,
        *,
        where: Any = ...,
        casting: str = ...,
        order: str = ...,
        dtype: Any = ...,
        subok: builtins.bool = ...,
        signature: Any = ...,
    ) -> Any: ...

abs: _UFunc11
absolute: _UFunc11
acos: _UFunc11
acosh: _UFunc11
add: _UFunc21
Composition = ndarray
False_: bool_
ScalarType: tuple[Any, ...]
True_: bool_

@overload
def all(
    a: _ArrayLike, axis: None = ..., out: None = ..., keepdims: Literal[False] = ..., *, where: _ArrayLike = ...
) -> bool_: ...
@overload
def all(
    a: _ArrayLike, axis: _IntsLike, out: None = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
) -> ndarray: ...
@overload
def all(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> Any: ...
def allclose(
    a: _ArrayLike, b: _ArrayLike, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., equal_nan: builtins.bool = ...
) -> builtins.bool: ...
@overload
def amax(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def amax(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def amax(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def amin(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def amin(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def amin(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
def angle(z: _ArrayLike, deg: builtins.bool = ...) -> Any: ...
@overload
def any(
    a: _ArrayLike, axis: None = ..., out: None = ..., keepdims: Literal[False] = ..., *, where: _ArrayLike = ...
) -> bool_: ...
@overload
def any(
    a: _ArrayLike, axis: _IntsLike, out: None = ..., keepdims: builtins.bool = ..., *, where: _ArrayLike = ...
) -> ndarray: ...
@overload
def any(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> Any: ...
def append(arr: _ArrayLike, values: _ArrayLike, axis: _IntLike | None = ...) -> ndarray: ...
def apply_along_axis(func1d: Any, axis: _IntLike, arr: _ArrayLike, *args: Any, **kwargs: Any) -> ndarray: ...
def apply_over_axes(func: Any, a: _ArrayLike, axes: _ArrayLike) -> ndarray: ...
def arange(
    start_or_stop: _ArrayLike,
    /,
    stop: _ArrayLike = ...,
    step: _ArrayLike = ...,
    dtype: _DTypeLike = ...,
    *,
    device: Any = ...,
    like: Any = ...,
) -> ndarray: ...

arccos: _UFunc11
arccosh: _UFunc11
arcsin: _UFunc11
arcsinh: _UFunc11
arctan: _UFunc11
arctan2: _UFunc21
arctanh: _UFunc11

@overload
def argmax(a: _ArrayLike, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
@overload
def argmax(a: _ArrayLike, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
@overload
def argmax(a: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
@overload
def argmin(a: _ArrayLike, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
@overload
def argmin(a: _ArrayLike, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
@overload
def argmin(a: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
def argpartition(
    a: _ArrayLike, kth: _ArrayLike, axis: _IntLike | None = ..., kind: str = ..., order: object = ...
) -> Any: ...
def argsort(
    a: _ArrayLike,
    axis: _IntLike | None = ...,
    kind: str | None = ...,
    order: object = ...,
    *,
    stable: builtins.bool | None = ...,
    descending: builtins.bool = ...,
) -> Any: ...
def argwhere(a: _ArrayLike) -> Any: ...
def around(a: _ArrayLike, decimals: _IntLike = ..., out: Any = ...) -> Any: ...
def array(
    object: Any,
    dtype: Any = ...,
    *,
    copy: builtins.bool | None = ...,
    order: str = ...,
    subok: builtins.bool = ...,
    ndmin: int = ...,
    ndmax: int = ...,
    like: Any = ...,
) -> ndarray: ...
def array_equal(a1: _ArrayLike, a2: _ArrayLike, equal_nan: builtins.bool = ...) -> builtins.bool: ...
def array_equiv(a1: _ArrayLike, a2: _ArrayLike) -> builtins.bool: ...
def array_split(ary: _ArrayLike, indices_or_sections: _ArrayLike, axis: _IntLike = ...) -> list[ndarray]: ...
def asanyarray(
    a: Any,
    dtype: Any = ...,
    order: str | None = ...,
    *,
    device: Any = ...,
    copy: builtins.bool | None = ...,
    like: Any = ...,
) -> ndarray: ...
def asarray(
    a: Any,
    dtype: Any = ...,
    order: str | None = ...,
    *,
    device: Any = ...,
    copy: builtins.bool | None = ...,
    like: Any = ...,
) -> ndarray: ...
def asarray_chkfinite(a: Any, dtype: Any = ..., order: str | None = ...) -> ndarray: ...
def ascontiguousarray(a: Any, dtype: Any = ..., *, like: Any = ...) -> ndarray: ...
def asfortranarray(a: Any, dtype: Any = ..., *, like: Any = ...) -> ndarray: ...

asin: _UFunc11
asinh: _UFunc11
atan: _UFunc11
atan2: _UFunc21
atanh: _UFunc11

def atleast_1d(*arys: _ArrayLike) -> Any: ...
def atleast_2d(*arys: _ArrayLike) -> Any: ...
def atleast_3d(*arys: _ArrayLike) -> Any: ...
@overload
def attribute(
    f: Callable[..., Any],
    x: torch.Tensor,
    /,
    *,
    baseline: Any = ...,
    baselines: Any = ...,
    output: Any = ...,
    argnums: int | Sequence[int] | None = ...,
    method: str | None = ...,
    mode: str | None = ...,
    order: int = ...,
    axis: int | tuple[int, ...] | None = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
    steps: int | None = ...,
    rtol: float | None = ...,
    samples: int | str | None = ...,
    seed: int | None = ...,
    batched: builtins.bool | str = ...,
    chunk_size: int | None = ...,
    max_memory: int | None = ...,
    progress: Any = ...,
    create_graph: builtins.bool = ...,
    at: None = ...,
    paths: builtins.bool = ...,
    hierarchy: Any = ...,
    absent: Callable[..., Any] | None = ...,
    mesh: Any = ...,
) -> Attribution[torch.Tensor]: ...
@overload
def attribute(
    f: Callable[..., Any],
    x: ndarray,
    /,
    *,
    baseline: Any = ...,
    baselines: Any = ...,
    output: Any = ...,
    argnums: int | Sequence[int] | None = ...,
    method: str | None = ...,
    mode: str | None = ...,
    order: int = ...,
    axis: int | tuple[int, ...] | None = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
    steps: int | None = ...,
    rtol: float | None = ...,
    samples: int | str | None = ...,
    seed: int | None = ...,
    batched: builtins.bool | str = ...,
    chunk_size: int | None = ...,
    max_memory: int | None = ...,
    progress: Any = ...,
    create_graph: builtins.bool = ...,
    at: None = ...,
    paths: builtins.bool = ...,
    hierarchy: Any = ...,
    absent: Callable[..., Any] | None = ...,
    mesh: Any = ...,
) -> Attribution[ndarray]: ...
@overload
def attribute(
    f: Callable[..., Any],
    *inputs: Any,
    baseline: Any = ...,
    baselines: Any = ...,
    output: Any = ...,
    argnums: int | Sequence[int] | None = ...,
    method: str | None = ...,
    mode: str | None = ...,
    order: int = ...,
    axis: int | tuple[int, ...] | None = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
    steps: int | None = ...,
    rtol: float | None = ...,
    samples: int | str | None = ...,
    seed: int | None = ...,
    batched: builtins.bool | str = ...,
    chunk_size: int | None = ...,
    max_memory: int | None = ...,
    progress: Any = ...,
    create_graph: builtins.bool = ...,
    at: Any = ...,
    paths: builtins.bool = ...,
    hierarchy: Any = ...,
    absent: Callable[..., Any] | None = ...,
    mesh: Any = ...,
) -> Attribution[Any]: ...
def average(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    weights: _ArrayLike = ...,
    returned: builtins.bool = ...,
    *,
    keepdims: builtins.bool = ...,
) -> Any: ...
def bartlett(M: _ArrayLike) -> ndarray: ...
def bincount(x: _ArrayLike, /, weights: _ArrayLike = ..., minlength: _IntLike = ...) -> Any: ...

bitwise_and: _UFunc21
bitwise_count: _UFunc11
bitwise_invert: _UFunc11
bitwise_left_shift: _UFunc21
bitwise_not: _UFunc11
bitwise_or: _UFunc21
bitwise_right_shift: _UFunc21
bitwise_xor: _UFunc21

def blackman(M: _ArrayLike) -> ndarray: ...
def block(arrays: Any) -> ndarray: ...

bool = bool_

def broadcast_arrays(*args: _ArrayLike, subok: builtins.bool = ...) -> tuple[ndarray, ...]: ...
def broadcast_shapes(*args: Any) -> Any: ...
def broadcast_to(array: _ArrayLike, shape: _IntsLike, subok: builtins.bool = ...) -> ndarray: ...

cbrt: _UFunc11
ceil: _UFunc11
byte = int8
c_: CClass
cdouble = complex128

def choose(a: _ArrayLike, choices: object, out: Any = ..., mode: str = ...) -> Any: ...
def clip(
    a: _ArrayLike,
    a_min: _ArrayLike = ...,
    a_max: _ArrayLike = ...,
    out: Any = ...,
    *,
    min: _ArrayLike = ...,
    max: _ArrayLike = ...,
    **kwargs: Any,
) -> Any: ...
def column_stack(tup: _ArrayLike) -> ndarray: ...
def common_type(*arrays: Any) -> type[generic]: ...
def compress(condition: _ArrayLike, a: _ArrayLike, axis: _IntLike | None = ..., out: Any = ...) -> ndarray: ...
def concat(
    arrays: _ArrayLike, /, axis: _IntLike | None = ..., out: Any = ..., *, dtype: _DTypeLike = ..., casting: str = ...
) -> ndarray: ...
def concatenate(
    arrays: _ArrayLike, /, axis: _IntLike | None = ..., out: Any = ..., *, dtype: _DTypeLike = ..., casting: str = ...
) -> ndarray: ...

conj: _UFunc11
conjugate: _UFunc11

def convolve(a: _ArrayLike, v: _ArrayLike, mode: str = ...) -> Any: ...
def copy(a: _ArrayLike, order: str = ..., subok: builtins.bool = ...) -> ndarray: ...

copysign: _UFunc21

def copyto(dst: _ArrayLike, src: _ArrayLike, casting: str = ..., where: _ArrayLike = ...) -> None: ...
def corrcoef(x: _ArrayLike, y: _ArrayLike = ..., rowvar: builtins.bool = ..., *, dtype: _DTypeLike = ...) -> Any: ...
def correlate(a: _ArrayLike, v: _ArrayLike, mode: str = ...) -> Any: ...

cos: _UFunc11
cosh: _UFunc11

def count_nonzero(a: _ArrayLike, axis: _IntsLike | None = ..., *, keepdims: builtins.bool = ...) -> Any: ...
def cov(
    m: _ArrayLike,
    y: _ArrayLike = ...,
    rowvar: builtins.bool = ...,
    bias: builtins.bool = ...,
    ddof: _IntLike | None = ...,
    fweights: _ArrayLike = ...,
    aweights: _ArrayLike = ...,
    *,
    dtype: _DTypeLike = ...,
) -> ndarray: ...
def cross(
    a: _ArrayLike,
    b: _ArrayLike,
    axisa: _IntLike = ...,
    axisb: _IntLike = ...,
    axisc: _IntLike = ...,
    axis: _IntLike | None = ...,
) -> ndarray: ...

csingle = complex64

def cumprod(a: _ArrayLike, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
def cumsum(a: _ArrayLike, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
def cumulative_prod(
    x: _ArrayLike,
    /,
    *,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    include_initial: builtins.bool = ...,
) -> Any: ...
def cumulative_sum(
    x: _ArrayLike,
    /,
    *,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    include_initial: builtins.bool = ...,
) -> Any: ...
@overload
def decompose(
    x: tuple[torch.Tensor, ...],
    axis: int | tuple[int, ...] | None = ...,
    *,
    baseline: Any = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
) -> tuple[DecomposedTensor, ...]: ...
@overload
def decompose(
    x: tuple[ndarray, ...],
    axis: int | tuple[int, ...] | None = ...,
    *,
    baseline: Any = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
) -> tuple[ndarray, ...]: ...
@overload
def decompose(
    x: tuple[Any, ...],
    axis: int | tuple[int, ...] | None = ...,
    *,
    baseline: Any = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
) -> tuple[Any, ...]: ...
@overload
def decompose(
    x: torch.Tensor,
    axis: int | tuple[int, ...] | None = ...,
    *,
    baseline: Any = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
) -> DecomposedTensor: ...
@overload
def decompose(
    x: Any,
    axis: int | tuple[int, ...] | None = ...,
    *,
    baseline: Any = ...,
    groups: Any = ...,
    labels: Sequence[Hashable] | None = ...,
) -> ndarray: ...

deg2rad: _UFunc11
degrees: _UFunc11

def delete(arr: _ArrayLike, obj: Any, axis: _IntLike | None = ...) -> ndarray: ...
def diag(v: _ArrayLike, k: _IntLike = ...) -> ndarray: ...
def diag_indices(n: _IntLike, ndim: _IntLike = ...) -> tuple[ndarray, ...]: ...
def diag_indices_from(arr: _ArrayLike) -> tuple[ndarray, ...]: ...
def diagflat(v: _ArrayLike, k: _IntLike = ...) -> ndarray: ...
def diagonal(a: _ArrayLike, offset: _IntLike = ..., axis1: _IntLike = ..., axis2: _IntLike = ...) -> ndarray: ...
def diff(
    a: _ArrayLike, n: _IntLike = ..., axis: _IntLike = ..., prepend: _ArrayLike = ..., append: _ArrayLike = ...
) -> Any: ...
def digitize(x: _ArrayLike, bins: _ArrayLike, right: builtins.bool = ...) -> Any: ...

divide: _UFunc21
divmod: _UFunc22

def dot(a: _ArrayLike, b: _ArrayLike, out: Any = ...) -> Any: ...

double = float64

def dsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[ndarray]: ...
def dstack(tup: _ArrayLike) -> ndarray: ...

e: float

def ediff1d(ary: _ArrayLike, to_end: _ArrayLike = ..., to_begin: _ArrayLike = ...) -> Any: ...
def empty(
    shape: _IntsLike, dtype: _DTypeLike = ..., order: str = ..., *, device: Any = ..., like: Any = ...
) -> ndarray: ...
def empty_like(
    prototype: _ArrayLike,
    /,
    dtype: _DTypeLike = ...,
    order: str = ...,
    subok: builtins.bool = ...,
    shape: _IntsLike | None = ...,
    *,
    device: Any = ...,
) -> ndarray: ...

equal: _UFunc21
exp: _UFunc11
exp2: _UFunc11
euler_gamma: float

def expand_dims(a: _ArrayLike, axis: _IntsLike) -> ndarray: ...

expm1: _UFunc11

def extract(condition: _ArrayLike, arr: _ArrayLike) -> Any: ...
def eye(
    N: _IntLike,
    M: _IntLike | None = ...,
    k: _IntLike = ...,
    dtype: _DTypeLike = ...,
    order: str = ...,
    *,
    device: Any = ...,
    like: Any = ...,
) -> ndarray: ...

fabs: _UFunc11

def fill_diagonal(a: _ArrayLike, val: object, wrap: builtins.bool = ...) -> None: ...
def fix(x: _ArrayLike, out: Any = ...) -> Any: ...
def flatnonzero(a: _ArrayLike) -> Any: ...
def flip(m: _ArrayLike, axis: _IntsLike | None = ...) -> ndarray: ...
def fliplr(m: _ArrayLike) -> ndarray: ...
def flipud(m: _ArrayLike) -> ndarray: ...

float_power: _UFunc21
floor: _UFunc11
floor_divide: _UFunc21
fmax: _UFunc21
fmin: _UFunc21
fmod: _UFunc21
frexp: _UFunc12

def from_dlpack(x: Any, /, *, device: Any = ..., copy: builtins.bool | None = ...) -> ndarray: ...
def frombuffer(buffer: Any, dtype: Any = ..., count: int = ..., offset: int = ..., *, like: Any = ...) -> ndarray: ...
def fromiter(iter: Iterable[Any], dtype: Any, count: int = ..., *, like: Any = ...) -> ndarray: ...
def full(
    shape: _IntsLike,
    fill_value: _ArrayLike,
    dtype: _DTypeLike = ...,
    order: str = ...,
    *,
    device: Any = ...,
    like: Any = ...,
) -> ndarray: ...
def full_like(
    a: _ArrayLike,
    fill_value: _ArrayLike,
    dtype: _DTypeLike = ...,
    order: str = ...,
    subok: builtins.bool = ...,
    shape: _IntsLike | None = ...,
    *,
    device: Any = ...,
) -> ndarray: ...

gcd: _UFunc21

def geomspace(
    start: _ArrayLike,
    stop: _ArrayLike,
    num: _IntLike = ...,
    endpoint: builtins.bool = ...,
    dtype: _DTypeLike = ...,
    axis: _IntLike = ...,
) -> ndarray: ...
def gradient(f: _ArrayLike, *varargs: object, axis: _IntsLike | None = ..., edge_order: _IntLike = ...) -> Any: ...

greater: _UFunc21
greater_equal: _UFunc21
half = float16

def hamming(M: _ArrayLike) -> ndarray: ...
def hanning(M: _ArrayLike) -> ndarray: ...

heaviside: _UFunc21

def histogram(
    a: _ArrayLike,
    bins: object = ...,
    range: object = ...,
    density: builtins.bool | None = ...,
    weights: _ArrayLike = ...,
) -> Any: ...
def histogram2d(
    x: _ArrayLike,
    y: _ArrayLike,
    bins: object = ...,
    range: object = ...,
    density: builtins.bool | None = ...,
    weights: _ArrayLike = ...,
) -> Any: ...
def histogram_bin_edges(a: _ArrayLike, bins: object = ..., range: object = ..., weights: _ArrayLike = ...) -> Any: ...
def histogramdd(
    sample: object,
    bins: object = ...,
    range: object = ...,
    density: builtins.bool | None = ...,
    weights: _ArrayLike = ...,
) -> Any: ...
def hsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[ndarray]: ...
def hstack(tup: _ArrayLike, *, dtype: _DTypeLike = ..., casting: str = ...) -> ndarray: ...

hypot: _UFunc21

def i0(x: _ArrayLike) -> ndarray: ...
def identity(n: _IntLike, dtype: _DTypeLike = ..., *, like: Any = ...) -> ndarray: ...

index_exp: IndexExpression

def indices(dimensions: Any, dtype: _DTypeLike = ..., sparse: builtins.bool = ...) -> Any: ...

inf: float

def inner(a: _ArrayLike, b: _ArrayLike, /) -> Any: ...
def insert(arr: _ArrayLike, obj: Any, values: Any, axis: _IntLike | None = ...) -> ndarray: ...

int_ = int64
intc = int32

def interp(
    x: _ArrayLike,
    xp: _ArrayLike,
    fp: _ArrayLike,
    left: _ArrayLike = ...,
    right: _ArrayLike = ...,
    period: _ArrayLike = ...,
) -> Any: ...
def intersect1d(
    ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: builtins.bool = ..., return_indices: builtins.bool = ...
) -> Any: ...

invert: _UFunc11
intp = int64

def isclose(
    a: _ArrayLike, b: _ArrayLike, rtol: _ArrayLike = ..., atol: _ArrayLike = ..., equal_nan: builtins.bool = ...
) -> Any: ...
def iscomplex(x: _ArrayLike) -> Any: ...

isfinite: _UFunc11

def isin(
    element: _ArrayLike,
    test_elements: _ArrayLike,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    *,
    kind: str | None = ...,
) -> ndarray: ...

isinf: _UFunc11
isnan: _UFunc11
isnat: _UFunc11

def isneginf(x: _ArrayLike, out: Any = ...) -> Any: ...
def isposinf(x: _ArrayLike, out: Any = ...) -> Any: ...
def isreal(x: _ArrayLike) -> Any: ...
def ix_(*args: _ArrayLike) -> tuple[ndarray, ...]: ...
def kaiser(M: _ArrayLike, beta: _ArrayLike) -> ndarray: ...
def kron(a: _ArrayLike, b: _ArrayLike) -> Any: ...

lcm: _UFunc21
ldexp: _UFunc21
left_shift: _UFunc21
less: _UFunc21
less_equal: _UFunc21

def lexsort(keys: _ArrayLike, axis: _IntLike = ...) -> Any: ...
def linspace(
    start: _ArrayLike,
    stop: _ArrayLike,
    num: _IntLike = ...,
    endpoint: builtins.bool = ...,
    retstep: builtins.bool = ...,
    dtype: _DTypeLike = ...,
    axis: _IntLike = ...,
    *,
    device: Any = ...,
) -> Any: ...

log: _UFunc11
log10: _UFunc11
log1p: _UFunc11
log2: _UFunc11
logaddexp: _UFunc21
logaddexp2: _UFunc21
logical_and: _UFunc21
logical_not: _UFunc11
logical_or: _UFunc21
logical_xor: _UFunc21
little_endian: builtins.bool

def logspace(
    start: _ArrayLike,
    stop: _ArrayLike,
    num: _IntLike = ...,
    endpoint: builtins.bool = ...,
    base: _ArrayLike = ...,
    dtype: _DTypeLike = ...,
    axis: _IntLike = ...,
) -> ndarray: ...

long = int64
longlong = int64

def mask_indices(n: _IntLike, mask_func: Callable[..., Any], k: Any = ...) -> tuple[ndarray, ...]: ...

matmul: ufunc

def matrix_transpose(x: _ArrayLike, /) -> ndarray: ...

matvec: ufunc

@overload
def max(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def max(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def max(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...

maximum: _UFunc21

@overload
def mean(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def mean(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def mean(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def median(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    overwrite_input: builtins.bool = ...,
    keepdims: Literal[False] = ...,
) -> _Number: ...
@overload
def median(
    a: _ArrayLike, axis: _IntsLike, out: None = ..., overwrite_input: builtins.bool = ..., keepdims: builtins.bool = ...
) -> ndarray: ...
@overload
def median(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    keepdims: builtins.bool = ...,
) -> Any: ...
def meshgrid(
    *xi: _ArrayLike, copy: builtins.bool = ..., sparse: builtins.bool = ..., indexing: str = ...
) -> tuple[ndarray, ...]: ...

mgrid: nd_grid

@overload
def min(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def min(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def min(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...

minimum: _UFunc21
mod: _UFunc21
modf: _UFunc12

def moveaxis(a: _ArrayLike, source: _IntsLike, destination: _IntsLike) -> ndarray: ...

multiply: _UFunc21
nan: float

def nan_to_num(
    x: _ArrayLike, copy: builtins.bool = ..., nan: _ArrayLike = ..., posinf: _ArrayLike = ..., neginf: _ArrayLike = ...
) -> Any: ...
@overload
def nanargmax(a: _ArrayLike, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
@overload
def nanargmax(a: _ArrayLike, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
@overload
def nanargmax(a: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
@overload
def nanargmin(a: _ArrayLike, axis: None = ..., out: None = ..., *, keepdims: Literal[False] = ...) -> int64: ...
@overload
def nanargmin(a: _ArrayLike, axis: _IntLike, out: None = ..., *, keepdims: builtins.bool = ...) -> ndarray: ...
@overload
def nanargmin(a: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., *, keepdims: builtins.bool = ...) -> Any: ...
def nancumprod(a: _ArrayLike, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
def nancumsum(a: _ArrayLike, axis: _IntLike | None = ..., dtype: _DTypeLike = ..., out: Any = ...) -> Any: ...
@overload
def nanmax(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def nanmax(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def nanmax(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def nanmean(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def nanmean(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def nanmean(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def nanmedian(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    overwrite_input: builtins.bool = ...,
    keepdims: Literal[False] = ...,
) -> _Number: ...
@overload
def nanmedian(
    a: _ArrayLike, axis: _IntsLike, out: None = ..., overwrite_input: builtins.bool = ..., keepdims: builtins.bool = ...
) -> ndarray: ...
@overload
def nanmedian(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    keepdims: builtins.bool = ...,
) -> Any: ...
@overload
def nanmin(
    a: _ArrayLike,
    axis: None = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def nanmin(
    a: _ArrayLike,
    axis: _IntsLike,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def nanmin(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
def nanpercentile(
    a: _ArrayLike,
    q: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    method: str = ...,
    keepdims: builtins.bool = ...,
    *,
    weights: _ArrayLike = ...,
) -> Any: ...
@overload
def nanprod(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def nanprod(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def nanprod(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
def nanquantile(
    a: _ArrayLike,
    q: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    method: str = ...,
    keepdims: builtins.bool = ...,
    *,
    weights: _ArrayLike = ...,
) -> Any: ...
@overload
def nanstd(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: float = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> _Number: ...
@overload
def nanstd(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: float = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> ndarray: ...
@overload
def nanstd(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    ddof: float = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> Any: ...
@overload
def nansum(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def nansum(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def nansum(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def nanvar(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: float = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> _Number: ...
@overload
def nanvar(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: float = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> ndarray: ...
@overload
def nanvar(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    ddof: float = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: float = ...,
) -> Any: ...
def ndim(a: _ArrayLike) -> int: ...

negative: _UFunc11
nextafter: _UFunc21
newaxis: None

def nonzero(a: _ArrayLike) -> Any: ...

not_equal: _UFunc21
ogrid: nd_grid

def ones(
    shape: _IntsLike, dtype: _DTypeLike = ..., order: str = ..., *, device: Any = ..., like: Any = ...
) -> ndarray: ...
def ones_like(
    a: _ArrayLike,
    dtype: _DTypeLike = ...,
    order: str = ...,
    subok: builtins.bool = ...,
    shape: _IntsLike | None = ...,
    *,
    device: Any = ...,
) -> ndarray: ...
def outer(a: _ArrayLike, b: _ArrayLike, out: Any = ...) -> ndarray: ...
def packbits(a: _ArrayLike, /, axis: _IntLike | None = ..., bitorder: str = ...) -> ndarray: ...
def pad(array: _ArrayLike, pad_width: Any, mode: Any = ..., **kwargs: Any) -> ndarray: ...
def partition(
    a: _ArrayLike, kth: _ArrayLike, axis: _IntLike | None = ..., kind: str = ..., order: object = ...
) -> Any: ...
def percentile(
    a: _ArrayLike,
    q: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    method: str = ...,
    keepdims: builtins.bool = ...,
    *,
    weights: _ArrayLike = ...,
) -> Any: ...
def permute_dims(a: _ArrayLike, axes: _IntsLike | None = ...) -> ndarray: ...

pi: float

def piecewise(x: _ArrayLike, condlist: object, funclist: object, *args: Any, **kw: Any) -> ndarray: ...
def place(arr: _ArrayLike, mask: _ArrayLike, vals: object) -> None: ...
def poly(seq_of_zeros: _ArrayLike) -> Any: ...
def polyadd(a1: _ArrayLike, a2: _ArrayLike) -> ndarray: ...
def polyder(p: _ArrayLike, m: _IntLike = ...) -> ndarray: ...
def polydiv(u: _ArrayLike, v: _ArrayLike) -> Any: ...
def polyfit(
    x: _ArrayLike,
    y: _ArrayLike,
    deg: Any,
    rcond: float | None = ...,
    full: builtins.bool = ...,
    w: _ArrayLike = ...,
    cov: Any = ...,
) -> Any: ...
def polyint(p: _ArrayLike, m: _IntLike = ..., k: _ArrayLike = ...) -> ndarray: ...
def polymul(a1: _ArrayLike, a2: _ArrayLike) -> ndarray: ...
def polysub(a1: _ArrayLike, a2: _ArrayLike) -> ndarray: ...
def polyval(p: _ArrayLike, x: _ArrayLike) -> Any: ...

positive: _UFunc11
pow: _UFunc21
power: _UFunc21

@overload
def prod(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def prod(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def prod(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
@overload
def ptp(a: _ArrayLike, axis: None = ..., out: None = ..., keepdims: Literal[False] = ...) -> _Number: ...
@overload
def ptp(a: _ArrayLike, axis: _IntsLike, out: None = ..., keepdims: builtins.bool = ...) -> ndarray: ...
@overload
def ptp(a: _ArrayLike, axis: _IntsLike | None = ..., out: Any = ..., keepdims: builtins.bool = ...) -> Any: ...
def put(a: _ArrayLike, ind: _ArrayLike, v: object, mode: str = ...) -> None: ...
def put_along_axis(arr: _ArrayLike, indices: _ArrayLike, values: object, axis: _IntLike | None) -> None: ...
def putmask(a: _ArrayLike, /, mask: _ArrayLike, values: object) -> None: ...
def quantile(
    a: _ArrayLike,
    q: _ArrayLike,
    axis: _IntsLike | None = ...,
    out: Any = ...,
    overwrite_input: builtins.bool = ...,
    method: str = ...,
    keepdims: builtins.bool = ...,
    *,
    weights: _ArrayLike = ...,
) -> Any: ...

rad2deg: _UFunc11
radians: _UFunc11
r_: RClass

def ravel(a: _ArrayLike, order: str = ...) -> ndarray: ...
def ravel_multi_index(multi_index: _ArrayLike, dims: _IntsLike, mode: Any = ..., order: str = ...) -> Any: ...
def real_if_close(a: _ArrayLike, tol: float = ...) -> ndarray: ...

reciprocal: _UFunc11
remainder: _UFunc21

def repeat(a: _ArrayLike, repeats: _ArrayLike, axis: _IntLike | None = ...) -> ndarray: ...
def require(a: Any, dtype: Any = ..., requirements: Any = ..., *, like: Any = ...) -> ndarray: ...
def reshape(a: _ArrayLike, /, shape: _IntsLike, order: str = ..., *, copy: builtins.bool | None = ...) -> ndarray: ...
def resize(a: _ArrayLike, new_shape: _IntsLike) -> ndarray: ...

right_shift: _UFunc21
rint: _UFunc11

def roll(a: _ArrayLike, shift: _IntsLike, axis: _IntsLike | None = ...) -> ndarray: ...
def rollaxis(a: _ArrayLike, axis: _IntLike, start: _IntLike = ...) -> ndarray: ...
def roots(p: _ArrayLike) -> ndarray: ...
def rot90(m: _ArrayLike, k: _IntLike = ..., axes: _IntsLike = ...) -> ndarray: ...
def round(a: _ArrayLike, decimals: _IntLike = ..., out: Any = ...) -> Any: ...
def row_stack(tup: _ArrayLike, *, dtype: _DTypeLike = ..., casting: str = ...) -> ndarray: ...

s_: IndexExpression
sctypeDict: dict[str, Any]

def searchsorted(a: _ArrayLike, v: _ArrayLike, side: str = ..., sorter: _ArrayLike = ...) -> Any: ...
def select(condlist: _ArrayLike, choicelist: object, default: object = ...) -> ndarray: ...
def setdiff1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: builtins.bool = ...) -> Any: ...
def setxor1d(ar1: _ArrayLike, ar2: _ArrayLike, assume_unique: builtins.bool = ...) -> Any: ...
def shape(a: _ArrayLike) -> tuple[int, ...]: ...

sign: _UFunc11
signbit: _UFunc11
sin: _UFunc11
short = int16

def sinc(x: _ArrayLike) -> Any: ...

sinh: _UFunc11
single = float32

def size(a: _ArrayLike, axis: _IntsLike | None = ...) -> int: ...
def sort(
    a: _ArrayLike,
    axis: _IntLike | None = ...,
    kind: str | None = ...,
    order: object = ...,
    *,
    stable: builtins.bool | None = ...,
    descending: builtins.bool = ...,
) -> Any: ...
def sort_complex(a: _ArrayLike) -> Any: ...

spacing: _UFunc11

def split(ary: _ArrayLike, indices_or_sections: _ArrayLike, axis: _IntLike = ...) -> list[ndarray]: ...

sqrt: _UFunc11
square: _UFunc11

def squeeze(a: _ArrayLike, axis: _IntsLike | None = ...) -> ndarray: ...
def stack(
    arrays: _ArrayLike, axis: _IntLike = ..., out: Any = ..., *, dtype: _DTypeLike = ..., casting: str = ...
) -> ndarray: ...
@overload
def std(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: _ArrayLike = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> _Number: ...
@overload
def std(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: _ArrayLike = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> ndarray: ...
@overload
def std(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    ddof: _ArrayLike = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> Any: ...

subtract: _UFunc21

@overload
def sum(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: Literal[False] = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> _Number: ...
@overload
def sum(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> ndarray: ...
@overload
def sum(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    keepdims: builtins.bool = ...,
    initial: _ArrayLike = ...,
    where: _ArrayLike = ...,
) -> Any: ...
def swapaxes(a: _ArrayLike, axis1: _IntLike, axis2: _IntLike) -> ndarray: ...
def take(a: _ArrayLike, indices: _ArrayLike, axis: _IntLike | None = ..., out: Any = ..., mode: str = ...) -> Any: ...
def take_along_axis(arr: _ArrayLike, indices: _ArrayLike, axis: _IntLike | None = ...) -> ndarray: ...

tan: _UFunc11
tanh: _UFunc11

def tensordot(a: _ArrayLike, b: _ArrayLike, axes: Any = ...) -> ndarray: ...
def tile(A: _ArrayLike, reps: _IntsLike) -> ndarray: ...
def trace(
    a: _ArrayLike,
    offset: _IntLike = ...,
    axis1: _IntLike = ...,
    axis2: _IntLike = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
) -> Any: ...
def transpose(a: _ArrayLike, axes: _IntsLike | None = ...) -> ndarray: ...
def trapezoid(y: _ArrayLike, x: _ArrayLike = ..., dx: _ArrayLike = ..., axis: _IntLike = ...) -> Any: ...
def tri(
    N: _IntLike, M: _IntLike | None = ..., k: _IntLike = ..., dtype: _DTypeLike = ..., *, like: Any = ...
) -> ndarray: ...
def tril(m: _ArrayLike, k: _IntLike = ...) -> ndarray: ...
def tril_indices(n: _IntLike, k: _IntLike = ..., m: _IntLike | None = ...) -> tuple[ndarray, ...]: ...
def tril_indices_from(arr: _ArrayLike, k: _IntLike = ...) -> tuple[ndarray, ...]: ...
def trim_zeros(filt: object, trim: str = ..., axis: _IntsLike | None = ...) -> Any: ...
def triu(m: _ArrayLike, k: _IntLike = ...) -> ndarray: ...
def triu_indices(n: _IntLike, k: _IntLike = ..., m: _IntLike | None = ...) -> tuple[ndarray, ...]: ...
def triu_indices_from(arr: _ArrayLike, k: _IntLike = ...) -> tuple[ndarray, ...]: ...

true_divide: _UFunc21
trunc: _UFunc11
typecodes: dict[str, Any]
ubyte = uint8
uint = uint64
uintc = uint32
uintp = uint64
ulong = uint64
ulonglong = uint64

def union1d(ar1: _ArrayLike, ar2: _ArrayLike) -> Any: ...
def unique(
    ar: _ArrayLike,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: Any = ...,
    *,
    equal_nan: builtins.bool = ...,
    sorted: builtins.bool = ...,
) -> Any: ...
def unique_all(x: _ArrayLike) -> tuple[ndarray, ...]: ...
def unique_counts(x: _ArrayLike) -> Any: ...
def unique_inverse(x: _ArrayLike) -> tuple[ndarray, ...]: ...
def unique_values(x: _ArrayLike) -> Any: ...
def unpackbits(
    a: _ArrayLike, /, axis: _IntLike | None = ..., count: _IntLike | None = ..., bitorder: str = ...
) -> ndarray: ...
def unravel_index(indices: _ArrayLike, shape: _IntsLike, order: str = ...) -> Any: ...
def unstack(x: _ArrayLike, /, *, axis: _IntLike = ...) -> tuple[ndarray, ...]: ...
def unwrap(p: _ArrayLike, discont: _ArrayLike = ..., axis: _IntLike = ..., *, period: _ArrayLike = ...) -> ndarray: ...

ushort = uint16

def vander(x: _ArrayLike, N: _IntLike | None = ..., increasing: builtins.bool = ...) -> ndarray: ...
@overload
def var(
    a: _ArrayLike,
    axis: None = ...,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: _ArrayLike = ...,
    keepdims: Literal[False] = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> _Number: ...
@overload
def var(
    a: _ArrayLike,
    axis: _IntsLike,
    dtype: _DTypeLike = ...,
    out: None = ...,
    ddof: _ArrayLike = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> ndarray: ...
@overload
def var(
    a: _ArrayLike,
    axis: _IntsLike | None = ...,
    dtype: _DTypeLike = ...,
    out: Any = ...,
    ddof: _ArrayLike = ...,
    keepdims: builtins.bool = ...,
    *,
    where: _ArrayLike = ...,
    mean: _ArrayLike = ...,
    correction: _ArrayLike = ...,
) -> Any: ...
def vdot(a: _ArrayLike, b: _ArrayLike, /) -> Any: ...

vecdot: ufunc
vecmat: ufunc

def vsplit(ary: _ArrayLike, indices_or_sections: _ArrayLike) -> list[ndarray]: ...
def vstack(tup: _ArrayLike, *, dtype: _DTypeLike = ..., casting: str = ...) -> ndarray: ...
@overload
def where(condition: _ArrayLike, x: Any, y: Any, /) -> ndarray: ...
@overload
def where(condition: _ArrayLike, x: _ArrayLike = ..., y: _ArrayLike = ..., /) -> Any: ...
def zeros(
    shape: _IntsLike, dtype: _DTypeLike = ..., order: str = ..., *, device: Any = ..., like: Any = ...
) -> ndarray: ...
def zeros_like(
    a: _ArrayLike,
    dtype: _DTypeLike = ...,
    order: str = ...,
    subok: builtins.bool = ...,
    shape: _IntsLike | None = ...,
    *,
    device: Any = ...,
) -> ndarray: ...
