"""Casts of decomposed tensors, and those that change nothing, as torch's: by dtype, device and another tensor."""

from __future__ import annotations

import pytest
import torch

import npdec as np

PLAIN = torch.tensor([1.0, 2.0, 3.0])
WIDE = torch.zeros(2, dtype=torch.float64)
SAME = [
    lambda x: x.cpu(),
    lambda x: x.to(PLAIN),
    lambda x: x.to("cpu"),
    lambda x: x.to(device=torch.device("cpu")),
    lambda x: x.to(torch.float32),
    lambda x: x.type(torch.float32),
    lambda x: x.type_as(PLAIN),
]
OTHERS = [
    lambda x: x.to(WIDE),
    lambda x: x.to(torch.float64),
    lambda x: x.to("cpu", torch.float64),
    lambda x: x.type(torch.float64),
    lambda x: x.type("torch.DoubleTensor"),
    lambda x: x.type_as(WIDE),
    lambda x: x.to(np.decompose(WIDE, baseline=WIDE)),
    lambda x: x.to(torch.int32),
]


@pytest.fixture
def x():
    return np.decompose(PLAIN, baseline=PLAIN / 4)


@pytest.mark.quick
@pytest.mark.parametrize("cast", SAME)
def test_what_is_so_already_is_the_tensor_itself(x, cast):
    assert cast(PLAIN) is PLAIN
    assert cast(x) is x


@pytest.mark.quick
@pytest.mark.parametrize("cast", OTHERS)
def test_all_parts_are_cast(x, cast):
    made, value, residual = cast(x), cast(x.value), cast(x.residual)
    assert type(made) is np.DecomposedTensor
    for found, expected in ((made.value, value), (made.residual, residual)):
        expected = expected.value if isinstance(expected, np.DecomposedTensor) else expected
        assert found.dtype is expected.dtype
        assert torch.equal(found, expected)
    torch.testing.assert_close(made.value - made.residual, made.components.sum(0), check_dtype=False)


@pytest.mark.quick
def test_a_plain_tensor_takes_the_dtype_of_a_decomposed_one(x):
    wide = x.to(torch.float64)
    for made in (PLAIN.to(wide), PLAIN.type_as(wide)):
        assert type(made) is torch.Tensor
        assert made.dtype is torch.float64


@pytest.mark.quick
def test_devices_and_kinds_that_there_are_not(x):
    with pytest.raises(RuntimeError, match="bogus"):
        x.to("bogus")
    assert x.type() == "torch.FloatTensor"
    assert x.to("meta").is_meta
