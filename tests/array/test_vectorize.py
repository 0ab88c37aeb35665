"""vectorize and frompyfunc: Python functions called for each element, beside NumPy's own."""

from __future__ import annotations

import pickle

import numpy
import pytest
import torch

import npdec as np
from outcomes import same

VECTORIZED = [
    "v('x')", "v(3)", "v(lambda x: x, otypes='Z')", "v(lambda x: x, otypes=3)", "v(lambda x: x)()",
    "[str(t) for t in v(lambda x: x, otypes=[float, 'i4']).otypes]", "v(lambda x: x)(np.zeros(0))",
    "v(lambda x: x, otypes=[float])(np.zeros((0, 3)))", "v(lambda x, y: x)([1, 2], [1, 2, 3])",
    "v(lambda x: (x, x + 1))([1, 2])", "v(lambda x: (x, x + 1))(3)", "v(lambda x: x + 1)(3)",
    "v(lambda x: x, otypes='i')([1.7, 2.2])", "v(lambda x: [x], otypes='d')([1, 2])",
    "v(lambda x: (x,), otypes='d')([1, 2])", "v(lambda x: 1 if x < 2 else 2.5)([1, 3])",
    "v(lambda x, y=1: x + y)([1, 2], y=[3, 4])", "v(lambda x, y=1: x + y, excluded=['y'])([1, 2], y=5)",
    "v(lambda x, y=1: x + y, excluded={1})([1, 2], 5)", "v(lambda a, b: a + b, excluded=['a'])(b=[1, 2], a=3)",
    "v(lambda **k: k['a'] * k['b'])(a=[1, 2], b=[3, 4])", "v(lambda *a: sum(a))(1, [2, 3], 4)",
    "v(lambda x, p: x * len(p), excluded=['p', 1])([1, 2], [1, 2, 3])", "v(lambda a: a, excluded=[0])(3)",
    "v(lambda x, p: x * len(p), excluded=['p', 1])(x=[1, 2], p=[1, 2, 3])", "v(lambda a: a)([[1, 2], [3, 4]])",
    "v(lambda a: a, otypes=[bool])([0, 2])", "v(lambda a: a, otypes=['F'])([0, 2])",
    "v(lambda a: 1j, otypes='d')([1])", "v(lambda a: True if a else 3)([1, 0])", "v(lambda a: np.float32(a))([1, 0])",
    "v(lambda a, b: a * b)([[1], [2]], [3, 4])", "v(lambda a, b: (1, 2), otypes='dd')(1, 2)",
    "[v(lambda x: x + x)(np.asarray([1, 0], dtype=d)) for d in ('i2', 'i4', 'f2', 'f4', 'u1', 'c8', '?')]",
    "v(lambda x: x, doc='hi').__doc__", "v(otypes='f')(lambda x: x)([1, 2])", "v(lambda s, x: x)(object(), [1, 2])",
    "[seen := [], v(lambda x: seen.append(type(x).__name__) or 1)(np.float32([1, 2]))]",
    "[seen := [], v(lambda x: seen.append(type(x).__name__) or 1, otypes='i')(np.float32([1, 2]))]",
    "[seen := [], v(lambda x: seen.append(type(x).__name__) or 1, cache=True)([1, 2])]",
]  # fmt: skip
WITH_SIGNATURE = [
    "v(lambda x, y: x + y, signature='(n),(n)->(n)')([1, 2], [3, 4])", "v(lambda x: x, signature='bad')",
    "v(lambda x: x, signature='(n)->()')([[1, 2]])", "v(lambda x: x.sum(), signature='(n)->()')([[1, 2], [3, 4]])",
    "v(lambda x: x.sum(), signature='(n)->()')([1, 2])", "v(lambda x: x, signature='(n)->(m)')(np.zeros((0, 2)))",
    "v(lambda x: x, signature='(n)->(n)', otypes='d')(np.zeros((0, 2)))", "v(lambda x: x, signature='(x),(y)->')",
    "v(lambda x: x, signature='(n)->()', otypes='d')([1.0])", "v(lambda x: (x, x), signature='()->(),()')([1, 2])",
    "v(lambda x: (x, x), signature='()->()')([1, 2])", "v(lambda x: x, signature='(n)->(n)')(3)",
    "v(lambda x, y: x, signature='(n),(n)->(n)')([1, 2], [1])", "v(lambda x: x, signature='(x)(y)->()')",
    "v(lambda x, y: x, signature='(n),(n)->(n)')([1, 2])", "v(lambda x: x, signature='(n)->(n)')([1, 2], z=3)",
    "v(np.outer, signature='(a),(b)->(a,b)')([[1, 0], [2, 0]], [1, 2, 3])", "v(lambda x: x, signature='((x))->(x)')",
    "v(lambda x: x[:-1], signature='(n)->(m)')([[1, 2, 3], [2, 3, 4]])",
    "v(lambda x: x[:-1], signature='(n)->(n)')([1, 2, 3])", "v(lambda x: x, signature='( n )-> (n ) ')([1])",
    "v(lambda a, b=1: a + b, signature='()->()', excluded={'b'})([1, 2], b=0)",
    "v(lambda x: [x], signature='()->(n)', otypes='i')(np.zeros((0, 5)))",
    "v(lambda x: x, signature='(n)->(n)')(np.zeros((5, 0)))",
    "[seen := [], v(lambda x: seen.append((type(x).__name__, x.shape)) or 1, signature='()->()')(np.ones(2))]",
]  # fmt: skip


