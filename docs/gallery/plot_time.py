"""
Contributions over time
=======================

Three measures are taken one after another in an epidemic. How many people are ill on each day, and what did each
measure do? The baseline is the same epidemic without any measures."""

import matplotlib.pyplot as plt

import npdec as np


def ill(strengths, days=160):
    """The share of people who are ill on each day, in a model of susceptible, ill and recovered people."""
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

course.plot.stacked(title="What each measure prevented", unit="share of all people")
plt.xlabel("day")
plt.show()

# %%
# On the worst day without measures, this is the bridge to the epidemic with them:

day = int(np.argmax(course.residual))
course[day].plot.waterfall(title=f"Ill on day {day}", unit="share of all people")
plt.show()

print("off by at most", float(np.abs(np.completeness(course)).max()))
