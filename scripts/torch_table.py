"""Write docs/torch.md: every function of torch that dispatches, and how contributions pass through it.

    python scripts/torch_table.py          # rewrite what is out of date
    python scripts/torch_table.py --check  # exit code 1 if it is, or if a function has no place

The functions are those of torch.overrides.get_overridable_functions(), names and attributes of Tensor alike; what npdec
does is read from its registry. What goes by quadrature, or through the body that torch has in Python, is proven by
tests/rules/test_torch_coverage.py.
"""

from __future__ import annotations

import argparse
import collections
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.overrides import get_overridable_functions

import npdec  # noqa: F401  (it fills the registry)
from npdec._law import law
from npdec._rules import dispatch, inplace

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "torch.md"
COMMAND = "python scripts/torch_table.py"

KINDS = {
    "linear": "linear, in its tensors together: the function itself, on each component",
    "multilinear": "a product of tensors that are linear each: midpoints, or Gauss–Legendre nodes that are exact",
    "pointwise": "element by element: the slope between residual and value",
    "stepwise": "element by element, with jumps: two arguments as docs/decomposition.md says (shared steps)",
    "closed form": "a closed form of the path integral, or of what the function does",
    "formula": "the contributions are those of a formula of other functions; the numbers are torch's own",
    "looked at": "the result is plain: places, sizes, shapes, devices; it warns if the baseline chooses otherwise",
    "in place": "as the function that makes a new tensor, written into all the parts",
    "body": "torch's own body in Python, whose functions are in this table",
    "quadrature": "Gauss–Legendre quadrature of the derivative along the path, until it is complete",
    "refused": "raises, and says why",
}
NOTES = """
Comparisons give boolean tensors that carry contributions, and so do logic, `any`, `all`, `count_nonzero`,
`searchsorted` and casts to integers; `where`, `masked_fill` and assignment by a mask are products of condition and
branches. (A graph of `torch.compile` warns of no frozen choice.)

Where a selection is made at the value, the residual follows it and need not be f(baseline), and a
`DecompositionWarning` names the line if the baseline would choose otherwise: the order of `sort`,
`topk`, `kthvalue`, `median`, `mode`, `quantile`; what is equal in `unique`; the places that `max_pool` hands to
`max_unpool`, and whatever else is looked up by indices that are computed; `gumbel_softmax(hard=True)`; `rrelu` in
training, whose slopes are drawn for what is negative at the value. Dropout draws one mask for value, residual and
contributions.

Indices that come beside values (`max`, `min`, `topk`, `sort`, `cummax`, `max_pool` with `return_indices`, the pivots of
`lu_factor`) are those of the value. The values are exact without them; where the baseline has other indices, the
`DecompositionWarning` comes when the indices are looked at: as an index, in a comparison, a `one_hot`. Printing them,
`.item()` and `.tolist()` say nothing.

What torch reads as a Python number (`alpha=`, `eps=`, `p=`, `fill_value`) is best a Python number. A decomposed tensor
without axes in that place, beside decomposed tensors, carries, or a warning or an error says that it does not. Where no
other argument is decomposed, torch reads the number from memory and asks nobody: `torch.full((2,), s)`,
`torch.arange(s)`, `torch.scalar_tensor(s)` and `torch.add(x, y, alpha=s)` of plain `x` and `y` have no contributions of
`s`, without a warning. Write `s.expand(2)`, `x + s * y`, or NumPy's functions (`np.full`, `np.arange`), which carry.

`nn.TransformerEncoderLayer`, `nn.TransformerEncoder` and `nn.MultiheadAttention` have a fused kernel that torch takes
for plain tensors in evaluation and without gradients only. The value of a decomposed tensor is that of the functions in
the module, bit for bit (as under `torch.backends.mha.set_fastpath_enabled(False)`), which differs from the fused
kernel's by rounding, and at padded places, which nested tensors leave at zero. Recurrent networks with dropout between
their layers have torch's own numbers on the CPU; kernels of other devices draw by themselves, and the numbers are those
of the steps.

A program of `torch.export` that was made with plain tensors checks that it is given such, and takes a decomposed one
for several: "Trying to flatten user inputs with exported input tree spec". Torch has a switch for the check, and
without it the program runs decomposed: `module = program.module()`, then `module.validate_inputs = False`. Modules of
`torch.fx` and `torch.jit.trace` run as they are.

A large linear layer (`torch.nn.functional.linear`, `torch.matmul` with a matrix) on tensors of three axes or more need
not make its contributions at once: they are made when they are read. Before that a row, some rows or their mean may be
taken, or some columns, and then no others are computed: of the logits of a language model those after the last token,
`logits[0, -1]`, cost one token's product, not that of all. What is written to the layer's weights or to its input in
between makes no difference, but a write to the `.components` of its input does, and raises a RuntimeError when those of
the result are read. Where autograd records the layer, and in `torch.inference_mode`, contributions are made at once.

Constructors that copy numbers do not tell anybody of the tensors they are given: `torch.tensor`, `torch.Tensor`,
`new_tensor`, `torch.sparse_coo_tensor` and its kin, `torch.nested.nested_tensor`, and an assignment to `.data` of a
plain tensor take the value of a decomposed one without its contributions. `torch.as_tensor` and `torch.asarray` keep
them. Nor does torch tell of a tensor without axes that it takes for a number: `alpha=`, `beta=`, `value=`, `eps=`,
fill values, `float()`. (Multiply by it, or expand it, instead.) Functions that `torch.jit` has compiled raise. A plain
sparse matrix may be a factor of a product of matrices. The contributions of `nn.CrossMapLRN2d` are those of the
numbers that it computes, of which torch's own gradient is another function's; and those of a fake quantisation are of
the steps that it takes, which its straight-through gradient leaves out.
""".strip().splitlines()
# Functions in Python that contribute nothing: they are about the object, not about its numbers.
ABOUT_THE_OBJECT = frozenset(
    "__array_wrap__ __deepcopy__ __reduce_ex__ __repr__ __setstate__ _clear_non_serializable_cached_data backward "
    "module_load register_hook register_post_accumulate_grad_hook retain_grad autocast _sym_sqrt sym_float sym_int "
    "sym_ite sym_max sym_min sym_not sym_sum requires_grad_ detach_ rename_ align_as_ record_stream set_".split()
)


