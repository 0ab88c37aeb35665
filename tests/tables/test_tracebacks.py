"""Tracebacks of all public functions end at the line of the program, with at most two frames of npdec behind it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import npdec as np
import samples
import tiers
from npdec import pydec
from npdec._core import tracebacks

WRONG = ("shape", "dtype", "axis", "count")


def raised(function, *args, **kwargs):
    """The frames behind this one of what a call raises, and the error; None if it raises nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return traceback.extract_tb(error.__traceback__)[1:], error
    return None


def own_frames(error):
    """npdec's frames behind the last of the program."""
    frames = []
    for found in walked(error.__traceback__.tb_next):
        owner = tracebacks.owner_of(found.tb_frame)
        frames = [] if owner is tracebacks.THEIRS else [*frames, found] if owner is tracebacks.OWN else frames
    return [SimpleNamespace(name=found.tb_frame.f_code.co_name) for found in frames]


def shows_another(error, among_others):
    """Whether a traceback begins with that of another error; among others' frames with one that npdec has a part in,
    and that is not the same error, when NumPy has tried again."""
    other = error.__context__
    if other is None or error.__suppress_context__ or (among_others and repr(other) == repr(error)):
        return False
    frames = [found.tb_frame for found in walked(other.__traceback__)]
    return not among_others or any(tracebacks.owner_of(frame) is tracebacks.OWN for frame in frames)


def walked(entry):
    while entry is not None:
        yield entry
        entry = entry.tb_next


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
        found = wrongly(name, sample, how)
        if found is None:
            continue
        frames, error = found
        count += 1
        if len(frames) > 2:
            deep.append((name, type(error).__name__, [frame.name for frame in frames]))
        elif shows_another(error, among_others=False):
            deep.append((name, "shows torch's error first", repr(error.__context__)))
    assert count > 30
    assert not deep


# What is no function of a kernel: methods, and functions that leave their work to NumPy or are built of others.
ARRAY = np.arange(6.0).reshape(2, 3)
TENSOR = np.decompose(torch.arange(6.0).reshape(2, 3), axis=1)
OWNERS = {
    "array": lambda: ARRAY,
    "decomposed array": lambda: np.decompose(ARRAY),
    "scalar": lambda: np.float64(2.0),
    "decomposed scalar": lambda: np.decompose(ARRAY).sum(),
    "dtype": lambda: ARRAY.dtype,
    "flat": lambda: ARRAY.flat,
    "np.add": lambda: np.add,
    "np.arctan2": lambda: np.arctan2,
    "np.matmul": lambda: np.matmul,
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "np.random": lambda: np.random,
    "Polynomial": lambda: np.polynomial.Polynomial([1, 2, 3]),
    "Chebyshev": lambda: np.polynomial.Chebyshev([1, 2, 3]),
    "chebyshev": lambda: np.polynomial.chebyshev,
    "polynomial": lambda: np.polynomial.polynomial,
    "polyutils": lambda: np.polynomial.polyutils,
    "poly1d": lambda: np.poly1d([1, 2, 3]),
    "char": lambda: np.char,
    "emath": lambda: np.emath,
    "linalg": lambda: np.linalg,
    "array_utils": lambda: np.lib.array_utils,
    "format": lambda: np.lib.format,
    "npdec": lambda: np,
}
# Of these, frames of torch, NumPy and Python's library lie between: only npdec's own are counted, and an error that
# NumPy shows another one before, without npdec's part in it, is NumPy's.
AMONG_OTHERS = {
    "tensor": TENSOR.clone,
    "functional": lambda: torch.nn.functional,
    "Attribution": lambda: np.attribute(lambda x: x.sum(), ARRAY),
    "attribution": lambda: np.attribution,
    "debug": lambda: np.debug,
    "plot": lambda: np.decompose(ARRAY).sum().plot,
    "vectorized": lambda: np.vectorize(lambda a, b: a + b),
    "ufunc of Python": lambda: np.frompyfunc(lambda a, b: a + b, 2, 1),
    "np.r_": lambda: np.r_,
    "np.mgrid": lambda: np.mgrid,
    "ma": lambda: np.ma,
    "masked array": lambda: np.ma.array(ARRAY, mask=ARRAY > 4),
    "testing": lambda: np.testing,
    "pydec": lambda: pydec,
}
WRONGLY = (
    (("x",) * 12, {}),
    ((), {"nonsense": 1}),
    (("text",), {}),
    (("text", "b"), {}),
    ((object(),), {}),
    ((ARRAY,), {}),
    ((np.array([]),), {}),
    ((ARRAY, object()), {}),
    ((ARRAY, np.ones((2, 3, 5, 7))), {}),
    ((ARRAY, [9], 1), {}),
    ((ARRAY,), {"dtype": "foo"}),
    ((ARRAY,), {"axis": 17}),
    ((-1, -1, -1), {}),
    ((), {}),
    ((TENSOR,), {}),
    ((2, TENSOR), {}),
    ((ARRAY, TENSOR), {}),
    ((TENSOR.sum(), TENSOR), {}),
)
# What acts on the process, the file system or NumPy's global generator; classes of NumPy's own; internals of ufuncs.
APART = set("""
    breakpoint chararray compute ctypes debug_print dump info lookfor matrix plot printoptions recarray save savetxt
    savez savez_compressed seed set_bit_generator set_printoptions set_state setbufsize seterr seterrcall show_config
    show_runtime test to_dataframe to_shap to_xarray tofile
""".split())  # fmt: skip


