"""The main job, `python -m npdec explain`: each column's contribution to a number that an ordinary script computes.

`data` reads the CSV file, `loader` runs the user's script with `numpy` resolved to npdec inside it, `runner` calls the
function and attributes its result, `report`, `output` and `plot` show, write and draw it, `cli` is the command.
"""

from npdec.explain.explanation import Explanation

__all__ = ["Explanation"]
