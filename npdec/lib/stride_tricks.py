"""Views by strides: `np.lib.stride_tricks`."""

from npdec._functions.strided import as_strided, sliding_window_view

__all__ = ["as_strided", "sliding_window_view"]