def named(owner):
    special = ["__getitem__", "__setitem__", "__add__", "__matmul__", "__pow__", "__call__"]
    for name in sorted({*getattr(owner, "__all__", dir(owner)), *special}):
        if name in APART or (name.startswith("_") and name not in special):
            continue
        with contextlib.suppress(Exception):  # properties of decomposed arrays that refuse
            if callable(function := getattr(owner, name)):
                yield name, function


# A process takes seconds to import what it tries.
TOGETHER = [["flat"], *(list(OWNERS)[i::4] for i in range(4)), list(AMONG_OTHERS)]


@pytest.mark.long
@pytest.mark.parametrize("owners", TOGETHER, ids=lambda owners: owners[0])
def test_methods_and_functions_built_of_others_end_there_too(owners):
    """In a process of its own: what is called with anything may leave anything behind, in NumPy's memory too."""
    code = f"import test_tracebacks, json; print('found', json.dumps(test_tracebacks.deep_sites(*{owners})))"
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    count, *deep = json.loads(done.stdout.rpartition("found ")[2])
    assert count
    assert not deep


def deep_sites(*owners):
    """How many calls raised, and those whose tracebacks are too long."""
    deep, count = [], 0
    calls = [
        (owner, name, function, *wrong)
        for owner in owners
        for name, function in named((OWNERS.get(owner) or AMONG_OTHERS[owner])())
        for wrong in WRONGLY
    ]
    for owner, name, function, args, kwargs in tiers.turns(calls, [*OWNERS, *AMONG_OTHERS].index(owners[0]), 23):
        found = raised(function, *args, **kwargs)
        if found is None:
            continue
        frames, error = found
        frames = own_frames(error) if owner in AMONG_OTHERS else frames
        count += 1
        if len(frames) > 2:
            deep.append((name, args, kwargs, type(error).__name__, [frame.name for frame in frames]))
        elif shows_another(error, owner in AMONG_OTHERS):
            deep.append((name, args, kwargs, "shows another error first", repr(error.__context__)))
    return [count, *map(repr, deep)]


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


class Old:
    def __array__(self, dtype=None):
        return np.ones(2).__array__(dtype)


