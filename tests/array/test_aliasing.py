"""Arrays that share memory: single cases. `test_aliasing_machine` draws them at random."""

from __future__ import annotations

import gc
import itertools
import operator
import warnings

import numpy
import pytest
import torch

import npdec as np

RAVELS = {
    "whole": lambda x: x,
    "rows reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "a row of it": lambda x: x[::-1][0],
    "rows of it": lambda x: x[::-1][1:2],
    "a row reversed": lambda x: x[0][::-1],
    "both reversed": lambda x: x[::-1, ::-1],
    "one element": lambda x: x[::-1, ::-1][:1, :1],
}


@pytest.mark.parametrize("order", [(), *"CFAK"], ids=str)
def test_ravel_copies_what_does_not_follow_in_memory(order):
    def raveled(lib, take):
        x = lib.arange(6).reshape(2, 3)
        flat = take(x).ravel(*order)
        told = flat.flags.owndata, lib.shares_memory(flat, x)
        flat[0] = 99
        return told, flat.tolist(), x.tolist(), lib.ravel(take(x), *order).tolist()

    for name, take in RAVELS.items():
        assert raveled(np, take) == raveled(numpy, take), name


def test_unaligned_views_share_memory():
    for lib in (np, numpy):
        x = lib.zeros(33, dtype="u1")
        view = x[1:].view("f8")
        assert lib.shares_memory(view, x)
        assert not lib.shares_memory(view, x[:1])
        assert not lib.may_share_memory(view[:2], lib.zeros(2))


# --- what random programs found ---------------------------------------------------------------------------------------


def test_an_element_is_written_over_itself():
    x = np.decompose(np.array(3.0))
    x[np.array(True)] = x
    assert x.components == x.value == 3
    x.flat[np.array([0, 0])] = np.array([1.0, 2.0])
    assert x.value == x.residual == 2


def test_what_turns_out_as_a_copy_is_writable_and_no_view():
    for lib in (np, numpy):
        windows = lib.lib.stride_tricks.sliding_window_view(lib.arange(3.0), 2)
        for x in (lib.broadcast_to(lib.arange(3.0), (2, 3)), windows, windows[::-1], windows.T[:, ::-1]):
            assert not x.flags.writeable
            kept = x.tolist()
            for flat in (x.ravel(), x.ravel("F"), x.reshape(-1), x.reshape((1, -1), order="F")):
                assert flat.flags.writeable
                flat[..., 0] = 9
                assert x.tolist() == kept
            assert x.ravel().flags.owndata


def test_views_of_no_elements_are_writable():
    for lib in (np, numpy):
        assert lib.moveaxis(lib.zeros((4, 0)).T[::2], 0, 1).flags.writeable


def test_arrays_without_axes():
    for lib in (np, numpy):
        x = lib.array(3.0)
        assert lib.permute_dims(x, ()) is not x
        assert isinstance(lib.flip(x), lib.float64)
        assert isinstance(lib.nan_to_num(x, copy=False), lib.float64)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("decomposed", [False, True])
def test_nan_to_num_writes_nothing_where_no_number_can_be_nan(dtype, decomposed):
    theirs, ours = numpy.arange(3).astype(dtype), np.arange(3.0)
    ours = (np.decompose(ours, baseline=0.5) if decomposed else ours).astype(dtype)
    theirs.flags.writeable = ours.flags.writeable = False
    if dtype in ("bool", "int8", "int64"):
        assert numpy.nan_to_num(theirs, copy=False) is theirs
        assert np.nan_to_num(ours, copy=False) is ours
        return
    for n, x in ((numpy, theirs), (np, ours)):
        with pytest.raises(ValueError, match="read-only"):
            n.nan_to_num(x, copy=False)


def test_a_broadcast_view_is_alive_when_labels_are_added():
    x = np.decompose(np.array([1.0, 2.0]), labels=["a", "b"])
    rows = np.broadcast_to(x, (3, 2))
    x += np.decompose(np.array([4.0, 8.0]), labels=["c", "d"])
    assert rows.labels == ("a", "b", "c", "d")
    assert rows.value.tolist() == [[5, 10]] * 3
    assert numpy.abs(numpy.asarray(np.completeness(rows))).max() == 0


