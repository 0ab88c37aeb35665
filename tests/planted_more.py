"""More faults planted in npdec for a while: memory, promotion, order, conditions, writes, random numbers, types."""

from __future__ import annotations

from typing import Any

import numpy
import torch

import npdec as np
from planted import planted, wrong_kernel, wrong_method

__all__ = ["PLANTED"]

X = numpy.linspace(0.1, 2.3, 12).reshape(3, 4)
SQUARE = numpy.random.default_rng(2).standard_normal((4, 4))
SINGLE = numpy.linspace(0.1, 2.3, 12, dtype=numpy.float32)
N = numpy.array([20000, 30000, -5], dtype=numpy.int32)
BYTES = numpy.array([100, 100, 100], dtype=numpy.int8)
TIES = numpy.array([2.0, 1.0, 2.0, 1.0, 2.0, 1.0])
Z = numpy.array([1 + 2j, 3 - 1j, -2j])


def _function(patch: Any, name: str, source: str, owner: Any = np) -> None:
    """Put a function in the place of one of npdec's, which it calls `right`."""
    patch.setitem(vars(owner), name, planted(source, right=getattr(owner, name), np=np, torch=torch))


# -- dtypes ------------------------------------------------------------------------------------------------------------


def integers_promoted_to_single_precision(patch: Any) -> Any:
    def program(n, s):
        m = n + 1
        return m * s[:3]  # here

    wrong_method(patch, "__mul__", "def __mul__(self, other): return right(self, other).astype('float32')")
    return program, (N, SINGLE), "dtype"


def sum_of_bytes_that_overflows(patch: Any) -> Any:
    def program(n):
        m = n[:]
        total = np.sum(m)  # here
        return total / 3

    _function(patch, "sum", "def sum(a): return right(a, dtype='int8').astype('int64')")
    return program, (BYTES,), "values"


def product_of_matrices_in_single_precision(patch: Any) -> Any:
    def program(x):
        gram = x.T.copy()
        return x @ gram  # here

    wrong_method(
        patch, "__matmul__", "def __matmul__(self, o): return right(self.astype('f4'), o.astype('f4')).astype('f8')"
    )
    return program, (X,), "values"


def accumulation_in_half_precision(patch: Any) -> Any:
    def program(s):
        t = s * 2
        return t.mean()  # here

    wrong_method(patch, "mean", "def mean(self): return np.float32(right(self.astype('f2')))")
    return program, (SINGLE,), "values"


def result_type_that_forgets_a_width(patch: Any) -> Any:
    def program(n, s):
        kind = np.result_type(n, s)  # here
        return np.zeros(3, kind)

    _function(patch, "result_type", "def result_type(*given): return np.dtype('float32')")
    return program, (N, SINGLE), "dtype"


def division_of_integers_that_truncates(patch: Any) -> Any:
    def program(n):
        m = n - 1
        return m // 7  # here

    wrong_method(patch, "__floordiv__", "def __floordiv__(self, other): return np.trunc(self / other).astype('int32')")
    return program, (N,), "values"


def scalar_that_is_an_array(patch: Any) -> Any:
    def program(x):
        y = x * 2
        total = np.prod(y)  # here
        return total + 1

    _function(patch, "prod", "def prod(a): return np.asarray(right(a))")
    return program, (X,), "type"


# -- axes, shapes, order -----------------------------------------------------------------------------------------------


def axes_that_are_lost(patch: Any) -> Any:
    def program(x):
        top = np.max(x, axis=1, keepdims=True)  # here
        return x.T - top

    _function(patch, "max", "def max(a, axis=None, out=None, keepdims=False): return right(a, axis=axis)")
    return program, (SQUARE,), "shape"


def axes_that_are_not_swapped(patch: Any) -> Any:
    def program(x):
        y = x + 1
        return np.swapaxes(y, 0, 1) * 2  # here

    wrong_kernel(patch, np.swapaxes, lambda right: lambda a, *axes: a)
    return program, (SQUARE,), "values"


def slice_one_too_short(patch: Any) -> Any:
    def program(x):
        y = x * 2
        return y[1:-1].sum()  # here

    wrong_method(patch, "__getitem__", "def __getitem__(self, key): return right(self, slice(key.start, key.stop - 1))")
    return program, (TIES,), "shape"


def slice_one_too_far(patch: Any) -> Any:
    def program(x):
        y = x * 2
        return np.diff(np.roll(y, 1))  # here

    _function(patch, "roll", "def roll(a, shift): return right(a, shift + 1)")
    return program, (X[0],), "values"