def branching(x):
    return x if str(x[0]) != "0.0" else -x


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.array(Old(), copy=True),
        lambda: setattr(np.ones(3), "strides", (8,)),
        lambda: np.fft.fftn(A, s=(2, 2)),
        lambda: np.fft.irfftn(A, s=(None, 2), axes=(0, 1)),
        lambda: np.polyfit([1.0, 1, 1], [1.0, 2, 3], 2),
        lambda: np.linalg.qr(A, mode="full"),
        lambda: np.cross(np.ones(2), np.ones(2)),
        lambda: np.finfo(None),
        lambda: np.ma.exp(D),
        lambda: np.asarray(D).__array__(),
        lambda: np.nanmean(np.array([np.nan])),
        lambda: np.mean(np.array([])),
        lambda: np.chararray,
        lambda: np.jit(branching)(A[0]),
    ],
)
def test_warnings_name_the_line_of_the_program(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


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


def in_program(x):
    return x + np.ones(7)


@pytest.mark.parametrize(
    "call",
    [
        lambda: np.attribute(lambda x: in_program(x).sum(), A),
        lambda: np.attribute(lambda x: in_program(x).sum(), A, method="path"),
        lambda: np.grad(lambda x: in_program(x).sum())(A),
        lambda: np.value_and_grad(lambda x: in_program(x).sum())(A),
        lambda: np.jvp(in_program, (A,), (A,)),
        lambda: np.vmap(in_program)(A),
        lambda: np.jit(in_program, backend="eager")(A),
        lambda: np.vectorize(in_program, signature="(n)->(n)")(A),
        lambda: np.fromfunction(in_program, (3,)),
        lambda: np.piecewise(A, [A > 1], [in_program, 0]),
        lambda: np.debug.compare(in_program, A, against="float32"),
    ],
)  # fmt: skip
def test_of_what_lies_between_functions_of_the_program_one_frame_is_left(call):
    """However deep within npdec and torch a function of the program is called in which the error is raised."""
    frames, error = raised(call)
    owners = [tracebacks._owner(frame.filename) for frame in frames]
    names = [frame.name for frame in frames]
    assert isinstance(error, ValueError)
    assert names.index("in_program") >= len(names) - 3
    between = owners[1 : names.index("in_program")]
    assert sum(owner is tracebacks.OWN for owner in between) <= 2, names
    assert sum(owner is tracebacks.PASSED for owner in between) == 0, names


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: torch.nn.Linear(4, 2)(TENSOR), "2x3 and 4x2"),
        (lambda: TENSOR @ TENSOR, "6x3 and 2x3|cannot be multiplied"),
        (lambda: TENSOR + torch.ones(9), r"\(3\).*\(9\)"),
        (lambda: torch.cat([TENSOR, torch.ones(3, 5)]), "size 3 but got size 5"),
        (lambda: torch.nn.functional.cross_entropy(TENSOR, torch.ones(9)), r"batch_size \(9\)"),
        (lambda: torch.nn.functional.embedding(torch.tensor([9]), TENSOR), "out of range"),
        (lambda: torch.einsum("ij,jk", TENSOR, TENSOR), "subscript j"),
        (lambda: TENSOR.clone().add_(torch.ones(9)), r"\(3\).*\(9\)"),
        (lambda: TENSOR.clone().__setitem__(9, 1), "index 9"),
        (lambda: torch.linalg.solve(TENSOR, TENSOR), "square"),
        (lambda: torch.where(TENSOR > 1, np.ones((2, 3, 5, 7)), TENSOR), r"\(3\).*\(7\)"),
    ],
)
def test_functions_of_torch_that_meet_decomposed_tensors(call, says):
    with pytest.raises((RuntimeError, IndexError, ValueError), match=says) as caught:
        call()
    assert len(own_frames(caught.value)) <= 2
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["shape", "dtype", "strides", "real", "imag", "flat"])
def test_attributes_that_are_set(name):
    _, error = raised(setattr, np.ones((2, 3)), name, (object(), 4))
    assert len(own_frames(error)) <= 2


def test_all_frames_are_there_if_asked_for():
    call = lambda: np.std(A, axis=9)  # noqa: E731
    short, _ = raised(call)
    with np.debug.full_tracebacks():
        long, _ = raised(call)
    assert len(short) <= 3
    assert len(long) >= 5
    assert long[-1].name == short[-1].name
