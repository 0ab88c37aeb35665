"""
A NumPy model in ten minutes
============================

In this tutorial you ask a NumPy model which of its inputs moved its result, and by how much. You change one import; the
model stays as it is.

The model is the yearly heating bill of a house: the heat lost through walls and draughts, less the heat from the sun,
at a price that rises above a threshold."""

import matplotlib.pyplot as plt

import npdec as np


def bill(area, loss, inside, outside, sun, price):
    """Euros a year."""
    kelvin_hours = np.maximum(inside - outside, 0.0) * 24 * 210
    demand = area * (loss * kelvin_hours / 1000 - sun)
    dear = np.where(demand > 9000.0, demand - 9000.0, 0.0)  # above 9,000 kWh, each costs a third more
    return price * (demand + dear / 3)


# %%
# Mark the inputs
# ---------------
#
# :py:func:`np.decompose <npdec.decompose>` marks an array. The *baseline* is what you compare with, here last year's
# numbers. The values are this year's.

names = ["area", "loss", "inside", "outside", "sun", "price"]
last = np.array([120.0, 1.10, 20.0, 6.5, 35.0, 0.118])
this = np.array([120.0, 0.95, 21.0, 5.0, 33.0, 0.131])

x = np.decompose(this, baseline=last, labels=names)
y = bill(*x)
y.value, y.residual

# %%
# The *value* is this year's bill, and the *residual* is last year's. The *components* divide the difference among the
# inputs, and they add up:

for label, share in zip(y.labels, y.components, strict=True):
    print(f"{label:8} {float(share):+9.2f}")
print(f"{'sum':8} {float(y.components.sum()):+9.2f}  = {float(y.value):.2f} - {float(y.residual):.2f}")

# %%
# The area did not change, so it contributes nothing. The better walls lower the bill, and everything else raises it.
# The threshold is included: the comparison ``demand > 9000.0`` carries contributions too.

assert abs(float(np.completeness(y))) < 1e-12

# %%
# A picture
# ---------

#
# Whatever carries contributions can draw them (:doc:`/guides/plots` lists all plots):

y.plot.waterfall(title="The heating bill, from last year to this year", unit="EUR")
plt.show()

# %%
# In one call
# -----------
#
# :py:func:`np.attribute <npdec.attribute>` does the same in one call. It works backwards, so its cost does not grow
# with the number of inputs.

found = np.attribute(lambda x: bill(*x), this, baseline=last, labels=names)
found.attribution

# %%
# Intermediate results
# --------------------
#
# Every array on the way carries contributions, not only the result. These are the contributions to the demand:

area, loss, inside, outside, sun, price = x
demand = area * (loss * np.maximum(inside - outside, 0.0) * 24 * 210 / 1000 - sun)
print(demand.contributions())

# %%
# Groups of inputs
# ----------------
#
# ``groups=`` joins several inputs into one component. Here one group is the owner's doing, and the other came from
# outside.

decided = np.array([0, 0, 0, 1, 1, 1])  # area, loss and inside; outside, sun and price
y = bill(*np.decompose(this, baseline=last, groups=decided, labels=["the owner", "weather and market"]))
print(y.contributions())

# %%
# Many rows at once
# -----------------
#
# ``axis=`` makes one component per index along an axis. For a table of houses, that is one per column. The function
# takes whole columns.

rng = np.random.default_rng(0)
houses = this * (1 + 0.1 * rng.standard_normal((500, 6)))
table = np.decompose(houses, axis=1, baseline=last, labels=names)
bills = bill(*(table[:, i] for i in range(6)))
print("shape of the components:", bills.components.shape)
bills.plot.beeswarm(houses, title="What moves the bills of 500 houses", unit="EUR")
plt.show()

# %%
# The same on the command line
# ----------------------------
#
# If you have a script that says ``import numpy as np`` and a CSV, you need no code of your own:
#
# .. code-block:: bash
#
#    python -m npdec explain examples/diabetes.py:predict --data examples/diabetes.csv --row 0 --baseline mean
