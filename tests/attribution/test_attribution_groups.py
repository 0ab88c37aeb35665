"""Shapley values in hierarchies, over backgrounds, and where absence is something else: by all orders, beside SHAP."""

from __future__ import annotations

import itertools
import math

import numpy
import pytest
import scipy.cluster.hierarchy
import torch

import npdec as np

F64 = torch.float64
HIERARCHIES = {
    "flat": [0, 1, 2, 3, 4],
    "unions": [[0, 1], [2, 3, 4]],
    "one in all": [[0, 1, 2, 3, 4]],
    "alone": [[2], [0], [1], [3], [4]],
    "binary": ((0, 3), (2, (1, 4))),
    "deep": [[0, [1, [2, [3, 4]]]]],
    "three": [[0, 1, 2], 3, 4],
}


def f(x):
    return x[..., 0] * x[..., 1] + np.exp(x[..., 2] * x[..., 3]) - x[..., 4] * x[..., 0] * x[..., 2] + x[..., 3]


X, BASE = numpy.array([1.0, -2.0, 0.5, 1.5, 3.0]), numpy.array([0.0, 0.5, -1.0, 0.0, 1.0])


def consistent(tree):
    """All orders in which the members of each group follow each other."""
    if isinstance(tree, int):
        return [(tree,)]
    return [
        sum(parts, ())
        for order in itertools.permutations(tree)
        for parts in itertools.product(*(consistent(child) for child in order))
    ]


def by_orders(worth, tree, n):
    gains, orders = numpy.zeros(n), consistent(tree)
    for order in orders:
        there = numpy.zeros(n, dtype=bool)
        for i in order:
            before = worth(there)
            there[i] = True
            gains[i] += worth(there) - before
    return gains / len(orders)


def worth(there):
    return float(f(np.array(numpy.where(there, X, BASE))))


@pytest.mark.parametrize("batched", [True, *(pytest.param(way, marks=pytest.mark.slow) for way in (False, "vmap"))])
@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_hierarchy_is_the_mean_over_the_orders_that_keep_it(name, batched):
    tree = HIERARCHIES[name]
    found = np.attribute(
        f, np.array(X), baseline=np.array(BASE), method="shapley", hierarchy=tree, samples="all", batched=batched
    )
    want = by_orders(worth, list(tree), 5)
    assert numpy.abs(numpy.asarray(found.attribution) - want).max() < 1e-12
    assert found.standard_error is None
    assert abs(found.error) < 1e-12
    drawn = np.attribute(
        f,
        np.array(X),
        baseline=np.array(BASE),
        method="shapley",
        hierarchy=tree,
        samples=300 if batched else 60,
        batched=batched,
        seed=1,
    )
    apart = numpy.abs(numpy.asarray(drawn.attribution) - want)
    assert (apart <= 4 * numpy.asarray(drawn.standard_error) + 1e-12).all()


def test_unions_have_the_shapley_values_of_the_game_between_them():
    unions = [[0, 3], [1], [2, 4]]
    inner = np.attribute(f, np.array(X), baseline=np.array(BASE), method="shapley", hierarchy=unions)
    outer = np.attribute(f, np.array(X), baseline=np.array(BASE), method="shapley", groups=[0, 1, 2, 0, 2])
    sums = [float(inner.attribution[union].sum()) for union in unions]
    assert sums == pytest.approx(outer.attribution.tolist())


