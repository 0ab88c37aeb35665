"""
Contributions over time
=======================

An epidemic with three measures that are taken one after the other: how many are ill on each day, and what each
measure did to it. The baseline is the same epidemic without any.
"""

import matplotlib.pyplot as plt

import npdec as np


def ill(strengths, days=160):
    """The share of the ill on each day, in a model of susceptible, ill and recovered."""
    susceptible, infected = np.float64(0.999), np.float64(0.001)
    course = np.zeros(days)
    for day in range(days):
        contacts = 0.28
        for start, strength in zip((25, 50, 75), strengths):
            if day >= start:
                contacts = contacts * (1 - strength)
        new = contacts * susceptible * infected
        susceptible, infected = susceptible - new, infected + new - 0.1 * infected
        course[day] = infected
    return course


course = ill(np.decompose(np.array([0.25, 0.2, 0.3]), labels=["masks", "schools", "travel"]))

course.plot.stacked(title="What each measure kept away", unit="share of all people")
plt.xlabel("day")
plt.show()

# %%
# The height of the epidemic, as a bridge from that without measures to that with them, on the same day:

day = int(np.argmax(course.residual))
course[day].plot.waterfall(title=f"Ill on day {day}", unit="share of all people")
plt.show()

print("off by at most", float(np.abs(np.completeness(course)).max()))
