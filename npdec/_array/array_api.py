"""What the array API standard asks of a namespace beside its functions: its version, dtypes, devices and limits."""

from __future__ import annotations

from typing import Any

import torch

from npdec._array.convert import MAX_NDIM
from npdec._dtypes.dtype import dtype as dtype_class
from npdec._impl import dtypes_impl
from npdec._impl._devices import as_device, current_device

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

# The dtypes of the standard, and the kinds by which it asks for them. float16 and bfloat16 are extensions.
_DTYPES = {
    "bool": torch.bool,
    **{f"int{bits}": getattr(torch, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(torch, f"uint{bits}") for bits in (8, 16, 32, 64)},
    "float32": torch.float32,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}
_WITHOUT_DOUBLES = ("mps",)  # the kinds of devices that have neither float64 nor complex128


class __array_namespace_info__:
    """What an array library can do, by the array API standard: `np.__array_namespace_info__()`.

    >>> np.__array_namespace_info__().capabilities()["max dimensions"]
    64
    """

    __module__ = "npdec"

    def capabilities(self) -> dict[str, Any]:
        """Which optional parts of the standard work, and how many axes an array may have.

        >>> np.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_NDIM}

    def default_device(self) -> torch.device:
        """The device on which new arrays are made: that of `np.set_default_device`, or torch's.

        >>> np.__array_namespace_info__().default_device()
        device(type='cpu')
        """
        return current_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of new numbers, by kind: "real floating", "complex floating", "integral", "indexing".

        Raises ValueError for what is no device of torch.

        >>> np.__array_namespace_info__().default_dtypes()["indexing"]
        dtype('int64')
        """
        as_device(device)
        return {
            "real floating": dtype_class(torch.float64),
            "complex floating": dtype_class(torch.complex128),
            "integral": dtype_class(torch.int64),
            "indexing": dtype_class(torch.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of the standard that a device has, by name; only those of a kind of `np.isdtype`, or of a tuple of
        kinds. Raises ValueError for an unknown kind or device.

        >>> np.__array_namespace_info__().dtypes(kind="complex floating")
        {'complex64': dtype('complex64'), 'complex128': dtype('complex128')}
        """
        wide = current_device(device).type not in _WITHOUT_DOUBLES
        letters = "biufc" if kind is None else ""
        for word in () if kind is None else kind if isinstance(kind, tuple) else (kind,):
            if word not in dtypes_impl.KINDS:
                raise ValueError(f"unsupported kind: {word!r}")
            letters += dtypes_impl.KINDS[word]
        return {
            name: dtype_class(found)
            for name, found in _DTYPES.items()
            if dtypes_impl.kind(found) in letters and (wide or found not in (torch.float64, torch.complex128))
        }

    def devices(self) -> list[torch.device]:
        """The devices of this machine: the host, and each accelerator that torch finds.

        >>> np.__array_namespace_info__().devices()[0]
        device(type='cpu')
        """
        found = [torch.device("cpu")]
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        if accelerator is not None:
            found += [torch.device(accelerator.type, index) for index in range(torch.accelerator.device_count())]
        return found
