"""What the repr of a decomposed array says beside its numbers: the residual, the labels, the largest contributions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import torch

from npdec._show.words import cut, visible

__all__ = ["laid_out", "of_labels", "of_numbers", "of_residual", "of_sizes"]

_SHOWN = 3  # labels
_LENGTH = 20  # characters of a label
_FEW = 6  # numbers of a residual that are all shown


def of_residual(residual: torch.Tensor) -> str:
    """The residual in a few characters: a number, or a few, or the least and the largest."""
    if residual.dtype is torch.bool:
        residual = residual.to(torch.uint8)
    if residual.is_complex():
        same = residual.reshape(-1)
        uniform = bool((same == same[0]).all())
        return _text(same[0].item()) if uniform else _all(residual) if _is_short(residual) else "..."
    low, high = (bound.item() for bound in residual.double().aminmax())
    if low == high or residual.dim() == 0:
        return _text(high)
    return _all(residual) if _is_short(residual) else f"{_text(low)} to {_text(high)}"


def of_numbers(labels: Sequence[Hashable], amounts: Sequence[Any]) -> str:
    """The contributions to one number, the largest first."""
    order = sorted(range(len(amounts)), key=lambda i: -_magnitude(amounts[i]))[:_SHOWN]
    return _some((f"{_name(labels[i])} {_text(amounts[i], '+')}" for i in order), len(amounts))


def of_sizes(labels: Sequence[Hashable], sizes: torch.Tensor) -> str:
    """Which contributions to an array are the largest, and what part of all of them each is."""
    total = float(sizes.sum())
    if not 0 < total < float("inf"):
        return of_labels(labels)
    found = sizes.topk(min(_SHOWN, len(labels)))
    pairs = sorted(
        zip(found.values.tolist(), found.indices.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1])
    )
    return _some((f"{_name(labels[i])} {_part(size / total)}" for size, i in pairs), len(labels))


def of_labels(labels: Sequence[Hashable]) -> str:
    """The first labels."""
    return _some(map(_name, labels[:_SHOWN]), len(labels))


def laid_out(text: str, words: Iterable[str], width: int, indent: int) -> str:
    """The words after a text that ends in a bracket, within it: as many on each line as its width allows."""
    text = text[:-1]
    for word in words:
        last = len(text) - (text.rfind("\n") + 1)
        text += "," + (" " if last + len(word) + 3 <= width else "\n" + " " * indent) + word
    return text + ")"


def _some(words: Iterable[str], count: int) -> str:
    shown = list(words)
    return ", ".join([*shown, *([f"{count - len(shown)} more"] if count > len(shown) else [])])


def _name(label: Hashable) -> str:
    return cut(visible(str(label)), _LENGTH)


def _is_short(numbers: torch.Tensor) -> bool:
    return numbers.dim() == 1 and len(numbers) <= _FEW


def _all(numbers: torch.Tensor) -> str:
    return f"[{', '.join(_text(number) for number in numbers.tolist())}]"


def _text(number: Any, sign: str = "") -> str:
    return f"{number or 0.0:{sign}.4g}"  # zero has no sign worth a mark


def _part(share: float) -> str:
    return f"{100 * share:{'.0f' if share >= 0.01 else '.1g'}}%"


def _magnitude(number: Any) -> float:
    size = abs(number)
    return float("inf") if math.isnan(size) else size