def test_a_reversed_view_reshaped_is_a_copy_where_numpys_is():
    def reshaped(lib):
        x = lib.arange(6.0).reshape(2, 3)
        told = []
        for view in (x[::-1], x[:, ::-1], x[::-1, ::-1], x[0, ::-1]):
            flat = view.reshape(-1)
            flat[0] += 10
            told.append((flat.tolist(), lib.shares_memory(flat, x)))
        return told, x.tolist()

    assert reshaped(np) == reshaped(numpy)


def test_shapes_set_in_place_beside_reversed_views():
    def written(lib):
        x = lib.arange(6.0)
        back = x[::-1]
        x.shape = (2, 3)
        back[0] = 9
        x[0, 0] = 7
        back.shape = (3, 2)
        back[2, 1] += 1
        rows = x[::-1]
        with pytest.raises(AttributeError):
            rows.shape = (6,)
        return x.tolist(), back.tolist(), rows.tolist()

    assert written(np) == written(numpy)


def test_views_follow_where_contributions_lie_otherwise_in_memory():
    """The residual of a sum lies in another order than its value, so that reshaping copies it alone."""
    x = np.decompose(np.arange(6.0).reshape(2, 3), axis=0, labels=["a", "b"]).T + np.ones((3, 2))
    flat = x.reshape(-1, order="F")
    assert np.shares_memory(flat, x)
    flat[0] = np.decompose(np.array(5.0), baseline=1.0, labels=["b"], axis=())
    x[2, 1] = 2.0
    assert x.residual[0, 0] == flat.residual[0] == 1
    assert x.components[:, 0, 0].tolist() == flat.components[:, 0].tolist() == [0, 4]
    assert x.residual[2, 1] == flat.residual[-1] == 2
    assert not flat.components[:, -1].any()


