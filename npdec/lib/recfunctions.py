"""`np.lib.recfunctions`: functions of records, which are NumPy's own. Raises ImportError without NumPy."""

from __future__ import annotations

from npdec._guests.modules import facade

DELEGATES_TO_NUMPY = True

__getattr__, __dir__ = facade("lib.recfunctions")
