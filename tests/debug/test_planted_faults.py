"""`np.debug.compare` names the line of planted faults: in npdec, in a compiler, in the recorder, in a program."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

import npdec as np
import planted_more
import samples
import tiers
from npdec._jit.recorder import Recorder
from npdec.debug import _compare
from npdec.debug._against_numpy import NumPyBeside
from npdec.debug._followed import on_device
from npdec.debug._looking import looking_on
from npdec.extend import Pointwise, ufunc
from planted import PLANTED, line_of, planted


def _given(arguments):
    return [np.array(one.copy()) for one in arguments]


@pytest.mark.parametrize("plant", [*PLANTED, *planted_more.PLANTED], ids=lambda plant: plant.__name__)
def test_faults_of_npdec(plant, monkeypatch):
    with monkeypatch.context() as patch:
        program, arguments, kind = plant(patch)
        given = _given(arguments)
        found = np.debug.compare(program, *given, against=["numpy"])["numpy"].difference
    line, text = line_of(program)
    assert found is not None
    assert (found.line, found.place.text, found.kind) == (line, text, kind)
    assert found.place.file == plant.__code__.co_filename
    for one, before in zip(given, arguments, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(one), before)  # they are copied
    right = np.debug.compare(program, *given, against=["numpy"])  # nothing is planted any more
    assert right, right


# -- compilers and the recorder ----------------------------------------------------------------------------------------


def _miscompiled(wrong, where=None):
    """A compiler that puts a wrong function in the place of each call of an operation."""

    def backend(graph, tensors):
        if where is None or where(graph):
            for node in graph.graph.nodes:
                if node.op == "call_function" and str(node.target) in wrong:
                    node.target = wrong[str(node.target)]
            graph.recompile()
        return graph.forward

    return backend


def wave(x):
    y = x * 2.0
    z = np.sin(y)  # here
    return (z + y).sum(axis=0)


@pytest.mark.slow
def test_a_compiler_that_takes_one_function_for_another():
    backend = _miscompiled({"aten.sin.default": torch.cos})
    found = np.debug.compare(wave, np.arange(6.0), against="jit", backend=backend)["jit"]
    assert (found.difference.line, found.difference.operation) == (line_of(wave)[0], "sin")
    assert found.verdict.startswith("the compiler")


def scaled(x):
    y = np.exp(x)
    z = y * x  # here
    return z - 1.0


@pytest.mark.slow
def test_a_compiler_that_computes_in_single_precision():
    backend = _miscompiled({"aten.mul.Tensor": lambda a, b: torch.mul(a.float(), b.float()).double()})
    found = np.debug.compare(scaled, np.linspace(0.1, 1.0, 7), against="jit", backend=backend)["jit"].difference
    assert found.line == line_of(scaled)[0]
    assert found.kind == "values"
    assert 1e-9 < found.relative < 1e-6


@pytest.mark.slow
def test_a_compiler_that_fails_where_operations_are_put_together():
    """Where the result of each operation is an output, it computes it; alone, or for the end, it does not."""
    alone = lambda graph: len(graph.graph.output_node().args[0]) == 1  # noqa: E731
    backend = _miscompiled({"aten.mul.Tensor": torch.add}, alone)
    found = np.debug.compare(scaled, np.linspace(0.1, 1.0, 7), against="jit", backend=backend)["jit"].difference
    assert (found.line, found.operation) == (line_of(scaled)[0], "ndarray.__mul__")


@pytest.mark.slow
def test_a_recorder_that_writes_down_another_operation(monkeypatch):
    others = {torch.ops.aten.sin.default: torch.ops.aten.cos.default}
    source = "def _record(self, func, *more): return right(self, others.get(func, func), *more)"
    monkeypatch.setattr(Recorder, "_record", planted(source, right=Recorder._record, others=others))
    found = np.debug.compare(wave, np.arange(6.0), against="jit", backend="eager")["jit"]
    assert found.difference.line == line_of(wave)[0]
    assert found.verdict.startswith("the graph that np.jit records")


def turned(x):
    y = x + 1.0
    z = y.sum(axis=0)  # here
    return z * 2.0


def chosen(x):
    y = x * 2.0
    z = np.where(y > 1.0, y, 0.0)  # here
    return z + 1.0


def subtracted(x):
    y = x * 3.0
    z = y - x  # here
    return z.sum()


def counted(x):
    y = np.exp(x)
    n = np.cumsum(y > 2.0)  # here
    return n + 1


def put_in_order(x):
    y = x * x
    z = np.sort(y, axis=-1)  # here
    return z + x


def put_together(x):
    y = x + 1.0
    z = np.concatenate([x, y])  # here
    return z * 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "target", "wrong"),
    [
        (turned, "aten.sum.dim_IntList", lambda a, axes, *m, **k: torch.sum(a, 1)),
        (chosen, "aten.where.self", lambda c, a, b: torch.where(~c, a, b)),
        (subtracted, "aten.sub.Tensor", lambda a, b, **k: b - a),
        (counted, "aten.cumsum.default", lambda a, axis, **k: torch.cumsum(a, axis, dtype=torch.int32)),
        (put_in_order, "aten.sort.stable", lambda a, **_: torch.sort(a, descending=True)),
        (put_together, "aten.cat.default", lambda parts, *m: torch.cat(parts[::-1], *m)),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_other_functions_that_are_miscompiled(program, target, wrong):
    x = np.linspace(0.1, 1.4, 9).reshape(3, 3)
    found = np.debug.compare(program, x, against="jit", backend=_miscompiled({target: wrong}))["jit"]
    assert found.difference is not None, found
    assert found.difference.line == line_of(program)[0]
    assert found.verdict.startswith("the compiler")
    assert np.debug.compare(program, x, against="jit", backend="eager")


@pytest.mark.slow
def test_the_compiler_of_torch_agrees():
    report = np.debug.compare(wave, np.arange(6.0), against="jit")
    assert report, report
    assert report["jit"].operations == 4


@pytest.mark.slow
def test_what_is_not_compiled_is_said():
    def program(x):
        return x * float(x.sum())

    found = np.debug.compare(program, np.arange(3.0), against="jit", backend="eager")["jit"]
    assert found.difference is None
    assert found.verdict.startswith("np.jit runs program uncompiled")


# -- programs that depart in single precision --------------------------------------------------------------------------


def cancelled(x):
    mean = x.mean()
    square = (x * x).mean()
    return square - mean * mean  # here


def overflowing(n):
    k = np.arange(float(n))  # made in float32 too
    y = k * 10.0
    return np.exp(y)  # here


def branching(x):
    total = x[0] + x[1]
    return 1.0 if total > 1.0 else 0.0  # here


def written(x):
    out = np.zeros(3)
    out[0] = x[0]
    out[1] = out[0] + 1e-9
    row = out[:2]
    out[2] = row[1] - row[0]  # here
    return out


def in_rows(x):
    total = 0.0
    for row in x:
        total = total + (row[0] - 1e8)  # here
    return total


@pytest.mark.parametrize(
    ("program", "argument"),
    [
        (cancelled, 1000.0 + numpy.random.default_rng(0).standard_normal(1000)),
        (overflowing, 12),
        (branching, numpy.array([1.0, 1e-9])),
        (written, numpy.array([3.0])),
        (in_rows, 1e8 + numpy.arange(4.0).reshape(2, 2) / 3),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_where_single_precision_departs(program, argument):
    given = np.array(argument) if isinstance(argument, numpy.ndarray) else argument
    found = np.debug.compare(program, given, against="float32")["float32"].difference
    assert (found.line, found.place.text) == line_of(program)
    # The departure is what NumPy's own program has in float32.
    if program is cancelled:
        single, double = (
            numpy.float64((a * a).mean() - a.mean() * a.mean()) for a in (argument.astype("f4"), argument)
        )
        assert abs(single - double) / abs(double) > 1e-4
        assert found.before < 1e-6 < found.relative


def test_what_stays_within_the_bound_is_said():
    found = np.debug.compare(wave, np.arange(6.0), against="float32")["float32"]
    assert found.difference is None
    assert "stay within" in found.verdict
    tight = np.debug.compare(wave, np.linspace(0.1, 1, 6), against="float32", rtol=0.0)["float32"]
    assert tight.difference.operation == "ndarray.__mul__"


# -- what is right -----------------------------------------------------------------------------------------------------


def test_no_function_is_said_to_differ_that_agrees_with_numpy():
    """The samples of all functions, which other tests hold to NumPy."""
    compared = 0
    for name, sample in tiers.turns(samples.cases(), 0, 8):
        beside = NumPyBeside(None)
        args, kwargs = sample.build(np)
        with warnings.catch_warnings(), looking_on(beside):
            warnings.simplefilter("ignore")
            samples.find(np, name)(*args, **kwargs)
        assert beside.difference is None, (name, str(beside.difference))
        compared += beside.count
    assert compared > 150


@pytest.mark.parametrize(
    ("program", "argument"),
    [
        (
            lambda x: sum(a * b for a, b in zip(x, 2 * x[1:])),
            numpy.arange(5.0),
        ),  # the second is left off before its end
        (lambda x: next(iter(x)), numpy.arange(3.0)),
        (np.linalg.eigvalsh, numpy.array([[1, -1, 0], [-1, 2, -1], [0, -1, 1]])),
        (np.argsort, numpy.arange(300.0) % 3),
        (lambda x: np.argsort(x, axis=0) + x.argsort(0), (numpy.arange(300.0) % 3).reshape(100, 3)),
        (lambda n: (np.argsort(n), n.argsort()), numpy.arange(300) % 3),
        (lambda x: np.broadcast_arrays(x, 1.0), numpy.arange(3.0)),
        (lambda x: np.random.default_rng(3).choice(x, 2), numpy.arange(3.0)),
    ],
)
def test_what_may_differ_is_no_difference(program, argument):
    report = np.debug.compare(program, np.array(argument), against="numpy")
    assert report["numpy"].difference is None, report


def test_an_order_of_equals_that_is_none():
    wrong = planted("def argsort(a): return right(-a)", right=np.argsort)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(np), "argsort", wrong)
        found = np.debug.compare(lambda x: np.argsort(x) + 1, np.arange(300.0) % 3, against="numpy")["numpy"]
    assert found.difference.operation == "argsort"


class Model:
    """A model with arrays of its own, and methods that name np."""

    def __init__(self):
        self.weights = np.array([[1.0, -2.0], [0.5, 3.0]])

    def hidden(self, x):
        return helper(self.weights @ x)

    def __call__(self, x):
        return self.hidden(x).sum()


def helper(h):
    return np.maximum(h, 0.0) if isinstance(h, np.ndarray) else np.float64(h)


def test_the_whole_program_runs_under_numpy():
    def program(x):
        y = Model()(x) + model.hidden(x)[0]
        return y if type(y).__module__ == "npdec" else (y, y)

    model = Model()
    found = np.debug.compare(program, np.array([1.0, 2.0]), against="numpy")["numpy"]
    assert found.whole == np.inf  # two results where npdec's are one
    right = np.debug.compare(lambda x: Model()(x) + model.hidden(x)[0], np.array([1.0, 2.0]), against="numpy")["numpy"]
    assert right.whole == 0.0, right
    assert "so does the whole program" in right.verdict


@pytest.mark.usefixtures("nothing_published")
def test_operations_of_ones_own_are_passed_over():
    @ufunc(loops="inexact")
    def twice(x: Pointwise):
        """2 x"""
        return x * 2

    found = np.debug.compare(lambda x: twice(np.cos(x)).sum(), np.arange(3.0), against="numpy")["numpy"]
    assert (found.difference, found.operations, found.whole) == (None, 2, 0.0)


def test_a_program_that_is_another_under_numpy():
    def program(x):
        return x.sum() if type(x).__module__.startswith("npdec") else x.sum() + 1

    report = np.debug.compare(program, np.arange(3.0), against="numpy")
    assert report["numpy"].difference is None
    assert report["numpy"].whole == pytest.approx(1 / 4)
    assert not report


def test_errors_of_the_program_are_its_own():
    with pytest.raises(ValueError, match="mismatch"):
        np.debug.compare(lambda x: np.ones((2, 3)) @ x, np.ones(4), against=["numpy"])


def test_what_is_asked_for_has_to_be_there(monkeypatch):
    with pytest.raises(ValueError, match="'numpy', 'jit', 'float32', 'cuda'"):
        np.debug.compare(wave, np.arange(3.0), against="fortran")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="needs a GPU"):
        np.debug.compare(wave, np.arange(3.0), against=["cuda"])


def test_random_numbers_are_those_of_the_program():
    def program(x, random):
        noise = random.standard_normal(3) + np.random.default_rng(5).random(3)
        return x + noise

    report = np.debug.compare(program, np.arange(3.0), np.random.default_rng(1), against=["numpy", "float32"])
    assert report, report


# -- devices -----------------------------------------------------------------------------------------------------------


def stepping(x, n):
    out = np.zeros(n, device="cpu")
    y = np.tanh(x) * 2.0
    for i in range(n):
        out[i] = y[i] - np.cos(y)[i]  # here
    return out.sum()


@pytest.mark.parametrize("there", [True, False])
def test_a_kernel_of_another_device_that_is_wrong(there, monkeypatch):
    """The second device is the host once more; `there` says whether what is made lies on it already."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(_compare, "on_device", lambda name: on_device("cpu"))
    monkeypatch.setattr(_compare, "_is_on_gpu", planted("def is_there(array): return there", there=there))
    agreed = np.debug.compare(stepping, np.linspace(0.1, 1.0, 3), 3, against="cuda")
    assert agreed, agreed
    assert agreed["cuda"].operations > 15
    calls = iter([0.0, 0.0, 0.0, 1e-5, 0.0, 0.0])  # of each two the second is the device's
    wrong = planted("def wrong(tensor): return torch.cos(tensor) + next(calls)", torch=torch, calls=calls)
    monkeypatch.setitem(type(np.cos).__call__.__globals__, "_torch", wrong)
    found = np.debug.compare(stepping, np.linspace(0.1, 1.0, 3), 3, against="cuda")["cuda"].difference
    assert (found.line, found.operation) == (line_of(stepping)[0], "cos")
    assert found.absolute == pytest.approx(1e-5)


