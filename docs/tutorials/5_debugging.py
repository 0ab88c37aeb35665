"""
Find a fault, one operation at a time
=====================================

In this tutorial you find five kinds of faults: a wrong shape, a NaN, lost digits, a faulty compiler, and a wrong rule.
Every operation runs when its line runs, so ``print``, ``pdb`` and tracebacks show the actual numbers, on any device,
with their derivatives and contributions.
"""

import traceback

import torch

import npdec as np

# %%
# Errors name the operation and the shapes
# ----------------------------------------


def fails(function, *args):
    """Run it, and print the last line of the traceback."""
    try:
        function(*args)
    except Exception as error:
        print(traceback.format_exception_only(error)[-1].strip())


fails(lambda: np.ones((3, 4)) @ np.ones((3, 4)))
fails(lambda: np.ones((3, 4)).reshape(5, 2))
fails(lambda: np.decompose(np.arange(3)))

# %%
# See the operations as they run
# ------------------------------
#
# Within :py:func:`np.debug.trace <npdec.debug.trace>`, each operation is printed below the line that calls it, with the
# range of its values. The program stays as it is.


def spread(x):
    centred = x - x.mean()
    variance = (centred**2).mean() - 1.0  # the fault: negative for small spreads
    return centred / np.sqrt(variance)


with np.debug.trace():
    spread(np.array([1.0, 1.5, 2.0]))

# %%
# Stop at the first NaN
# ---------------------
#
# Within :py:func:`np.debug.watch <npdec.debug.watch>`, the first operation that produces a NaN or an infinity raises,
# and the traceback ends at its line. A NaN that was already in the data does not raise. ``debugger=True`` opens pdb
# there, and ``above=`` sets a bound. (:py:class:`np.errstate <npdec.errstate>` works as in NumPy, for floating-point
# errors only.)

with np.debug.watch():
    fails(spread, np.array([1.0, 1.5, 2.0]))

# %%
# Contributions help too. Ask the intermediate number which input made it negative:

x = np.decompose(np.array([1.0, 1.5, 2.0]), labels=["a", "b", "c"])
print((((x - x.mean()) ** 2).mean() - 1.0).contributions())

# %%
# Find where float32 departs from float64
# ---------------------------------------
#
# A program gives other digits in float32. Which operation loses them?
# :py:func:`np.debug.compare <npdec.debug.compare>` runs it in both precisions, operation by operation, and names the
# first that differs by more than 1e-4 (or ``rtol``).


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
# With ``against="numpy"``, NumPy's function of the same name repeats each operation on the same numbers, and then the
# whole program runs under NumPy. Nothing differs here, so the program loses the digits, not npdec. ``against="jit"``
# compares with the graph that :py:func:`np.jit <npdec.jit>` compiles. Here the compiler has a planted fault:

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
# Contributions add up under all rules that npdec ships, but a rule of your own may be wrong. Within
# :py:func:`np.check_completeness <npdec.check_completeness>`, or ``np.debug.watch(completeness=True)``, the first
# operation whose contributions do not add up raises, and names your line.


def cube(t):
    if torch.overrides.has_torch_function((t,)):
        return torch.overrides.handle_torch_function(cube, (t,), t)
    return t**3


def wrong(t):
    """Uses the slope at the value, which is right for small changes only."""
    return np.DecomposedTensor(t.value**3, t.residual**3, 3 * t.value**2 * t.components, t.labels)


t = np.decompose(torch.tensor([2.0, 3.0], dtype=torch.float64))
with np.overrides.registered(cube, wrong), np.check_completeness():
    fails(lambda: torch.exp(cube(t).sum()))

# %%
# Check a model before a long run
# -------------------------------
#
# :py:func:`np.overrides.coverage <npdec.overrides.coverage>` lists the functions of torch that a model uses, with the
# rule of each. Within :py:func:`np.overrides.strict <npdec.overrides.strict>`, a function without a rule raises instead
# of using quadrature.

gru = torch.nn.GRU(3, 4, batch_first=True)
print(np.overrides.coverage(lambda u: gru(u)[0], np.decompose(torch.rand(1, 5, 3), axis=1)))

# %%
# Report a fault
# --------------
#
# :py:func:`np.testing.check_decomposition <npdec.testing.check_decomposition>` checks everything npdec promises about a
# function: the same value bit for bit, contributions that add up, a residual equal to the function at the baseline, and
# reverse mode equal to forward mode. Include what it says in your report.

print(np.testing.check_decomposition(lambda a, b: np.tanh(a * b).sum(), np.ones(3), np.arange(3.0)))
