"""Faults planted in npdec for a while, in the way in which its own code could have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy
import torch

import npdec as np

__all__ = ["PLANTED", "line_of", "planted", "wrong_kernel", "wrong_method", "wrong_torch"]


def line_of(function: Callable[..., Any], mark: str = "# here") -> tuple[int, str]:
    """The number and the text of the line of a function that is marked."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [i for i, line in enumerate(lines) if mark in line]
    return first + found, lines[found].strip()


def planted(source: str, **names: Any) -> Any:
    """A function made as wrappers of npdec are: compiled from text, in no module."""
    scope = dict(names)
    exec(compile(source, "<planted>", "exec"), scope)
    return next(found for name, found in scope.items() if name not in names and callable(found))


def wrong_kernel(monkeypatch: Any, function: Any, wrong: Callable[[Callable[..., Any]], Any]) -> None:
    """Put something wrong in the place of the kernel of a wrapper, and of its short way."""
    scope = function.__globals__
    kernel = scope["_kernel"]
    monkeypatch.setitem(scope, "_kernel", wrong(kernel))
    if "_common" in scope:
        monkeypatch.setitem(scope, "_common", lambda *args: None)
    if "_in_few" in scope:
        monkeypatch.setitem(scope, "_in_few", lambda array: None)


def wrong_torch(monkeypatch: Any, function: Any, wrong: Callable[[Callable[..., Any]], Any]) -> None:
    """Put something wrong in the place of torch's function in a ufunc's call."""
    scope = function.__globals__
    monkeypatch.setitem(scope, "_torch", wrong(scope["_torch"]))


def wrong_method(monkeypatch: Any, name: str, source: str) -> None:
    right = getattr(np.ndarray, name)
    monkeypatch.setattr(np.ndarray, name, planted(source, right=right, np=np))


X = numpy.linspace(0.1, 2.3, 12).reshape(3, 4)
N = numpy.array([20000, 30000, -5], dtype=numpy.int32)


# Each: what is planted, a program whose marked line calls it, its arguments, and what differs there.


def sum_of_few_digits(monkeypatch: Any) -> Any:
    def program(n):
        m = n * 2
        total = np.cumsum(m)  # here
        return total + 1

    wrong_kernel(monkeypatch, np.cumsum, lambda right: lambda *a, **k: right(*a, **k).to(torch.int32))
    return program, (N,), "dtype"


def exp_in_single_precision(monkeypatch: Any) -> Any:
    def program(x):
        y = x * 2.0
        z = np.exp(y)  # here
        return z.sum()

    wrong_torch(monkeypatch, type(np.exp).__call__, lambda right: lambda t: right(t.float()).double())
    return program, (X,), "values"


def mean_over_the_wrong_axis(monkeypatch: Any) -> Any:
    def program(x):
        square = x[:, 1:]
        return np.mean(square, axis=0) * 2  # here

    wrong_kernel(monkeypatch, np.mean, lambda right: lambda a, axis=None, *m, **k: right(a, 1 - axis, *m, **k))
    return program, (X,), "values"


def median_over_the_wrong_axis(monkeypatch: Any) -> Any:
    def program(x):
        low = np.median(x, axis=0)  # here
        return low - 1

    wrong_kernel(monkeypatch, np.median, lambda right: lambda a, axis=None, *m, **k: right(a, 1 - axis, *m, **k))
    return program, (X,), "shape"


def product_that_overflows(monkeypatch: Any) -> Any:
    def program(n):
        a = n + 1
        b = a * a  # here
        return b.sum()

    wrong_method(monkeypatch, "__mul__", "def __mul__(self, o): return right(self, o).astype('int16').astype('int32')")
    return program, (N,), "values"


def slice_that_is_a_copy(monkeypatch: Any) -> Any:
    def program(x):
        y = x + 1
        row = y[1]  # here
        row += 5.0
        return y.sum()

    wrong_method(monkeypatch, "__getitem__", "def __getitem__(self, key): return right(self, key).copy()")
    return program, (X,), "memory"


def ravel_that_is_a_copy(monkeypatch: Any) -> Any:
    def program(x):
        y = x + 1
        flat = np.ravel(y)  # here
        flat[0] = 7.0
        return y

    monkeypatch.setitem(vars(np), "ravel", planted("def ravel(a, order='C'): return right(a).copy()", right=np.ravel))
    return program, (X,), "memory"


