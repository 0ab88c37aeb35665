"""Functions whose results become complex where real numbers have none: `np.emath`, the same as `np.lib.scimath`."""

from npdec.lib.scimath import arccos, arcsin, arctanh, log, log2, log10, logn, power, sqrt

__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
