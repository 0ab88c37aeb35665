"""Where npdec differs from NumPy on purpose: each difference with its reason, and a program that shows it.

These concern arrays, options and errors in general; `fuzz_rules_functions` has those of single functions, and
`fuzz_rules_numpy` what is a defect or a quirk of NumPy's.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import npdec
from fuzz_draw import DTYPES, JUNK, Program


@dataclasses.dataclass(frozen=True)
class Difference:
    """What a program did with npdec (`got`) and with NumPy (`want`): the names after it, or an exception."""

    program: Program
    got: Any
    want: Any
    text: str


@dataclasses.dataclass(frozen=True)
class Rule:
    """A difference with its reason. `example` is a program that differs so; the test fails when it no longer does.

    Some differences are not there on every machine. `feature` is one of the processor, by NumPy's name for it: the
    example differs where NumPy makes use of it, and nowhere else. `varies` says that there is no telling: that the
    processor, or who made the BLAS and LAPACK that NumPy came with, decides.
    """

    reason: str
    name: str
    example: str
    applies: Callable[[Difference], bool]
    feature: str | None = None
    varies: bool = False


RULES: list[Rule] = []


def rule(
    reason: str, name: str, example: str, *, feature: str | None = None, varies: bool = False
) -> Callable[[Callable[[Difference], bool]], Callable[[Difference], bool]]:
    """Declare a predicate as a rule."""

    def declare(applies: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
        RULES.append(Rule(reason, name, example, applies, feature, varies))
        return applies

    return declare


def excuse(difference: Difference) -> str | None:
    """The reason for a difference, or None."""
    return next((rule.reason for rule in RULES if rule.applies(difference)), None)


@rule(
    "NumPy makes objects of integers that no dtype holds",
    "tril_indices_from",
    "pass\nr = np.tril_indices_from(np.ones((2, 2)), 2**70)",
)
def _wide(d: Difference) -> bool:
    large = "2**70" in d.program.call or re.search(r"\d{10}", d.program.setup)
    return bool(large) and isinstance(d.got, (dict, OverflowError, ValueError, TypeError, IndexError))


@rule(
    "some of NumPy's functions ask their argument for an array's attributes; npdec makes an array of it",
    "common_type",
    "pass\nr = np.common_type([1.0])",
)
def _no_array(d: Difference) -> bool:
    return isinstance(d.want, AttributeError) and not isinstance(d.got, (AttributeError, RuntimeError))


def _variants(program: Program) -> Iterator[Program]:
    """The program with one thing changed: a keyword less, or every array in a dtype that all functions take."""
    for match in re.finditer(r", \w+=(\([^()]*\)|\[[^\[\]]*\]|'[^']*'|[^,()'\[\]]+)(?=[,)])", program.call):
        yield dataclasses.replace(program, call=program.call[: match.start()] + program.call[match.end() :])
    yield dataclasses.replace(
        program, setup=re.sub(r"np\.broadcast_to(\([^;]*\))(?=;|$)", r"np.broadcast_to\1.copy()", program.setup)
    )
    yield dataclasses.replace(program, call=re.sub(r"\d+j\b", "1.0", program.call))
    real = re.sub(r"complex\([^)]*\)|\([^()]*j\)|[\d.]+j", "1", program.setup)
    yield dataclasses.replace(program, setup=real.replace("'complex128'", "'int64'").replace("'complex64'", "'int64'"))
    for dtype in ("int64", "float64", "complex128", "bool"):
        text = re.sub("|".join(f"'{name}'" for name in DTYPES), f"'{dtype}'", program.setup)
        yield dataclasses.replace(program, setup=text)


@rule(
    "of two mistakes in one call either may be named",
    "bincount",
    "a = np.array([1.5, 2.0])\nr = np.bincount(a, minlength=-1)",
)
def _two_mistakes(d: Difference) -> bool:
    if not (isinstance(d.got, Exception) and isinstance(d.want, Exception)):
        return False
    if not isinstance(d.got, (TypeError, ValueError, IndexError, OverflowError)):
        return False
    for variant in _variants(d.program):
        outcomes = variant.run(numpy), variant.run(npdec)
        for one in (d.want, d.got):
            if all(isinstance(o, Exception) and type(o).__name__ == type(one).__name__ for o in outcomes):
                return True
    return False


_WRONG = re.compile("(?:=|, |\\(|\\[)(" + "|".join(map(re.escape, JUNK)) + ")(?=[,)\\]])")


@rule(
    "an option of the wrong type is a TypeError or a ValueError, depending on who looks at it first",
    "gradient",
    "pass\nr = np.correlate(np.ones(3), np.array(0.0), None)",
)
def _wrong_option(d: Difference) -> bool:
    if not (isinstance(d.got, (TypeError, ValueError, KeyError, IndexError)) and isinstance(d.want, Exception)):
        return False
    return bool(_WRONG.search(d.program.call))


@rule(
    "what is no integer is not taken for one, where NumPy happens to do so",
    "tri",
    "pass\nr = np.tri(3, M=1.5)",
)
def _no_integer(d: Difference) -> bool:
    return isinstance(d.got, TypeError) and bool(
        re.search("interpreted as an integer|scalar index|an integer is required", str(d.got))
    )


_ACCIDENTS = re.compile(
    "tuple index out of range|truth value of an|list.remove|has no len|out of bounds for axis 0 with size 0|"
    "local variable|cannot reshape array of size 0 into shape|newaxis"
)


@rule(
    "NumPy stumbles over dimensions that are missing or have no length, before it says what is wrong",
    "linalg.cross",
    "pass\nr = np.linalg.cross([1.0, 2.0, 3.0], np.array(0.0))",
)
def _accident(d: Difference) -> bool:
    sane = isinstance(d.got, (dict, TypeError, ValueError, IndexError))
    return isinstance(d.want, Exception) and bool(_ACCIDENTS.search(str(d.want))) and sane


_STRICT = re.compile(
    "an integer is required|'NoneType' object is not iterable|unexpected keyword argument|multiple values for argument|"
    "takes exactly 1 argument|takes no keyword arguments|slice indices must be integers|object is not iterable|"
    "did not understand|'range' and|interpreted as an integer|to a scalar index|return arrays must be of ArrayType|"
    "output must be an array"
)


@rule(
    "some of NumPy's functions refuse spellings of options that others take; npdec takes them everywhere",
    "cumsum",
    "pass\nr = np.cumsum([[1.0]], axis=True)",
)
def _stricter(d: Difference) -> bool:
    return isinstance(d.want, TypeError) and isinstance(d.got, (dict, ValueError)) and bool(_STRICT.search(str(d.want)))


@rule(
    "what cannot be written is refused before anything else",
    "put_along_axis",
    "pass\nr = np.put_along_axis(np.float64(0.0), np.array([0]), 1.0, 0)",
)
def _no_array_to_write(d: Difference) -> bool:
    return isinstance(d.got, TypeError) and "must be an npdec array" in str(d.got)


@rule(
    "lists that are no array are refused before the function sees them",
    "array_equiv",
    "pass\nr = np.array_equiv([1, 2], [[1], [1, 2]])",
)
def _ragged(d: Difference) -> bool:
    return isinstance(d.got, ValueError) and "inhomogeneous" in str(d.got)


@rule(
    "torch has no negative strides: reversed views are read-only copies that follow the original",
    "flip",
    "a = np.ones((2, 3))\nr = np.flip(a)",
)
def _reversed(d: Difference) -> bool:
    if not isinstance(d.want, dict) or not d.text.startswith(("strides", "the result", "writeable")):
        return False
    if d.program.name in ("flip", "fliplr", "flipud", "rot90"):
        return True
    items = [x for item in d.want.values() for x in (item if isinstance(item, (list, tuple)) else [item])]
    return any(min(x.strides, default=0) < 0 for x in items if isinstance(x, numpy.ndarray))


@rule(
    "views that repeat elements are read-only; NumPy lets them be written, with a warning, for the time being",
    "broadcast_arrays",
    "a = np.ones((1, 2)); b = np.ones((3, 1))\nr = np.broadcast_arrays(a, b)",
)
def _still_writeable(d: Difference) -> bool:
    if not d.text.startswith("writeable is False instead of True"):
        return False
    results = d.want["r"] if isinstance(d.want["r"], (list, tuple)) else [d.want["r"]]
    return any(0 in x.strides for x in results) and d.program.name in ("broadcast_arrays", "meshgrid")


@rule(
    "a view whose elements are one in memory stays read-only",
    "ndarray.setflags",
    "a = np.broadcast_to(np.zeros(2), (3, 2))\nr = a.setflags(write=True)",
)
def _broadcast_stays(d: Difference) -> bool:
    return d.program.name == "ndarray.setflags" and "broadcast_to" in d.program.setup


@rule(
    "an axis along which there is one element, or none, has the stride that torch gives it",
    "ndarray.strides",
    "a = np.zeros(0)\nr = a.strides",
)
def _strides_of_nothing(d: Difference) -> bool:
    return d.program.name == "ndarray.strides" and bool(re.search("zeros|broadcast|::-1", d.program.setup))


def _floats(program: Program) -> list[Any]:
    scope = program.run(numpy)
    return (
        [x for x in scope.values() if isinstance(x, numpy.ndarray) and x.dtype.kind == "f"]
        if isinstance(scope, dict)
        else []
    )


@rule(
    "floats that an integer dtype cannot hold become whatever the processor makes of them",
    "nanmax",
    "a = np.array([-1.673, np.nan, 1.759]); b = np.ones((), 'uint16')\nr = np.nanmax(a, out=b)",
    varies=True,
)
def _undefined_cast(d: Difference) -> bool:
    """Whether floats that an integer dtype cannot hold are written into `out=`, or cast by astype."""
    if not (isinstance(d.want, dict) and isinstance(d.got, dict)) or "out=" not in d.program.call:
        return False
    plain = dataclasses.replace(d.program, call=re.sub(r", out=(\(\w,\)|\w)", "", d.program.call)).run(numpy)
    outs = [x for x in d.want.values() if isinstance(x, numpy.ndarray) and x.dtype.kind in "iu"]
    if isinstance(plain, Exception) or not outs:
        return False
    found = numpy.asarray(plain["r"])
    every = numpy.concatenate([numpy.ravel(x) for x in (found, *_floats(d.program))])
    return found.dtype.kind in "fc" and not ((every >= 0) & (every < 128)).all()


@rule(
    "out= has the shape of the result; NumPy's hfft does not look at it",
    "fft.hfft",
    "a = np.ones(2); b = np.ones(3)\nr = np.fft.hfft(a, out=b)",
)
def _larger_out(d: Difference) -> bool:
    return "out=" in d.program.call and isinstance(d.got, ValueError) and "output array has" in str(d.got)


@rule(
    "complex numbers of which a part is not finite have no one product, nor one order",
    "geomspace",
    "a = np.array([complex(np.inf, -0.0)])\nr = np.geomspace(a, 3.0, 5)",
)
def _complex_nan(d: Difference) -> bool:
    """Whether complex numbers that are not finite take part where numbers are sorted or multiplied."""
    text = d.program.text
    return (
        "complex(" in text
        and ("np.nan" in text or "np.inf" in text)
        and isinstance(d.got, dict)
        and isinstance(d.want, dict)
    )


@rule(
    "NumPy's dispatcher takes a number for a list of arguments",
    "roots",
    "pass\nr = np.roots(1.5)",
)
def _dispatcher(d: Difference) -> bool:
    return isinstance(d.want, TypeError) and "dispatcher for __array_function__" in str(d.want)


@rule(
    "of a result of the wrong dtype and of the wrong shape either may be named",
    "ndarray.//=",
    "a = np.array(0); b = np.zeros(0)\na //= b; r = a",
)
def _in_place_mistakes(d: Difference) -> bool:
    wrong = isinstance(d.got, (TypeError, ValueError)) and isinstance(d.want, (TypeError, ValueError))
    return d.program.name.startswith("ndarray.") and d.program.name.endswith("=") and wrong


@rule(
    "overwrite_input= allows the input to be overwritten, and npdec does not",
    "median",
    "a = np.array([3.0, 1.0, 2.0, 0.0, 5.0])\nr = np.median(a, overwrite_input=True)",
)
def _scratch(d: Difference) -> bool:
    if "overwrite_input=" not in d.program.call:
        return False
    return d.text.startswith("a:") or (isinstance(d.want, ValueError) and "read-only" in str(d.want))


@rule(
    "a reduction of a scalar gives the out= that it was given, where NumPy gives a scalar",
    "min",
    "a = np.ones(())\nr = np.min(np.float64(2.0), out=a)",
)
def _scalar_with_out(d: Difference) -> bool:
    return (
        isinstance(d.want, dict)
        and isinstance(d.want["r"], numpy.generic)
        and "out=" in d.program.call
        and "ndarray" in d.text
    )
