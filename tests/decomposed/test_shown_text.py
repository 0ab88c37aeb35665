"""What the repr of decomposed arrays, scalars and tensors says of their contributions."""

from __future__ import annotations

import re

import numpy
import pytest
import torch

import npdec as np
from npdec._decomposed.block_sparse import BlockSparse
from npdec._decomposed.entries import Entries

RNG = numpy.random.default_rng(3)


def said(x) -> tuple[str, int, list[str]]:
    """The residual, the number of components, and the words on them, of a repr."""
    text = " ".join(repr(x).split())
    found = re.fullmatch(r".*?(?:residual=(.*?), )?components=(\d+)(?:: (.*))?\)", text)
    assert found, text
    return found[1], int(found[2]), (found[3] or "").split(", ")


@pytest.mark.parametrize("count", [1, 3, 4, 40])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_of_an_array_the_largest_parts_are_said(dtype, count):
    given = RNG.standard_normal((7, count)).astype(dtype)
    labels = [f"column {i}" for i in range(count)]
    x = np.decompose(np.array(given), axis=1, labels=labels)
    sizes = numpy.abs(given).sum(0)
    order = numpy.argsort(-sizes)
    shares = sizes / sizes.sum()
    for shown in (x, x.tensor, -x, (x * 2).T):
        residual, components, words = said(shown)
        assert (residual, components) == ("0", count)
        assert float(complex(residual).real) == 0
        assert len(words) == min(count, 3) + (count > 3)
        for word, i in zip(words, order[:3]):
            name, _, part = word.rpartition(" ")
            assert name == labels[i]
            assert float(part.rstrip("%")) == pytest.approx(100 * shares[i], abs=0.5)
        if count > 3:
            assert words[-1] == f"{count - 3} more"


@pytest.mark.parametrize("count", [1, 2, 9])
def test_of_a_number_the_largest_contributions_are_said(count):
    given = RNG.standard_normal(count)
    labels = [chr(97 + i) for i in range(count)]
    x = np.decompose(np.array(given), baseline=0.25, labels=labels)
    order = numpy.argsort(-numpy.abs(given - 0.25))
    for shown in (x.sum(), x.tensor.sum(), x.sum().reshape(())):
        residual, components, words = said(shown)
        assert (float(residual), components) == (0.25 * count, count)
        wanted = [f"{labels[i]} {given[i] - 0.25:+.4g}" for i in order[:3]]
        assert words == wanted + ([f"{count - 3} more"] if count > 3 else [])


@pytest.mark.parametrize(
    ("baseline", "text"),
    [
        (2.0, "2"),
        ([1.0, 2.5, 1e9], "[1, 2.5, 1e+09]"),
        (numpy.linspace(-1, 1, 3)[:, None] * numpy.ones((3, 3)), "-1 to 1"),
        ([numpy.nan, 1.0, 1.0], "[nan, 1, 1]"),
        (numpy.arange(12.0), "0 to 11"),
    ],
)
def test_the_residual_is_said_in_a_few_characters(baseline, text):
    base = numpy.asarray(baseline)
    x = np.decompose(np.array(numpy.full(base.shape or (3,), 5.0)), axis=0, baseline=np.array(base))
    assert said(x)[0] == said(x.tensor)[0] == text


def test_labels_are_shown_and_not_obeyed():
    x = np.decompose(np.array([3.0, 2.0]), labels=["\x1b[31mred", "a very long name of a component"])
    assert "\x1b" not in repr(x)
    assert said(x)[2] == ["\\x1b[31mred 60%", "a very long name of… 40%"]


@pytest.mark.parametrize("x", [np.decompose(np.zeros(0)), np.decompose(np.zeros((0, 3)), axis=1)], ids=["()", "(0, 3)"])
def test_nothing_is_said_where_nothing_is(x):
    assert said(x.tensor) == said(x)
    assert said(x)[1] == len(x.labels)


def test_components_that_are_not_made_are_not_made_for_a_text(monkeypatch):
    """Blocks and entries are kept without their zeros; 10^5 components of as many elements would be 80 GB."""
    blocks = np.decompose(np.array(RNG.standard_normal((64, 512))), axis=0)
    many = np.decompose(np.array(RNG.standard_normal(100_000)))
    monkeypatch.setattr(BlockSparse, "dense", None)
    monkeypatch.setattr(Entries, "dense", None)
    for x in (blocks, blocks * 2 + 1, np.exp(blocks), many, np.exp(many)):
        sizes = numpy.abs(numpy.asarray((x.value - x.residual).tolist())).reshape(len(x.labels), -1).sum(1)
        first = said(x)[2][0].rsplit(" ", 1)
        assert first[0] == f"[{sizes.argmax()}]"
        assert float(first[1].rstrip("%")) == pytest.approx(100 * sizes.max() / sizes.sum(), rel=0.5)
        assert "components" not in vars(x.tensor)


def test_products_that_are_put_off_stay_put_off():
    """Their labels are said."""
    x = np.decompose(torch.randn(1, 64, 64), axis=1, labels=[f"t{i}" for i in range(64)])
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)).requires_grad_(False)
    y = net(x)
    made = "components" in vars(y)
    assert said(y)[1] == 64
    assert ("components" in vars(y)) is made


def test_inside_transforms_only_the_number_of_components_is_said():
    found = []
    torch.func.vmap(lambda t: (found.append(repr(np.decompose(t, labels=["u", "v"]))), t)[1])(torch.ones(3, 2))
    np.attribute(lambda x: (found.append(repr(x)), x.sum())[1], np.ones(3))
    assert found[0].endswith("components=2)")
    assert found[1].endswith("components=1)")


def test_messages_say_ndarray():
    """The class has the name that NumPy's has, so that whoever names it in a message says what users know."""
    assert (str(np.ndarray), np.ndarray.__name__) == ("<class 'npdec.ndarray'>", "ndarray")
    x = np.ones(2)
    calls = [lambda: x + "a", lambda: x.nonsense, lambda: np.ndarray([1]).foo(), lambda: x @ "a", lambda: hash(x)]
    for call in calls:
        with pytest.raises((TypeError, AttributeError)) as caught:
            call()
        assert "Composition" not in str(caught.value)
        assert "ndarray" in str(caught.value)
