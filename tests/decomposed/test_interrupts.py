"""Writes that are interrupted: a sample of what `scripts/interrupts.py` draws, and single cases."""

from __future__ import annotations

import dis
import os
import sys
import threading
import warnings

import numpy
import pytest
import torch

import interrupted
import npdec as np
import tiers
from npdec import DecomposedTensor
from npdec._torch import interrupts
from tiers import fewer

# An interrupt may come while hypothesis, which pytest has loaded, counts what the garbage collector does.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize("way", interrupted.WAYS)
def test_a_write_is_whole_or_did_not_happen(way):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals arrive in the main thread")
    count = fewer(200 if way == "signal" else 100)
    hits, failures = interrupted.explore(way, count)
    assert hits >= count
    assert not failures, "\n".join(failures)


def decomposed(numbers):
    return np.decompose(np.array(numbers), labels=["a", "b", "c"][: len(numbers)])


FAILING = {
    "index": lambda x, y: x.__setitem__(5, y[0]),
    "shape": lambda x, y: x.__setitem__(slice(None), y),
    "array of indices": lambda x, y: x.__setitem__([0, 5], y),
    "values for an array of indices": lambda x, y: x.__setitem__([0, 1, 2], y),
    "put": lambda x, y: np.put(x, [7], y),
    "put_along_axis": lambda x, y: np.put_along_axis(x, np.array([7]), y, 0),
    "copyto": np.copyto,
    "out": lambda x, y: np.exp(y, out=x),
}


@pytest.mark.parametrize("write", FAILING.values(), ids=FAILING)
@pytest.mark.parametrize(
    "before", [np.zeros(3), np.zeros(4)[1:], decomposed([1.0, 2.0, 3.0])], ids=["own", "view", "d"]
)
def test_what_failed_can_be_done_while_the_error_is_kept(write, before):
    """As in a session at a terminal, which keeps the last one, with all that was made on the way."""
    x, y = np.array(before), np.decompose(np.array([4.0, 5.0]), labels=["d", "e"])
    x = x if before.base is None else np.concatenate([x, x])[:3]
    decomposed_before = x.is_decomposed
    with pytest.raises((IndexError, ValueError)) as kept:
        write(x, y)
    assert x.is_decomposed is decomposed_before
    assert x.tolist() == before.tolist()
    x[1] = y[0]
    assert x.labels[-2:] == ("d", "e")
    assert x[1].components.tolist()[-2:] == [4, 0]
    assert x[0].value == before[0].value
    del kept


@pytest.mark.parametrize(
    "write", [lambda x, y: x.__setitem__(5, y[0]), lambda x, y: x.copy_(y)], ids=["index", "copy_"]
)
def test_a_tensor_that_failed_can_be_written_while_the_error_is_kept(write):
    x, y = torch.zeros(3), np.decompose(torch.tensor([4.0, 5.0]), labels=["d", "e"])
    with pytest.raises((IndexError, RuntimeError)) as kept:
        write(x, y)
    assert type(x) is torch.Tensor
    x[1] = y[0]
    assert x.components.tolist() == [[0, 4, 0], [0, 0, 0]]
    del kept


def test_one_step_fails():
    """The first of the calls that are one raises: none is made. A later one raises: the others are."""
    done, failures = [], []

    def step(name):
        if name in failures:
            failures.remove(name)
            raise MemoryError(name)
        done.append(name)

    steps = [(step, name) for name in "abc"]
    for fails, left in (("a", []), ("b", ["a", "b", "c"]), ("c", ["a", "b", "c"])):
        done.clear()
        failures.append(fails)
        with pytest.raises(MemoryError, match=fails):
            interrupts.commit(steps)
        assert done == left


def test_each_of_several_outputs():
    done = []

    def write(number):
        done.append(number)
        if done == [0, 1]:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        interrupts.each(write, [(0,), (1,), (2,)])
    assert done == [0, 1, 1, 2]
    assert interrupts.each(write, [(3,), (4,)]) == [3, 4]


def test_a_sum_with_a_view_of_itself_leaves_both_as_they_are():
    """What an operation that was interrupted had done to its operand: components of which a sum was made in place."""
    x = np.decompose(np.array(numpy.arange(4096.0).reshape(64, 64)), axis=0, baseline=0.5)
    back = x.T
    before = x.components.copy(), back.components.copy()
    total = back + x
    assert (x.components == before[0]).all()
    assert (back.components == before[1]).all()
    assert (total.components == before[0] + before[1]).all()


