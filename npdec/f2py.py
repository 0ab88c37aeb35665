"""`np.f2py`: Fortran compiled for NumPy.

What torch cannot hold is NumPy's own; what it can hold comes back as npdec's. Raises ImportError without NumPy.
"""

from __future__ import annotations

from npdec._guests.modules import facade

DELEGATES_TO_NUMPY = True

__getattr__, __dir__ = facade("f2py")