class Row(NamedTuple):
    namespace: str
    name: str
    function: Any
    kind: str
    note: str


def _namespace(owner: Any) -> str:
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    return "torch.Tensor" if owner is torch.Tensor else "torch.Tensor: attributes"


def _name(owner: Any, function: Any) -> str:
    name = getattr(function, "__name__", str(function))
    if name != "__get__":
        for prefix in ("linalg_", "fft_", "special_"):
            name = name.removeprefix(prefix)
        return name
    if isinstance(owner, property):
        return next(key for key, item in vars(torch.Tensor).items() if item is owner)
    return str(getattr(owner, "__name__", owner))


def _kind(function: Any, name: str) -> tuple[str, str]:
    rule: Any = dispatch.rule_of(function)
    if rule.writes or (name.endswith("_") and not name.endswith("__")) or name in _OPERATORS_IN_PLACE:
        if rule.refused:
            return "refused", rule.refused
        refuses = rule is inplace.NO_INPLACE
        return ("refused", "a decomposed tensor is not written so") if refuses else ("in place", "")
    if isinstance(rule, law.TaggedRule):
        tags = {tag for tag in rule.tags.values() if tag != "Opaque"}
        for kind in ("Stepwise", "Pointwise", "Multilinear", "Linear"):
            if kind in tags:
                return kind.lower(), ""
        return ("quadrature", "") if tags else ("looked at", "")
    if rule.refused:
        return "refused", rule.refused
    if rule.opaque:
        return "looked at", ""
    if rule.formula is not None:
        return "formula", ""
    if name in ABOUT_THE_OBJECT:
        return "looked at", "of the object, not of its numbers"
    if rule is dispatch.BY_QUADRATURE:
        return "quadrature", ""
    if isinstance(function, types.FunctionType) and rule.passes:
        return "body", ""
    return "closed form", ""


_OPERATORS_IN_PLACE = frozenset(
    "__iadd__ __isub__ __imul__ __idiv__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __setitem__".split()
)


def rows() -> list[Row]:
    """Every dispatching function once, by namespace and name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = get_overridable_functions()
    found: dict[Any, Row] = {}
    for owner, functions in given.items():
        for function in functions:
            name = _name(owner, function)
            # torch leaves manual_seed out, unless a part of it that is loaded late has wrapped it.
            if function in found or name == "manual_seed":
                continue
            found[function] = Row(_namespace(owner), name, function, *_kind(function, name))
    return sorted(found.values(), key=lambda row: (row.namespace, row.name))


def unplaced(table: list[Row]) -> list[str]:
    return [f"{row.namespace}.{row.name}" for row in table if row.kind not in KINDS]


def page(table: list[Row]) -> str:
    return "\n".join(_lines(table)) + "\n"


def _lines(table: list[Row]) -> Iterator[str]:
    counts = collections.Counter(row.kind for row in table)
    yield "# torch's functions"
    yield ""
    version = torch.__version__.partition("+")[0]
    yield f"Written by `{COMMAND}` for torch {version}, from npdec's registry. Listed is every function"
    yield "that torch dispatches to tensors of other types: functions, methods, operators and attributes."
    yield "tests/rules/test_torch_coverage.py checks them against plain torch, on the samples of torch's own table of"
    yield "operators; tests/rules/test_torch_arguments.py gives each of their arguments, leaves it out, and names it."
    yield ""
    yield "| how contributions pass | functions | |"
    yield "| --- | ---: | --- |"
    for kind, words in KINDS.items():
        yield f"| {kind} | {counts[kind]} | {words} |"
    yield f"| all | {len(table)} | |"
    yield ""
    yield from NOTES
    for space in sorted({row.namespace for row in table}):
        yield ""
        yield f"## {space}"
        own = [row for row in table if row.namespace == space]
        for kind in KINDS:
            chosen = [row for row in own if row.kind == kind]
            notes = sorted({row.note for row in chosen})
            for note in notes:
                names = sorted({row.name for row in chosen if row.note == note})
                yield ""
                yield f"**{kind}**{' (' + note + ')' if note else ''}:"
                yield from _wrapped(names)


def _wrapped(names: list[str]) -> Iterator[str]:
    line = ""
    for name in names:
        word = f"`{name}`" + ("" if name == names[-1] else ",")
        if len(line) + len(word) > 118:
            yield line.rstrip()
            line = ""
        line += word + " "
    yield line.rstrip()


def main(arguments: list[str] | None = None, write: Callable[[str], Any] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    table = rows()
    for name in unplaced(table):
        write(f"no place: {name}")
    text = page(table)
    current = PAGE.read_text("utf-8") if PAGE.exists() else ""
    if text != current:
        if options.check:
            write(f"{PAGE.relative_to(ROOT)} is out of date: run {COMMAND}")
            return 1
        PAGE.write_text(text, "utf-8")
        write(f"wrote {PAGE.relative_to(ROOT)}")
    return int(bool(unplaced(table)))


if __name__ == "__main__":
    sys.exit(main())
