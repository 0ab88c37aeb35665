"""Which way results lie in memory: whether a reshaped result is a view of it, which a write shows, as NumPy's is."""

import itertools

import numpy
import pytest

import npdec as np

BASE = numpy.arange(24.0).reshape(2, 3, 4)

# A function of the module and an array of shape (2, 3, 4).
CALLS = {
    "delete": lambda n, x: n.delete(x, 1, 1),
    "delete slices": lambda n, x: n.delete(x, slice(1, 2), 1),
    "insert": lambda n, x: n.insert(x, 1, 9.0, 1),
    "insert several": lambda n, x: n.insert(x, [0, 2], 9.0, 2),
    "add.reduceat": lambda n, x: n.add.reduceat(x, [0, 1], 1),
    "add.reduceat of equal slices": lambda n, x: n.add.reduceat(x, [0, 1, 2], 1),
    **{f"fft.{f}": (lambda n, x, f=f: getattr(n.fft, f)(x, axis=1)) for f in ("fft", "ifft", "rfft", "hfft", "ihfft")},
    **{f"fft.{f}": (lambda n, x, f=f: getattr(n.fft, f)(x, axes=(0, 1))) for f in ("fft2", "ifft2", "rfft2", "fftn")},
    "concatenate": lambda n, x: n.concatenate([x, x], 1),
    "stack": lambda n, x: n.stack([x, x], 2),
    "repeat": lambda n, x: n.repeat(x, 2, 1),
    "take": lambda n, x: n.take(x, [0, 1], 1),
    "matmul": lambda n, x: x @ x.swapaxes(1, 2),
    "einsum": lambda n, x: n.einsum("ijk,ijk->ikj", x, x),
    "tensordot": lambda n, x: n.tensordot(x, x, ([2], [2])),
    "quantile": lambda n, x: n.quantile(x, [0.1, 0.2], axis=1),
    "percentile": lambda n, x: n.percentile(x, [10, 20], axis=0, method="lower"),
    "linalg.inv": lambda n, x: n.linalg.inv(x[:, :, :3] + 9 * n.eye(3)),
    "linalg.inv of float32": lambda n, x: n.linalg.inv((x[:, :, :3] + 9 * n.eye(3)).astype("f4")),
    "linalg.pinv": lambda n, x: n.linalg.pinv(x),
    "linalg.solve": lambda n, x: n.linalg.solve(x[:, :, :3] + 9 * n.eye(3), x),
    "linalg.cholesky": lambda n, x: n.linalg.cholesky(x @ x.swapaxes(1, 2) + n.eye(3)),
    "linalg.eigh": lambda n, x: n.linalg.eigh(x @ x.swapaxes(1, 2)).eigenvectors,
    "linalg.eig": lambda n, x: n.linalg.eig(x[:, :, :3]).eigenvectors,
    "linalg.svd": lambda n, x: n.linalg.svd(x)[0],
    "linalg.svd, rows": lambda n, x: n.linalg.svd(x)[2],
    "linalg.qr": lambda n, x: n.linalg.qr(x)[0],
    "linalg.qr, triangle": lambda n, x: n.linalg.qr(n.ascontiguousarray(x))[1],
}
ORDERS = {
    "C": lambda n: n.array(BASE),
    "F": lambda n: n.array(BASE, order="F"),
    "transposed": lambda n: n.array(BASE.transpose(1, 0, 2).copy()).transpose(1, 0, 2),
}


def is_view_when_reshaped(module, call, order):
    result = call(module, ORDERS[order](module))
    result.reshape(-1)[1] = 77
    return bool(result[(0,) * (result.ndim - 1) + (1,)] == 77)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CALLS)
def test_a_reshaped_result_is_a_view_where_numpys_is(name, order):
    theirs = is_view_when_reshaped(numpy, CALLS[name], order)
    assert is_view_when_reshaped(np, CALLS[name], order) == theirs


# A function of the module, an array that may be reversed along axes, and an order.
IN_ORDERS = {
    "flatten": lambda n, x, order: x.flatten(order),
    "ravel": lambda n, x, order: n.ravel(x, order),
    "x.ravel": lambda n, x, order: x.ravel(order),
    "copy": lambda n, x, order: n.copy(x, order=order),
    "x.copy": lambda n, x, order: x.copy(order),
    "array": lambda n, x, order: n.array(x, order=order),
    "astype": lambda n, x, order: x.astype(int, order=order),
    "astype, the same": lambda n, x, order: x.astype(float, order=order, copy=False),
    "ones_like": lambda n, x, order: n.ones_like(x, order=order),
    "a ufunc": lambda n, x, order: n.subtract(x, 1, order=order),
    "reshape": lambda n, x, order: n.reshape(x, -1, order=order) + 0 if order not in "Kk" else x,
    "x.reshape": lambda n, x, order: x.reshape(-1, order=order) + 0 if order not in "Kk" else x,
}
STEPS = list(itertools.product((slice(None), slice(None, None, -1)), repeat=2))


@pytest.mark.parametrize("order", "CFAKcfak")
@pytest.mark.parametrize("name", [*IN_ORDERS, "tobytes"])
def test_memory_orders_of_reversed_arrays(name, order):
    for memory, steps, turned in itertools.product("CF", STEPS, (False, True)):
        theirs, ours = (n.array(BASE[0].tolist(), order=memory) for n in (numpy, np))
        theirs, ours = ((x.T if turned else x)[steps] for x in (theirs, ours))
        if name == "tobytes":
            assert ours.tobytes(order) == theirs.tobytes(order)
            continue
        wanted, made = IN_ORDERS[name](numpy, theirs, order), IN_ORDERS[name](np, ours, order)
        assert made.tolist() == wanted.tolist(), (memory, steps, turned)
        assert made.flags.num & 3 == wanted.flags.num & 3, (memory, steps, turned)
        assert np.shares_memory(made, ours) == numpy.shares_memory(wanted, theirs), (memory, steps, turned)