def test_two_outputs_in_one_memory_in_reverse_mode():
    """torch takes the second for a leaf, once the first is written. The derivative is that of both."""

    def halves(x):
        out = np.zeros(6)
        np.divmod(x, 0.75, out=(out[:3], out[3:]))
        return (out * np.arange(6.0)).sum()

    x = np.array([1.0, 2.0, 3.0])
    found = np.attribute(halves, x)
    quotient, rest = divmod(3.0, 0.75)
    assert found.value == 1 * (2.0 // 0.75) + 2 * quotient + 3 * (1 % 0.75) + 4 * (2 % 0.75) + 5 * rest
    assert abs(found.attribution.sum() - (found.value - found.residual)) < 1e-12


def test_a_warning_that_is_an_error_leaves_no_copy_behind():
    x = np.array([1.0, 2.0, 3.0])
    back, bits = x[::-1], x.view("int64")
    x[:] = decomposed([4.0, 5.0, 6.0])
    with pytest.warns(np.exceptions.DecompositionWarning):
        bits[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(np.exceptions.DecompositionWarning):
            bits[2] = 0
    assert x.tolist() == [0, 5, 0]
    assert back.tolist() == [0, 5, 0]
    assert back.components.tolist() == x.components[:, ::-1].tolist()


# --- what is switched off for a while ---------------------------------------------------------------------------------


# After these instructions Python looks for signals.
CHECKED = frozenset({"RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD"})
# npdec's own files, and its compiled wrappers: not what lies below a folder of that name, as an environment may.
OWN = (os.path.join(os.path.dirname(np.__file__), ""), "<npdec")


def interrupted_at_each(call, everywhere=False, stride=1):
    """Calls it again and again, interrupted at each of the places in turn where a signal may do so in npdec's code; or
    at each instruction (each one of so many), in whatever code."""
    call()  # what it does only once
    for at in range(0, 100_000, stride):
        count, before = 0, {}

        def trace(frame, event, arg, at=at, before=before):
            nonlocal count
            frame.f_trace_opcodes = everywhere or frame.f_code.co_filename.startswith(OWN)
            if event == "opcode":
                previous = before.get(frame)
                before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
                count += everywhere or previous in CHECKED
                if count > at:
                    sys.settrace(None)
                    before.clear()
                    raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        try:
            call()
        except (KeyboardInterrupt, RuntimeError) as error:
            # Interrupted before it has begun a level, torch.vmap ends one all the same, and says that there was none:
            # https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/vmap.py (vmap_increment_nesting)
            if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__context__, KeyboardInterrupt):
                raise
            yield at
        else:
            return
        finally:
            sys.settrace(None)


def test_rules_of_tensors_are_never_left_off():
    y = np.decompose(torch.tensor([4.0, 5.0]), labels=["d", "e"])

    def write():
        x = torch.zeros(4)
        x[1:3].copy_(y)

    for _ in interrupted_at_each(write, everywhere=True, stride=7 if tiers.quick else 1):
        assert torch._C._is_torch_function_enabled()
        assert isinstance(y + 1, DecomposedTensor)
        assert torch.is_grad_enabled()


ADDITIONS = {
    "of arrays": lambda x: np.add(x, x),
    "of tensors": lambda x: torch.add(x.tensor, x.tensor),
    "a curve": np.exp,
}


@pytest.mark.parametrize("call", ADDITIONS.values(), ids=ADDITIONS)
def test_no_transform_goes_on(call):
    """The components are computed as one batch, or as derivatives, in contexts of torch.func."""
    x = np.decompose(np.array([2.0 + 1j, 0.5]), baseline=np.array([1.0, 3.0 - 1j]))
    here = interrupted.guards()
    for _ in interrupted_at_each(lambda: call(x), everywhere=True, stride=17):
        assert interrupted.guards() == here


CONTEXTS = {
    "rule": lambda: np.rule("abs_affine"),
    "check_completeness": np.check_completeness,
    "errstate": lambda: np.errstate(all="raise"),
    "strict": np.overrides.strict,
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_contexts_are_never_left_half_entered(context):
    """An interrupt while one is entered. (One that comes where contextlib is about to leave it, nobody can help.)"""
    here, count = interrupted.guards(), 0

    def enter():
        with context():
            sys.settrace(None)

    for _ in interrupted_at_each(enter):
        count += 1
        assert interrupted.guards() == here
    assert count


CALLS = {
    "layer": lambda d: torch.nn.functional.linear(d, torch.ones(2, 3, requires_grad=True), torch.ones(2)),
    "view": lambda d: torch.flip(d, (0,)),
    "sum": lambda d: d.sum(1),
    "slope": torch.tanh,
    "power": torch.exp,
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_on_after_an_interrupt_at_any_line_of_a_call_in_reverse_mode(name):
    seen = []

    def interrupted_at(place):
        places = interrupted.Places(place, KeyboardInterrupt(), ("line",))

        def call(d):
            try:
                sys.settrace(places.trace)
                CALLS[name](d)
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)
            seen.append(torch.is_grad_enabled())
            torch._C._set_grad_enabled(True)
            return d.sum()

        np.attribute(call, torch.ones(2, 3))
        return places.count

    lines = interrupted_at(0)
    assert lines > 20
    for place in range(1, lines + 1):
        interrupted_at(place)
    assert all(seen)
