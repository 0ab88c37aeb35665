"""A portfolio of options by the Black-Scholes formula in plain NumPy; its profit since yesterday by risk factor.

    python -m npdec explain examples/black_scholes.py:value --data examples/market.csv --row 1 --baseline 0

Each row of market.csv is one day's market: the prices of three underlyings, their volatilities, the interest rate and
the calendar days since the portfolio was bought. Row 1 explained from row 0 is the profit of that day. The market is
simulated: `python examples/black_scholes.py` writes the file anew and prints the portfolio's value on each day.
"""

from pathlib import Path

import numpy as np

DATA = Path(__file__).with_name("market.csv")

# Underlying (0 index, 1 oil, 2 gold), +1 a call or -1 a put, strike, days to expiry on day 0, number (negative: sold).
POSITIONS = np.array(
    [
        [0, +1, 5200.0, 90, +40],
        [0, +1, 5400.0, 90, -60],
        [0, -1, 4800.0, 60, +50],
        [1, +1, 85.0, 120, +3000],
        [1, -1, 70.0, 45, -2500],
        [2, +1, 2100.0, 180, +120],
        [2, -1, 1950.0, 30, -150],
    ]
)
UNDERLYING = POSITIONS[:, 0].astype(int)
SIGN, STRIKE, EXPIRY, NUMBER = POSITIONS[:, 1], POSITIONS[:, 2], POSITIONS[:, 3], POSITIONS[:, 4]


def normal_cdf(x):
    """The standard normal distribution function, to 1e-15: one smooth formula for all x.

    erf(z) = 2/pi * integral over t from 0 of exp(-t^2) sin(2 z t) / t, by the trapezoidal rule with steps of 1/5, which
    is exact to 1e-16 for |z| <= 5.8 (A. J. Strecok, "On the calculation of the inverse of the error function",
    Mathematics of Computation 22, 1968). Beyond 8 standard deviations the result is constant to 1e-15.
    """
    z = np.clip(x, -8.0, 8.0) / np.sqrt(2.0)
    n = np.arange(1.0, 38.0)
    waves = np.sin(0.4 * z[..., np.newaxis] * n)
    return 0.5 + (0.2 * z + (waves * (np.exp(-((n / 5) ** 2)) / n)).sum(axis=-1)) / np.pi


def option_price(spot, vol, rate, years, strike, sign):
    """Black and Scholes (1973): calls where sign is +1, puts where it is -1; all arguments broadcast."""
    spread = vol * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + vol**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    return sign * (spot * normal_cdf(sign * d1) - discounted * normal_cdf(sign * (d1 - spread)))


def value(index, oil, gold, index_vol, oil_vol, gold_vol, rate, days):
    """The portfolio's value in one market: each argument is the column of market.csv of that name."""
    spot = np.array([index, oil, gold])[UNDERLYING]
    vol = np.array([index_vol, oil_vol, gold_vol])[UNDERLYING]
    years = (EXPIRY - days) / 365
    return (NUMBER * option_price(spot, vol, rate, years, STRIKE, SIGN)).sum()


def simulate(days=20, seed=18):
    """Simulated markets of that many business days from 2026-03-02: correlated random walks of the logarithms."""
    rng = np.random.default_rng(seed)
    date = np.datetime64("2026-03-02")
    level = np.array([5150.0, 78.0, 2040.0, 0.16, 0.34, 0.15])
    daily = np.array([0.010, 0.021, 0.009, 0.045, 0.030, 0.035])
    correlation = np.eye(6)
    for a, b, c in [(0, 1, 0.3), (0, 2, -0.1), (1, 2, 0.2), (0, 3, -0.7), (1, 4, -0.4), (2, 5, 0.2), (3, 4, 0.4)]:
        correlation[a, b] = correlation[b, a] = c
    mix = np.linalg.cholesky(correlation)
    rate, start = 0.041, date
    for _ in range(days):
        yield str(date), [*level, rate, int((date - start).astype(int))]
        level = level * np.exp(daily * (mix @ rng.normal(size=6)))
        rate = rate + 0.0004 * rng.normal()
        date = np.busday_offset(date, 1)


def main():
    names = "index oil gold index_vol oil_vol gold_vol rate days".split()
    lines = [",".join(["date", *names])]
    for date, market in simulate():
        cells = [f"{x:.2f}" for x in market[:3]] + [f"{x:.4f}" for x in market[3:7]] + [str(market[7])]
        lines.append(",".join([date, *cells]))
        print(f"{date}  {value(*map(float, cells)):14,.2f}")
    DATA.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
