"""
Debugging, one operation after the other
========================================

Every operation runs when its line runs. ``print``, ``pdb`` and tracebacks see the numbers themselves, on the device
on which they are, with derivatives or contributions if they carry any. This page looks for five kinds of faults.
"""

import traceback

import torch

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
# The operations, as they run
# ---------------------------
#
# Within :py:func:`np.debug.trace <npdec.debug.trace>` each operation is printed below the line that calls it, with the
# range of its values. The program is not changed.


def spread(x):
    centred = x - x.mean()
    variance = (centred**2).mean() - 1.0  # the fault: negative for small spreads
    return centred / np.sqrt(variance)


with np.debug.trace():
    spread(np.array([1.0, 1.5, 2.0]))

# %%
# The first operation that makes a nan
# ------------------------------------
#
# Within :py:func:`np.debug.watch <npdec.debug.watch>` the first operation that makes a nan or an infinity raises, and
# the traceback ends at its line; what a nan in the data becomes is let through. ``debugger=True`` opens pdb there,
# ``above=`` gives a bound. (:py:class:`np.errstate <npdec.errstate>` is NumPy's way, for floating-point errors alone.)

with np.debug.watch():
    fails(spread, np.array([1.0, 1.5, 2.0]))

# %%
# Without a debugger contributions help as well: ask the number in the middle which input made it negative.

x = np.decompose(np.array([1.0, 1.5, 2.0]), labels=["a", "b", "c"])
print((((x - x.mean()) ** 2).mean() - 1.0).contributions())

# %%
# Where single precision departs from double
# ------------------------------------------
#
# A program gives other digits in float32. Which operation loses them?
# :py:func:`np.debug.compare <npdec.debug.compare>` runs it in both, operation beside operation, and names the first
# that departs by more than 1e-4, or by more than ``rtol``.


def variance_of(x):
    mean = x.mean()
    square = (x * x).mean()
    return square - mean * mean  # loses digits where the mean is large


def spread_of(x):
    return np.sqrt(np.abs(variance_of(x)))


x = 1000.0 + np.random.default_rng(0).standard_normal(10_000)
print(np.debug.compare(spread_of, x, against=["float32"]))

# %%
# Whose fault is it?
# ------------------
#
# Beside NumPy each operation is computed on the same numbers by NumPy's function of that name, and then the whole
# program runs under NumPy. Nothing differs: it is the program that loses the digits, and not npdec. ``against="jit"``
# does the same for the graph that :py:func:`np.jit <npdec.jit>` compiles. Here the compiler has a fault in it.

print(np.debug.compare(spread_of, x, against=["numpy"]))


def wrong_compiler(graph, tensors):
    for node in graph.graph.nodes:
        if node.target is torch.ops.aten.sin.default:
            node.target = torch.ops.aten.cos.default
    graph.recompile()
    return graph.forward


def wave(x):
    y = x * 2.0
    z = np.sin(y)
    return (z + y).sum()


print(np.debug.compare(wave, np.arange(4.0), against=["jit"], backend=wrong_compiler))

# %%
# Contributions that do not add up
# --------------------------------
#
# They do for all that npdec ships. A rule of your own may be wrong: within :py:func:`np.check_completeness
# <npdec.check_completeness>` the first operation that is incomplete raises, and names your line
# (``np.debug.watch(completeness=True)`` does so too).


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
