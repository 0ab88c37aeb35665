"""The kernels: pure torch functions whose parameters carry type tags, one file a chapter of NumPy's reference."""
