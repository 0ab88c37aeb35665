"""torch.func for NumPy code: derivatives, batches and compilation of functions of arrays.

`grad`, `value_and_grad`, `vjp`, `jvp`, `vmap` and `jit` (also in the main namespace) do what `torch.func` and
`torch.compile` do, for functions that take and return npdec's arrays and scalars, alone or in dicts, lists and tuples.
They nest, as torch's do, and a function may be called with torch's tensors, which stay tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._pytree import tree_unflatten

from npdec._array import transforms, wrap
from npdec._array.convert import as_tensor
from npdec._array.elements import ElementAccess
from npdec._core.base import ArrayBase, plain_of
from npdec._core.tracebacks import ended, ends
from npdec._decomposed.pytree import is_decomposed
from npdec._decomposed.tensor import DecomposedTensor
from npdec._jit.jit import Carrying, Jitted, compiler, static_places
from npdec._torch.patch_dynamo import leave_to_python

__all__ = ["grad", "jit", "jvp", "value_and_grad", "vjp", "vmap"]

Function = Callable[..., Any]

# What a leaf of a nesting is, beside the tensor that takes its place inside torch.func.
_AS_IT_IS, _WRAPPED, _ARRAY = 0, 1, 2  # left alone; an array, or a scalar if 0-d; an array even if 0-d
_NUMBERS = (bool, int, float, complex)


# -- from arrays to tensors and back -----------------------------------------------------------------------------------


def tree_flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a nesting, of which a decomposed tensor is one, and how they are nested."""
    return _pytree.tree_flatten(tree, is_leaf=is_decomposed)


def _bare(leaf: Any) -> tuple[Any, int]:
    """The tensor of an array or scalar and what it is; anything else as it is."""
    if not isinstance(leaf, ArrayBase):
        return leaf, _AS_IT_IS
    return leaf._t, _ARRAY if type(leaf) is wrap.ARRAY and not leaf._t.dim() else _WRAPPED


def _dressed(leaf: Any, kind: int) -> Any:
    if kind == _AS_IT_IS or not isinstance(leaf, torch.Tensor):
        return leaf
    return wrap.wrap_array(leaf) if kind == _ARRAY else wrap.wrap(leaf)


def _all_dressed(tree: Any, kinds: Sequence[int]) -> Any:
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([_dressed(leaf, kind) for leaf, kind in zip(leaves, kinds, strict=True)], spec)


_CARRYING = ("vmap", "jit")


def _refuse_decomposed(name: str, tensor: Any) -> None:
    if name not in _CARRYING and isinstance(tensor, DecomposedTensor):
        raise TypeError(
            f"{name}: a derivative with respect to a decomposed array, or of one, would be of its value, residual and "
            "contributions apart; give its .value, or use np.attribute for an attribution"
        )


def _argument(name: str, leaf: Any, varies: bool) -> tuple[Any, int]:
    """A leaf of the arguments. Where the function is differentiated, numbers become tensors, and have to be floats."""
    kind = _WRAPPED
    if isinstance(leaf, (ArrayBase, torch.Tensor)):
        leaf, kind = _bare(leaf)
    elif (varies and isinstance(leaf, _NUMBERS)) or hasattr(leaf, "__array_interface__"):  # also an array of NumPy's
        leaf = as_tensor(leaf)
    else:
        kind = _AS_IT_IS
    _refuse_decomposed(name, leaf)
    if varies:
        if not isinstance(leaf, torch.Tensor):
            raise TypeError(f"{name}: only arrays and numbers can vary, not {type(leaf).__name__!r}")
        if not (leaf.is_floating_point() or leaf.is_complex()):
            what = f"an array of {str(leaf.dtype).removeprefix('torch.')}" if leaf.dim() else "an integer"
            raise TypeError(f"{name}: {what} has no derivatives; make it float (x.astype(float), or 3.0 for 3)")
    return leaf, kind


