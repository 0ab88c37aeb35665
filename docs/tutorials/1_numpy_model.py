"""
A NumPy model in ten minutes
============================

A model is a function that says ``np.``. Which of its inputs moved the number that it computes, and by how much? One
import changes, the model does not.

The model here is the yearly heating bill of a house: what leaves through its walls and its draughts, less what the
sun gives, at a price that rises above a threshold.
"""

import matplotlib.pyplot as plt

import npdec as np


def bill(area, loss, inside, outside, sun, price):
    """Euros a year."""
    kelvin_hours = np.maximum(inside - outside, 0.0) * 24 * 210
    demand = area * (loss * kelvin_hours / 1000 - sun)
    dear = np.where(demand > 9000.0, demand - 9000.0, 0.0)  # above 9,000 kWh each costs a third more
    return price * (demand + dear / 3)


# %%
# Mark the inputs
# ---------------
#
# :py:func:`np.decompose <npdec.decompose>` marks arrays. The *baseline* is what the explanation starts from: here
# last year's numbers. Values are this year's.

names = ["area", "loss", "inside", "outside", "sun", "price"]
last = np.array([120.0, 1.10, 20.0, 6.5, 35.0, 0.118])
this = np.array([120.0, 0.95, 21.0, 5.0, 33.0, 0.131])

x = np.decompose(this, baseline=last, labels=names)
y = bill(*x)
y.value, y.residual

# %%
# The *value* is what the function gives for this year, the *residual* what it gives for last year. What lies between
# them is shared out to the inputs, and the shares add up:

for label, share in zip(y.labels, y.components, strict=True):
    print(f"{label:8} {float(share):+9.2f}")
print(f"{'sum':8} {float(y.components.sum()):+9.2f}  = {float(y.value):.2f} - {float(y.residual):.2f}")

# %%
# The area did not change, so it contributes nothing. The better walls lower the bill, all else raises it. The
# threshold takes part: the comparison ``demand > 9000.0`` itself says how far each input moved it.

assert abs(float(np.completeness(y))) < 1e-12

# %%
# A picture
# ---------

order = np.argsort(np.abs(y.components))
shares = y.components[order]
plt.figure(figsize=(7, 3), layout="constrained")
plt.barh([names[int(i)] for i in order], shares, color=["#0072b2" if s > 0 else "#d55e00" for s in shares])
plt.axvline(0, color="0.3", linewidth=0.8)
plt.xlabel("contribution to the change of the bill, euros")
plt.title(f"from {float(y.residual):,.0f} to {float(y.value):,.0f} euros")
plt.show()

# %%
# In one call
# -----------
#
# :py:func:`np.attribute <npdec.attribute>` does the same for one number, backwards: its cost does not grow with the
# number of inputs.

found = np.attribute(lambda x: bill(*x), this, baseline=last, labels=names)
found.attribution

# %%
# Everything in between knows as well
# -----------------------------------
#
# Contributions are a part of each array, not of the end of the program. Of the demand alone:

area, loss, inside, outside, sun, price = x
demand = area * (loss * np.maximum(inside - outside, 0.0) * 24 * 210 / 1000 - sun)
print(demand.contributions())

# %%
# Groups of inputs
# ----------------
#
# ``groups=`` makes one component of several inputs: what the owner decided, and what came from outside.

decided = np.array([0, 0, 0, 1, 1, 1])
y = bill(*np.decompose(this, baseline=last, groups=decided, labels=["the owner", "weather and market"]))
print(y.contributions())

# %%
# Many rows at once
# -----------------
#
# With ``axis=`` there is one component for each index along an axis: here columns, for a table of houses. The
# function takes whole columns.

rng = np.random.default_rng(0)
houses = this * (1 + 0.1 * rng.standard_normal((500, 6)))
table = np.decompose(houses, axis=1, baseline=last, labels=names)
bills = bill(*(table[:, i] for i in range(6)))
print("shape of the components:", bills.components.shape)
for label, size in zip(names, np.abs(bills.components).mean(axis=1), strict=True):
    print(f"{label:8} moves a bill by {float(size):7.2f} on average")

# %%
# The same on the command line
# ----------------------------
#
# For a script and a CSV nothing is imported at all; the script says ``import numpy as np``:
#
# .. code-block:: bash
#
#    python -m npdec explain examples/diabetes.py:predict --data examples/diabetes.csv --row 0 --baseline mean
