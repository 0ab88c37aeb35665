"""The root class of arrays and scalars: what both hold, with no behaviour, so that any module can import it."""

from __future__ import annotations

from typing import Any

import torch


class ArrayBase:
    """Anything that holds a tensor: `Composition` (an array) or a scalar type (`np.float64`, ...).

    `_t` is the tensor (a plain one, or a DecomposedTensor), `_d` its torch dtype, kept beside it because reading it
    from the tensor costs as much as creating the array. Both are set once, by `npdec._wrap`.
    Methods and operators are attached to this class by `npdec._operators`.
    """

    __slots__ = ()

    _t: torch.Tensor
    _d: torch.dtype


class Poly1dBase:
    """What `np.poly1d` is: an object that stands for the array of its coefficients, and that makes functions of
    polynomials (parameters tagged `Coefficients`) give polynomials. Defined by `npdec._poly1d`."""

    coeffs: Any

    @classmethod
    def _through(cls, name: str, arguments: tuple[Any, ...]) -> Any:
        """The result of the public function of this name, where one of the arguments is a polynomial."""
        raise NotImplementedError
