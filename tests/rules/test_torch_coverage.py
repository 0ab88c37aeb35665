"""torch's functions under decomposition, all of them: each has a place in the table, and its samples keep the law."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import npdec as np
import torch_samples
from npdec import overrides as _overrides  # noqa: F401  (torch.autograd.Function looks there for rules)
from npdec._decomposed.registry import rows
from torch_arguments import small
from torch_checks import bits_differ, carries, check, check_forward, flat, is_decomposed, marked, seeded
from torch_samples import BY_MEMORY, FREEZES, LOOKS, NO_GRADIENT, OPERATORS, OWN, REFUSES, Sample, first_sample, samples

_spec = importlib.util.spec_from_file_location("torch_table", Path(__file__).parents[2] / "scripts" / "torch_table.py")
assert _spec is not None
assert _spec.loader is not None
torch_table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(torch_table)
TABLE = torch_table.rows()


pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")

# -- values, residuals, completeness, reverse mode, small changes ------------------------------------------------------

CHECKED = [name for name, op in OPERATORS.items() if op.name not in LOOKS and op.name not in REFUSES]


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_operators(name: str) -> None:
    op = OPERATORS[name].name
    for sample in samples(name):
        options = {"freezes": op in FREEZES, "small": op not in NO_GRADIENT, "exact": op not in BY_MEMORY}
        check(sample.run, sample.inputs, sample.bases, **options)


@pytest.mark.whole
@pytest.mark.parametrize("name", [n for n in CHECKED if torch.float32 in OPERATORS[n].dtypes])
def test_operators_in_single_precision(name: str) -> None:
    op = OPERATORS[name].name
    for sample in first_sample(name):
        inputs = [x.to(torch.float32) if x.dtype is torch.float64 else x for x in sample.inputs]
        bases = [x.to(torch.float32) if x.dtype is torch.float64 else x for x in sample.bases]
        try:
            sample.run(*inputs)
        except RuntimeError:  # another argument is in double precision
            continue
        check_forward(sample.run, inputs, bases, freezes=op in FREEZES, exact=op not in BY_MEMORY)


@pytest.mark.parametrize("name", OWN)
def test_functions_beside_the_table(name: str) -> None:
    function, inputs = OWN[name]
    sample = Sample(name, function, inputs, near=torch_samples.distance(name))
    freezes = any(f"F.{word}" in FREEZES or word in FREEZES for word in name.split())
    quiet = any(word.rpartition(".")[2] in name for word in NO_GRADIENT)
    check(sample.run, sample.inputs, sample.bases, freezes=freezes, small=not quiet)


@pytest.mark.parametrize("name", [name for name, op in OPERATORS.items() if op.name in LOOKS])
def test_what_looks_gives_plain_results(name: str) -> None:
    for sample in samples(name):
        made = seeded(sample.run, marked(sample.inputs, sample.bases))
        plain = seeded(sample.run, sample.inputs)
        for got, want in zip(made, plain, strict=True):
            assert not is_decomposed(got)
            assert not isinstance(want, torch.Tensor) or not bits_differ(got, want)


@pytest.mark.parametrize("name", [name for name, op in OPERATORS.items() if op.name in REFUSES])
def test_what_is_refused_says_why(name: str) -> None:
    for sample in samples(name):
        with pytest.raises(NotImplementedError, match="contributions do not pass through it: "):
            sample.run(*marked(sample.inputs, sample.bases))


@pytest.mark.parametrize("name", [name for name in CHECKED if OPERATORS[name].name in FREEZES])
def test_what_freezes_freezes(name: str) -> None:
    def differs(sample: Sample) -> bool:
        try:
            check_forward(sample.run, sample.inputs, sample.bases)
        except AssertionError as error:
            return "residual" in str(error)
        return False

    unlike = [s for s in _all_samples(name) if s.leaves]
    assert any(differs(sample) for sample in unlike), "it does not: off the list"


def _all_samples(name: str) -> list[Sample]:
    if name == "nn.functional.rrelu":
        x = torch.tensor([1.0, -2.0, 3.0, -0.5, 2.0], dtype=torch.float64)
        return [Sample(name, lambda x: torch.nn.functional.rrelu(x, training=True), (x,))]
    return samples(name, most=12, largest=10_000)


# -- forms of one function ---------------------------------------------------------------------------------------------


def _same_parts(made: Any, wanted: Any) -> None:
    for got, want in zip(flat(made), flat(wanted), strict=True):
        assert is_decomposed(got) == is_decomposed(want)
        if is_decomposed(want):
            for part in ("value", "residual", "components"):
                torch.testing.assert_close(getattr(got, part), getattr(want, part), equal_nan=True)


def _variants(op: Any) -> dict[str, Any]:
    """The forms that torch has of the operator: functions, methods, operators, in place too."""
    found = {
        "method": op.method_variant,
        "in place": op.inplace_variant,
        "operator": op.operator_variant,
        "operator in place": op.inplace_operator_variant,
        **{alias.name: alias.op for alias in op.aliases},
    }
    return {key: form for key, form in found.items() if form is not None and form is not op.op}


_RANDOM = frozenset("bernoulli cauchy exponential geometric log_normal normal uniform nn.functional.rrelu".split())
VIEWS_IN_PLACE = frozenset("as_strided squeeze unsqueeze t transpose swapaxes swapdims".split())
WITH_FORMS = [
    name
    for name in CHECKED
    if OPERATORS[name].name not in _RANDOM and (_variants(OPERATORS[name]) or OPERATORS[name].supports_out)
]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_FORMS[::2])
def test_forms_agree(name: str) -> None:
    op = OPERATORS[name]
    for sample in [s for s in small(name) if "inplace" not in s.kwargs]:
        plain = sample.run(*sample.inputs)
        wanted = sample.run(*marked(sample.inputs, sample.bases))
        for form, function in _variants(op).items():
            if "operator" in form and sample.kwargs:
                continue  # alpha
            if "in place" not in form:
                _same_parts(sample.run(*marked(sample.inputs, sample.bases), function=function), wanted)
                continue
            first = sample.args[0]
            if not isinstance(first, torch.Tensor) or not isinstance(plain, torch.Tensor):
                continue
            view = name.partition(".")[0] in VIEWS_IN_PLACE
            if (plain.shape != first.shape and not view) or plain.dtype != first.dtype or not carries(first):
                continue

            def written(x: torch.Tensor, *args: Any, function: Any = function, **kwargs: Any) -> Any:
                return function(x.clone(), *args, **kwargs)

            _same_parts(sample.run(*marked(sample.inputs, sample.bases), function=written), wanted)
        if op.supports_out and isinstance(plain, torch.Tensor) and carries(plain) and is_decomposed(wanted):
            out = torch.empty_like(plain)
            made = sample.run(*marked(sample.inputs, sample.bases), function=_with_out(op.op, out))
            assert made is out
            _same_parts(out, wanted)


def _with_out(function: Any, out: torch.Tensor) -> Any:
    return lambda *args, **kwargs: function(*args, **kwargs, out=out)


# -- every function is accounted for -----------------------------------------------------------------------------------


def _word(name: str) -> str:
    return name.rpartition(".")[2]


def _exercised() -> set[str]:
    """Names of functions of which the tests above run samples."""
    names: set[str] = set()
    for name in CHECKED:
        op = OPERATORS[name]
        if samples(name):
            names |= {_word(op.name), *(_word(alias.name) for alias in op.aliases), *op.name.split(".")}
    for name in OWN:
        names |= {_word(word) for word in name.split()}
    return names


# Functions in Python whose bodies are made of functions in the table, and which nothing above runs: what proves them.
PROVEN_ELSEWHERE: dict[str, str] = {
    "lu": "the same as torch.linalg.lu_factor",
}


@pytest.mark.slow
def test_the_table_is_up_to_date() -> None:
    """In a process of its own: rules that tests register are not in it."""
    script = Path(__file__).parents[2] / "scripts" / "torch_table.py"
    run = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_function_has_a_place() -> None:
    assert not torch_table.unplaced(TABLE)
    assert {row.kind for row in TABLE} == set(torch_table.KINDS)


@pytest.mark.slow  # which draws all samples of all operators
@pytest.mark.parametrize("kind", ["quadrature", "body"])
def test_defaults_are_proven(kind: str) -> None:
    names = {row.name for row in TABLE if row.kind == kind}
    missing = names - _exercised() - set(PROVEN_ELSEWHERE)
    assert not missing, f"no sample proves these: {sorted(missing)}"


@pytest.mark.slow
def test_nine_tenths_of_the_differentiable_operators_are_checked() -> None:
    differentiable = [name for name, op in OPERATORS.items() if op.supports_autograd]
    checked = [name for name in differentiable if name in CHECKED and samples(name)]
    assert len(checked) >= 0.9 * len(differentiable)


# In-place functions that are no other function written in place.
ONLY_IN_PLACE = frozenset(
    "copy_ fill_ zero_ fill_diagonal_ set_ random_ normal_ uniform_ bernoulli_ exponential_ geometric_ cauchy_ "
    "log_normal_ requires_grad_ detach_ rename_ embedding_renorm_ resize_ resize_as_".split()
)


def test_in_place_functions_are_others_written_in_place() -> None:
    kinds = {row.name: row.kind for row in TABLE}
    for row in TABLE:
        if row.kind == "in place" and not row.name.startswith("__") and row.name not in ONLY_IN_PLACE:
            assert kinds.get(row.name[:-1]) not in (None, "refused"), f"{row.name}: nothing to write"


def test_refusals_have_reasons() -> None:
    x = np.decompose(torch.ones(2, dtype=torch.float64))
    refused = [row for row in TABLE if row.kind == "refused" and row.name not in ("numpy", "__array__")]
    refused = [row for row in refused if row.function in rows and rows[row.function].rule.refused]
    assert len(refused) > 50
    for row in refused:
        with pytest.raises(NotImplementedError, match=r"contributions do not pass through it: \w"):
            rows[row.function].rule(row.function, (x,), {})