def test_labels_and_what_is_not_named():
    names = list("abcde")
    options = {"baseline": np.array(BASE), "method": "shapley"}
    plain = np.attribute(f, np.array(X), hierarchy=[[0, 1], 2, 3, 4], **options).attribution
    for hierarchy in ([["a", "b"], "c", "d", "e"], [["a", "b"]], [["b", "a"], "d"]):
        found = np.attribute(f, np.array(X), hierarchy=hierarchy, labels=names, **options)
        assert found.attribution.tolist() == pytest.approx(plain.tolist())
    wrong = {
        "no component 7": [[0, 7]],
        "named twice": [[0, 1], [1]],
        "neither a label nor a number": [["z"]],
        "an empty group": [[]],
        r"linkage matrix of 5 components has shape \(4, 4\)": numpy.zeros((3, 4)),
        "before they are there": numpy.full((4, 4), 8.0),
        r"names \{0, 1\}, which is neither a label nor": [{0, 1}],
        r"hierarchy is lists or tuples .* not 'ab'": "ab",
        r"hierarchy is lists or tuples .* not \{'a': \[0, 1\]\}": {"a": [0, 1]},
    }
    whole = [[numpy.int64(0), np.int64(1)], numpy.array(2)[()], torch.tensor(3)]
    assert np.attribute(f, np.array(X), hierarchy=whole, **options).attribution.tolist() == pytest.approx(
        plain.tolist()
    )
    for said, hierarchy in wrong.items():
        with pytest.raises(ValueError, match=said):
            np.attribute(f, np.array(X), hierarchy=hierarchy, **options)
    with pytest.raises(ValueError, match="give a number of samples"):
        np.attribute(lambda x: x.sum(), np.ones(30), method="shapley", hierarchy=[list(range(30))], samples="all")
    many = np.attribute(
        lambda x: x.sum(-1), np.arange(24.0), method="shapley", batched=True, samples="all",
        hierarchy=[list(range(i, i + 3)) for i in range(0, 24, 3)],
    )  # fmt: skip
    assert many.attribution.tolist() == pytest.approx(list(range(24)))  # 2**9 coalitions for each, not 2**24


@pytest.mark.slow
def test_dendrograms_are_scipys():
    source = numpy.random.default_rng(3)
    base = source.standard_normal((200, 3))
    rows = numpy.concatenate([base, base[:, :2] * -2 + 0.1 * source.standard_normal((200, 2))], 1)
    tree = np.attribution.correlated(rows)
    assert {frozenset(pair) for pair in _pairs(tree)} == {frozenset({0, 3}), frozenset({1, 4})}
    distance = 1 - numpy.abs(numpy.corrcoef(rows.T))[numpy.triu_indices(5, 1)]
    matrix = scipy.cluster.hierarchy.linkage(distance, method="average")
    options = {"baseline": np.array(BASE), "method": "shapley"}
    one = np.attribute(f, np.array(X), hierarchy=tree, **options).attribution
    two = np.attribute(f, np.array(X), hierarchy=matrix, **options).attribution
    assert one.tolist() == pytest.approx(two.tolist())
    want = by_orders(worth, _as_lists(scipy.cluster.hierarchy.to_tree(matrix)), 5)
    assert one.tolist() == pytest.approx(list(want))
    rows[:, 2] = 1.0  # a constant is like nothing
    assert len(list(_leaves(np.attribution.correlated(torch.as_tensor(rows), labels=list("abcde"))))) == 5
    assert np.attribution.correlated(rows[:, :1]) == (0,)
    for wrong, options in ((rows[0], {}), (rows[:1], {}), (rows, {"labels": "ab"})):
        with pytest.raises(ValueError, match="correlated: "):
            np.attribution.correlated(wrong, **options)
    with pytest.raises(ValueError, match="correlated: column 1 holds what is not finite"):
        np.attribution.correlated(numpy.where(numpy.arange(5) == 1, numpy.nan, rows))
    with pytest.raises(ValueError, match=r"correlated: linkage is one of single, complete.*, not 'bogus'"):
        np.attribution.correlated(rows, linkage="bogus")


def _leaves(tree):
    return [leaf for child in tree for leaf in _leaves(child)] if isinstance(tree, tuple) else [tree]


def _pairs(tree):
    if not isinstance(tree, tuple):
        return []
    inner = [pair for child in tree for pair in _pairs(child)]
    return [*inner, tree] if not any(isinstance(child, tuple) for child in tree) else inner


def _as_lists(node):
    return node.id if node.is_leaf() else [_as_lists(node.left), _as_lists(node.right)]


@pytest.mark.long
def test_partitions_are_shaps():
    shap = pytest.importorskip("shap")
    matrix = numpy.array([[0, 3, 0.1, 2], [1, 4, 0.2, 2], [2, 6, 0.3, 3], [5, 7, 0.4, 5]], dtype=float)
    masker = shap.maskers.Partition(BASE[None], clustering=matrix)
    theirs = shap.explainers.Partition(lambda rows: numpy.asarray(f(np.array(rows))), masker)(X[None], max_evals=5000)
    found = np.attribute(f, np.array(X), baseline=np.array(BASE), method="shapley", hierarchy=matrix)
    assert numpy.abs(theirs.values[0] - numpy.asarray(found.attribution)).max() < 1e-9


