"""Products of components with a matrix, made when somebody asks.

What a linear layer makes of each component is a product with its weights, and often most of it is never looked at: a
model of language gives the scores of all words after each token, of which those after the last are read; a classifier
takes the mean over the tokens of what its last block made. So a large product is put off. A selection or mean of rows
is taken of the rows before the product, a selection of columns of the matrix, and a sum starts from the other term.
Whatever else asks for the components makes them.

The matrix is copied, as nothing tells who writes to it. The rows are lent by the tensor whose components they are:
before that, or a view of it, is written, the product is made (`npdec._decomposed.aliasing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from npdec._decomposed.aliasing import family
from npdec._decomposed.batching_rules import batch_rule, is_basic
from npdec._decomposed.call import Call
from npdec._decomposed.components import Components, LinearCall, Use
from npdec._decomposed.parts import Views
from npdec._decomposed.registry import Trait
from npdec._impl.getitem_impl import full_key
from npdec._torch.functorch import is_transformed
from npdec._torch.tracing import tracing

__all__ = ["LARGE", "LazyProduct", "lazy_product"]

LARGE = 2**14  # elements in a matrix, from which on its product is put off
_WIDE = 8  # how many times as long rows before or after the product may be, or are that of a network's last layer

_MATRICES = (torch.Tensor, torch.nn.Parameter)


class LazyProduct(Components):
    """The components `rest + rows @ matrix`, not yet made: rows (C, *S, k), a matrix (k, n) or vector (k,), and the
    rest (C, *S, n) or None. `lenders` are the tensors whose components the rows and the rest are."""

    __slots__ = ("__weakref__", "lenders", "made", "matrix", "rest", "rows", "versions")

    uses = Use.LINEAR

    def __init__(
        self, rows: torch.Tensor, matrix: torch.Tensor, rest: torch.Tensor | None, lenders: Sequence[Views]
    ) -> None:
        self.rows, self.matrix, self.rest, self.lenders = rows, matrix, rest, lenders
        self.versions = rows._version, 0 if rest is None else rest._version
        self.made: torch.Tensor | None = None
        for views in lenders:
            views.lend(self)

    @classmethod
    def of(cls, components: torch.Tensor) -> LazyProduct:
        """The same components, times a matrix of ones and zeros."""
        n = components.shape[-1]
        return cls(components, torch.eye(n, dtype=components.dtype, device=components.device), None, [])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the components."""
        return (*self.rows.shape[:-1], *self.matrix.shape[1:]) if self.made is None else tuple(self.made.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.rows.dtype if self.made is None else self.made.dtype

    def is_true(self, components: torch.Tensor | None) -> bool:
        return components is None and self.made is None

    def linear(self, at: LinearCall) -> Any:
        return _moved(at.call, at.components, at.value)

    def dense(self) -> torch.Tensor:
        """The components (C, *S, n)."""
        if self.made is None:
            device = self.rows.device.type
            with torch.inference_mode(False), torch.no_grad():
                if torch.is_autocast_enabled(device):
                    with torch.autocast(device, enabled=False):
                        self.made = self._product()
                else:
                    self.made = self._product()
            self.rows = self.matrix = self.rest = None  # type: ignore[assignment]
        return self.made

    def check(self) -> None:
        """Raise RuntimeError if what it is to be made of is no longer what it was."""
        if self.versions != (self.rows._version, 0 if self.rest is None else self.rest._version):
            raise RuntimeError(
                "the components of an input of a linear layer were written to before those of its result were read: "
                "read `.components` of the result before, or write to a copy"
            )

    def _product(self) -> torch.Tensor:
        self.check()
        if self.rest is None:
            return torch.matmul(self.rows, self.matrix)
        if self.matrix.ndim < 2:
            return self.rest + torch.matmul(self.rows, self.matrix)
        made = torch.addmm(self.rest.flatten(0, -2), self.rows.flatten(0, -2), self.matrix)
        return made.view(self.rest.shape)


def _is_worth(rows: torch.Tensor, matrix: torch.Tensor) -> bool:
    """Whether a product is worth more than the copy of its matrix, and keeping the rows that it is made of; and whether
    the layer is one that ends a block or a network. All others are followed by functions that ask for the product."""
    if rows.ndim < 4 or matrix.ndim < 2 or matrix.numel() < LARGE:
        return False
    k, n = matrix.shape
    return 2 * rows.numel() >= k * k and (2 * n <= k <= _WIDE * n or _WIDE * k <= n)


def lazy_product(call: Call, rows: torch.Tensor) -> LazyProduct | None:
    """The product of components with a constant matrix that the call is, put off; None if it is not worth it."""
    if tracing() or not call.traits & Trait.PRODUCT or rows.ndim < 4 or len(call.decomposed) > 1 or call.reverse:
        return None
    leaf = call.decomposed[0]
    if leaf.place is not None or leaf.key not in (0, "input", "self"):
        return None
    layer = call.traits & Trait.LAYER
    given: Any = call.args[1] if len(call.args) > 1 else call.kwargs.get("weight" if layer else "other")
    if type(given) not in _MATRICES or given.ndim != 2 or given.dtype is not rows.dtype or not _is_plain(rows, given):
        return None
    matrix = given.detach().t() if layer else given.detach()
    return LazyProduct(rows.detach(), matrix.clone(), None, [family(leaf.tensor)]) if _is_worth(rows, matrix) else None


def _is_plain(*tensors: torch.Tensor) -> bool:
    """Whether a product of the tensors is the same later: no graph is made, and writing to them leaves a trace."""
    if torch.is_inference_mode_enabled() or is_transformed():
        return False
    graph = torch.is_grad_enabled()
    return not any(
        t.is_inference() or (graph and t.requires_grad) or torch.is_autocast_enabled(t.device.type) for t in tensors
    )


def _moved(call: Call, components: Sequence[Any], value: Any) -> Any:
    """What the function makes of components of which at least one is put off; None if it takes all of the product."""
    if not isinstance(value, torch.Tensor) or len(components) != len(call.decomposed) or not _is_plain():
        return None
    for product in components:
        if type(product) is LazyProduct:
            product.check()
    if len(components) == 2:
        return _summed(call, components, value)
    (product,) = components
    leaf = call.decomposed[0]
    if leaf.key != 0 or leaf.place is not None or value.dtype is not product.dtype:
        return None
    if call.traits & Trait.CAST:
        same = value.shape == product.shape[1:] and value.device == product.rows.device
        return _made(product, product.rows, product.matrix, product.rest) if same else None
    if call.traits & Trait.REDUCTION:
        return _reduced(call, product, value)
    if call.traits & Trait.INDEX:
        return _indexed(product, call.args[1])
    return None


def _made(product: LazyProduct, rows: torch.Tensor, matrix: torch.Tensor, rest: torch.Tensor | None) -> Any:
    made = LazyProduct(rows, matrix, rest, product.lenders)
    return made if _is_worth(rows, matrix) else made.dense()


def _summed(call: Call, components: Sequence[Any], value: torch.Tensor) -> Any:
    """The sum of two decomposed tensors of one shape."""
    if not call.traits & Trait.ADD or len(call.args) != 2 or call.kwargs or components[0] is components[1]:
        return None
    if any(c.shape[1:] != value.shape or c.dtype is not value.dtype for c in components):
        return None
    at = [type(c) for c in components].index(LazyProduct)
    product, tensor = components[at], call.tensors[1 - at]
    rest = components[1 - at] if isinstance(components[1 - at], torch.Tensor) else tensor.components
    if not _is_plain(rest):
        return None
    if product.rest is not None:
        return _made(product, product.rows, product.matrix, product.rest + rest)
    return LazyProduct(product.rows, product.matrix, rest.detach(), [*product.lenders, family(tensor)])


def _reduced(call: Call, product: LazyProduct, value: torch.Tensor) -> Any:
    """A sum or mean over axes before the last."""
    front, ndim = batch_rule(call, value), len(product.shape) - 1
    dims = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim")
    dims = (dims,) if isinstance(dims, int) else dims
    if front is None or not dims or any(dim % ndim == ndim - 1 for dim in dims):
        return None
    return _made(product, front(product.rows), product.matrix, None if product.rest is None else front(product.rest))


def _indexed(product: LazyProduct, key: Any) -> Any:
    """Integers and slices: those of the last axis are of the matrix's columns."""
    if not is_basic(key):
        return None
    full = full_key(product.shape[1:], key if isinstance(key, tuple) else (key,))
    *items, last = [item for item in full if item is not Ellipsis]
    if last is None:
        return None
    rows = (slice(None), *items)
    rest = None if product.rest is None else product.rest[(*rows, last)]
    return _made(product, product.rows[rows], product.matrix[:, last], rest)
