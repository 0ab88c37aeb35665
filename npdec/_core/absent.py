"""NumPy's names that npdec does not have, each with its reason: asking for one says what to do instead."""

from __future__ import annotations

from npdec.exceptions import AbsentNameError

__all__ = ["ABSENT", "absent"]

_DATES = "torch has no dates; keep them in NumPy or pandas, and pass numbers (days since an epoch, .astype('i8'))"
_RECORDS = "torch has no records; keep one array for each field"
_LONG = "torch has no extended precision; use float64 or complex128"
_MATRIX = "NumPy itself advises against it; use a 2-d array and the @ operator"

# The reasons, by dotted name below `numpy`.
ABSENT: dict[str, str] = {
    "object_": "torch cannot hold Python objects; keep them in a list, or convert them to numbers",
    "datetime64": _DATES,
    "timedelta64": _DATES,
    "void": _RECORDS,
    "record": _RECORDS,
    "recarray": _RECORDS,
    "rec": _RECORDS,
    "longdouble": _LONG,
    "clongdouble": _LONG,
    "float128": _LONG,
    "complex256": _LONG,
    "float96": _LONG,
    "complex192": _LONG,
    "matrix": _MATRIX,
    "asmatrix": _MATRIX,
    "bmat": f"{_MATRIX}; np.block joins blocks",
    "fromregex": "it makes records, which torch has not; give the groups that re.findall finds to np.array",
    "memmap": "torch maps files by torch.from_file; wrap its tensor with np.asarray",
    "ma": "masked arrays are NumPy's; use NaN with the nan-functions, or where= with a mask",
    "ctypeslib": "an array's memory is at x.tensor.data_ptr(); numpy.ctypeslib works on numpy.asarray(x)",
    "f2py": "it compiles Fortran for NumPy itself; pass numpy.asarray(x) to what it compiles",
    "core": "it is private in NumPy (numpy._core); use the public name in the main namespace",
    "lib.add_docstring": "it writes into functions of C; assign to __doc__",
    "lib.add_newdoc": "it writes into functions of C; assign to __doc__",
    "lib.tracemalloc_domain": "torch's memory is not traced by tracemalloc; torch.profiler can profile memory",
    "lib.introspect.opt_func_info": "it tells of NumPy's own loops; torch.__config__.show() tells of torch's",
    "lib.format.open_memmap": "np.load(file, mmap_mode=...) maps a .npy file to memory",
    "lib.recfunctions": _RECORDS,
    "lib.user_array": "NumPy itself advises against it; hold an array in a class of your own",
    "lib.test": "npdec's own tests run by pytest, in a checkout of the project",
    "random.test": "npdec's own tests run by pytest, in a checkout of the project",
    "testing.test": "npdec's own tests run by pytest, in a checkout of the project",
    "testing.extbuild": "it compiles extension modules for NumPy's own tests",
}


def absent(name: str) -> AbsentNameError:
    """The error for a dotted name of `ABSENT`."""
    return AbsentNameError(f"npdec has no {name}: {ABSENT[name]}")