class _Call:
    """One call of a function through torch.func: its arguments as tensors, and what its results were."""

    def __init__(self, name: str, func: Function, args: Sequence[Any], kwargs: dict[str, Any], varying: Any) -> None:
        self.name, self.func = name, func
        self.kinds: list[int] = []
        self.args = tuple(self._read(arg, varying is True or i in varying) for i, arg in enumerate(args))
        self.kinds_of_args = [len(tree_flatten(arg)[0]) for arg in self.args]
        self.kwargs = {key: self._read(arg, False) for key, arg in kwargs.items()}
        self.results: list[int] = []
        self.aside: tuple[Any, list[int], list[Any]] = (None, [], [])

    def _read(self, arg: Any, varies: bool) -> Any:
        leaves, spec = tree_flatten(arg)
        pairs = [_argument(self.name, leaf, varies) for leaf in leaves]
        self.kinds += [kind for _, kind in pairs]
        return tree_unflatten([leaf for leaf, _ in pairs], spec)

    def of_argument(self, position: int) -> list[int]:
        """What the leaves of an argument were."""
        start = sum(self.kinds_of_args[:position])
        return self.kinds[start : start + self.kinds_of_args[position]]

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The function on tensors."""
        args, kwargs = _all_dressed((args, kwargs), self.kinds)
        return self.tensors(self.func(*args, **kwargs))

    def run_with_aux(self, *args: Any, **kwargs: Any) -> Any:
        """The function on tensors, which returns a result and something beside it: torch takes tensors only."""
        args, kwargs = _all_dressed((args, kwargs), self.kinds)
        returned = self.func(*args, **kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError(f"{self.name}: with has_aux=True the function returns (result, aux)")
        leaves, spec = tree_flatten(returned[1])
        pairs = [_bare(plain_of(leaf)) for leaf in leaves]
        tensors = [leaf for leaf, _ in pairs if isinstance(leaf, torch.Tensor)]
        rest = [None if isinstance(leaf, torch.Tensor) else leaf for leaf, _ in pairs]
        self.aside = spec, [-1 if isinstance(leaf, torch.Tensor) else 0 for leaf, _ in pairs], rest
        self.aux_kinds = [kind for leaf, kind in pairs if isinstance(leaf, torch.Tensor)]
        return self.tensors(returned[0]), tensors

    def tensors(self, result: Any) -> Any:
        """The tensors of a result, which may be numbers that do not depend on the arguments."""
        leaves, spec = tree_flatten(result)
        self.results, made = [], []
        for leaf in leaves:
            tensor, kind = (as_tensor(leaf), _WRAPPED) if type(leaf) in _NUMBERS else _bare(plain_of(leaf))
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{self.name}: the function returned {type(leaf).__name__!r}; arrays are needed")
            _refuse_decomposed(self.name, tensor)
            self.results.append(kind)
            made.append(tensor)
        return tree_unflatten(made, spec)

    def result(self, tree: Any) -> Any:
        return _all_dressed(tree, self.results)

    def aux(self, tensors: Sequence[torch.Tensor]) -> Any:
        spec, places, rest = self.aside
        found = iter(zip(tensors, self.aux_kinds, strict=True))
        leaves = [_dressed(*next(found)) if place else other for place, other in zip(places, rest, strict=True)]
        return tree_unflatten(leaves, spec)


def _named(name: str, func: Function, wrapper: Function) -> Function:
    wrapper = functools.wraps(func)(wrapper)
    wrapper.__name__ = wrapper.__qualname__ = f"{name}({getattr(func, '__name__', type(func).__name__)})"
    return wrapper


# -- derivatives -------------------------------------------------------------------------------------------------------


def _graded(
    name: str,
    func: Function,
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Any, Any, Any]:
    """Gradient, value and what comes beside it."""
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)
    places = [i + len(args) if i < 0 else i for i in chosen]
    call = _Call(name, func, args, kwargs, set(places))
    run = call.run_with_aux if has_aux else call.run
    with transforms.differentiated():
        gradient, value = torch.func.grad_and_value(run, argnums, has_aux)(*call.args, **call.kwargs)
    aux = None
    if has_aux:
        value, aux = value[0], call.aux(value[1])
    if isinstance(argnums, tuple):
        parts = tuple(_all_dressed(g, call.of_argument(i)) for g, i in zip(gradient, places, strict=True))
        return parts, call.result(value), aux
    return _all_dressed(gradient, call.of_argument(places[0])), call.result(value), aux


def grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """The function that computes the gradient of `func`, whose result is one number, as `torch.func.grad`.

    The gradient is that with respect to the argument at `argnums`, in its shape and nesting: an array, a dict of
    arrays, ...; of a tuple of positions, a tuple. With `has_aux=True`, `func` returns (result, aux), and the gradient
    function (gradient, aux). Raises TypeError for integers, which have no derivative, and for decomposed arrays.

    >>> np.grad(np.tanh)(0.0)
    np.float64(1.0)
    >>> np.grad(lambda p, x: ((p["w"] * x).sum() - 1) ** 2)({"w": np.array([1.0, 2.0])}, np.array([3.0, 0.5]))
    {'w': array([18.,  3.])}
    """

    @ends
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, _, aux = _graded("grad", func, argnums, has_aux, args, kwargs)
        return (found, aux) if has_aux else found

    return _named("grad", func, gradient)


def value_and_grad(func: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """The function that computes the result of `func` and its gradient, in this order; see `np.grad`.

    With `has_aux=True` it gives ((result, aux), gradient).

    >>> np.value_and_grad(lambda x: (x**2).sum())(np.array([1.0, 3.0]))
    (np.float64(10.0), array([2., 6.]))
    """

    @ends
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        found, value, aux = _graded("value_and_grad", func, argnums, has_aux, args, kwargs)
        return ((value, aux), found) if has_aux else (value, found)

    return _named("value_and_grad", func, value_and_gradient)


def _matching(name: str, given: Any, like: Any) -> Any:
    """Tangents or cotangents as tensors: numbers in the dtype of what they belong to."""
    leaves, spec = tree_flatten(given)
    others, other_spec = tree_flatten(like)
    if spec != other_spec:
        raise TypeError(f"{name}: a tangent is nested as what it belongs to: {other_spec}, not {spec}")
    made = []
    for leaf, other in zip(leaves, others, strict=True):
        tensor = _bare(leaf)[0] if isinstance(leaf, (ArrayBase, torch.Tensor)) else as_tensor(leaf).to(other.dtype)
        if tensor.shape != other.shape:
            want, got = tuple(other.shape), tuple(tensor.shape)
            raise ValueError(f"{name}: a tangent has the shape of what it belongs to: {want}, not {got}")
        made.append(tensor)
    return tree_unflatten(made, spec)


@ends
def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of `func` at `primals`, and the function that takes a cotangent, nested as the result, to the product
    with the Jacobian: one array for one primal, a tuple for several. As `torch.func.vjp`; with `has_aux=True`, `func`
    returns (result, aux), and aux is given third.

    >>> y, pull = np.vjp(np.sin, np.array([0.0, np.pi]))
    >>> pull(np.array([1.0, 1.0]))
    array([ 1., -1.])
    """
    call = _Call("vjp", func, primals, {}, True)
    with transforms.differentiated():
        found: Any = torch.func.vjp(call.run_with_aux if has_aux else call.run, *call.args, has_aux=has_aux)
    output, back = found[0], found[1]

    @ends
    def pull(*cotangents: Any) -> Any:
        """The product of a cotangent with the Jacobian."""
        if len(cotangents) != 1:
            given: Any = tuple(cotangents)
        else:
            given = cotangents[0]
        products = back(_matching("vjp", given, output))
        if len(primals) == 1:
            return _all_dressed(products[0], call.of_argument(0))
        return tuple(_all_dressed(part, call.of_argument(i)) for i, part in enumerate(products))

    return (call.result(output), pull, call.aux(found[2])) if has_aux else (call.result(output), pull)