def test_arrays_without_numbers_are_refused_and_passed_over():
    shapes = torch.empty(3, device="meta")
    for argument in (shapes, np.asarray(shapes), [1, {"x": shapes}]):
        for against in ("numpy", "jit", "float32"):
            with pytest.raises(ValueError, match=r"float32 \(3,\), is on the device meta and has no numbers"):
                np.debug.compare(wave, argument, against=against)

    def program(x):
        unused = np.zeros(3, device="meta") * 2
        return np.zeros(x.shape, device=torch.device("cpu")) + x.to_device("cpu") * len(unused)

    report = np.debug.compare(program, np.ones(3), against=["numpy", "float32"])
    assert report["numpy"].difference is report["float32"].difference is None, report
    with np.debug.trace(quiet=True) as steps:
        np.zeros(3, device="meta") * 2
    assert str(steps[-1]).endswith("float64 (3,)  no numbers")


def test_a_device_that_is_not_there_is_no_fault_of_npdec():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(Exception, match=r"CUDA|NVIDIA"):
        np.debug.compare(lambda x: x + np.ones(3, device="cuda"), np.ones(3), against="numpy")


# -- what writes beside the operations ---------------------------------------------------------------------------------


def by_an_iterator(y):
    y.flat[0] = 5.0


def by_a_generator(y):
    np.random.default_rng(3).shuffle(y)