def test_contributions_and_views_of_another_dtype():
    """Integers in the memory of decomposed numbers carry none; written, they drop those of the elements they cover."""
    x = np.zeros(3)
    bits, halves = x.view(np.int64), x.view(np.float32)
    x[...] = np.decompose(np.array([1.0, 2.0, 3.0]), labels=["a", "b", "c"])
    assert x.is_decomposed
    assert not bits.is_decomposed
    assert not halves.is_decomposed
    with pytest.warns(np.exceptions.DecompositionWarning, match="another dtype"):
        bits[:1].fill(0)  # the view lies in the first element alone
    assert x.residual.tolist() == [0, 0, 0]
    assert x.components.sum(0).tolist() == [0, 2, 3]
    with pytest.warns(np.exceptions.DecompositionWarning):
        halves[4:].fill(np.decompose(np.float32(0)))
    assert x.tolist() == [0, 2, 0]
    assert x.components.sum(0).tolist() == [0, 2, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x += x
    assert bits.tolist() == x.value.view(np.int64).tolist()


REFUSED = {
    "a shape that does not fit": lambda bits: operator.setitem(bits, slice(0, 1), [1, 2, 3]),
    "too many for a mask": lambda bits: operator.setitem(bits, bits > 0, [1, 2, 3]),
    "an index out of bounds": lambda bits: operator.setitem(bits, [5], 1),
    "too many indices": lambda bits: operator.setitem(bits, (0, 0), 1),
    "copyto": lambda bits: np.copyto(bits, [1, 2, 3]),
    "put": lambda bits: np.put(bits, [7], 1),
    "put_along_axis": lambda bits: np.put_along_axis(bits, np.array([9]), 1, 0),
    "place": lambda bits: np.place(bits, [True, True], []),
    "fill_diagonal": lambda bits: np.fill_diagonal(bits, 1),
    "a view that torch cannot make": lambda bits: operator.setitem(bits[::-1], slice(0, 1), [1, 2, 3]),
    "NumPy's own": lambda bits: numpy.frompyfunc(abs, 1, 1)(bits, out=bits),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_a_write_that_is_refused_drops_nothing_under_another_dtype(refused):
    x = np.zeros(2)
    bits = x.view(np.int64)
    x[...] = np.decompose(np.array([3.0, numpy.inf]), baseline=np.array([1.0, 2.0]), labels=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.DecompositionWarning)
        with pytest.raises((ValueError, IndexError, TypeError)):
            refused(bits)
    assert x.residual.tolist() == [1, 2]
    assert x.components.tolist() == [[2, 0], [0, numpy.inf]]


def test_a_write_that_fails_half_way_drops_what_it_reached_under_another_dtype():
    size = 20000  # NumPy writes what is cast in blocks of 8192
    x = np.zeros(size)
    bits = x.view(np.int64)
    x[...] = np.decompose(np.full(size, 3.0), baseline=np.ones(size), groups=np.arange(size) % 2, labels=["a", "b"])
    calls = iter(range(10000))
    with pytest.raises(StopIteration), pytest.warns(np.exceptions.DecompositionWarning, match="another dtype"):
        numpy.frompyfunc(lambda number: 0 * next(calls), 1, 1)(bits, out=bits, casting="unsafe")
    reached = x.value == 0
    assert 0 < reached.sum() < size
    assert x.residual.tolist() == np.where(reached, 0, 1).tolist()
    assert x.components.sum(0).tolist() == np.where(reached, 0, 2).tolist()


REVERSED = {
    "a row": lambda x: x[1][::-1],
    "a row of what is reversed": lambda x: x[::-1][0],
    "every second element": lambda x: x[:, ::-2],
    "reversed again": lambda x: x[::-1][1:][::-1, :2],
    "flipped": lambda x: numpy.flip(x, 1)[:, 1:] if isinstance(x, numpy.ndarray) else np.flip(x, 1)[:, 1:],
}


@pytest.mark.parametrize("look", REVERSED.values(), ids=REVERSED)
def test_bits_in_reversed_copies_drop_what_they_cover(look):
    x = np.zeros((2, 3))
    bits = look(x.view(np.int64))
    x[...] = np.decompose(np.full((2, 3), 3.0), baseline=1.0, axis=1)
    with pytest.warns(np.exceptions.DecompositionWarning, match="another dtype"):
        bits[...] = 0
    kept = numpy.ones((2, 3))
    look(kept)[...] = 0
    assert x.value.tolist() == (3 * kept).tolist()
    assert x.residual.tolist() == kept.tolist()
    assert x.components.sum(0).tolist() == (2 * kept).tolist()


def test_a_view_keeps_its_base_when_nobody_else_has_it():
    views = {
        "view": lambda x: x.view(),
        "view of the dtype": lambda x: x.view(x.dtype),
        "all": lambda x: x[...],
        "transposed": lambda x: x.T,
        "reshaped": lambda x: x.reshape(x.shape),
    }
    bits = {
        "other dtype": lambda x: x.view(np.int64),
        "smaller": lambda x: x.view(np.int32) if x.ndim else x.getfield(np.int32, 4),
        "field": lambda x: x.getfield(np.int32, 4),
        "all of a field": lambda x: x.getfield(np.float64),
        "reversed bits": lambda x: x.view(np.int64)[::-1] if x.ndim else x.view(np.int64),
        "bits of a part": lambda x: x[1:].view(np.int64) if x.ndim else x[None].view(np.int64),
        "unaligned": lambda x: x.getfield(np.int32, 1),
    }
    for look in bits.values():
        assert look(np.zeros(2))[0].base is None  # a scalar
        owner = np.zeros((2, 2))
        assert look(owner).base is owner
        assert look(owner[1:]).base is owner
    for lib in (np, numpy):
        given = lib.frombuffer(bytes(16), dtype=lib.float64)
        assert given.view(lib.int64).base is given
        assert isinstance(given.base, bytes)
    for shape in ((), (2,)):
        for name, look in (views | bits).items():
            if name in bits:
                seen = look(np.zeros(shape))
                assert seen.base is not None, (name, shape)
                assert seen[...].base is not None, (name, shape)
                assert not seen.flags.owndata, (name, shape)
                continue
            for made in (np.zeros(shape), np.decompose(np.ones(shape))):
                seen = [look(made)]
                del made
                gc.collect()
                assert seen[0].base is not None, (name, shape)
                assert not seen[0].flags.owndata, (name, shape)


def test_views_of_an_owner_that_nobody_holds_have_one_base():
    for lib in (np, numpy):
        x = lib.arange(18.0).reshape(2, 3, 3)
        for seen in (x, x[1:], x.T, x[::-1], x[::-1][:, ::-1], x[0][1:]):
            assert seen.base is x.base, (lib, seen.shape)
        held = x.base
        assert held.shape == (18,)
        assert held.base is None
        assert held[1:].base is held is x.base
        x[0, 0, 0] = 5
        assert held[0] == 5
    y = np.decompose(np.ones(6)).reshape(2, 3)
    assert y[1:].base is y.base


def test_labels_reach_real_parts_of_complex_numbers_that_are_pairs_of_real_ones():
    pairs = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    for memory in (torch.zeros(3, 2, dtype=torch.float64), pairs * 1):
        z = np.asarray(torch.view_as_complex(memory))
        real = z.real
        for i, label in enumerate("abc"):
            z[i] = np.decompose(np.array(2 + 1j), labels=[label])
        assert real.labels == z.labels == ("a", "b", "c")
        assert real.value.tolist() == [2, 2, 2]
        assert real.components.tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
        real += z.imag
        assert z.tolist() == [3 + 1j] * 3


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("before", [lambda x: x[None], lambda x: x[1:], lambda x: x.T, lambda x: x[:, ::2][1:]])
def test_labels_reach_real_parts_of_views_that_nobody_has_any_more(before, part):
    labels = {"groups": np.zeros((3, 3), dtype=int), "labels": ["b"]}
    given = {
        "array": np.decompose(np.full((3, 3), 2 + 1j), **labels),
        "tensor": np.asarray(np.decompose(torch.full((3, 3), 2 + 1j), **labels)),
        "plain": np.asarray(torch.full((3, 3), 2 + 1j)),
        "plain array": np.full((3, 3), 2 + 1j),
    }
    for name in list(given):
        x = given.pop(name)
        kept, seen = x[1:], getattr(before(x), part)
        carried = x.labels
        del x
        seen += np.decompose(np.ones(seen.shape[-1:]), labels=["a"], groups=np.zeros(seen.shape[-1:], dtype=int))
        assert seen.labels == kept.labels == (*carried, "a"), name
        own = {"real": kept.real, "imag": kept.imag}
        moved = own.pop(part)
        wanted = numpy.zeros((3, 3))
        before(wanted)[...] = 1
        assert moved.components[-1].tolist() == wanted[1:].tolist(), name
        assert not np.any(own.popitem()[1].components[-1]), name


def test_the_value_of_a_decomposed_array_is_read_only():
    x = np.decompose(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="read-only"):
        x.value[0] = 5
    plain = np.zeros(2)
    plain.value[:] = x
    assert plain.is_decomposed


def test_contiguity_of_reversed_views():
    def told(lib):
        x = lib.arange(6.0).reshape(2, 3)
        views = x[::-1], x[0, ::-1], x.T[::-1], x[::-1][:1], x[::-1, ::-1]
        for view in views:
            lib.ascontiguousarray(view)[...] = 0 if view.ndim > 1 else 1
            lib.asarray(view, order="F")
        flags = [(view.flags.c_contiguous, view.flags.f_contiguous) for view in views]
        return flags, [lib.ascontiguousarray(view) is view for view in views], x.tolist()

    assert told(np) == told(numpy)


def test_a_condition_on_one_number_of_a_0d_array():
    """x[x > bound] = y, of an array without axes: the condition has none either."""
    x = np.decompose(np.array([3.0]))[0].reshape(())
    x = np.asarray(x)
    x[x > 1] = 5.0
    assert x.value == 5 == x.residual + x.components.sum()


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("copies", ["reshape", "ravel"])
def test_a_copy_of_what_has_a_reversed_view_is_alone(copies, before):
    """x.T.reshape(-1) has to copy: what is written into it is in no other array, and makes no other one decomposed."""
    x = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    flat = x.T.reshape(-1) if before else None
    back = x[:, ::-1]
    flat = x.T.reshape(-1) if copies == "reshape" and not before else flat if before else x.T.ravel()
    np.add.at(flat, np.array([1, 5, 1]), np.decompose(np.array(0.5), labels="d"))
    assert flat.tolist() == [0, 4, 1, 4, 2, 5.5]
    assert flat.components.tolist() == [[0, 1, 0, 0, 0, 0.5]]
    assert not x.is_decomposed
    assert not back.is_decomposed
    assert back.tolist() == [[2, 1, 0], [5, 4, 3]]
    x[0, 0] = np.decompose(np.array(7.0), labels="e")
    assert back.is_decomposed
    assert flat.labels == ("d",)


# --- reversed views, and views of their bits --------------------------------------------------------------------------


WRITES = {
    "setitem": lambda lib, t, y: t.__setitem__(..., y),
    "reversed": lambda lib, t, y: t.__setitem__(slice(None, None, -1), y),
    "half": lambda lib, t, y: t.__setitem__(slice(None, None, 2), y[::2]),
    "indices": lambda lib, t, y: t.__setitem__([1, 0], y[:2]),
    "mask": lambda lib, t, y: t.__setitem__(lib.arange(len(t)) > 0, y[1:]),
    "copyto": lambda lib, t, y: lib.copyto(t, y),
    "copyto where": lambda lib, t, y: lib.copyto(t, y, where=lib.arange(len(t)) > 0),
    "putmask": lambda lib, t, y: lib.putmask(t, lib.arange(len(t)) > 0, y),
    "place": lambda lib, t, y: lib.place(t, lib.arange(len(t)) > 0, y),
    "put": lambda lib, t, y: lib.put(t, [1, 0], y[:2]),
    "put_along_axis": lambda lib, t, y: lib.put_along_axis(t, lib.array([1]), y[:1], 0),
    "flat": lambda lib, t, y: t.flat.__setitem__(slice(None), y),
    "fill": lambda lib, t, y: t.fill(y[0]),
    "out": lambda lib, t, y: lib.add(y, 0, out=t),
}
CHAINS = {  # each view is of one of those before, the last is written
    "bits of the copy": lambda x, bits: (x, x[::-1], x[::-1].view(bits)),
    "bits of a copy's part": lambda x, bits: (x, (back := x[::-1]), back[1:], back[1:].view(bits)),
    "a copy of its bits": lambda x, bits: (x, (back := x[::-1]), (seen := back.view(bits)), seen[::-1]),
    "bits of a copy's copy": lambda x, bits: (x, (back := x[::-1]), (again := back[::-1]), again.view(bits)),
    "a copy of bits": lambda x, bits: (x, x[::-1], (seen := x.view(bits)), seen[::-1]),
    "bits beside the copy": lambda x, bits: (x, x[::-1], x.view(bits)),
    "the copy": lambda x, bits: (x, x.view(x.dtype), x[::-1]),
}


def agree(views, models):
    """The numbers are NumPy's, to the bit, and parts add up."""
    for view, model in zip(views, models, strict=True):
        value = view.value
        assert numpy.array(value).tobytes() == model.tobytes()
        if view.is_decomposed:
            assert (view.residual + view.components.sum(0) == value).all()


def contributing(numbers, baseline):
    """They are decomposed by elements, under labels of their places; integers from floats, whose steps they are."""
    ends = (np.array(end.astype(end.dtype if end.dtype.kind in "fc" else float)) for end in (numbers, baseline))
    made = np.decompose(next(ends), baseline=next(ends), axis=0, labels=range(len(numbers)))
    return made.astype(str(numbers.dtype))


@pytest.mark.filterwarnings("ignore::npdec.exceptions.DecompositionWarning")
@pytest.mark.parametrize("bits", ["int64", "complex64"])
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_decomposed_numbers_are_written_into_bits_of_reversed_copies(write, chain, bits):
    """The memory that is seen as the dtype of what is written gets contributions, all other only the bytes. Then
    decomposed numbers are written over these, through each of the views."""
    views, models = (list(chain(lib.arange(1.0, 5.0), bits)) for lib in (np, numpy))
    target, model = views[-1], models[-1]
    n = len(model)
    numbers, baseline = ((k * numpy.arange(n) + 3).astype(model.dtype) for k in (1, 2))
    carried = float if bits == "int64" else model.dtype
    parts = [model.copy(), *numpy.zeros((n, n), carried)]
    write(np, target, contributing(numbers, baseline))
    for part, its in zip([model, *parts], [numbers, baseline, *numpy.diag(numbers - baseline)], strict=True):
        write(numpy, part, its.astype(part.dtype))
    agree(views, models)
    assert [view.is_decomposed for view in views] == [its.dtype == model.dtype for its in models]
    assert target.residual.tolist() == parts[0].tolist()
    shares = dict.fromkeys(range(n), [0] * n) | dict(zip(target.labels, target.components.tolist(), strict=True))
    assert list(shares.values()) == [part.tolist() for part in parts[1:]]
    for view, its in zip(views, models, strict=True):
        fresh = (numpy.arange(len(its)) + 7).astype(its.dtype)
        view[...] = contributing(fresh, fresh - 1)
        its[...] = fresh
        agree(views, models)


@pytest.mark.parametrize("carries", [False, True], ids=["plain", "decomposed"])
def test_unaligned_views_drop_the_contributions_of_what_they_write(carries):
    x, model = np.array(numpy.float32([1, 2, 3, 4])), numpy.float32([1, 2, 3, 4])
    double, twin = x[1:3].view("float64"), model[1:3].view("float64")
    x[...] = contributing(model, model - 1)
    with pytest.warns(np.exceptions.DecompositionWarning, match="another dtype"):
        double[...] = contributing(numpy.array([5.0]), numpy.array([2.0])) if carries else 5.0
    twin[...] = 5
    agree([x, double], [model, twin])
    assert x.residual.tolist() == [0, *model[1:3].tolist(), 3]


def test_bits_are_written_while_the_error_of_another_write_is_kept():
    x = np.array([1.0, 2.0])
    back = x[::-1]
    bits = back.view("int64")
    with pytest.raises(TypeError) as kept:
        np.place(bits, np.array([True, True]), np.decompose(np.array([3.5, 4.5])))
    x[...] = np.decompose(np.array([5.0, 6.0]), labels=["a", "b"])
    assert back.components.tolist() == [[0, 5], [6, 0]]
    assert bits.tolist() == numpy.array([6.0, 5.0]).view("int64").tolist()
    del kept


LOOKS = {
    "reversed": lambda x: x[::-1],
    "columns reversed": lambda x: x[:, ::-1],
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "T": lambda x: x.T,
    "rest": lambda x: x[1:],
    "every other column": lambda x: x[:, ::2],
    "every other row backwards": lambda x: x[::-2],
}


@pytest.mark.parametrize("decomposed", [False, True])
@pytest.mark.parametrize("first", LOOKS)
def test_views_of_views_share_memory_and_writes(first, decomposed):
    for rest in itertools.product(LOOKS.values(), repeat=2):
        numbers = numpy.arange(12).reshape(3, 4) * (1 + 2j)
        theirs, ours = [numbers], [np.array(numbers)]
        if decomposed:
            ours = [np.decompose(ours[0], axis=0)]
        for look in (LOOKS[first], *rest):
            theirs.append(look(theirs[-1]))
            ours.append(look(ours[-1]))
        if not theirs[-1].flags.writeable:  # the imaginary part of real numbers
            continue
        for i, j in itertools.combinations(range(4), 2):
            assert np.shares_memory(ours[i], ours[j]) == numpy.shares_memory(theirs[i], theirs[j]), (rest, i, j)
        theirs[-1][...] = 9
        ours[-1][...] = 9
        for a, b in zip(ours, theirs, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(getattr(a, "value", a)), b)
