"""Write docs/decomposition.md: how contributions pass through every public function, and how exactly.

    python scripts/decomposition_table.py          # rewrite what is out of date
    python scripts/decomposition_table.py --check  # exit code 1 if it is

The page is read from the code: the tags of a kernel's parameters, the rules that the calls of tests/samples.py meet,
and the completeness that these calls are measured to have. Measured errors stand in classes with a factor of a hundred
(ten in single precision) between them; one that moved into a neighbouring class on another machine is not out of date.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402

import decomposition_cases as cases  # noqa: E402
import npdec as np  # noqa: E402
import samples  # noqa: E402
from npdec._core.signatures import LAW_TAGS, MASKS, read_parameters  # noqa: E402
from npdec._decomposed.completeness import relative_error  # noqa: E402
from npdec._decomposed.registry import Trait, rows, traits_of  # noqa: E402
from npdec._decomposed.tensor import DecomposedTensor  # noqa: E402
from npdec._law import law, overrides_scope  # noqa: E402
from npdec._rules import dispatch  # noqa: E402

PAGE = ROOT / "docs" / "decomposition.md"
COMMAND = "python scripts/decomposition_table.py"
DOUBLE = (1e-14, 1e-12, 1e-10)  # bounds of the classes of errors
SINGLE = (1e-6, 1e-5, 1e-4)
MARGIN = 4.0

# What the words of the table say.
LEGEND = {
    "linear": "the function itself, of each component",
    "product": "of two: each argument's components times the midpoint of the other, "
    "`c_a·(b_x+b_r)/2 + (a_x+a_r)/2·c_b`, the Shapley value; of k: Gauss–Legendre quadrature with ⌈k/2⌉ nodes, exact",
    "others' product": "the mean along the path of the product of all other factors (of a determinant: the cofactors), "
    "by ⌈k/2⌉ nodes, exact for k factors; of logarithms of determinants by adaptive quadrature",
    "slope": "components times the secant `(f(x) − f(r)) / (x − r)`; where its digits cancel, the mean of the "
    "derivative between the two points or a closed form",
    "mean gradient": "several arguments, element by element: each argument's components times the mean of its "
    "derivative along the path, in closed form (arctan2, logaddexp, hypot) or by adaptive quadrature for each element",
    "shared steps": "a function with jumps of two arguments: those of quotients (floor_divide, remainder, fmod) share "
    "the steps as they share the change of the quotient, so that `a % b` has the contributions of "
    "`a - b * np.floor(a / b)`; of others, and where a divisor crosses zero, each argument moves first once, and the "
    "two orders are averaged",
    "quotient": "linear above the line; below it, the product with the reciprocal",
    "envelope": "each element passes on its contributions for the part of the path that it leads; equal ones share",
    "order": "the selection is the value's; what is selected passes on all that it has",
    "norm": "closed forms of norms, magnitudes, variances and deviations along the path",
    "quadrature": "adaptive Gauss–Legendre quadrature of Jacobian-vector products, until completeness, which measures "
    "its error, holds to 1e-12 (float32: 1e-5); `DecompositionWarning` if it does not",
    "step": "a comparison jumps where the difference of its sides crosses zero: components of the difference times the "
    "secant `(1[x] − 1[r]) / (x − r)` of the step",
    "logic": "booleans as the numbers 0 and 1: `and`, `or`, `xor`, `not`, `all` and `any` are multilinear in them",
    "choice": "`m·a + (1−m)·b`: as a product of the condition and the branches; a branch that is not finite where it "
    "is not chosen stays what it is where it is",
    "assignment": "value, residual and components are written, each into its own",
    "closed form": "a closed form of its own",
}
_WRITING = "__setitem__ copy_ fill_ index_put_ masked_fill_ masked_scatter_ add_ mul_ sub_ div_ scatter_"
FORMS = {
    **dict.fromkeys("div divide true_divide __rtruediv__ __rdiv__".split(), "quotient"),
    **dict.fromkeys("amax amin max min maximum minimum fmax fmin cummax cummin clamp clip".split(), "envelope"),
    **dict.fromkeys("sort topk kthvalue median nanmedian mode msort unique unique_dim _unique2".split(), "order"),
    **dict.fromkeys("prod cumprod det linalg_det slogdet linalg_slogdet logdet".split(), "others' product"),
    **dict.fromkeys("norm vector_norm linalg_vector_norm linalg_norm var std abs absolute".split(), "norm"),
    **dict.fromkeys("view scatter scatter_add detach clone contiguous to narrow pad".split(), "linear"),
    **dict.fromkeys("index_select index_add index_copy".split(), "linear"),
    **dict.fromkeys("lt le gt ge eq ne signbit searchsorted bucketize isclose".split(), "step"),
    **dict.fromkeys("isnan isinf isfinite isneginf isposinf".split(), "step"),
    **dict.fromkeys("__lt__ __le__ __gt__ __ge__ __eq__ __ne__".split(), "step"),
    **dict.fromkeys("less less_equal greater greater_equal not_equal".split(), "step"),
    **dict.fromkeys("logical_and logical_or logical_xor logical_not all any count_nonzero".split(), "logic"),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor bitwise_not".split(), "logic"),
    **dict.fromkeys("__and__ __or__ __xor__ __invert__".split(), "logic"),
    **dict.fromkeys("where masked_fill".split(), "choice"),
    **dict.fromkeys("floor_divide remainder fmod".split(), "shared steps"),
    **dict.fromkeys(_WRITING.split(), "assignment"),
}  # fmt: skip
# Formulas of which the quadrature is asked.
_LINEAR = Trait.EACH | Trait.MOVE | Trait.RESHAPE | Trait.TRANSPOSE
FACTORISATIONS = "eigh eigvalsh eig eigvals svd qr cholesky pinv".split()


class Steps:
    """A watcher that notes by which rules decomposed tensors pass."""

    def __init__(self) -> None:
        self.words: set[str] = set()

    def run(self, rule: Any, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        name, inner = getattr(func, "__name__", ""), rule.inner or rule
        if isinstance(inner, law.TaggedRule):
            self.words |= tagged(inner.tags, args, kwargs)
        elif name in ("abs", "absolute") and not args[0].value.is_complex():
            self.words.add("slope")
        elif name in FORMS or traits_of(func) & _LINEAR:
            self.words.add(FORMS.get(name, "linear"))
        elif (
            inner is not dispatch.BY_QUADRATURE
            and not inner.passes
            and name.removeprefix("linalg_") not in FACTORISATIONS
            and not (func in rows and rows[func].found)
            and not inner.opaque
        ):
            self.words.add("closed form")
        return rule(func, args, kwargs)

    def quadrature(self, call: Any) -> Any:
        self.words.add("quadrature")


def tagged(tags: dict[Any, str], args: Sequence[Any], kwargs: dict[str, Any]) -> set[str]:
    """The words for a rule by tags, of the arguments that are decomposed."""
    found = []
    for key, arg in [*enumerate(args), *kwargs.items()]:
        items = arg if isinstance(arg, (tuple, list)) else [arg]
        found += [tags.get(key, "Opaque") for item in items if isinstance(item, DecomposedTensor)]
    return words_of([tag for tag in found if tag != "Opaque"])


def words_of(tags: list[str]) -> set[str]:
    """The words for a call of which the decomposed arguments carry these tags."""
    if not tags:
        return set()
    several = len(tags) > 1
    if set(tags) <= {"Linear", "Multilinear"}:
        return {"product" if several and "Multilinear" in tags else "linear"}
    if set(tags) <= {"Pointwise", "Stepwise"}:
        return {"slope" if not several else "shared steps" if "Stepwise" in tags else "mean gradient"}
    return {"quadrature"}


@dataclass
class Row:
    """One function: what is written of it."""

    name: str
    arguments: str = ""
    steps: set[str] = field(default_factory=set)
    worst: list[float | None] = field(default_factory=lambda: [None, None])
    note: str = ""

    def carries(self) -> bool:
        return self.worst != [None, None]


# -- measuring ---------------------------------------------------------------------------------------------------------


def choices(sample: samples.Sample) -> Iterator[tuple[cases.Path, ...]]:
    """Each array decomposed alone, and all together."""
    found = tuple(cases.leaves(sample))
    yield from [(path,) for path in found]
    if len(found) > 1:
        yield found


def is_single(*dtypes: Any) -> bool:
    return any(str(dtype).removeprefix("torch.") in ("float32", "complex64", "float16") for dtype in dtypes)


def measure(row: Row, sample: samples.Sample, steps: Steps) -> set[str]:
    """Call the function with the sample's arrays decomposed; returns what it says of the results that carry nothing."""
    opaque: set[str] = set()
    found = cases.leaves(sample)
    for chosen in choices(sample):
        plain = tuple(samples.make(np, found[path]) for path in chosen)
        bases = tuple(np.array(cases.baseline(found[path], sample.base, path)) for path in chosen)
        marked = dict(zip(chosen, np.decompose(plain, baseline=bases), strict=True))
        with overrides_scope.enter(watcher=steps):
            results = list(cases.run(row.name, sample, marked))
        for x in results:
            if not isinstance(x, (np.ndarray, np.generic)):
                opaque.add({"bool": "booleans", "int": "integers", "str": "text"}.get(type(x).__name__, ""))
            elif x.is_decomposed:
                place = int(is_single(x.dtype, *(found[path].dtype for path in chosen)))
                row.worst[place] = max(row.worst[place] or 0.0, relative_error(x.tensor)[0])
            else:
                opaque.add("no" if cases.inexact(x) else "booleans" if x.dtype == np.bool_ else "integers")
    return opaque


