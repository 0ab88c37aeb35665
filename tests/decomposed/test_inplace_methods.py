"""Every in-place method of torch.Tensor on a decomposed tensor: it gives what the out-of-place function gives, in all
the parts, or raises and says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import npdec as np
from torch_checks import bits_differ

D = torch.float64
Function = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


def _numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.rand(shape, generator=source, dtype=D) * 0.8 + 0.1


def _decomposed(*shape: int) -> Any:
    labels = [f"row {i}" for i in range(shape[0])]
    return np.decompose(_numbers(*shape), baseline=_numbers(*shape, seed=1), axis=0, labels=labels)


def _assert_same(got: Any, want: Any) -> None:
    assert got.shape == got.value.shape == got.residual.shape == got.components.shape[1:] == want.shape
    assert got.stride() == got.value.stride() == want.value.stride()
    for part in ("value", "residual"):
        assert not bits_differ(getattr(got, part), getattr(want, part)), part
    assert set(got.labels) == set(want.labels)
    order = [want.labels.index(label) for label in got.labels]
    assert not bits_differ(got.components, want.components[order])


# -- views in place ----------------------------------------------------------------------------------------------------

VIEWS: dict[str, tuple[tuple[int, ...], Function, Function]] = {
    "t": ((3, 4), lambda x: x.t_(), lambda x: x.t()),
    "transpose": ((3, 4, 2), lambda x: x.transpose_(0, 2), lambda x: x.transpose(0, 2)),
    "transpose by name": ((3, 4, 2), lambda x: x.transpose_(dim0=0, dim1=-1), lambda x: x.transpose(0, -1)),
    "swapaxes": ((3, 4), lambda x: x.swapaxes_(0, 1), lambda x: x.swapaxes(0, 1)),
    "swapdims": ((3, 4), lambda x: x.swapdims_(0, 1), lambda x: x.swapdims(0, 1)),
    "squeeze": ((3, 1, 2, 1), lambda x: x.squeeze_(), lambda x: x.squeeze()),
    "squeeze one": ((3, 1, 2, 1), lambda x: x.squeeze_(1), lambda x: x.squeeze(1)),
    "squeeze none": ((3, 2), lambda x: x.squeeze_(1), lambda x: x.squeeze(1)),
    "unsqueeze": ((3, 4), lambda x: x.unsqueeze_(1), lambda x: x.unsqueeze(1)),
    "as_strided": ((3, 4), lambda x: x.as_strided_((2, 3), (4, 1), 1), lambda x: x[:2, 1:]),
    "resize": ((3, 4), lambda x: x.resize_(2, 5), lambda x: x.flatten()[:10].view(2, 5)),
    "resize_as": ((3, 4), lambda x: x.resize_as_(torch.empty(4, 3)), lambda x: x.view(4, 3)),
}
each = pytest.mark.parametrize("name", VIEWS)


@each
def test_a_view_in_place_is_that_of_the_function(name: str) -> None:
    shape, in_place, function = VIEWS[name]
    x, plain = _decomposed(*shape), _numbers(*shape)
    made = in_place(x)
    assert made is x
    assert torch.equal(x.value, in_place(plain))
    _assert_same(x, function(_decomposed(*shape)))


@pytest.mark.parametrize(("name", "sparse"), [(name, s) for name in VIEWS for s in (False, True)
                                             if not s or name not in ("as_strided", "resize_as")])  # fmt: skip
def test_views_taken_before_follow_writes(name: str, sparse: bool) -> None:
    """Of the tensor in its old shape, and of it in its new one, what is written to either is in both."""
    shape, in_place, function = VIEWS[name]
    shape = tuple(n * 8 if sparse and n > 1 else n for n in shape)
    x, before = _decomposed(*shape), _decomposed(*shape)
    row, all_of_it = x[0], x.view_as(x)
    if sparse:
        in_place_before = x.movedim(0, -1)  # whose contributions are made of x's when somebody reads them
    in_place(x)
    x.mul_(3)
    function(before).mul_(3)
    _assert_same(row, before[0])
    _assert_same(all_of_it, before.view_as(before))
    if sparse:
        _assert_same(in_place_before, before.movedim(0, -1))
    all_of_it += _decomposed(*shape)[0, 0].sum()
    before += _decomposed(*shape)[0, 0].sum()
    _assert_same(x, function(before))


@each
def test_attribution_passes(name: str) -> None:
    shape, in_place, function = VIEWS[name]
    weights = _numbers(*function(torch.empty(shape)).shape, seed=2)

    def f(x: Any, view: Function) -> Any:
        y = x * x
        return (view(y).exp() * weights).sum()

    got = np.attribute(lambda x: f(x, in_place), _numbers(*shape), baseline=0.3).attribution
    want = np.attribute(lambda x: f(x, function), _numbers(*shape), baseline=0.3).attribution
    torch.testing.assert_close(got, want, rtol=1e-14, atol=0)


def test_gradients_pass_a_change_of_shape() -> None:
    """What autograd has kept of the numbers is not written."""
    leaf = _numbers(3, 4).requires_grad_()
    x = np.decompose(leaf, baseline=0.5) * 2
    y = (x * x).sum()
    x.unsqueeze_(0)
    (y.value + x.value.sum()).backward()
    assert torch.allclose(leaf.grad, 8 * leaf.detach() + 2)


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: x.resize_(100), "undefined"),
    (lambda x: x.resize_as_(torch.empty(100)), "undefined"),
    (lambda x: x.set_(), "another's memory"),
    (lambda x: x.set_(torch.ones(2, dtype=D)), "another's memory"),
])  # fmt: skip
def test_what_has_no_numbers_is_refused(call: Function, words: str) -> None:
    x = _decomposed(3, 4)
    with pytest.raises(RuntimeError, match=words):
        call(x)
    _assert_same(x, _decomposed(3, 4))


@pytest.mark.parametrize("name", ["unsqueeze", "transpose"])
def test_a_view_that_torch_refuses_leaves_the_tensor(name: str) -> None:
    x = _decomposed(3, 4)
    with pytest.raises(IndexError):
        getattr(x, f"{name}_")(*([7] if name == "unsqueeze" else [0, 7]))
    _assert_same(x, _decomposed(3, 4))


@pytest.mark.parametrize("layout", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[1:], lambda x: x[0].expand(5, 6)])
def test_as_strided_sees_the_memory_of_the_value(layout: Function) -> None:
    """Whatever the layout: the residual and the components are seen where the value is."""
    x = np.decompose(layout(_numbers(6, 6)), baseline=layout(_numbers(6, 6, seed=1)))
    size, steps = (2, 2), (x.stride(0) or 1, x.stride(1) or 1)
    made = torch.as_strided(x, size, steps)
    value = x.value.as_strided(size, steps)
    assert torch.equal(made.value, value)
    assert torch.allclose(value, made.residual + made.components.sum(0), rtol=1e-14)
    inside = torch.as_strided(torch.as_strided(x.value, size, steps), size, steps)
    assert torch.equal(made.value, inside)


def test_as_strided_leaves_contributions_of_elements_that_are_one_in_memory() -> None:
    x = np.decompose(torch.tensor([1.0, 2.0]).expand(3, 2), axis=0)
    before = x.components.clone()
    made = torch.as_strided(x, (2,), (1,))
    assert torch.equal(x.components, before)
    assert torch.equal(made.residual + made.components.sum(0), made.value)
    with pytest.raises(RuntimeError, match="one in memory"):
        made[0] = 5.0
    assert torch.equal(x.value, torch.tensor([1.0, 2.0]).expand(3, 2))


# -- all of them -------------------------------------------------------------------------------------------------------

IN_PLACE = sorted(
    name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")
    and callable(getattr(torch.Tensor, name))
)  # fmt: skip
_INDEX, _MASK = torch.tensor([2, 0, 1]), torch.tensor([[True, False, True], [False] * 3, [True] * 3])
_CALLS: list[Function] = [
    lambda other: (),
    lambda other: (0,),
    lambda other: (1,),
    lambda other: (0, 1),
    lambda other: (0.25,),
    lambda other: (other,),
    lambda other: (other, other),
    lambda other: (other[0], other[0]),
    lambda other: (other.expand(2, 3, 3), other.expand(2, 3, 3)),
    lambda other: (other, 0.5),
    lambda other: (_MASK, 0.5),
    lambda other: (_MASK, other),
    lambda other: (0, _INDEX, 0.5),
    lambda other: (0, _INDEX, other),
    lambda other: (0, _INDEX[:, None].expand(3, 3), other),
    lambda other: (0, _INDEX[:, None].expand(3, 3), other, "sum"),
    lambda other: (0, _INDEX, other, "prod"),
    lambda other: ((_INDEX,), other),
    lambda other: (_INDEX, other[0]),
    lambda other: (2, 0, 1.0),
    lambda other: ((3, 3), (3, 1)),
]
# What they give depends on no input, or is drawn: there is nothing out of place to compare with.
_WRITES_ALONE = frozenset(
    "bernoulli_ cauchy_ exponential_ fill_ fill_diagonal_ geometric_ log_normal_ normal_ random_ uniform_ zero_ copy_ "
    "detach_ requires_grad_ set_ resize_ resize_as_ share_memory_ apply_ map_ map2_".split()
)
# Of comparisons the result in place is the numbers 0 and 1.
_COMPARES = frozenset(
    "eq_ ne_ lt_ le_ gt_ ge_ less_ less_equal_ greater_ greater_equal_ not_equal_ logical_and_ logical_or_ "
    "logical_xor_ logical_not_".split()
)


def _call(name: str) -> Function | None:
    """Arguments that the method takes of plain tensors."""
    for arguments in _CALLS:
        try:
            getattr(_numbers(3, 3), name)(*arguments(_numbers(3, 3, seed=2)))
        except (RuntimeError, TypeError, IndexError, AttributeError):
            continue
        return arguments
    return None


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("which", ["target", "both"])
def test_every_method(name: str, which: str) -> None:
    arguments = _call(name)
    if arguments is None:  # not of floating numbers: then not of decomposed ones either
        with pytest.raises((TypeError, RuntimeError, AttributeError)):
            getattr(_decomposed(3, 3), name)()
        return
    other = _numbers(3, 3, seed=2)
    if which == "both":
        other = np.decompose(other, baseline=_numbers(3, 3, seed=3), axis=0, labels=["a", "b", "row 0"])
    x = _decomposed(3, 3)
    torch.manual_seed(4)
    made, refusal = None, ""
    try:
        made = getattr(x, name)(*arguments(other))
    except (NotImplementedError, RuntimeError, TypeError) as error:
        refusal = str(error)
    if made is None:
        assert len(refusal) > 40, f"{name}: refused without a reason"
        _assert_same(x, _decomposed(3, 3))
        return
    assert made is x
    plain = _numbers(3, 3)
    torch.manual_seed(4)
    getattr(plain, name)(*arguments(other.value if which == "both" else other))
    assert torch.equal(x.value.nan_to_num(7.0), plain.nan_to_num(7.0))
    assert bool((np.completeness(x).abs().nan_to_num(0) <= 1e-12).all())
    if name in _WRITES_ALONE | _COMPARES:
        return
    found = [getattr(owner, name[:-1], None) for owner in (torch.Tensor, F, torch)]
    function = next(f for f in found if f is not None)
    _assert_same(x, function(_decomposed(3, 3), *arguments(other)))


def test_steps_in_memory_are_those_of_the_value():
    """The components lie from another place on in their memory than the value does in its."""
    value, residual = torch.arange(8.0)[2:6], torch.arange(0.0, -8.0, -1.0)[2:6]
    memory = torch.full((2 * 8,), 99.0)
    components = memory.as_strided((2, 4), (8, 1))
    components.copy_(torch.stack([value, value]))
    d = np.DecomposedTensor(value, residual, components, ("a", "b"))
    made = torch.as_strided(d, (2,), (1,), 4)
    assert made.value.tolist() == [4.0, 5.0]
    assert made.residual.tolist() == [-4.0, -5.0]
    assert made.components.tolist() == [[4.0, 5.0], [4.0, 5.0]]
