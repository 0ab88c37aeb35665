"""Tracebacks of all public functions end at the line of the program, with at most two frames of npdec behind it."""

from __future__ import annotations

import traceback
import warnings

import pytest

import npdec as np
import samples
import tiers

WRONG = ("shape", "dtype", "axis", "count")
# What is printed is made by NumPy's own functions.
DEEPER = {"array2string", "array_repr", "array_str"}


def raised(function, *args, **kwargs):
    """The frames behind this one of what a call raises, and the error; None if it raises nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return traceback.extract_tb(error.__traceback__)[1:], error
    return None


def wrongly(name, sample, how):
    """A call of a function with something wrong in it."""
    args, kwargs = sample.build(np)
    arrays = [i for i, arg in enumerate(args) if isinstance(arg, (np.ndarray, np.generic))]
    if how == "axis":
        kwargs["axis"] = 17
    elif how == "count":
        args += [np.ones(2)] * 12
    elif not arrays:
        return None
    elif how == "shape":
        args[arrays[-1]] = np.ones((2, 3, 5, 7))
    else:
        args[arrays[0]] = "text"
    return raised(samples.find(np, name), *args, **kwargs)


@pytest.mark.parametrize("how", WRONG)
def test_errors_end_at_the_line_of_the_program(how):
    deep, count = [], 0
    for name, sample in tiers.turns(samples.cases(), WRONG.index(how), 4):
        found = None if name in DEEPER else wrongly(name, sample, how)
        if found is None:
            continue
        frames, error = found
        count += 1
        if len(frames) > 2:
            deep.append((name, type(error).__name__, [frame.name for frame in frames]))
        elif error.__context__ is not None and not error.__suppress_context__:
            deep.append((name, "shows torch's error first", repr(error.__context__)))
    assert count > 30
    assert not deep


A, N, D = np.arange(6.0).reshape(2, 3), np.arange(3), np.decompose(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: A + np.ones(4), ValueError, r"\(2,3\) \(4,\)"),
        (lambda: np.ones(4) - A, ValueError, r"\(4,\) \(2,3\)"),
        (lambda: A @ A, ValueError, "size 2 is different from 3"),
        (lambda: A.reshape(4, 4), ValueError, r"size 6 into shape \(4,4\)"),
        (lambda: A[5], IndexError, "index 5 is out of bounds for axis 0 with size 2"),
        (lambda: A[1, 2, 3], IndexError, "array is 2-dimensional, but 3 were indexed"),
        (lambda: A[np.ones(4, bool)], IndexError, "size"),
        (lambda: A.__setitem__(0, np.ones(4)), ValueError, r"\(4,\).*\(3,\)"),
        (lambda: A.astype("foo"), TypeError, "foo"),
        (lambda: A.fill("x"), ValueError, "'x'"),
        (lambda: N & A[0], TypeError, "bitwise_and"),
        (lambda: N**-1, ValueError, "negative integer powers"),
        (lambda: A.sum(axis=4), np.exceptions.AxisError, "axis 4 is out of bounds for array of dimension 2"),
        (lambda: np.array([[1, 2], [3]]), ValueError, "inhomogeneous"),
        (lambda: np.concatenate([A, np.ones((3, 4))]), ValueError, "size 3 and .* size 4"),
        (lambda: np.where(A > 1, np.ones(4), 0), ValueError, r"\(2,3\) \(4,\)"),
        (lambda: np.linalg.solve(np.eye(2), np.ones(3)), ValueError, "size 3 is different from 2"),
        (lambda: np.linalg.cholesky(-np.eye(2)), np.linalg.LinAlgError, "positive definite"),
        (lambda: np.einsum("ij,jk", A, A), ValueError, "'j' is 3 and 2"),
        (lambda: D + np.ones(4), ValueError, r"\(2,3\) \(4,\)"),
        (lambda: D @ D, ValueError, "size 2 is different from 3"),
        (lambda: np.decompose(N), TypeError, "int64"),
        (lambda: np.decompose(A, axis=9), np.exceptions.AxisError, "axis 9"),
        (lambda: np.exp(A, out=np.ones(4)), ValueError, r"\(2,3\) \(4,\)"),
        (lambda: np.modf("x"), TypeError, "'modf' not supported for the input types"),
    ],
)
def test_operators_methods_and_indices(call, kind, says):
    with pytest.raises(kind, match=says):
        call()
    frames, error = raised(call)
    assert len(frames) - 1 <= 2, [frame.name for frame in frames]
    assert error.__context__ is None or error.__suppress_context__


WORDS, DAYS = np.array(["a", "b"]), np.array(["2024-01-01"], "M8[D]")


@pytest.mark.parametrize(
    ("call", "kind", "name"),
    [
        (lambda: WORDS + 1, TypeError, "__array_ufunc__"),
        (lambda: A + WORDS, TypeError, "operator"),
        (lambda: np.add(WORDS, DAYS), TypeError, "__call__"),
        (lambda: np.add.reduce(WORDS, axis=5), ValueError, "reduce"),
        (lambda: np.add.at(A, WORDS, 1), IndexError, "at"),
        (lambda: WORDS.sum(axis=4), ValueError, "sum"),
        (lambda: WORDS.astype(float), ValueError, "astype"),
        (lambda: WORDS[5], IndexError, "__getitem__"),
        (lambda: np.sort(WORDS, axis=3), ValueError, "sort"),
        (lambda: np.concatenate([WORDS, A]), ValueError, "concatenate"),
        (lambda: np.fromiter(iter("ab"), "f8"), ValueError, "fromiter"),
        (lambda: np.einsum("ij", WORDS), ValueError, "einsum"),
        (lambda: A.getfield("foo"), TypeError, "getfield"),
        (lambda: np.can_cast("foo", "f8"), TypeError, "can_cast"),
        (lambda: np.decompose(WORDS), TypeError, "decompose"),
    ],
)
def test_what_numpy_computes_and_refuses(call, kind, name):
    frames, error = raised(call)
    assert isinstance(error, kind)
    assert len(frames) - 1 <= 2, [frame.name for frame in frames]
    assert frames[1].name == name
    assert error.__context__ is None or error.__suppress_context__


def test_functions_of_the_program_that_operations_call_stay_in_it():
    def inner(row):
        return helper(row)

    def helper(row):
        return row + np.ones(7)

    frames, error = raised(np.apply_along_axis, inner, 1, A)
    names = [frame.name for frame in frames]
    assert names.index("inner") < names.index("helper")
    assert len(names) - names.index("helper") <= 3
    assert isinstance(error, ValueError)


def test_all_frames_are_there_if_asked_for():
    call = lambda: np.std(A, axis=9)  # noqa: E731
    short, _ = raised(call)
    with np.debug.full_tracebacks():
        long, _ = raised(call)
    assert len(short) <= 3
    assert len(long) >= 5
    assert long[-1].name == short[-1].name
