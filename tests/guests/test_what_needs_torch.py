"""What torch cannot hold, given to what needs torch: the error names its dtype, and how to convert it."""

import numpy
import pytest

import npdec as np

GUESTS = {
    "objects": lambda: np.array([1.0, None], dtype=object),
    "text": lambda: np.array(["a", "b"]),
    "bytes": lambda: np.array([b"a"]),
    "dates": lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    "differences of dates": lambda: np.array([1], dtype="m8[s]"),
    "records": lambda: np.zeros(2, [("x", "f8")]),
    "one record": lambda: np.zeros(2, [("x", "f8")])[0],
    "record array": lambda: np.rec.array([(1.0,)], dtype=[("x", "f8")]),
    "long double": lambda: np.ones(2, np.longdouble),
    "complex long double": lambda: np.ones(2, np.clongdouble),
    "matrix": lambda: numpy.ones((1, 2)).view(np.matrix),
    "masked array": lambda: np.ma.array([1.0, 2.0], mask=[False, True]),
    "a date": lambda: np.datetime64("2020-01-01"),
    "a text": lambda: np.str_("a"),
}
CALLS = {
    "decompose": np.decompose,
    "decompose of several": lambda x: np.decompose((np.ones(2), x)),
    "baseline": lambda x: np.decompose(np.ones(2), baseline=x),
    "grad": np.func.grad(np.sum),
    "attribute": lambda x: np.attribute(np.sum, x),
    "vmap": np.vmap(np.exp),
    "jit": np.jit(np.exp),
    "device of asarray": lambda x: np.asarray(x, device="meta"),
    "device of zeros_like": lambda x: np.zeros_like(x, device="meta"),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_error_names_the_dtype_and_a_way(call):
    for name, made in GUESTS.items():
        guest = made()
        with pytest.raises(TypeError) as caught:
            CALLS[call](guest)
        said = str(caught.value)
        assert str(guest.dtype) in said or repr(guest.dtype) in said or guest.dtype.str in said, (name, said)
        assert "convert with" in said or "pass the fields" in said, (name, said)


def test_attributes_of_npdecs_arrays_say_how_to_convert():
    guests = {name: made() for name, made in GUESTS.items()}
    own = {name: guest for name, guest in guests.items() if type(guest) is type(guests["text"])}
    assert len(own) > 6
    names = {name for name in dir(np.ndarray) if not name.startswith("_") and hasattr(np.ndarray, name)}
    missing = names.difference(dir(numpy.ndarray))
    assert {"tensor", "components", "value", "residual", "labels"} < missing
    for name, guest in own.items():
        for attribute in missing:
            if attribute == "to_numpy":
                assert type(guest.to_numpy()) is numpy.ndarray
                assert numpy.shares_memory(guest.to_numpy(), guest)
                continue
            assert not hasattr(guest, attribute)
            with pytest.raises(AttributeError, match=f"^{attribute}: .*(convert with|pass the fields)") as caught:
                getattr(guest, attribute)
            assert repr(guest.dtype) in str(caught.value), (name, attribute)
        with pytest.raises(AttributeError, match="'guest' object has no attribute 'units'"):
            _ = guest.units


def test_a_guest_moves_to_the_host_alone():
    guest = np.array(["a", "b"])
    assert guest.to_device("cpu").tolist() == ["a", "b"]
    assert np.asarray(guest, device=np.ones(1).tensor.device).tolist() == ["a", "b"]
    with pytest.raises(TypeError, match=r"dtype\('<U1'\).*convert with"):
        guest.to_device("meta")
    with pytest.raises(ValueError, match="Device not understood"):
        np.asarray(guest, device="nowhere")


def test_a_mask_is_not_dropped_by_the_advice():
    with pytest.raises(TypeError, match="filled"):
        np.decompose(np.ma.array([1.0, 2.0], mask=[False, True]))
    assert isinstance(np.asarray(numpy.ones(2), device="meta"), np.ndarray)