@pytest.mark.parametrize("text", VECTORIZED + WITH_SIGNATURE)
def test_vectorize_is_numpys(text):
    same(lambda lib: eval(text, {"np": lib, "v": lib.vectorize}))


FROM_FUNCTIONS = [
    "f(1, 2)", "f([1, 2], 3)", "f.reduce([1, 2, 3])", "f.accumulate([1, 2, 3])", "f.outer([1, 2], [3, 4])",
    "F(lambda x: (x, 1), 1, 2)([1, 2])", "F(lambda x: (x, 1), 1, 2)(3)", "F(3, 1, 1)", "F(max, 1)",
    "F(lambda x: x, 1, 0)(3)", "F(max, 2, 1, identity=0).reduce([])", "f.reduce([])", "f(1)", "f(1, 2, 3)",
    "F(max, 2, 1, identity=0).identity", "f.reduce(np.arange(6).reshape(2, 3), axis=1)", "f([1, 2], [1, 2, 3])",
    "f.reduce(np.arange(6).reshape(2, 3), axis=None)", "F(max, 2, 1).__name__", "F(lambda x: x, 1, 1)(np.zeros(0))",
    "F(max, 2, 1, identity=0).reduce(np.arange(6).reshape(2, 3), axis=None)", "F(lambda x: x, 1, 1, foo=3)",
    "f.reduceat([1, 2, 3], [0, 1])", "isinstance(f, np.ufunc)", "f.reduce([1, 2, 3], initial=10)", "F(int, 0, 1)()",
    "f.reduce([[1, 2], [3, 4]], keepdims=True)", "F(lambda x: x, 1, 1)(np.array(3.0))", "f.reduce([5])",
    "[f.nin, f.nout, f.nargs, f.types[0], f.ntypes, f.identity, f.__name__, f.signature]",
]  # fmt: skip


def numeric(lib, item):
    """NumPy's objects as the numbers that they are."""
    if isinstance(item, tuple):
        return tuple(numeric(lib, i) for i in item)
    if isinstance(item, lib.ndarray):
        return lib.asarray(item.tolist())
    return item.item() if isinstance(item, lib.generic) else item


@pytest.mark.parametrize("text", FROM_FUNCTIONS)
def test_frompyfunc_is_numpys_with_numbers_for_objects(text):
    def program(lib):
        scope = {"np": lib, "F": lib.frompyfunc, "f": lib.frompyfunc(lambda x, y: x + y, 2, 1)}
        return numeric(lib, eval(text, scope))

    same(program)


def test_frompyfunc_writes_where_it_is_told():
    add = np.frompyfunc(lambda x, y: x + y, 2, 1)
    out = np.zeros(2)
    assert add([1.0, 2.0], [3.0, 4.0], out=out) is out
    assert out.tolist() == [4.0, 6.0]
    add.at(out, [0, 0], 1.0)
    assert out.tolist() == [6.0, 6.0]
    assert add([1, 2], [3, 4], where=[True, False], out=np.array([9, 9])).tolist() == [4, 9]
    assert add([1, 2], [3, 4], dtype="f4").dtype == np.float32
    with pytest.raises(TypeError, match="same_kind"):
        add([1.5], [1.0], out=np.zeros(1, dtype=int))
    assert pickle.loads(pickle.dumps(np.frompyfunc(max, 2, 1)))([1, 5], 3).tolist() == [3, 5]


def test_frompyfunc_of_numbers_alone_is_the_function():
    assert np.frompyfunc(str, 1, 1)(3) == numpy.frompyfunc(str, 1, 1)(3) == "3"


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")
def test_contributions_pass_through_the_function():
    x = np.decompose(np.array([1.0, 2.0, 3.0]), labels=["a", "b", "c"])
    y = np.vectorize(lambda a, b: a * b if a > 1.5 else a + b)(x, 2.0)
    assert y.tolist() == [3.0, 4.0, 6.0]
    assert y.components.tolist() == [[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    assert np.vectorize(lambda row: row.sum(), signature="(n)->()")(x).components.tolist() == [1.0, 2.0, 3.0]
    product = np.frompyfunc(lambda a, b: a * b, 2, 1)
    expected = x[0] * x[1] * x[2]  # one after the other
    np.testing.assert_allclose(product.reduce(x).components, expected.components)
    assert product.outer(x, [1.0, 2.0]).components.shape == (3, 3, 2)


def test_gradients_pass_through_the_function():
    t = torch.tensor([1.0, 3.0], requires_grad=True)
    np.vectorize(lambda a: a * a)(np.asarray(t)).sum().tensor.backward()
    assert t.grad.tolist() == [2.0, 6.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib.vectorize(lambda a: "x")([1]), lambda lib: lib.frompyfunc(lambda a: None, 1, 1)([1]),
        lambda lib: lib.vectorize(lambda a: a, otypes=[object])([1]), lambda lib: lib.vectorize(str, otypes="O")([1]),
        lambda lib: lib.vectorize(lambda a: a)(["a"]), lambda lib: lib.vectorize(len)(lib.array(["a", "bc"])),
        lambda lib: lib.frompyfunc(lambda a, b: a + b, 2, 1).reduce(lib.array(["a", "b"], dtype=object)),
        lambda lib: lib.frompyfunc(lambda a, b: (a, [b]), 2, 2)(lib.ones(2), None)[1],
    ],
)  # fmt: skip
def test_what_is_no_number_is_left_to_numpy(call):
    ours, theirs = call(np), call(numpy)
    assert isinstance(ours, np.ndarray) is isinstance(theirs, numpy.ndarray)
    assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
    assert numpy.asarray(ours).tolist() == numpy.asarray(theirs).tolist()
