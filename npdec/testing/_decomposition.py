"""`check_decomposition`: whether a function keeps the promises of a decomposition, on given arguments."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from npdec._array import wrap
from npdec._array.convert import dtype_name
from npdec._array.decompose import decompose, split_input
from npdec._core.base import ArrayBase
from npdec._core.signatures import read_parameters
from npdec._core.tracebacks import ends
from npdec._decomposed.completeness import default_rtol, relative_error
from npdec._decomposed.registry import rows
from npdec._decomposed.tensor import DecomposedTensor, carries
from npdec._law import law
from npdec.attribution import attribute
from npdec.exceptions import DecompositionWarning

__all__ = ["DecompositionReport", "check_decomposition"]

Function = Callable[..., Any]


@dataclass(frozen=True)
class DecompositionReport:
    """What `check_decomposition` measured: the worst errors, relative to the largest magnitude that took part.

    `arguments`: the positions that were decomposed; `outputs`: how many of the results carry contributions.
    `residual` is None where `freezes=True`; `linearity` None for a function that is declared neither Linear nor
    Multilinear.
    """

    arguments: tuple[int, ...]
    outputs: int
    completeness: float
    residual: float | None
    reverse: float
    linearity: float | None


@ends
def check_decomposition(
    f: Function,
    *args: Any,
    baselines: Any = None,
    rtol: float | None = None,
    atol: float = 0.0,
    seed: int = 0,
    freezes: bool = False,
    kwargs: Mapping[str, Any] | None = None,
) -> DecompositionReport:
    """Call `f(*args, **kwargs)` with its floating arguments decomposed, and check all that a decomposition promises.

    Arrays, scalars and torch tensors of a floating or complex dtype among `args` are decomposed, all others and
    `kwargs` are passed as they are. `f` returns arrays, or lists, tuples and dicts of them. `baselines`: one for each
    decomposed argument, in their order (a single one need not be in a tuple); by default each element's baseline is a
    fraction of it between 0.3 and 0.9, drawn with `seed`, which stays in the domain of logarithms and roots.

    In turn: the values are bit for bit those of plain arrays; completeness, value == residual + components.sum(0);
    the residual is f(baselines), unless `freezes` says that f selects by the value (a sort order, a mask); reverse mode
    (`np.attribute`) gives the contributions of forward mode. If `f` is a function of npdec, or a torch function with a
    rule, that is declared Linear or Multilinear, it also has to be: superposition holds in those arguments.

    `rtol` is relative to the largest magnitude that takes part (by default half of the digits of the coarsest dtype),
    `atol` absolute. Returns a `DecompositionReport`. Raises AssertionError that says what is broken, by how much, and
    for which shapes and dtypes; TypeError if no argument can be decomposed.

    >>> np.testing.check_decomposition(lambda a, b: np.exp(a) @ b, np.ones((2, 3)), np.ones(3)).arguments
    (0, 1)
    >>> np.testing.check_decomposition(lambda a: np.exp(a) - np.exp(a.value), np.ones(2))
    Traceback (most recent call last):
    AssertionError: check_decomposition(<lambda>): the residual is not f(baselines)...
    """
    __tracebackhide__ = True
    check = _Check(f, args, dict(kwargs or {}), rtol, atol, seed)
    check.take_baselines(baselines)
    completeness = check.forward()
    residual = None if freezes else check.residuals()
    reverse = check.reverse()
    linearity = check.linearity()
    return DecompositionReport(check.places, len(check.carrying), completeness, residual, reverse, linearity)


def _tensor(x: Any) -> torch.Tensor | None:
    """The plain tensor of an array, scalar or tensor; None for anything else."""
    tensor = x._t if isinstance(x, ArrayBase) else x
    if isinstance(tensor, DecomposedTensor):
        return tensor.value
    return tensor if isinstance(tensor, torch.Tensor) else None


def _outputs(result: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The results that are no containers, each with its path in the result: `[0]['name']`."""
    if isinstance(result, (list, tuple)):
        for i, item in enumerate(result):
            yield from _outputs(item, f"{path}[{i}]")
    elif isinstance(result, dict):
        for key, item in result.items():
            yield from _outputs(item, f"{path}[{key!r}]")
    else:
        yield path, result