def arguments_of(function: Any) -> str:
    """The tags of the array arguments of a function."""
    kernel = getattr(function, "__kernel__", None)
    if kernel is None:
        return ""
    named: dict[str, list[str]] = {}
    for p in read_parameters(kernel):
        if p.is_array and p.tag not in MASKS:
            named.setdefault(p.tag if p.tag in LAW_TAGS | {"Opaque"} else "", []).append(f"`{p.name}`")
    return "; ".join(" ".join(names) + (f" {tag}" if tag else "") for tag, names in named.items())


def tags_of_kernel(function: Any) -> list[str]:
    kernel = getattr(function, "__kernel__", None)
    return [] if kernel is None else [p.tag for p in read_parameters(kernel) if p.tag in LAW_TAGS]


def row_of(name: str) -> Row:
    function = samples.find(np, name)
    row = Row(name, arguments_of(function))
    opaque: set[str] = set()
    steps = Steps()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", np.DecompositionWarning)
        warnings.filterwarnings("ignore", ".*at the baseline it would choose otherwise", np.DecompositionWarning)
        for own, sample in cases.CASES:
            if own == name:
                for made in (sample, cases.single(sample)):
                    opaque |= measure(row, made, steps)
    if row.carries():
        tags = tags_of_kernel(function)
        direct = words_of(tags[:1]) | (words_of(tags) if len(tags) > 1 else set())
        row.steps = (direct - {"quadrature"} if direct and "Smooth" not in tags else direct) | steps.words
        row.note = note_of(name)
    elif opaque:
        kinds = " or ".join(sorted(opaque & {"integers", "booleans", "text"}))
        row.note = f"Opaque: the result is {kinds}" if kinds else nothing_of(row)
    else:
        row.note = nothing_of(row)
    return row


