"""Calls of a few numbers, which have shorter ways yet: what they give is what the general way gives, which is gone
where somebody looks on (np.check_completeness)."""

import math

import numpy
import pytest
import torch
import torch.nn.functional as F

import npdec as np

DTYPES = [torch.float64, torch.float32]
V, R = [1.0, -2.0, 3.0, 0.25], [0.5, 0.75, 0.875, 0.125]
MASK, PLACES = torch.tensor([True, False, True, False]), torch.tensor([0, 3])


def row(dtype=torch.float64, v=V, r=R, labels="abcd"):
    v, r = torch.tensor(v, dtype=dtype), torch.tensor(r, dtype=dtype)
    return np.DecomposedTensor(v, r, torch.diag(v - r), tuple(labels[: len(v)]))


def both(f, *args):
    """What the shortest way gives, and the general one."""
    made = f(*args)
    with np.check_completeness():
        return made, f(*args)


def same(made, general, digits=8):
    assert type(made) is type(general) is np.DecomposedTensor
    assert made.value.dtype is general.value.dtype
    assert set(made.labels) == set(general.labels)
    assert torch.equal(made.value, general.value)
    eps = torch.finfo(made.components.dtype).eps
    size = max(1.0, float(general.components.abs().max()), float(general.value.abs().max()))
    order = [general.labels.index(label) for label in made.labels]
    assert float((made.residual.double() - general.residual.double()).abs().max()) <= eps * size
    assert float((made.components - general.components[order]).abs().max()) <= digits * eps * size
    missing = made.value.double() - made.residual.double() - made.components.double().sum(0)
    assert float(missing.abs().max()) <= digits * eps * size


# -- methods that stand on the class -----------------------------------------------------------------------------------


