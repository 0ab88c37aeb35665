"""`np.char`: functions of text, element by element, comparing after stripping white space at the end.

What torch cannot hold is NumPy's own; what it can hold comes back as npdec's. Raises ImportError without NumPy.
"""

from __future__ import annotations

from npdec._guests.modules import facade

DELEGATES_TO_NUMPY = True

__getattr__, __dir__ = facade("char")
