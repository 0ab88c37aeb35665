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
# Of files, of the process, of text, random, or of as many steps as there are elements: in Python, or for a degree that
# is the number of an element.
_OTHERS = frozenset(
    """save savetxt savez savez_compressed test show_config show_runtime info set_printoptions lookfor source seterr
    seterrcall setbufsize fromfile load loadtxt genfromtxt decompose lexsort row_stack column_stack mintypecode
    array_repr array_str array2string base_repr sym_sum unbind unbind_copy unsafe_split backward register_hook tolist
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
    special_legendre_polynomial_p to_sparse __repr__ __deepcopy__ __reduce_ex__ __format__ storage _typed_storage
    __iter__ __contains__
    """.split()
)
_LIST = "an array for each element, in NumPy as well"
_ITEMS = "as many steps in Python as elements, in NumPy as well, each with a graph of its own"
_MATRIX = "a matrix of as many rows and columns as elements, in NumPy as well"
_BLOCKS = "the graph keeps a matrix for each 256 elements of the shorter sequence, which has as many as the longer"
_BOUNDS = "of decomposed bounds as many jumps as pairs of bounds and elements, each kept: refused, if these are many"
_DISTANCES = "as many differences as pairs of rows, each with contributions; the graph keeps them all"
_SOLVED = (
    "by quadrature: the derivative of the factors holds several arrays of their size, and the graph three of each node"
)
_LOW_RANK = "a product with random columns, factors of it, and another, each of which the graph keeps"
_STEPS = (
    "by panels: 0 ** 0 at the baseline has a singularity, at which they are halved fifty times: by time, not memory"
)
_DEGREES = "as many steps as the highest degree, here the number of elements, each with an array of its own"
_AXES = "no call: of one row torch takes each element for an axis"
_PRODUCTS = "an element contributes to all products after it along the axis: 25 on average where it is 50 long"
# What takes more than the bound for some arguments, and why: by the names of `functions`.
BEYOND: dict[str, str] = {
    **dict.fromkeys("np.dstack np.hstack np.stack np.vstack np.unstack np.select".split(), _LIST),
    **dict.fromkeys("np.polydiv np.polyval np.poly".split(), _ITEMS),
    **dict.fromkeys("np.roots torch.linalg.linalg_vander".split(), _MATRIX),
    **dict.fromkeys("np.convolve np.correlate np.polymul".split(), _BLOCKS),
    **dict.fromkeys("np.searchsorted np.interp torch.bucketize torch.searchsorted".split(), _BOUNDS),
    **dict.fromkeys("torch.cdist torch.functional.cdist torch.pdist torch.nn.functional.pdist "
                    "torch.nn.functional.multilabel_margin_loss".split(), _DISTANCES),
    **dict.fromkeys("np.linalg.pinv np.linalg.qr np.linalg.svd torch.functional.lu torch.pinverse torch.qr torch.svd "
                    "torch.Tensor.lu torch.Tensor.pinverse torch.Tensor.qr torch.Tensor.svd torch.linalg.linalg_cond "
                    "torch.linalg.linalg_lstsq torch.linalg.linalg_lu torch.linalg.linalg_lu_factor_ex "
                    "torch.linalg.linalg_pinv torch.linalg.linalg_qr torch.linalg.linalg_svd".split(), _SOLVED),
    **{f"torch.special.special_{shifted}chebyshev_polynomial_{kind}": _DEGREES
       for shifted in ("", "shifted_") for kind in "tuvw"},
    "torch.histogramdd": _AXES,
    **dict.fromkeys("torch.functional.pca_lowrank torch.functional.svd_lowrank".split(), _LOW_RANK),
    **dict.fromkeys("np.pow np.power np.float_power np.emath.power torch.pow torch.float_power torch.xlogy "
                    "torch.Tensor.pow torch.Tensor.float_power torch.Tensor.xlogy torch.special.special_xlogy".split(),
                    _STEPS),
}  # fmt: skip
# The same of single calls: by name and arguments.
CALLS_BEYOND: dict[tuple[str, str], str] = dict.fromkeys(
    [(name, "x.reshape(2, 2, 50, -1), 2") for name in ("torch.cumprod", "torch.Tensor.cumprod")], _PRODUCTS
)


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
    """The arguments that it takes, of which it makes a few arrays of numbers or booleans at the most, however long."""
    takes = None
    with contextlib.suppress(TypeError, ValueError):
        takes = len(inspect.signature(f.function).parameters)
    for arguments in f.arguments:
        if takes == 0 or (f.name.endswith(("addcmul", "addcdiv")) and ", 0, " in arguments):  # torch ends the process
            continue
        if f.name.endswith("cartesian_prod") and arguments.count(",") > 1:  # of three vectors, 40 GB
            continue
        sizes = [_size(f, arguments, n) for n in (SMALL, 2 * SMALL)]
        if 0 < sizes[0] <= 20 * SMALL and sizes[1] <= 2.5 * sizes[0]:
            yield arguments


def takes(f: Function, arguments: str, n: int) -> bool:
    """Whether it takes them of so many plain numbers, where its calls are those that it takes of a few."""
    return _size(f, arguments, n) > 0


def _size(f: Function, arguments: str, n: int) -> int:
    """How many numbers it makes of plain arrays; none, if it refuses them."""
    known = _known(n, f.tensors) | {"f": f.function}
    try:
        made = _numbers(eval(f"f({arguments})", known))
    except Exception:  # whatever it refuses is no call
        return 0
    return sum(item.size if isinstance(item, np.ndarray) else getattr(item, "numel", int)() for item in made)


def factor(f: Function, arguments: str, n: int) -> float:
    """The memory that torch's tensors take at once, in units of the plain arrays, or of a result that is larger."""
    peak, plain = _measured(f, arguments, n)
    return peak / plain


def growth(f: Function, arguments: str, few: int, many: int) -> float:
    """The same of what is added from few elements to many: what does not grow with them is not seen."""
    (low, small), (high, large) = (_measured(f, arguments, n) for n in (few, many))
    return (high - low) / (large - small)


def _measured(f: Function, arguments: str, n: int) -> tuple[int, int]:
    """How many bytes there are at once, and how many in plain arrays."""
    known = _known(n, f.tensors) | {"f": f.function}
    with Meter() as meter:
        if "y" in arguments:
            known["x"], known["y"] = np.decompose((known["x"], known["y"]))
        else:
            known["x"] = np.decompose(known["x"])
        made = _numbers(eval(f"f({arguments})", known))
    size = sum(8 * (item.size if isinstance(item, np.ndarray) else getattr(item, "numel", int)()) for item in made)
    return meter.peak, max(8 * n * (arrays(arguments) + ("[x, p]" in arguments)), size)
