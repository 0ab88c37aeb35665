"""How a rule is entered into the registry, and the kinds of rules that there are beside the tags of the law.

`@rule("cummax")` over a function gives torch.cummax and torch.Tensor.cummax their rule. A signature with tags and no
body says by which of them the law passes contributions on; a function with a body is a closed form, and is called with
the function that it answers for and the arguments of the call, as Python binds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from npdec._core.signatures import is_bodyless, read_parameters
from npdec._decomposed.registry import Row, Rule, add, functions
from npdec._law.complex_laws import law_of_complex
from npdec._law.law import TaggedRule
from npdec._law.ordinary_forms import form_of, takes_options
from npdec._law.pairs_of_numbers import numbers_of
from npdec._law.reverse_forms import also

__all__ = ["ClosedForm", "rule"]

Function = Callable[..., Any]


class ClosedForm(Rule):
    """A function that answers a call: it takes the function that was called, and its arguments."""

    def __init__(self, body: Function) -> None:
        self.body = body

    def __call__(self, func: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return self.body(func, *args, **kwargs)


def rule(
    *targets: str | Function,
    traits: int = 0,
    slope: Function | None = None,
    mean: Function | tuple[Function, ...] | None = None,
    batch: Function | None = None,
    short: Function | None = None,
    close: Function | None = None,
    rates: Function | None = None,
    rate: Function | None = None,
    indices: tuple[int | str, ...] = (),
    along: Function | None = None,
    reverse: Function | None = None,
    numbers: Function | None = None,
    few_complex: Function | None = None,
    replaces: bool = False,
    **kind: Any,
) -> Callable[[Any], Any]:
    """Decorator: enter a rule for functions of torch, given as they are or by names (`registry.functions`), and what
    else their row holds. `reverse` is a form of tensors in reverse mode, behind the other one. `kind` are attributes of
    the rule: `tags`, `delegates`, `discrete`, `writes`, `formula`.

    Raises TypeError for an attribute that rules do not have, AttributeError for a name that torch does not have, and
    ValueError if a function has a rule that this one does not say that it `replaces`.
    """
    if unknown := [name for name in kind if not hasattr(Rule, name)]:
        raise TypeError(f"rule() has no argument {', '.join(unknown)}, and rules have no such attribute")
    found: list[Function] = []
    for target in targets:
        found += functions(target) if isinstance(target, str) else [target]

    def enter(made: Any) -> Any:
        answers: Any = made
        if not isinstance(made, Rule):
            answers = TaggedRule(read_parameters(made)) if is_bodyless(made) else ClosedForm(made)
        for name, item in kind.items():
            setattr(answers, name, item)
        tags = answers.tags if isinstance(answers, TaggedRule) else {}
        own = short or answers.short
        form = own or form_of(tags, traits, slope, mean, batch, rates, reverse)
        if reverse is not None and (own is not None or batch is None):
            form = also(form, reverse)
        row = Row(
            answers,
            traits,
            slope,
            mean,
            batch,
            form,
            takes_options(form),
            indices,
            along,
            close=close,
            rates=rates,
            numbers=numbers or numbers_of(tags, traits, mean, rates),
            rate=rate,
            few_complex=few_complex or law_of_complex(tags, traits, rates),
        )
        add(found, row, replaces)
        return made

    return enter