def by_numpy(y):
    numpy.asarray(y)[1] = 9.0


def by_numpy_later(y):
    seen = numpy.asarray(y)
    y *= 2.0
    seen[2] = y[0] + 3.0


def by_torch(y):
    y.tensor.mul_(3.0)


def by_a_method_of_a_ufunc(y):
    np.add.at(y, [0, 0], 1.0)


def by_its_bytes(y):
    y.view(np.int64)[0] += 2**48


def by_its_shape(y):
    y.shape = (2, 2)
    y[0, 1] = 4.0


def by_a_view_that_was_there(y):
    row = y[1:3]
    y.flat[1] = 5.0
    row += 1.0


@pytest.mark.parametrize(
    "write",
    [by_an_iterator, by_a_generator, by_numpy, by_numpy_later, by_torch, by_a_method_of_a_ufunc, by_its_bytes,
     by_its_shape, by_a_view_that_was_there],
)  # fmt: skip
def test_what_is_written_by_other_means_is_no_difference(write):
    def program(x):
        y = x * 1.0
        row = y[1:]
        write(y)
        return (y * 2.0).sum() + (row + y.ravel()[0]).sum()

    report = np.debug.compare(program, np.array([1.0, 2.0, 0.5, 4.0]), against=["numpy", "float32"])
    assert report["float32"].difference is None, report
    assert report["numpy"].difference is None, report


def test_what_departed_before_departs_still_where_others_have_written():
    def program(x):
        y = x + 1e-9
        other = x * 3.0
        other.flat[0] = 2.0
        numpy.asarray(y)
        return other[1] * (y - x)  # here

    found = np.debug.compare(program, np.array([3.0, 4.0]), against="float32")["float32"].difference
    assert (found.line, found.operation) == (line_of(program)[0], "ndarray.__sub__")
