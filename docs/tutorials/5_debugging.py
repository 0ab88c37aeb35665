"""
Debugging, one operation after the other
========================================

Every operation runs when its line runs. ``print``, ``pdb`` and tracebacks see the numbers themselves, on the device
on which they are, with derivatives or contributions if they carry any. This page looks for four kinds of faults.
"""

import traceback

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import npdec as np

# %%
# Errors name the operation and the shapes
# ----------------------------------------


def fails(function, *args):
    """Run it, and print the end of the traceback."""
    try:
        function(*args)
    except Exception as error:
        print(traceback.format_exception_only(error)[-1].strip())


fails(lambda: np.ones((3, 4)) @ np.ones((3, 4)))
fails(lambda: np.ones((3, 4)).reshape(5, 2))
fails(lambda: np.decompose(np.arange(3)))

# %%
# The first operation that makes a nan
# ------------------------------------
#
# Within :py:class:`np.errstate <npdec.errstate>` an operation that makes a nan or an infinity raises, as NumPy's do,
# and the traceback ends at the line.


def spread(x):
    centred = x - x.mean()
    variance = (centred**2).mean() - 1.0  # the fault: negative for small spreads
    return centred / np.sqrt(variance)


print(spread(np.array([1.0, 1.5, 2.0])))
with np.errstate(invalid="raise"):
    fails(spread, np.array([1.0, 1.5, 2.0]))

# %%
# Without a debugger contributions help as well: ask the number in the middle which input made it negative.

x = np.decompose(np.array([1.0, 1.5, 2.0]), labels=["a", "b", "c"])
print((((x - x.mean()) ** 2).mean() - 1.0).contributions())

# %%
# Where single precision departs from double
# ------------------------------------------
#
# A program gives other digits in float32. Which operation loses them? All of npdec's operations are operations of
# torch, and torch calls a ``TorchDispatchMode`` at each. This one notes results, with the line of the program, and
# the two lists are compared.


class Steps(TorchDispatchMode):
    """Notes what each operation gives, and where it was called."""

    def __init__(self):
        super().__init__()
        self.steps = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            own = [frame for frame in traceback.extract_stack() if frame.name in ("variance_of", "spread_of")]
            self.steps.append((str(func), own[-1].line if own else "", result.detach().double().clone()))
        return result


def variance_of(x):
    mean = x.mean()
    square = (x * x).mean()
    return square - mean * mean  # loses digits where the mean is large


def spread_of(x):
    return np.sqrt(np.abs(variance_of(x)))


def first_departure(function, x, rtol=1e-4):
    noted = []
    for dtype in (np.float64, np.float32):
        argument = x.astype(dtype)
        with Steps() as watcher:
            function(argument)
        noted.append([step for step in watcher.steps if step[1]])
    for double, single in zip(*noted, strict=True):
        error = (double[2] - single[2]).abs().max() / double[2].abs().max().clamp(min=1e-300)
        if error > rtol:
            return f"{single[0]} is off by {float(error):.1e}, relative, in the line: {single[1]}"
    return "none departs"


x = 1000.0 + np.random.default_rng(0).standard_normal(10_000)
print(first_departure(spread_of, x))

# %%
# Contributions that do not add up
# --------------------------------
#
# They do for all that npdec ships. A rule of your own may be wrong: within :py:func:`np.check_completeness
# <npdec.check_completeness>` the first operation that is incomplete raises, and names your line.


def cube(t):
    if torch.overrides.has_torch_function((t,)):
        return torch.overrides.handle_torch_function(cube, (t,), t)
    return t**3


def wrong(t):
    """The slope at the value: right for small changes only."""
    return np.DecomposedTensor(t.value**3, t.residual**3, 3 * t.value**2 * t.components, t.labels)


t = np.decompose(torch.tensor([2.0, 3.0], dtype=torch.float64))
with np.overrides.registered(cube, wrong), np.check_completeness():
    fails(lambda: torch.exp(cube(t).sum()))

# %%
# What a model meets
# ------------------
#
# Before a long run, :py:func:`np.overrides.coverage <npdec.overrides.coverage>` lists the functions of torch that a
# model uses and the rule of each, and within :py:func:`np.overrides.strict <npdec.overrides.strict>` a function that
# has none raises instead of going by quadrature.

gru = torch.nn.GRU(3, 4, batch_first=True)
print(np.overrides.coverage(lambda u: gru(u)[0], np.decompose(torch.rand(1, 5, 3), axis=1)))

# %%
# Reporting a fault
# -----------------
#
# :py:func:`np.testing.check_decomposition <npdec.testing.check_decomposition>` holds a function to all that is
# promised: value bit for bit, completeness, a residual that is the function of the baseline, reverse mode equal to
# forward mode.

print(np.testing.check_decomposition(lambda a, b: np.tanh(a * b).sum(), np.ones(3), np.arange(3.0)))
