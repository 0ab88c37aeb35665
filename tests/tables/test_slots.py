"""What modules give to those before them in the order of imports is given once."""

import pytest
import torch

from npdec._array import wrap
from npdec._core import door
from npdec._core.slots import Slot
from npdec._decomposed import tensor
from npdec._guests import array
from npdec._impl import _host


@pytest.mark.parametrize(
    "slot",
    [wrap.NAMESPACE, door.behind, array.methods, tensor.first_use, tensor.dispatch, tensor.ordinary],
    ids=lambda s: s.name,
)
def test_a_slot_is_filled_once(slot):
    tensor.first_use.value()  # fills those of dispatch
    kept = slot.value
    with pytest.raises(RuntimeError, match="is filled already"):
        slot.fill(None)
    assert slot.value is kept


def test_an_empty_slot_has_no_value():
    with pytest.raises(AttributeError, match="value"):
        Slot("of nothing").value


def test_the_class_of_arrays_and_the_conversions_are_set_once():
    with pytest.raises(RuntimeError, match="already"):
        wrap.register_array(wrap.ARRAY)
    with pytest.raises(RuntimeError, match="already"):
        _host.install(torch.as_tensor, lambda tensor: tensor, lambda made, obj, device: made)
