"""What NumPy's main namespace has beside arrays of numbers: help, its build, buffer sizes, dates and working days.

The installed NumPy does it. Dates and text stay its own arrays, on the host, since torch has neither; numbers and
booleans come back as npdec's.
"""

from __future__ import annotations

import sys
from typing import Any

from npdec._array import wrap
from npdec._array.convert import as_tensor
from npdec._array.host_numpy import numpy_for
from npdec._array.output import check_writeable, write_out
from npdec._core.base import ArrayBase
from npdec._core.unbound import unbound
from npdec._guests.exchange import arguments, received

__all__ = [
    "busday_count", "busday_offset", "datetime_as_string", "datetime_data", "get_include", "getbufsize", "info",
    "is_busday", "setbufsize", "show_config", "show_runtime",
]  # fmt: skip

DELEGATES_TO_NUMPY = True

# --- help -------------------------------------------------------------------------------------------------------------


def info(object: Any = None, maxwidth: int = 76, output: Any = None, toplevel: str = "numpy") -> None:
    """Print help: of an array its layout in memory, of a function or class its signature and documentation, of a name
    those of everything in npdec that is called so. `toplevel` other than "numpy" looks in another package.

    >>> np.info("nothing_that_there_is")
    Help for nothing_that_there_is not found.
    """
    numpy = numpy_for("info")
    if object is None:
        object = info
    if isinstance(object, ArrayBase):
        object = arguments("info", object)
    if not isinstance(object, str) or toplevel != "numpy":
        numpy.info(object, maxwidth, output, toplevel)
        return
    out = sys.stdout if output is None else output
    seen: list[Any] = []
    count = 0
    for module in (
        wrap.NAMESPACE.value,
        *(getattr(wrap.NAMESPACE.value, name) for name in ("fft", "linalg", "random")),
    ):
        found = getattr(module, object, None) if object in dir(module) else None
        if found is None:
            continue
        count += 1
        if any(found is other for other in seen):
            out.write(f"\n     *** Repeat reference found in {module.__name__} *** \n")
            continue
        seen.append(found)
        out.write(f"     *** Found in {module.__name__} ***\n")
        numpy.info(found, maxwidth, output)
        out.write("-" * maxwidth + "\n")
    out.write(f"\n     *** Total of {count} references found. ***\n" if count else f"Help for {object} not found.\n")


# --- the installed NumPy ----------------------------------------------------------------------------------------------


def get_include() -> str:
    """The folder of NumPy's header files, for extension modules in C. Raises ImportError without NumPy.

    >>> import os
    >>> os.path.isdir(np.get_include())
    True
    """
    return numpy_for("get_include").get_include()


def show_config(mode: str = "stdout") -> Any:
    """Print how the installed NumPy was built, or return it (`mode="dicts"`). torch's is `torch.__config__.show()`.

    >>> sorted(np.show_config(mode="dicts"))[0]
    'Build Dependencies'
    """
    return numpy_for("show_config").show_config(mode)


def show_runtime() -> None:
    """Print the version of the installed NumPy, what processor it found, and its libraries.

    >>> np.show_runtime()
    [...]
    """
    numpy_for("show_runtime").show_runtime()


def getbufsize() -> int:
    """The size, in elements, of the buffer through which NumPy itself casts. torch's operations have none.

    >>> np.getbufsize()
    8192
    """
    return numpy_for("getbufsize").getbufsize()


def setbufsize(size: int) -> int:
    """Set the size of NumPy's own buffer and return the one before. It is NumPy's setting: torch has no such buffer.

    >>> np.setbufsize(4096), np.setbufsize(8192)
    (8192, 4096)
    """
    return numpy_for("setbufsize").setbufsize(size)


# --- dates ------------------------------------------------------------------------------------------------------------


@unbound
def datetime_data(_: Any, dtype: Any, /) -> tuple[str, int]:
    """The unit of a dtype of dates or time spans, and how many of it make a step.

    >>> np.datetime_data("M8[25s]")
    ('s', 25)
    """
    numpy = numpy_for("datetime_data")
    return numpy.datetime_data(dtype if isinstance(dtype, numpy.dtype) else numpy.dtype(dtype))


def datetime_as_string(arr: Any, unit: str | None = None, timezone: Any = "naive", casting: str = "same_kind") -> Any:
    """Dates of NumPy as a NumPy array of text (text, for one date) in the form of ISO 8601.

    >>> import numpy
    >>> str(np.datetime_as_string(numpy.datetime64("2024-02-29T12"), unit="D", casting="unsafe"))
    '2024-02-29'
    """
    numpy = numpy_for("datetime_as_string")
    return received(numpy.datetime_as_string(arguments("datetime_as_string", arr), unit, timezone, casting))


class _Week(str):
    """The days of a week, where the caller has named none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(str(self))


_WEEK = _Week("1111100")


def _worked(name: str, *arguments_: Any, weekmask: Any, holidays: Any, busdaycal: Any, out: Any) -> Any:
    """NumPy's function of working days, which tells a calendar that was not given from every value for it."""
    function = getattr(numpy_for(name), name)
    options: dict[str, Any] = {}
    if weekmask is not _WEEK:
        options["weekmask"] = arguments(name, weekmask)
    if holidays is not None and not (isinstance(holidays, tuple) and not holidays):
        options["holidays"] = arguments(name, holidays)
    if busdaycal is not None:
        options["busdaycal"] = busdaycal
    given = [arguments(name, x) for x in arguments_]
    if isinstance(out, ArrayBase):
        check_writeable(name, out)
        return write_out(name, out, as_tensor(function(*given, **options)))
    if out is not None:
        return function(*given, **options, out=out)
    return received(function(*given, **options))


def busday_count(
    begindates: Any,
    enddates: Any,
    weekmask: Any = _WEEK,
    holidays: Any = (),
    busdaycal: Any = None,
    out: Any = None,
) -> Any:
    """The number of working days from a date up to (and without) another. Dates are NumPy's, or text.

    `weekmask` says which of the seven days from Monday on are worked, `holidays` are dates that are not; or both are in
    a `busdaycal`.

    >>> np.busday_count("2024-02", "2024-03")
    np.int64(21)
    """
    calendar = {"weekmask": weekmask, "holidays": holidays, "busdaycal": busdaycal}
    return _worked("busday_count", begindates, enddates, **calendar, out=out)


def busday_offset(
    dates: Any,
    offsets: Any,
    roll: str = "raise",
    weekmask: Any = _WEEK,
    holidays: Any = None,
    busdaycal: Any = None,
    out: Any = None,
) -> Any:
    """The dates that lie so many working days after dates. `roll` says what a date that is none becomes first: "raise"
    (ValueError), "nat", "forward", "backward", ... The result is an array (or a date) of NumPy: torch has no dates.

    >>> str(np.busday_offset("2024-03-01", 1))
    '2024-03-04'
    """
    calendar = {"weekmask": weekmask, "holidays": holidays, "busdaycal": busdaycal}
    return _worked("busday_offset", dates, offsets, roll, **calendar, out=out)


def is_busday(dates: Any, weekmask: Any = _WEEK, holidays: Any = None, busdaycal: Any = None, out: Any = None) -> Any:
    """Which dates are working days; see `busday_count` for the arguments.

    >>> np.is_busday(["2024-03-01", "2024-03-02"])
    array([ True, False])
    """
    return _worked("is_busday", dates, weekmask=weekmask, holidays=holidays, busdaycal=busdaycal, out=out)