# -- backgrounds -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_background_gives_interventional_shapley_values():
    many = numpy.random.default_rng(4).standard_normal((7, 5))

    def mean_worth(there):
        return float(numpy.mean([float(f(np.array(numpy.where(there, X, row)))) for row in many]))

    found = np.attribute(f, np.array(X), baselines=np.array(many), method="shapley")
    want = by_orders(mean_worth, [0, 1, 2, 3, 4], 5)
    assert numpy.abs(numpy.asarray(found.attribution) - want).max() < 1e-12
    owen = np.attribute(f, np.array(X), baselines=np.array(many), method="shapley", hierarchy=[[0, 1], [2, 3, 4]])
    assert numpy.abs(numpy.asarray(owen.attribution) - by_orders(mean_worth, [[0, 1], [2, 3, 4]], 5)).max() < 1e-12


@pytest.mark.long
def test_samples_are_shaps_within_standard_error():
    shap = pytest.importorskip("shap")
    many = numpy.random.default_rng(4).standard_normal((7, 5))

    def of_rows(rows):
        return numpy.asarray(f(np.array(rows)))

    drawn = np.attribute(f, np.array(X), baselines=np.array(many), method="shapley", samples=200, batched=True)
    exact = np.attribute(f, np.array(X), baselines=np.array(many), method="shapley", batched=True)
    kernel = shap.explainers.Kernel(of_rows, many).shap_values(X[None], silent=True)[0]
    assert numpy.abs(kernel - numpy.asarray(exact.attribution)).max() < 1e-8  # of 5 features it takes all coalitions
    orders = shap.explainers.Permutation(of_rows, shap.maskers.Independent(many), seed=1)(X[None], max_evals=11 * 400)
    apart = numpy.abs(orders.values[0] - numpy.asarray(drawn.attribution))
    assert (apart <= 4 * numpy.asarray(drawn.standard_error) + 1e-9).all()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Permutation", "Kernel"])
def test_orders_drawn_from_one_baseline_are_shaps_draws_within_standard_error(kind):
    """Of twelve inputs, whose coalitions neither tries all: theirs drawn eight times, which tells their error."""
    shap = pytest.importorskip("shap")
    source = numpy.random.default_rng(5)
    weights, x, base = source.standard_normal((12, 12)), source.standard_normal(12), source.standard_normal(12)

    def f(rows):
        return np.tanh((rows @ np.array(weights) * rows).sum(-1) / 6) + rows[..., 0] * rows[..., 1] * rows[..., 2]

    def of_rows(rows):
        return numpy.asarray(f(np.array(rows)))

    def theirs(seed):
        if kind == "Permutation":
            masker = shap.maskers.Independent(base[None])
            return shap.explainers.Permutation(of_rows, masker, seed=seed)(x[None], max_evals=25 * 20).values[0]
        numpy.random.seed(seed)
        return shap.explainers.Kernel(of_rows, base[None]).shap_values(x[None], nsamples=600, l1_reg=0, silent=True)[0]

    options = {"baseline": np.array(base), "method": "shapley", "batched": True}
    drawn = np.attribute(f, np.array(x), samples=100, **options)
    exact = np.attribute(f, np.array(x), samples="all", **options)
    many = numpy.stack([theirs(seed) for seed in range(8)])
    ours, error = numpy.asarray(drawn.attribution), numpy.asarray(drawn.standard_error)
    both = numpy.hypot(error, many.std(0, ddof=1) / 8**0.5)
    assert (abs(many.mean(0) - ours) <= 4 * both).all()
    assert (abs(ours - numpy.asarray(exact.attribution)) <= 4 * error).all()
    assert (both > 1e-4).all()
    assert (both < 0.2 * abs(ours).max()).all()


# -- what is absent ----------------------------------------------------------------------------------------------------