class Looking(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


METHODS = {
    "neg": lambda t: t.neg(), "mul": lambda t: t * 2.0, "sum": lambda t: t.sum(), "__getitem__": lambda t: t[0],
    "relu": lambda t: t.relu(), "view": lambda t: t.view(2, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_modes_of_torch_see_the_methods(name):
    with Looking() as mode:
        made = METHODS[name](row())
    assert name in mode.seen
    assert isinstance(made, np.DecomposedTensor)


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_torchs_where_overrides_are_off(name):
    t = row()
    with torch._C.DisableTorchFunctionSubclass():
        made = METHODS[name](t)
    assert not isinstance(made, np.DecomposedTensor)
    assert torch.equal(made, METHODS[name](torch.tensor(V, dtype=torch.float64)))


def test_a_rule_that_is_registered_answers_the_method():
    with np.overrides.registered(torch.Tensor.neg, lambda self: "registered"):
        assert row().neg() == -row() == "registered"
    assert torch.equal((-row()).value, -row().value)


def test_methods_have_their_names_and_say_whose_they_are():
    for name in ("neg", "__mul__", "softmax", "reshape"):
        method = getattr(np.DecomposedTensor, name)
        assert method.__name__ == name
        assert method.__doc__.startswith(f"`torch.Tensor.{name}`")
    assert hash(row()) != hash(row())
    with pytest.raises(TypeError):
        _ = row() + "a"
    with pytest.raises(RuntimeError, match="shape"):
        row().view(3)


# -- arithmetic --------------------------------------------------------------------------------------------------------

NUMBERS = [0.1, -3, 7, 1e-30, 2.0**19 + 1 / 3, 2.0**30, 1e300, math.inf, 0.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
def test_values_beside_numbers_are_torchs_to_the_bit(number, dtype):
    t = row(dtype)
    v, r = t.value, t.residual
    for f in (
        lambda x: x + number, lambda x: x - number, lambda x: number - x, lambda x: x * number, lambda x: number * x,
        lambda x: x / number,
    ):  # fmt: skip
        if not number and f(v[:1]).isinf().any():
            continue
        made = f(t)
        assert made.value.dtype is dtype
        assert torch.equal(made.value.nan_to_num(7), f(v).nan_to_num(7))
        assert torch.equal(made.residual.nan_to_num(7), f(r).nan_to_num(7))


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_operands_of_the_same_shape(dtype):
    b = torch.tensor([2.0, -0.5, 4.0, 8.0], dtype=dtype)
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.rsub):
        same(*both(f, row(dtype), b))
        equal = np.decompose(torch.tensor(V, dtype=dtype), baseline=0.5)  # the rows of its residual are one in memory
        same(*both(f, equal, b))


@pytest.mark.parametrize("others", ["abcd", "bx", "xyzw"])
def test_two_numbers_meet_at_their_midpoints(others):
    a = row()[2]
    b = row(v=[1.5, 2.5][: len(others)] + V[2 : len(others)], r=R[: len(others)], labels=others)[1]
    for f in (torch.mul, torch.div, torch.add, torch.sub):
        same(*both(f, a, b))
    same(*both(torch.mul, a, a), digits=16)


def test_quotients_that_need_a_closer_look_are_looked_at():
    small = torch.tensor([1.0, 1.0, 1e-7, 1.0], dtype=torch.float64)
    same(*both(torch.div, row(), small))
    made = row() / torch.tensor([1.0, math.inf, 1.0, 1.0], dtype=torch.float64)
    assert float(made.components[1].abs().max()) == 0


# -- places ------------------------------------------------------------------------------------------------------------

PUT = {
    "masked_fill": lambda t: t.masked_fill(MASK, 7.0),
    "index_fill": lambda t: t.index_fill(0, PLACES, 7.0),
    "scatter": lambda t: t.scatter(-1, PLACES, 7.0),
    "masked_scatter": lambda t: t.masked_scatter(MASK, torch.tensor([5.0, 6.0], dtype=t.dtype)),
    "masked_select": lambda t: t.masked_select(MASK),
    "masked_select of a table": lambda t: t.reshape(2, 2).masked_select(MASK.reshape(2, 2)),
    "scatter into a table": lambda t: t.reshape(2, 2).scatter(1, torch.tensor([[0], [1]]), 7.0),
    "index_fill of a table": lambda t: t.reshape(2, 2).index_fill(1, torch.tensor([1]), 7.0),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")  # torch.vmap's, the general way
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PUT)
def test_what_is_put_has_no_contributions(name, dtype):
    same(*both(PUT[name], row(dtype)), digits=0)
    same(*both(PUT[name], np.decompose(torch.tensor(V, dtype=dtype), baseline=0.5)), digits=0)


@pytest.mark.parametrize("name", ["view_as", "reshape_as"])
def test_the_shape_of_another_tensor_is_taken(name):
    t, other = row(), torch.zeros(2, 2)
    made, general = both(lambda x: getattr(x, name)(other), t)
    same(made, general, digits=0)
    same(getattr(t, name)(np.decompose(other)), general, digits=0)
    made[0, 0] = 5.0
    assert t.value[0] == 5
    with pytest.raises(RuntimeError):
        getattr(t, name)(torch.zeros(3))


def test_what_lies_by_rows_is_contiguous_itself():
    t = row()
    assert t.contiguous() is t
    turned = torch.stack([t, t * 2]).mT
    made = turned.contiguous()
    assert made is not turned
    assert made.value.is_contiguous()
    assert made.contiguous() is made


def test_a_graph_goes_back_through_what_is_put():
    v = torch.tensor(V, dtype=torch.float64, requires_grad=True)
    parts = torch.diag(v.detach() - 0.5).requires_grad_()
    t = np.DecomposedTensor(v, torch.full_like(v, 0.5), parts, tuple("abcd"))
    for f in PUT.values():
        made = f(t)
        grads = torch.autograd.grad(made.components.sum() + made.value.sum(), (v, parts))
        assert all(float(g.abs().max()) == 1 for g in grads)


# -- pointwise functions, softmax, jumps -------------------------------------------------------------------------------

POINTWISE = {
    "relu": torch.relu, "abs": torch.abs, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": torch.exp,
    "gelu": F.gelu, "sin": torch.sin, "expm1": torch.expm1, "square": torch.square, "leaky_relu": F.leaky_relu,
    "clamp": lambda t: t.clamp(-1, 2), "log1p": lambda t: torch.log1p(t * 0.25), "rsqrt": lambda t: torch.rsqrt(t + 3),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POINTWISE)
def test_slopes_of_few_numbers_are_those_among_many(name, dtype):
    """Many numbers are not gone through one by one; close ones, and those that do not move, are among them here."""
    f = POINTWISE[name]
    v, r = [*V, 1.0, 2.0, 0.5, 0.0], [*R, 1.0 + 2.0**-20, 2.0, -0.5, 0.0]
    for n in (4, 5, 6, 7, 8):
        few = row(dtype, v[:n], r[:n], "abcdefgh")
        many = f(torch.cat([few] * 8))
        made = f(few)
        same(made, many[:n], digits=64)


def test_slopes_at_the_edges_of_the_exponent_range():
    t = row(v=[1e-200, 1e105, -1e-320], r=[-1e-200, 1e100, 1e-320])
    same(torch.square(t), torch.square(torch.cat([t] * 8))[:3])
    endless = row(v=[math.inf, 2.0], r=[1.0, 1.0])
    assert torch.exp(endless).components.tolist()[1][1] == pytest.approx(math.e**2 - math.e)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "f", [lambda t: torch.softmax(t, 0), lambda t: F.log_softmax(t, dim=-1), lambda t: F.softmax(t, 0)], ids=range(3)
)
def test_a_row_s_softmax(f, dtype):
    t = row(dtype)
    same(*both(f, t), digits=200 if dtype is torch.float32 else 20000)
    every = np.DecomposedTensor(t.value, t.value - 0.25, torch.full((1, 4), 0.25, dtype=dtype), ("all",))
    assert float(f(every).components.abs().max()) <= 8 * torch.finfo(dtype).eps  # a shift of the row moves nothing
    table = torch.stack([t, t * 0.5 - 1, t[[3, 1, 0, 2]]])
    same(*both(lambda u: torch.log_softmax(u, -1), table), digits=200 if dtype is torch.float32 else 20000)
    same(*both(lambda u: torch.softmax(u, 1), table), digits=200 if dtype is torch.float32 else 20000)
    far = np.DecomposedTensor(t.value + 1e6, t.residual + 1e6, t.components, t.labels)
    same(*both(f, far), digits=1e5)


def test_a_row_that_is_masked_goes_the_general_way():
    t = row(v=[1.0, -math.inf, 2.0], r=[0.5, -math.inf, 1.0])
    made = torch.softmax(np.DecomposedTensor(t.value, t.residual, t.components.nan_to_num(0), t.labels), 0)
    assert bool(torch.isfinite(made.components).all())


@pytest.mark.parametrize("dtype", DTYPES)
def test_jumps_are_shared_as_among_many(dtype):
    x, y = row(dtype), row(dtype, R[::-1], V[::-1], "wxyz")
    for f in (lambda a, b: a > b, lambda a, b: a <= 1, lambda a, b: a == b, lambda a, b: a > 100):
        few, many = f(x, y), f(torch.cat([x] * 20), torch.cat([y] * 20))
        assert torch.equal(few.value, many.value[:4])
        assert torch.equal(few.residual, many.residual[:4])
        numpy.testing.assert_allclose(few.components, many.components[:, :4], rtol=4 * torch.finfo(dtype).eps)
    for f in (torch.round, torch.floor, torch.sign, lambda a: torch.remainder(a, 0.75)):
        same(f(x), f(torch.cat([x] * 20))[:4])


ONE = {
    "**2": lambda t: t**2, "**3": lambda t: t**3, "**4.0": lambda t: t**4.0, "**-1": lambda t: t**-1,
    "abs**0.5": lambda t: t.abs() ** 0.5, "pow of a tensor": lambda t: torch.pow(t, torch.tensor(2.0, dtype=t.dtype)),
    "2**": lambda t: 2.0**t, "1/": lambda t: 1.0 / t, "tensor/": lambda t: torch.tensor(-3.0, dtype=t.dtype) / t,
    "/ itself": lambda t: t / (t + 7), "* itself": lambda t: t * (t + 7), "exp": torch.exp, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "abs": torch.abs, "relu": torch.relu, "floor": torch.floor, "round": torch.round,
    "remainder": lambda t: torch.remainder(t, 0.75), "fmod": lambda t: torch.fmod(t, t + 7),
    "maximum": lambda t: torch.maximum(t, t.new_tensor(0.5)), "minimum": lambda t: torch.minimum(t, t * 0.5 + 0.25),
    "where": lambda t: torch.where(t > 0.5, t, -2 * t), "> 0.5": lambda t: t > 0.5, "0.5 >": lambda t: 0.5 > t,
    "0.5 <=": lambda t: t.new_tensor(0.5) <= t, "double": lambda t: t.double() + 1, "float": lambda t: t.float() * 3,
    "to": lambda t: t.to(torch.float32) - 1, "clone": lambda t: t.clone(memory_format=torch.contiguous_format),
    "a square and more": lambda t: t * t + 1, "a mean of squares": lambda t: (t * t).reshape(-1, 1).mean(-1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_a_number_has_what_it_has_among_many(name, dtype):
    t, f = row(dtype), ONE[name]
    many = f(torch.cat([t] * 20))
    made = [f(t), *[f(t[i]) for i in range(4)], f(t.reshape(2, 2)).reshape(-1)]
    for few, general in zip(made, [many[:4], *[many[i] for i in range(4)], many[:4]], strict=True):
        if general.value.dtype is torch.bool:
            assert few.value.tolist() == general.value.tolist()
            assert few.residual.tolist() == general.residual.tolist()
            eps = torch.finfo(dtype).eps
            numpy.testing.assert_allclose(
                few.components.reshape(4, -1), general.components.reshape(4, -1), rtol=4 * eps
            )
        else:
            same(few.reshape(-1), general.reshape(-1), digits=64)


def test_numbers_that_are_not_finite_or_do_not_move():
    with pytest.warns(np.exceptions.DecompositionWarning):
        assert not bool(torch.isfinite((1.0 / row(v=[1.0], r=[0.0]))[0].components).all())
    still = row(v=[2.0, 3.0], r=[2.0, 1.0])
    for f in (lambda t: t**2, lambda t: t**0.5, lambda t: 1 / t, torch.floor, lambda t: t > 2.5):
        assert float(f(still)[0].components.abs().max()) == float(f(still[0]).components.abs().max()) == 0
    huge = row(torch.float32, v=[3e38, 1.0], r=[1.0, 0.5])
    assert (huge[0] * 1.5).value == math.inf
    assert torch.maximum(huge[0], huge[1]).value == huge.value[0]


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 1), (1, 4), (4, 1), (2, 4)], ids=str)
def test_choices_between_tensors_of_other_shapes(shape):
    t, count = row(), math.prod(shape)
    constant = torch.linspace(-1.5, 2.75, count, dtype=torch.float64).reshape(shape)
    other = np.decompose(constant, baseline=0.3)
    for f in (torch.maximum, torch.minimum, torch.gt, torch.fmod, torch.mul, torch.sub):
        for b in (constant, other):
            few, general = both(f, t, b)
            assert few.value.shape == torch.broadcast_shapes((4,), shape)
            assert torch.equal(few.residual, general.residual)
            numpy.testing.assert_allclose(few.components, general.components, rtol=1e-12, atol=1e-13)
            assert few.labels == general.labels


@pytest.mark.parametrize("name", ["dim", "numel", "is_contiguous", "stride", "size", "is_floating_point"])
def test_methods_that_look_at_no_number(name):
    t = row()
    wanted = getattr(t.value, name)()
    assert getattr(t, name)() == wanted
    with Looking() as mode:
        assert getattr(t, name)() == wanted
    assert name in mode.seen
    with np.check_completeness():
        assert getattr(t, name)() == wanted
    assert torch.stack([t, t]).mT.is_contiguous(memory_format=torch.contiguous_format) is False
    assert t.size(0) == 4


def test_choices_that_are_the_same_at_the_baseline_are_made_without_a_word():
    t = row(v=[1.0, 3.0, 2.0], r=[0.5, 2.5, 1.0])
    assert bool(t[1] > 2.0)
    assert int(t.argmax()) == 1
    assert t.argsort().tolist() == [0, 2, 1]
    moved = t - torch.tensor([0, 1.25, 0], dtype=torch.float64)
    for choose in (lambda: bool(t[1] > 2.75), moved.argmax, lambda: int(t[0])):
        with pytest.warns(np.exceptions.DecompositionWarning, match="frozen"):
            choose()
        with np.rule(conditions="frozen"):
            choose()


def test_an_element_has_memory_of_its_own():
    x = np.asarray(torch.stack([row(), row() * 2]))
    element, view = x[1, -1], x[1]
    x[1, 3] = 9.0
    assert element.value == 0.5
    assert view[3].value == 9
    assert element.components.tolist() == [0, 0, 0, 0.25]
    assert not view[3].components.any()
    for key in ((2, 0), (0, 4), (0, -5), 2**70):
        with pytest.raises(IndexError):
            x[key]


# -- views -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("equal", [False, True])
def test_views_see_what_is_written(equal):
    t = np.decompose(torch.tensor(V, dtype=torch.float64), baseline=0.5 if equal else torch.tensor(R).double())
    parts = [t[0:1], t[1:2], t.view(2, 2), t.unsqueeze(0).transpose(0, 1)]
    parts[0] += row(v=[7.0], r=[2.0], labels="x")
    parts[2][1, 1] = 9.0
    assert t.value.tolist() == [8.0, -2.0, 3.0, 9.0]
    assert t.residual[0] == (2.5 if equal else R[0] + 2)
    assert parts[1].residual.tolist() == [0.5 if equal else R[1]]
    assert t.residual[3] == 9
    assert parts[3].value.flatten().tolist() == t.value.tolist()
    assert torch.equal(parts[3].components.flatten(1), t.components)
    assert torch.equal(parts[2].residual.flatten(), t.residual)
    assert float(np.completeness(t).abs().max()) == 0
