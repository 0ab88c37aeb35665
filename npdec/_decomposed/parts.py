"""What the modules of the decomposed tensor know of one another: annotations name these, so that imports go one way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol
from weakref import WeakSet, ref

import torch

from npdec._decomposed.components import Components
from npdec._torch.interrupts import Step

__all__ = ["Decomposed", "Labels", "Views"]

Labels = tuple[Hashable, ...]


class Decomposed(Protocol):
    """A decomposed tensor (`npdec._decomposed.tensor.DecomposedTensor`, which says what the attributes are)."""

    value: torch.Tensor
    residual: torch.Tensor
    components: Any
    labels: Labels
    reverse: bool
    kept: Components | None
    views: Views | None

    @property
    def ndim(self) -> int:
        """The number of axes of the value."""


class Views(list["ref[Any]"]):
    """Weak references to the decomposed tensors over one memory; dead ones are dropped when it has doubled.

    `loose` says that some have their values in common, but not their residuals or components: a view of a tensor whose
    parts do not lie in memory as its value does may be a copy of them, or elements of a part may be one in memory where
    those of the value are several. `lazy` says that of some it is not known yet. Their components may be lent to
    products that are yet to be made of them (`npdec._decomposed.lazy_products`).
    """

    __slots__ = ("__weakref__", "borrowers", "due", "lazy", "limit", "loose", "others", "shared")

    def __init__(self, members: Iterable[Any]) -> None:
        super().__init__(map(ref, members))
        self.limit, self.loose, self.lazy = 16, False, False
        self.borrowers: WeakSet[Any] | None = None
        self.due: Sequence[Step] = ()
        self.shared: Any = (
            None  # npdec._decomposed.shared_entries.Shared: what the write changes, if that is not components
        )
        self.others: Sequence[Any] = ()

    def lend(self, product: Components) -> None:
        if self.borrowers is None:
            self.borrowers = WeakSet()
        self.borrowers.add(product)

    def call_in(self) -> None:
        """Have the products made, as the components are about to be written, or known to others."""
        for product in list(self.borrowers or ()):
            product.dense()
        self.borrowers = None

    def living(self) -> list[Any]:
        return [tensor for member in self if (tensor := member()) is not None]
