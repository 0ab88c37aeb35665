"""Where single functions differ from NumPy's on purpose: the reason, and a program that shows it."""

from __future__ import annotations

import re

import numpy

from fuzz_rules import Difference, rule
from fuzz_special import given


@rule(
    "complex numbers have no order, so they have no bins",
    "histogram",
    "pass\nr = np.histogram([1j, 2.0])",
)
def _complex_bins(d: Difference) -> bool:
    return isinstance(d.got, TypeError) and bool(re.search("complex values have no order|must be real", str(d.got)))


@rule(
    "a 0-d array has nothing to shift, which NumPy does not foresee",
    "fft.fftshift",
    "pass\nr = np.fft.fftshift(1.0)",
)
def _nothing_to_shift(d: Difference) -> bool:
    return d.program.name.endswith("fftshift") and isinstance(d.want, ValueError) and "not enough values" in str(d.want)


@rule(
    "an array without elements counts nothing, whatever its dtype",
    "bincount",
    "a = np.zeros(0)\nr = np.bincount(a)",
)
def _no_numbers(d: Difference) -> bool:
    return (
        d.program.name == "bincount"
        and isinstance(d.want, TypeError)
        and isinstance(d.got, dict)
        and not numpy.asarray(d.got["r"]).any()
    )


@rule(
    "searching among numbers that are not sorted has no defined result",
    "searchsorted",
    "pass\nr = np.searchsorted([3.0, 1.0, 2.0, 1.0, 5.0], [1.5, 2.5], sorter=[1, 3, 2, 0, 1])",
)
def _unsorted(d: Difference) -> bool:
    if d.program.name.removeprefix("ndarray.") not in ("searchsorted", "interp", "digitize", "histogram") or isinstance(
        d.got, RuntimeError
    ):
        return False
    args, kwargs = given(d.program)
    if d.program.name in ("digitize", "histogram"):
        return len(args) > 1 and not isinstance(args[1], str) and bool(numpy.isnan(args[1]).any())
    if d.program.name == "interp":
        return len(args) > 1 and not (numpy.diff(args[1]) > 0).all()
    array, sorter = numpy.asarray(args[0]), kwargs.get("sorter", args[3] if len(args) > 3 else None)
    if sorter is not None and numpy.shape(sorter) == array.shape:
        if (numpy.sort(sorter) != numpy.arange(len(array))).any():
            return True
        array = array[sorter]
    return array.ndim == 1 and not numpy.array_equal(numpy.sort(array), array, equal_nan=array.dtype.kind in "fc")


@rule(
    "a derivative of order zero is a copy, not the argument itself, and so are edges that are given",
    "polyder",
    "a = np.ones(3)\nr = np.polyder(a, 0)",
)
def _unchanged(d: Difference) -> bool:
    return d.program.name in (
        "polyder",
        "polyint",
        "histogram2d",
        "histogramdd",
        "histogram",
        "linalg.matrix_power",
    ) and (d.text.startswith("the result") or (isinstance(d.want, dict) and isinstance(d.want["r"], list)))


@rule(
    "the coefficients of a polynomial are a vector",
    "polyadd",
    "pass\nr = np.polyadd([0.0], [[0.0, 1.0]])",
)
def _polynomials(d: Difference) -> bool:
    return isinstance(d.got, ValueError) and "1d only" in str(d.got)


@rule(
    "a median of one number with keepdims= is a scalar as without",
    "median",
    "pass\nr = np.median(1.5, keepdims=True)",
)
def _zero_dim_median(d: Difference) -> bool:
    return (
        bool(re.search("median|quantile|percentile", d.program.name))
        and isinstance(d.want, dict)
        and getattr(d.want["r"], "ndim", 1) == 0
        and "keepdims" in d.program.call
    )


@rule(
    "a mean= that does not fit is refused; NumPy broadcasts it",
    "var",
    "pass\nr = np.var(-0.5, mean=np.zeros(0))",
)
def _other_mean(d: Difference) -> bool:
    return "mean=" in d.program.call and isinstance(d.got, ValueError)


@rule(
    "indices that are none are integers",
    "ix_",
    "a = np.zeros(0)\nr = np.ix_([0, 2], a)",
)
def _empty_open_mesh(d: Difference) -> bool:
    return d.program.name == "ix_" and "dtype int64 instead of" in d.text


@rule(
    "tolerances are real",
    "allclose",
    "pass\nr = np.allclose([1.0], [1.0], rtol=1j)",
)
def _complex_tolerance(d: Difference) -> bool:
    return d.program.name in ("allclose", "isclose") and isinstance(d.got, TypeError)


@rule(
    "discrete quantiles are written into out= like the others",
    "quantile",
    "a = np.ones(3); b = np.ones((), 'int64')\nr = np.quantile(a, 0.7, method='nearest', out=b)",
)
def _discrete_quantiles(d: Difference) -> bool:
    return "method=" in d.program.call and "out=" in d.program.call and "Cannot cast" in f"{d.got}{d.want}"


@rule(
    "isreal of a Python number is a NumPy bool",
    "isreal",
    "pass\nr = np.isreal(0.5)",
)
def _python_number(d: Difference) -> bool:
    return d.program.name == "isreal" and isinstance(d.want, dict) and isinstance(d.want["r"], bool)


