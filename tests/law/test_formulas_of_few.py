"""Functions of a handful of numbers that go by short ways of others, beside the general law and torch's own numbers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import npdec as np

DTYPES = [torch.float64, torch.float32]


def decomposed(value: list, residual: list, labels: str, dtype: torch.dtype) -> np.DecomposedTensor:
    """Of two or three components, which are shares of each move."""
    v, r = torch.tensor(value, dtype=dtype), torch.tensor(residual, dtype=dtype)
    shares = torch.linspace(0.5, 1.5, len(labels), dtype=dtype)
    moves = (shares / shares.sum()).reshape(-1, *[1] * v.ndim) * (v - r)
    return np.DecomposedTensor(v, r, moves, tuple(labels))


def operands(dtype: torch.dtype) -> dict:
    return {
        "x": decomposed([0.7, -0.2, 0.45], [-0.5, 0.3, 0.2], "ab", dtype),
        "y": decomposed([0.3, 0.9, -0.6], [0.4, -0.25, 0.5], "bc", dtype),
        "A": decomposed([[0.7, 0.2, 0.45], [0.3, 0.6, 0.8]], [[0.5, 0.3, 0.2], [0.1, 0.4, 0.9]], "abc", dtype),
        "B": decomposed([[0.3, 0.9, 0.6], [0.4, 0.1, 0.2]], [[0.4, 0.25, 0.5], [0.2, 0.3, 0.1]], "abc", dtype),
        "p": torch.tensor([0.25, 0.5, -0.35], dtype=dtype),
        "torch": torch,
        "F": F,
        "np": np,
    }


def each(made) -> list:
    return list(made) if isinstance(made, (tuple, list)) else [made]


CALLS = [
    "x.max(y)", "x.min(y)", "x.min(p)", "torch.max(p, x)", "torch.fill(x, 2.0)", "torch.fill(x, y[0])",
    "torch.cartesian_prod(x, y)", "torch.cartesian_prod(x, y, p)", "torch.cartesian_prod(x)", "torch.heaviside(x, y)",
    "torch.heaviside(x, p)", "torch.heaviside(p, x)", "torch.vander(x)", "torch.vander(x, 4, True)",
    "torch.linalg.vander(x)", "torch.linalg.vander(A)", "torch.linalg.vander(A, N=2)", "torch.frexp(x)", "x.frexp()",
    "torch.special.xlog1py(x, y)", "torch.special.xlog1py(x, p)", "torch.special.xlog1py(p, y)",
    "torch.special.xlog1py(10 * x, 7 * (y + 1))", "torch.copysign(x, y)",
    "F.glu(A, 0)", "F.glu(torch.cat([A, B]).mT.contiguous())", "F.glu(9 * torch.cat([A, B]), 0)", "F.glu(A.mT, 1)",
    "F.mse_loss(x, y)", "F.mse_loss(p, y, reduction='sum')", "F.l1_loss(x, y, reduction='none')", "F.mse_loss(A, B)",
    "F.smooth_l1_loss(x, y, beta=0.5)", "F.huber_loss(x, y, delta=0.3)", "F.huber_loss(A, 2 * B, 'sum', 0.2)",
    "F.normalize(A[None], dim=1)", "F.normalize(A[None], dim=-1)", "F.normalize(A.reshape(3, 2, 1), dim=0)",
    "F.cosine_similarity(A[None], B[None])", "torch.std_mean(A, 0)", "torch.std_mean(x)",
    "torch.var_mean(A, dim=1, keepdim=True)", "A.to('cpu', torch.float32)",
    "A.to(device='cpu', dtype=A.dtype)", "x.to(device='cpu', dtype=torch.float32)",
    "torch.sort(x)", "A.sort(0, True)", "torch.sort(A, descending=True, dim=1)", "torch.topk(A, 2)", "A.topk(1, 0)",
    "torch.kthvalue(A, 2)", "A.kthvalue(1, dim=0, keepdim=True)", "torch.mode(A, 0)", "A.median(1)", "A.median(dim=0)",
    "torch.nanmedian(A, 1, True)", "torch.median(x)",
]  # fmt: skip

IN_ORDER = {"sort", "topk", "kthvalue", "mode", "median", "nanmedian"}  # whose choices at the value are frozen


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # torch.vmap's, the general way
@pytest.mark.filterwarnings("ignore:.* is frozen:npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_a_handful_is_as_the_general_law_has_it(call, dtype):
    given, frozen = operands(dtype), call.removeprefix("torch.").split("(")[0] in IN_ORDER or call.startswith("A.")
    made = each(eval(call, given))
    with np.check_completeness():
        general = each(eval(call, given))
    plain = {name: getattr(x, "value", x) for name, x in given.items()}
    base = {name: getattr(x, "residual", x) for name, x in given.items()}
    for found, wanted, value, residual in zip(
        made, general, each(eval(call, plain)), each(eval(call, base)), strict=True
    ):
        if not isinstance(found, np.DecomposedTensor):
            assert torch.equal(torch.as_tensor(found), value)
            continue
        assert torch.equal(found.value, value)
        if frozen:
            assert torch.equal(found.residual, wanted.residual)
        else:
            assert torch.equal(found.residual, residual)
        assert found.labels == wanted.labels
        assert found.value.dtype is wanted.value.dtype
        assert found.components.dtype is wanted.components.dtype
        digits = 1e-12 if dtype is torch.float64 else 2e-5
        torch.testing.assert_close(found.components, wanted.components, rtol=digits, atol=digits)


@pytest.mark.quick
@pytest.mark.parametrize("call", ["torch.sort(x)", "torch.median(A, 1)", "np.median(np.asarray(x))"])
def test_another_order_at_the_baseline_is_said(call):
    with pytest.warns(np.exceptions.DecompositionWarning, match="frozen"):
        eval(call, operands(torch.float64))


@pytest.mark.quick
@pytest.mark.parametrize("names", ["xy", "xp", "AB", "Ap", "Ax"])
def test_cross_products_are_those_of_their_parts(names):
    given = operands(torch.float64)
    a, b = (given[name] for name in names)
    made = np.cross(np.asarray(a), np.asarray(b)).tensor
    for part in ("value", "residual"):
        ends = [np.asarray(getattr(t, part, t)) for t in (a, b)]
        assert torch.equal(getattr(made, part), np.cross(*ends).tensor)
    with np.check_completeness():
        general = np.cross(np.asarray(a), np.asarray(b)).tensor
    torch.testing.assert_close(made.components, general.components, rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(made.components.sum(0), made.value - made.residual, rtol=1e-13, atol=1e-14)


@pytest.mark.quick
def test_indices_of_another_order_warn_whoever_reads_them():
    x = decomposed([0.7, 0.2, 0.45], [0.7, 0.5, 0.45], "a", torch.float64)
    with pytest.warns(np.exceptions.DecompositionWarning, match="frozen"):
        indices = torch.sort(x).indices
    with pytest.warns(np.exceptions.DecompositionWarning, match="indices"):
        assert torch.equal(indices + 0, torch.tensor([1, 2, 0]))