@ends
def jvp(
    func: Function,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The result of `func` at the tuple `primals`, and its derivative in the direction of `tangents`, in forward mode.

    As `torch.func.jvp`, with its `strict`; with `has_aux=True`, `func` returns (result, aux), and aux is given third.

    >>> np.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    call = _Call("jvp", func, primals, {}, True)
    directions = tuple(_matching("jvp", list(tangents), list(call.args)))
    found: Any = torch.func.jvp(
        call.run_with_aux if has_aux else call.run, call.args, directions, strict=strict, has_aux=has_aux
    )
    results = call.result(found[0]), call.result(found[1])
    return (*results, call.aux(found[2])) if has_aux else results


# -- batches and compilation -------------------------------------------------------------------------------------------


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """The function that applies `func` to every slice of its arguments at once, as `torch.func.vmap`.

    `in_dims` says along which axis each argument is sliced (None: not at all), `out_dims` where that axis goes in the
    results. Slices of 1-d arrays are scalars. `randomness` and `chunk_size` are torch's.

    >>> np.vmap(np.dot)(np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    >>> np.vmap(np.grad(np.sin))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """

    @ends
    def batched(*args: Any, **kwargs: Any) -> Any:
        call = _Call("vmap", func, args, kwargs, ())
        run = torch.func.vmap(call.run, in_dims, out_dims, randomness, chunk_size=chunk_size)
        with transforms.mapped(tree_flatten((call.args, call.kwargs))[0]):
            made = run(*call.args, **call.kwargs)
        return call.result(made)

    return _named("vmap", func, batched)


def jit(
    func: Function | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Function:
    """The function compiled as one graph when it is first called; see docs/compile.md.

    Also a decorator: `@np.jit`, `@np.jit(fullgraph=True)`. Another dtype, shape or nesting of the arguments compiles it
    again, and so does another number of Python's, or another value of an argument that is named static. Where shapes
    depend on the numbers in arrays, the first call runs as it is: it is compiled if the next one gives the same shapes.
    `backend`, `mode` and `options` are those of `torch.compile`; the default backend needs a C++ compiler. What cannot
    be compiled runs as it is, with one warning that names the line, or raises RuntimeError with `fullgraph=True`.
    Raises ValueError for a static argument that is not hashable, or that the function does not have.

    Decomposed arguments, and `dynamic=True`, are left to `torch.compile`.

    >>> np.jit(lambda x: (np.sin(x) ** 2).sum(), disable=True)(np.zeros(3))
    np.float64(0.0)
    """
    if func is None:
        choices: dict[str, Any] = {
            "static_argnums": static_argnums, "static_argnames": static_argnames, "fullgraph": fullgraph,
            "dynamic": dynamic, "backend": backend, "mode": mode, "options": options, "disable": disable,
        }  # fmt: skip
        return functools.partial(jit, **choices)
    function = func
    static, names = static_places(function, static_argnums, static_argnames)
    recorder = Jitted(function, compiler(backend, mode, options), fullgraph, static, names)
    compiled: list[Function] = []

    def traced(kinds: tuple[int, ...], args: Any, kwargs: Any) -> Any:
        args, kwargs = _all_dressed((args, kwargs), kinds)
        leaves, spec = tree_flatten(function(*args, **kwargs))
        pairs = [_bare(leaf) for leaf in leaves]
        return tree_unflatten([leaf for leaf, _ in pairs], spec), [kind for _, kind in pairs]

    def jitted(*args: Any, **kwargs: Any) -> Any:
        if disable:
            return function(*args, **kwargs)
        if not dynamic:
            try:
                return recorder(*args, **kwargs)
            except Carrying:  # and nothing has been done
                pass
            except Exception as error:
                raise ended(error)  # noqa: B904
        if not compiled:
            options_of_torch: dict[str, Any] = {"backend": backend, "mode": mode, "options": options}
            leave_to_python(ElementAccess.__getitem__, ElementAccess.__setitem__)
            compiled.append(torch.compile(traced, fullgraph=fullgraph, dynamic=dynamic, **options_of_torch))
        call = _Call("jit", function, args, kwargs, ())
        result, results = compiled[0](tuple(call.kinds), call.args, call.kwargs)
        return _all_dressed(result, results)

    made = _named("jit", function, jitted)
    made._compiled_from = function  # type: ignore[attr-defined]
    return made