def copy_that_is_a_view(monkeypatch: Any) -> Any:
    def program(x):
        y = x * 2
        kept = y.copy()  # here
        y[0] = 0.0
        return kept - y

    wrong_method(monkeypatch, "copy", "def copy(self, order='C'): return self[...]")
    return program, (X,), "memory"


def assignment_to_the_next_row(monkeypatch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y[1] = 9.0  # here
        return y.sum()

    wrong_method(monkeypatch, "__setitem__", "def __setitem__(self, key, value): right(self, key + 1, value)")
    return program, (X,), "written"


def addition_in_place_twice(monkeypatch: Any) -> Any:
    def program(x):
        y = x * 1.0
        y += 0.5  # here
        return y.sum()

    wrong_method(monkeypatch, "__iadd__", "def __iadd__(self, other): return right(right(self, other), other)")
    return program, (X,), "written"


def difference_the_wrong_way_round(monkeypatch: Any) -> Any:
    def program(x):
        z = x * x
        return 1.0 - z  # here

    wrong_method(monkeypatch, "__rsub__", "def __rsub__(self, other): return self - other")
    return program, (X,), "values"


def comparison_that_lets_equals_through(monkeypatch: Any) -> Any:
    def program(n):
        m = n - 20000
        return (m > 0).sum()  # here

    wrong_method(monkeypatch, "__gt__", "def __gt__(self, other): return self >= other")
    return program, (N,), "values"


def solution_of_the_transposed(monkeypatch: Any) -> Any:
    def program(x):
        square = x[:, :3] + np.eye(3)
        b = np.ones(3)
        return np.linalg.solve(square, b)  # here

    wrong_kernel(monkeypatch, np.linalg.solve, lambda right: lambda a, b: right(a.mT, b))
    return program, (X,), "values"


def scalar_in_single_precision(monkeypatch: Any) -> Any:
    def program(x):
        s = x.sum()
        t = s / 3.0  # here
        return x * t

    wrong = planted("def __truediv__(self, other): return kind(right(self, other).astype('float32'))",
                    right=np.float64.__truediv__, kind=np.float64)  # fmt: skip
    monkeypatch.setattr(np.float64, "__truediv__", wrong)
    return program, (X,), "values"


def concatenation_that_refuses(monkeypatch: Any) -> Any:
    def program(x):
        y = x[0] * 2
        return np.concatenate([y, np.arange(3)])  # here

    def refuse(right: Any) -> Any:
        def refusing(*args: Any, **kwargs: Any) -> Any:
            raise TypeError("not of one dtype")

        return refusing

    wrong_kernel(monkeypatch, np.concatenate, refuse)
    return program, (X,), "raises"


def choice_with_branches_swapped(monkeypatch: Any) -> Any:
    def program(x):
        mask = x > 1.0
        return np.where(mask, x, 0.0)  # here

    wrong_kernel(monkeypatch, np.where, lambda right: lambda condition, x, y: right(condition, y, x))
    return program, (X,), "values"


def range_one_too_short(monkeypatch: Any) -> Any:
    def program(x):
        k = np.arange(5)  # here
        return k * x[0, 0]

    wrong_kernel(monkeypatch, np.arange, lambda right: lambda *a, **k: right(*a, **k)[:-1])
    return program, (X,), "shape"


def minimum_that_loses_nan(monkeypatch: Any) -> Any:
    def program(x):
        y = np.log(x - 1.0)
        return np.minimum(y, 0.0)  # here

    monkeypatch.setattr(type(np.minimum), "__call__", planted(
        "def __call__(self, x1, x2): return np.fmin(x1, x2)", np=np))  # fmt: skip
    return program, (X,), "values"


PLANTED = [
    sum_of_few_digits, exp_in_single_precision, mean_over_the_wrong_axis, median_over_the_wrong_axis,
    product_that_overflows, slice_that_is_a_copy, ravel_that_is_a_copy, copy_that_is_a_view,
    assignment_to_the_next_row, addition_in_place_twice, difference_the_wrong_way_round,
    comparison_that_lets_equals_through, solution_of_the_transposed, scalar_in_single_precision,
    concatenation_that_refuses, choice_with_branches_swapped, range_one_too_short, minimum_that_loses_nan,
]  # fmt: skip
