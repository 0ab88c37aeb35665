"""Generators as objects: every public name of numpy.random, states, seeds, pickles, copies, spawned streams."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy
import pytest
import torch

import npdec as np
from npdec.exceptions import AbsentNameError

BOTH = pytest.mark.parametrize("lib", [np, numpy], ids=["npdec", "numpy"])
CLASSES = ("BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")


@pytest.fixture(autouse=True)
def _global_stream():
    """Tests share NumPy's global stream: each starts from one seed and leaves the bit generator as it was."""
    before = numpy.random.get_bit_generator()
    numpy.random.seed(0)
    yield
    numpy.random.set_bit_generator(before)


# -- names -------------------------------------------------------------------------------------------------------------


def parameters(function):
    return [
        (p.name, p.kind, getattr(p.default, "__name__", p.default))
        for p in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", numpy.random.__all__)
def test_every_public_name(name):
    ours, theirs = getattr(np.random, name), getattr(numpy.random, name)
    if name in CLASSES:
        assert issubclass(ours, theirs)
        assert issubclass(theirs, ours)
        assert inspect.signature(ours) == inspect.signature(theirs)
        assert (ours.__name__, ours.__module__) == (name, "npdec.random")
    elif name not in ("ranf", "sample"):  # NumPy's take anything and pass it on
        assert parameters(ours) == parameters(theirs)
    assert name in dir(np.random)


@pytest.mark.parametrize("name", ["Generator", "RandomState"])
def test_every_method(name):
    ours, theirs = getattr(np.random, name), getattr(numpy.random, name)
    assert [n for n in dir(ours) if not n.startswith("_")] == [n for n in dir(theirs) if not n.startswith("_")]
    for method in dir(theirs):
        if not method.startswith("_") and method != "bit_generator":
            assert parameters(getattr(ours, method)) == parameters(getattr(theirs, method)), method


def test_modules_of_numpy():
    assert np.random.bit_generator is numpy.random.bit_generator
    assert np.random.mtrand.RandomState is np.random.RandomState
    assert np.random.mtrand._rand.rand() == numpy.random.RandomState(0).rand()
    with pytest.raises(AbsentNameError, match=r"random\.test"):
        np.random.test
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        np.random.nothing


# -- seeds and states --------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("seed", [0, 3, 2**70, [1, 2], numpy.array([1, 2]), "SeedSequence", "PCG64", "RandomState"])
def test_seeds(lib, seed):
    want = seed
    if isinstance(seed, str):
        seed, want = getattr(lib.random, seed)(3), numpy.random.RandomState(3) if seed == "RandomState" else 3
    assert lib.random.default_rng(seed).random() == numpy.random.default_rng(want).random()


@BOTH
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r: r.default_rng(-1), ValueError),
        (lambda r: r.default_rng("a"), TypeError),
        (lambda r: r.RandomState(-1), ValueError),
        (lambda r: r.seed("a"), TypeError),
        (lambda r: r.seed(2**32), ValueError),
        (lambda r: r.Generator(3), AttributeError),
        (lambda r: r.Generator(r.PCG64), ValueError),
    ],
)
def test_bad_seeds(lib, call, error):
    with pytest.raises(error) as theirs:
        call(numpy.random)
    with pytest.raises(error) as ours:
        call(lib.random)
    assert str(ours.value) == str(theirs.value)


@BOTH
@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_generators_continue_from_a_state(lib, kind):
    rng = lib.random.Generator(getattr(lib.random, kind)(5))
    rng.random(7)
    state = rng.bit_generator.state
    assert state["bit_generator"] == kind
    drawn = rng.normal(size=4).tolist()
    rng.bit_generator.state = state
    assert rng.normal(size=4).tolist() == drawn
    assert str(rng) == f"Generator({kind})"
    assert repr(rng).startswith(f"Generator({kind}) at 0x")
    with pytest.raises((ValueError, TypeError)):
        rng.bit_generator.state = {"bit_generator": "another"}


@BOTH
@pytest.mark.parametrize("clone", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_continue_alike(lib, clone):
    for rng in (lib.random.default_rng(3), lib.random.RandomState(3), lib.random.Generator(lib.random.Philox(3))):
        rng.normal(size=3)
        other = clone(rng)
        assert type(other) is type(rng)
        assert other.normal(size=3).tolist() == rng.normal(size=3).tolist()


def test_a_generator_over_torch_is_copied_with_its_state():
    rng = np.random.Generator(torch.Generator().manual_seed(3))
    rng.normal(size=3)
    for clone in (pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)):
        state = rng.bit_generator.get_state()
        assert clone.normal(size=3).tolist() == rng.normal(size=3).tolist()
        rng.bit_generator.set_state(state)


