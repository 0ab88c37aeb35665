"""Decompositions as SHAP's explanations, which SHAP's own plots take."""

from __future__ import annotations

from typing import Any

from npdec._show.parts import Parts, numbers_of

__all__ = ["to_shap"]


def to_shap(parts: Parts, inputs: Any) -> Any:
    """A `shap.Explanation` of one number, of the numbers of rows, or of several numbers of each row."""
    name = "to_shap"
    parts = parts.real(name)
    residual = parts.from_baseline(name)
    if len(parts.shape) > 2:
        raise ValueError(
            f"{name}: SHAP explains a number, rows, or rows with several outputs, and the {parts.what} has shape "
            f"{parts.shape}: choose one, as x[0], or reduce it"
        )
    given = None
    if inputs is not None:
        given = numbers_of(inputs, name)
        wanted = (*parts.shape[:1], len(parts.labels))
        if given.shape != wanted:
            raise ValueError(f"{name}: inputs have shape {wanted}, not {given.shape}")
    try:
        import shap
    except ImportError:
        raise ImportError(f"{name}: SHAP is not installed: pip install 'npdec[compare]'") from None
    values = parts.amounts.movedim(0, 1) if parts.shape else parts.amounts
    base = residual.numpy() if parts.shape else float(residual)
    return shap.Explanation(values.numpy().copy(), base, data=given, feature_names=parts.names())