def order_of_memory_in_flattening(patch: Any) -> Any:
    def program(x):
        y = x + 1
        return y.flatten() * np.arange(12.0)  # here

    wrong_method(patch, "flatten", "def flatten(self, order='C'): return right(self, 'F')")
    return program, (X,), "values"


def sums_in_another_order(patch: Any) -> Any:
    def program(x):
        y = x * 1.5
        return np.cumsum(y)[:5]  # here

    wrong_kernel(patch, np.cumsum, lambda right: lambda a, *m, **k: right(a.T, *m, **k))
    return program, (X,), "values"


def sort_that_is_not_stable(patch: Any) -> Any:
    def program(x):
        y = x - 1
        return np.argsort(y, kind="stable")  # here

    _function(patch, "argsort", "def argsort(a, axis=-1, kind=None): return len(a) - 1 - right(a[::-1], kind=kind)")
    return program, (TIES,), "values"


def order_of_what_is_unique(patch: Any) -> Any:
    def program(x):
        values, first = np.unique(x, return_index=True)  # here
        return x[first] - values

    _function(patch, "unique", "def unique(a, return_index): v, i = right(a, return_index=True); return v, i + 2")
    return program, (TIES,), "values"


def side_of_a_bin(patch: Any) -> Any:
    def program(x):
        edges = np.array([1.0, 2.0])
        return np.searchsorted(edges, x, side="right")  # here

    _function(patch, "searchsorted", "def searchsorted(a, v, side): return right(a, v)")
    return program, (TIES,), "values"


# -- numbers -----------------------------------------------------------------------------------------------------------


def degrees_of_freedom_forgotten(patch: Any) -> Any:
    def program(x):
        mean = x.mean()
        return np.std(x, ddof=1) / mean  # here

    _function(patch, "std", "def std(a, axis=None, dtype=None, out=None, ddof=0): return right(a)")
    return program, (X,), "values"


def conjugate_that_is_none(patch: Any) -> Any:
    def program(z):
        w = z * 2
        return np.vdot(w, z)  # here

    wrong_kernel(patch, np.vdot, lambda right: lambda a, b: right(a.conj(), b))
    return program, (Z,), "values"


def halves_rounded_up(patch: Any) -> Any:
    def program(x):
        y = x / 4
        return np.round(y)  # here

    _function(patch, "round", "def round(a): return np.floor(a + 0.5)")
    return program, (TIES,), "values"


def sign_of_zero(patch: Any) -> Any:
    def program(x):
        y = x - x
        z = y * -1.0  # here
        return 1.0 / z

    wrong_method(patch, "__mul__", "def __mul__(self, other): return right(self, other) + 0.0")
    return program, (X,), "values"


def number_of_python_that_is_rounded(patch: Any) -> Any:
    def program(x):
        first = float(x[1, 1])  # here
        return x * first

    wrong = planted("def __float__(self): return float(self.item()) + 1e-6")
    patch.setattr(np.float64, "__float__", wrong)
    return program, (X,), "values"


def list_with_one_wrong_number(patch: Any) -> Any:
    def program(x):
        row = x[0]
        return sum(row.tolist())  # here

    wrong_method(patch, "tolist", "def tolist(self): return [*right(self)[:-1], 0.0]")
    return program, (X,), "values"


# -- memory ------------------------------------------------------------------------------------------------------------


def parts_that_are_copies(patch: Any) -> Any:
    def program(x):
        y = x + 1
        left, right = np.hsplit(y, 2)  # here
        left[:] = 0.0
        return y + right.sum()

    _function(patch, "hsplit", "def hsplit(a, n): return [part.copy() for part in right(a, n)]")
    return program, (X,), "memory"


def transposed_copy(patch: Any) -> Any:
    def program(x):
        y = x + 1
        t = y.T  # here
        t[0] = 5.0
        return y

    made = planted("def T(self): return np.ndarray.copy(right.fget(self))", right=np.ndarray.T, np=np)
    patch.setattr(np.ndarray, "T", property(made))
    return program, (X,), "memory"


def array_without_a_copy(patch: Any) -> Any:
    def program(x):
        y = x + 1
        kept = y.astype(float)  # here
        y += 1
        return kept

    wrong_method(patch, "astype", "def astype(self, dtype): return self[:]")
    return program, (X,), "memory"