def nothing_of(row: Row) -> str:
    """Why a function gives no contributions."""
    if row.name in samples.NO_SAMPLE:
        return samples.NO_SAMPLE[row.name].partition(":")[0]
    if row.arguments and all(part.endswith(" Opaque") for part in row.arguments.split("; ")):
        return "Opaque: only the values are looked at"
    if any(cases.leaves(sample) for sample in samples.SAMPLES.get(row.name, [])):
        return "Opaque: only shapes and dtypes are looked at"
    return "takes no floating-point array"


def note_of(name: str) -> str:
    """What is frozen at the value."""
    if name in cases.FREEZES:
        return f"freezes: {cases.FREEZES[name]}"
    hints = dict.fromkeys(sample.freezes for sample in samples.SAMPLES[name] if sample.freezes)
    return "freezes in some calls: " + "; ".join(hints) if hints else ""


# -- the page ----------------------------------------------------------------------------------------------------------

HEAD = f"""# How contributions pass through NumPy's functions

Written by `{COMMAND}`; `--check` tells whether it is out of date. For torch's own functions see [torch.md](torch.md).

Every public function of `npdec`, `npdec.linalg` and `npdec.fft` has a row. **Arguments**: the tags of its array
arguments, by how they enter (`Opaque` ones only by their values); without a tag, the function is made of steps that
have rules of their own. **How**: the closed forms of the law that its calls meet, in the words below. **Errors**: the
completeness `|value − residual − components.sum(0)|` relative to the largest magnitude, at its worst over all sample
calls of the test suite, each array decomposed alone and all together; in double and in single precision.

**Conditions carry.** A comparison gives booleans that say how far each input moved them across the threshold, and so
do the integers that count them; `where`, `select`, `piecewise`, `choose`, masks and masked writes pass that on, so
that the residual is the function of the baseline. A function **freezes** a selection where it follows an order, an
equality or a size that depends on values, as Python's own `if` does: completeness holds, but the residual follows the
choice at the value. Where the baseline would choose otherwise, a `DecompositionWarning` says so and names the line
(`np.rule(conditions="frozen")` freezes conditions as well, and says nothing). A path that meets a singularity gives a
`DecompositionWarning` with the error, as does whatever has to drop contributions.

A branch that is infinite where it is not chosen does no harm. `np.where(d != 0, x / d, 0)` from a baseline of zero
warns all the same: the quotient is there before it is known what is chosen of it. A guard that the operation knows of
says nothing: `np.divide(x, d, where=d != 0, out=np.zeros(n))`, or a divisor that is never zero,
`np.where(d != 0, x / np.where(d != 0, d, 1), 0)`.
"""