@rule(
    "what is made of a scalar alone is a scalar",
    "real_if_close",
    "pass\nr = np.real_if_close(np.float32(2))",
)
def _scalar_view(d: Difference) -> bool:
    return d.program.name in ("real_if_close", "polyval") and "instead of a NumPy array" in d.text


@rule(
    "integers can be rounded into integers",
    "round",
    "a = np.array([2, 7]); b = np.ones(2, 'int64')\nr = np.round(a, -1, out=b)",
)
def _rounded_integers(d: Difference) -> bool:
    return d.program.name in ("round", "around", "ndarray.round") and "Cannot cast ufunc 'divide'" in str(d.want)


@rule(
    "results of at that an integer dtype cannot hold become whatever the processor makes of them",
    "arcsin.at",
    "a = np.full((3, 3), 2, 'uint32')\nr = np.arcsin.at(a, ())",
    varies=True,
)
def _cast_back(d: Difference) -> bool:
    return d.program.name.endswith(".at") and d.text.startswith("a:") and "int" in str(d.want["a"].dtype)


@rule(
    "an axis of negative length has no elements to count",
    "fromiter",
    "pass\nr = np.fromiter([1], float, -2)",
)
def _negative_lengths(d: Difference) -> bool:
    if d.program.name == "unravel_index":
        return bool((numpy.asarray(given(d.program)[0][1]) < 0).any())
    if d.program.name in ("tile", "fromiter"):
        return bool(re.search(r", -\d", d.program.call))
    return d.program.name == "ravel_multi_index" and bool(re.search(r"\(-?\d, -\d\)|\(-\d", d.program.call))


@rule(
    "view(None) is view()",
    "ndarray.view",
    "a = np.ones(1, 'float32')\nr = a.view(None)",
)
def _view_of_none(d: Difference) -> bool:
    return d.program.name == "ndarray.view" and "None" in d.program.call


@rule(
    "the product of a row, matrices and a column can be written into a 0-d array",
    "linalg.multi_dot",
    "a = np.ones(3); b = np.ones((3, 3)); c = np.ones(())\nr = np.linalg.multi_dot([a, b, a], out=c)",
)
def _number_of_many(d: Difference) -> bool:
    return d.program.name == "linalg.multi_dot" and "out=" in d.program.call and isinstance(d.got, dict)


@rule(
    "the axes of a transform are a sequence, whatever else is wrong with them",
    "fft.fftn",
    "a = np.ones((2, 3))\nr = np.fft.fftn(a, axes=5)",
)
def _axes_of_transforms(d: Difference) -> bool:
    return d.program.name.startswith("fft.") and isinstance(d.got, TypeError) and isinstance(d.want, IndexError)


@rule(
    "there are not less than no frequencies",
    "fft.rfftfreq",
    "pass\nr = np.fft.rfftfreq(-1)",
)
def _negative_frequencies(d: Difference) -> bool:
    return d.program.name == "fft.rfftfreq" and isinstance(d.got, ValueError)


@rule(
    "Python numbers beside one array are cast by any rule",
    "maximum",
    "a = np.array(0.0, 'float32')\nr = np.maximum(0.0, a, casting='equiv')",
)
def _python_numbers_are_cast(d: Difference) -> bool:
    return isinstance(d.want, TypeError) and "cannot cast Python" in str(d.want)


@rule(
    "an axis is moved once",
    "linalg.tensorsolve",
    "a = np.eye(2)\nr = np.linalg.tensorsolve(a, np.ones(2), axes=(0, 0))",
)
def _repeated_axes(d: Difference) -> bool:
    both = isinstance(d.got, ValueError) and isinstance(d.want, TypeError)
    return d.program.name == "linalg.tensorsolve" and (both or "repeated axis" in str(d.got))


@rule(
    "one number begins a reduction",
    "logical_and.reduce",
    "pass\nr = np.logical_and.reduce([0.0, 1.0], initial=[None])",
)
def _several_beginnings(d: Difference) -> bool:
    return "initial=[" in d.program.call and isinstance(d.got, ValueError)


@rule(
    "indices of any integer dtype say where to insert",
    "insert",
    "a = np.array([0, 2], 'uint16')\nr = np.insert([1.0, 2.0, 3.0], a, 0.0)",
)
def _indices_to_insert(d: Difference) -> bool:
    return d.program.name == "insert" and isinstance(d.got, dict) and "Cannot cast ufunc" in str(d.want)


@rule(
    "the text of a scalar's array is that of an array",
    "array_repr",
    "pass\nr = np.array_repr(np.float32(2))",
)
def _text_of_scalar(d: Difference) -> bool:
    return d.program.name == "array_repr" and bool(re.search(r"array_repr\(np\.\w+\d+\(", d.program.call))


@rule(
    "a median that is nan is an integer's undefined number where integers take it",
    "median",
    "a = np.array([1.0, np.nan]); b = np.ones((), 'int64')\nr = np.median(a, out=b)",
)
def _median_of_nan(d: Difference) -> bool:
    return d.program.name == "median" and "out=" in d.program.call and isinstance(d.want, TypeError)
