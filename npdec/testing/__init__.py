"""Testing code that computes with arrays: `numpy.testing`, and checks of decompositions.

What compares arrays converts them and calls the installed NumPy; what does not concern arrays is NumPy's own. Written
for npdec are `check_decomposition`, which checks the law for a function of yours, and what measures attributions:
`faithfulness`, `infidelity`, `max_sensitivity`, `randomization` and `agreement`.
"""

from __future__ import annotations

from typing import Any

from npdec._core import absent as _absent
from npdec.exceptions import MissingNameError as _MissingNameError
from npdec.testing._asserts import (
    assert_allclose,
    assert_almost_equal,
    assert_approx_equal,
    assert_array_almost_equal,
    assert_array_almost_equal_nulp,
    assert_array_compare,
    assert_array_equal,
    assert_array_less,
    assert_array_max_ulp,
    assert_equal,
    build_err_msg,
    print_assert_equal,
)
from npdec.testing._decomposition import DecompositionReport, check_decomposition
from npdec.testing._faithfulness import Faithfulness, FaithfulnessTable, faithfulness
from npdec.testing._host import numpy_testing as _numpy_testing
from npdec.testing._measures import Agreement, Randomization, agreement, infidelity, max_sensitivity, randomization

# Files, warnings, exceptions, threads and this machine: NumPy's own objects, looked up when first used.
DELEGATES_TO_NUMPY = frozenset(
    """BLAS_SUPPORTS_FPE HAS_LAPACK64 HAS_REFCOUNT IS_64BIT IS_EDITABLE IS_INSTALLED IS_MUSL IS_PYPY IS_PYSTON IS_WASM
    IgnoreException KnownFailureException NOGIL_BUILD NUMPY_ROOT SkipTest TestCase assert_ assert_no_gc_cycles
    assert_no_warnings assert_raises assert_raises_regex assert_string_equal assert_warns break_cycles
    check_support_sve clear_and_catch_warnings decorate_methods jiffies measure memusage overrides run_threaded rundocs
    runstring suppress_warnings tempdir temppath verbose""".split()
)

__all__ = [
    "Agreement",
    "DecompositionReport",
    "Faithfulness",
    "FaithfulnessTable",
    "Randomization",
    "agreement",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "build_err_msg",
    "check_decomposition",
    "faithfulness",
    "infidelity",
    "max_sensitivity",
    "print_assert_equal",
    "randomization",
]
__all__.extend(sorted(DELEGATES_TO_NUMPY))


def __getattr__(name: str) -> Any:
    if name in DELEGATES_TO_NUMPY:
        return getattr(_numpy_testing(name), name)
    if f"testing.{name}" in _absent.ABSENT:
        raise _absent.absent(f"testing.{name}")
    raise _MissingNameError("npdec.testing", name)


def __dir__() -> list[str]:
    return sorted(__all__)
