"""A tag of the law is one object: what it says, and its law, in one file."""

from __future__ import annotations

import re

import pytest
import torch

import npdec as np
from npdec._core import tags
from npdec._core.signatures import read_parameters
from npdec._core.tags import Linear, Opaque, Pointwise
from npdec._decomposed.tensor import DecomposedTensor
from npdec._law import law


def test_a_tag_has_one_meaning_and_one_law():
    with pytest.raises(ValueError, match="no tag"):
        law.law_of("Shifted")
    with pytest.raises(ValueError, match="there is a tag 'Linear' already: the argument enters linearly"):
        tags.law_tag("Linear", "twice")
    with pytest.raises(ValueError, match="has a law"):
        law.law_of("Linear")


def test_every_tag_says_how_an_argument_enters():
    assert all(re.fullmatch(r"[a-z].*[a-z)]", says) for says in tags._SAYS.values())
    assert {"Linear", "Multilinear", "Pointwise", "Routed", "Smooth", "Stepwise"} <= tags.LAW_TAGS


def test_tags_of_kernels_are_those_that_are_made():
    def kernel(x: Linear, y: Opaque, z: Pointwise | None = None): ...

    assert [p.tag for p in read_parameters(kernel)] == ["Linear", "Opaque", "Pointwise"]
    assert all(p.is_array for p in read_parameters(kernel))


def test_a_new_law_answers_calls_of_its_tag(monkeypatch):
    """x² of one argument, whose shares are c (x + r)."""
    says, laws = dict(tags._SAYS), dict(law._LAWS)
    try:
        tags.law_tag("Squared", "by its square")

        @law.law_of("Squared")
        def squared(call):
            (t,) = call.tensors
            return DecomposedTensor(t.value**2, t.residual**2, t.components * (t.value + t.residual), t.labels)

        d = np.decompose(torch.tensor([1.0, 2.0], dtype=torch.float64), baseline=0.5)
        made = law.TaggedRule.of("Squared")(torch.square, (d,), {})
        torch.testing.assert_close(made.components, torch.diag(d.value**2 - d.residual**2))
    finally:
        for kept, now in ((says, tags._SAYS), (laws, law._LAWS)):
            now.clear()
            now.update(kept)
