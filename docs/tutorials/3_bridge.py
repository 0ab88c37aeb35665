"""
Bridge a portfolio from yesterday to today
==========================================

A book of options changed in value since yesterday. In this tutorial you find out which risk factor moved it, and by how
much. Risk departments usually revalue the book once per factor, which leaves a remainder that nothing explains. Here
there is no remainder.
"""

import matplotlib.pyplot as plt
import torch

import npdec as np

# %%
# The pricing formula
# -------------------
#
# This is the Black–Scholes formula with NumPy's functions. The normal distribution function comes from torch: arrays
# are torch tensors underneath, and ``.tensor`` gives the tensor together with its contributions.


def normal_cdf(x):
    return np.asarray(torch.special.ndtr(x.tensor))


def option(spot, vol, rate, years, strike, sign):
    """Prices of calls (sign +1) and puts (sign -1)."""
    spread = vol * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + vol**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    return sign * (spot * normal_cdf(sign * d1) - discounted * normal_cdf(sign * (d1 - spread)))


# %%
# The book has positions in calls and puts on two underlyings, some of them short:

UNDERLYING = np.array([0, 0, 0, 1, 1])
SIGN = np.array([1.0, 1.0, -1.0, 1.0, -1.0])
STRIKE = np.array([5200.0, 5400.0, 4800.0, 85.0, 70.0])
EXPIRY = np.array([90.0, 90.0, 60.0, 120.0, 45.0])
NUMBER = np.array([40.0, -60.0, 50.0, 3000.0, -2500.0])


def book(market):
    """The value of each position in a market: two prices, two volatilities, a rate, a day."""
    index, oil, index_vol, oil_vol, rate, day = market
    spot, vol = np.stack([index, oil])[UNDERLYING], np.stack([index_vol, oil_vol])[UNDERLYING]
    return NUMBER * option(spot, vol, rate, (EXPIRY - day) / 365, STRIKE, SIGN)


# %%
# The bridge
# ----------
#
# Yesterday's market is the baseline, and today's is the value.

factors = ["index", "oil", "index vol", "oil vol", "rate", "time"]
yesterday = np.array([5150.00, 78.00, 0.1600, 0.3400, 0.0410, 0.0])
today = np.array([5127.78, 76.05, 0.1545, 0.3471, 0.0409, 1.0])

positions = book(np.decompose(today, baseline=yesterday, labels=factors))
total = positions.sum()
print(total.contributions())

# %%
# The residual is yesterday's value of the book, to the last bit, and the contributions add up to the change:

assert float(total.residual) == float(book(yesterday).sum())
assert abs(float(np.completeness(total))) < 1e-9

total.plot.waterfall(title="The book, from yesterday to today")
plt.show()

# %%
# Positions by factors
# --------------------
#
# Before it was summed, the book was a vector, and that carries contributions too. They are a table of positions and
# factors:

positions.plot.heatmap(
    ["index call 5200", "index call 5400", "index put 4800", "oil call 85", "oil put 70"], title="Positions by factors"
)
plt.show()

# %%
# Compared with revaluing factor by factor
# ----------------------------------------
#
# Usually one factor at a time is moved from yesterday to today. That leaves a remainder, because some factors only act
# together:

alone = []
for i in range(6):
    market = yesterday.copy()
    market[i] = today[i]
    alone.append(float(book(market).sum() - book(yesterday).sum()))
change = float(total.value - total.residual)
print(f"change {change:.2f}; one at a time {sum(alone):.2f}; left over {change - sum(alone):.2f}")
bridge = float(total.components.sum())
print(f"bridge {bridge:.2f}; left over {change - bridge:.1e}")

# %%
# Shapley values leave no remainder either, but need all subsets of the factors. Here they agree with the bridge to
# less than one unit:

exact = np.attribute(lambda m: book(m).sum(), today, baseline=yesterday, method="shapley")
for name, by_law, by_shapley in zip(factors, total.components, exact.attribution, strict=True):
    print(f"{name:10} {float(by_law):10.2f} {float(by_shapley):10.2f}")

# %%
# The shipped example does this on the command line, for a CSV of markets and a script in plain NumPy:
#
# .. code-block:: bash
#
#    python -m npdec explain examples/black_scholes.py:value --data examples/market.csv --row 1 --baseline 0