@BOTH
def test_the_state_of_the_older_generator(lib):
    rng = lib.random.RandomState(3)
    for legacy in (True, False):
        state = rng.get_state(legacy)
        drawn = rng.normal(size=3).tolist()
        rng.set_state(state)
        assert rng.normal(size=3).tolist() == drawn
    assert type(rng.get_state()[1]) is lib.ndarray
    assert str(rng) == "RandomState(MT19937)"
    with pytest.raises(ValueError):
        rng.set_state(("PCG64", 1, 2))
    rng = lib.random.RandomState(lib.random.PCG64(3))
    assert rng.rand() == numpy.random.Generator(numpy.random.PCG64(3)).random()


@BOTH
def test_the_shared_stream(lib):
    lib.random.seed(5)
    state = lib.random.get_state()
    drawn = lib.random.rand()
    assert drawn == numpy.random.RandomState(5).rand()
    lib.random.set_state(state)
    assert lib.random.rand() == drawn
    lib.random.set_bit_generator(lib.random.PCG64(3))
    assert type(lib.random.get_bit_generator()) is lib.random.PCG64
    assert lib.random.rand() == numpy.random.Generator(numpy.random.PCG64(3)).random()
    assert lib.random.get_state(legacy=False)["bit_generator"] == "PCG64"


@pytest.mark.parametrize("given", ["x", None, 3, object()])
def test_what_is_no_bit_generator_leaves_the_shared_stream_alone(given):
    """NumPy itself draws on from memory that it has freed."""
    before = np.random.get_bit_generator()
    with pytest.raises(TypeError, match="takes a bit generator"):
        np.random.set_bit_generator(given)
    assert np.random.get_bit_generator() is before
    assert 0 <= np.random.rand() < 1


@BOTH
def test_children_are_independent_and_repeatable(lib):
    def drawn():
        return [child.random() for child in lib.random.default_rng(7).spawn(3)]

    assert drawn() == [child.random() for child in numpy.random.default_rng(7).spawn(3)]
    assert len(set(drawn())) == 3
    rng = lib.random.default_rng(7)
    assert rng.spawn(1)[0].random() != rng.spawn(1)[0].random()
    assert rng.bit_generator.seed_seq.n_children_spawned == 2
    assert lib.random.SeedSequence(3).spawn(2)[1].spawn_key == (1,)


def test_writing_into_out():
    for name in ("random", "standard_normal", "standard_exponential"):
        out = np.zeros((2, 3))
        rng, theirs = np.random.default_rng(1), numpy.random.default_rng(1)
        assert getattr(rng, name)(out=out) is out
        assert out.tolist() == getattr(theirs, name)(size=(2, 3)).tolist()
        with pytest.raises(ValueError, match="size must match"):
            getattr(rng, name)(size=(3, 2), out=out)
        with pytest.raises(TypeError, match="wrong type"):
            getattr(rng, name)(out=np.zeros(2, dtype="f4"))


def test_out_keeps_its_order_in_memory():
    ours, theirs = np.asfortranarray(np.zeros((2, 3))), numpy.asfortranarray(numpy.zeros((2, 3)))
    np.random.default_rng(1).random(out=ours)
    numpy.random.default_rng(1).random(out=theirs)
    assert ours.tolist() == theirs.tolist()


@BOTH
def test_outputs_that_do_not_fit(lib):
    rng = lib.random.default_rng(1)
    with pytest.raises(ValueError, match="must be contiguous"):
        rng.random(out=lib.zeros((6, 3))[::3])
    with pytest.raises(ValueError, match="must be C-contiguous"):
        rng.standard_gamma(1.0, out=lib.zeros((6, 3)).T)
    for shape in ((2, 3), 5):
        with pytest.raises(ValueError, match="out must have the same shape as x"):
            rng.permuted(lib.arange(3), out=lib.zeros(shape, dtype=int))
    with pytest.raises(TypeError, match="rule 'safe'"):
        rng.permuted(lib.arange(3.0), out=lib.zeros(3, dtype="f4"))


@BOTH
def test_a_dict_is_shuffled_with_a_warning(lib):
    items = {i: i for i in range(7)}
    with pytest.warns(UserWarning, match="you are shuffling a 'dict' object"):
        lib.random.RandomState(3).shuffle(items)
    expected = list(range(7))
    numpy.random.RandomState(3).shuffle(expected)
    assert list(items.values()) == expected


