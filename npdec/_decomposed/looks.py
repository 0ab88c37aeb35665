"""What a decomposed tensor says of itself without being dispatched: shape, dtype and place are those of its value."""

from __future__ import annotations

from typing import Any

__all__ = ["Looks"]


class Looks:
    """Attributes and methods of tensors that look at no number. Through `__torch_function__` each takes fifteen times
    as long, and a function of NumPy's reads ten of them."""

    value: Any

    @property
    def shape(self) -> Any:
        """The lengths of the axes."""
        return self.value.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.value.dtype

    @property
    def device(self) -> Any:
        """Where the value is."""
        return self.value.device

    @property
    def ndim(self) -> Any:
        """The number of axes."""
        return self.value.ndim

    @property
    def is_cpu(self) -> Any:
        """Whether the value is in the host's memory."""
        return self.value.is_cpu

    @property
    def is_meta(self) -> Any:
        """Whether the value has no memory."""
        return self.value.is_meta

    @property
    def layout(self) -> Any:
        """How the value lies in memory."""
        return self.value.layout

    def dim(self) -> Any:
        """The number of axes."""
        return self.value.dim()

    def size(self, *args: Any, **kwargs: Any) -> Any:
        """The lengths of the axes, or of one."""
        return self.value.size(*args, **kwargs)

    def numel(self) -> Any:
        """The number of elements."""
        return self.value.numel()

    def stride(self, *args: Any, **kwargs: Any) -> Any:
        """The strides, in elements, or that of one axis."""
        return self.value.stride(*args, **kwargs)

    def is_floating_point(self) -> Any:
        """Whether the dtype is one of real numbers."""
        return self.value.is_floating_point()

    def is_complex(self) -> Any:
        """Whether the dtype is one of complex numbers."""
        return self.value.is_complex()

    def is_contiguous(self, *args: Any, **kwargs: Any) -> Any:
        """Whether the elements of the value lie in memory in their order."""
        return self.value.is_contiguous(*args, **kwargs)
