"""Guests: NumPy's own arrays, scalars and dtypes of what torch cannot hold, handed out by npdec's functions."""