@BOTH
def test_a_matrix_that_is_no_covariance_matrix(lib):
    with pytest.raises(lib.linalg.LinAlgError, match="not positive definite"):
        lib.random.default_rng(1).multivariate_normal([0, 0], [[1, 2], [2, 1]], method="cholesky")


# -- bit generators and seed sequences ---------------------------------------------------------------------------------

KINDS = pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return numpy.array_equal(numpy.asarray(a), numpy.asarray(b))


def arrays(state):
    for item in state.values() if isinstance(state, dict) else (state,):
        yield from arrays(item) if isinstance(item, dict) else [item] if hasattr(item, "shape") else []


@KINDS
@pytest.mark.parametrize("seed", [3, [1, 2], np.array([1, 2])], ids=["int", "list", "array"])
def test_states_are_of_arrays(kind, seed):
    ours = getattr(np.random, kind)(seed)
    theirs = getattr(numpy.random, kind)(seed if isinstance(seed, int) else [1, 2])
    assert same(ours.state, theirs.state)
    assert all(type(item) is np.ndarray for item in arrays(ours.state))
    words = ours.random_raw((2, 2))
    assert type(words) is np.ndarray
    assert words.tolist() == theirs.random_raw((2, 2)).tolist()
    assert ours.random_raw() == theirs.random_raw()
    theirs.state = numpy.random.Generator(ours).bit_generator.__class__(5).state  # NumPy takes ours for its own
    assert isinstance(theirs, getattr(np.random, kind))


@KINDS
def test_bit_generators_are_copied(kind):
    bits = getattr(np.random, kind)(7)
    bits.random_raw(5)
    state, sequence = bits.__getstate__()
    assert isinstance(sequence, np.random.SeedSequence)
    for clone in (pickle.loads(pickle.dumps(bits)), copy.deepcopy(bits)):
        assert type(clone) is type(bits)
        assert same(clone.state, state)
        assert clone.seed_seq.entropy == 7
    assert [type(child) for child in bits.spawn(2)] == [type(bits)] * 2


def test_a_key_in_place_of_a_seed():
    key = np.array([3, 4], dtype=np.uint64)
    assert same(np.random.Philox(key=key).state, numpy.random.Philox(key=[3, 4]).state)
    with pytest.raises(ValueError, match="seed and key"):
        np.random.Philox(1, key=key)


def test_seed_sequences():
    ours, theirs = (
        np.random.SeedSequence(np.array([1, 2]), spawn_key=(3,)),
        numpy.random.SeedSequence([1, 2], spawn_key=(3,)),
    )
    for dtype in (np.uint32, "uint64", numpy.uint64):
        words = ours.generate_state(4, dtype)
        assert type(words) is np.ndarray
        assert words.tolist() == theirs.generate_state(4, numpy.dtype(str(np.dtype(dtype)))).tolist()
    assert type(ours.entropy) is type(ours.pool) is np.ndarray
    assert ours.spawn(2)[1].generate_state(2).tolist() == theirs.spawn(2)[1].generate_state(2).tolist()
    with pytest.raises(ValueError, match="only support uint32 or uint64"):
        ours.generate_state(4, float)


def test_a_seed_sequence_of_ones_own():
    class Constant:
        def generate_state(self, n_words, dtype=np.uint32):
            return np.full(n_words, 5, dtype=dtype)

    numpy.random.bit_generator.ISeedSequence.register(Constant)
    sequence = Constant()
    rng = np.random.default_rng(sequence)
    assert rng.bit_generator.seed_seq is sequence
    assert rng.random() == np.random.default_rng(Constant()).random()
    with pytest.raises(TypeError, match="The underlying SeedSequence"):
        rng.spawn(2)


def test_pickles_that_name_the_bit_generator():
    rng = np.random.Generator(np.random.PCG64DXSM(0))
    make, (bits,), _ = rng.__reduce__()
    other = make("PCG64DXSM")
    other.bit_generator.state = bits.state
    assert other.random() == rng.random()
    rng = np.random.RandomState(np.random.MT19937(0))
    rng.standard_normal()
    make, _, state = rng.__reduce__()
    other = make("MT19937")
    other.__setstate__(state)
    assert other.normal() == rng.normal()


@pytest.mark.parametrize("axis", [1, 5, -2])
def test_choices_along_an_axis_that_is_not_there(axis: int) -> None:
    with pytest.raises(IndexError):  # which AxisError is
        np.random.default_rng(0).choice(np.arange(3.0), 2, axis=axis)