def _described(x: Any) -> str:
    tensor = _tensor(x)
    if tensor is None:
        return type(x).__name__
    return f"shape {tuple(tensor.shape)}, dtype {dtype_name(tensor.dtype)}"


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of the numbers: NaN and the sign of zero included."""
    plain = tensor.detach().resolve_conj().resolve_neg()  # a copy, as a lone element may have any stride
    return plain.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


def _largest(*tensors: torch.Tensor) -> float:
    """The largest finite magnitude."""
    sizes = [t.detach().abs().double() for t in tensors if t.numel()]
    return max((float(torch.where(s.isfinite(), s, 0).max()) for s in sizes), default=0.0)


def _error(got: torch.Tensor, want: torch.Tensor) -> tuple[float, float]:
    """The largest difference where the wanted numbers are finite, and the largest magnitude."""
    known = torch.isfinite(want)
    wide = torch.complex128 if want.is_complex() else torch.float64
    difference = torch.where(known, got.detach().to(wide) - want.detach().to(wide), 0).abs()
    difference = torch.where(difference.isnan(), torch.inf, difference)
    return float(difference.max()) if difference.numel() else 0.0, _largest(got, want)


class _Check:
    """One call that is checked. Each method looks at one promise and returns the worst relative error."""

    def __init__(
        self, f: Function, args: Sequence[Any], kwargs: dict[str, Any], rtol: float | None, atol: float, seed: int
    ) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs
        self.rtol, self.atol = rtol, atol
        self.source = torch.Generator().manual_seed(seed)
        found = [(i, _tensor(arg)) for i, arg in enumerate(args)]
        self.inputs = {i: t.detach().clone() for i, t in found if t is not None and carries(t.dtype)}
        self.places = tuple(self.inputs)
        if not self.inputs:
            given = ", ".join(map(_described, args)) or "none"
            raise TypeError(f"check_decomposition: an argument of a floating dtype is needed; given: {given}")
        self.bases: dict[int, torch.Tensor] = {}
        self.carrying: list[str] = []

    # -- arguments ----------------------------------------------------------------------------------------------------

    def take_baselines(self, given: Any) -> None:
        if given is None:
            for i, x in self.inputs.items():
                fraction = 0.3 + 0.6 * torch.rand(x.shape, generator=self.source, dtype=torch.float64)
                self.bases[i] = x * fraction.to(x.device).to(x.real.dtype if x.is_complex() else x.dtype)
            return
        several = given if isinstance(given, (list, tuple)) and len(self.places) > 1 else [given]
        if len(several) != len(self.places):
            raise ValueError(
                f"check_decomposition: {len(self.places)} arguments are decomposed, but there are {len(several)} "
                "baselines"
            )
        for i, base in zip(self.places, several, strict=True):
            self.bases[i] = split_input("check_decomposition", self.inputs[i], base)[1].clone()

    def _as_given(self, i: int, tensor: torch.Tensor) -> Any:
        """A tensor as the kind of thing that argument i was given as."""
        if not isinstance(self.args[i], ArrayBase):
            return tensor
        return wrap.wrap_array(tensor) if type(self.args[i]) is wrap.ARRAY else wrap.wrap_scalar(tensor)

    def call(self, tensors: Mapping[int, torch.Tensor]) -> dict[str, Any]:
        """The outputs by their paths, with these tensors as arguments and copies of the plain inputs as the others."""
        full = {**{i: x.clone() for i, x in self.inputs.items()}, **tensors}
        args = [self._as_given(i, full[i]) if i in full else arg for i, arg in enumerate(self.args)]
        with warnings.catch_warnings():  # of residuals that follow the value's choice: these are compared here
            warnings.filterwarnings("ignore", ".*at the baseline it would choose otherwise", DecompositionWarning)
            return dict(_outputs(self.f(*args, **self.kwargs)))

    def marked(self, places: Sequence[int]) -> dict[int, torch.Tensor]:
        inputs, bases = (tuple(table[i].clone() for i in places) for table in (self.inputs, self.bases))
        return dict(zip(places, decompose(inputs, baseline=bases), strict=True))

    # -- failing ------------------------------------------------------------------------------------------------------

    def fail(self, what: str, more: str = "") -> AssertionError:
        name = getattr(self.f, "__name__", type(self.f).__name__)
        given = "; ".join(f"{i}: {_described(arg)}" for i, arg in enumerate(self.args))
        decomposed = ", ".join(map(str, self.places))
        return AssertionError(
            f"check_decomposition({name}): {what}{': ' + more if more else ''}\n"
            f"  arguments: {given}; decomposed: {decomposed}"
        )

    def bound(self, *tensors: torch.Tensor) -> float:
        if self.rtol is not None:
            return self.rtol
        return max(default_rtol(t.dtype) for t in (*tensors, *self.inputs.values()) if carries(t.dtype))

    def demand(self, error: float, scale: float, bound: float, what: str, where: str, x: Any) -> float:
        """The error relative to the scale; AssertionError if it is too large."""
        relative = error / scale if scale else error
        if error > self.atol + bound * (scale or 1.0):
            raise self.fail(
                what,
                f"output{where} ({_described(x)}) is off by {error:.2e}, {relative:.1e} of the largest magnitude "
                f"{scale:.3g}, more than atol={self.atol:g}, rtol={bound:.1e} allow",
            )
        return relative

    # -- the promises -------------------------------------------------------------------------------------------------

    def forward(self) -> float:
        plain = self.call({})
        self.made = self.call(self.marked(self.places))
        if list(plain) != list(self.made):
            raise self.fail("decomposing changes the result", f"outputs {list(self.made)} instead of {list(plain)}")
        worst = 0.0
        for where, want in plain.items():
            got = self.made[where]
            wanted, value = _tensor(want), _tensor(got)
            if wanted is None or value is None:
                if type(got) is not type(want) or (wanted is None) is not (value is None):
                    raise self.fail("decomposing changes the result", f"{type(got)} instead of {type(want)}")
                continue
            if value.shape != wanted.shape or value.dtype is not wanted.dtype:
                raise self.fail(
                    "decomposing changes the result",
                    f"output{where} has {_described(got)} instead of {_described(want)}",
                )
            if not torch.equal(_bits(value), _bits(wanted)):
                raise self.fail(
                    "decomposing changes the values",
                    f"output{where} ({_described(want)}) differs by up to {_error(value, wanted)[0]:.1e} from the same "
                    "call on plain arrays, to which it has to be equal bit for bit (does f draw random numbers?)",
                )
            tensor = got._t if isinstance(got, ArrayBase) else got
            if isinstance(tensor, DecomposedTensor):
                self.carrying.append(where)
                relative, _, scale = relative_error(tensor)
                error = relative * scale if scale else relative
                what = "completeness, value == residual + components.sum(0), is broken"
                worst = max(worst, self.demand(error, scale, self.bound(value), what, where, got))
        return worst

    def residuals(self) -> float:
        worst = 0.0
        what = "the residual is not f(baselines) (pass freezes=True if f selects by the value)"
        for where, base in self.call({i: b.clone() for i, b in self.bases.items()}).items():
            want, got = _tensor(base), self.made.get(where)
            tensor = got._t if isinstance(got, ArrayBase) else got
            if want is None or not isinstance(tensor, torch.Tensor) or not carries(want.dtype):
                continue
            residual = tensor.residual if isinstance(tensor, DecomposedTensor) else tensor
            if residual.shape != want.shape:
                raise self.fail(what, f"output{where} has shape {tuple(residual.shape)}, not {tuple(want.shape)}")
            error, scale = _error(residual, want)
            scale = max(scale, _largest(tensor.value) if isinstance(tensor, DecomposedTensor) else 0.0)
            worst = max(worst, self.demand(error, scale, self.bound(want), what, where, base))
        return worst

    def total(self, outputs: Mapping[str, Any]) -> torch.Tensor:
        """One real number of all outputs that carry contributions: a fixed random combination of what is finite."""
        source = torch.Generator().manual_seed(1)
        total = torch.zeros((), dtype=torch.float64)
        for where in self.carrying:
            x = outputs[where]
            tensor = x._t if isinstance(x, ArrayBase) else x
            value = _tensor(x)
            assert value is not None
            for part, number in self._real_parts(tensor, value):
                weights = 0.5 + torch.rand(number.shape, generator=source, dtype=torch.float64)
                kept = torch.isfinite(number)
                total = total + (part[kept].to(torch.float64) * weights.to(number.device)[kept]).sum().cpu()
        return total

    @staticmethod
    def _real_parts(tensor: Any, value: torch.Tensor) -> list[tuple[Any, torch.Tensor]]:
        if not value.is_complex():
            return [(tensor, value)]
        return [(torch.real(tensor), value.real), (torch.imag(tensor), value.imag)]

    def _total_of(self, i: int, tensor: torch.Tensor) -> torch.Tensor:
        return self.total(self.call({i: tensor}))

    def reverse(self) -> float:
        worst = 0.0
        for i in self.places:
            whole = self.total(self.call(self.marked((i,))))
            x = self.inputs[i]
            components = whole.components if isinstance(whole, DecomposedTensor) else torch.zeros(x.numel())
            forward = components.detach().reshape(x.shape).real.cpu()
            found = attribute(functools.partial(self._total_of, i), x, baseline=self.bases[i])
            known = torch.isfinite(x).cpu()  # nothing is shared out to what is NaN
            error, scale = _error(found.attribution.cpu()[known], forward[known])
            scale = max(scale, _largest(found.value, found.residual))
            what = f"forward and reverse mode disagree on argument {i}"
            made = [t for t in map(_tensor, self.made.values()) if t is not None]
            worst = max(worst, self.demand(error, scale, self.bound(x, *made), what, "s in all", x))
        return worst

    # -- what an npdec function says of itself ------------------------------------------------------------------------

    def tags(self) -> dict[int, str]:
        """The tags of the decomposed arguments that say Linear or Multilinear."""
        kernel = getattr(self.f, "__kernel__", None)
        row = rows.get(self.f)
        rule = law.TaggedRule(read_parameters(kernel)) if kernel is not None else None if row is None else row.rule
        rule = None if rule is None else law.innermost(rule)
        if not isinstance(rule, law.TaggedRule):
            return {}
        return {i: rule.tags[i] for i in self.places if rule.tags.get(i) in ("Linear", "Multilinear")}

    def linearity(self) -> float | None:
        tags = self.tags()
        jointly = [i for i, tag in tags.items() if tag == "Linear"]
        moves = [jointly] * bool(jointly) + [[i] for i, tag in tags.items() if tag == "Multilinear"]
        if not moves:
            return None
        # Beside constants of the other kind, or linear arguments that are no floating arrays, f need not vanish at 0.
        mixed = len(set(tags.values())) > 1 or len(jointly) not in (0, len(self.args))
        return max(self._superposition(move, tags[move[0]], vanishes=not mixed) for move in moves)

    def _superposition(self, move: Sequence[int], tag: str, vanishes: bool) -> float:
        """f(a·u + (1 − a)·v) == a·f(u) + (1 − a)·f(v), moving these arguments from v, the baseline, to u."""
        a = -3.0  # on the far side of the baseline, where a magnitude or a relu shows
        at = {
            "u": {i: self.inputs[i].clone() for i in move},
            "v": {i: self.bases[i].clone() for i in move},
            "sum": {i: a * self.inputs[i] + (1 - a) * self.bases[i] for i in move},
            "0": {i: torch.zeros_like(self.inputs[i]) for i in move},
        }
        u, v, both, nothing = (self.call(tensors) for tensors in at.values())
        worst = 0.0
        places = ", ".join(map(str, move))
        what = f"declared {tag} in argument{'s' * (len(move) > 1)} {places}, and is not"
        for where, got in both.items():
            x, y, z, zero = _tensor(u[where]), _tensor(v[where]), _tensor(got), _tensor(nothing[where])
            if x is None or y is None or z is None or zero is None or not carries(z.dtype):
                continue
            error, scale = _error(z, a * x + (1 - a) * y)
            if vanishes:
                error = max(error, _error(zero, torch.zeros_like(zero))[0])
            scale = max(scale, _largest(a * x, (1 - a) * y))
            worst = max(worst, self.demand(error, scale, self.bound(z), what, where, got))
        return worst
