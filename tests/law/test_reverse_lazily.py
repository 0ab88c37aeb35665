"""The value and the residual of a result in reverse mode are made when they are asked for, wherever that is, and are
those of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np

CALLS: dict[str, Callable[[Any], Any]] = {
    "a layer": lambda x: F.linear(x, torch.linspace(-1, 1, 12).reshape(2, 6), torch.ones(2)),
    "a sum": lambda x: x + x,
    "a product": lambda x: x * torch.tanh(x),
    "a pointwise function": torch.sigmoid,
    "softmax": lambda x: torch.softmax(x, -1),
    "rows in another shape": lambda x: (x * 2).reshape(4, 2, 3),
    "tensors that are joined": lambda x: torch.cat([x, x * 2], 1),
    "a normalised row": lambda x: F.layer_norm(x, (6,)),
}
WHERE: dict[str, Callable[[], Any]] = {
    "as ever": torch.enable_grad,
    "without a graph": torch.no_grad,
    "in inference mode": torch.inference_mode,
}


def _seen(call: Callable[[Any], Any], look: Callable[[Any], None], baseline: float) -> Any:
    x = torch.linspace(-2, 2, 24).reshape(4, 6).square() - 1

    def f(x: Any) -> Any:
        made = call(x)
        look(made)
        return made.square().sum()

    return x, np.attribute(f, x, baseline=baseline)


@pytest.mark.quick
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("name", CALLS)
def test_parts_are_those_of_the_function(name: str, where: str) -> None:
    """They are plain tensors, made once, whatever goes on where they are asked for; attributions stay what they are."""
    call, found = CALLS[name], []

    def look(made: Any) -> None:
        with WHERE[where]():
            found.extend([made.residual, made.value])
        assert made.residual is found[0]
        assert made.value is found[1]
        found.append(made.components)

    x, seen = _seen(call, look, 0.5)
    residual, value, component = found
    assert type(value) is type(residual) is torch.Tensor
    assert not value.requires_grad
    assert not value.is_inference()
    assert value.shape == residual.shape
    torch.testing.assert_close(value, call(x))
    torch.testing.assert_close(residual, call(torch.full_like(x, 0.5)))
    torch.testing.assert_close(component[0], value - residual)
    _, unseen = _seen(call, lambda made: None, 0.5)
    torch.testing.assert_close(seen.attribution, unseen.attribution)
    assert torch.equal(seen.value, unseen.value)


@pytest.mark.quick
@pytest.mark.parametrize("name", CALLS)
def test_what_is_written_is_in_the_value(name: str) -> None:
    """The value looks at the memory of the tensor, before and after it is asked for."""

    def late(made: Any) -> None:
        made.mul_(2)
        torch.testing.assert_close(made.value, 2 * CALLS[name](x))

    def soon(made: Any) -> None:
        value = made.value
        made.mul_(2)
        torch.testing.assert_close(value, made.value)

    x, _ = _seen(lambda x: x + 0, lambda made: None, 0.0)
    _, after = _seen(CALLS[name], late, 0.0)
    _, before = _seen(CALLS[name], soon, 0.0)
    torch.testing.assert_close(after.attribution, before.attribution)
    torch.testing.assert_close(after.value, 4 * CALLS[name](x).square().sum())
    torch.testing.assert_close(after.attribution.sum(), after.value - after.residual, rtol=1e-4, atol=1e-4)


@pytest.mark.quick
def test_an_input_of_equal_rows_is_made_of_one() -> None:
    """The residual of an input, which no function has asked for yet."""
    found = []

    def f(x: Any) -> Any:
        found.append(x.residual)
        return x.sum()

    np.attribute(f, torch.ones(4, 6), baseline=2.0)
    assert torch.equal(found[0], torch.full((4, 6), 2.0))