MORE = """## Beyond these tables

- Array methods and operators are the functions of their names; `ufunc.reduce`, `accumulate`, `reduceat`, `outer` and
  `at` pass contributions on as the ufunc does, step by step.
- `npdec.emath`, `npdec.polynomial` and `np.poly1d` are made of the functions above.
- `npdec.random`: `permutation`, `permuted`, `shuffle` and `choice` move elements with all that they have (linear).
  Distributions look only at the values of their parameters, and say with a `DecompositionWarning` that contributions
  are dropped: scale and shift standard variates to keep them.
- Infinite changes: where one component makes a number infinite, the change of the result is that component's alone,
  infinite or not; a component that does not move an element contributes zero to it, whatever the slope.
- `isnan`, `isinf`, `isfinite`, `isposinf`, `isneginf` carry where the value and the baseline differ in them: those
  contribute whose numbers are not finite. Elsewhere, as in the table, the results are plain.
- Signs of eigenvectors, singular vectors and the columns of `qr`, the order of eigenvalues, and what completes a basis
  in a full `svd` are free: in the residual, and along the path, they are those that agree with the value's.
- A complex number has complex components. Functions with a complex derivative use its slope; others (`abs`, `angle`,
  `real`) are functions of the two parts. Where the path of `arctan2` or `angle` crosses the negative axis, the jump is
  the imaginary part's, which crosses; where it passes through zero, the two parts move in both orders.
"""


def class_of(error: float | None, bounds: Sequence[float]) -> int | None:
    return None if error is None else sum(error * MARGIN > bound for bound in bounds)


def shown(place: int | None, bounds: Sequence[float]) -> str:
    if place is None:
        return "–"
    return (f"{bounds[place]:.0e}" if place < len(bounds) else f"> {bounds[-1]:.0e}").replace("e-0", "e-")


