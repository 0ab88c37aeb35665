"""np.jit and the classes of a program: dataclasses and objects of arrays, their methods, and what changes in them."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from typing import Any

import pytest

import npdec as np
from jit_graphs import graphs

jit = functools.partial(np.jit, backend="eager")
SCALE = 2.0


@dataclasses.dataclass
class Field:
    u: Any
    v: Any
    h: float = 0.5

    def energy(self):
        return (self.u * self.u).sum() * SCALE

    @property
    def both(self):
        return self.u + self.v

    @classmethod
    def zeros(cls, n):
        return cls(np.zeros(n), np.zeros(n))

    @staticmethod
    def twice(x):
        return 2 * x


@dataclasses.dataclass(frozen=True)
class Fixed:
    a: Any
    n: int = 2


class Kind(enum.Enum):
    FIRST = 1


def uncompiled(function: Any, *args: Any, match: str) -> Any:
    with pytest.warns(UserWarning, match=match) as told:
        made = jit(function)(*args)
    assert len(told) == 1
    return made


X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def test_a_dataclass_that_a_function_makes(monkeypatch):
    def f(u, v):
        field = Field(u.copy(), v)
        field.u += 1
        field = dataclasses.replace(field, v=field.u * 2)
        return field.energy(), field.both, Field.zeros(2).u, Field.twice(u)

    fast = jit(f, fullgraph=True)
    for _ in range(2):
        assert [one.tolist() for one in fast(X, Y)] == [26.0, [6.0, 9.0], [0.0, 0.0], [2.0, 4.0]]
    monkeypatch.setitem(globals(), "SCALE", 3.0)  # which a method reads
    assert fast(X, Y)[0] == 39.0
    monkeypatch.setattr(Field, "energy", lambda self: self.h)
    assert fast(X, Y)[0] == 0.5


def test_instances_are_given_and_returned():
    fast, made = graphs(lambda f: Field(f.both * f.h, f.u.sum()))
    for field in (Field(X, Y), Field(Y, X), Field(X, Y, 0.25)):
        result = fast(field)
        assert type(result) is Field
        assert result.u.tolist() == (field.both * field.h).tolist()
        assert result.v == field.u.sum()
        assert result.h == 0.5
    assert len(made) == 2  # a number of Python's is a part of the graph
    frozen = jit(lambda p: [Fixed(p.a * p.n), p == p, dataclasses.replace(p, n=5).n], fullgraph=True)(Fixed(X))
    assert frozen[0].a.tolist() == [2.0, 4.0]
    assert frozen[1:] == [True, 5]


def test_arrays_of_an_instance_are_written():
    def f(field):
        field.u += field.v
        return field.u

    field = Field(X.copy(), Y)
    assert jit(f, fullgraph=True)(field) is field.u
    assert field.u.tolist() == [4.0, 7.0]


def test_objects_found_elsewhere_are_looked_at():
    class Base:
        rate = 0.5

        def __init__(self, w):
            self.w = w

        def f(self, x):
            return self.w * x * self.rate

    class Model(Base):
        def __init__(self, w, b):
            super().__init__(w)
            self.b = b

        def __call__(self, x):
            return super().f(x) + self.b

    model = Model(X, 3.0)
    fast, made = graphs(lambda x: model(x) + 0)
    calls = [fast, jit(model, fullgraph=True), jit(model.__call__, fullgraph=True)]

    def check(*want):
        assert [call(X).tolist() for call in calls] == [list(want)] * 3

    check(3.5, 5.0)
    check(3.5, 5.0)
    model.b = 10.0
    check(10.5, 12.0)
    model.w = np.array([5.0, 5.0])
    check(12.5, 15.0)
    Base.rate = 1.0
    check(15.0, 20.0)
    Base.f = lambda self, x: 0 * x
    check(10.0, 10.0)
    assert len(made) == 5


def test_constants_are_arguments_and_results():
    fast = jit(lambda x, kind, dtype: (x.astype(dtype), kind, x.dtype, range(3)), fullgraph=True)
    made, *rest = fast(X, Kind.FIRST, np.dtype("float32"))
    assert made.dtype == np.float32
    assert rest == [Kind.FIRST, np.dtype("float64"), range(3)]


def test_what_an_instance_does_beside_its_arrays_is_refused():
    def rename(field):
        field.h = 3.0
        return field.u

    field = Field(X, Y)
    assert uncompiled(rename, field, match="it changes an argument") is X
    assert field.h == 3.0
    assert uncompiled(lambda f: f, field, match="returns an argument, a Field") is field
    field.v = field
    assert uncompiled(lambda f: f.u, field, match="is given twice, or holds itself") is X

    class Slotted:
        __slots__ = ("a",)

    def slots(x):
        slotted = Slotted()
        slotted.a = x
        return slotted.a

    assert uncompiled(slots, X, match="a class with __slots__") is X

    class Counted:
        count = 0

    def counts(x):
        Counted.count += 1
        return x

    assert uncompiled(counts, X, match="it changes 'Counted'") is X
    assert Counted.count == 1

    @dataclasses.dataclass
    class Made:
        a: Any = dataclasses.field(default_factory=lambda: np.zeros(2))

    assert uncompiled(lambda x: Made().a, X, match="'a' has a default that may change").tolist() == [0.0, 0.0]


def test_a_decomposed_array_in_an_instance():
    marked = np.decompose(X, baseline=0.0)
    made = jit(lambda field: field.both * 2)(Field(marked, Y))
    assert made.components.sum(0).tolist() == [2.0, 4.0]


def test_objects_of_libraries_are_none_of_a_program():
    holder = types.SimpleNamespace(a=1.0)
    assert uncompiled(lambda x: x * holder.a, X, match="a SimpleNamespace, which may change").tolist() == [1.0, 2.0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # torch's compiler
def test_elements_of_decomposed_arrays_are_written():
    def running(x):
        out = np.zeros(3)
        out[0] = x[0] * 2
        for i in range(1, 3):
            out[i] = out[i - 1] + x[i]
        return out

    marked = np.decompose(np.array([1.0, 2.0, 3.0]), baseline=0.5)
    found, expected = np.jit(running)(marked), running(marked)
    assert found.tolist() == expected.tolist()
    assert found.tensor.components.tolist() == expected.tensor.components.tolist()
    assert found.tensor.residual.tolist() == expected.tensor.residual.tolist()
