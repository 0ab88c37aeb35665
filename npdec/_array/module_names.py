"""Names that torch's modules ask of their inputs, and that NumPy's arrays do not have.

They are no attributes of an array: `hasattr` is false. But who hands an array to a module written for tensors is
told what to hand over. (A `__getattr__` would say it of all names, and make whatever looks for an attribute slower.)
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["OfTensors"]


class OfTensors:
    """A name that raises AttributeError and says that it is one of tensors."""

    __slots__ = ("name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, array: Any, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__} object has no attribute {self.name!r}, which torch's tensors have: give a module or "
            "function that is written for tensors the array's tensor, x.tensor, or decompose a tensor "
            "(np.decompose(torch.tensor(...)))",
            name=self.name,
            obj=array,
        )
