"""Calls of every public function of NumPy's face and of torch's with an array that has a component for each element:
the generated table of `scripts/memory.py --all` and of tests/decomposed/test_memory.py.

A function is tried with a list of arguments on small plain arrays; those that it takes, and that give no more numbers
than a few times those that they are given, are its calls. Names as in tests/memory_cases.py; `W` is a matrix, `v` a
vector that fits it, `k` three numbers.
"""

from __future__ import annotations

import contextlib
import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.overrides import get_overridable_functions

import npdec as np
from memory_cases import arrays, names
from npdec._core.memory_meter import Meter

SMALL = 1200
_CUBE = "x.reshape(4, 5, -1)"
BOTH = [
    "x", "x, p", "p, x", "x, y", "x, 0.5", "x, 2", "0.5, x", "m, x, p", "x, p, p", "p, x, p", "p, p, x",
    "x.reshape(100, -1)", "x.reshape(100, -1), 0", "x.reshape(100, -1), 1",
]  # fmt: skip
OF_NUMPY = [*BOTH, "x, k", "k, x", "[x, p]", "x, i", "i, x"]
OF_TORCH = [
    *BOTH, "x, 0", "x, m", "x, 0, i", "x, i", "x, m, 0.5", "[x, p]", "x, (n,)", "x, (-1, 100)", "x, 0, i, p",
    "x.reshape(100, -1), W", "W.T, x.reshape(100, -1)[:50]", "x.reshape(100, -1), v", _CUBE, f"{_CUBE}, 2",
    "x.reshape(100, -1), p.reshape(100, -1)", f"{_CUBE}, p.reshape(4, 5, -1)", "x.reshape(2, 2, 50, -1), 2",
]  # fmt: skip
# Of files, of the process, of text, random, or of as many steps in Python as there are elements.
_OTHERS = frozenset(
    """save savetxt savez savez_compressed test show_config show_runtime info set_printoptions lookfor source seterr
    seterrcall setbufsize fromfile load loadtxt genfromtxt decompose lexsort row_stack column_stack mintypecode
    array_repr array_str array2string base_repr sym_sum unbind unbind_copy unsafe_split backward register_hook tolist
    to_sparse __repr__ __deepcopy__ __reduce_ex__ __format__ storage _typed_storage __iter__ __contains__
    """.split()
)
_PAIRS = "as many pairs of elements as the square of their number, in NumPy as well"
_FACTORS = "factors of a matrix, by quadrature of a derivative that holds several of its size"
_NODES = "by quadrature, of which the nodes take several arrays each"
_STACKED = "of a stack of two arrays, along the new axis, several arrays of its size at once"
_KEPT = "21 times: what a running sum is a sum of is kept beside it, for who reads the contributions"
_BINS = "a number for each bin and component"
# What takes more than the bound, and why.
BEYOND: dict[str, str] = {
    **dict.fromkeys("poly polyfromroots polyval polymul polydiv polygrid2d polygrid3d polyint convolve correlate "
                    "searchsorted bucketize digitize cdist pdist kron outer vander polycompanion".split(), _PAIRS),
    **dict.fromkeys("qr svd svdvals pinv pinverse cond matrix_rank lstsq eig eigh".split(), _FACTORS),
    **dict.fromkeys("power pow float_power xlogy nanquantile quantile percentile nanpercentile norm cumprod gradient "
                    "norm_except_dim cosine_similarity corrcoef cov nanstd nanvar divmod geomspace logspace interp "
                    "logaddexp2 intersect1d".split(), _NODES),
    **dict.fromkeys("max min amax amin ptp nanmax nanmin trapezoid".split(), _STACKED),
    "unwrap": _KEPT,
    **dict.fromkeys("histogram histogram2d histogramdd histogram_bin_edges".split(), _BINS),
}  # fmt: skip


class Function(NamedTuple):
    name: str
    function: Callable[..., Any]
    arguments: list[str]
    tensors: bool


def functions() -> list[Function]:
    """Every public function once, in the order of its name."""
    spaces = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath}
    found: dict[str, Function] = {}
    for space, module in spaces.items():
        for name in getattr(module, "__all__", None) or dir(module):
            function = getattr(module, name, None)
            if callable(function) and not isinstance(function, type) and not name.startswith("_"):
                found[f"{space}.{name}"] = Function(f"{space}.{name}", function, OF_NUMPY, tensors=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = get_overridable_functions()
    for owner, members in given.items():
        space = owner.__name__ if isinstance(owner, types.ModuleType) else "torch.Tensor"
        for function in members:
            name = getattr(function, "__name__", "__get__")
            if name != "__get__" and not name.endswith("_"):
                found.setdefault(f"{space}.{name}", Function(f"{space}.{name}", function, OF_TORCH, tensors=True))
    return [f for _, f in sorted(found.items()) if f.name.rpartition(".")[2] not in _OTHERS]


def _known(n: int, tensors: bool) -> dict[str, Any]:
    known = names(n)
    known.update(W=np.ones((n // 100, 10)), v=np.ones(n // 100), k=np.array([0.1, 0.2, 0.3]))
    if tensors:
        known.update({key: known[key].tensor for key in "xypmiWvk"})
    return known


def _numbers(made: Any) -> list[Any]:
    items = made if isinstance(made, (tuple, list)) else [made]
    return [item for item in items if isinstance(item, (torch.Tensor, np.ndarray, np.generic))]


def calls(f: Function) -> Iterator[str]:
    """The arguments that it takes, of which it makes a few arrays of numbers or booleans at the most."""
    takes = None
    with contextlib.suppress(TypeError, ValueError):
        takes = len(inspect.signature(f.function).parameters)
    for arguments in f.arguments:
        if takes == 0 or (f.name.endswith(("addcmul", "addcdiv")) and ", 0, " in arguments):  # torch ends the process
            continue
        known = _known(SMALL, f.tensors) | {"f": f.function}
        try:
            made = _numbers(eval(f"f({arguments})", known))
        except Exception:  # whatever it refuses is no call
            continue
        size = sum(item.size if isinstance(item, np.ndarray) else getattr(item, "numel", int)() for item in made)
        if made and size <= 20 * SMALL:
            yield arguments


def factor(f: Function, arguments: str, n: int) -> float:
    """The memory that torch's tensors take at once, in units of the plain arrays, or of a result that is larger."""
    known = _known(n, f.tensors) | {"f": f.function}
    with Meter() as meter:
        if "y" in arguments:
            known["x"], known["y"] = np.decompose((known["x"], known["y"]))
        else:
            known["x"] = np.decompose(known["x"])
        made = _numbers(eval(f"f({arguments})", known))
    size = sum(8 * (item.size if isinstance(item, np.ndarray) else getattr(item, "numel", int)()) for item in made)
    return meter.peak / max(8 * n * (arrays(arguments) + ("[x, p]" in arguments)), size)