def update_in_place_that_reads_what_it_writes(patch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y += y.T  # here
        return y

    source = """def __iadd__(self, other):
        for i in range(len(self)):
            self[i] = self[i] + other[i]
        return self"""
    wrong_method(patch, "__iadd__", source)
    return program, (SQUARE,), "written"


def view_that_may_be_written(patch: Any) -> Any:
    def program(x):
        main = np.diagonal(x)  # here
        return main * 2

    _function(patch, "diagonal", "def diagonal(a): return np.lib.stride_tricks.as_strided(a, (4,), (40,))")
    return program, (SQUARE,), "memory"


# -- writes ------------------------------------------------------------------------------------------------------------


def condition_of_a_write_ignored(patch: Any) -> Any:
    def program(x):
        out = np.zeros_like(x)
        np.sqrt(x, out=out, where=x > 1.0)  # here
        return out

    patch.setattr(type(np.sqrt), "__call__", planted(
        "def __call__(self, x, *, out, where): out[...] = x ** 0.5; return out"))  # fmt: skip
    return program, (X,), "written"


def out_that_is_not_written(patch: Any) -> Any:
    def program(x):
        out = np.ones(4)
        np.mean(x, axis=0, out=out)  # here
        return out

    _function(patch, "mean", "def mean(a, axis=None, dtype=None, out=None): return right(a, axis=axis)")
    return program, (X,), "written"


def result_cast_to_out_that_is_too_narrow(patch: Any) -> Any:
    def program(n):
        out = np.zeros(3, int)
        try:
            np.multiply(n, 1.5, out=out)  # here
        except TypeError:
            out[:] = n
        return out

    patch.setattr(type(np.multiply), "__call__", planted(
        "def __call__(self, a, b, *, out): out[...] = (a * b).astype(int); return out"))  # fmt: skip
    return program, (N,), "raises"


def masked_write_of_the_others(patch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y[y > 1.0] = 0.0  # here
        return y

    wrong_method(patch, "__setitem__", "def __setitem__(self, key, value): right(self, ~key, value)")
    return program, (X,), "written"


def row_that_is_written_as_a_column(patch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y[:] = x[0]  # here
        return y

    wrong_method(patch, "__setitem__", "def __setitem__(self, key, value): right(self, key, value[:, None])")
    return program, (SQUARE,), "written"


def repeated_index_counted_once(patch: Any) -> Any:
    def program(x):
        count = np.zeros(3)
        np.add.at(count, [0, 0, 2], 1.0)  # here
        return count / x.size

    patch.setattr(type(np.add), "at", planted("def at(self, a, i, v): a[i] += v"))
    return program, (X,), "written"


def part_of_a_complex_number_that_is_not_written(patch: Any) -> Any:
    def program(z):
        w = z * 1.0
        w.imag = 0.0  # here
        return w

    right = np.ndarray.imag
    patch.setattr(np.ndarray, "imag", property(right.fget, planted("def imag(self, value): pass")))
    return program, (Z,), "written"


def element_of_a_flat_iterator(patch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y.flat[5] = 9.0  # here
        return y

    flat = type(np.ones(2).flat)
    patch.setattr(
        flat, "__setitem__", planted("def __setitem__(self, i, v): right(self, i + 1, v)", right=flat.__setitem__)
    )
    return program, (X,), "written"


# -- caches, random numbers, polynomials -------------------------------------------------------------------------------


def table_that_is_remembered(patch: Any) -> Any:
    def program(x):
        first = np.linspace(0.0, 1.0, 4)
        other = np.linspace(0.0, 2.0, 4)  # here
        return x + first * other

    kept: dict[int, Any] = {}

    source = "def linspace(start, stop, num): return kept.setdefault(num, right(start, stop, num)).copy()"
    patch.setattr(np, "linspace", planted(source, right=np.linspace, kept=kept))
    return program, (X,), "values"


def seed_that_is_another(patch: Any) -> Any:
    def program(x):
        random = np.random.default_rng(7)
        noise = random.normal(size=4)  # here
        return x + noise

    cls = type(np.random.default_rng(0))
    patch.setattr(
        cls,
        "normal",
        planted(
            "def normal(self, loc=0.0, scale=1.0, size=None): return right(self, size=size + 1)[1:]", right=cls.normal
        ),
    )
    return program, (X,), "values"


def coefficients_in_the_wrong_order(patch: Any) -> Any:
    def program(x):
        y = x[0] * 2
        return np.polyval(np.array([1.0, 2.0, 3.0]), y)  # here

    _function(patch, "polyval", "def polyval(p, x): return right(p[::-1], x)")
    return program, (X,), "values"


PLANTED = [
    found
    for name, found in list(vars().items())
    if getattr(found, "__module__", "") == __name__ and not name.startswith("_")
]