def test_dropped_tokens():
    tokens = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])

    def length_matters(x):
        return (x[:, 0] * x[:, 1]).sum() / (1 + len(x))

    def kept(there):
        return float(length_matters(np.array(numpy.asarray(tokens)[numpy.asarray(there, dtype=bool)])))

    cut = np.attribution.dropped(0)
    found = np.attribute(length_matters, tokens, axis=0, method="shapley", absent=cut)
    assert found.attribution.tolist() == pytest.approx(list(by_orders(kept, [0, 1, 2], 3)))
    assert float(found.residual) == 0.0
    tensors = torch.as_tensor(numpy.asarray(tokens))
    alike = np.attribute(length_matters, tensors, axis=0, method="shapley", absent=cut, samples=50)
    assert ((alike.attribution - torch.tensor(found.attribution.tolist())).abs() <= 5 * alike.standard_error).all()
    gone = np.attribute(length_matters, tokens, axis=0, method="occlusion", absent=cut)
    whole = kept([1, 1, 1])
    assert gone.attribution.tolist() == pytest.approx([whole - kept(w) for w in ([0, 1, 1], [1, 0, 1], [1, 1, 0])])


def test_absence_by_a_function_is_that_of_the_baseline_where_it_says_so():
    found = np.attribute(
        f, np.array(X), method="shapley", absent=lambda x, present: np.where(present, x, np.array(BASE))
    )
    want = np.attribute(f, np.array(X), method="shapley", baseline=np.array(BASE))
    assert found.attribution.tolist() == want.attribution.tolist()
    for options in ({"baseline": 1.0}, {"baselines": numpy.ones((2, 5))}, {"batched": True}, {"chunk_size": 2}):
        with pytest.raises(TypeError, match=r"absent= says what absence means: leave"):
            np.attribute(f, np.array(X), method="shapley", absent=np.attribution.dropped(0), **options)
    wanted = np.attribute(f, np.array(X), method="shapley").attribution.tolist()
    given = np.attribute(f, np.array(X), method="shapley", absent=lambda x, here: numpy.where(here, x, 0.0))
    assert given.attribution.tolist() == wanted  # NumPy's array
    for made in (None, "x", [None]):
        with pytest.raises(TypeError, match=r"absent returns the input to be used, an array, not "):
            np.attribute(f, np.array(X), method="occlusion", absent=lambda x, here, made=made: made)
    with pytest.raises(TypeError, match=r"dropped: axis is an int, not \(0, 1\)"):
        np.attribution.dropped((0, 1))
    with pytest.raises(ValueError, match=r"dropped: an input of shape \(5,\) has no axis 1"):
        np.attribute(f, np.array(X), method="occlusion", absent=np.attribution.dropped(1))
    for seed in ("a", 1.5):
        with pytest.raises(TypeError, match=r"seed is an int, not"):
            np.attribute(f, np.array(X), method="shapley", samples=3, seed=seed)
    with pytest.raises(TypeError, match=r"absent is a function"):
        np.attribute(f, np.array(X), method="shapley", absent="dropped")
    with pytest.raises(TypeError, match=r"takes no absent="):
        np.attribute(f, np.array(X), absent=np.attribution.dropped(0))


@pytest.mark.parametrize("sigma", [0.7, 3.0])
def test_blurred_images_are_weighted_means(sigma):
    image = numpy.random.default_rng(1).standard_normal((2, 9, 6))
    found = np.attribution.blurred(np.array(image), sigma)
    reach, want = math.ceil(4 * sigma), numpy.zeros_like(image)
    for i, j in itertools.product(range(9), range(6)):
        rows, columns = numpy.arange(9), numpy.arange(6)
        a, b = (
            numpy.where(abs(at - c) <= reach, numpy.exp(-(((at - c) / sigma) ** 2) / 2), 0)
            for at, c in ((rows, i), (columns, j))
        )
        want[:, i, j] = numpy.einsum("r,c,krc->k", a / a.sum(), b / b.sum(), image)
    assert numpy.abs(numpy.asarray(found) - want).max() < 1e-12
    assert type(np.attribution.blurred(torch.as_tensor(image), sigma)) is torch.Tensor
    flat = numpy.ones((4, 4))
    assert numpy.asarray(np.attribution.blurred(flat, sigma)) == pytest.approx(flat)
    with pytest.raises(ValueError, match="sigma is a positive number"):
        np.attribution.blurred(image, 0)
    for wrong in ("a", None, float("nan"), [1.0]):
        with pytest.raises(ValueError, match="sigma is a positive number"):
            np.attribution.blurred(image, wrong)
    with pytest.raises(ValueError, match=r"blurred: an image of shape \(5,\) has no axis -2: say axes="):
        np.attribution.blurred(numpy.ones(5), sigma)
    with pytest.raises(TypeError, match="of floating numbers"):
        np.attribution.blurred(numpy.ones((3, 3), dtype=int), sigma)
