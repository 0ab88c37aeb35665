"""No argument of a torch function is ignored: each is given, left out and named, and formulas have the same."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import npdec as np
from npdec._decomposed.registry import rows
from npdec._law.law import innermost
from npdec._rules import dispatch
from npdec._rules.rule import ClosedForm
from torch_arguments import EXEMPT, UNTOLD, all_arguments, covering, given, small, target
from torch_checks import carries, check, check_forward, flat, is_decomposed, marked, size_of, worst
from torch_samples import BY_MEMORY, FREEZES, LOOKS, NO_GRADIENT, OPERATORS, REFUSES, Sample, samples
from torch_signatures import KEYWORD, NOTHING, Signature, bound, by_name, signatures

pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")

TOLD = [
    name
    for name, op in OPERATORS.items()
    if op.supports_autograd and op.name not in {*LOOKS, *REFUSES, *UNTOLD} and target(name) is not None
]


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD)
def test_arguments_given(name: str) -> None:
    """Value, residual, completeness, reverse mode and small changes, with each argument in some sample."""
    op = OPERATORS[name].name
    for sample in covering(name):
        options = {"freezes": op in FREEZES, "small": op not in NO_GRADIENT, "exact": op not in BY_MEMORY}
        check(sample.run, sample.inputs, sample.bases, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD[::2])
def test_arguments_left_out(name: str) -> None:
    """A call without one of its arguments is another, and decomposed as that: no default of a formula is its own."""
    op = OPERATORS[name].name
    if op.startswith("__"):
        return  # operators have their arguments
    for sample in small(name):
        for shorter in _shorter(sample):
            exact = op not in BY_MEMORY
            check_forward(shorter.run, shorter.inputs, shorter.bases, freezes=op in FREEZES, exact=exact)


def _shorter(sample: Sample) -> Iterator[Sample]:
    """The call without each one of its keywords, or without its last argument."""
    for key in sample.kwargs:
        rest = {k: v for k, v in sample.kwargs.items() if k != key}
        yield from _that_run(sample, sample.args, rest)
    if len(sample.args) > 1:
        yield from _that_run(sample, sample.args[:-1], sample.kwargs)


def _that_run(sample: Sample, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Sample]:
    made = Sample(sample.name, sample.function, args, kwargs, sample.near, sample.looked_at)
    try:
        made.run(*made.inputs)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, AssertionError):
        return  # it cannot be left out
    if made.leaves:
        yield made


# -- numbers -----------------------------------------------------------------------------------------------------------

QUICK = frozenset("add addcdiv addmm constant_pad_nd nn.functional.normalize nn.functional.pad.constant norm".split())


def _numbers(sample: Sample) -> Iterator[tuple[int | str, float]]:
    """Where a call has a Python number with digits."""
    items: list[tuple[int | str, Any]] = [*enumerate(sample.args), *sample.kwargs.items()]
    return ((key, item) for key, item in items if type(item) is float)


@pytest.mark.filterwarnings("ignore")  # torch's own
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in TOLD])
def test_numbers_that_carry(name: str) -> None:
    """A decomposed number in the place of a Python number, beside decomposed tensors, carries, or it is said that it
    does not: a warning, or a refusal. (Beside plain tensors torch reads its memory, and asks nobody.)"""
    for sample in small(name):
        for key, number in _numbers(sample):
            one = torch.tensor(number, dtype=torch.float64)
            other = one * 0.9 if number else one + 0.1

            def run(x: Any, *tensors: Any, sample: Sample = sample, key: int | str = key) -> list[Any]:
                args, kwargs = sample.placed(*tensors)
                where: Any = args if isinstance(key, int) else kwargs
                where[key] = x
                torch.manual_seed(7)
                return list(flat(sample.function(*args, **kwargs)))

            try:
                wanted = run(float(other), *[x.clone() for x in sample.inputs])
            except (RuntimeError, ValueError):  # it may not have this value
                continue
            x, *tensors = np.decompose((one, *sample.inputs), baseline=(other, *sample.inputs))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    found = run(x, *tensors)
                except (NotImplementedError, TypeError):
                    continue
            if any(issubclass(w.category, np.DecompositionWarning) for w in told):
                continue
            for got, want in zip(found, wanted, strict=True):
                if carries(want):  # what is plain does not depend on the number
                    bound = 1e-8 * (1 + size_of(want))
                    assert worst(got.residual if is_decomposed(got) else got, want) <= bound, key
                    assert not is_decomposed(got) or worst(got.value, got.c_sum()) <= bound, key


# -- names -------------------------------------------------------------------------------------------------------------

KEYWORD_ONLY = frozenset("cfloat cdouble".split())
RANDOM = frozenset("bernoulli normal nn.functional.rrelu".split())


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLD[1::2])
def test_arguments_by_name(name: str) -> None:
    """All arguments by torch's names, and by those of NumPy's that torch takes for them; and all by position."""
    op = OPERATORS[name]
    if op.op is not target(name) or op.name in RANDOM or name.startswith("__"):
        return
    for sample in small(name):
        inputs, bases = sample.inputs, sample.bases
        for which in {len(inputs), 1}:  # all of them decomposed, or the first
            some = [*marked(inputs[:which], bases[:which]), *inputs[which:]]
            _check_names(target(name), *sample.placed(*some), places=op.name not in KEYWORD_ONLY)


def _check_names(function: Any, args: list[Any], kwargs: dict[str, Any], places: bool) -> None:
    found = bound(function, args, kwargs)
    if found is None:
        return
    wanted = list(flat(function(*args, **kwargs)))
    for arguments in by_name(found[1]):
        plain = {key: _value(item) for key, item in arguments.items()}
        if _takes(function, plain):
            _same(list(flat(function(**arguments))), wanted)
    first, *rest = found[1].items()
    if places:
        _same(list(flat(function(first[1], **dict(rest)))), wanted)
        _same(list(flat(_by_place(*found)(function))), wanted)


def _value(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return type(item)([_value(inner) for inner in item])
    return item.value if is_decomposed(item) else item


def _by_place(signature: Signature, arguments: dict[str, Any]) -> Any:
    """The call with as many arguments by position as there are before one that is left out."""
    rest = dict(arguments)
    placed = []
    for parameter in signature:
        if parameter.kind == KEYWORD or parameter.name not in rest:
            break
        placed.append(rest.pop(parameter.name))
    return lambda function: function(*placed, **rest)


def _takes(function: Any, arguments: dict[str, Any]) -> bool:
    """Whether torch itself takes the names."""
    try:
        function(**arguments)
    except (TypeError, RuntimeError):
        return False
    return True


def _same(made: list[Any], wanted: list[Any]) -> None:
    for got, want in zip(made, wanted, strict=True):
        assert is_decomposed(got) == is_decomposed(want)
        for part in ("value", "residual", "components") if is_decomposed(want) else ():
            torch.testing.assert_close(getattr(got, part), getattr(want, part), equal_nan=True)


@pytest.mark.long
def test_every_argument_is_given() -> None:
    """All but a few, which are listed with their reasons; and so are the functions of which it cannot be told."""
    lacking: dict[str, set[str]] = {}
    for name in TOLD:
        some = set().union(*[given(name, sample) for sample in [*samples(name), *covering(name)]])
        rest = set(all_arguments(name)) - some
        lacking[OPERATORS[name].name] = lacking.get(OPERATORS[name].name, rest) & rest
    assert {name: rest for name, rest in lacking.items() if rest} == {name: set(why) for name, why in EXEMPT.items()}
    full = [name for name, rest in lacking.items() if not rest]
    assert len(full) >= 0.9 * len(lacking)


# -- formulas and closed forms -----------------------------------------------------------------------------------------

# How torch computes, or what is gone: formulas need not take it. (`inplace` and `out` are seen to before.)
NO_MATTER = frozenset({"size_average", "reduce", "out", "inplace", "cudnn_enabled", "cudnn_enable"})
dispatch.default_rule(torch.add)  # the rules are there
FORMULAS = {f: row.rule.formula for f, row in rows.items() if row.rule.formula is not None}
CLOSED = {f: innermost(row.rule).body for f, row in rows.items() if isinstance(innermost(row.rule), ClosedForm)}
# Defaults that are written otherwise, and mean the same.
OTHER_DEFAULTS = {"dx": (1, None), "padding_idx": (-1, None), "reduction": (1, 0)}  # schemas say Mean, kernels do not
# Of these torch tells another signature than they have, what it tells TorchScript or the names in C++, or none.
MISTOLD = {"cartesian_prod", "where", "max_pool3d", "copy_", "__div__", "type"}


@pytest.mark.parametrize("function", list(FORMULAS), ids=lambda f: getattr(f, "__qualname__", str(f)))
def test_formulas_take_the_arguments_of_the_function(function: Any) -> None:
    """In the same places, by the same names (but the first, which is always in its place), of the same kinds, with the
    same defaults; the others that they have are of another overload."""
    formula = FORMULAS[function]
    if isinstance(formula, types.FunctionType):  # or another function of torch, called with the same arguments
        _check_arguments(function, list(inspect.signature(formula).parameters.values()), [function])


@pytest.mark.parametrize("function", list(CLOSED), ids=lambda f: getattr(f, "__qualname__", str(f)))
def test_closed_forms_take_the_arguments_of_the_function(function: Any) -> None:
    """As formulas do; several functions may have one closed form."""
    if not (function.__name__.startswith("__") or getattr(torch.nn.functional, "max_pool3d", None) is function):
        _, *own = inspect.signature(CLOSED[function]).parameters.values()
        _check_arguments(function, own, [f for f, body in CLOSED.items() if body is CLOSED[function]])


def _check_arguments(function: Any, own: list[inspect.Parameter], alike: list[Any]) -> None:
    by_key = {p.name: p for p in own}
    open_ended = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own)
    if function.__name__ in MISTOLD:
        return
    told = signatures(function)
    overloads = [overload for overload in told if overload[0].type == told[0][0].type] if len(told) > 1 else told
    assert overloads, "nothing tells its arguments"
    for overload in overloads:
        for place, parameter in enumerate(overload):
            if place == 0 or parameter.name in NO_MATTER:
                continue
            if parameter.name not in by_key:
                assert open_ended or _is_moved(overload, place), f"{parameter.name} is not there"
                continue
            mine = by_key[parameter.name]
            places = {i for o in overloads for i, p in enumerate(o) if p.name == mine.name and p.kind != KEYWORD}
            if mine.kind is mine.KEYWORD_ONLY:  # the place, if it has one, is also that of another
                assert parameter.kind == KEYWORD or place < len(own), f"{mine.name} has a place"
                assert parameter.kind == KEYWORD or own[place].kind is not mine.KEYWORD_ONLY, f"{mine.name} has a place"
            else:
                assert parameter.kind == KEYWORD or own.index(mine) in places, f"{mine.name} has another place"
            required = any(p.default is NOTHING for o in overloads for p in o if p.name == mine.name)
            if not required:
                pair = (parameter.default, mine.default)
                assert _is_same_default(*pair) or pair == OTHER_DEFAULTS.get(mine.name), f"{mine.name}: {pair}"
    names = {parameter.name for f in alike for overload in signatures(f) for parameter in overload}
    extra = {p.name for p in own[1:] if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)} - names
    assert not extra, f"{sorted(extra)} are no arguments of it"


def _is_moved(overload: Signature, place: int) -> bool:
    """Whether a tensor is always given by position: nothing before it is left out, so that it finds its place."""
    return overload[place].type == "Tensor" and all(p.default is NOTHING for p in overload[:place])


def _is_same_default(told: Any, mine: Any) -> bool:
    if isinstance(told, list):
        return tuple(told) == mine or (bool(told) and all(item == mine for item in told))
    return bool(told == mine)
