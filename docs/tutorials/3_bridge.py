"""
The bridge of a portfolio, yesterday to today
=============================================

A book of options was worth one number yesterday and is worth another today. Which risk factor moved it, and by how
much? Risk departments revalue the book once for each factor and are left with a remainder that nothing explains. Here
there is none.
"""

import matplotlib.pyplot as plt
import torch

import npdec as np

# %%
# The pricing formula
# -------------------
#
# The formula of Black and Scholes in NumPy's functions. The normal distribution function is torch's: arrays here are
# torch tensors underneath, and ``.tensor`` is the one that carries contributions along.


def normal_cdf(x):
    return np.asarray(torch.special.ndtr(x.tensor))


def option(spot, vol, rate, years, strike, sign):
    """Prices of calls (sign +1) and puts (sign -1)."""
    spread = vol * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + vol**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    return sign * (spot * normal_cdf(sign * d1) - discounted * normal_cdf(sign * (d1 - spread)))


# %%
# The book: three calls and two puts on two underlyings, some sold.

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
# Yesterday is the baseline, today the value.

factors = ["index", "oil", "index vol", "oil vol", "rate", "time"]
yesterday = np.array([5150.00, 78.00, 0.1600, 0.3400, 0.0410, 0.0])
today = np.array([5127.78, 76.05, 0.1545, 0.3471, 0.0409, 1.0])

positions = book(np.decompose(today, baseline=yesterday, labels=factors))
total = positions.sum()
print(total.contributions())

# %%
# The residual is yesterday's value of the book to the last bit, and the sum of the bridge is the change:

assert float(total.residual) == float(book(yesterday).sum())
assert abs(float(np.completeness(total))) < 1e-9

shares = total.components
levels = total.residual + np.concatenate([np.zeros(1), np.cumsum(shares)])
plt.figure(figsize=(8, 4), layout="constrained")
plt.bar(range(1, 7), shares, bottom=levels[:-1], color=["#0072b2" if s > 0 else "#d55e00" for s in shares])
plt.bar([0, 7], [float(total.residual), float(total.value)], color="0.45")
plt.plot([i + 0.5 for i in range(7)], levels, linestyle="none", marker="_", markersize=22, color="0.3")
plt.xticks(range(8), ["yesterday", *factors, "today"], rotation=30)
plt.ylim(float(levels.min()) * 0.97, float(levels.max()) * 1.02)
plt.ylabel("value of the book")
plt.title("from yesterday to today, by risk factor")
plt.show()

# %%
# Positions by factors
# --------------------
#
# The book was a vector before it was a sum, and the vector carries too. A table of positions and factors:

table = positions.components.T
print("position  " + "".join(f"{name:>12}" for name in factors))
for i, row in enumerate(table):
    print(f"{i:8}  " + "".join(f"{float(cell):12.2f}" for cell in row))

# %%
# Compared with revaluing factor by factor
# ----------------------------------------
#
# One factor at a time from yesterday, which is what is usually done, leaves a remainder: moves that happened
# together.

alone = []
for i in range(6):
    market = yesterday.copy()
    market[i] = today[i]
    alone.append(float(book(market).sum() - book(yesterday).sum()))
change = float(total.value - total.residual)
print(f"change {change:.2f}; one at a time {sum(alone):.2f}; left over {change - sum(alone):.2f}")
print(f"bridge {float(shares.sum()):.2f}; left over {change - float(shares.sum()):.1e}")

# %%
# Shapley values leave nothing over either, at the price of all subsets of the factors. They are a method of the same
# call, and agree here to within a few units:

exact = np.attribute(lambda m: book(m).sum(), today, baseline=yesterday, method="shapley")
for name, by_law, by_shapley in zip(factors, shares, exact.attribution, strict=True):
    print(f"{name:10} {float(by_law):10.2f} {float(by_shapley):10.2f}")

# %%
# The shipped example does this for a CSV of markets, with the script in plain NumPy:
#
# .. code-block:: bash
#
#    python -m npdec explain examples/black_scholes.py:value --data examples/market.csv --row 1 --baseline 0
