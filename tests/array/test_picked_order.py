"""Which way lies in memory what arrays of indices choose, among slices, ints and new axes: as in NumPy, so that a
reshaped result is a view where NumPy's is."""

import random
import warnings

import numpy
import pytest

import npdec as np
import tiers

SIZES = (3, 2, 4, 3)


def filled(n, shape):
    return n.array([float(i) for i in range(int(numpy.prod(shape)))]).reshape(shape)


# A function of the module, a way to make an array, and a shape.
BASES = {
    "C": lambda n, make, s: make(n, s),
    "F": lambda n, make, s: make(n, s[::-1]).T,
    "last axis reversed": lambda n, make, s: make(n, s)[..., ::-1],
    "first axis reversed": lambda n, make, s: make(n, s)[::-1],
    "first axes swapped": lambda n, make, s: make(n, s[1::-1] + s[2:]).swapaxes(0, 1 if len(s) > 1 else 0),
    "last axes swapped": lambda n, make, s: make(n, s[:-2] + s[:-3:-1]).swapaxes(-1, -2 if len(s) > 1 else -1),
    "equal rows": lambda n, make, s: n.broadcast_to(make(n, s[1:]), s) if len(s) > 1 else make(n, s),
    "equal columns": lambda n, make, s: n.broadcast_to(make(n, (*s[:-1], 1)), s),
}
OF_AN_AXIS = {
    "0": lambda n: 0,
    ":": lambda n: slice(None),
    "1:": lambda n: slice(1, None),
    "::-1": lambda n: slice(None, None, -1),
    "number": lambda n: n.array(1),
    "vector": lambda n: n.array([1, 0, 1]),
    "column": lambda n: n.array([[1], [0]]),
    "list": lambda n: [1, 0, 1],
    "int32": lambda n: n.array([1, 0, 1], dtype="int32"),
    "table": lambda n: n.array([[1, 0, 1], [0, 1, 0]]),
    "table, F": lambda n: n.array([[1, 0], [0, 1], [1, 0]]).T,
    "table, reversed": lambda n: n.array([[1, 0, 1], [0, 1, 0]])[::-1],
    "cube, turned": lambda n: n.array([[[1, 0, 1], [0, 1, 0]]] * 2).transpose(2, 0, 1),
    "cube": lambda n: n.array([[[1, 0], [0, 1]]] * 3),
    "cube, one row": lambda n: n.array([[1, 0], [0, 1]]).T[None],
}
ITEMS = {**OF_AN_AXIS, "None": lambda n: None, "...": lambda n: Ellipsis, "True": lambda n: True}
VIEWS = ("0", ":", "1:", "::-1", "None", "...")
CHOSEN = [name for name in ITEMS if name not in VIEWS]


def is_key(names, rank):
    """Whether these are the items of a key of an array of so many axes, with arrays among them."""
    used = sum(name in OF_AN_AXIS for name in names)
    few = names.count("...") < 2 and names.count("None") < 2
    return used <= rank and few and not set(CHOSEN).isdisjoint(names)


def masks(n, shape):
    """Keys with arrays of booleans."""
    for axis, size in enumerate(shape):
        mask = n.array([i % 2 == 0 for i in range(size)])
        before = [slice(1, None)] * axis
        yield (*before, mask)
        yield (*before, mask, ..., None)
        if axis + 1 < len(shape):
            yield (*before, mask, slice(None, None, -1))
            yield (*before, mask, n.array([1, 0])[: int(mask.sum())])
    if len(shape) > 1:
        mask = n.array([[(i + j) % 2 == 0 for j in range(shape[1])] for i in range(shape[0])])
        yield (mask,)
        yield (mask, None)


def told(n, x, key):
    try:
        made = x[key]
    except IndexError as error:
        return str(error)
    if not getattr(made, "ndim", 0):
        return float(made)
    flags = made.flags.c_contiguous, made.flags.f_contiguous
    strides = [stride for stride, size in zip(made.strides, made.shape, strict=True) if size > 1] if made.size else None
    shared = [n.shares_memory(made, flat) for flat in (made.reshape(-1), made.ravel(), made.ravel("K"))]
    return made.shape, strides, flags, shared if made.size else None, made.tolist()


def check(make, rank, base, names, sizes=SIZES):
    shape = sizes[:rank]
    theirs, ours = BASES[base](numpy, filled, shape), BASES[base](np, make, shape)
    picks = [(names, [tuple(ITEMS[name](n) for name in names) for n in (numpy, np)]) for names in names]
    picks += [("mask", list(pair)) for pair in zip(masks(numpy, shape), masks(np, shape), strict=True)]
    for what, (of_numpy, mine) in picks:
        if base == "equal rows" and "::-1" in what and set(what).isdisjoint(CHOSEN[1:-1]):
            continue  # a reversed view of npdec's is a copy in memory, in which rows are no longer one
        assert told(np, ours, mine) == told(numpy, theirs, of_numpy), (base, what)


def drawn(rank, base, count):
    """So many different keys at most."""
    source, found = random.Random(f"{rank} {base}"), {}
    for _ in range(20 * tiers.fewer(count, 25)):
        names = tuple(source.choices(list(ITEMS), k=source.randint(1, rank + 1)))
        if is_key(names, rank):
            found[names] = None
    return list(found)[: tiers.fewer(count, 25)]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rank", range(1, 5))
def test_plain_arrays(rank, base):
    check(filled, rank, base, drawn(rank, base, 400))


@pytest.mark.parametrize("base", tiers.turns(BASES, 0, 3))
def test_large_arrays(base):
    check(filled, 4, base, drawn(4, base, 25), (30, 20, 40, 3))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rank", range(1, 5))
def test_decomposed_arrays(rank, base):
    def make(n, shape):
        return np.decompose(filled(np, shape), baseline=0.5)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.DecompositionWarning)  # float() of a scalar
        check(make, rank, base, drawn(rank, base, 200))


WRITTEN = [
    (slice(None), [2, 0]), (slice(1, None), [[1, 0], [0, 1]]), (..., [0, 1]), ([1, 0], slice(1, None)),
    (slice(None), [1, 0], slice(1, None)), (0, slice(None), [2, 0]), (slice(None, None, -1), [1, 0]),
    (None, slice(None), [1, 1]), (slice(None), slice(1, None), [2, 1]),
]  # fmt: skip


@pytest.mark.parametrize("key", WRITTEN, ids=str)
@pytest.mark.parametrize("base", ["C", "F", "first axes swapped"])
def test_writes_are_seen_where_numpys_are(base, key):
    """In the value, and in the parts, which add up to it."""
    groups = [f"g{i % 3}" for i in range(24)]

    def program(x):
        made = x[key]
        flat = made.reshape(-1)
        made[0] = made[0] * 2 + 1
        return made, flat

    shape = (2, 3, 4)
    theirs = BASES[base](numpy, filled, shape)
    x, r = (BASES[base](np, filled, shape) for _ in range(2))
    r = r * 0.25
    ours = np.decompose(x, baseline=r, groups=np.array([int(name[1]) for name in groups]).reshape(shape))
    for made, wanted, at_baseline in zip(program(ours), program(theirs), program(theirs * 0.25), strict=True):
        assert made.value.tolist() == wanted.tolist()
        assert made.residual.tolist() == at_baseline.tolist()
        assert np.allclose(made.value, made.residual + made.components.sum(0), rtol=0, atol=1e-12)
