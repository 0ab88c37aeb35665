"""What cannot be decomposed, or cannot hold what is, is refused in words; what can loses nothing. In both faces."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings

import numpy
import pytest
import torch

import npdec as np

D = torch.float64
HALVES = [torch.float16, torch.bfloat16]


def numbers(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=D)


def decomposed(*shape, dtype=D):
    return np.decompose(numbers(*shape).to(dtype))


def complete(y, bound=1e-12):
    tensor = y.tensor if hasattr(y, "tensor") else y
    assert isinstance(tensor, np.decompose(torch.ones(1)).__class__), "it lost its contributions"
    assert float(np.completeness(tensor).detach().abs().max()) <= bound * float(
        tensor.value.detach().abs().max().clamp(min=1)
    )
    return tensor


# -- devices -----------------------------------------------------------------------------------------------------------

ELSEWHERE = torch.ones(3, device="meta")


@pytest.mark.parametrize("use", [
    lambda d: d + ELSEWHERE, lambda d: ELSEWHERE + d, lambda d: d * ELSEWHERE, lambda d: torch.maximum(ELSEWHERE, d),
    lambda d: d / ELSEWHERE, lambda d: d < ELSEWHERE, lambda d: torch.where(d > 0, d, ELSEWHERE),
    lambda d: d @ ELSEWHERE.to(D),
    lambda d: torch.where(ELSEWHERE > 0, d, d),
    lambda d: torch.cat([d, ELSEWHERE]), lambda d: np.add(d, np.ones(3, device="meta")),
    lambda d: np.decompose(np.ones(3)) * np.ones(3, device="meta"),
    lambda d: torch.exp(d, out=torch.empty(3, device="meta", dtype=D)),
])  # fmt: skip
def test_devices_are_not_mixed(use):
    with pytest.raises(RuntimeError, match="device"):
        use(decomposed(3))


@pytest.mark.parametrize("call", [
    lambda: np.decompose(ELSEWHERE),
    lambda: np.decompose(numbers(3), baseline=ELSEWHERE),
    lambda: np.decompose(np.ones(3, device="meta")),
])  # fmt: skip
def test_nothing_is_decomposed_without_numbers(call):
    with pytest.raises(ValueError, match="device meta has no numbers"):
        call()


# -- dtypes ------------------------------------------------------------------------------------------------------------

MIXES = [
    lambda a, b: a + b, lambda a, b: a * b, lambda a, b: torch.stack([a.to(b.dtype), b]), torch.maximum, torch.outer,
    lambda a, b: torch.where(a > 0, a, b), lambda a, b: torch.cat([a, b]), torch.hypot,
]  # fmt: skip


@pytest.mark.parametrize("mix", range(len(MIXES)))
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
def test_halves_beside_wider_numbers(dtype, mix):
    """The dtype is that of torch, and the digits are those of the narrower one."""
    narrow, wide = decomposed(3, dtype=dtype), decomposed(3)
    for a, b in ((narrow, wide), (narrow, wide.value), (narrow.value, wide)):
        y = complete(MIXES[mix](a, b), 4 * torch.finfo(dtype).eps)
        plain = MIXES[mix](narrow.value, wide.value)
        assert y.dtype == plain.dtype
        assert torch.equal(y.value, plain)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("function", [torch.exp, torch.sum, lambda t: torch.softmax(t, 0), lambda t: t.pow(2).mean(),
                                      lambda t: torch.layer_norm(t, (5,)), lambda t: t @ t.unsqueeze(1)])  # fmt: skip
def test_halves_alone(dtype, function):
    y = complete(function(decomposed(5, dtype=dtype)), 8 * torch.finfo(dtype).eps)
    assert y.dtype is y.components.dtype is dtype


def test_what_torch_does_not_mix():
    for function in (torch.dot, lambda a, b: torch.lerp(a, b, 0.5)):
        with pytest.raises(RuntimeError, match="dtype"):
            function(decomposed(3), decomposed(3, dtype=torch.float32))


@pytest.mark.parametrize("write", [
    lambda z, d: z.copy_(d), lambda z, d: z.__setitem__(0, d[0]), lambda z, d: z.fill_(d[0]),
])  # fmt: skip
def test_integers_that_are_written_are_steps(write):
    tensor, array, source = torch.zeros(3, dtype=torch.int64), np.zeros(3, dtype=int), decomposed(3) * 10
    write(tensor, source)
    array[:] = np.asarray(source)
    for made in (tensor, array.tensor):
        assert made.value.dtype is made.residual.dtype is torch.int64
        assert torch.equal(made.residual + made.components.sum(0).round().long(), made.value)
        assert (made.value != made.residual).any()


def test_integers_that_cannot_be_written_are_refused():
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.zeros(3, dtype=torch.int64).add_(decomposed(3))
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        np.add(np.asarray(decomposed(3)), 1, out=np.zeros(3, dtype=int))


def test_baselines():
    x = numbers(3)
    with pytest.raises(TypeError, match="complex baseline"):
        np.decompose(x, baseline=x * 1j)
    with pytest.raises(ValueError, match="does not broadcast"):
        np.decompose(x, baseline=torch.zeros(4))
    with pytest.raises(ValueError, match="decomposed already"):
        np.decompose(np.decompose(x))
    with pytest.raises(ValueError, match="baseline is decomposed"):
        np.decompose(x, baseline=np.decompose(x))
    with pytest.raises(TypeError, match="contributions are real numbers"):
        np.decompose(torch.arange(3))
    assert complete(np.decompose(x, baseline=torch.tensor(1))).residual.tolist() == [1, 1, 1]
    assert complete(np.decompose(x, baseline=x.half())).dtype is D


# -- two decompositions ------------------------------------------------------------------------------------------------

MEETINGS = [
    lambda a, b: a + b, lambda a, b: a * b, torch.maximum, lambda a, b: torch.stack([a, b]), torch.atan2,
    torch.linalg.vecdot, lambda a, b: a.clone().add_(b), lambda a, b: torch.cat([a, b]).softmax(0),
    lambda a, b: torch.where(a > b, a, b), lambda a, b: torch.scatter(a, 0, torch.tensor([2]), b),
]  # fmt: skip


@pytest.mark.parametrize("meet", MEETINGS)
def test_labels_of_two_decompositions_merge(meet):
    x, y = numbers(3), numbers(4)[1:]
    a, b = np.decompose(x, labels=["a", "b", "c"]), np.decompose(y, labels=["b", "c", "d"])
    made = complete(meet(a, b))
    assert made.labels == ("a", "b", "c", "d")
    apart = complete(meet(np.decompose(x, labels=["a", 1, 2]), np.decompose(y, labels=[3, 4, "d"])))
    assert len(apart.labels) == 6
    one = dict(zip(made.labels, made.components, strict=True))
    two = dict(zip(apart.labels, apart.components, strict=True))
    torch.testing.assert_close(one["b"], two[1] + two[3])
    torch.testing.assert_close(one["c"], two[2] + two[4])
    arrays = meet(np.decompose(x), np.decompose(x))
    assert len(arrays.labels) == 6  # labels that were given none are apart


def test_one_that_is_written_into_another():
    a, b = np.decompose(np.array([1.0, 2.0]), labels="ab"), np.decompose(np.array([3.0, 4.0]), labels="bc")
    a[0] = b[1]
    assert a.labels == ("a", "b", "c")
    assert complete(a).components.tolist() == [[0, 0], [0, 2], [4, 0]]


def test_reverse_mode_beside_another():
    e = decomposed(3)
    for f in (lambda t: (t * e).sum(), lambda t: torch.stack([e, t]).sum(), lambda t: e @ t):
        with pytest.raises(ValueError, match="in reverse mode"):
            np.attribute(f, numbers(3))


# -- numbers taken out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("take", [
    lambda d: d.numpy(), lambda d: d.numpy(force=True), numpy.asarray, lambda d: numpy.add(d, 1),
    torch.from_dlpack, lambda d: d.share_memory_(), lambda d: d.to_sparse(), lambda d: d.const_data_ptr(),
    lambda d: torch.quantize_per_tensor(d.float(), 0.1, 0, torch.qint8), lambda d: d.view(torch.float32),
    lambda d: np.asarray(d).data, lambda d: torch.as_tensor(np.asarray(d)), lambda d: d.set_(),
    lambda d: d.resize_(2000),
])  # fmt: skip
def test_what_would_lose_contributions_is_refused(take):
    with pytest.raises((TypeError, NotImplementedError, BufferError, RuntimeError),
                       match=r"contributions|value only|undefined"):  # fmt: skip
        take(decomposed(3))


def test_numpy_of_an_array_warns():
    with pytest.warns(np.DecompositionWarning, match="drops the contributions"):
        assert type(numpy.asarray(np.asarray(decomposed(3)))) is numpy.ndarray


def test_copies_keep_what_there_is(tmp_path):
    d = decomposed(3)
    torch.save(d, tmp_path / "d.pt")
    for made in (pickle.loads(pickle.dumps(d)), copy.copy(d), copy.deepcopy(d), d.clone(), torch.asarray(d),
                 torch.load(tmp_path / "d.pt", weights_only=False), torch.as_tensor(d)):  # fmt: skip
        assert torch.equal(complete(made).components, d.components)


# -- layouts -----------------------------------------------------------------------------------------------------------


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2, dtype=D), torch.ones(3, dtype=D)])


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8)


LAYOUTS = {
    "to_dense": lambda: torch.eye(3, dtype=D).to_sparse(),
    "dequantize": quantized,
    "to_padded_tensor": nested,
    r"torch.sparse_csr.*to_dense": lambda: torch.eye(3, dtype=D).to_sparse_csr(),
}


@pytest.mark.filterwarnings("ignore:Sparse CS")
@pytest.mark.parametrize("way", LAYOUTS)
def test_layouts_that_have_no_components(way):
    tensor = LAYOUTS[way]()
    for call in (np.decompose, np.array, np.exp, lambda t: np.decompose(numbers(3, 3), baseline=t)):
        with pytest.raises(TypeError, match=way):
            call(tensor)


def test_what_is_written_into_other_layouts():
    for target in (torch.eye(3, dtype=D).to_sparse(), nested()):
        with pytest.raises(NotImplementedError, match="only dense tensors hold contributions"):
            target.copy_(decomposed(3, 3))
    with pytest.warns(np.DecompositionWarning, match="drops their contributions"):
        quantized().copy_(decomposed(3).float())


@pytest.mark.filterwarnings("ignore:Sparse CS", "ignore:Sparse invariant")
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_matrices_multiply(layout):
    """As dense ones do: what they hold is a constant."""
    dense, x, base = numbers(4, 3).relu(), numbers(3, 2), numbers(2, 3).T
    sparse, d, e = getattr(dense, layout)(), np.decompose(x, axis=0, baseline=base), decomposed(4, 2)
    turned = getattr(dense.T.contiguous(), layout)()
    for f, g in [
        (lambda: sparse @ d, lambda: dense @ d), (lambda: torch.mm(sparse, d), lambda: dense @ d),
        (lambda: torch.sparse.mm(sparse, d), lambda: dense @ d), (lambda: sparse.matmul(d), lambda: dense @ d),
        (lambda: torch.mv(sparse, d[:, 0]), lambda: dense @ d[:, 0]), (lambda: d.T @ turned, lambda: d.T @ dense.T),
        (lambda: torch.addmm(e, sparse, d, beta=0.5, alpha=2), lambda: torch.addmm(e, dense, d, beta=0.5, alpha=2)),
        (lambda: torch.addmm(e, sparse, x), lambda: torch.addmm(e, dense, x)),
    ]:  # fmt: skip
        y, want = complete(f()), g()
        assert y.labels == want.labels
        for part in ("value", "residual", "components"):
            torch.testing.assert_close(getattr(y, part), getattr(want, part))
    backward = np.attribute(lambda x: (sparse @ x).exp().sum(), x, baseline=base).attribution
    torch.testing.assert_close(backward.sum(1), (sparse @ d).exp().sum().components)
    for f in (lambda: sparse * e[:, :1], lambda: torch.nn.functional.linear(d.T, sparse)):
        with pytest.raises(NotImplementedError, match=r"layout torch.sparse_.* use \.to_dense"):
            f()


# -- plain tensors that are written ------------------------------------------------------------------------------------


def test_a_plain_tensor_that_is_written_becomes_decomposed():
    d = decomposed(3)
    z = torch.zeros(4, dtype=D)
    z[1:].copy_(d)
    assert complete(z).components[:, 1:].equal(d.components)
    w = torch.zeros(4, dtype=D)
    kept = w[1:]
    with pytest.raises(RuntimeError, match="shares its memory with another one"):
        w[:3] = d
    assert not w.any()
    assert not kept.any()
    module = torch.nn.BatchNorm1d(3).double()
    module.running_mean.copy_(d)
    complete(module.running_mean)


def test_arrays_and_their_views_become_decomposed():
    a = np.decompose(np.array([1.0, 2, 3]))
    z = np.zeros(4)
    views = [z[1:], z.reshape(2, 2), z[::-1], z[1:].view()]
    z[:3] = a
    assert complete(views[1]).components.sum(0).flatten().tolist() == [1, 2, 3, 0]
    assert complete(views[0]).components.sum(0).tolist() == complete(views[3]).components.sum(0).tolist() == [2, 3, 0]
    views[0] += a
    assert complete(z).components.sum(0).tolist() == [1, 3, 5, 3]


@pytest.mark.parametrize("write", [
    lambda c, a: c.__setitem__(slice(None), a), lambda c, a: np.add(a, 0, out=c), np.copyto,
    lambda c, a: c.__iadd__(a), lambda c, a: c[:].__setitem__(slice(None), a), lambda c, a: c.put([0, 1, 2], a),
])  # fmt: skip
def test_the_torch_tensor_that_an_array_shares(write):
    """It is written too, and so it has the contributions; later writes into the one are in the other."""
    z = torch.zeros(3, dtype=D)
    c = np.asarray(z)
    write(c, np.decompose(np.array([1.0, 2, 3])))
    assert complete(z).components.sum(0).tolist() == complete(c).components.sum(0).tolist() == [1, 2, 3]
    z.mul_(2)
    c[0] = 5 * c[1]
    assert complete(z).components.sum(0).tolist() == complete(c).components.sum(0).tolist() == [20, 4, 6]
    part = torch.zeros(4, dtype=D)
    tail = np.asarray(part)[1:]
    write(tail, np.decompose(np.array([1.0, 2, 3])))
    assert complete(part).components.sum(0).tolist() == [0, 1, 2, 3]


def test_labels_that_come_later_reach_all_that_look():
    z = torch.zeros(4, dtype=D)
    c, again = np.asarray(z), np.asarray(z)
    tail = c[2:]
    c[:2] = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
    middle = z[1:3]
    tail[:] = np.decompose(np.array([3.0, 4.0]), labels=["c", "d"])
    for x in (z, c, again):
        complete(x)
        assert x.labels == ("a", "b", "c", "d")
        assert x.components.sum(1).tolist() == x.components.sum(0).tolist() == [1, 2, 3, 4]
    assert complete(middle).components.sum(0).tolist() == [2, 3]
    assert complete(tail).components.sum(0).tolist() == [3, 4]
    z[:1] += np.decompose(torch.tensor([5.0], dtype=D), labels=["e"])
    assert complete(c).components.sum(1).tolist() == complete(again).components.sum(1).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("other", [lambda t: t[1:], lambda t: t.detach(), lambda t: t.numpy(), numpy.asarray,
                                   lambda t: t.view(2, 2), lambda t: np.asarray(t[:2])])  # fmt: skip
@pytest.mark.parametrize("wrap", [np.asarray, lambda t: np.asarray(t)[::2], lambda t: np.asarray(t)[::-1]])
def test_a_view_that_would_not_know(other, wrap):
    """A view that somebody took of a torch tensor before, which is no view of the array."""
    z = torch.zeros(4, dtype=D)
    array, held = wrap(z), other(z)
    with pytest.raises(RuntimeError, match="shares its memory with another one"):
        array[0] = np.decompose(np.array([1.0]))[0]
    assert type(z) is torch.Tensor
    assert not z.any()
    del held
    array[0] = np.decompose(np.array([1.0]))[0]
    assert complete(z).components.sum() == 1


def test_arguments_that_are_views_of_what_is_written():
    d = np.decompose(np.arange(4.0))
    x = np.zeros(5)
    np.add(x[1:], d, out=x[:-1])
    assert complete(x).components.sum(0).tolist() == [0, 1, 2, 3, 0]
    y = np.zeros((2, 4))
    np.matmul(y[:, :2] + 1, d.reshape(2, 2), out=y[:, 2:])
    assert complete(y).components.sum(0).tolist() == [[0, 0, 2, 4]] * 2
    z = np.zeros(5)
    np.concatenate([z[:1], d], out=z)
    assert complete(z).components.sum(0).tolist() == [0, 0, 1, 2, 3]
    value = z.value[1:]
    z[0] = np.decompose(np.array([7.0]))[0]
    assert complete(z).value.tolist() == [7, 0, 1, 2, 3]
    assert not value.is_decomposed
    assert value.base is z


def write_without_graph(parameter, d):
    with torch.no_grad():
        parameter[1:] = d


@pytest.mark.parametrize("make", [
    lambda d: np.zeros(4).__setitem__(slice(3), d), lambda d: torch.zeros(4, dtype=D)[1:].copy_(d.tensor),
    lambda d: np.asarray(torch.zeros(4, dtype=D)).__setitem__(slice(1, None), d),
    lambda d: (torch.ones(4, dtype=D, requires_grad=True) * 2)[1:].copy_(d.tensor),
    lambda d: write_without_graph(torch.nn.Parameter(torch.zeros(4, dtype=D)), d.tensor),
])  # fmt: skip
def test_what_was_written_is_freed(make):
    """A tensor that became decomposed does not keep itself: nobody would see the cycle, of which torch holds a part."""

    def held():
        gc.collect()
        return sum(issubclass(type(found), torch.Tensor) and found.shape == (4,) for found in gc.get_objects())

    d, before = np.decompose(np.arange(3.0)), held()
    for _ in range(10):
        make(d)
    assert held() <= before


class Itself(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


@pytest.mark.parametrize("look", [
    lambda t: torch.broadcast_tensors(torch.ones(3, dtype=D), t)[1], lambda t: torch.atleast_2d(numbers(3), t)[1],
    lambda t: torch.atleast_1d([t])[0], lambda t: torch.meshgrid(numbers(2), t, indexing="ij")[1],
    lambda t: np.meshgrid(np.ones(2), t, copy=False)[1].tensor, lambda t: torch.einsum("i->i", t), copy.copy,
    Itself.apply, lambda t: pickle.loads(pickle.dumps((t, t[:])))[1],
])  # fmt: skip
@pytest.mark.parametrize("settled", [False, True])
def test_views_that_are_of_another_argument(look, settled):
    t = np.decompose(torch.tensor([1.0, 2.0, 3.0], dtype=D))
    if settled:
        t = torch.zeros(3, dtype=D).copy_(t)
    view = look(t)
    t[0] = 50.0
    complete(view)
    if all(view.stride()):
        view[..., 1] = 60.0
    complete(view)
    complete(t)
    t += np.decompose(torch.tensor([1.0, 2.0, 3.0], dtype=D), labels=["a", "b", "c"])
    complete(view)
    complete(t)


@pytest.mark.parametrize("make", [
    lambda: np.decompose(torch.tensor([1 + 1j, 2 + 2j])), lambda: torch.zeros(2, dtype=torch.complex64)
])  # fmt: skip
def test_conjugated_views(make):
    t = make()
    u = t.conj()
    u[:1] = np.decompose(torch.tensor([1.5j]))
    assert t.value.tolist()[0] == -1.5j
    for x in (t, u):
        complete(x)
    assert t.components[:, 0].sum() == -1.5j
    u.imag[0] = 3.0
    for x in (t, u):
        complete(x)


@pytest.mark.parametrize("write", [
    lambda x, d: x[1:].real.__setitem__(..., d), lambda x, d: x[1:].imag.fill(d[0]),
    lambda x, d: np.add(d, 1, out=x[1:].real), lambda x, d: x.reshape(2, 2).T.real.__setitem__((0, 0), d[0]),
    lambda x, d: np.vectorize(lambda v: x.__setitem__(0, d[0]) or v.sum(), signature="(n)->()")(x.reshape(2, 2)),
])  # fmt: skip
def test_parts_of_complex_views(write):
    x = np.zeros(4, dtype=complex)
    write(x, np.decompose(np.array([1.0, 2.0, 3.0])))
    assert complete(x).components.any()


@pytest.mark.parametrize("write", [
    lambda t, d: torch.add(t[1:], d, out=t[:-1]), lambda t, d: torch.cat([t[:1], d], out=t),
    lambda t, d: t[:-1].addcmul_(t[1:], d), lambda t, d: torch.mul(input=t[1:], other=d, out=t[1:]),
])  # fmt: skip
def test_arguments_of_torch_that_are_views_of_what_is_written(write):
    t = torch.zeros(5, dtype=D)
    write(t, np.decompose(torch.arange(1.0, 5, dtype=D)))
    complete(t)


def test_what_is_refused_changes_nothing():
    d = np.decompose(np.array([1.0]))[0]
    x = np.zeros(4)
    r = x[::-1]
    for array, other in ((r, x), (x, r)):
        held = other.tensor[1:]
        with pytest.raises(RuntimeError, match="shares its memory"):
            array[0] = d
        assert not x.any()
        assert not r.any()
        assert not x.is_decomposed
        assert not r.is_decomposed
        del held
    r[1] = 5.0
    assert x.tolist() == [0, 0, 5, 0]
    for key, value in ((slice(0, 2), np.decompose(np.ones(3))), (9, d)):
        with pytest.raises((ValueError, IndexError)):
            x[key] = value
        assert not x.is_decomposed

    class Slotted(torch.Tensor):
        __slots__ = ("kept",)

    base = torch.zeros(4, dtype=D)
    with pytest.raises(TypeError, match="layout differs"):
        base[1:].as_subclass(Slotted)[:1] = decomposed(1)
    assert type(base) is torch.Tensor
    with pytest.raises(NotImplementedError, match=r"torch\.func transforms"):
        np.grad(lambda v: (v * 2).__setitem__(0, d) or v.sum())(np.ones(3))


def test_the_parts_are_read_only():
    x = np.decompose(np.arange(3.0)) * 1
    for part in (x.value, x.residual, x.components):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0
    plain = np.zeros(3)
    plain.c_sum()[:] = 5.0
    assert not plain.any()
    part = plain.residual
    part[0] = x[1]
    assert complete(plain).components[1, 0] == 1


def test_a_parameter_written_without_a_graph_stays_a_leaf():
    p = torch.nn.Parameter(torch.zeros(3))
    with torch.no_grad():
        p[:1] = np.decompose(torch.tensor([1.0]))
    complete(p)
    (p.value * 2).sum().backward()
    assert p.grad.tolist() == [2, 2, 2]


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        assert x.is_contiguous()
        return x.view(-1) * 2

    @staticmethod
    def backward(ctx, grad):
        return (grad * 2).view(2, 5, 8)


@pytest.mark.parametrize("look", [
    lambda h: h.view(2, -1), lambda h: h.view(-1).mul(2), lambda h: h[:1].view(40), lambda h: h.unflatten(2, (4, 2)),
    lambda h: torch.view_as_complex(h.view(2, 5, 4, 2)).abs(), lambda h: h.as_strided((2, 5, 4), (40, 8, 2)),
    lambda h: h.unflatten(2, (4, 2)).flatten(2).view(-1), Flat.apply,
    lambda h: torch.nn.functional.pixel_shuffle(h.reshape(1, 4, 5, 4), 2), lambda h: torch.ops.aten.view(h, [2, 40]),
])  # fmt: skip
def test_equal_rows_of_the_baseline_do_not_show(look):
    """They are one in memory, but functions of memory find them where those of the value are."""
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(8, 8).double(), numbers(2, 5, 8)
    y = complete(look(torch.relu(layer(np.decompose(x, axis=1)))))
    assert y.value.equal(look(torch.relu(layer(x))))
    torch.testing.assert_close(y.residual, look(torch.relu(layer(torch.zeros_like(x)))))
    found = np.attribute(lambda x: look(torch.relu(layer(x))).sum(), x)
    complete(y)
    torch.testing.assert_close(found.attribution.sum(), found.value - found.residual)


def test_what_torch_jit_compiled_refuses():
    @torch.jit.script
    def gate(x):
        return torch.tanh(x) * x

    with pytest.raises(TypeError, match=r"gate: a function that torch\.jit has compiled"):
        gate(decomposed(3))
    assert gate(numbers(3)).shape == (3,)


D0, X0 = np.array([2.0, 0.0, 4.0]), np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("guard", [
    lambda x: np.where(D0 != 0, x / D0, 0).sum(), lambda x: (x / D0)[D0 != 0].sum(),
    lambda x: np.divide(x, D0, out=np.zeros(3), where=D0 != 0).sum(),
    lambda x: np.nansum(x * np.array([1, np.nan, 2])), lambda x: np.where(x > 2.5, np.log(x - 1.2), 0).sum(),
    lambda x: np.where(x > 2, (x / D0) * x, x * x).sum(),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*infinite or not a number at the baseline")
def test_reverse_mode_behind_a_guard(guard):
    """What was not chosen may be infinite or NaN."""
    with np.errstate(all="ignore"):
        found = np.attribute(guard, X0, baseline=X0 / 2)
        wanted = np.attribute(guard, X0, baseline=X0 / 2, mode="forward")
    numpy.testing.assert_allclose(found.attribution.tolist(), wanted.attribution.tolist(), rtol=1e-12)
    assert np.isfinite(found.attribution).all()


@pytest.mark.filterwarnings("ignore:.*infinite or not a number at the baseline")
def test_replaced_numbers():
    x = np.decompose(np.array([0.0, 1.0, 2.0, np.inf]), baseline=np.array([0.0, 2.0, 1.0, 1.0]))
    y = np.nan_to_num(x / np.array([0.0, 1.0, 1.0, 1.0]), posinf=5.0)
    assert y.components.tolist() == np.diag(np.array([0.0, -1.0, 1.0, 4.0])).tolist()
    assert complete(y).residual.tolist() == [0, 2, 1, 1]


def test_scalars_as_fractions():
    for ask in ("as_integer_ratio", "hex"):
        with pytest.warns(np.DecompositionWarning, match=ask):
            getattr(np.decompose(np.array([1.5]))[0], ask)()


def test_gradients_pass_through_what_is_written():
    p = torch.ones(3, dtype=D, requires_grad=True)
    z = p * 2
    tail = z[1:]
    tail[:1] = np.decompose(torch.tensor([5.0], dtype=D), labels=["e"])
    complete(z)
    complete(tail)
    z.value.sum().backward()
    assert p.grad.tolist() == [2, 0, 2]


def test_where_nothing_can_be_written():
    d, a = decomposed(3), np.asarray(decomposed(3))
    for write, error, text in [
        (lambda: torch.zeros(1, dtype=D).expand(3).copy_(d), RuntimeError, "more than one element"),
        (lambda: d.expand(2, 3).add_(1), RuntimeError, "more than one element"),
        (lambda: np.broadcast_to(np.zeros(1), (3,)).__setitem__(0, a[0]), ValueError, "read-only"),
        (lambda: torch.zeros(3, dtype=D, requires_grad=True).copy_(d), RuntimeError, "leaf"),
        (lambda: torch.nn.Parameter(torch.zeros(3, dtype=D)).copy_(d), RuntimeError, "leaf"),
        (lambda: torch.zeros(3, dtype=D, requires_grad=True).__setitem__(0, d[0]), RuntimeError, "leaf"),
    ]:
        with pytest.raises(error, match=text):
            write()
    readonly = np.zeros(3)
    readonly.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        readonly[:] = a


# -- leaves, parameters, inference -------------------------------------------------------------------------------------


def test_leaves_and_parameters():
    leaf = numbers(3).requires_grad_()
    for x in (leaf, torch.nn.Parameter(numbers(3)), numbers(3)[:1].expand(3), np.asarray(numbers(3)),
              torch.ones(3, dtype=D, requires_grad=True) * 2):  # fmt: skip
        complete(np.exp(np.decompose(x)))
    np.decompose(leaf).exp().components.sum().backward()
    assert leaf.grad.equal(leaf.detach().exp())
    weight = torch.nn.Parameter(numbers(2, 3))
    y = complete(torch.nn.functional.linear(decomposed(3), weight))
    y.components[0].sum().backward()
    assert weight.grad.any()
    doubled = leaf.detach().clone().requires_grad_() * 1
    doubled[:2] = decomposed(2)
    complete(doubled)
    with torch.no_grad():
        parameter = torch.nn.Parameter(torch.zeros(3, dtype=D))
        parameter.copy_(decomposed(3))
    complete(parameter)


def test_inference_mode():
    x = numbers(3)
    with torch.inference_mode():
        inside, d = numbers(3), np.decompose(x)
        d += 1
        d[0] = 3.0
        z = torch.zeros(3, dtype=D)
        z[:2] = decomposed(2)
        made = [complete(d), complete(z), complete(np.decompose(np.asarray(x)).sum())]
        found = np.attribute(lambda t: (t * t).sum(), x).attribution
    torch.testing.assert_close(found, x * x)
    for y in made:
        complete(y * 2 + decomposed(1))
    complete(np.decompose(inside).exp())
    complete(np.decompose(x, baseline=inside).exp())
    with pytest.raises(RuntimeError, match="inference tensor"):
        d += 1
    with pytest.raises(RuntimeError, match="inference tensor"):
        inside.copy_(decomposed(3))
