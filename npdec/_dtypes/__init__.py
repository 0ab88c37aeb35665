"""NumPy's dtypes over torch's."""