def written_classes(text: str) -> dict[str, list[str]]:
    """The classes that the page has now, by function."""
    pattern = r"^\| `([\w.]+)`.*\| ([^|]*) \| ([^|]*) \|[^|]*\|$"
    return {m[1]: [m[2].strip(), m[3].strip()] for m in re.finditer(pattern, text, re.MULTILINE)}


def settled(error: float | None, bounds: Sequence[float], before: str | None) -> str:
    """The class of an error: the written one if that is a neighbour, and promises no less than 1e-10 (1e-4)."""
    place = class_of(error, bounds)
    names = {shown(i, bounds): i for i in range(len(bounds) + 1)}
    if place is not None and place < len(bounds) and before in names and abs(names[before] - place) <= 1:
        return before if names[before] < len(bounds) else shown(place, bounds)
    return shown(place, bounds)


def lines_of(row: Row, also: list[str], before: dict[str, list[str]]) -> str:
    name = f"`{row.name}`" + (f" (also {', '.join(f'`{a}`' for a in also)})" if also else "")
    known = before.get(row.name, ["", ""])
    errors = [settled(e, bounds, was) for e, bounds, was in zip(row.worst, (DOUBLE, SINGLE), known, strict=True)]
    how = ", ".join(word for word in LEGEND if word in row.steps)
    return f"| {name} | {row.arguments} | {how} | {errors[0]} | {errors[1]} | {row.note} |"


def page(rows: dict[str, Row], before: dict[str, list[str]]) -> str:
    also: dict[str, list[str]] = {}
    for alias, name in samples.aliases().items():
        also.setdefault(name, []).append(alias)
    counted = [sum(row.carries() for row in rows.values()), sum(row.note.startswith("Opaque") for row in rows.values())]
    names = len(rows) + len(samples.aliases())
    summary = (
        f"Of {names} functions ({len(rows)} without aliases) {counted[0]} pass contributions on, {counted[1]} look "
        f"only at values, and {len(rows) - sum(counted)} take no numbers that could carry any."
    )
    lines = [HEAD, summary, "", "| word | what happens |", "| --- | --- |"]
    lines += [f"| {word} | {text} |" for word, text in LEGEND.items()]
    chapters = {title: list(own) for title, own in samples.CHAPTERS.items()}
    listed = {name for own in chapters.values() for name in own}
    chapters["without samples"] = [name for name in rows if name not in listed]
    for title, own in chapters.items():
        chosen = [rows[name] for name in own if name in rows]
        if chosen:
            lines += ["", f"## {title.capitalize()}", "", "| function | arguments | how | float64 | float32 | notes |"]
            lines.append("| --- | --- | --- | --- | --- | --- |")
            lines += [lines_of(row, sorted(also.get(row.name, [])), before) for row in chosen]
    return "\n".join([*lines, "", MORE])


def tables() -> dict[str, Row]:
    names = [name for name in samples.public_callables() if name not in samples.aliases()]
    order = {name: i for i, name in enumerate([*samples.SAMPLES, *samples.NO_SAMPLE])}
    return {name: row_of(name) for name in sorted(names, key=lambda name: order.get(name, len(order)))}


def wrong(rows: dict[str, Row]) -> list[str]:
    """Functions that miss what the law promises, without a warning."""
    found = []
    for row in rows.values():
        for error, bounds in zip(row.worst, (DOUBLE, SINGLE), strict=True):
            if error is not None and error > bounds[-1]:
                found.append(f"{row.name}: completeness is off by {error:.1e}, more than {bounds[-1]:.0e}")
    return found


def main(words: list[str]) -> int:
    torch.set_num_threads(1)
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    rows = tables()
    problems = wrong(rows)
    text = page(rows, written_classes(before))
    if text != before:
        if words == ["--check"]:
            problems.append(f"{PAGE.relative_to(ROOT)} is out of date: run {COMMAND}")
        else:
            PAGE.parent.mkdir(exist_ok=True)
            PAGE.write_text(text, "utf-8")
    sys.stderr.writelines(f"{line}\n" for line in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
